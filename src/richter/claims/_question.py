"""What is asked, and what the data answer: a question, the evidence on it at any level, or what blocks it."""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from richter.claims._measures import Metric
from richter.errors import InputError
from richter.records import Gate, Interval, Unit
from richter.stats import find_root

__all__ = [
    "AMOUNTS_GIVEN",
    "JUDGE_UNCHECKED",
    "UNPAIRED",
    "Asked",
    "Blocked",
    "Evidence",
    "FamilyName",
    "Question",
    "Relation",
    "one_sided",
    "one_sided_level",
    "p_value",
    "single_run_error",
]

UNPAIRED = "different items per condition: not paired"
TOTALS = "ratio of totals"
CountLimits = Literal["", "score", "exact"]
LEAST_FREEDOM = 4.0  # degrees of freedom of a t test below which nothing is decided


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """An estimate with its interval at every level, made by inverting one test.

    `interval(level)` is two-sided and nested: a higher level contains a lower one. `p(value)` is the two-sided
    p-value of the quantity being `value`; where it is None it is found from the intervals, so that p <= 1 - level
    exactly where the interval at `level` excludes the value. With two conditions the estimate is the second minus the
    first; `values` are the conditions' own. `standard_error` is for sizing only, None where there is none; a t
    test takes it with `freedom` degrees. Where limits do not follow from these, `detectable(units, tail,
    power)` is the distance that so many units show at a tail with a power, of a ratio that of logarithms.
    `labels` counts the human labels that corrected what others graded, 0 where none did; `as_graded` is the evidence
    of those grades alone. `judged` says whose grades
    these are where judge models gave them and no labels corrected them. `relative`: the estimate is the second over the
    first, minus 1 (amounts that are paid). `sides`: where two conditions have different items, how many each. `counts`:
    both are plain rates, with these limits of their counts. `missing` counts the grades that each condition lacks; the
    evidence then holds both ways (`both_ways`), `ignoring` them and taking them at the worse end of the range
    (`as_worst`); `missing_to_undo` says how many of them undo what a test shows without them. `p_refuted` is the
    p-value of the statement being false in another way than by the estimate's sign, and `detail` what its sentence
    adds. `describe_at(level)` is a note with intervals at that level. `labels_to_settle(level)` is how many more human
    labels would exclude 0 at that level if the estimate stays; None where labelling every answer would not.
    `binary_span` is the distance of right from wrong where each unit is one such answer of both conditions.
    `as_compared` is what a comparison shows of a gate's question, whose own limits are more careful.
    """

    estimate: float
    interval: Callable[[float], Interval]
    p: Callable[[float], float] | None = None
    values: tuple[float, ...] = ()
    n: int = 0
    units: int = 0
    unit: Unit = "item"
    standard_error: float | None = None
    freedom: float = math.inf
    binary_span: float | None = None
    detectable: Callable[[float, float, float], float] | None = None
    labels: int = 0
    as_graded: "Evidence | None" = None
    as_compared: "Evidence | None" = None
    judged: str = ""
    relative: bool = False
    sides: tuple[int, ...] = ()
    counts: CountLimits = ""
    missing: Mapping[str, int] = dataclasses.field(default_factory=dict)
    ignoring: "Evidence | None" = None
    as_worst: "Evidence | None" = None
    missing_to_undo: "Callable[[Callable[[Evidence], bool]], int] | None" = None
    p_refuted: float | None = None
    detail: str = ""
    notes: tuple[str, ...] = ()
    describe_at: Callable[[float], str] | None = None
    labels_to_settle: Callable[[float], int | None] | None = None

    def notes_at(self, level: float) -> tuple[str, ...]:
        """All notes, those with intervals at a level."""
        return self.notes if self.describe_at is None else (*self.notes, self.describe_at(level))


def describe_each(parts: Sequence[Evidence]) -> Callable[[float], str] | None:
    """The notes with intervals of several parts as one; None where there are none."""
    known = [part.describe_at for part in parts if part.describe_at is not None]
    return (lambda level: "; ".join(dict.fromkeys(describe(level) for describe in known))) if known else None


def p_value(evidence: Evidence, value: float) -> float:
    """The two-sided p-value of the quantity being `value`: the smallest alpha whose interval excludes it."""
    if evidence.p is not None:
        return evidence.p(value)

    def distance_outside(log_alpha: float) -> float:
        interval = evidence.interval(1 - math.exp(log_alpha))
        return float(max(interval.low - value, value - interval.high)) or -1.0  # an end is inside

    low, high = math.log(1e-12), math.log1p(-1e-9)  # nearer to 1 quantiles of t round to 0
    if distance_outside(low) > 0:
        return 1e-12
    return math.exp(find_root(distance_outside, low, high)) if distance_outside(high) > 0 else 1.0


def one_sided(evidence: Evidence, value: float, *, above: bool) -> float:
    """The p-value of the quantity being at most (`above`) or at least `value`: half of the two-sided one."""
    half, beyond = p_value(evidence, value) / 2, evidence.estimate - value
    return half if (beyond if above else -beyond) > 0 else 1 - half


def one_sided_level(alpha: float) -> float:
    """The level of the two-sided interval whose each end is a one-sided limit at `alpha`."""
    return 1 - 2 * alpha


def joint_freedom(*parts: tuple[float | None, float]) -> float:
    """Welch's degrees of freedom of a sum of independent parts, from their standard errors and degrees of freedom."""
    known = [(error**2, freedom) for error, freedom in parts if error is not None]
    spent = sum(v**2 / freedom for v, freedom in known)
    return sum(v for v, _ in known) ** 2 / spent if spent > 0 else math.inf


def single_run_error() -> InputError:
    """Why nothing is said of two conditions of which only one has several runs."""
    return InputError(
        "One of the two has one run, so that nothing says how much its runs vary.",
        remedy="Give several runs of both, or read runs as repeats: --map draw=COLUMN.",
    )


AMOUNTS_GIVEN = "amounts as given"  # the basis of claims on money, tokens and time, which nobody grades
JUDGE_UNCHECKED = "judge, unchecked"  # the basis of claims on grades of a judge that nobody checked

Relation = Literal["above", "below", "differs"]
FamilyName = Literal["main", "other", "subgroup", "requirement"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question about a measure of one condition, or about the second condition minus the first.

    `differs`: is the quantity unlike `value`, on either side? `above` and `below` are directed: the other side refutes.
    With a `margin`, being within it of `value` is asked as well. `family` names the multiple comparisons that it is
    corrected with: the main measure's, all others', the subgroups', or a gate's requirements. `column` and `part` name
    the subset of the items that it is about.
    """

    measure: str
    conditions: tuple[str, ...]
    relation: Relation = "differs"
    value: float = 0.0
    margin: float | None = None
    family: FamilyName = "main"
    column: str = ""
    part: str = ""
    column_name: str = ""  # what the data call the column

    @property
    def name(self) -> str:
        """The measure's name in claims; a subset's stands behind it."""
        return f"{self.measure}:{self.part}" if self.column else self.measure


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Blocked:
    """Why a question has no answer: the check (`gate`) that failed, the reason, the remedy, and what overrides it.

    Without a `gate` the data hold nothing to answer with: the question is untestable.
    """

    gate: str | None
    reason: str
    remedy: str = ""
    override: str = ""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question with the metric it is about and its evidence, or with the check that blocks it."""

    question: Question
    metric: Metric
    evidence: Evidence | Blocked
    basis: str = ""
    gates: tuple[Gate, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def known(self) -> Evidence:
        """The evidence of a question that has some."""
        assert isinstance(self.evidence, Evidence)
        return self.evidence

    @property
    def is_rising(self) -> bool:
        """Whether the estimate lies above the value that is asked about."""
        return self.known.estimate > self.question.value

    @property
    def who_graded(self) -> str:
        """The basis, what is not paired, and that nobody checked the judges."""
        return "; ".join(p for p in (self.basis, UNPAIRED if self.known.sides else "", self.known.judged) if p)

    @property
    def words(self) -> Metric:
        """The metric's words; a ratio speaks in per cent."""
        if not self.known.relative:
            return self.metric
        return dataclasses.replace(self.metric, scale=100.0, suffix="%", digits=1, default_margin=0.05)
