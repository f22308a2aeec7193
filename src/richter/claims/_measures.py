"""The table of measures: what each one is, where its values come from, who estimates it, and its words.

A measure is one row; no other list of measures exists. `compare`, `gate`, `watch`, `size`, `--stop-when`, plans and the
page know what they may ask of a measure from its row.
"""

import contextlib
import dataclasses
import math
import re
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from richter.errors import InputError
from richter.records import Better, Claim, counted

__all__ = [
    "METRICS",
    "Metric",
    "Outcomes",
    "Points",
    "as_errors",
    "check_margin",
    "claim_words",
    "gateable_measures",
    "labelled_measures",
    "margin_on",
    "measure_words",
    "parse_margin",
    "pass_metric",
    "select_conditions",
    "sequential_measures",
    "severity_page_measures",
    "tries_of",
    "unit_means",
    "watched_measures",
]

Kind = Literal["binary", "bounded", "ordinal", "real"]
Source = Literal["score", "severity", "answer", "failure", "confidence", "draws", "column"]
Estimator = Literal["mean", "given_error", "corrected", "dominance", "slope", "ece", "draws", "tail"]
Scale = tuple[float, float]
Floats = NDArray[np.float64]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """What a value is: its kind, its range, which way is better, where it comes from, and its words.

    `scale` and `suffix` turn a value into what people read (0.02 is "2.0 points"). The words are used as "b is
    {better_word} than a". `source` says which table has its values, `column` which column of the answers, `at` from
    which severity on an answer counts, `estimator` who makes the evidence. `is_cost`: an amount that is paid.
    `gateable`: a plan may require it. `sequential`: asking may stop on it. `watched`: a series of runs is followed by
    it (of what says the same thing twice, one). `page_rank`: its place among the severities that a page asks beside its
    main measure; 0 where it does not.
    `default_margin` is the difference that sizes and plan templates are
    for where nobody stated one; equivalence is tested at a stated margin only.
    """

    name: str
    kind: Kind
    better: Better
    low: float | None = None
    high: float | None = None
    better_word: str = "better"
    worse_word: str = "worse"
    alike_word: str = "alike"
    noun: str = "score"
    scale: float = 1.0
    suffix: str = ""
    digits: int = 3
    source: Source = "score"
    column: str = ""
    at: float | None = None
    estimator: Estimator = "mean"
    is_cost: bool = False
    gateable: bool = False
    sequential: bool = False
    watched: bool = False
    page_rank: int = 0
    default_margin: float | None = None

    def of_severity(self, severity: Floats) -> Floats:
        """The measure's values as the severities of answers say them: an answer of severity `at` counts."""
        if self.source == "score":
            return (severity == 0).astype(np.float64) if self.better == "higher" else (severity > 0).astype(np.float64)
        return severity if self.at is None else (severity >= self.at).astype(np.float64)

    @property
    def worst(self) -> float | None:
        """The worse end of the range; None where a value has none."""
        if self.kind == "real" or self.low is None or self.high is None:
            return None
        return self.low if self.better == "higher" else self.high

    @property
    def best(self) -> float | None:
        """The better end of the range; None where a value has none."""
        if self.worst is None:
            return None
        return self.high if self.better == "higher" else self.low

    def amount(self, value: float, *, sign: bool = False) -> str:
        """A value as people read it, without its unit."""
        zero = abs(value * self.scale) < 0.5 * 10**-self.digits  # "-0.0" and "+0.0" would claim a direction
        return f"{0.0 if zero else value * self.scale:{'+' if sign and not zero else ''},.{self.digits}f}"

    def telling(self, *values: float, stated: float | None = None) -> "Metric":
        """The same words with as many more digits as it takes to print different values differently, up to five.

        A `stated` limit is one of them, and is printed as it was stated: an interval that was decided by 0.03 points
        must not read as if it ended at the limit, nor a limit of 0.05% as 0.1%.
        """
        given = values if stated is None else (*values, stated)
        known = {round(v * self.scale, 9) for v in given if math.isfinite(v)}
        whole = 0.0 if stated is None else round(stated * self.scale, 9)
        for digits in range(self.digits, self.digits + 6):
            if len({round(v, digits) for v in known}) == len(known) and round(whole, digits) == whole:
                break
        return dataclasses.replace(self, digits=digits)

    @property
    def unit(self) -> str:
        """What follows a value of one condition: a rate is in per cent, a difference of rates in points (`suffix`)."""
        return "%" if self.suffix == " points" else self.suffix

    @property
    def ends(self) -> Scale | None:
        """The ends of the scale that a bare number is to be read on; None where it has a unit or no ends."""
        if self.suffix or self.kind not in ("bounded", "ordinal") or self.low is None or self.high is None:
            return None
        return self.low, self.high

    @property
    def read_on(self) -> str:
        """The scale that a bare number is to be read on, in words; empty where there is none."""
        return "" if self.ends is None else f" on a scale of {self.ends[0]:g} to {self.ends[1]:g}"


_POINTS: dict[str, Any] = {"scale": 100.0, "suffix": " points", "digits": 1, "default_margin": 0.02, "low": 0.0,
                           "high": 1.0}  # fmt: skip
_SEVERITY: dict[str, Any] = {"low": 0.0, "high": 4.0, "default_margin": 0.1, "source": "severity"}
_ASKED: dict[str, Any] = {"gateable": True, "sequential": True}
_AMOUNT: dict[str, Any] = {"low": 0.0, "source": "answer", "is_cost": True, "gateable": True}


def _row(name: str, kind: Kind, better: Better, words: str, *shared: dict[str, Any], **own: Any) -> Metric:
    better_word, worse_word, alike_word, noun = words.split(" | ")
    fields = {key: value for group in (*shared, own) for key, value in group.items()}
    return Metric(
        name=name, kind=kind, better=better, better_word=better_word, worse_word=worse_word, alike_word=alike_word,
        noun=noun, **fields,
    )  # fmt: skip


def _severe_share(at: float) -> Metric:
    often = f"often at severity {at:g} or more when wrong"
    words = f"less {often} | more {often} | equally {often} | share of errors of severity {at:g} or more"
    more = {"source": "severity", "at": at, "estimator": "given_error"}
    return _row(f"severe_given_error_{at:g}", "binary", "lower", words, _POINTS, more)


# better | worse | alike | what it is called
METRICS: dict[str, Metric] = {
    m.name: m
    for m in (
        _row("accuracy", "binary", "higher",
             "more accurate | less accurate | equally accurate | accuracy", _POINTS, _ASKED),
        _row("error_rate", "binary", "lower",
             "less often wrong | more often wrong | equally often wrong | error rate", _POINTS, _ASKED, watched=True),
        _row("mean_score", "bounded", "higher",
             "better scored | worse scored | scored alike | mean score", _ASKED, watched=True),
        _row("win_rate", "bounded", "higher",
             "more often preferred | less often preferred | equally often preferred | win rate", _POINTS, _ASKED),
        _row("catastrophic_rate", "binary", "lower",
             "less often severely wrong | more often severely wrong | equally often severely wrong "
             "| rate of severe errors",
             _POINTS, _ASKED, source="severity", at=3.0, page_rank=2),
        _row("mean_severity", "ordinal", "lower",
             "less severe over all answers | more severe over all answers | equally severe over all answers "
             "| mean severity of all answers", _SEVERITY, _ASKED, watched=True, page_rank=1),
        _row("severity_given_error", "ordinal", "lower",
             "less severe in its errors | more severe in its errors | equally severe in their errors "
             "| mean severity of errors", _SEVERITY, estimator="given_error", sequential=True,
             page_rank=3),
        _row("true_severity_given_error", "ordinal", "lower",
             "less severe in its errors (corrected for the judges' own) "
             "| more severe in its errors (corrected for the judges' own) "
             "| equally severe in their errors (corrected for the judges' own) "
             "| corrected mean severity of errors", _SEVERITY, estimator="corrected"),
        _row("graver_error", "bounded", "lower",
             "less likely to make the more severe error | more likely to make the more severe error "
             "| equally likely to make the more severe error | chance of the more severe error", _POINTS,
             source="severity", estimator="given_error"),
        *(_severe_share(at) for at in (2.0, 3.0)),
        _row("dominance", "bounded", "lower",
             "better at every severity reached | worse at every severity reached | alike at every severity reached "
             "| smallest difference at any severity", {**_POINTS, "digits": 2}, source="severity",
             estimator="dominance"),
        _row("b", "real", "higher",
             "lighter in the tail of its errors | heavier in the tail of its errors "
             "| alike in the tails of their errors | slope b", default_margin=0.15, source="severity",
             estimator="slope", page_rank=4),
        _row("ece", "bounded", "lower",
             "better calibrated | worse calibrated | equally calibrated | calibration error",
             _POINTS, _ASKED, source="confidence", estimator="ece", watched=True),
        _row("draws", "bounded", "lower",
             "less sure of itself than right over repeated answers | more sure of itself than right over repeated "
             "answers | as sure of itself as right over repeated answers | overconfidence over repeated answers",
             {**_POINTS, "low": -1.0}, source="draws", estimator="draws"),
        _row("xi", "real", "lower",
             "lighter in its worst errors | heavier in its worst errors | alike in their worst errors "
             "| the worst errors (the tail)", source="severity", estimator="tail"),
        _row("refusal_rate", "binary", "lower",
             "less often refusing | more often refusing | refusing equally often | share of refusals", _POINTS, _ASKED,
             source="answer", column="refused", watched=True),
        _row("failure_rate", "binary", "lower",
             "less often without an answer | more often without an answer | equally often without an answer "
             "| share of failed calls", _POINTS, _ASKED, source="failure"),
        _row("tokens", "real", "lower", "shorter | longer | equally long | tokens per answer", _AMOUNT, digits=1,
             column="tokens_out", watched=True),
        _row("latency", "real", "lower", "faster | slower | equally fast | seconds per answer", _AMOUNT, suffix=" s",
             column="latency_s"),
        _row("money", "real", "lower", "cheaper | more expensive | equally expensive | dollars per answer", _AMOUNT,
             digits=6, column="money_usd", watched=True),
        _row("steps", "real", "lower",
             "shorter in its runs | longer in its runs | equally long in their runs | steps per run", _AMOUNT, digits=1,
             column="steps", watched=True),
        _row("failed_calls", "real", "lower",
             "less often failing in its tool calls | more often failing in its tool calls "
             "| equally often failing in their tool calls | failed tool calls per run", source="answer",
             column="failed_calls", low=0.0, digits=2, gateable=True, watched=True),
    )
}  # fmt: skip


def gateable_measures() -> tuple[str, ...]:
    """The measures that a gate may require something of."""
    return tuple(m.name for m in METRICS.values() if m.gateable)


def sequential_measures() -> tuple[str, ...]:
    """The measures that asking may stop on."""
    return tuple(m.name for m in METRICS.values() if m.sequential)


def watched_measures() -> tuple[str, ...]:
    """The measures that a series of runs is followed by."""
    return tuple(m.name for m in METRICS.values() if m.watched)


def severity_page_measures() -> tuple[str, ...]:
    """The measures of severities that a page asks beside its main one, in their order."""
    asked = sorted((m for m in METRICS.values() if m.page_rank), key=lambda m: m.page_rank)
    return tuple(m.name for m in asked)


def labelled_measures() -> tuple[str, ...]:
    """The measures that a person's severity of an answer says the value of, as `accuracy` and all from severities."""
    return tuple(m.name for m in METRICS.values() if m.estimator == "mean"
                 and (m.source == "severity" or m.name == "accuracy"))  # fmt: skip


def pass_metric(k: int, *, every: bool = False) -> Metric:
    """pass@k (one of k draws is right at the least), or pass^k where `every` one must be."""
    name = f"pass{'^' if every else '@'}{k}"
    more = f"right in {'all' if every else 'one'} of {k} tries"
    return dataclasses.replace(
        METRICS["accuracy"],
        name=name,
        kind="bounded",
        better_word=f"more often {more}",
        worse_word=f"less often {more}",
        alike_word=f"equally often {more}",
        noun=name,
    )


class Tries(NamedTuple):
    """How many tries a measure is about, and whether every one must pass."""

    number: int
    every: bool


def tries_of(measure: str) -> Tries | None:
    """The tries of `pass@K` (one of them passes) or `pass^K` (all do); None of any other measure, whatever its name."""
    found = re.fullmatch(r"pass([@^])([1-9]\d{0,5})", measure) if measure.startswith("pass") else None
    return None if found is None else Tries(number=int(found[2]), every=found[1] == "^")


def measure_words(measure: str, scale: Scale | None = None) -> Metric:
    """The words of a measure; for one without a line of its own its name serves.

    `scale` holds the ends of the measure's scale where the data say them.
    """
    low, high = scale or (None, None)
    known = METRICS.get(measure.split(":")[0])
    if known is not None:
        return known if scale is None or known.suffix else dataclasses.replace(known, low=low, high=high)
    if (tries := tries_of(measure)) is not None:
        return pass_metric(tries.number, every=tries.every)
    noun = measure.replace("_", " ")
    return Metric(
        name=measure,
        kind="bounded",
        low=low,
        high=high,
        better="higher",
        better_word=f"better in {noun}",
        worse_word=f"worse in {noun}",
        alike_word=f"alike in {noun}",
        noun=noun,
    )


def claim_words(claim: Claim) -> Metric:
    """The words of a claim's own numbers: of two amounts that are paid the ratio of totals less 1, in per cent."""
    words = measure_words(claim.measure, claim.scale)
    if not words.is_cost or len(claim.conditions) != 2:
        return words
    return dataclasses.replace(words, scale=100.0, suffix="%", digits=1)


class Points(float):
    """A margin in points: hundredths of the range of the measure that it is stated for."""


def parse_margin(value: str | float) -> float:
    """A margin as people write it: `2pt` (points), `2%` or `0.02`; of a score any number on its scale.

    >>> parse_margin("2pt"), parse_margin(0.5)
    (0.02, 0.5)
    """
    text, number = str(value).strip().lower(), math.nan
    given = re.fullmatch(r"(.*?)\s*(percentage points?|points?|pts?|pp|percent|%)", text)
    with contextlib.suppress(ValueError):
        number = float(given[1]) / 100 if given else float(text)
    if math.isnan(number):
        raise InputError(f"{value!r} is not a share.", remedy="Write 2pt, 2% or 0.02.")
    if not number > 0:
        raise InputError(f"{value!r} is not above 0.", remedy="Write 2pt or 0.02 for two points.")
    if given and number >= 1:
        raise InputError(f"{value!r} is not below 100 points.", remedy="Write 2pt or 0.02 for two points.")
    return Points(number) if given else number


def margin_on(margin: float, metric: Metric) -> float:
    """A margin on its measure's scale: 2pt are 2 of 0 to 100 and 0.08 of 1 to 5; a bare number is as it stands.

    Of an amount that is paid (money, seconds) a margin is relative, so that points are hundredths of the amount.
    """
    if not isinstance(margin, Points) or metric.is_cost:
        return float(margin)
    if metric.kind == "real" or metric.low is None or metric.high is None:
        raise InputError(
            f"The range of {metric.noun} is not known, so that points of it say nothing.",
            remedy="State its ends (--scale LOW:HIGH), or the margin as a bare number of the score (--margin 0.5).",
        )
    return float(margin) * (metric.high - metric.low)


def check_margin(metric: Metric, margin: float) -> None:
    """Refuse a margin as large as the whole range of what it is of: within it are any two conditions."""
    if metric.low is None or metric.high is None or metric.kind == "real" or margin < metric.high - metric.low:
        return
    if metric.suffix == " points":
        raise InputError(
            f"A margin of {margin:g} is {metric.amount(margin)} points of {metric.noun}, of which there are 100.",
            remedy="Write 2pt (or 0.02) for two points.",
        )
    raise InputError(
        f"A margin of {margin:g} is as large as the whole scale of {metric.noun}, {metric.low:g} to {metric.high:g}.",
        remedy="Give the difference that would matter, on that scale.",
    )


Codes = NDArray[np.intp]
Counts = NDArray[np.int64]
MOST_EXACT = 2**24  # counts up to which sums of 32-bit floats are exact


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Outcomes:
    """One metric, one row per answer that has a value: codes of item, condition, draw and run, and the value.

    `label` is what people say of an answer (NaN: nobody was asked) and `layer` the stratum in which it could be drawn
    for them, or `chance` that with which it was (NaN: not known), by row; `label_fault` says why labels cannot be used.
    `is_proxy`: values only say which answers are right, and labels give the measure.
    `judges` names the judge models that graded.
    `group`, `group_2`, `stratum` (index into `strata`) and `weight` are per item. An answer without a value has no row.
    Nothing is dropped without a count in `notes`.
    """

    metric: Metric
    items: tuple[str, ...]
    conditions: tuple[str, ...]
    item: Codes
    condition: Codes
    value: Floats
    draw: Codes | None = None
    run: Codes | None = None
    runs: tuple[str, ...] = ()
    group: Codes | None = None
    group_2: Codes | None = None
    stratum: Codes | None = None
    strata: tuple[str, ...] = ()
    weight: Floats | None = None
    label: Floats | None = None
    layer: Codes | None = None
    chance: Floats | None = None
    label_fault: str = ""
    is_proxy: bool = False
    judges: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        rows, items = len(self.value), len(self.items)
        if len(self.item) != rows or len(self.condition) != rows:
            raise InputError("Item, condition and value differ in length.", remedy="Give one of each for every answer.")
        for name in ("group", "group_2", "stratum", "weight"):
            given = getattr(self, name)
            if given is not None and len(given) != items:
                raise InputError(
                    f"{len(given)} values of {name} for {items} items.", remedy=f"Give one {name} per item."
                )
        if self.weight is not None and not (np.isfinite(self.weight).all() and (self.weight > 0).all()):
            bad = int(np.sum(~(np.isfinite(self.weight) & (self.weight > 0))))
            raise InputError(
                f"{counted(bad, 'weight is', 'weights are')} zero, negative or missing.",
                remedy="Weights are above 0; leave items out instead.",
            )


def select_conditions(outcomes: Outcomes, names: Sequence[str]) -> Outcomes:
    """The outcomes of some conditions, which keep their codes' order."""
    kept = [k for k, name in enumerate(outcomes.conditions) if name in names]
    code = np.full(len(outcomes.conditions), -1, dtype=np.intp)
    code[kept] = np.arange(len(kept))
    rows = np.flatnonzero(code[outcomes.condition] >= 0)
    changes: dict[str, Any] = {}
    for name in ("item", "value", "draw", "run", "label", "layer", "chance"):
        values = getattr(outcomes, name)
        changes[name] = None if values is None else values[rows]
    conditions = tuple(outcomes.conditions[k] for k in kept)
    return dataclasses.replace(outcomes, conditions=conditions, condition=code[outcomes.condition[rows]], **changes)


def as_errors(right: Outcomes) -> Outcomes:
    """Outcomes of right answers as those of wrong ones."""
    label = None if right.label is None else 1 - right.label
    return dataclasses.replace(right, metric=METRICS["error_rate"], value=1 - right.value, label=label)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class UnitMeans:
    """Items x conditions: the mean of an item's draws (NaN: none), how many, and their squared deviations' sum."""

    mean: Floats
    draws: Codes
    within: Floats


def unit_means(outcomes: Outcomes) -> UnitMeans:
    """Every item's mean over its draws, which is what all claims on means are about."""
    shape = (len(outcomes.items), len(outcomes.conditions))
    place = outcomes.item * shape[1] + outcomes.condition
    size = shape[0] * shape[1]
    draws = np.bincount(place, minlength=size)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.bincount(place, weights=outcomes.value, minlength=size) / draws
    within: Floats = np.bincount(place, weights=(outcomes.value - mean[place]) ** 2, minlength=size).astype(np.float64)
    return UnitMeans(mean=mean.reshape(shape), draws=draws.reshape(shape), within=within.reshape(shape))


class RightCounts(NamedTuple):
    """Of every pair of conditions, on the items that both have: those that the first, and only the second, got right.

    `right[i, j]` is about i, `gained[i, j]` counts what j got right and i did not.
    """

    right: Counts
    gained: Counts


def count_shared(mean: Floats) -> Counts:
    """The items that two conditions both have a value for; on the diagonal those of each."""
    known = _as_sums(~np.isnan(mean))
    return (known.T @ known).astype(np.int64)


def count_right(mean: Floats) -> RightCounts | None:
    """The counts of grades 0 and 1; None where there are other values."""
    known = ~np.isnan(mean)
    if not np.isin(mean[known], (0.0, 1.0)).all():
        return None
    right, wrong = _as_sums(mean == 1), _as_sums(mean == 0)
    gained = (wrong.T @ right).astype(np.int64)
    return RightCounts(right=(right.T @ right).astype(np.int64) + gained.T, gained=gained)


def _as_sums(of: NDArray[np.bool_]) -> Floats:
    """As floats that are summed without an error."""
    return of.astype(np.float32 if len(of) < MOST_EXACT else np.float64)
