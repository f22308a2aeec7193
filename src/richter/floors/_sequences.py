"""Confidence sequences: limits that hold at every sample size at once, so that one may look and stop at any time."""

import dataclasses
import math

import numba
import numpy as np
from numpy.typing import ArrayLike

from richter.errors import InputError
from richter.floors._check import check_level
from richter.records import Interval
from richter.stats import Floats, Indices

__all__ = ["Sequence", "difference_sequence", "ece_sequence", "mean_sequence", "rate_sequence"]


N_GRID = 2000  # points of the betting sequence; its limits are rounded outward by 1 / GRID of the range
_BETS = np.geomspace(0.005, 0.95, 10)  # parts of what could be staked
_BISECTION_STEPS = 46  # bisection steps: 2^-46 of the interval


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Sequence:
    """Running estimates and limits after 1, 2, .. n labels; P(any limit ever misses) is at most 1 - level."""

    estimate: Floats
    low: Floats
    high: Floats
    level: float
    method: str

    @property
    def n(self) -> int:
        """Labels so far."""
        return len(self.low)

    @property
    def interval(self) -> Interval:
        """The limits now."""
        return Interval(low=float(self.low[-1]), high=float(self.high[-1]), level=self.level, method=self.method)


def _checked_values(x: ArrayLike, low: float, high: float) -> Floats:
    values = np.asarray(x, dtype=np.float64)
    if values.ndim != 1 or len(values) == 0:
        raise InputError("A sequence needs at least one observation in a row.", remedy="Give a flat list.")
    if not ((values >= low) & (values <= high)).all():
        raise InputError(
            f"An observation is outside [{low:g}, {high:g}] or missing.",
            remedy="Leave failed and missing ones out before.",
        )
    return values


def rate_sequence(outcomes: ArrayLike, *, level: float = 0.95) -> Sequence:
    """A rate of yes among yes/no outcomes (wrong answers, severities above a limit).

    Robbins' mixture: M_t(p) = integral of q^k (1 - q)^(t - k) dBeta(1/2, 1/2)(q) / (p^k (1 - p)^(t - k)) is a
    martingale with mean 1 under p, so the set of p with M_t(p) < 1 / alpha holds for all t at once (Ville). It is
    the wealth of a gambler who bets the running (k + 1/2) / (t + 1). Outcomes must be independent with one rate, as
    items drawn at random are.
    """
    check_level(level)
    x = _checked_values(outcomes, 0, 1)
    if not np.isin(x, (0.0, 1.0)).all():
        raise InputError("An outcome is neither 0 nor 1.", remedy="Use `mean_sequence` for graded values.")
    low, high = _mixture_limits(x, 1 - level)
    return Sequence(
        estimate=np.cumsum(x) / np.arange(1, len(x) + 1),
        low=low,
        high=high,
        level=level,
        method="beta-binomial mixture",
    )


@numba.njit(cache=True)
def _mixture_limits(x: Floats, alpha: float) -> tuple[Floats, Floats]:
    """Running limits of the mixture. A limit is solved for anew only when it has itself been rejected."""
    n = len(x)
    low = np.empty(n)
    high = np.empty(n)
    bottom, ceiling = 0.0, 1.0
    k = 0.0
    base = math.log(alpha) - 2 * math.lgamma(0.5)  # of log(alpha / B(1/2, 1/2)); Gamma(1) is 1
    for i in range(n):
        t = i + 1.0
        k += x[i]
        top = base + math.lgamma(k + 0.5) + math.lgamma(t - k + 0.5) - math.lgamma(t + 1.0)
        rate = k / t
        if k > 0 and (bottom == 0.0 or _is_rejected(bottom, top, k, t)):
            bottom = max(bottom, _solve_limit(min(bottom, rate), rate, top, k, t))
        if k < t and (ceiling == 1.0 or _is_rejected(ceiling, top, k, t)):
            ceiling = min(ceiling, _solve_limit(max(ceiling, rate), rate, top, k, t))
        low[i] = bottom
        high[i] = ceiling
    return low, high


@numba.njit(cache=True)
def _is_rejected(p: float, top: float, k: float, t: float) -> bool:
    """Whether log M_t(p) >= log(1 / alpha)."""
    wealth = top
    if k > 0:
        wealth -= k * math.log(p)
    if k < t:
        wealth -= (t - k) * math.log1p(-p)
    return wealth >= 0.0


@numba.njit(cache=True)
def _solve_limit(outer: float, inner: float, top: float, k: float, t: float) -> float:
    """The limit between a rejected point and one inside, rounded to the rejected side."""
    for _ in range(_BISECTION_STEPS):
        middle = (outer + inner) / 2
        if _is_rejected(middle, top, k, t):
            outer = middle
        else:
            inner = middle
    return outer


@numba.njit(cache=True)
def _betting_limits(
    x: Floats, e: Floats, alpha: float, grid: int, bets: Floats, shares: Floats
) -> tuple[Floats, Floats]:
    """Capitals over a grid of candidate means of values x / e in [0, 1]; limits are the outermost rejected points.

    `up` is largest at the lowest candidate left and `down` at the highest, so neither can exceed the limit unseen.
    """
    n = len(x)
    low = np.empty(n)
    high = np.empty(n)
    up = np.ones((grid + 1, len(bets))) * shares
    down = up.copy()
    first, last = 0, grid  # candidates not yet rejected
    limit = 2 / alpha
    for t in range(n):
        for i in range(max(first, 1), last + 1):
            up[i] *= 1 + bets * (x[t] * grid / i - e[t])
        for i in range(first, min(last, grid - 1) + 1):
            down[i] *= 1 + bets * ((e[t] - x[t]) * grid / (grid - i) - e[t])
        if x[t] > 0:
            first = max(first, 1)  # a mean of 0 is refuted by one value above it
        if x[t] < e[t]:
            last = min(last, grid - 1)
        while first <= last and up[first].sum() >= limit:
            first += 1
        while last >= first and down[last].sum() >= limit:
            last -= 1
        low[t] = max(first - 1, 0) / grid
        high[t] = min(last + 1, grid) / grid
    return low, high


def mean_sequence(
    values: ArrayLike, *, counts: ArrayLike | None = None, low: float = 0.0, high: float = 1.0, level: float = 0.95
) -> Sequence:
    """A mean of values in [low, high] (a severity, a score), by betting (Waudby-Smith and Ramdas 2023).

    For each candidate mean m gamblers bet that the mean is higher, product of 1 + f (x / m - 1), or lower, product of
    1 + f ((1 - x) / (1 - m) - 1); each capital is a martingale under m, and so is their sum over the fixed parts f from
    0.005 to 0.95 of what could be staked, with shares in proportion to sqrt(f): small f serve small differences
    and long runs, large f rare values. m is dropped when the sum of one side reaches 2 / alpha. Candidates lie on a
    grid, limits are rounded outward.

    With `counts` c in (0, 1] an observation is a sum over as much of what the mean is of, from c low to c high (the
    severities of a unit's errors, and how many it has): the mean is E[x] / E[c], and bets are f (x / m - c).
    """
    check_level(level)
    if not high > low:
        raise InputError(f"[{low:g}, {high:g}] is not a range.", remedy="Give low < high.")
    given = np.asarray(values, dtype=np.float64)
    c = np.ones(given.shape) if counts is None else np.asarray(counts, dtype=np.float64)
    if c.shape != given.shape or not ((c > 0) & (c <= 1)).all():
        raise InputError("A count is missing or not in (0, 1].", remedy="Give each observation's, of the most at 1.")
    x = (_checked_values(given / c, low, high) - low) / (high - low) * c
    lower, upper = _betting_limits(x, c, 1 - level, N_GRID, _BETS, np.sqrt(_BETS) / np.sqrt(_BETS).sum())
    return Sequence(
        estimate=low + (high - low) * np.cumsum(x) / np.cumsum(c),
        low=low + (high - low) * lower,
        high=low + (high - low) * upper,
        level=level,
        method="betting",
    )


def difference_sequence(a: ArrayLike, b: ArrayLike, *, level: float = 0.95) -> Sequence:
    """Accuracy of b minus accuracy of a from items asked of both, in the order asked: betting on b - a in [-1, 1]."""
    first, second = _checked_values(a, 0, 1), _checked_values(b, 0, 1)
    if len(first) != len(second):
        raise InputError(f"{len(first)} and {len(second)} grades do not pair.", remedy="Give both for each item.")
    return mean_sequence(second - first, low=-1.0, high=1.0, level=level)


@numba.njit(cache=True)
def _ece_limits(x: Floats, index: Indices, start: Indices, bins: int, alpha: float) -> tuple[Floats, Floats]:
    """Lower and upper limits of ECE, each at level alpha; item t has the draws start[t] to start[t + 1].

    Fan's inequality, log(1 + l y) >= l y + y^2 (log(1 - l) + l) for y >= -1 and 0 <= l < 1, makes
    exp(sum l_i (y_i - mean_i) - psi(l_i) y_i^2), psi(l) = -log(1 - l) - l, a supermartingale. y is the mean over an
    item's draws of sign x; its square is at most that of the mean |x|, which no sign changes.
    """
    n = len(start) - 1
    low = np.empty(n)
    high = np.empty(n)
    plain = np.zeros(bins)  # sums of x by bin: their signs are the bets of the lower limit
    weighted = np.zeros(bins)  # sums of l x by bin
    bets, cost, gain, spread = 0.0, 0.0, 0.0, 0.0
    squares = 0.25
    price = math.log(1 / alpha)
    best_low, best_high = 0.0, 1.0
    for t in range(n):
        # predictable: it uses x before t only, and x^2, which no sign changes
        bet = min(math.sqrt(2 * price / (squares * math.log(t + 2.0))), 0.5)
        draws = start[t + 1] - start[t]
        size = 0.0
        for k in range(start[t], start[t + 1]):
            b = index[k]
            sign = 1.0 if plain[b] > 0 else (-1.0 if plain[b] < 0 else 0.0)
            gain += bet * sign * x[k] / draws
            size += abs(x[k]) / draws
        for k in range(start[t], start[t + 1]):
            b = index[k]
            spread -= abs(weighted[b])
            weighted[b] += bet * x[k] / draws
            spread += abs(weighted[b])
            plain[b] += x[k] / draws
        bets += bet
        cost += (-math.log(1 - bet) - bet) * size * size
        squares += size * size
        best_low = max(best_low, (gain - price - cost) / bets)
        best_high = min(best_high, (spread + price + cost) / bets)
        low[t] = best_low
        high[t] = best_high
    return low, high


def ece_sequence(
    confidence: ArrayLike,
    correct: ArrayLike,
    *,
    item: Indices | None = None,
    weight: Floats | None = None,
    top: float = 1.0,
    bins: int = 10,
    level: float = 0.95,
) -> Sequence:
    """Binned ECE, time-uniformly (the paper's Appendix M gives a rate; these limits have constants).

    With x = confidence - correct and D_b = E[x 1{bin b}], ECE = sum |D_b|. Lower: each item's x is multiplied by the
    sign of its bin's past sum (0 at first); whatever the signs, the mean of such a variable is at most ECE, so an
    empirical-Bernstein lower limit of it is one for ECE. Upper: for the true signs, which are unknown but fixed, the
    variable sign x has mean ECE; its weighted sum is at most sum over bins of |sum of l x|, and its squares do not
    depend on signs, so one limit serves all sign vectors. Both at alpha / 2. `item` (0, 0, 1, ..) says which draws are
    of one item: they arrive together, and the item counts once; where such units count differently (groups of items)
    `weight` is what each row counts for over the most, `top`, that a unit may.
    """
    check_level(level)
    c, a = _checked_values(confidence, 0, 1), _checked_values(correct, 0, 1)
    if len(c) != len(a):
        raise InputError(f"{len(c)} confidences for {len(a)} grades.", remedy="Give one of each per item.")
    index = np.minimum((c * bins + 1e-9).astype(np.intp), bins - 1)
    x = c - a if weight is None else weight * (c - a)
    start = np.arange(len(x) + 1) if item is None else np.r_[np.flatnonzero(np.diff(item, prepend=-1)), len(x)]
    low, high = _ece_limits(x, index, start, bins, (1 - level) / 2)
    return Sequence(
        estimate=top * _running_ece(x, index, start, bins),
        low=top * low,
        high=np.minimum(top * high, 1.0),
        level=level,
        method="empirical Bernstein, signs",
    )


@numba.njit(cache=True)
def _running_ece(x: Floats, index: Indices, start: Indices, bins: int) -> Floats:
    """The plug-in after each item (eq. (10))."""
    n = len(start) - 1
    out = np.empty(n)
    sums = np.zeros(bins)
    total = 0.0
    for t in range(n):
        draws = start[t + 1] - start[t]
        for k in range(start[t], start[t + 1]):
            b = index[k]
            total -= abs(sums[b])
            sums[b] += x[k] / draws
            total += abs(sums[b])
        out[t] = total / (t + 1)
    return out
