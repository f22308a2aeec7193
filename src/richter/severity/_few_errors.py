"""Mean severity of few errors: a permutation test, inverted; and the contrast on items that both get wrong."""

import dataclasses
import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from richter._special import stdtrit
from richter.claims import Evidence
from richter.records import Interval, counted
from richter.severity._detectable import Detectable
from richter.stats import Bools, Floats

MOST_ERRORS = 50  # of a condition, below which errors are permuted
MOST_RATE_GAP = 0.05  # a difference of error rates beyond which errors of different questions are compared
MIN_SHARED_ERRORS = 5
N_PERMUTATIONS = 10_000
_GRID = 33  # differences tried on a side, since p may rise again farther out
_MOST_TIES = 100  # with more, severities are of no few levels, and p hardly jumps
_STEPS = 12  # bisections of a limit: to 1/130,000 of the range


@dataclasses.dataclass(frozen=True, slots=True)
class _Permutations:
    """Swaps of items that both get wrong, and labels of single errors, with as many of each condition as there are."""

    swapped: Bools
    is_first: Bools


@dataclasses.dataclass(frozen=True, slots=True)
class _ErrorTest:
    """The permutation test of a difference: p-values and the limits that they leave. It travels without its draws."""

    pair_a: Floats
    pair_b: Floats
    alone_a: Floats
    alone_b: Floats
    seed: int
    estimate: float
    reach: float
    known: dict[float, float] = dataclasses.field(default_factory=dict)  # p-values by the difference tested

    def p(self, value: float) -> float:
        """The share of permutations whose statistic is as large, the second's errors lowered by `value`."""
        if value not in self.known:
            errors = (self.pair_a, self.pair_b, self.alone_a, self.alone_b)
            size = _curves(self.seed, *(x.tobytes() for x in errors)).sizes(value)
            self.known[value] = float(np.mean(size >= size[0] - 1e-9))
        return self.known[value]

    def interval(self, level: float) -> Interval:
        """From the least to the greatest difference that is not rejected at 1 - level."""
        low, high = (_limit(self.p, self.estimate, self._tried(side * self.reach), 1 - level) for side in (-1, 1))
        return Interval(low=low, high=high, level=level, method="permutation of errors")

    def _tried(self, end: float) -> Floats:
        """Differences from the estimate to an end: even steps, none, and those at which errors tie, where p jumps."""
        a, b = np.unique(np.r_[self.pair_a, self.alone_a]), np.unique(np.r_[self.pair_b, self.alone_b])
        ties = np.unique(b[:, None] - a)
        every = np.r_[np.linspace(self.estimate, end, _GRID)[1:], 0.0, ties if len(ties) <= _MOST_TIES else ()]
        far = np.abs(every - self.estimate)
        beyond = (np.sign(every - self.estimate) == np.sign(end - self.estimate)) & (far <= abs(end - self.estimate))
        return np.asarray(every[beyond][np.argsort(far[beyond], kind="stable")], dtype=np.float64)


def permuted_evidence(first: Floats, second: Floats, found: Evidence, *, reach: float) -> Evidence:
    """The evidence with limits by permutation: the second's mean severity given an error minus the first's.

    Where both err, the two severities of an item are swapped by chance; single errors change conditions, as many as
    there are of each staying with it, so that error rates are not permuted. The statistic is the difference over its
    standard error with the common mean, as in `severity_given_error`; a difference D is tested after the second's
    errors are lowered by D, and the interval reaches to the farthest D on either side that are not rejected. Exact
    where errors of both are of one law given how many there are. The permutations have a seed of their own, and do not
    depend on the order of items; half of them are drawn for the pair turned round, so that turning it turns the limits.
    The evidence stays as it is where all errors of a condition are of one severity, which says nothing of how they
    vary.
    """
    wrong_a, wrong_b = first > 0, second > 0
    if min(np.ptp(first[wrong_a]), np.ptp(second[wrong_b])) == 0:
        return found
    both = wrong_a & wrong_b
    test = _ErrorTest(
        first[both], second[both], first[wrong_a & ~both], second[wrong_b & ~both], len(first), found.estimate, reach
    )
    assert isinstance(found.detectable, Detectable)

    def half(level: float, times: float, growth: float) -> tuple[float, float]:
        interval, wider = test.interval(level), growth / math.sqrt(times)
        return wider * (found.estimate - interval.low), wider * (interval.high - found.estimate)

    detectable = dataclasses.replace(found.detectable, half=half)
    return dataclasses.replace(found, interval=test.interval, p=test.p, detectable=detectable)


@lru_cache(maxsize=4)
def _draw_permutations(seed: int, pairs: int, alone_a: int, alone_b: int) -> tuple[_Permutations, _Permutations]:
    """Half of the permutations as drawn for the pair, after the table as it is; half as drawn for it turned round."""
    rng = np.random.default_rng(seed)
    half, singles = N_PERMUTATIONS // 2, alone_a + alone_b
    swapped = rng.random((half, pairs)) < 0.5
    rank = np.argsort(np.argsort(rng.random((half, singles)), axis=1), axis=1)
    turned = np.roll(rank, alone_a, axis=1)  # the second's ranks come first
    as_it_is = np.zeros((1, pairs), dtype=np.bool_), np.arange(singles)[None] < alone_a
    ahead = _Permutations(np.r_[as_it_is[0], swapped], np.r_[as_it_is[1], rank < alone_a])
    return ahead, _Permutations(swapped, turned >= alone_b)


@dataclasses.dataclass(frozen=True, slots=True)
class _Curves:
    """Of every permutation the difference, linear in the value tested, and its variance, quadratic in it."""

    gap: tuple[Floats, Floats]
    variance: tuple[Floats, Floats, Floats]

    def sizes(self, value: float) -> Floats:
        """The absolute studentised difference of every permutation."""
        gap = np.abs(self.gap[0] + value * self.gap[1])
        variance = self.variance[0] + value * (self.variance[1] + value * self.variance[2])
        variance[variance < 1e-12 * np.max(variance)] = 0.0  # what rounding leaves of none
        with np.errstate(divide="ignore", invalid="ignore"):
            size = gap / np.sqrt(variance)
        return np.asarray(np.where(gap < 1e-12, 0.0, size))


@lru_cache(maxsize=4)
def _curves(seed: int, *errors: bytes) -> _Curves:
    """The curves through three values; the errors are those of pairs and single ones, of the first and the second."""
    pair_a, pair_b, alone_a, alone_b = (np.frombuffer(x, dtype=np.float64) for x in errors)
    drawn = _draw_permutations(seed, len(pair_a), len(alone_a), len(alone_b))
    orders = np.lexsort((pair_b, pair_a)), np.lexsort((pair_a, pair_b))
    found = []
    for value in (-1.0, 0.0, 1.0):
        alone = np.r_[np.sort(alone_a), np.sort(alone_b) - value]
        parts = [
            _gap_and_variance(pair_a[order], pair_b[order] - value, alone, draws)
            for order, draws in zip(orders, drawn, strict=True)
        ]
        found.append([np.concatenate(part) for part in zip(*parts, strict=True)])
    (low_gap, low), (gap, middle), (high_gap, high) = found
    return _Curves((gap, (high_gap - low_gap) / 2), (middle, (high - low) / 2, (high + low) / 2 - middle))


def _gap_and_variance(pair_a: Floats, pair_b: Floats, alone: Floats, drawn: _Permutations) -> tuple[Floats, Floats]:
    """The difference of the two means in every permutation, and its variance."""
    a, b = (np.where(drawn.swapped, x, y) for x, y in ((pair_b, pair_a), (pair_a, pair_b)))
    n_a = a.shape[1] + int(drawn.is_first[0].sum())
    n_b = b.shape[1] + alone.size - int(drawn.is_first[0].sum())
    total = float(pair_a.sum() + pair_b.sum() + alone.sum())
    sum_a = a.sum(axis=1) + drawn.is_first @ alone
    gap = (total - sum_a) / n_b - sum_a / n_a
    mean = total / (n_a + n_b)
    square = (alone - mean) ** 2
    variance = np.sum(((b - mean) / n_b - (a - mean) / n_a) ** 2, axis=1)
    return gap, variance + drawn.is_first @ square / n_a**2 + (~drawn.is_first) @ square / n_b**2


def _limit(p: Callable[[float], float], estimate: float, tried: Floats, alpha: float) -> float:
    """The farthest difference on one side that is not rejected at alpha, found from those tried, the nearest first."""
    last = len(tried) - 1
    while last >= 0 and p(float(tried[last])) <= alpha:
        last -= 1
    inside = estimate if last < 0 else float(tried[last])
    if last == len(tried) - 1:
        return inside
    outside = float(tried[last + 1])
    for _ in range(_STEPS):
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if p(middle) > alpha else (inside, middle)
    return inside


def with_shared_contrast(first: Floats, second: Floats, found: Evidence) -> Evidence:
    """The evidence; where error rates differ by over 5 points with what it is about and the contrast on shared errors.

    Where severity follows difficulty, unequal error rates alone make errors differ.
    """
    rated_a, rated_b = ~np.isnan(first), ~np.isnan(second)
    gap = float(np.mean(second[rated_b] > 0) - np.mean(first[rated_a] > 0))
    if abs(gap) <= MOST_RATE_GAP:
        return found
    rates = f"error rates differ by {100 * abs(gap):.1f} points"
    about = f"{rates}, so each mean is of other questions"
    both = (first > 0) & (second > 0)
    moved = second[both] - first[both]
    if len(moved) < MIN_SHARED_ERRORS:
        return dataclasses.replace(found, notes=(*found.notes, f"{about}; {len(moved)} questions are wrong for both"))
    error = float(moved.std(ddof=1)) / math.sqrt(len(moved))
    mean, earlier = float(moved.mean()), found.describe_at

    def describe_at(level: float) -> str:
        span = float(stdtrit(len(moved) - 1, 0.5 + level / 2)) * error
        shared = (
            f"{about}; on {counted(len(moved), 'question')} that both get wrong the difference is {_with_sign(mean)} "
            f"({100 * level:.4g}% CI {_with_sign(mean - span)} to {_with_sign(mean + span)})"
        )
        return shared if earlier is None else f"{earlier(level)}; {shared}"

    return dataclasses.replace(found, describe_at=describe_at)


def _with_sign(value: float) -> str:
    """A difference of severities with its sign; none where it is 0 as printed."""
    return f"{value:+.2f}" if abs(value) >= 0.005 else "0.00"
