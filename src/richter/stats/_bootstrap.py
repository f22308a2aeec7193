"""The bootstrap of a statistic of rows, on weights, so that no resample copies data."""

import dataclasses
from collections.abc import Callable
from typing import Literal

import numpy as np

from richter._special import ndtr, ndtri
from richter.errors import InputError
from richter.records import Interval, Shown
from richter.stats._arrays import Floats, Indices

__all__ = ["BootstrapResult", "bootstrap", "percentiles"]

Weighted = Callable[[Floats], Floats]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class BootstrapResult(Shown):
    """A statistic's value, its bootstrap standard error and interval, and the resampled values."""

    estimate: float
    standard_error: float
    interval: Interval
    resampled: Floats
    n: int
    n_resamples: int


def bootstrap(
    statistic: Weighted,
    n: int,
    *,
    rng: np.random.Generator,
    n_resamples: int = 2000,
    level: float = 0.95,
    method: Literal["percentile", "basic", "bca"] = "percentile",
    groups: Indices | None = None,
    block: int = 256,
) -> BootstrapResult:
    """The bootstrap of a statistic of n rows (or of clusters of rows).

    `statistic` maps a (resamples x n) matrix of non-negative row weights to one value per resample; a row drawn
    twice has weight 2. With `groups` (a label 0..G-1 per row) whole groups are drawn. Weights come in blocks of
    `block` resamples, so memory stays at block x n numbers. Undefined resamples (NaN) are left out of the interval
    and cap its use: more than 1% of them is an error, since the interval would describe only the lucky ones.
    """
    if n < 1:
        raise InputError("There is nothing to resample (n = 0).", remedy="Give at least one row.")
    units = n if groups is None else int(np.max(groups)) + 1
    values = np.empty(n_resamples)
    for start in range(0, n_resamples, block):
        size = min(block, n_resamples - start)
        weights = rng.multinomial(units, np.full(units, 1 / units), size=size).astype(np.float64)
        values[start : start + size] = statistic(weights if groups is None else weights[:, groups])
    estimate = float(statistic(np.ones((1, n)))[0])
    finite = values[~np.isnan(values)]
    if len(finite) < 0.99 * n_resamples:
        raise InputError(
            f"The statistic is undefined in {n_resamples - len(finite)} of {n_resamples} resamples.",
            remedy="The sample is too small or too one-sided for a bootstrap; use an exact method or more data.",
        )
    tail = (1 - level) / 2
    probabilities = np.array([tail, 1 - tail])
    if method == "bca":
        probabilities = _bca_probabilities(statistic, estimate, finite, groups, units, probabilities, block)
    low, high = np.quantile(finite, probabilities)
    if method == "basic":
        low, high = 2 * estimate - high, 2 * estimate - low
    return BootstrapResult(
        estimate=estimate,
        standard_error=float(np.std(finite, ddof=1)),
        interval=Interval(low=float(low), high=float(high), level=level, method=f"bootstrap {method}"),
        resampled=values,
        n=n,
        n_resamples=n_resamples,
    )


def _bca_probabilities(
    statistic: Weighted,
    estimate: float,
    values: Floats,
    groups: Indices | None,
    units: int,
    probabilities: Floats,
    block: int,
) -> Floats:
    """Efron's bias-corrected and accelerated levels; the acceleration from the jackknife over units."""
    jack = np.empty(units)
    for start in range(0, units, block):
        size = min(block, units - start)
        weights = np.ones((size, units))
        weights[np.arange(size), start + np.arange(size)] = 0
        jack[start : start + size] = statistic(weights if groups is None else weights[:, groups])
    return bca_levels(estimate, values, jack, probabilities)


def bca_levels(estimate: float, resampled: Floats, jackknife: Floats, levels: Floats) -> Floats:
    """Efron's bias-corrected and accelerated quantile levels, ties with the estimate counted half."""
    centred = np.mean(jackknife) - jackknife
    spread = float(np.sum(centred**2)) ** 1.5
    acceleration = float(np.sum(centred**3)) / (6 * spread) if spread > 0 else 0.0
    below = (np.sum(resampled < estimate) + 0.5 * np.sum(resampled == estimate)) / len(resampled)
    bias = float(ndtri(np.clip(below, 0.5 / len(resampled), 1 - 0.5 / len(resampled))))
    z = bias + ndtri(levels)
    adjusted: Floats = ndtr(bias + z / (1 - acceleration * z))
    return adjusted


def percentiles(values: Floats, *, level: float, method: str = "bootstrap percentile") -> Interval:
    """The interval between the quantiles at (1 - level) / 2 and (1 + level) / 2."""
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return Interval(low=float(low), high=float(high), level=level, method=method)


def stream_seed(rng: np.random.Generator) -> np.uint64:
    """A seed for `index_pair`."""
    return np.uint64(rng.integers(0, 2**64, dtype=np.uint64))
