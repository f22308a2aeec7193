"""One condition: its error rate, calibration, how fast the gap changes with confidence, and the floor under both."""

import dataclasses
import functools
import math
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from richter.claims import ece_evidence, ece_side
from richter.errors import InputError, TooFewErrors
from richter.floors._rates import passive_floor
from richter.records import Interval, Shown, counted
from richter.stats import Floats, Indices, ece, effective_sample_size

__all__ = ["ConditionSummary", "Lipschitz", "lipschitz", "with_calibration"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Lipschitz(Shown):
    """The estimate at the paper's resolution, its bootstrap interval, and how far it is noise.

    `noise` is the median of the same estimate for a perfectly calibrated model with these bins and counts, whose
    true L is near 0: an estimate that is not well above it says little. `resolutions` maps a number of bins to the
    estimate there (None: undefined).
    """

    estimate: float
    interval: Interval
    noise: float
    slopes: int
    n: int
    bins: int
    min_count: int
    quantile: float
    cap: float
    resolutions: dict[int, float | None]
    n_resamples: int


def _estimate_lipschitz(right: Floats, count: Floats, *, min_count: int, quantile: float, cap: float) -> Floats:
    """L for each row of per-bin counts (resamples x bins); NaN under two slopes.

    The slope is between a retained bin and the retained bin before it, over the distance of their centres.
    """
    rows, bins = count.shape
    centre = (np.arange(bins) + 0.5) / bins
    enough = count >= min_count
    with np.errstate(invalid="ignore", divide="ignore"):
        gap = right / count - centre
    last = np.maximum.accumulate(np.where(enough, np.arange(bins), -1), axis=1)
    before = np.concatenate((np.full((rows, 1), -1), last[:, :-1]), axis=1)
    use = enough & (before >= 0)
    previous = np.maximum(before, 0)
    rise = np.abs(gap - np.take_along_axis(gap, previous, axis=1))
    with np.errstate(invalid="ignore", divide="ignore"):
        slope = np.where(use, rise / (centre - centre[previous]), np.inf)
    slope.sort(axis=1)
    number = use.sum(axis=1)
    place = quantile * np.maximum(number - 1, 0)  # linear quantile over the first `number` of each row
    lower = np.floor(place).astype(np.intp)
    upper = np.minimum(lower + 1, np.maximum(number - 1, 0))
    first = np.take_along_axis(slope, lower[:, None], axis=1)[:, 0]
    second = np.take_along_axis(slope, upper[:, None], axis=1)[:, 0]
    with np.errstate(invalid="ignore"):
        value = np.minimum(first + (place - lower) * (second - first), cap)
    return np.where(number >= 2, value, np.nan)


def _cell_means(confidence: Floats, correct: Floats, share: Floats, bins: int) -> tuple[Floats, Floats]:
    index = np.minimum((confidence * bins + 1e-9).astype(np.intp), bins - 1)
    count: Floats = np.round(np.bincount(index, weights=share, minlength=bins), 9)  # thirds of 1 add up to 1
    right: Floats = np.bincount(index, weights=share * correct, minlength=bins).astype(np.float64)
    return right, count


def item_shares(item: ArrayLike | None, n: int) -> Floats:
    """What each answer counts for where an item counts once: 1 over the item's answers."""
    if item is None:
        return np.ones(n)
    place = np.unique(np.asarray(item), return_inverse=True)[1]
    return np.asarray(1 / np.bincount(place)[place], dtype=np.float64)


def _by_unit(
    confidence: Floats, correct: Floats, share: Floats, unit: ArrayLike, bins: int, rng: np.random.Generator, times: int
) -> tuple[Floats, Floats]:
    """Cells of resamples of units, each with all of its answers."""
    place = np.unique(np.asarray(unit), return_inverse=True)[1]
    units = int(place.max()) + 1
    index = np.minimum((confidence * bins + 1e-9).astype(np.intp), bins - 1)
    size = units * bins
    own = [
        np.bincount(place * bins + index, weights=w, minlength=size).reshape(units, bins)
        for w in (share * correct, share)
    ]
    columns: list[list[Floats]] = [[], []]
    for start in range(0, times, 50):
        drawn = rng.multinomial(units, np.full(units, 1 / units), size=min(50, times - start)).astype(np.float64)
        for to, cells in zip(columns, own, strict=True):
            to.append(drawn @ cells)
    right, count = (np.concatenate(part) for part in columns)
    return right, np.round(count, 9)


def lipschitz(
    confidence: ArrayLike,
    correct: ArrayLike,
    *,
    rng: np.random.Generator,
    item: ArrayLike | None = None,
    unit: ArrayLike | None = None,
    bins: int = 20,
    min_count: int = 30,
    quantile: float = 0.75,
    cap: float = 5.0,
    resolutions: tuple[int, ...] = (10, 20, 40),
    level: float = 0.95,
    n_resamples: int = 1000,
) -> Lipschitz:
    """The Lipschitz constant of the calibration gap (Appendix S).

    Equal-width bins over [0, 1]; in each with at least `min_count` items, the gap is accuracy minus the bin's
    centre; slopes join neighbouring retained bins; the estimate is their `quantile`, at most `cap`. Under two
    slopes it is undefined and `TooFewErrors` says so (the paper prints 1.00 there). The interval is the estimate with
    the spread of a bootstrap over items around its median, bins retained anew in each; it describes the recipe, not a
    true L: finite differences of noisy bins overstate it, which `noise` makes visible.

    Several draws of one `item` share its one place in the bins. `unit` is what varies independently, where that is not
    the item: the bootstrap draws units, and `noise` is at the effective sample size.
    """
    c, a = np.asarray(confidence, dtype=np.float64), np.asarray(correct, dtype=np.float64)
    if c.shape != a.shape or c.ndim != 1 or len(c) == 0 or np.isnan(c).any() or np.isnan(a).any():
        raise InputError("Give one confidence and one grade per item, none missing.", remedy="Leave missing items out.")
    if ((c < 0) | (c > 1)).any():
        raise InputError("A confidence lies outside [0, 1].", remedy="Divide percentages by 100.")
    recipe = functools.partial(_estimate_lipschitz, min_count=min_count, quantile=quantile, cap=cap)
    share = item_shares(item, len(c))
    n = round(float(np.sum(share)))
    unit = item if unit is None else unit
    right, count = _cell_means(c, a, share, bins)
    estimate = float(recipe(right[None], count[None])[0])
    retained = int(np.sum(count >= min_count))
    if math.isnan(estimate):
        raise TooFewErrors(
            f"How fast the calibration gap changes with confidence (L) is not known: {retained} of {bins} bins of "
            f"confidence hold {min_count} items, and it takes three.",
            n=retained,
            needed=3,
            remedy="Use more items or finer-grained confidences.",
        )
    worth = 1.0  # independent answers for each item
    if unit is None or len(np.unique(np.asarray(unit))) == len(c):
        cells = np.concatenate((right, count - right)) / n
        drawn = rng.multinomial(n, cells / cells.sum(), size=n_resamples).astype(np.float64)
        values = recipe(drawn[:, :bins], drawn[:, :bins] + drawn[:, bins:])
    else:
        worth = effective_sample_size(1 - a, unit, weight=share) / n
        values = recipe(*_by_unit(c, a, share, unit, bins, rng, n_resamples))
    tail = (1 - level) / 2
    values = values[~np.isnan(values)]
    if len(values) == 0:
        values = np.array([0.0, cap])
    # a resample is noisier than the sample, and noise raises the estimate: only the spread of resamples is used
    low, middle, high = np.quantile(values, [tail, 0.5, 1 - tail])
    low, high = max(estimate - (middle - low), 0.0), min(estimate + (high - middle), cap)
    centre = (np.arange(bins) + 0.5) / bins
    trials = np.maximum(np.round(worth * count), 1).astype(np.int64)
    calibrated = rng.binomial(trials, centre, size=(200, bins)) / trials * count
    noise = recipe(calibrated, np.broadcast_to(count, calibrated.shape))
    others: dict[int, float | None] = {}
    for other in resolutions:
        value = float(recipe(*(x[None] for x in _cell_means(c, a, share, other)))[0])
        others[other] = None if math.isnan(value) else value
    return Lipschitz(
        estimate=estimate,
        interval=Interval(low=float(low), high=float(high), level=level, method="bootstrap, centred"),
        noise=float(np.median(noise)),
        slopes=retained - 1,
        n=n,
        bins=bins,
        min_count=min_count,
        quantile=quantile,
        cap=cap,
        resolutions=others,
        n_resamples=n_resamples,
    )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ConditionSummary(Shown):
    """One condition: its error rate, calibration and floor, and what is wrong with its data.

    `error_rate` None: nothing was graded right or wrong. With zero errors it is 0 and what is known is the upper end
    of its interval. `floor` is the passive rate at the estimated L for as many independent labels as these are worth;
    None where L is undefined. `labels` of people corrected the error rate.
    """

    unwritten: ClassVar = ("name",)

    name: str
    n: int
    failed: int
    missing: int
    error_rate: float | None = None
    error_rate_interval: Interval | None = None
    accuracy: float | None = None
    ece: float | None = None
    ece_debiased: float | None = None
    ece_null: float | None = None
    ece_interval: Interval | None = None
    lipschitz: float | None = None
    lipschitz_detail: Lipschitz | None = None
    floor: float | None = None
    labels: int = 0
    warnings: tuple[str, ...] = ()


def with_calibration(
    summary: ConditionSummary,
    *,
    correct: Floats,
    confidence: Floats,
    item: Indices,
    rng: np.random.Generator,
    group: Indices | None = None,
    weight: Floats | None = None,
    level: float = 0.95,
    n_resamples: int = 1000,
) -> ConditionSummary:
    """A condition's summary with its calibration and floor, from its rows: grade, confidence (NaN: none), item.

    `group` and `weight` are per item. The interval of ECE counts units, not rows.
    """
    assert summary.error_rate_interval is not None
    known, warnings = ~np.isnan(confidence), list(summary.warnings)
    c, a = confidence[known], correct[known]
    if len(c) < len(confidence):
        warnings.append(
            f"{counted(len(confidence) - len(c), 'graded question has', 'graded questions have')} "
            "no confidence; calibration leaves them out"
        )
    warnings += _confidence_warnings(c)
    side = ece_side(c, a, item[known], group=group, weight=weight)
    honest = ece_evidence(side)
    smooth, floor = None, None
    try:
        unit = item[known] if group is None else group[item[known]]
        smooth = lipschitz(c, a, item=item[known], unit=unit, rng=rng, level=level, n_resamples=min(n_resamples, 1000))
        # with no error seen, the rate's upper limit stands in: a floor of 0 would be false
        labels = effective_sample_size(1 - a, unit)
        rate = summary.error_rate or summary.error_rate_interval.high
        floor = float(passive_floor(labels, rate, lipschitz=smooth.estimate))
    except TooFewErrors as few:
        warnings.append(few.what)
    return dataclasses.replace(
        summary,
        ece=side.plug_in,
        ece_debiased=honest.estimate,
        ece_null=ece(c, a, level=level).null if side.units == len(c) and weight is None else side.null,
        ece_interval=honest.interval(level),
        lipschitz=None if smooth is None else smooth.estimate,
        lipschitz_detail=smooth,
        floor=floor,
        warnings=tuple(warnings),
    )


def _confidence_warnings(c: Floats) -> list[str]:
    values = np.unique(np.round(c, 6))
    shares = {round(1 / k, 6) for k in range(2, 27)}
    if len(c) > 1 and set(values.tolist()) <= shares:
        return ["every confidence is one over a number of options: it says nothing of the answer"]
    if len(c) > 1 and len(values) == 1:
        return [f"every confidence is {values[0]:g}: calibration only compares it with the accuracy"]
    return []
