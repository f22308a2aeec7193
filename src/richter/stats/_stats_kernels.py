"""Compiled loops. Whoever needs one imports it where it is used: a comparison of grades does not wait for numba."""

import numba
import numpy as np
from numpy.typing import NDArray

from richter.stats._arrays import Floats


@numba.njit(cache=True)
def index_pair(state: np.uint64, size: np.uint64) -> tuple[np.uint64, np.uint64, np.uint64]:
    """The next state and two indices below `size`.

    SplitMix64 gives 64 bits a step; each half is scaled to an index by a product and a shift (bias below
    size / 2^32).
    """
    state = state + np.uint64(0x9E3779B97F4A7C15)
    x = state
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    x = x ^ (x >> np.uint64(31))
    low = ((x & np.uint64(0xFFFFFFFF)) * size) >> np.uint64(32)
    high = ((x >> np.uint64(32)) * size) >> np.uint64(32)
    return state, low, high


@numba.njit(cache=True)
def absolute_deviation(p: Floats) -> float:
    """E|X - E X| for X a sum of independent Bernoulli(p_i), by convolution over the window that carries mass."""
    n = len(p)
    pmf = np.zeros(n + 2)
    pmf[0] = 1.0
    low, high = 0, 0
    mean = 0.0
    for i in range(n):
        mean += p[i]
        high += 1
        for k in range(high, low, -1):
            pmf[k] = pmf[k] * (1 - p[i]) + pmf[k - 1] * p[i]
        pmf[low] *= 1 - p[i]
        while low < high and pmf[low] < 1e-18:
            pmf[low] = 0.0
            low += 1
        while high > low and pmf[high] < 1e-18:
            pmf[high] = 0.0
            high -= 1
    total = 0.0
    for k in range(low, high + 1):
        total += pmf[k] * abs(k - mean)
    return total


@numba.njit(cache=True)
def resample_ece(d: Floats, index: NDArray[np.int32], bins: int, n_resamples: int, seed: np.uint64) -> Floats:
    """ECE of n_resamples samples of size n with replacement; the items stay in their bins."""
    n = len(d)
    out = np.empty(n_resamples)
    sums = np.empty(bins)
    state = seed
    size = np.uint64(n)
    for r in range(n_resamples):
        sums[:] = 0.0
        for step in range((n + 1) // 2):
            state, i, j = index_pair(state, size)
            sums[index[i]] += d[i]
            if 2 * step + 1 < n:
                sums[index[j]] += d[j]
        total = 0.0
        for b in range(bins):
            total += abs(sums[b])
        out[r] = total / n
    return out
