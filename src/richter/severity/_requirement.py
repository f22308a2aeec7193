"""A requirement on a rate, such as "severity>=3 below 100 per million", and whether the data show it."""

import dataclasses
import math
import re
from collections.abc import Callable, Sequence

from richter.errors import InputError
from richter.records import Claim, Family, Hypothesis, Interval, Verdict, at_least, at_most, counted, printable
from richter.severity._deployment import MILLION, DeploymentRow, DeploymentTable, clean_answers_needed
from richter.severity._grid import level_index

__all__ = ["Requirement", "check_requirements", "parse_requirement", "required"]

_FORM = re.compile(
    r"\s*severity\s*>=\s*(?P<severity>[0-9.]+)\s+below\s+(?P<rate>[0-9][0-9.,_]*)\s*(?:/|per\s)\s*"
    r"(?P<unit>million|thousand|hundred)\s*",
    re.IGNORECASE,
)
_UNITS = {"million": 1.0, "thousand": 1_000.0, "hundred": 10_000.0}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """Answers at or above `severity` must be rarer than `per_million`."""

    severity: float
    per_million: float

    def __str__(self) -> str:
        return f"severity>={self.severity:g} below {self.per_million:,g} per million"


def parse_requirement(text: str) -> Requirement:
    """Read "severity>=S below R per million" (or per thousand, per hundred)."""
    match = _FORM.fullmatch(text)
    if match is None:
        raise InputError(
            f"The requirement {printable(text, limit=80)!r} cannot be read.",
            remedy="Write it as 'severity>=3 below 100 per million'.",
        )
    severity = float(match["severity"])
    level_index(severity)
    rate = float(match["rate"].replace(",", "").replace("_", "")) * _UNITS[match["unit"].lower()]
    if not 0 < rate < MILLION:
        raise InputError(f"A limit of {rate:g} per million is not one.", remedy="Give more than 0, below 1,000,000.")
    return Requirement(severity=severity, per_million=rate)


def required(claim: Claim) -> str:
    """What a claim of `check_requirements` asks, in words."""
    assert claim.hypothesis is not None
    rule = Requirement(severity=float(claim.measure.rsplit("_", 1)[1]), per_million=claim.hypothesis.value)
    return f"{claim.conditions[0]} has {rule}"


def check_requirements(
    requirements: Sequence[Requirement],
    table: Callable[[str, float], DeploymentTable],
    names: Sequence[str],
    *,
    level: float = 0.95,
    seed: int | None = None,
) -> tuple[Claim, ...]:
    """Check every requirement on every condition; `table(name, level)` gives a condition's rates at a level.

    To hold several rules each must hold (intersection-union), so each is verified alone, where its one-sided upper
    limit at `level` is below the rate. A violation is any of them (a union): refuted where the lower limit exceeds the
    rate at Holm's level over all that are checked. So both false passes and false violations are at most 1 - level.
    Traffic that no item covers could be all events, so it enters the upper limit whole; it enters the lower as none.
    """
    tables = {name: table(name, level) for name in names}
    checks = [(rule, name) for rule in requirements for name in names]
    left = list(checks)
    violated: dict[tuple[Requirement, str], tuple[float, float]] = {}  # the lower limit and its level
    while left:
        strict = 1 - (1 - level) / len(left)
        at = {name: tables[name] if len(left) == 1 else table(name, strict) for _, name in left}
        lows = {c: at[c[1]].at(c[0].severity).lower * (1 - at[c[1]].uncovered) for c in left}
        found = {c: (low, strict) for c, low in lows.items() if low > c[0].per_million}
        violated |= found
        left = [c for c in left if c not in found]
        if not found:
            break
    return tuple(
        _claim(rule, name, tables[name], violated.get((rule, name)), len(checks), seed=seed) for rule, name in checks
    )


def _clean_needed(row: DeploymentRow, per_million: float, level: float, *, weighted: bool) -> int:
    """Answers of this kind without an event that would show the rate, where none was seen.

    The limit tells what these are worth: n' independent ones with 1 - (1 - level)^(1/n') the limit. In groups they are
    worth fewer than n, and as many times more are needed. With weights the limit itself falls as 1 / n.
    """
    if weighted:
        return math.ceil(row.n * row.upper / per_million)
    worth = math.log1p(-level) / math.log1p(-row.upper / MILLION)
    return math.ceil(clean_answers_needed(per_million, level=level) * row.n / worth - 1e-6)


def _claim(
    rule: Requirement,
    name: str,
    table: DeploymentTable,
    violated: tuple[float, float] | None,
    size: int,
    *,
    seed: int | None,
) -> Claim:
    row = table.at(rule.severity)
    covered = 1 - table.uncovered
    upper, lower = row.upper * covered + table.uncovered * MILLION, row.lower * covered
    seen = f"{row.count:,} in {counted(row.n, 'answer')}, {table.basis}"
    needed: int | None = None
    if violated is not None:
        verdict = Verdict.REFUTED
        of = "" if size == 1 else f", corrected for {counted(size, 'check')}"
        least = at_least(violated[0], digits=4)
        sentence = f"Violated: {name} does not have {rule} (at least {least} per million{of}; {seen})."
    elif upper < rule.per_million:
        verdict = Verdict.VERIFIED
        sentence = f"Verified: {name} has {rule} (at most {at_most(upper, digits=4)} per million; {seen})."
    else:
        verdict = Verdict.UNDECIDED
        room = rule.per_million - table.uncovered * MILLION  # what the covered traffic may have of all events
        if room < 1e-6:
            reason = f"{table.uncovered:.1%} of the traffic is covered by no item"
        elif row.count == 0:
            needed = _clean_needed(row, room / covered, table.level, weighted=table.weighted)
            reason = f"{counted(needed, 'answer')} without such an event would show it"
        else:
            reason = f"the rate may lie between {lower:,.0f} and {upper:,.0f} per million"
        sentence = f"Undecided: whether {name} has {rule} is not shown: {reason} ({seen})."
    both = 2 * table.level - 1  # two one-sided limits
    units = table.groups or row.n
    return Claim(
        measure=f"severe_per_million_{rule.severity:g}",
        conditions=(name,),
        verdict=verdict,
        sentence=sentence,
        estimate=row.per_million,
        interval=Interval(low=lower, high=upper, level=both, method="one-sided limits")
        if violated is None
        else Interval(low=violated[0], high=upper, level=1 - 2 * (1 - violated[1]), method="one-sided limits"),
        plain_interval=row.interval,
        n=row.n,
        units=units,
        unit="item" if table.groups is None else "group",
        needed=None if needed is None else math.ceil(needed * units / row.n),
        needed_for=None if needed is None else rule.per_million,
        hypothesis=Hypothesis(relation="below", value=rule.per_million),
        better="lower",
        family=Family(method="each alone to pass, holm to be violated", size=size),
        basis=table.basis,
        seed=seed,
    )
