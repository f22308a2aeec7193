"""Sem-ECE: calibration from how often a model repeats its answer: Sem1, eq. (1), and Sem2, eq. (3), over splits."""

import dataclasses
from typing import Any, ClassVar

import numba
import numpy as np
from numpy.typing import ArrayLike, NDArray

from richter.calibration._pool import AnswerPool, answer_pool
from richter.errors import InputError
from richter.records import Result, Shown
from richter.stats import Bools, EceResult, Floats, Ints, ece
from richter.stats._ece import Binning

__all__ = ["SemEce", "Verbalised", "held_out_confidence", "sem_ece", "verbalised_ece"]


MAX_EXACT_DRAWS = 1000  # above, binomial coefficients leave the range of a double


@numba.njit(cache=True)
def _pascal_triangle(size: int) -> Floats:
    table = np.zeros((size + 1, size + 1))
    for i in range(size + 1):
        table[i, 0] = 1.0
        for j in range(1, i + 1):
            table[i, j] = table[i - 1, j - 1] + table[i - 1, j]
    return table


@numba.njit(cache=True)
def _ways_to_tie(counts: NDArray[np.int32], k: int, t: int, need: int, binomial: Floats, ways: Floats) -> None:
    """Fill ways[u, s]: selections of u draws from the classes of t or more but k, at most t each, s of them at t."""
    most = need // t
    ways[: need + 1, : most + 1] = 0.0
    ways[0, 0] = 1.0
    for j in range(len(counts)):
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


@numba.njit(cache=True)
def _wins_with(counts: NDArray[np.int32], k: int, t: int, need: int, binomial: Floats, ways: Floats) -> float:
    """Selections of `need` draws from the classes other than k in which none has more than t, a tie counted in part."""
    small = 0
    reach = 0
    for j in range(len(counts)):
        if j != k:
            if counts[j] < t:
                small += counts[j]
            reach += min(counts[j], t)
    if reach < need:
        return 0.0
    _ways_to_tie(counts, k, t, need, binomial, ways)
    total = 0.0
    for u in range(max(0, need - small), need + 1):
        for s in range(need // t + 1):
            total += ways[u, s] * binomial[small, need - u] / (1 + s)
    return total


@numba.njit(cache=True)
def _split_average(counts: NDArray[np.int32], select: int, binomial: Floats) -> float:
    """The mean held-out share of the chosen class over all selections of `select` draws.

    Given that class k supplies t of the selected draws and wins, every other class supplies at most t. Classes
    smaller than t are unrestricted and merge into one; the others are counted by dynamic programming over (draws
    used, classes tied at t); a tie of s + 1 classes is shared equally.
    """
    size = len(counts)
    total = 0
    for k in range(size):
        total += counts[k]
    average = 0.0
    ways = np.zeros((select + 1, select + 1))
    for k in range(size):
        first = k  # the first class with this count: equal counts, equal chances
        copies = 0
        for j in range(size - 1, -1, -1):
            if counts[j] == counts[k]:
                first = j
                copies += 1
        if counts[k] == 0 or first < k:
            continue
        confidence = 0.0
        for t in range(1, min(counts[k], select) + 1):
            weight = binomial[counts[k], t] * _wins_with(counts, k, t, select - t, binomial, ways)
            confidence += weight * (counts[k] - t) / (total - select)
        average += copies * confidence / binomial[total, select]
    return average


@numba.njit(cache=True)
def _average_all_splits(counts: NDArray[np.int32], select: Ints, binomial: Floats) -> Floats:
    confidence = np.empty(len(counts))
    for i in range(len(counts)):
        confidence[i] = _split_average(counts[i], select[i], binomial)
    return confidence


@numba.njit(cache=True)
def _select_at_random(
    labels: NDArray[np.int32], total: int, select: int, inside: Bools, tally: Ints, rng: np.random.Generator
) -> int:
    """The winning class of a random block of `select` draws, marked in `inside`; ties go to the class drawn first."""
    left = select
    tally[:] = 0
    best = 0
    for j in range(total):  # selection sampling keeps the order of the draws
        inside[j] = rng.random() * (total - j) < left
        if inside[j]:
            left -= 1
            tally[labels[j]] += 1
            best = max(best, tally[labels[j]])
    for j in range(total):
        if inside[j] and tally[labels[j]] == best:
            return int(labels[j])
    return 0


@numba.njit(cache=True)
def _average_random_splits(labels: NDArray[np.int32], select: Ints, repeats: int, rng: np.random.Generator) -> Floats:
    """Held-out confidence over `repeats` random selections per question."""
    rows, width = labels.shape
    confidence = np.empty(rows)
    inside = np.empty(width, dtype=np.bool_)
    tally = np.empty(width, dtype=np.int64)
    for i in range(rows):
        total = 0
        while total < width and labels[i, total] >= 0:
            total += 1
        held = 0
        for _ in range(repeats):
            winner = _select_at_random(labels[i], total, select[i], inside, tally, rng)
            held += np.sum(~inside[:total] & (labels[i, :total] == winner))
        confidence[i] = held / (repeats * (total - select[i]))
    return confidence


def held_out_confidence(
    pool: AnswerPool, *, splits: int | None = None, rng: np.random.Generator | None = None, select: Ints | None = None
) -> Floats:
    """Sem2's confidence c2 = pi_E(z_N), eq. (3), per question, averaged over splits of its draws; NaN with one draw.

    `splits=None` averages over all splits exactly, by hypergeometric sums on the class counts; draws being
    exchangeable, a tie for the mode is shared equally (the average over all orders of the draws). `splits=R` is the
    paper's R random splits, seeded by `rng`, ties going to the class drawn first in the block. `select` is the size
    of the selection block, half of the draws (rounded down) unless given.
    """
    draws = pool.draws
    size = draws // 2 if select is None else np.broadcast_to(np.asarray(select, dtype=np.int64), draws.shape)
    confidence = np.full(pool.questions, np.nan)
    usable = (size >= 1) & (size < draws)
    if not usable.any():
        return confidence
    if splits is None:
        longest = int(draws[usable].max())
        if longest > MAX_EXACT_DRAWS:
            raise InputError(
                f"{longest} draws of one question are too many for the exact average over splits.",
                remedy=f"Use splits=200, or at most {MAX_EXACT_DRAWS} draws.",
            )
        block = np.ascontiguousarray(size[usable])
        result = _average_all_splits(pool.counts[usable], block, _pascal_triangle(longest))
    else:
        if splits < 1:
            raise InputError(f"splits={splits} is not a number of splits.", remedy="The paper uses 10.")
        if rng is None:
            raise InputError("Random splits need a generator.", remedy="Pass rng=numpy.random.default_rng(seed).")
        block = np.ascontiguousarray(size[usable])
        result = _average_random_splits(pool.labels[usable], block, splits, rng)
    confidence[usable] = np.minimum(result, 1.0)
    return confidence


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SemEce(Shown):
    """Sem1-ECE and Sem2-ECE of one condition.

    `sem2` is None when no question has two draws. The arrays have one entry a question: the two confidences, the
    deployed answer's grade (NaN: ungraded, left out of both ECEs). `splits` is None for the exact average.
    """

    sem1: EceResult
    sem2: EceResult | None
    confidence_1: Floats
    confidence_2: Floats
    correct: Floats
    draws: Ints
    questions: int
    ungraded: int
    mixed_classes: int
    splits: int | None
    notes: tuple[str, ...]


def sem_ece(
    labels: Any,
    correct: Any = None,
    *,
    rng: np.random.Generator | None = None,
    splits: int | None = None,
    bins: int = 10,
    binning: Binning = "width",
    level: float = 0.95,
) -> SemEce:
    """Calibration error of a model's agreement with itself, on classes of equivalent answers.

    `labels` and `correct` as in `answer_pool` (or a pool made by it). Sem1, eq. (1): c1 = max_k pi_N(k), the share of
    the most frequent class in all draws; biased up (Jensen). Sem2, eq. (3): c2 = pi_E(z_N), the held-out share of the
    class selected on another block; biased down (selection). c2 averages over all half-splits exactly
    (`splits=None`), or over R random ones (`splits=10` is the paper's, and needs `rng`).

    Both are graded by the full pool's mode, the one deployed answer (the paper leaves this open). The intervals are for
    the ECE of the estimator at this number of draws, not for the oracle's.

    >>> from richter.calibration import sem_ece
    >>> import numpy as np
    >>> draws = np.array([[0, 0, 0, 1], [0, 1, 1, 1], [0, 0, 0, 0]] * 20)  # 60 questions, 4 answers each, by class
    >>> 0 <= sem_ece(draws, draws == 0, rng=np.random.default_rng(0)).sem1.ece <= 1
    True
    """
    pool = answer_pool(labels, correct)
    draws, modal = pool.draws, pool.counts.max(axis=1)
    c1 = modal / draws  # eq. (1); a ratio of integers, so that bin edges are met exactly
    c2 = held_out_confidence(pool, splits=splits, rng=rng)
    a = pool.correct
    graded = ~np.isnan(a)
    if not graded.any():
        raise InputError(
            "No deployed answer is graded, so calibration is untestable: agreement without labels cannot show error.",
            remedy="Give a reference or a `correct` column; unlabelled answers carry no information on calibration.",
        )
    notes = []
    if (~graded).any():
        notes.append(f"{int((~graded).sum())} of {pool.questions} questions have no grade for the deployed answer.")
    if int(draws.min()) != int(draws.max()):
        notes.append(
            f"Questions have {int(draws.min())} to {int(draws.max())} draws; each is used with its own number."
        )
    if pool.mixed:
        notes.append(f"{pool.mixed} classes hold answers graded right and wrong; the majority counts, ties are wrong.")
    single = int((draws < 2).sum())
    if single:
        notes.append(f"{single} of {pool.questions} questions have one draw: Sem1 is 1 there and Sem2 is undefined.")
    first = ece(c1[graded], a[graded], bins=bins, binning=binning, level=level)
    second = None
    held_out = graded & ~np.isnan(c2)
    if held_out.any():
        second = ece(c2[held_out], a[held_out], bins=bins, binning=binning, level=level)
    return SemEce(
        sem1=first,
        sem2=second,
        confidence_1=c1,
        confidence_2=c2,
        correct=a,
        draws=draws,
        questions=pool.questions,
        ungraded=int((~graded).sum()),
        mixed_classes=pool.mixed,
        splits=splits,
        notes=tuple(notes),
    )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Verbalised(Result):
    """ECE of stated confidence, averaged over a question's draws.

    `imputed` counts a draw that states none as 1.0 (the paper's way); `dropped` leaves such draws out, and the
    questions that state none at all; it is None when nobody stated any.
    """

    flat: ClassVar = ("imputed",)

    imputed: EceResult
    dropped: EceResult | None
    parse_rate: float
    questions_dropped: int


def verbalised_ece(
    stated: ArrayLike, correct: ArrayLike, *, bins: int = 10, binning: Binning = "width", level: float = 0.95
) -> Verbalised:
    """Calibration of what the model says of itself ("Confidence: 80%").

    `stated` (questions x draws) holds the parsed confidence, NaN where none could be parsed and -1 where there was
    no draw; `correct` is the deployed answer's grade per question (all given).
    """
    matrix = np.atleast_2d(np.asarray(stated, dtype=np.float64))
    a = np.asarray(correct, dtype=np.float64)
    drawn = ~(matrix == -1)
    parsed = drawn & ~np.isnan(matrix)
    filled = np.where(parsed, matrix, 1.0)
    mean_filled = np.sum(np.where(drawn, filled, 0.0), axis=1) / drawn.sum(axis=1)
    count = parsed.sum(axis=1)
    some = count > 0
    dropped = None
    if some.any():
        mean_parsed = np.sum(np.where(parsed, matrix, 0.0), axis=1)[some] / count[some]
        dropped = ece(mean_parsed, a[some], bins=bins, binning=binning, level=level)
    return Verbalised(
        imputed=ece(mean_filled, a, bins=bins, binning=binning, level=level),
        dropped=dropped,
        parse_rate=float(parsed.sum() / drawn.sum()),
        questions_dropped=int((~some).sum()),
    )
