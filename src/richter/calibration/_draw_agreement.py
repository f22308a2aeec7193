"""Do a model's repeated answers agree more often than they are right? Calibration in the large, from draws."""

import dataclasses
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from richter.records import Result
from richter.stats import Bools, Floats

__all__ = ["AgreementGap", "agreement_gap"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class AgreementGap(Result):
    """By question, how often two of its answers agree and how often an answer is right.

    `dropped` counts questions with fewer than two answers or without a grade, `split` those of which right answers
    stand in several classes: there the grouping takes phrasings for different answers.
    """

    unwritten: ClassVar[tuple[str, ...]] = ("used", "agreement", "right")

    used: Bools
    agreement: Floats
    right: Floats
    questions: int
    dropped: int
    split: int


def agreement_gap(labels: ArrayLike, correct: ArrayLike) -> AgreementGap:
    """Each question's share of agreeing pairs of answers, and its share of right answers.

    `labels` (questions x draws) are classes, -1 where there is no answer or it declines; `correct` the grades of the
    same answers, NaN where there is none. With m answers of which n_k are of class k, agreement is the sum of
    n_k (n_k - 1) over m (m - 1): without bias the chance that two answers agree, whatever m is, which the share of the
    most frequent class is not. Where the truth behaves like one more answer both have the same mean.

    >>> from richter.calibration import agreement_gap
    >>> import numpy as np
    >>> draws = np.array([[0, 0, 0, 1], [0, 0, 0, 0]])  # two questions, four answers each, by class
    >>> agreement_gap(draws, draws == 0).right.tolist()
    [0.75, 1.0]
    """
    classes, grades = np.asarray(labels, dtype=np.int64), np.asarray(correct, dtype=np.float64)
    agreement, right = np.full(len(classes), np.nan), np.full(len(classes), np.nan)
    split = 0
    for k, (row, grade) in enumerate(zip(classes, grades, strict=True)):
        given = row >= 0
        graded = given & ~np.isnan(grade)
        m = int(given.sum())
        if m < 2 or not graded.any():
            continue
        counts = np.unique(row[given], return_counts=True)[1]
        agreement[k] = float(np.sum(counts * (counts - 1))) / (m * (m - 1))
        right[k] = float(np.mean(grade[graded]))
        split += len(np.unique(row[graded & (grade == 1)])) > 1
    used = ~np.isnan(agreement)
    return AgreementGap(
        used=used, agreement=agreement[used], right=right[used], questions=int(used.sum()),
        dropped=int((~used).sum()), split=split,
    )  # fmt: skip
