"""What can be detected at all: Le Cam's bound with exact binomial sums, and the exact test that attains it."""

import dataclasses
import math

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from richter._special import bdtr, bdtrc, ndtri
from richter.floors._check import check_n, check_share
from richter.records import Result
from richter.stats import Floats

__all__ = ["LeCam", "detection_limit", "detection_power", "le_cam"]

_EXACT_UP_TO = 20_000


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class LeCam(Result):
    """Le Cam's lower bound on the risk of any estimate of calibration error from n labels.

    `bound` = `constant` x sqrt(error_rate / n), attained by a gap of `delta`.
    """

    bound: float
    constant: float
    delta: float
    n: int
    error_rate: float


def _overlap(n: int, error_rate: float, delta: float) -> float:
    """1 - TV between the counts of n labels at error rates e and e + delta: the best test's two errors, summed."""
    first: Floats = scipy.stats.binom.pmf(np.arange(n + 1), n, error_rate)
    second: Floats = scipy.stats.binom.pmf(np.arange(n + 1), n, error_rate + delta)
    return float(np.sum(np.minimum(first, second)))


def le_cam(n: int, error_rate: float) -> LeCam:
    """The largest (delta / 2) (1 - TV(P0^n, P1^n)) over delta (Theorem 1, Appendix H; table 8 has it at n = 1,000).

    P0 and P1 have error rates e and e + delta at one confidence 1 - e. The total variation is the exact binomial
    sum, that of the likelihood-ratio test; neither Pinsker nor the paper's delta^2 / (e (1 - e)), which is twice the
    divergence, enters. Beyond 20,000 labels the constant has settled and only sqrt(e / n) changes.
    """
    check_n(n=n)
    check_share(error_rate=error_rate)
    if n > _EXACT_UP_TO:
        near = le_cam(_EXACT_UP_TO, error_rate)
        shrink = math.sqrt(_EXACT_UP_TO / n)
        return dataclasses.replace(near, bound=near.bound * shrink, delta=near.delta * shrink, n=int(n))
    n = int(n)
    scale = math.sqrt(error_rate / n)
    widest = 1 - error_rate

    def risk(delta: float) -> float:
        return delta / 2 * _overlap(n, error_rate, delta)

    # The binomial overlap has kinks: look on a grid over the scale of the answer first, then polish.
    grid = np.minimum(scale * np.linspace(0.05, 6, 240), widest)
    best = int(np.argmax([risk(float(d)) for d in grid]))
    ends = float(grid[max(best - 1, 0)]), float(grid[min(best + 1, len(grid) - 1)])
    optimum = scipy.optimize.minimize_scalar(lambda d: -risk(float(d)), bounds=ends, method="bounded")
    delta = float(optimum.x) if -optimum.fun >= risk(float(grid[best])) else float(grid[best])
    bound = risk(delta)
    return LeCam(bound=bound, constant=bound / scale, delta=delta, n=n, error_rate=error_rate)


def detection_power(
    n: ArrayLike, error_rate: float, delta: float, *, alpha: float = 0.05, two_sided: bool = False
) -> Floats:
    """Power of the exact one-sided binomial test of error rate <= e when it is e + delta, for each n.

    `two_sided`: of the test of error rate e by the distance of the errors from n e, which is what `miscalibration`
    comes to where all confidences are 1 - e.
    """
    check_share(zero=True, error_rate=error_rate)
    trials, binom = np.asarray(n), scipy.stats.binom
    if two_sided:
        return _by_distance(trials, error_rate, min(error_rate + delta, 1.0), alpha)
    beyond = binom.isf(alpha, trials, error_rate)  # the largest count that does not reject: P(X > count) <= alpha
    power: Floats = np.asarray(binom.sf(beyond, trials, min(error_rate + delta, 1.0)))
    return power


def _by_distance(trials: NDArray[np.int64], null: float, true: float, alpha: float) -> Floats:
    """P(|X - n e| >= d) at the true rate, d being the smallest distance that has at most `alpha` at the null's e.

    Looked for among counts near the normal limit on either side; a skewed law is off by a few.
    """
    n = trials[..., None].astype(np.int64)
    centre, near = n * null, np.arange(-8, 9)
    reach = float(ndtri(1 - alpha / 2)) * np.sqrt(n * null * (1 - null))
    counts = np.concatenate([np.floor(centre + reach) + near, np.ceil(centre - reach) + near], axis=-1)
    distance = np.sort(np.abs(np.clip(counts, 0, n + 1) - centre), axis=-1) - 1e-9

    def beyond(rate: float) -> Floats:
        upper, lower = bdtrc(np.ceil(centre + distance) - 1, n, rate), bdtr(np.floor(centre - distance), n, rate)
        upper = np.where(centre + distance > n, 0.0, upper)
        outside: Floats = upper + np.where(centre - distance < 0, 0.0, lower)
        return outside

    first = np.argmax(beyond(null) <= alpha * (1 + 1e-9), axis=-1)[..., None]  # the farthest, n + 1, never comes
    power: Floats = np.take_along_axis(beyond(true), first, axis=-1)[..., 0]
    return power


def detection_limit(n: int, error_rate: float, *, alpha: float = 0.05, power: float = 0.8) -> float | None:
    """The smallest excess error delta over a stated error rate e that n labels detect with `power` at level `alpha`.

    Exact binomial, one-sided: the best that any method does where the gap is constant and its place is known, so a
    bound from below for every other kind of miscalibration. None where n labels detect no excess at all.
    """
    check_n(n=n)
    check_share(alpha=alpha, power=power)
    widest = 1 - error_rate
    if detection_power(n, error_rate, widest, alpha=alpha) < power:
        return None
    return float(
        scipy.optimize.brentq(
            lambda d: float(detection_power(n, error_rate, d, alpha=alpha)) - power, 0.0, widest, xtol=1e-10
        )
    )
