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


@njit(cache=True, inline="always")
def _next(state: Any) -> tuple[Any, Any]:  # SplitMix64 (Steele, Lea and Flood 2014)
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
def fit_weighted(
    x: Floats, w: Counts, scale: float, start: float, tolerance: float = 1e-5
) -> tuple[float, float, float]:
    """Maximum likelihood (xi, sigma, log-likelihood) over xi >= -1, by Grimshaw's (1993) one-dimensional profile.

    On the curve xi(tau) = mean log(1 + tau x), sigma = xi / tau the log-likelihood is -n (log sigma + xi + 1), with
    derivative n h / (tau xi), h = (1 + xi) mean 1/(1 + tau x) - 1. Newton's method on that derivative, kept inside a
    bracket. `start` is a tau to begin from, or NaN to search a grid; `scale` a typical exceedance (the median). It
    stops at a step below `tolerance` (in units of 1/scale), whose square is then the error of tau.
    """
    total, top = 0, 0.0
    for i in range(len(x)):
        total += w[i]
        if x[i] > top and w[i] > 0:  # in this order: the first is rarely true, so that the branch is cheap
            top = x[i]
    if total < 2 or not top > 0.0 or not scale > 0.0:
        return math.nan, math.nan, math.nan
    m1, m2, m3 = math.nan, math.nan, math.nan  # taken where they are needed
    lower = -1.0 / top
    tau = start
    if math.isnan(start):
        best = -math.inf
        for k in range(12):
            if k < 5:
                t = lower * (0.98, 0.9, 0.7, 0.4, 0.1)[k]
            else:
                t = (0.05, 0.2, 0.6, 1.5, 4.0, 12.0, 50.0)[k - 5] / scale
            a, _, _ = sums(x, w, total, t)
            value = -math.log(a / t) - a
            if a > -1.0 and value > best:
                best, tau = value, t
    if math.isnan(tau) or tau <= lower:
        tau = 0.5 * lower
    low, high = lower, math.inf
    xi, sigma = math.nan, math.nan
    for _ in range(200):
        if abs(tau) * scale < 1e-4:  # here the formulas below cancel, and their expansions are exact enough
            if math.isnan(m1):
                m1, m2, m3 = _moments(x, w, total)
            slope0 = m2 / (2 * m1) - m1  # the derivative and its slope at tau = 0
            curve0 = 2 * (m2 / 2 + m2 * m2 / (8 * m1 * m1) - m3 / (3 * m1))
            a = tau * (m1 - tau * m2 / 2 + tau * tau * m3 / 3)
            slope, curve = slope0 + curve0 * tau, curve0
            a_slope, a_curve = m1 - tau * m2, -m2
        else:
            a, first, second = sums(x, w, total, tau)
            a_slope = (1.0 - first) / tau
            a_curve = -(1.0 - 2.0 * first + second) / (tau * tau)
            h = (1.0 + a) * first - 1.0
            h_slope = a_slope * first - (1.0 + a) * (first - second) / tau
            slope = h / (tau * a)
            curve = h_slope / (tau * a) - h * (a + tau * a_slope) / (tau * a) ** 2
        if a <= -1.0 or slope > 0.0:
            low = tau
        else:
            high = tau
        step = -slope / curve if curve < 0.0 and a > -1.0 else math.nan
        new = tau + step
        if abs(step) * scale < tolerance * (1.0 + abs(tau) * scale):  # also where the step ends on the bracket's end
            xi = a + step * (a_slope + 0.5 * step * a_curve)
            tau = new
            break
        if not low < new < high:  # also when new is NaN
            new = tau + max(abs(tau), 0.5 / scale) if math.isinf(high) else 0.5 * (low + high)
        if high - low < 1e-12 / scale:  # no better point is left: often pressed against xi = -1
            xi = a
            break
        tau = new
    corner = -total * math.log(top)  # xi = -1: uniform on [0, top]
    if not math.isnan(xi) and xi > -1.0:
        if abs(tau) * scale < 1e-4:
            if math.isnan(m1):
                m1, m2, m3 = _moments(x, w, total)
            sigma = m1 - tau * m2 / 2 + tau * tau * m3 / 3
        else:
            sigma = xi / tau
        if sigma > 0.0:
            loglik = -total * (math.log(sigma) + xi + 1.0)
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
def fit_rows(x: Floats, scale: float, start: float) -> Floats:
    """xi with each exceedance left out in turn (the jackknife)."""
    w = np.ones(len(x), dtype=np.int32)
    values = np.empty(len(x))
    for i in range(len(x)):
        w[i] = 0
        values[i], _, _ = fit_weighted(x, w, scale, start)
        w[i] = 1
    return values


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
        drawn = np.zeros(n_groups, dtype=np.int32)
        state = seeds[b]
        for _ in range((n_groups + 1) // 2):  # two 32-bit indices from each draw
            state, bits = _next(state)
            drawn[np.int64(((bits >> _U32) * uint64(n_groups)) >> _U32)] += 1
            drawn[np.int64(((bits & _LOW) * uint64(n_groups)) >> _U32)] += 1
        if n_groups % 2 == 1:  # one too many: take back the last
            drawn[np.int64(((bits & _LOW) * uint64(n_groups)) >> _U32)] -= 1
        counts = drawn[group]
        size = 0
        for i in range(n_items):
            size += counts[i]
        worst = mass * size / n_items
        for c in range(n_conditions):
            total = 0.0
            for i in range(n_items):
                total += counts[i] * values[c, i]
            means[b, c] = total / size
            left, tail, i = worst, 0.0, 0
            while left > 0.0 and i < n_items:
                take = min(float(counts[order[c, i]]), left)
                tail += take * values[c, order[c, i]]
                left -= take
                i += 1
            tvars[b, c] = tail / worst
            for t in range(n_thresholds):
                n = n_exc[c, t]
                if n >= 2 and not math.isnan(starts[c, t]):
                    w = counts[order[c, :n]]
                    # an error of 1e-6 in tau is nothing beside the spread of resamples
                    shapes[b, c, t], _, _ = fit_weighted(exceedances[c, t, :n], w, scales[c, t], starts[c, t], 1e-3)
    return means, tvars, shapes


@njit(cache=True)
def edf_statistics(x: Floats, xi: float, sigma: float) -> tuple[float, float]:
    """Anderson-Darling's A-squared and Cramer-von Mises' W-squared of ascending exceedances against GPD(xi, sigma)."""
    n = len(x)
    survival = np.empty(n)
    for i in range(n):  # log of 1 - F, kept away from -inf for a value beyond the fitted end point
        z = x[i] / sigma
        if abs(xi) < 1e-9:
            survival[i] = -z
        else:
            survival[i] = -math.log(max(1.0 + xi * z, 1e-300)) / xi
        survival[i] = max(survival[i], -690.0)
    a2, w2 = 0.0, 1.0 / (12 * n)
    for i in range(n):
        below = -math.expm1(survival[i])
        a2 += (2 * i + 1) * (math.log(max(below, 1e-300)) + survival[n - 1 - i])
        w2 += (below - (2 * i + 1) / (2 * n)) ** 2
    return -n - a2 / n, w2


@njit(cache=True, parallel=True)
def simulate_gof(
    n: int, xi: float, sigma: float, step: float, first: float, grid: Floats, seeds: NDArray[np.uint64]
) -> Floats:
    """(A-squared, W-squared, refitted xi) of samples of n from GPD(xi, sigma), refitted in each sample.

    With step > 0 the samples are rounded as the data are: the k-th cell of width `step` above the threshold becomes
    first + k step. With a `grid` of values they are rounded to it instead, the lowest cell starting at the threshold.
    Samples come sorted from exponential spacings, and rounding keeps the order.
    """
    out = np.empty((len(seeds), 3))
    for b in prange(len(seeds)):
        x = np.empty(n)
        state = seeds[b]
        total = 0.0
        for i in range(n):
            state, bits = _next(state)
            total -= math.log(_uniform(bits))
            x[i] = total
        state, bits = _next(state)
        total -= math.log(_uniform(bits))
        k = 0
        for i in range(n):
            survival = math.log1p(-x[i] / total)
            x[i] = -sigma * survival if abs(xi) < 1e-9 else sigma * math.expm1(-xi * survival) / xi
            if step > 0.0:
                x[i] = first + math.floor(x[i] / step) * step
            elif len(grid) > 1:
                below = grid[0] - 0.5 * (grid[1] - grid[0])  # where the lowest cell starts
                while k + 1 < len(grid) and x[i] >= 0.5 * (grid[k] + grid[k + 1]) - below:
                    k += 1
                x[i] = grid[k]
        w = np.ones(n, dtype=np.int32)
        fitted_xi, fitted_sigma, _ = fit_weighted(x, w, x[n // 2], xi / sigma if xi > -0.9 else math.nan)
        out[b, 0], out[b, 1] = edf_statistics(x, fitted_xi, fitted_sigma)
        out[b, 2] = fitted_xi
    return out
