"""Has something changed over the days? Evidence that may be looked at every day, and when the change was."""

import dataclasses

import numba
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from richter.errors import InputError
from richter.floors._check import check_level

__all__ = ["ChangePoint", "change_evidence", "change_point", "sequential_scores"]

Floats = NDArray[np.float64]

LIFE = 1000  # half of the weight goes evenly to changes within as many days, the rest to any day
SHIFT = 1.0  # the spread of shifts that is looked for, in standard deviations of a day


def sequential_scores(days: ArrayLike, *, rng: np.random.Generator) -> Floats:
    """The normal scores of sequential ranks: of each day its rank among the days so far, ties broken at random.

    z_t = Phi^-1((#{x_j < x_t} + U #{x_j = x_t}) / t) with j <= t. Where days are exchangeable (one law, whatever it
    is, each day a draw of its own) the z_t are exactly independent standard normal: nothing is assumed of how values
    are spread, and that the first days are few is paid for in the ranks.
    """
    x = np.asarray(days, dtype=np.float64)
    if x.ndim != 1 or not np.isfinite(x).all():
        raise InputError("A series needs one number a day.", remedy="Leave days without a value out.")
    return np.asarray(ndtri(_ranks(x, rng.random(len(x)))), dtype=np.float64)


@numba.njit(cache=True)
def _ranks(x: Floats, u: Floats) -> Floats:
    out = np.empty(len(x))
    for t in range(len(x)):
        below, equal = 0, 0
        for j in range(t + 1):
            below += x[j] < x[t]
            equal += x[j] == x[t]
        out[t] = min(max((below + u[t] * equal) / (t + 1), 1e-12), 1 - 1e-12)
    return out


def change_evidence(scores: ArrayLike) -> Floats:
    """After each day, how many times likelier the scores are if they shifted at some day than if they did not.

    E_t = sum over k < t of w_k B_k(t) + (the weight of later days). B_k(t) is the likelihood ratio of
    z_j ~ N(d k / j, 1), j > k, against N(0, 1), mixed over d ~ N(0, SHIFT^2): ranks after a change fall back as k / j,
    since the days after it are among those that they are ranked with. With C = sum (k / j) z_j and S = sum (k / j)^2,
    B = (1 + SHIFT^2 S)^(-1/2) exp(SHIFT^2 C^2 / (2 (1 + SHIFT^2 S))). Without a change E is a martingale of mean 1, so
    P(E ever reaches 1 / alpha) is at most alpha (Ville), however long one looks.
    """
    return np.asarray(_mixture(np.asarray(scores, dtype=np.float64), _weights(len(np.asarray(scores)))))


def _weights(n: int) -> Floats:
    """Of a change after day 1, 2, .. n: half evenly over LIFE days, half as ln 2 / (m ln(m)^2), m = k + 2; sum <= 1."""
    k = np.arange(1, n + 1)
    long = np.log(2) / ((k + 2) * np.log(k + 2) ** 2)
    return np.asarray(0.5 * long + 0.5 * np.where(k <= LIFE, 1 / LIFE, 0.0))


@numba.njit(cache=True)
def _mixture(z: Floats, weight: Floats) -> Floats:
    n = len(z)
    out = np.empty(n)
    a = np.zeros(n + 1)  # sums of z_j / j
    b = np.zeros(n + 1)  # sums of 1 / j^2
    before = 0.0
    for t in range(1, n + 1):
        a[t] = a[t - 1] + z[t - 1] / t
        b[t] = b[t - 1] + 1.0 / t**2
        total = 0.0
        for k in range(1, t):
            s = k * k * (b[t] - b[k]) * SHIFT**2
            c = k * (a[t] - a[k]) * SHIFT
            total += weight[k - 1] * np.exp(0.5 * c * c / (1 + s)) / np.sqrt(1 + s)
        out[t - 1] = total + 1 - before
        before += weight[t - 1]
    return out


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ChangePoint:
    """The last day before a change (its index), an interval for it, and the means before and after."""

    day: int
    low: int
    high: int
    before: float
    after: float
    level: float


def change_point(days: ArrayLike, *, level: float = 0.95) -> ChangePoint:
    """Where the mean of a series changed, given that it did once.

    The posterior of the day under one normal law with a shift: with flat priors of mean and log variance and a shift
    of N(0, SHIFT^2) standard deviations, p(k) is proportional to (1 + s)^(-1/2) (1 - c^2 / ((1 + s) SS))^(-(t - 1)/2),
    s = k (t - k) / t, c = s (mean after - mean before), SS the sum of squares. The interval is the smallest set of
    days with `level` of it, from its first to its last.
    """
    check_level(level)
    x = np.asarray(days, dtype=np.float64)
    n = len(x)
    if n < 3:
        raise InputError(f"{n} days have no place for a change.", remedy="Give at least 3.")
    k = np.arange(1, n)
    total = np.cumsum(x)
    first, second = total[:-1] / k, (total[-1] - total[:-1]) / (n - k)
    squares = float(np.sum((x - x.mean()) ** 2))
    s = k * (n - k) / n
    gain = s**2 * (second - first) ** 2 * SHIFT**2 / ((1 + SHIFT**2 * s) * squares) if squares > 0 else 0 * s
    log = -0.5 * np.log1p(SHIFT**2 * s) - 0.5 * (n - 1) * np.log1p(-np.minimum(gain, 1 - 1e-12))
    p = np.exp(log - log.max())
    p /= p.sum()
    best = int(np.argmax(p))
    order = np.argsort(p)[::-1]
    kept = order[: int(np.searchsorted(np.cumsum(p[order]), level)) + 1]
    return ChangePoint(
        day=best, low=int(kept.min()), high=int(kept.max()), before=float(first[best]), after=float(second[best]),
        level=level,
    )  # fmt: skip
