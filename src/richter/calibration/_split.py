"""Sem2's held-out confidence: exactly over all splits of a pool, or over R random ones as in the paper."""

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from richter.calibration._pool import AnswerPool
from richter.errors import InputError
from richter.stats import Floats, Ints

__all__ = ["HeldOut", "held_out_confidence"]


class HeldOut(NamedTuple):
    """Each question's held-out confidence, and the mean grade of the classes that were selected."""

    confidence: Floats
    correct: Floats


MAX_EXACT_DRAWS = 1000  # above, binomial coefficients leave the range of a double


@numba.njit(cache=True)
def _pascal(size: int) -> Floats:
    table = np.zeros((size + 1, size + 1))
    for i in range(size + 1):
        table[i, 0] = 1.0
        for j in range(1, i + 1):
            table[i, j] = table[i - 1, j - 1] + table[i - 1, j]
    return table


@numba.njit(cache=True)
def _split_average(counts: NDArray[np.int32], select: int, binomial: Floats) -> Floats:
    """Per class P(chosen) and the mean held-out share of the chosen class, over all selections of `select` draws.

    Given that class k supplies t of the selected draws and wins, every other class supplies at most t. Classes
    smaller than t are unrestricted and merge into one; the others are counted by dynamic programming over (draws
    used, classes tied at t); a tie of s + 1 classes is shared equally.
    """
    size = len(counts)
    total = 0
    for k in range(size):
        total += counts[k]
    rest = total - select
    chosen = np.zeros(size + 1)  # the last cell holds the confidence
    ways = np.zeros((select + 1, select + 1))
    for k in range(size):
        if counts[k] == 0:
            continue
        twin = -1
        for j in range(k):
            if counts[j] == counts[k]:
                twin = j
                break
        if twin >= 0:  # equal counts, equal chances: counted again below
            chosen[k] = chosen[twin]
            continue
        copies = 0
        for j in range(k, size):
            if counts[j] == counts[k]:
                copies += 1
        probability = 0.0
        confidence = 0.0
        for t in range(1, min(counts[k], select) + 1):
            need = select - t
            small = 0
            reach = 0
            for j in range(size):
                if j != k:
                    if counts[j] < t:
                        small += counts[j]
                    reach += min(counts[j], t)
            if reach < need:
                continue
            most = need // t
            ways[: need + 1, : most + 1] = 0.0
            ways[0, 0] = 1.0
            for j in range(size):
                if j == k or counts[j] < t:
                    continue
                for u in range(need, -1, -1):
                    for s in range(most, -1, -1):
                        value = 0.0
                        for i in range(min(t - 1, u) + 1):
                            value += ways[u - i, s] * binomial[counts[j], i]
                        if u >= t and s >= 1:
                            value += ways[u - t, s - 1] * binomial[counts[j], t]
                        ways[u, s] = value
            found = 0.0
            for u in range(max(0, need - small), need + 1):
                for s in range(most + 1):
                    found += ways[u, s] * binomial[small, need - u] / (1 + s)
            weight = binomial[counts[k], t] * found
            probability += weight
            confidence += weight * (counts[k] - t) / rest
        chosen[k] = probability / binomial[total, select]
        chosen[size] += copies * confidence / binomial[total, select]
    return chosen


@numba.njit(cache=True)
def _all_splits(counts: NDArray[np.int32], select: Ints, grades: Floats, binomial: Floats) -> tuple[Floats, Floats]:
    confidence = np.empty(len(counts))
    correct = np.empty(len(counts))
    for i in range(len(counts)):
        average = _split_average(counts[i], select[i], binomial)
        confidence[i] = average[-1]
        share = 0.0
        for k in range(counts.shape[1]):
            if average[k] > 0:
                share += average[k] * grades[i, k]
        correct[i] = share
    return confidence, correct


@numba.njit(cache=True)
def _random_splits(
    labels: NDArray[np.int32], select: Ints, grades: Floats, repeats: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Over `repeats` random selections per question; ties go to the class drawn first within the block."""
    rows, width = labels.shape
    confidence = np.empty(rows)
    correct = np.empty(rows)
    inside = np.empty(width, dtype=np.bool_)
    tally = np.empty(width, dtype=np.int64)
    for i in range(rows):
        total = 0
        while total < width and labels[i, total] >= 0:
            total += 1
        held = 0
        right = 0.0
        for _ in range(repeats):
            left = select[i]
            tally[:] = 0
            best = 0
            for j in range(total):  # selection sampling keeps the order of the draws
                inside[j] = rng.random() * (total - j) < left
                if inside[j]:
                    left -= 1
                    tally[labels[i, j]] += 1
                    best = max(best, tally[labels[i, j]])
            winner = 0
            for j in range(total):
                if inside[j] and tally[labels[i, j]] == best:
                    winner = labels[i, j]
                    break
            right += grades[i, winner]
            for j in range(total):
                if not inside[j] and labels[i, j] == winner:
                    held += 1
        confidence[i] = held / (repeats * (total - select[i]))
        correct[i] = right / repeats
    return confidence, correct


def held_out_confidence(
    pool: AnswerPool, *, splits: int | None = None, rng: np.random.Generator | None = None, select: Ints | None = None
) -> HeldOut:
    """Sem2's confidence c2 = pi_E(z_N), eq. (3), per question, averaged over splits of its draws; NaN with one draw.

    `splits=None` averages over all splits exactly, by hypergeometric sums on the class counts; draws being
    exchangeable, a tie for the mode is shared equally (the average over all orders of the draws). `splits=R` is the
    paper's R random splits, seeded by `rng`, ties going to the class drawn first in the block. `select` is the size
    of the selection block, half of the draws (rounded down) unless given. Also returns the mean grade of the class
    each split selects (for per-split grading), NaN where a class that may be selected has no grade.
    """
    draws = pool.draws
    size = draws // 2 if select is None else np.broadcast_to(np.asarray(select, dtype=np.int64), draws.shape)
    confidence = np.full(pool.questions, np.nan)
    correct = np.full(pool.questions, np.nan)
    usable = (size >= 1) & (size < draws)
    if not usable.any():
        return HeldOut(confidence, correct)
    if splits is None:
        longest = int(draws[usable].max())
        if longest > MAX_EXACT_DRAWS:
            raise InputError(
                f"{longest} draws of one question are too many for the exact average over splits.",
                remedy=f"Use splits=200, or at most {MAX_EXACT_DRAWS} draws.",
            )
        counts = pool.counts[usable]
        result = _all_splits(counts, np.ascontiguousarray(size[usable]), pool.grades[usable], _pascal(longest))
    else:
        if splits < 1:
            raise InputError(f"splits={splits} is not a number of splits.", remedy="The paper uses 10.")
        if rng is None:
            raise InputError("Random splits need a generator.", remedy="Pass rng=numpy.random.default_rng(seed).")
        block = np.ascontiguousarray(size[usable])
        result = _random_splits(pool.labels[usable], block, pool.grades[usable], splits, rng)
    confidence[usable], correct[usable] = result
    return HeldOut(np.minimum(confidence, 1.0), correct)
