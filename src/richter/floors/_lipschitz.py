"""How fast the calibration gap changes with confidence: the paper's recipe for L, with its noise shown."""

import dataclasses
import functools
import math

import numpy as np
from numpy.typing import ArrayLike

from richter.errors import InputError, TooFewErrors
from richter.records import Interval, Shown
from richter.stats import Floats

__all__ = ["Lipschitz", "lipschitz"]


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


def _estimate(right: Floats, count: Floats, *, min_count: int, quantile: float, cap: float) -> Floats:
    """L for each row of per-bin counts (resamples x bins); NaN under two slopes.

    The slope is between a retained bin and the retained bin before it, over the distance of their centres.
    """
    rows, bins = count.shape
    centre = (np.arange(bins) + 0.5) / bins
    kept = count >= min_count
    with np.errstate(invalid="ignore", divide="ignore"):
        gap = right / count - centre
    last = np.maximum.accumulate(np.where(kept, np.arange(bins), -1), axis=1)
    before = np.concatenate((np.full((rows, 1), -1), last[:, :-1]), axis=1)
    use = kept & (before >= 0)
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


def _cells(confidence: Floats, correct: Floats, bins: int) -> tuple[Floats, Floats]:
    index = np.minimum((confidence * bins + 1e-9).astype(np.intp), bins - 1)
    count: Floats = np.bincount(index, minlength=bins).astype(np.float64)
    right: Floats = np.bincount(index, weights=correct, minlength=bins).astype(np.float64)
    return right, count


def lipschitz(
    confidence: ArrayLike,
    correct: ArrayLike,
    *,
    rng: np.random.Generator,
    bins: int = 20,
    min_count: int = 30,
    quantile: float = 0.75,
    cap: float = 5.0,
    resolutions: tuple[int, ...] = (10, 20, 40),
    level: float = 0.95,
    n_resamples: int = 1000,
) -> Lipschitz:
    """Estimate the Lipschitz constant of the calibration gap (Appendix S).

    Equal-width bins over [0, 1]; in each with at least `min_count` items, the gap is accuracy minus the bin's
    centre; slopes join neighbouring retained bins; the estimate is their `quantile`, at most `cap`. Under two
    slopes it is undefined and `TooFewErrors` says so (the paper prints 1.00 there). The interval is the estimate with
    the spread of a bootstrap over items around its median, bins retained anew in each; it describes the recipe, not a
    true L: finite differences of noisy bins overstate it, which `noise` makes visible.
    """
    c, a = np.asarray(confidence, dtype=np.float64), np.asarray(correct, dtype=np.float64)
    if c.shape != a.shape or c.ndim != 1 or len(c) == 0 or np.isnan(c).any() or np.isnan(a).any():
        raise InputError("Give one confidence and one grade an item, none missing.", remedy="Leave missing items out.")
    if ((c < 0) | (c > 1)).any():
        raise InputError("A confidence lies outside [0, 1].", remedy="Divide percentages by 100.")
    recipe = functools.partial(_estimate, min_count=min_count, quantile=quantile, cap=cap)
    n = len(c)
    right, count = _cells(c, a, bins)
    estimate = float(recipe(right[None], count[None])[0])
    retained = int(np.sum(count >= min_count))
    if math.isnan(estimate):
        raise TooFewErrors(
            f"L is undefined: {retained} of {bins} confidence bins hold {min_count} items, and two slopes need three.",
            n=retained,
            needed=3,
            remedy="Use more items or finer-grained confidences.",
        )
    cells = np.concatenate((right, count - right)) / n
    drawn = rng.multinomial(n, cells / cells.sum(), size=n_resamples).astype(np.float64)
    values = recipe(drawn[:, :bins], drawn[:, :bins] + drawn[:, bins:])
    tail = (1 - level) / 2
    values = values[~np.isnan(values)]
    if len(values) == 0:
        values = np.array([0.0, cap])
    # a resample is noisier than the sample, and noise raises the estimate: only the spread of resamples is used
    low, middle, high = np.quantile(values, [tail, 0.5, 1 - tail])
    low, high = max(estimate - (middle - low), 0.0), min(estimate + (high - middle), cap)
    centre = (np.arange(bins) + 0.5) / bins
    calibrated = rng.binomial(count.astype(np.int64), centre, size=(200, bins)).astype(np.float64)
    noise = recipe(calibrated, np.broadcast_to(count, calibrated.shape))
    others: dict[int, float | None] = {}
    for other in resolutions:
        value = float(recipe(*(x[None] for x in _cells(c, a, other)))[0])
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
