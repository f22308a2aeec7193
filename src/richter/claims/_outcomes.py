"""One metric on units: the record that every reader makes and every claim uses."""

import dataclasses
import math
import re
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from richter.errors import InputError
from richter.records import Better, Claim, counted

__all__ = [
    "METRICS",
    "Metric",
    "Outcomes",
    "as_errors",
    "check_margin",
    "claim_words",
    "measure_words",
    "pass_metric",
    "unit_means",
]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]
Kind = Literal["binary", "bounded", "ordinal", "real"]
Scale = tuple[float, float]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """What a value is: its kind, its range, which way is better, and the words that sentences use for it.

    `scale` and `suffix` turn a value into what people read (0.02 is "2.0 points"). `adjective` pairs are
    "b is {better_word} than a". `gap` is the difference that `needed` is computed for where no margin was stated.
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
    gap: float | None = None

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
    def read_on(self) -> str:
        """The scale that a bare number is to be read on, in words; empty where it has a unit or no ends."""
        bare = (
            not self.suffix and self.kind in ("bounded", "ordinal") and self.low is not None and self.high is not None
        )
        return f" on a scale of {self.low:g} to {self.high:g}" if bare else ""


_POINTS: dict[str, Any] = {"scale": 100.0, "suffix": " points", "digits": 1, "gap": 0.02, "low": 0.0, "high": 1.0}
_SEVERITY: dict[str, Any] = {"low": 0.0, "high": 4.0, "gap": 0.1}


def _metric(name: str, kind: Kind, better: Better, words: str, **more: Any) -> Metric:
    better_word, worse_word, alike_word, noun = words.split(" | ")
    return Metric(
        name=name, kind=kind, better=better, better_word=better_word, worse_word=worse_word, alike_word=alike_word,
        noun=noun, **more,
    )  # fmt: skip


# The words of every metric: better, worse, alike, and what it is called. Whoever adds a metric adds its line here.
METRICS: dict[str, Metric] = {
    m.name: m
    for m in (
        _metric("accuracy", "binary", "higher",
                "more accurate | less accurate | equally accurate | accuracy", **_POINTS),
        _metric("error_rate", "binary", "lower",
                "less often wrong | more often wrong | equally often wrong | error rate", **_POINTS),
        _metric("mean_score", "bounded", "higher",
                "better scored | worse scored | scored alike | mean score"),
        _metric("catastrophic_rate", "binary", "lower",
                "less often catastrophic | more often catastrophic | equally often catastrophic | catastrophic rate",
                **_POINTS),
        _metric("mean_severity", "ordinal", "lower",
                "less severe over all answers | more severe over all answers | equally severe over all answers "
                "| mean severity of all answers", **_SEVERITY),
        _metric("severity_given_error", "ordinal", "lower",
                "less severe in its errors | graver in its errors | equally severe in their errors "
                "| mean severity of errors", **_SEVERITY),
        _metric("severe_given_error", "binary", "lower",
                "less often severe when wrong | more often severe when wrong | equally often severe when wrong "
                "| share of severe errors among errors", **_POINTS),
        _metric("graver_error", "bounded", "lower",
                "less likely to make the graver error | more likely to make the graver error "
                "| equally likely to make the graver error | chance of the graver error", **_POINTS),
        _metric("dominance", "bounded", "lower",
                "better at every severity reached | worse at every severity reached | alike at every severity reached "
                "| smallest difference at any severity", **{**_POINTS, "digits": 2}),
        _metric("b", "real", "higher",
                "lighter in the tail of its errors | heavier in the tail of its errors "
                "| alike in the tails of their errors | slope b", gap=0.15),
        _metric("ece", "bounded", "lower",
                "better calibrated | worse calibrated | equally calibrated | calibration error",
                **_POINTS),
        _metric("refusal_rate", "binary", "lower",
                "less often refusing | more often refusing | refusing equally often | share of refusals", **_POINTS),
        _metric("failure_rate", "binary", "lower",
                "less often without an answer | more often without an answer | equally often without an answer "
                "| share of failed calls", **_POINTS),
        _metric("tokens", "real", "lower", "shorter | longer | equally long | tokens an item", digits=1, low=0.0),
        _metric("latency", "real", "lower", "faster | slower | equally fast | seconds an item", suffix=" s", low=0.0),
        _metric("money", "real", "lower", "cheaper | dearer | equally dear | dollars an item", digits=6, low=0.0),
    )
}  # fmt: skip


# words of measures that no outcomes have
_NOUNS = {"xi": "the worst errors (the tail)", "draws": "calibration error over repeated answers"}


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


def measure_words(measure: str, scale: Scale | None = None) -> Metric:
    """The words of a measure; for one without a line of its own its name serves.

    `scale` holds the ends of the scale of scores, for the measures that have none of their own.
    """
    low, high = scale if scale and measure not in _NOUNS else (None, None)
    known = METRICS.get(measure.split(":")[0])
    if known is not None:
        return dataclasses.replace(known, low=low, high=high) if known.name == "mean_score" else known
    if tries := re.fullmatch(r"pass([@^])([1-9]\d{0,5})", measure):
        return pass_metric(int(tries[2]), every=tries[1] == "^")
    noun = _NOUNS.get(measure) or measure.replace("_", " ")
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


def claim_words(claim: Claim, scale: Scale | None = None) -> Metric:
    """The words of a claim's own numbers: of a ratio of two amounts (money, seconds, tokens) less 1, per cent."""
    words = measure_words(claim.measure, scale)
    if words.kind != "real" or words.low != 0 or len(claim.values) != 2 or claim.estimate is None:
        return words
    first, second = claim.values
    if first and second is not None and math.isclose(second / first - 1, claim.estimate, abs_tol=1e-9):
        return dataclasses.replace(words, scale=100.0, suffix="%", digits=1)
    return words


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Outcomes:
    """One metric, one row per answer that has a value: codes of item, condition, draw and run, and the value.

    `label` is what people say of an answer (NaN: nobody was asked) and `layer` the stratum in which it could be drawn
    for them, both by row; `judges` names the judge models that graded. `group`, `stratum` (index into `strata`) and
    `weight` are per item. An answer without a value has no row; `failed`
    counts those that failed, by condition and item, where known. Nothing is dropped without a count in `notes`.
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
    stratum: Codes | None = None
    strata: tuple[str, ...] = ()
    weight: Floats | None = None
    label: Floats | None = None
    layer: Codes | None = None
    judges: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        rows, items = len(self.value), len(self.items)
        if len(self.item) != rows or len(self.condition) != rows:
            raise InputError("Item, condition and value differ in length.", remedy="Give one of each for every answer.")
        for name in ("group", "stratum", "weight"):
            given = getattr(self, name)
            if given is not None and len(given) != items:
                raise InputError(
                    f"{len(given)} values of {name} for {items} items.", remedy=f"Give one {name} an item."
                )
        if self.weight is not None and not (np.isfinite(self.weight).all() and (self.weight > 0).all()):
            bad = int(np.sum(~(np.isfinite(self.weight) & (self.weight > 0))))
            raise InputError(
                f"{counted(bad, 'weight is', 'weights are')} zero, negative or missing.",
                remedy="Weights are above 0; leave items out instead.",
            )


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
