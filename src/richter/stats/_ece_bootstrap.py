"""The percentile bootstrap of the plug-in ECE: what others report, and a yardstick for the honest interval."""

import numba
import numpy as np
from numpy.typing import ArrayLike, NDArray

from richter.records import Interval
from richter.stats._bootstrap import BootstrapResult
from richter.stats._ece import Binning, bin_gaps

__all__ = ["bootstrap_ece"]


@numba.njit(cache=True)
def _resample(
    d: NDArray[np.float64], index: NDArray[np.int32], bins: int, n_resamples: int, seed: np.uint64
) -> NDArray[np.float64]:
    """ECE of n_resamples samples of size n with replacement; the items stay in their bins.

    SplitMix64 gives two 32-bit draws a step, scaled to an index by a product and a shift (bias below n / 2^32).
    """
    n = len(d)
    out = np.empty(n_resamples)
    sums = np.empty(bins)
    state = np.uint64(seed)
    step = np.uint64(0x9E3779B97F4A7C15)
    mix_1 = np.uint64(0xBF58476D1CE4E5B9)
    mix_2 = np.uint64(0x94D049BB133111EB)
    s27, s30, s31, s32 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32)
    mask = np.uint64(0xFFFFFFFF)
    size = np.uint64(n)
    for r in range(n_resamples):
        sums[:] = 0.0
        for _ in range((n + 1) // 2):
            state += step
            x = state
            x = (x ^ (x >> s30)) * mix_1
            x = (x ^ (x >> s27)) * mix_2
            x = x ^ (x >> s31)
            i = ((x & mask) * size) >> s32
            sums[index[i]] += d[i]
            j = ((x >> s32) * size) >> s32
            sums[index[j]] += d[j]
        if n % 2 == 1:
            sums[index[j]] -= d[j]  # the last step drew one too many
        total = 0.0
        for b in range(bins):
            total += abs(sums[b])
        out[r] = total / n
    return out


def bootstrap_ece(
    confidence: ArrayLike,
    correct: ArrayLike,
    *,
    rng: np.random.Generator,
    bins: int = 10,
    binning: Binning = "width",
    n_resamples: int = 10_000,
    level: float = 0.95,
) -> BootstrapResult:
    """Percentile bootstrap of the plug-in ECE over items.

    It inherits the plug-in's upward bias and doubles it, so that it never reaches down to 0: on a calibrated model
    it covers the truth in 0% of samples. Use `ece(...).interval`; this is here to be printed beside it. Equal-mass
    edges are those of the sample and are not drawn anew.
    """
    gaps = bin_gaps(confidence, correct, bins=bins, binning=binning)
    d = np.asarray(confidence, dtype=np.float64) - np.asarray(correct, dtype=np.float64)
    seed = np.uint64(rng.integers(0, 2**64, dtype=np.uint64))
    values = _resample(d, gaps.index.astype(np.int32), len(gaps.gap), n_resamples, seed)
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return BootstrapResult(
        estimate=float(np.sum(np.abs(gaps.gap))),
        standard_error=float(np.std(values, ddof=1)),
        interval=Interval(low=float(low), high=float(high), level=level, method="bootstrap percentile"),
        resampled=values,
        n=len(d),
        n_resamples=n_resamples,
    )
