"""Mean severity of few errors: a permutation test, inverted; and the contrast on items that both get wrong."""

import dataclasses
import math
from collections.abc import Callable
from functools import cache

import numpy as np
from scipy.special import stdtrit

from richter.claims import Evidence
from richter.records import Interval, counted
from richter.stats import Bools, Floats

MOST_ERRORS = 50  # of a condition, below which errors are permuted
MOST_RATE_GAP = 0.05  # a difference of error rates beyond which errors of different questions are compared
MIN_SHARED_ERRORS = 5
N_PERMUTATIONS = 9999
_STEPS = 16  # bisections of a limit: to 1/65,000 of the range


@dataclasses.dataclass(frozen=True, slots=True)
class _Permutations:
    """Swaps of items that both get wrong, and labels of single errors, with as many of each condition as there are."""

    swapped: Bools
    is_first: Bools


def permuted_evidence(first: Floats, second: Floats, found: Evidence, *, reach: float) -> Evidence:
    """The evidence with limits by permutation: the second's mean severity given an error minus the first's.

    Where both err, the two severities of an item are swapped by chance; single errors change conditions, as many as
    there are of each staying with it, so that error rates are not permuted. The statistic is the difference over its
    standard error with the common mean, as in `severity_given_error`; a difference D is tested after the second's
    errors are lowered by D, and the interval holds all D that are not rejected. Exact where errors of both are of one
    law given how many there are. The permutations have a seed of their own.
    """
    wrong_a, wrong_b = first > 0, second > 0
    both = wrong_a & wrong_b
    alone_a, alone_b = first[wrong_a & ~both], second[wrong_b & ~both]
    pair_a, pair_b = first[both], second[both]
    rng = np.random.default_rng(len(first))
    singles = len(alone_a) + len(alone_b)
    keys = rng.random((N_PERMUTATIONS + 1, singles))
    is_first = np.argsort(np.argsort(keys, axis=1), axis=1) < len(alone_a)
    swapped = rng.random((N_PERMUTATIONS + 1, len(pair_a))) < 0.5
    is_first[0], swapped[0] = np.arange(singles) < len(alone_a), False  # the table as it is
    drawn = _Permutations(swapped, is_first)

    @cache
    def p(value: float) -> float:
        size = np.abs(_statistics(pair_a, pair_b - value, np.r_[alone_a, alone_b - value], drawn))
        return float(np.mean(size >= size[0] - 1e-9))

    @cache
    def interval(level: float) -> Interval:
        low, high = (_limit(p, found.estimate, side * reach, 1 - level) for side in (-1, 1))
        return Interval(low=low, high=high, level=level, method="permutation of errors")

    return dataclasses.replace(found, interval=interval, p=p)


def _statistics(pair_a: Floats, pair_b: Floats, alone: Floats, drawn: _Permutations) -> Floats:
    """The studentised difference of every permutation."""
    a, b = (np.where(drawn.swapped, x, y) for x, y in ((pair_b, pair_a), (pair_a, pair_b)))
    n_a = a.shape[1] + int(drawn.is_first[0].sum())
    n_b = b.shape[1] + alone.size - int(drawn.is_first[0].sum())
    total = float(pair_a.sum() + pair_b.sum() + alone.sum())
    sum_a = a.sum(axis=1) + drawn.is_first @ alone
    gap = (total - sum_a) / n_b - sum_a / n_a
    mean = total / (n_a + n_b)
    square = (alone - mean) ** 2
    variance = np.sum(((b - mean) / n_b - (a - mean) / n_a) ** 2, axis=1)
    variance = variance + drawn.is_first @ square / n_a**2 + (~drawn.is_first) @ square / n_b**2
    with np.errstate(divide="ignore", invalid="ignore"):
        size = gap / np.sqrt(variance)
    return np.asarray(np.where(np.abs(gap) < 1e-12, 0.0, size))


def _limit(p: Callable[[float], float], estimate: float, reach: float, alpha: float) -> float:
    """The farthest difference on one side that is not rejected at alpha; an end of the range where none is."""
    inside, outside = estimate, reach
    if p(outside) > alpha:
        return outside
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
    about = f"{rates}: this is about the errors each makes, not the same questions"
    both = (first > 0) & (second > 0)
    moved = second[both] - first[both]
    if len(moved) < MIN_SHARED_ERRORS:
        return dataclasses.replace(found, notes=(*found.notes, f"{about}; {len(moved)} questions are wrong for both"))
    error = float(moved.std(ddof=1)) / math.sqrt(len(moved))
    mean, earlier = float(moved.mean()), found.describe_at

    def describe_at(level: float) -> str:
        span = float(stdtrit(len(moved) - 1, 0.5 + level / 2)) * error
        shared = (
            f"{about}; on {counted(len(moved), 'question')} that both get wrong it is {mean:+.2f} "
            f"({100 * level:.4g}% CI {mean - span:+.2f} to {mean + span:+.2f})"
        )
        return shared if earlier is None else f"{earlier(level)}; {shared}"

    return dataclasses.replace(found, describe_at=describe_at)
