"""Compiled inner loops of the generalised Pareto distribution: the fit, its bootstrap, its simulated tests.

Notation: tau = xi / sigma. Data are exceedances x > 0 with whole-number weights w (how often each one counts).
All randomness comes from a SplitMix64 stream per resample, seeded by the caller, so that results do not depend on the
number of threads.
"""

import math
from typing import Any

import numpy as np
from numba import njit, prange, uint64
from numpy.typing import NDArray

from richter.stats import Floats, Ints

Counts = NDArray[np.int32]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX2 = np.uint64(0x94D049BB133111EB)
_U27, _U30, _U31, _U11, _U32 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(11), np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
# where the search for tau begins: in units of 1 / (largest exceedance) below 0, of 1 / scale above
STARTS = (-0.98, -0.9, -0.7, -0.4, -0.1, 0.05, 0.2, 0.6, 1.5, 4.0, 12.0, 50.0)
NEAR_ZERO = 1e-4  # of |tau| in units of 1/scale: below it the profile is taken by its expansion


@njit(cache=True, inline="always")
def _next_state(state: Any) -> tuple[Any, Any]:  # SplitMix64 (Steele, Lea and Flood 2014)
    state = uint64(state + _GOLDEN)
    z = state
    z = uint64((z ^ (z >> _U30)) * _MIX1)
    z = uint64((z ^ (z >> _U27)) * _MIX2)
    return state, uint64(z ^ (z >> _U31))


@njit(cache=True, inline="always")
def _uniform(bits: Any) -> float:  # in (0, 1): never 0, so that its log is finite
    return (float(bits >> _U11) + 0.5) * 1.1102230246251565e-16


@njit(cache=True)
def sums(x: Floats, w: Counts, total: int, tau: float) -> tuple[float, float, float]:
    """Weighted means of log(1 + tau x), 1 / (1 + tau x) and its square: all the likelihood needs.

    Products are multiplied up and their logarithm is taken once in many factors, which is what makes the fit fast.
    """
    logs, first, second, product = 0.0, 0.0, 0.0, 1.0
    for i in range(len(x)):
        c = w[i]
        v = 1.0 + tau * x[i] if c > 0 else 1.0  # beyond the end of the support only where the weight is 0
        r = 1.0 / v
        first += c * r
        second += c * r * r
        # v to the power c: selects for the usual counts, since a branch on a random count costs more than they do
        product *= v * (v if c > 1 else 1.0) * (v if c > 2 else 1.0)
        if product > 1e100 or product < 1e-100:
            logs += math.log(product)
            product = 1.0
        if c > 3:
            logs += (c - 3) * math.log(v)
    return (logs + math.log(product)) / total, first / total, second / total


@njit(cache=True)
def _moments(x: Floats, w: Counts, total: int) -> tuple[float, float, float]:
    m1, m2, m3 = 0.0, 0.0, 0.0
    for i in range(len(x)):
        m1 += w[i] * x[i]
        m2 += w[i] * x[i] ** 2
        m3 += w[i] * x[i] ** 3
    return m1 / total, m2 / total, m3 / total


@njit(cache=True)
def _total_and_top(x: Floats, w: Counts) -> tuple[int, float]:
    """The sum of the weights, and the largest exceedance that has one."""
    total, top = 0, 0.0
    for i in range(len(x)):
        total += w[i]
        if x[i] > top and w[i] > 0:  # in this order: the first is rarely true, so that the branch is cheap
            top = x[i]
    return total, top


@njit(cache=True)
def _search_start(x: Floats, w: Counts, total: int, lower: float, scale: float) -> float:
    """The tau of a grid at which the profile likelihood is highest; NaN where none is inside."""
    best, tau = -math.inf, math.nan
    for k in range(len(STARTS)):
        t = -lower * STARTS[k] if STARTS[k] < 0 else STARTS[k] / scale
        a, _, _ = sums(x, w, total, t)
        value = -math.log(a / t) - a
        if a > -1.0 and value > best:
            best, tau = value, t
    return tau


@njit(cache=True)
def _profile_near_zero(tau: float, m1: float, m2: float, m3: float) -> tuple[float, float, float, float, float]:
    """As `_profile_at`, by expansions at tau = 0: there its formulas cancel, and these are exact enough."""
    slope0 = m2 / (2 * m1) - m1  # the derivative and its slope at tau = 0
    curve0 = 2 * (m2 / 2 + m2 * m2 / (8 * m1 * m1) - m3 / (3 * m1))
    a = tau * (m1 - tau * m2 / 2 + tau * tau * m3 / 3)
    return a, m1 - tau * m2, -m2, slope0 + curve0 * tau, curve0


@njit(cache=True)
def _profile_at(x: Floats, w: Counts, total: int, tau: float) -> tuple[float, float, float, float, float]:
    """xi(tau) with its first two derivatives, and the log-likelihood's first two (per n)."""
    a, first, second = sums(x, w, total, tau)
    a_slope = (1.0 - first) / tau
    a_curve = -(1.0 - 2.0 * first + second) / (tau * tau)
    h = (1.0 + a) * first - 1.0
    h_slope = a_slope * first - (1.0 + a) * (first - second) / tau
    slope = h / (tau * a)
    return a, a_slope, a_curve, slope, h_slope / (tau * a) - h * (a + tau * a_slope) / (tau * a) ** 2


@njit(cache=True)
def _inside_bracket(tau: float, low: float, high: float, scale: float) -> float:
    """A point to go on from where Newton's step leaves the bracket."""
    return tau + max(abs(tau), 0.5 / scale) if math.isinf(high) else 0.5 * (low + high)


@njit(cache=True)
def _maximise_profile(
    x: Floats, w: Counts, total: int, lower: float, scale: float, tau: float, tolerance: float
) -> tuple[float, float]:
    """(xi, tau) at the profile's maximum, from `tau` on: Newton inside a bracket; xi is NaN where it finds none."""
    m1, m2, m3 = math.nan, math.nan, math.nan  # taken where they are needed
    low, high = lower, math.inf
    for _ in range(200):
        if abs(tau) * scale < NEAR_ZERO:
            if math.isnan(m1):
                m1, m2, m3 = _moments(x, w, total)
            a, a_slope, a_curve, slope, curve = _profile_near_zero(tau, m1, m2, m3)
        else:
            a, a_slope, a_curve, slope, curve = _profile_at(x, w, total, tau)
        if a <= -1.0 or slope > 0.0:
            low = tau
        else:
            high = tau
        step = -slope / curve if curve < 0.0 and a > -1.0 else math.nan
        new = tau + step
        if abs(step) * scale < tolerance * (1.0 + abs(tau) * scale):  # also where the step ends on the bracket's end
            return a + step * (a_slope + 0.5 * step * a_curve), new
        if not low < new < high:  # also when new is NaN
            new = _inside_bracket(tau, low, high, scale)
        if high - low < 1e-12 / scale:  # no better point is left: often pressed against xi = -1
            return a, tau
        tau = new
    return math.nan, tau


@njit(cache=True)
def fit_weighted(
    x: Floats, w: Counts, scale: float, start: float, tolerance: float = 1e-5
) -> tuple[float, float, float]:
    """Maximum likelihood (xi, sigma, log-likelihood) over xi >= -1, by Grimshaw's (1993) one-dimensional profile.

    On the curve xi(tau) = mean log(1 + tau x), sigma = xi / tau the log-likelihood is -n (log sigma + xi + 1), with
    derivative n h / (tau xi), h = (1 + xi) mean 1/(1 + tau x) - 1. Newton's method on that derivative, kept inside a
    bracket. `start` is a tau to begin from, or NaN to search a grid; `scale` a typical exceedance (the median). It
    stops at a step below `tolerance` (in units of 1/scale), whose square is then the error of tau.
    """
    total, top = _total_and_top(x, w)
    if total < 2 or not top > 0.0 or not scale > 0.0:
        return math.nan, math.nan, math.nan
    lower = -1.0 / top
    tau = _search_start(x, w, total, lower, scale) if math.isnan(start) else start
    if math.isnan(tau) or tau <= lower:
        tau = 0.5 * lower
    xi, tau = _maximise_profile(x, w, total, lower, scale, tau, tolerance)
    corner = -total * math.log(top)  # xi = -1: uniform on [0, top]
    if math.isnan(xi) or xi <= -1.0:
        return -1.0, top, corner
    sigma = xi / tau if tau != 0.0 else 0.0
    if abs(tau) * scale < NEAR_ZERO:
        m1, m2, m3 = _moments(x, w, total)
        sigma = m1 - tau * m2 / 2 + tau * tau * m3 / 3
    loglik = -total * (math.log(sigma) + xi + 1.0) if sigma > 0.0 else -math.inf
    if loglik >= corner:
        return xi, sigma, loglik
    return -1.0, top, corner


@njit(cache=True)
def profile_point(x: Floats, w: Counts, total: int, mean: float, tau: float) -> tuple[float, float]:
    """The point (xi, log-likelihood) of xi's profile likelihood at which the best sigma is xi / tau.

    For given xi the score equation of sigma is mean 1/(1 + tau x) = 1 / (1 + xi): read backwards it gives xi for
    every tau, so that the profile is a curve in tau and needs no inner maximisation.
    """
    if abs(tau) * mean < 1e-8:
        return 0.0, -total * (math.log(mean) + 1.0)
    a, first, _ = sums(x, w, total, tau)
    xi = 1.0 / first - 1.0
    return xi, -total * math.log(xi / tau) - (1.0 + 1.0 / xi) * total * a


@njit(cache=True)
def _draw_counts(n: int, state: Any) -> Counts:
    """How often each of n things is drawn in a resample of n: two 32-bit indices from each step of the stream."""
    drawn = np.zeros(n, dtype=np.int32)
    bits = state
    for _ in range((n + 1) // 2):
        state, bits = _next_state(state)
        drawn[np.int64(((bits >> _U32) * uint64(n)) >> _U32)] += 1
        drawn[np.int64(((bits & _LOW) * uint64(n)) >> _U32)] += 1
    if n % 2 == 1:  # one too many: take back the last
        drawn[np.int64(((bits & _LOW) * uint64(n)) >> _U32)] -= 1
    return drawn


@njit(cache=True)
def _weighted_sum(values: Floats, counts: Counts) -> float:
    total = 0.0
    for i in range(len(values)):
        total += counts[i] * values[i]
    return total


@njit(cache=True)
def _tail_sum(values: Floats, order: Counts, counts: Counts, worst: float) -> float:
    """The sum of the `worst` severities of a resample, a fraction of the last one allowed."""
    left, tail, i = worst, 0.0, 0
    while left > 0.0 and i < len(values):
        take = min(float(counts[order[i]]), left)
        tail += take * values[order[i]]
        left -= take
        i += 1
    return tail


@njit(cache=True, parallel=True)
def bootstrap_rows(
    values: Floats,
    order: Counts,
    exceedances: Floats,
    n_exc: Ints,
    scales: Floats,
    starts: Floats,
    mass: float,
    group: Ints,
    seeds: NDArray[np.uint64],
) -> tuple[Floats, Floats, Floats]:
    """Resample items, or whole groups; for each condition its mean, tail mean and shapes, from one set of item weights.

    values (C, N): the conditions' severities by item; order (C, N): items from worst to best; exceedances (C, T, M):
    for each threshold the exceedances in that order, n_exc (C, T) of them; starts (C, T): tau of the full sample;
    mass: how many of the worst N make the tail mean, a fraction allowed; group (N): the code of each item's group (its
    own number where it has none). Nothing is copied: a resample is a vector of counts.
    """
    n_conditions, n_items = values.shape
    n_thresholds = n_exc.shape[1]
    n_groups = group.max() + 1
    means = np.empty((len(seeds), n_conditions))
    tvars = np.empty((len(seeds), n_conditions))
    shapes = np.full((len(seeds), n_conditions, n_thresholds), np.nan)
    for b in prange(len(seeds)):
        counts = _draw_counts(n_groups, seeds[b])[group]
        size = counts.sum()
        worst = mass * size / n_items
        for c in range(n_conditions):
            means[b, c] = _weighted_sum(values[c], counts) / size
            tvars[b, c] = _tail_sum(values[c], order[c], counts, worst) / worst
            for t in range(n_thresholds):
                n = n_exc[c, t]
                if n >= 2 and not math.isnan(starts[c, t]):
                    w = counts[order[c, :n]]
                    # an error of 1e-6 in tau is nothing beside the spread of resamples
                    shapes[b, c, t], _, _ = fit_weighted(exceedances[c, t, :n], w, scales[c, t], starts[c, t], 1e-3)
    return means, tvars, shapes


@njit(cache=True)
def anderson_darling(x: Floats, xi: float, sigma: float) -> float:
    """Anderson-Darling's A-squared of ascending exceedances against GPD(xi, sigma)."""
    n = len(x)
    survival = np.empty(n)
    for i in range(n):  # log of 1 - F, kept away from -inf for a value beyond the fitted end point
        z = x[i] / sigma
        if abs(xi) < 1e-9:
            survival[i] = -z
        else:
            survival[i] = -math.log(max(1.0 + xi * z, 1e-300)) / xi
        survival[i] = max(survival[i], -690.0)
    a2 = 0.0
    for i in range(n):
        below = -math.expm1(survival[i])
        a2 += (2 * i + 1) * (math.log(max(below, 1e-300)) + survival[n - 1 - i])
    return -n - a2 / n


@njit(cache=True)
def _draw_sorted(n: int, xi: float, sigma: float, state: Any) -> Floats:
    """A sample of n from GPD(xi, sigma) in ascending order, from exponential spacings."""
    x = np.empty(n)
    total = 0.0
    for i in range(n):
        state, bits = _next_state(state)
        total -= math.log(_uniform(bits))
        x[i] = total
    state, bits = _next_state(state)
    total -= math.log(_uniform(bits))
    for i in range(n):
        survival = math.log1p(-x[i] / total)
        x[i] = -sigma * survival if abs(xi) < 1e-9 else sigma * math.expm1(-xi * survival) / xi
    return x


@njit(cache=True)
def _round_sorted(x: Floats, step: float, first: float, grid: Floats) -> None:
    """Round an ascending sample in place, to cells of width `step` or to the values of `grid`."""
    if step > 0.0:
        for i in range(len(x)):
            x[i] = first + math.floor(x[i] / step) * step
    elif len(grid) > 1:
        below = grid[0] - 0.5 * (grid[1] - grid[0])  # where the lowest cell starts
        k = 0
        for i in range(len(x)):
            while k + 1 < len(grid) and x[i] >= 0.5 * (grid[k] + grid[k + 1]) - below:
                k += 1
            x[i] = grid[k]


@njit(cache=True, parallel=True)
def simulate_gof(
    n: int, xi: float, sigma: float, step: float, first: float, grid: Floats, seeds: NDArray[np.uint64]
) -> Floats:
    """(A-squared, refitted xi) of samples of n from GPD(xi, sigma), refitted in each sample.

    With step > 0 the samples are rounded as the data are: the k-th cell of width `step` above the threshold becomes
    first + k step. With a `grid` of values they are rounded to it instead, the lowest cell starting at the threshold.
    Samples come sorted from exponential spacings, and rounding keeps the order.
    """
    out = np.empty((len(seeds), 2))
    for b in prange(len(seeds)):
        x = _draw_sorted(n, xi, sigma, seeds[b])
        _round_sorted(x, step, first, grid)
        w = np.ones(n, dtype=np.int32)
        fitted_xi, fitted_sigma, _ = fit_weighted(x, w, x[n // 2], xi / sigma if xi > -0.9 else math.nan)
        out[b, 0], out[b, 1] = anderson_darling(x, fitted_xi, fitted_sigma), fitted_xi
    return out
