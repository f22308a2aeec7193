"""A claim: its interval, gates and verdict; what is said of one or two conditions, and what the data show of it."""

import dataclasses
import enum
import hashlib
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Literal

from richter.records._picture import Mark, picture
from richter.records._plain import Result

__all__ = [
    "DEFAULT_LEVEL",
    "Better", "Claim", "Family", "Gate", "GradedResult", "Hypothesis", "Interval", "Reckoning", "Refused", "SizeStep",
    "Unit", "Verdict", "at_least", "at_most", "refusals",
]  # fmt: skip


def at_most(value: float, *, digits: int = 3) -> str:
    """An upper bound as people read it: so many digits and never below the value. Rounded down it would be false."""
    return _rounded(value, digits, math.ceil)


def at_least(value: float, *, digits: int = 3) -> str:
    """A lower bound as people read it: so many digits and never above the value."""
    return _rounded(value, digits, math.floor)


def _rounded(value: float, digits: int, whole: Callable[[float], int]) -> str:
    if not math.isfinite(value) or value <= 0:
        return f"{value:g}"
    places = digits - 1 - math.floor(math.log10(value))
    scaled = value * 10.0**places
    near = round(scaled)
    rounded = near if abs(scaled - near) < 1e-6 else whole(scaled)  # 0.07 is not 0.0701 by what binary adds
    return (
        f"{rounded * 10**-places:,}" if places <= 0 else f"{rounded / 10.0**places:,.{places}f}".rstrip("0").rstrip(".")
    )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Interval(Result):
    """An interval at a confidence `level` and the `method` that made it."""

    low: float
    high: float
    level: float
    method: str

    @property
    def half_width(self) -> float:
        """Half of the interval's length."""
        return (self.high - self.low) / 2

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high


class Verdict(enum.StrEnum):
    """How a claim leaves the audit."""

    VERIFIED = "verified"
    REFUTED = "refuted"  # shown false
    EQUIVALENT = "equivalent"  # within the stated margin
    UNDECIDED = "undecided"  # too little data; the finding says how much would do
    BLOCKED = "blocked"  # a gate failed; `blocked_by` names it
    UNTESTABLE = "untestable"  # no labels, no reference, or the wrong kind of data


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Gate(Result):
    """One pre-registered check: its rule, what was observed, and whether it passed (None: could not be run)."""

    name: str
    rule: str
    passed: bool | None
    n: int | None = None
    observed: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    detail: str = ""


Better = Literal["higher", "lower"]

DEFAULT_LEVEL = 0.95  # the confidence level of every command and function that is told no other
Unit = Literal["item", "group", "run"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Hypothesis:
    """What was asked of the estimate: `above`, `below` or `differs` from the value, or `within` it of 0."""

    relation: Literal["above", "below", "differs", "within"]
    value: float


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """The claims that were decided together: by which rule, how many, and which multiple comparisons these are."""

    method: str
    size: int
    name: str = ""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """Conditions of which no claim was formed, and why, in one line that says how to go on."""

    conditions: tuple[str, ...]
    reason: str


def refusals(refused: Iterable[tuple[Sequence[str], str]], *, most: int = 4) -> list[str]:
    """A line a reason, with the conditions that it holds for: a reason itself names none of them.

    Reasons that differ in their numbers only are one line with the smallest and the largest.

    >>> refusals([(("a", "c"), "only 9 items are shared"), (("b", "c"), "only 12 items are shared")])
    ['c and each of a, b: only 9 to 12 items are shared']
    """
    whose: dict[str, list[tuple[Sequence[str], str]]] = {}
    for conditions, reason in refused:
        whose.setdefault(NUMBER.sub("0", reason), []).append((conditions, reason))
    return [f"{_whom([c for c, _ in of], most)}: {_spanning([reason for _, reason in of])}" for of in whose.values()]


NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")


def _whom(groups: Sequence[Sequence[str]], most: int) -> str:
    """The conditions of several refusals; one that all pairs have in common is named once."""
    common = set(groups[0]).intersection(*groups)
    is_star = len(groups) > 1 and len(common) == 1 and all(len(group) == 2 for group in groups)
    names = [" and ".join(c for c in group if not is_star or c not in common) for group in groups]
    names = list(dict.fromkeys(names))
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return f"{f'{common.pop()} and each of ' if is_star else ''}{', '.join(names[:most])}{more}"


def _spanning(reasons: Sequence[str]) -> str:
    """A reason with the least and the largest of each number in reasons that are alike but for these."""
    spans = []
    for found in zip(*(NUMBER.findall(reason) for reason in reasons), strict=True):
        ends = sorted(dict.fromkeys(found), key=lambda text: float(text.replace(",", "")))
        spans.append(" to ".join(dict.fromkeys((ends[0], ends[-1]))))
    each = iter(spans)
    return NUMBER.sub(lambda _: next(each), reasons[0])


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SizeStep(Result):
    """How many `units` show a true difference of `difference` with 80% power."""

    difference: float
    units: int


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Reckoning(Result):
    """What an estimate and its interval are when missing grades are counted in one way."""

    estimate: float
    interval: Interval


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class GradedResult(Result):
    """What the grades alone say of a claim that human labels corrected."""

    estimate: float
    interval: Interval
    verdict: Verdict


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Claim(Result):
    """The only carrier of a verdict.

    With two conditions the `estimate` is the second minus the first, always. `interval` is the one that decided, at the
    level at which this claim was decided in its family; `plain_interval` is the same at the stated level, as if it were
    the only claim, and of a gate's requirement what a comparison shows. A difference is shown exactly where `interval`
    excludes the hypothesis' value. `values` are the measure of each condition on the items that count here. `n`
    counts items, `units` what varies independently (`unit` says what that is). `needed` units would settle an
    undecided claim for a difference of `needed_for`, with 80% power; never for the difference that was seen.
    `min_detectable_difference` is the smallest difference that these data would have shown with 80% power. `sizes`
    say what differences that nobody stated would take. Where missing grades change the verdict, `without_missing`
    and `missing_as_worst` are the two ways to count them. `labels` of people corrected the grades, and `as_graded`
    is what these say alone. `basis` says who graded ("judge, unchecked" where a judge did whom nobody checked);
    `judged` names that judge, `apart` says that conditions have different items, and `scale` holds the ends of what a
    bare number is read on: none of these is written. A blocked claim has the `reason`, the `remedy`, and the option
    that overrides the check. `missing` counts the grades that each condition lacks. `primary`: it is on the main
    measure, or a requirement. `plan` is the hash of the plan that was locked before, and None for an exploratory claim.
    """

    unwritten: ClassVar = ("judged", "apart", "scale")

    measure: str
    conditions: tuple[str, ...]
    verdict: Verdict
    sentence: str
    estimate: float | None = None
    interval: Interval | None = None
    plain_interval: Interval | None = None
    values: tuple[float | None, ...] = ()
    p: float | None = None
    p_adjusted: float | None = None
    n: int = 0
    units: int = 0
    unit: Unit = "item"
    needed: int | None = None
    needed_for: float | None = None
    min_detectable_difference: float | None = None
    sizes: tuple[SizeStep, ...] = ()
    without_missing: Reckoning | None = None
    missing_as_worst: Reckoning | None = None
    labels: int = 0
    as_graded: GradedResult | None = None
    hypothesis: Hypothesis | None = None
    margin: float | None = None
    better: Better | None = None
    scale: tuple[float, float] | None = None
    family: Family | None = None
    primary: bool = True
    gates: tuple[Gate, ...] = ()
    blocked_by: str | None = None
    reason: str = ""
    remedy: str = ""
    override: str = ""
    missing: Mapping[str, int] = dataclasses.field(default_factory=dict)
    basis: str = ""
    judged: str = ""
    apart: bool = False
    plan: str | None = None
    data_hash: str = ""
    seed: int | None = None
    notes: tuple[str, ...] = ()
    id: str = ""

    def __post_init__(self) -> None:
        if (self.verdict is Verdict.BLOCKED) != (self.blocked_by is not None):
            raise ValueError("a claim names `blocked_by` exactly when its verdict is blocked")
        if not self.id:
            asked = None if self.hypothesis is None else (self.hypothesis.relation, self.hypothesis.value)
            text = repr((self.measure, self.conditions, asked, self.margin))
            object.__setattr__(self, "id", hashlib.sha256(text.encode()).hexdigest()[:12])

    def __repr__(self) -> str:
        return (
            f"<Claim on {self.measure}, {self.verdict.value}: {self.sentence[:100]}{'…' * (len(self.sentence) > 100)}>"
        )

    def __str__(self) -> str:
        return self.sentence

    def _repr_html_(self) -> str:
        marks = []
        if self.estimate is not None:
            shown = self.interval or self.plain_interval
            of = " minus ".join(reversed(self.conditions))
            marks = [Mark(panel=self.measure, label=of, estimate=self.estimate, interval=shown)]
        return picture([self.sentence], marks)

    @property
    def decided(self) -> bool:
        """Whether the data show it, or its opposite."""
        return self.verdict in (Verdict.VERIFIED, Verdict.REFUTED, Verdict.EQUIVALENT)

    @property
    def exploratory(self) -> bool:
        """No plan was locked before the data were looked at."""
        return self.plan is None
