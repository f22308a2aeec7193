"""Intervals for a proportion, and small numerics without scipy.optimize, which loads longer than a comparison."""

import dataclasses
import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from richter._special import betaincinv, gammaincinv, ndtri, stdtrit
from richter.errors import InputError
from richter.records import Interval

__all__ = [
    "average_ranks",
    "clopper_pearson",
    "effective_sample_size",
    "find_root",
    "unit_rate",
    "weighted_rate",
    "wilson",
]


def _check(k: float, n: float, level: float) -> None:
    if not 0 <= k <= n or n < 1:
        raise InputError(f"A proportion of {k} out of {n} is not one.", remedy="Give 0 <= k <= n with n >= 1.")
    if not 0 < level < 1:
        raise InputError(f"A confidence level of {level} is not between 0 and 1.", remedy="Use 0.95 for 95%.")


def wilson(k: float, n: float, *, level: float = 0.95) -> Interval:
    """Wilson's score interval for k successes in n independent trials.

    Inverts the normal test of p with the variance p(1-p)/n taken at the hypothesised p, so that it never leaves
    [0, 1] and keeps about its level at small n and extreme p. An effective sample size need not be whole.
    """
    _check(k, n, level)
    z = float(ndtri(0.5 + level / 2))
    p = k / n
    centre = p + z * z / (2 * n)
    spread = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    low = 0.0 if k == 0 else (centre - spread) / scale
    high = 1.0 if k == n else (centre + spread) / scale
    return Interval(low=low, high=high, level=level, method="wilson")


def clopper_pearson(k: float, n: float, *, level: float = 0.95, side: str = "both") -> Interval:
    """The exact (conservative) binomial interval; `side="upper"` or `"lower"` puts all of 1 - level on one side.

    With k = 0 the one-sided upper 95% limit is 1 - 0.05^(1/n), about 3/n: zero seen is a bound, never 0.
    """
    _check(k, n, level)
    if side not in ("both", "upper", "lower"):
        raise InputError(f"side={side!r} is not known.", remedy="Use 'both', 'upper' or 'lower'.")
    tail = (1 - level) / 2 if side == "both" else 1 - level
    low = 0.0 if k == 0 or side == "upper" else float(betaincinv(k, n - k + 1, tail))
    high = 1.0 if k == n or side == "lower" else float(betaincinv(k + 1, n - k, 1 - tail))
    return Interval(low=low, high=high, level=level, method=f"clopper-pearson {side}")


def gamma_limit(y: float, v: float, share: float) -> float:
    """The quantile of a gamma of mean y and variance v: a limit of a weighted Poisson count (Fay and Feuer 1997)."""
    return v / y * float(gammaincinv(y * y / v, share))


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Departures:
    """What few units that depart from an end (or from no difference) add to a mean, and what another one may.

    `largest` is the largest that one of `number` added, `most` what a unit that departs wholly would. The next is
    larger than all of them with chance 1 / (number + 1), and then as large as `most` at worst.
    """

    number: int
    largest: float
    most: float

    def limit(self, y: float, v: float, share: float, *, whole: float, unseen: float | None = None) -> float:
        """The gamma limit of a side whose departures sum to y and their squares to v.

        `whole` departures of the largest size seen are added (Jeffreys a half, Clopper and Pearson one above), and
        `unseen`, by default 1 / (number + 1), of what a unit exceeds that by.
        """
        unseen = 1 / (self.number + 1) if unseen is None else unseen
        y += whole * self.largest + unseen * (self.most - self.largest)
        v += whole * self.largest**2 + unseen * (self.most**2 - self.largest**2)
        return gamma_limit(y, v, share)


def departures(away: NDArray[np.float64], most: float) -> Departures:
    """Of units' contributions, none of them 0; an unknown range bounds no other by more than was seen."""
    largest = float(np.max(np.abs(away)))
    return Departures(number=len(away), largest=largest, most=max(most, largest) if math.isfinite(most) else largest)


MIN_DEPARTING_UNITS = 20  # units that depart below which sizes that were not seen matter, and t covers 0.88 to 0.93
MIN_FREEDOM = 2.0  # of a t test on three units or more: what one large unit leaves at least
MIN_EVENTS = 5  # below which the spread between units is not learnt from them: each unit counts once


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class EffectiveSize:
    """A rate of answers that vary together within units, and how many independent ones these are worth to it.

    `by_weights` is what their weights leave (Kish), `by_units` the same of the units; `by_variance` is p (1 - p) over
    the variance of the rate by unit sums, None where answers vary alone or too few events say nothing of how they
    crowd. `away` are the shares of units with an event (of those without, where these are fewer) where such units are
    few.
    """

    rate: float
    by_weights: float
    by_units: float
    by_variance: float | None
    freedom: float
    away: NDArray[np.float64] | None = None

    def at(self, level: float, side: str = "both") -> float:
        """How many, less what Student's t costs at `level`."""
        if self.by_variance is None:
            return max(self.by_units, 1.0)
        tail = 0.5 + level / 2 if side == "both" else level
        cost = float(ndtri(tail) / stdtrit(max(self.freedom, 1.0), tail)) ** 2
        return max(min(self.by_weights, self.by_variance * cost), 1.0)

    def interval(self, level: float, side: str = "both") -> Interval:
        """Wilson's interval (one side: Clopper and Pearson's) at as many.

        Few units with an event say little of how many others may have: there it has room for one (`allow_unseen_unit`).
        """
        worth = self.at(level, side)
        k = self.rate * worth
        unadjusted = (
            wilson(k, worth, level=level) if side == "both" else clopper_pearson(k, worth, level=level, side=side)
        )
        low, high = self.allow_unseen_unit(unadjusted, 0.5 + level / 2 if side == "both" else level)
        return Interval(low=low, high=high, level=level, method=f"{unadjusted.method}, by unit")

    def allow_unseen_unit(self, unadjusted: Interval, share: float) -> tuple[float, float]:
        """Both limits, the one away from the end moved by what a unit of which all answers have an event adds there."""
        if self.away is None:
            return unadjusted.low, unadjusted.high
        y, v, seen = float(np.sum(self.away)), float(np.sum(self.away**2)), departures(self.away, 1 / self.by_units)
        more = max(seen.limit(y, v, share, whole=0.5) - seen.limit(y, v, share, whole=0.5, unseen=0.0), 0.0)
        return (
            (unadjusted.low, min(unadjusted.high + more, 1.0))
            if self.rate <= 0.5
            else (max(unadjusted.low - more, 0.0), unadjusted.high)
        )


def effective_size_of(
    event: ArrayLike, unit: ArrayLike | None = None, *, weight: ArrayLike | None = None
) -> EffectiveSize:
    """A rate with its effective sample size.

    The variance by unit is CR2's, sum e_u^2 / (1 - h_u), with its degrees of freedom (`exchangeable_freedom`).
    """
    e = np.asarray(event, dtype=np.float64)
    w = np.ones(len(e)) if weight is None else np.asarray(weight, dtype=np.float64)
    w = w / np.sum(w)
    rate, by_weights = min(max(float(np.sum(w * e)), 0.0), 1.0), 1 / float(np.sum(w**2))
    place = None if unit is None else np.unique(np.asarray(unit), return_inverse=True)[1]
    if place is None or int(place.max()) + 1 == len(e):
        return EffectiveSize(rate=rate, by_weights=by_weights, by_units=by_weights, by_variance=None, freedom=math.inf)
    shares = np.bincount(place, weights=w).astype(np.float64)
    sums = np.bincount(place, weights=w * (e - rate))
    variance = float(np.sum(sums**2 / (1 - shares))) if len(shares) > 1 else 0.0
    rare = min(np.sum(e), np.sum(1 - e)) < MIN_EVENTS
    alike = variance <= 1e-12 * rate * (1 - rate)  # but for rounding
    by_variance = None if rare or alike else rate * (1 - rate) / variance
    away = np.bincount(place, weights=w * (e if rate <= 0.5 else 1 - e)).astype(np.float64)
    away = away[away > 1e-12 / len(shares)]
    few = by_variance is not None and len(away) < MIN_DEPARTING_UNITS and 2 * len(away) < len(shares)
    return EffectiveSize(
        rate=rate, by_weights=by_weights, by_units=1 / float(np.sum(shares**2)), by_variance=by_variance,
        freedom=exchangeable_freedom(e, w, place), away=away if few else None,
    )  # fmt: skip


def unit_freedom(shares: NDArray[np.float64]) -> float:
    """Satterthwaite's degrees of freedom of the CR2 variance of a mean, from the units' shares h alone.

    The smaller of those under two working models, members of a unit being independent and being alike: few degrees of
    freedom are never optimistic. With equal shares both are the number of units less 1.
    """
    return min(_working_freedom(shares, shares), _working_freedom(shares, shares**2))


def exchangeable_freedom(
    values: NDArray[np.float64], weight: NDArray[np.float64], unit: NDArray[np.intp]
) -> float:  # fmt: skip
    """Satterthwaite's degrees of freedom of the CR2 variance, at the correlation within units that the values show.

    The working model is exchangeable, with the intraclass correlation of one-way analysis of variance, at least 0. One
    unit that holds many of the members leaves few degrees of freedom where members are alike, and more where they are
    not. At least 2 where there are three units.
    """
    share = weight / float(np.sum(weight))
    shares = np.bincount(unit, weights=share).astype(np.float64)
    if len(shares) < 3:
        return max(len(shares) - 1.0, 0.0)
    rho = min(max(intraclass_correlation(values, unit), 0.0), 1.0)
    alone = np.bincount(unit, weights=share**2).astype(np.float64)
    return max(_working_freedom(shares, rho * shares**2 + (1 - rho) * alone), MIN_FREEDOM)


def intraclass_correlation(values: NDArray[np.float64], unit: NDArray[np.intp]) -> float:
    """The correlation of two members of a unit by one-way analysis of variance; 1 where no unit has two members."""
    sizes = np.bincount(unit)
    n, units = len(values), len(sizes)
    if units < 2 or n <= units:
        return 1.0
    means = np.bincount(unit, weights=values) / sizes
    within = float(np.sum((values - means[unit]) ** 2)) / (n - units)
    between = float(np.sum(sizes * (means - np.mean(values)) ** 2)) / (units - 1)
    size = (n - float(np.sum(sizes**2)) / n) / (units - 1)
    total = between + (size - 1) * within
    return (between - within) / total if total > 0 else 1.0


def _working_freedom(h: NDArray[np.float64], v: NDArray[np.float64]) -> float:
    """Satterthwaite's degrees of freedom of sum e_u^2 / (1 - h_u), the units' sums varying in proportion to v.

    e_u = s_u - h_u sum of s, so that cov(e_u, e_w) = v_u [u = w] - h_w v_u - h_u v_w + h_u h_w sum of v; the trace of
    that matrix (scaled by CR2), squared, over the sum of its squares.
    """
    if len(h) < 2:
        return 0.0
    b, total = 1 / (1 - h), float(np.sum(v))
    trace = float(np.sum(b * (v * (1 - 2 * h) + h**2 * total)))
    hh, hv, vv = float(np.sum(b * h**2)), float(np.sum(b * h * v)), float(np.sum(b * v**2))
    square = 2 * vv * hh + 2 * hv**2 + (total * hh) ** 2 - 4 * total * hv * hh
    square += float(np.sum(b**2 * v * (v - 4 * h * v + 2 * h**2 * total)))
    return trace**2 / square


def effective_sample_size(
    event: ArrayLike,
    unit: ArrayLike | None = None,
    *,
    weight: ArrayLike | None = None,
    level: float = 0.95,
    side: str = "both",
) -> float:
    """How many independent answers these are worth to their rate, where they vary together within units.

    p (1 - p) over the variance of the rate by unit sums (CR2), less what Student's t with Satterthwaite's degrees of
    freedom costs at `level`, and at most what the weights leave (Kish). With fewer than five events, or answers without
    one, each unit is worth one answer.
    """
    return effective_size_of(event, unit, weight=weight).at(level, side)


def unit_rate(
    event: ArrayLike,
    unit: ArrayLike | None = None,
    *,
    weight: ArrayLike | None = None,
    level: float = 0.95,
    side: str = "both",
) -> Interval:
    """The interval of a rate whose answers vary together within units (an item's draws, a passage's items).

    Wilson's (one side: Clopper and Pearson's) at the effective sample size (`effective_sample_size`); where
    few units have an event, its limit away from the end leaves room for one that has nothing else (`Departures`).
    """
    e = np.asarray(event, dtype=np.float64)
    alone = unit is None or len(np.unique(np.asarray(unit))) == len(e)
    if alone and (weight is None or np.ptp(np.asarray(weight, dtype=np.float64)) == 0):
        k, n = float(np.sum(e)), len(e)
        return wilson(k, n, level=level) if side == "both" else clopper_pearson(k, n, level=level, side=side)
    return effective_size_of(e, unit, weight=weight).interval(level, side)


def weighted_rate(
    events: ArrayLike, weights: ArrayLike, *, largest_weight: float, level: float = 0.95, side: str = "both"
) -> Interval:
    """Gamma limits of Fay and Feuer (1997) for sum of w_i lambda_i, where events_i ~ Poisson(lambda_i).

    With y = sum w_i x_i and v = sum w_i^2 x_i the lower limit is the quantile of a gamma with mean y and variance v,
    the upper that of a gamma with mean y + w and variance v + w^2, w being `largest_weight`: the largest weight that
    *any* possible event carries, seen or not. With equal weights these are the exact Poisson limits; with unequal
    ones they are conservative. Counts of a binomial are less spread than a Poisson's, so the limits hold for them
    too. No event seen gives 0 and -ln(1 - level) w at one side, never 0. `side="upper"` or `"lower"` puts all of
    1 - level on one side.
    """
    x, w = np.asarray(events, dtype=np.float64), np.asarray(weights, dtype=np.float64)
    if (x < 0).any() or (w < 0).any() or not largest_weight > 0 or (len(w) and w.max() > largest_weight * (1 + 1e-9)):
        raise InputError(
            "Events and weights must not be negative, nor a weight above the largest.", remedy="Check the weights."
        )
    if side not in ("both", "upper", "lower"):
        raise InputError(f"side={side!r} is not known.", remedy="Use 'both', 'upper' or 'lower'.")
    tail = (1 - level) / 2 if side == "both" else 1 - level
    y, v = float(w @ x), float((w**2) @ x)
    low = 0.0 if y == 0 or side == "upper" else gamma_limit(y, v, tail)
    high = math.inf if side == "lower" else gamma_limit(y + largest_weight, v + largest_weight**2, 1 - tail)
    return Interval(low=low, high=high, level=level, method=f"fay-feuer {side}")


def find_root(function: Callable[[float], float], low: float, high: float, *, xtol: float = 2e-12) -> float:
    """Where a continuous function that changes its sign between `low` and `high` is zero, to within `xtol`.

    Chandrupatla (1997): inverse quadratic interpolation where the three last points allow it, else bisection; never
    more than a few steps worse than halving.
    """
    a, b = float(low), float(high)
    fa, fb = function(a), function(b)
    if fa == 0 or fb == 0:
        return a if fa == 0 else b
    if (fa > 0) == (fb > 0):
        raise ValueError("the function has the same sign at both ends")
    c, fc, step = a, fa, 0.5
    for _ in range(200):
        at = a + step * (b - a)
        value = function(at)
        if (value > 0) == (fa > 0):
            c, fc = a, fa
        else:
            c, fc, b, fb = b, fb, a, fa
        a, fa = at, value
        best = a if abs(fa) < abs(fb) else b
        tolerance = 0.5 * xtol / abs(b - c)
        if fa == 0 or tolerance > 0.5:
            return best
        share, height = (a - b) / (c - b), (fa - fb) / (fc - fb)
        if height**2 < share and (1 - height) ** 2 < 1 - share:
            step = fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb)
        else:
            step = 0.5
        step = min(max(step, tolerance), 1 - tolerance)
    return best


def average_ranks(values: ArrayLike) -> NDArray[np.float64]:
    """Ranks from 1 in each column (or of a vector), ties sharing their mean; what is not a number has none."""
    x = np.asarray(values, dtype=np.float64)
    ranks_of_all = np.full(x.shape, np.nan)
    columns, ranks = (x[:, None], ranks_of_all[:, None]) if x.ndim == 1 else (x, ranks_of_all)
    for k in range(columns.shape[1]):
        known = ~np.isnan(columns[:, k])
        _, place, count = np.unique(columns[known, k], return_inverse=True, return_counts=True)
        ranks[known, k] = (np.cumsum(count) - (count - 1) / 2)[place]
    return ranks_of_all
