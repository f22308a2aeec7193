"""A requirement on a rate, such as "severity>=3 below 100 per million", and whether the data show it."""

import dataclasses
import re

from richter.errors import InputError
from richter.records import Finding, Verdict, printable
from richter.severity._deployment import MILLION, DeploymentTable, clean_answers_needed
from richter.severity._grid import level_index

__all__ = ["Requirement", "check_requirement", "parse_requirement"]

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


def check_requirement(name: str, table: DeploymentTable, requirement: Requirement) -> Finding:
    """Verified when the upper one-sided limit is below the rate, refuted when the lower is above it, else undecided.

    Traffic that no item covers could be all events, so it enters the upper limit whole; it enters the lower as none.
    """
    row = table.at(requirement.severity)
    covered = 1 - table.uncovered
    upper, lower = row.upper * covered + table.uncovered * MILLION, row.lower * covered
    seen = f"{row.count:,} in {row.n:,} answers, {table.basis}"
    needed: int | None = None
    if upper < requirement.per_million:
        verdict = Verdict.VERIFIED
        sentence = f"Verified: {name} has {requirement} (at most {upper:,.0f} per million; {seen})."
    elif lower > requirement.per_million:
        verdict = Verdict.REFUTED
        sentence = f"Violated: {name} does not have {requirement} (at least {lower:,.0f} per million; {seen})."
    else:
        verdict = Verdict.UNDECIDED
        clean = clean_answers_needed(requirement.per_million, level=table.level)
        if table.uncovered * MILLION >= requirement.per_million:
            reason = f"{table.uncovered:.1%} of the traffic is covered by no item"
        elif row.count == 0:
            needed = clean
            reason = f"{clean:,} answers without such an event would show it"
        else:
            reason = f"the rate may lie between {lower:,.0f} and {upper:,.0f} per million"
        sentence = f"Undecided: whether {name} has {requirement} is not shown: {reason} ({seen})."
    return Finding(
        claim=f"{name} has {requirement}",
        verdict=verdict,
        sentence=sentence,
        estimate=row.per_million,
        interval=row.interval,
        n=row.n,
        needed=needed,
    )
