"""Has something changed over the days? Evidence that may be looked at every day, and when the change was."""

import dataclasses

import numba
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri, stdtrit

from richter.errors import InputError
from richter.floors._check import check_level
from richter.records import counted

__all__ = ["ChangePoint", "change_evidence", "change_point", "drift_reach", "sequential_scores"]

Floats = NDArray[np.float64]

EVEN_DAYS = 1000  # half of the weight goes evenly to changes within as many days, the rest to any day ..
EARLIEST_DAY = 20  # .. falling off from about this day on: a change within the first days cannot be told
SHIFT_SPREAD = 1.0  # the spread of shifts in the search of the day, in standard deviations of a day
_SIZES = np.array([0.5, 0.8, 1.2, 1.7, 2.4, 3.5])  # shifts that evidence is gathered for, in the same unit
SHIFTS = np.r_[-_SIZES[::-1], _SIZES]
CORRELATIONS = np.array([0.0, 0.25, 0.5, 0.75])  # correlation of a day with the one before, where there is a change ..
CORRELATION_WEIGHTS = np.array([0.9, 0.05, 0.03, 0.02])  # .. and what each of them weighs
MAX_LOG_BELOW = 20.0  # terms that are as far below the sum of all, in log, are dropped: evidence only falls by it
EXCUSING_CORRELATIONS = np.arange(1, 19) / 20  # correlations that may explain the scores without a change ..
EXCUSED_FROM_DAY = 200  # .. fully so from this day on


def sequential_scores(days: ArrayLike, *, rng: np.random.Generator) -> Floats:
    """The normal scores of sequential ranks: of each day its rank among the days so far, ties broken at random.

    z_t = Phi^-1((#{x_j < x_t} + U #{x_j = x_t}) / t) with j <= t. Where days are exchangeable (one law, whatever it
    is, each day a draw of its own) the z_t are exactly independent standard normal: nothing is assumed of how values
    are spread, and that the first days are few is paid for in the ranks.
    """
    x = np.asarray(days, dtype=np.float64)
    if x.ndim != 1 or not np.isfinite(x).all():
        raise InputError("A series needs one number a day.", remedy="Leave days without a value out.")
    return np.asarray(ndtri(_sequential_ranks(x, rng.random(len(x)))), dtype=np.float64)


@numba.njit(cache=True)
def _sequential_ranks(x: Floats, u: Floats) -> Floats:
    out = np.empty(len(x))
    for t in range(len(x)):
        below, equal = 0, 0
        for j in range(t + 1):
            below += x[j] < x[t]
            equal += x[j] == x[t]
        out[t] = min(max((below + u[t] * equal) / (t + 1), 1e-12), 1 - 1e-12)
    return out


def change_evidence(scores: ArrayLike, *, independent: bool = False) -> Floats:
    """After each day, how many times likelier the scores are if they shifted at some day than if they did not.

    E_t = sum over k < t of w_k B_k(t) + (the weight of later days). B_k(t) is the likelihood ratio of a shift of d
    standard deviations after day k against none, averaged over the d of SHIFTS: with a = k / j the share of days before
    the change among the j so far, z_j ~ N(d a v, v^2), v^2 = 1 / (1 + d^2 a (1 - a)), since the days after the change
    are among those that a day is ranked with. Without a change, where days are exchangeable, E is a martingale of mean
    1, so P(E ever reaches 1 / alpha) is at most alpha (Ville), however long one looks.

    Unless days are `independent`, those that depend on the day before are allowed for: B is averaged over correlations
    CARRIED too, and E is divided by min(1, t / EXCUSED)^2 A_t where that is above 1, A_t being the likelihood ratio of
    the best correlation of EXCUSES against none. The bound holds as before; that E rarely reaches 1 / alpha with
    correlated days is measured (docs/reference/watch.md), not proved.
    """
    z = np.asarray(scores, dtype=np.float64)
    rho, weight = (CORRELATIONS[:1], np.ones(1)) if independent else (CORRELATIONS, CORRELATION_WEIGHTS)
    evidence = _mix_over_changes(z, _day_weights(len(z)), SHIFTS, rho, weight)
    return np.asarray(evidence if independent else evidence / _excuse_correlation(z))


def _excuse_correlation(z: Floats) -> Floats:
    """By how much correlation with the day before may explain the scores; at least 1."""
    before = np.r_[0.0, z[:-1]]
    rest = 1 - EXCUSING_CORRELATIONS**2
    gain = (
        -0.5 * np.log(rest)
        - 0.5 * (z[:, None] - before[:, None] * EXCUSING_CORRELATIONS) ** 2 / rest
        + 0.5 * z[:, None] ** 2
    )
    best = np.cumsum(np.where(np.arange(len(z))[:, None] > 0, gain, 0.0), axis=0).max(axis=1)
    allowed = 2 * np.log(np.minimum(1.0, np.arange(1, len(z) + 1) / EXCUSED_FROM_DAY))
    return np.asarray(np.exp(np.clip(best + allowed, 0.0, 700.0)))


def _day_weights(n: int) -> Floats:
    """Of a change after day 1, 2, .. n: half evenly over EVEN_DAYS, half as ln(F) / (m ln(m)^2), m = k + F; sum <= 1.

    F is EARLIEST_DAY; the second half's sum is below the integral of ln(F) / (m ln(m)^2) from F on, which is 1.
    """
    k = np.arange(1, n + 1)
    long = np.log(EARLIEST_DAY) / ((k + EARLIEST_DAY) * np.log(k + EARLIEST_DAY) ** 2)
    return np.asarray(0.5 * long + 0.5 * np.where(k <= EVEN_DAYS, 1 / EVEN_DAYS, 0.0))


@numba.njit(cache=True)
def _gap_after_change(now: float, last: float, k: int, t: int, shift: float, rho: float) -> float:
    """Day t's score less what a shift after day k makes of it, and less what it shares with the day before."""
    a, a_last = k / t, k / (t - 1)
    gap: float = now * np.sqrt(1 + shift * shift * a * (1 - a)) - shift * a
    if rho != 0:
        there = last
        if k < t - 1:
            there = last * np.sqrt(1 + shift * shift * a_last * (1 - a_last)) - shift * a_last
        gap -= rho * there
    return gap


@numba.njit(cache=True)
def _mix_over_changes(z: Floats, weight: Floats, shifts: Floats, rho: Floats, believed: Floats) -> Floats:
    """The sum over day, shift and correlation; a term that is e^FAINT below the sum (or 1) is dropped for good."""
    n, n_d, n_r = len(z), len(shifts), len(rho)
    out = np.empty(n)
    none = np.zeros(n_r)  # log likelihood ratios of no change, days correlated
    rest = 1 - rho**2
    half = -0.5 * np.log(rest)
    room = n * n_d * n_r
    log, day = np.empty(room), np.empty(room, np.int32)  # of a change after a day, the terms still held
    of_d, of_r = np.empty(room, np.int8), np.empty(room, np.int8)
    held, before = 0, 0.0
    for t in range(1, n + 1):
        now, last = z[t - 1], z[t - 2] if t > 1 else 0.0
        total = 0.0
        for r in range(n_r):
            if t > 1:
                none[r] += half[r] - 0.5 * (now - rho[r] * last) ** 2 / rest[r] + 0.5 * now * now
            total += (1 - before) * believed[r] * np.exp(min(none[r], 700.0))
        for at in range(held):
            k, r, shift = day[at], of_r[at], shifts[of_d[at]]
            spread = 1 + shift * shift * (k / t) * (1 - k / t)
            gap = _gap_after_change(now, last, k, t, shift, rho[r])
            log[at] += 0.5 * np.log(spread) + 0.5 * now * now + half[r] - 0.5 * gap * gap / rest[r]
            total += weight[k - 1] * believed[r] / n_d * np.exp(min(log[at], 700.0))
        floor = max(np.log(total), 0.0) - MAX_LOG_BELOW
        remaining = 0
        for at in range(held):
            if log[at] > floor:
                log[remaining], day[remaining], of_d[remaining], of_r[remaining] = log[at], day[at], of_d[at], of_r[at]
                remaining += 1
        held = remaining
        for r in range(n_r):
            for d in range(n_d if none[r] > floor else 0):
                log[held], day[held], of_d[held], of_r[held] = none[r], t, d, r
                held += 1
        out[t - 1] = total
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
        raise InputError(f"{counted(n, 'day has', 'days have')} no place for a change.", remedy="Give at least 3.")
    k = np.arange(1, n)
    total = np.cumsum(x)
    first, second = total[:-1] / k, (total[-1] - total[:-1]) / (n - k)
    squares = float(np.sum((x - x.mean()) ** 2))
    s = k * (n - k) / n
    gain = (
        s**2 * (second - first) ** 2 * SHIFT_SPREAD**2 / ((1 + SHIFT_SPREAD**2 * s) * squares) if squares > 0 else 0 * s
    )
    log = -0.5 * np.log1p(SHIFT_SPREAD**2 * s) - 0.5 * (n - 1) * np.log1p(-np.minimum(gain, 1 - 1e-12))
    p = np.exp(log - log.max())
    p /= p.sum()
    best = int(np.argmax(p))
    order = np.argsort(p)[::-1]
    kept = order[: int(np.searchsorted(np.cumsum(p[order]), level)) + 1]
    return ChangePoint(
        day=best, low=int(kept.min()), high=int(kept.max()), before=float(first[best]), after=float(second[best]),
        level=level,
    )  # fmt: skip


def drift_reach(rated: Floats, late: NDArray[np.bool_], *, limit: float) -> float:
    """How far the judges' drift on new answers may be from their mean drift on fixed ones, of which these are a sample.

    t s / sqrt(n): s the spread over n fixed answers (columns) of how far each one's rating moved from the days before
    to the late ones, t the quantile at 1 - 1 / (100 limit). The larger of two: by the late days given, and by those
    after the fixed answers' own change.
    """
    n = rated.shape[1]
    if n < 2 or len(rated) < 3 or late.all() or not late.any():
        return float("inf")
    own = np.arange(len(rated)) > change_point(rated.mean(axis=1)).day
    moved = [rated[days].mean(axis=0) - rated[~days].mean(axis=0) for days in (late, own)]
    return float(stdtrit(n - 1, 1 - 0.01 / limit) * max(m.std(ddof=1) for m in moved) / np.sqrt(n))
