"""Evidence of a change over a series of entries that may be looked at after every one, and when the change was."""

import dataclasses
import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from richter._special import ndtr, stdtrit
from richter.errors import InputError
from richter.floors._check import check_level
from richter.records import counted

__all__ = ["ChangeEvidence", "ChangePoint", "change_evidence", "change_point", "limit_outliers"]

Floats = NDArray[np.float64]

# What entries may vary by without a change, beside sampling: its spread in parts of the measure's span, what each
# spread weighs, and how much of it is left a day later. Chosen by simulation (docs/reference/watch.md).
VARIATION = 0.0025 * 2.0 ** np.arange(8)
VARIATION_WEIGHTS = np.array([1.0, 1.0, 1.0, 0.8, 0.3, 0.1, 0.03, 0.01])
LEFT_AFTER_A_DAY = np.array([0.0, 0.5, 0.8, 0.92, 0.97])
LEFT_WEIGHTS = np.array([0.25, 0.2, 0.2, 0.2, 0.15])
NO_VARIATION = 0.6  # the weight of sampling noise alone
SHIFT_SPREAD = 0.16  # the spread of shifts that evidence is gathered for, in parts of the span
LOSS_SHARE = 0.9  # of the weight of changes goes to losses, where one direction is a loss
EARLIEST_ENTRY = 3  # weights of when a change begins fall off from about this entry on ..
EVEN_SHARE, EVEN_ENTRIES = 0.1, 1000  # .. but for a share that goes evenly to as many entries
DRIFT_DAYS = 20.0  # a change is a step, or a steady drift over as many days ..
DRIFT_WEIGHT = 0.25  # .. of this weight, ..
DRIFT_EVEN_SHARE, DRIFT_EVEN_ENTRIES = 0.7, 200  # .. which begins more evenly at any time
DEPLOYED_WEIGHT = 0.3  # what changes at recorded deployments weigh, where there are any
OUTLIER_TAIL = 0.0005  # an entry beyond this tail of the earlier ones counts as lying there
MIN_BEFORE_OUTLIER = 5


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ChangeEvidence:
    """After each entry, how many times likelier a change is than none; what varies without one, and what would show.

    `slow_variation` is the posterior mean of the spread, in units of the values, of variation that lasts for days.
    `detectable` is the shift that would be shown within the next entries (`ahead`) in 80% of series.
    """

    evidence: Floats
    slow_variation: float
    detectable: float
    ahead: int


@dataclasses.dataclass(slots=True)
class _Filter:
    """Kalman filters, one for each law of variation, and for each a possible change after every entry so far.

    `mean` are the predictions of the values and of a constant, `moved` those of a change, by shape (a step, a drift),
    law and entry; sums are of products of innovations over their variance: `ones` and `cross` of the constant, `total`
    of the values, and by change. `day` is when each entry was.
    """

    spread: Floats
    left: Floats
    log_weight: Floats
    variance: Floats
    mean: Floats
    constant: Floats
    ones: Floats
    cross: Floats
    total: Floats
    log_variance: Floats
    day: Floats
    moved: Floats
    moved_ones: Floats
    moved_cross: Floats
    moved_total: Floats

    def copy(self) -> "_Filter":
        return dataclasses.replace(self, **{f.name: getattr(self, f.name).copy() for f in dataclasses.fields(self)})


def change_evidence(
    values: ArrayLike,
    noise: ArrayLike,
    *,
    span: float = 1.0,
    days: ArrayLike | None = None,
    deployed: Sequence[int] = (),
    independent: bool = False,
    limit: float = 20.0,
    ahead: int = 7,
    loss: Literal["rise", "fall"] | None = None,
) -> ChangeEvidence:
    """How many times likelier a change of the mean is than none, after each entry of a series.

    An entry's value is a mean, plus what varies from entry to entry without a change, plus sampling error of variance
    `noise`. What varies is a stationary AR(1) in days (`days`: when entries were; none: a day apart). E_t is the
    marginal likelihood with a change N(0, s^2) after some entry, at once or steadily over 20 days, over that without
    one; both are averaged over the laws of variation by their weights (0.25% to 32% of the `span`, left after a day 0
    to 0.97, or none), so that what the entries do not tell of the variation is paid for. The mean has a flat prior. For
    values drawn by these laws with their weights E is a martingale of mean 1, and the chance that it ever reaches
    1 / alpha is at most alpha (Ville); for each law by itself this is measured, not proved. Entries are clipped first
    (`limit_outliers`).

    `loss` says which direction is a loss: nine tenths of the weight of changes go to it, so that losses are shown
    sooner and gains later (none: either direction has half).

    `deployed` are the entries that are known to be the first of another model or prompt: a change there weighs more,
    whatever the values. `independent`: variation that lasts for days is excluded. `detectable` is for a shift over the
    next `ahead` entries at E = `limit`.
    """
    y, v = np.asarray(values, dtype=np.float64), np.asarray(noise, dtype=np.float64)
    if y.ndim != 1 or v.shape != y.shape or not np.isfinite(y).all() or not (v > 0).all():
        raise InputError("A series needs one number and its variance an entry.", remedy="Leave out days without one.")
    at = np.arange(len(y), dtype=np.float64) if days is None else np.asarray(days, dtype=np.float64)
    elapsed = np.maximum(np.diff(at, prepend=at[:1] - 1.0), 0.25)
    y = limit_outliers(y, v)
    weight = _change_weights(len(y) + ahead, deployed)
    rising = {"rise": LOSS_SHARE, "fall": 1 - LOSS_SHARE, None: 0.5}[loss]
    filters = _start(span, independent=independent)
    found = np.empty(len(y))
    for t in range(len(y)):
        _advance(filters, float(y[t] - y[0]), float(v[t]), float(elapsed[t]), t)
        found[t] = math.exp(min(_log_evidence(filters, weight, t + 1, span, rising), 700.0))
    step = float(np.median(elapsed[1:])) if len(y) > 1 else 1.0
    chance = _posterior(filters)
    slow = float(np.sum(np.where(filters.left > 0, filters.spread, 0.0) * chance))
    reach = _detectable(filters, weight, len(y), float(v[-1]), step, rising, span=span, limit=limit, ahead=ahead)
    return ChangeEvidence(evidence=found, slow_variation=slow, detectable=reach, ahead=ahead)


def limit_outliers(values: ArrayLike, noise: ArrayLike) -> Floats:
    """The values, each at most so far from the median of those before it as chance allows in one of 1,000.

    The distance is Student's quantile times the median absolute deviation (1.4826 of it, at least the sampling error):
    one odd day is not a change, days that stay apart are. Without it rare events and heavy tails raise false alarms in
    30 to 40% of series; with it in under 3%.
    """
    y, v = np.array(values, dtype=np.float64), np.asarray(noise, dtype=np.float64)
    for t in range(MIN_BEFORE_OUTLIER, len(y)):
        middle = float(np.median(y[:t]))
        spread = max(1.4826 * float(np.median(np.abs(y[:t] - middle))), math.sqrt(float(v[t])))
        reach = float(stdtrit(t - 1, 1 - OUTLIER_TAIL)) * spread
        y[t] = min(max(float(y[t]), middle - reach), middle + reach)
    return y


def _entry_weights(n: int, share: float, entries: int) -> Floats:
    """Of a change after entry 1, 2, .. n: a share evenly over so many, else ln(F) / (m ln(m)^2), m = k + F.

    F is EARLIEST_ENTRY; the second part's sum is below the integral from F on, which is 1.
    """
    k = np.arange(1, n + 1)
    falling = math.log(EARLIEST_ENTRY) / ((k + EARLIEST_ENTRY) * np.log(k + EARLIEST_ENTRY) ** 2)
    return np.asarray((1 - share) * falling + share * np.where(k <= entries, 1 / entries, 0.0))


def _change_weights(n: int, deployed: Sequence[int] = ()) -> Floats:
    """Of a step and of a drift (rows) after entry 1, 2, .. n.

    The j-th deployment has 1 / (j (j + 1)) of DEPLOYED_WEIGHT for a step there, so that the weights of all that may
    come sum to 1 at most.
    """
    step = (1 - DRIFT_WEIGHT) * _entry_weights(n, EVEN_SHARE, EVEN_ENTRIES)
    drift = DRIFT_WEIGHT * _entry_weights(n, DRIFT_EVEN_SHARE, DRIFT_EVEN_ENTRIES)
    weight = np.stack([step, drift])
    known = sorted(d for d in deployed if 0 < d < n)
    if known:
        weight *= 1 - DEPLOYED_WEIGHT
        for j, d in enumerate(known, 1):
            weight[0, d - 1] += DEPLOYED_WEIGHT / (j * (j + 1))
    return weight


def _start(span: float, *, independent: bool) -> _Filter:
    """Filters before the first entry."""
    left, belief = (LEFT_AFTER_A_DAY[:1], np.ones(1)) if independent else (LEFT_AFTER_A_DAY, LEFT_WEIGHTS)
    share = VARIATION_WEIGHTS / VARIATION_WEIGHTS.sum() * (1 - NO_VARIATION)
    spread = np.r_[0.0, np.repeat(VARIATION * span, len(left))]
    weight = np.r_[NO_VARIATION, np.outer(share, belief).ravel()]
    laws = len(spread)
    empty = np.zeros((2, laws, 0))
    return _Filter(
        spread=spread, left=np.r_[0.0, np.tile(left, len(VARIATION))], log_weight=np.log(weight),
        variance=spread**2, mean=np.zeros(laws), constant=np.zeros(laws), ones=np.zeros(laws), cross=np.zeros(laws),
        total=np.zeros(laws), log_variance=np.zeros(laws), day=np.zeros(0), moved=empty, moved_ones=empty,
        moved_cross=empty, moved_total=empty,
    )  # fmt: skip


def _advance(f: _Filter, value: float, noise: float, elapsed: float, t: int) -> None:
    """Take in an entry, `elapsed` days after the one before it."""
    now = float(f.day[-1]) + elapsed if t else 0.0
    if t:
        left = f.left**elapsed
        f.mean, f.constant, f.moved = left * f.mean, left * f.constant, left[:, None] * f.moved
        f.variance = left**2 * f.variance + f.spread**2 * (1 - left**2)
    expected = f.variance + noise
    gain = f.variance / expected
    gap, one = value - f.mean, 1 - f.constant
    f.ones, f.cross, f.total = f.ones + one**2 / expected, f.cross + one * gap / expected, f.total + gap**2 / expected
    f.log_variance = f.log_variance + np.log(expected)
    shape = np.stack([np.ones(len(f.day)), np.minimum((now - f.day) / DRIFT_DAYS, 1.0)])
    off = shape[:, None, :] - f.moved
    next_one = np.zeros((2, len(gain), 1))  # the next change begins after this entry
    f.moved_ones = np.append(f.moved_ones + off * (one / expected)[:, None], next_one, axis=2)
    f.moved_cross = np.append(f.moved_cross + off * (gap / expected)[:, None], next_one, axis=2)
    f.moved_total = np.append(f.moved_total + off**2 / expected[:, None], next_one, axis=2)
    f.moved = np.append(f.moved + gain[:, None] * off, next_one, axis=2)
    f.day = np.append(f.day, now)
    f.mean, f.constant = f.mean + gain * gap, f.constant + gain * one
    f.variance = f.variance * (1 - gain)


def _log_likelihood(f: _Filter) -> Floats:
    """Of each law, with its weight, the log likelihood of no change; the mean is integrated out."""
    likelihood = -0.5 * (f.log_variance + np.log(f.ones) + f.total - f.cross**2 / f.ones)
    return np.asarray(f.log_weight + likelihood)


def _posterior(f: _Filter) -> Floats:
    """The probability of each law, had nothing changed."""
    likelihood = _log_likelihood(f)
    chance = np.exp(likelihood - likelihood.max())
    return np.asarray(chance / chance.sum())


def _log_evidence(f: _Filter, weight: Floats, entries: int, span: float, rising: float) -> float:
    """The log of the likelihood with a change over that without one; `rising` is the weight of rises among changes."""
    before = entries - 1  # a change after the last entry has not shown yet
    weighed = weight[:, :before]
    ones, ratio = f.ones[:, None], (f.cross / f.ones)[:, None]
    information = f.moved_total[..., :before] - f.moved_ones[..., :before] ** 2 / ones
    score = f.moved_cross[..., :before] - f.moved_ones[..., :before] * ratio
    prior = ((SHIFT_SPREAD * span) ** 2 + f.spread**2)[:, None]
    spread = 1 + prior * information
    rise = ndtr(score * np.sqrt(prior / spread))  # the probability that the change is a rise, were both as likely
    direction = np.log(2 * (rising * rise + (1 - rising) * (1 - rise)))
    log = 0.5 * score**2 * prior / spread - 0.5 * np.log(spread) + direction
    top = log.max(axis=(0, 2), initial=0.0)
    mixed = np.einsum("slk,sk->l", np.exp(log - top[:, None]), weighed)
    mixed += (1 - float(weighed.sum())) * np.exp(-top)
    none = _log_likelihood(f)
    changed = none + np.log(mixed) + top
    return float(_log_sum(changed) - _log_sum(none))


def _log_sum(values: Floats) -> float:
    top = float(values.max())
    return top + math.log(float(np.sum(np.exp(values - top))))


def _detectable(
    f: _Filter, weight: Floats, entries: int, noise: float, elapsed: float, rising: float,
    *, span: float, limit: float, ahead: int,
) -> float:  # fmt: skip
    """The shift (a loss, where known) over the next entries at which evidence reaches the limit in 80% of series.

    The shift at which the expected values reach it, plus 0.84 standard deviations of the window's mean.
    """
    chance = _posterior(f)
    middle, sign = float(np.sum(chance * f.cross / f.ones)), 1.0 if rising >= 0.5 else -1.0

    def reaches(shift: float) -> bool:
        after = f.copy()
        for k in range(ahead):
            _advance(after, middle + sign * shift, noise, elapsed, entries + k)
        return _log_evidence(after, weight, entries + ahead, span, rising) >= math.log(limit)

    shift = next((size for size in span * np.geomspace(0.002, 1.0, 64) if reaches(float(size))), math.inf)
    spread = float(np.sum(chance * (noise / ahead + 1 / f.ones + f.spread**2)))
    return float(shift) + 0.84 * math.sqrt(spread)


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
    of N(0, 1) standard deviations, p(k) is proportional to (1 + s)^(-1/2) (1 - c^2 / ((1 + s) SS))^(-(t - 1)/2),
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
    gain = s**2 * (second - first) ** 2 / ((1 + s) * squares) if squares > 0 else 0 * s
    log = -0.5 * np.log1p(s) - 0.5 * (n - 1) * np.log1p(-np.minimum(gain, 1 - 1e-12))
    p = np.exp(log - log.max())
    p /= p.sum()
    best = int(np.argmax(p))
    order = np.argsort(p)[::-1]
    inside = order[: int(np.searchsorted(np.cumsum(p[order]), level)) + 1]
    return ChangePoint(
        day=best, low=int(inside.min()), high=int(inside.max()), before=float(first[best]), after=float(second[best]),
        level=level,
    )  # fmt: skip
