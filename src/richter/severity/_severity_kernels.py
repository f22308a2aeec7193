"""Compiled loops over count vectors: slopes and choice of m_min. Everything is in units of grid steps.

A row holds the counts of one sample at the positive levels (index 0 is the lowest). A tail starts at index `k` and
ends at the top of the scale. q is the ratio of the law's probabilities at neighbouring levels, q = 10^(-b delta).
"""

import math

import numpy as np
from numba import njit

from richter.stats import Floats, Ints

AKI, TRUNCATED = 0, 1
CODES = {"aki": AKI, "truncated": TRUNCATED}


@njit(cache=True, nogil=True)
def _mean_and_variance(x: float, top: int) -> tuple[float, float]:
    """The mean and variance of the law on 0..top with ln q = x."""
    # sums of q^j, j q^j, j^2 q^j, scaled by the largest term when q > 1
    q = math.exp(x if x < 0 else -x)
    s0 = s1 = s2 = 0.0
    power = 1.0
    for j in range(top + 1):
        i = j if x < 0 else top - j
        s0 += power
        s1 += i * power
        s2 += i * i * power
        power *= q
    mean = s1 / s0
    return mean, s2 / s0 - mean * mean


@njit(cache=True, nogil=True)
def _truncated_log_q(mean: float, top: int) -> float:
    """The x = ln q at which the law on 0..top has this mean: Newton, kept inside a shrinking bracket."""
    low, high = -80.0, 80.0
    x = math.log(mean / (1.0 + mean)) if mean < top / 2.0 else -math.log((top - mean) / (1.0 + top - mean))
    for _ in range(100):
        m, variance = _mean_and_variance(x, top)
        if m < mean:
            low = x
        else:
            high = x
        step = x + (mean - m) / variance if variance > 0 else low - 1.0
        following = step if low < step < high else 0.5 * (low + high)
        if abs(following - x) <= 1e-7 and following == step:
            return following  # Newton squares its error, so the next step would be below 1e-13
        x = following
    return x


@njit(cache=True, nogil=True)
def _log_q(n: float, total: float, top: int, code: int) -> float:
    """ln q of a tail of n events that are `total` steps above its start in all, each at most `top` steps.

    -inf when all are at the start, inf when all are at the top.
    """
    if n == 0.0:
        return math.nan
    if code == AKI:  # section 2: b = log10(e) / (mean - m_min + delta / 2), so ln q = -1 / (mean steps + 1/2)
        return -1.0 / (total / n + 0.5)
    if total == 0.0:
        return -math.inf
    if total == n * top:
        return math.inf
    return _truncated_log_q(total / n, top)


@njit(cache=True, nogil=True)
def _distance(counts: Floats, k: int, last: int, n: float, log_q: float, enough: float) -> float:
    """The largest gap between the sample's and the law's distribution functions on k..last; stops at `enough`."""
    q = math.exp(log_q)
    norm = 0.0
    power = 1.0
    for _ in range(k, last + 1):
        norm += power
        power *= q
    worst = 0.0
    law = 0.0
    seen = 0.0
    power = 1.0 / norm
    for i in range(k, last):  # at `last` both functions are 1
        law += power
        power *= q
        seen += counts[i]
        worst = max(worst, abs(seen / n - law))
        if worst >= enough:
            break
    return worst


@njit(cache=True, nogil=True)
def _largest_level(counts: Floats) -> int:
    """The index of the largest observed level; -1 where there is none."""
    largest = len(counts) - 1
    while largest >= 0 and counts[largest] == 0:
        largest -= 1
    return largest


@njit(cache=True, nogil=True)
def _nearest_tail(counts: Floats, code: int, min_events: int, min_bins: int) -> tuple[float, int]:
    """ln q and the index of least KS distance; NaN and -1 where no level qualifies."""
    levels = len(counts)
    log_q, chosen, distance = math.nan, -1, math.inf
    largest = _largest_level(counts)
    last = largest if code == AKI else levels - 1
    above = 0.0
    total = 0.0
    for i in range(levels):
        above += counts[i]
        total += i * counts[i]
    for k in range(largest):
        if k > 0:
            above -= counts[k - 1]
            total -= above
        if above < min_events or last - k + 1 < min_bins:
            break
        x = _log_q(above, total, levels - 1 - k, code)
        if math.isinf(x):
            continue
        d = _distance(counts, k, last, above, x, distance)
        if d < distance:
            log_q, chosen, distance = x, k, d
    return log_q, chosen


@njit(cache=True, nogil=True)
def fit_selected(rows: Floats, code: int, min_events: int, min_bins: int) -> tuple[Floats, Ints]:
    """For each row the ln q and the m_min of least KS distance; NaN and -1 where no level qualifies.

    A level qualifies below the largest observed one, with `min_events` at or above and `min_bins` levels from it to
    the top (`aki`: to the largest observed level, on which its law is normalised). Ties go to the lower level.
    """
    size = len(rows)
    log_q = np.empty(size)
    chosen = np.empty(size, dtype=np.int64)
    for r in range(size):
        log_q[r], chosen[r] = _nearest_tail(rows[r], code, min_events, min_bins)
    return log_q, chosen


@njit(cache=True, nogil=True)
def fit_from(rows: Floats, start: Ints, code: int) -> Floats:
    """For each row ln q of the tail from its own index; NaN where that is -1."""
    size, levels = rows.shape
    log_q = np.full(size, math.nan)
    for r in range(size):
        k = start[r]
        if k < 0:
            continue
        n = 0.0
        total = 0.0
        for i in range(k, levels):
            n += rows[r, i]
            total += (i - k) * rows[r, i]
        log_q[r] = _log_q(n, total, levels - 1 - k, code)
    return log_q


def fit_fixed(rows: Floats, k: int, code: int) -> Floats:
    """For each row ln q of the tail from index k."""
    log_q: Floats = fit_from(rows, np.full(len(rows), k), code)
    return log_q
