"""Sem-ECE: calibration from how often a model repeats its answer (Sem1, eq. (1); Sem2, eq. (3))."""

import dataclasses
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from richter.calibration._pool import answer_pool
from richter.calibration._split import held_out_confidence
from richter.errors import InputError
from richter.records import Shown
from richter.stats import EceResult, Floats, Ints, ece
from richter.stats._ece import Binning

__all__ = ["SemEce", "Verbalised", "sem_ece", "verbalised_ece"]


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
    grading: str
    notes: tuple[str, ...]


def sem_ece(
    labels: Any,
    correct: Any = None,
    *,
    rng: np.random.Generator | None = None,
    splits: int | None = None,
    grading: Literal["pool", "per_split"] = "pool",
    bins: int = 10,
    binning: Binning = "width",
    level: float = 0.95,
) -> SemEce:
    """Calibration error of a model's agreement with itself, on classes of equivalent answers.

    `labels` and `correct` as in `answer_pool` (or a pool made by it). Sem1, eq. (1): c1 = max_k pi_N(k), the share of
    the most frequent class in all draws; biased up (Jensen). Sem2, eq. (3): c2 = pi_E(z_N), the held-out share of the
    class selected on another block; biased down (selection). c2 averages over all half-splits exactly
    (`splits=None`), or over R random ones (`splits=10` is the paper's, and needs `rng`).

    Both are graded by the full pool's mode, the one deployed answer (the paper leaves this open); `per_split`
    grades each split's own selection, which makes Sem2's grade a share, rounded to right when above one half.
    The intervals are for the ECE of the estimator at this number of draws, not for the oracle's.
    """
    pool = answer_pool(labels, correct)
    draws, modal = pool.draws, pool.counts.max(axis=1)
    c1 = modal / draws  # eq. (1); a ratio of integers, so that bin edges are met exactly
    c2, split_grade = held_out_confidence(pool, splits=splits, rng=rng)
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
        grade = a
        if grading == "per_split":
            grade = np.where(np.isnan(split_grade), a, (split_grade > 0.5).astype(float))
        elif grading != "pool":
            raise InputError(f"grading={grading!r} is not known.", remedy="Use 'pool' or 'per_split'.")
        second = ece(c2[held_out], grade[held_out], bins=bins, binning=binning, level=level)
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
        grading=grading,
        notes=tuple(notes),
    )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Verbalised:
    """ECE of stated confidence, averaged over a question's draws.

    `imputed` counts a draw that states none as 1.0 (the paper's way); `dropped` leaves such draws out, and the
    questions that state none at all; it is None when nobody stated any.
    """

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
