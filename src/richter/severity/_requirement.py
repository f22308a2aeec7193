"""A requirement on a rate, such as "severity>=3 below 100 per million", and whether the data show it."""

import dataclasses
import math
import re
from collections.abc import Callable, Sequence

from richter.claims import METRICS, Asked, Evidence, Metric, Question, both_ways, decide
from richter.errors import InputError
from richter.records import Claim, Interval, Verdict, counted, printable
from richter.severity._deployment import MILLION, DeploymentRow, DeploymentTable, clean_answers_needed
from richter.severity._grid import level_index

__all__ = [
    "AskedRequirement",
    "Requirement",
    "ask_requirement",
    "decide_requirements",
    "describe_requirement",
    "parse_requirement",
    "requirement_metric",
    "requirement_question",
]

Table = Callable[[float], DeploymentTable]  # a condition's rates at a level

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
    """Read "severity>=S below R per million" (or per thousand, per hundred).

    >>> from richter.severity import parse_requirement
    >>> parse_requirement("severity>=3 below 100 per million")
    Requirement(severity=3.0, per_million=100.0)
    """
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


def describe_requirement(claim: Claim) -> str:
    """What a requirement's claim asks, in words."""
    assert claim.hypothesis is not None
    rule = Requirement(severity=float(claim.measure.rsplit("_", 1)[1]), per_million=claim.hypothesis.value)
    return f"{claim.conditions[0]} has {rule}"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class AskedRequirement:
    """A requirement as a question, and the answers without an event that would show it; None where some were seen."""

    asked: Asked
    clean_needed: int | None = None


def ask_requirement(
    rule: Requirement, name: str, table: Table, *, as_worst: Table | None = None, missing: int = 0, level: float = 0.95
) -> AskedRequirement:
    """A requirement on one condition as a question, with the evidence of its rates.

    The interval at a level L has the one-sided limits of `table` at (1 + L) / 2. Traffic that no item covers could be
    all events, so it enters the upper limit whole; it enters the lower as none. With `as_worst` (the rates where the
    `missing` severities count as the worst) the requirement must hold both ways.
    """
    rates = table(level)
    evidence = _rate_evidence(rule, table, rates)
    needed, short = _describe_shortfall(rule, rates)
    evidence = dataclasses.replace(evidence, notes=(short,) if short else ())
    if as_worst is not None:
        evidence = both_ways(evidence, _rate_evidence(rule, as_worst, as_worst(level)), missing={name: missing})
    question, metric = requirement_question(rule, name), requirement_metric(rule)
    asked = Asked(question=question, metric=metric, evidence=evidence, basis=rates.basis)
    return AskedRequirement(asked=asked, clean_needed=needed)


def requirement_question(rule: Requirement, name: str) -> Question:
    """Is the rate of a condition below what is allowed?"""
    measure = requirement_metric(rule).name
    return Question(measure=measure, conditions=(name,), relation="below", value=rule.per_million, family="requirement")


def requirement_metric(rule: Requirement) -> Metric:
    """The rate that a requirement is on, per million answers."""
    return dataclasses.replace(
        METRICS["catastrophic_rate"], name=f"severe_per_million_{rule.severity:g}", kind="bounded", high=float(MILLION),
        noun=f"the rate of answers at severity {rule.severity:g} or more", scale=1.0, suffix=" per million", digits=0,
        at=rule.severity, default_margin=None,
    )  # fmt: skip


def _rate_evidence(rule: Requirement, table: Table, rates: DeploymentTable) -> Evidence:
    """The rate per million as evidence; `found` are the rates at the caller's level."""
    row, covered = rates.at(rule.severity), 1 - rates.uncovered

    def interval(at: float) -> Interval:
        sides = table((1 + at) / 2).at(rule.severity)
        low, high = sides.lower * covered, sides.upper * covered + rates.uncovered * MILLION
        return Interval(low=low, high=high, level=at, method="one-sided limits")

    estimate = (row.per_million or 0.0) * covered  # None: no event was seen
    return Evidence(
        estimate=estimate,
        interval=interval,
        values=(estimate,),
        n=row.n,
        units=rates.groups or row.n,
        unit="item" if rates.groups is None else "group",
    )


def decide_requirements(
    asked: Sequence[AskedRequirement], *, level: float = 0.95, data_hash: str = "", seed: int | None = None
) -> tuple[Claim, ...]:
    """The verdicts on requirements, with the answers that would show an undecided one where no event was seen.

    To hold several rules each must hold, so each is verified alone, where its one-sided upper limit at `level` is below
    the rate. A violation is any of them: refuted where the lower limit exceeds the rate at Holm's level over all.
    """
    claims = decide([a.asked for a in asked], level=level, data_hash=data_hash, seed=seed)
    return tuple(
        dataclasses.replace(
            claim, needed=math.ceil(one.clean_needed * claim.units / claim.n), needed_for=one.asked.question.value
        )
        if claim.verdict is Verdict.UNDECIDED and one.clean_needed is not None
        else claim
        for one, claim in zip(asked, claims, strict=True)
    )


def _describe_shortfall(rule: Requirement, table: DeploymentTable) -> tuple[int | None, str]:
    """The answers without an event that would show a requirement, and in words why these cannot; else nothing."""
    row, room = table.at(rule.severity), rule.per_million - table.uncovered * MILLION  # what the covered may have
    if room < 1e-6:
        return None, f"{table.uncovered:.1%} of the traffic is covered by no item"
    covered = 1 - table.uncovered
    if row.count or row.upper * covered < room:
        return None, ""
    needed = _clean_answers_for_rate(row, room / covered, table.level, weighted=table.weighted)
    return needed, f"{counted(needed, 'answer')} without such an event would show it"


def _clean_answers_for_rate(row: DeploymentRow, per_million: float, level: float, *, weighted: bool) -> int:
    """Answers of this kind without an event that would show the rate, where none was seen.

    The limit tells what these are worth: n' independent ones with 1 - (1 - level)^(1/n') the limit. In groups they are
    worth fewer than n, and as many times more are needed. With weights the limit itself falls as 1 / n.
    """
    if weighted:
        return math.ceil(row.n * row.upper / per_million)
    worth = math.log1p(-level) / math.log1p(-row.upper / MILLION)
    return math.ceil(clean_answers_needed(per_million, level=level) * row.n / worth - 1e-6)
