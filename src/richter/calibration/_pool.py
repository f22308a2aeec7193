"""The answers drawn for each question, as semantic classes: the form every Sem-ECE estimator works on."""

import dataclasses
from collections.abc import Hashable
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from richter.errors import InputError
from richter.stats import Floats, Indices, Ints

__all__ = ["AnswerPool", "answer_pool", "semantic_entropy"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class AnswerPool:
    """Draws per question as class numbers.

    `labels` (questions x most draws) numbers a question's classes 0, 1, .. in the order they first appear, -1 where
    there are fewer draws. `counts` (questions x most classes) are the class sizes. `grades` are the classes' grades:
    1, 0, or NaN where no draw of the class is graded. `mixed` counts the classes whose draws were graded both ways.
    """

    labels: NDArray[np.int32]
    counts: NDArray[np.int32]
    grades: Floats
    mixed: int

    @property
    def questions(self) -> int:
        """How many questions."""
        return len(self.labels)

    @property
    def draws(self) -> Ints:
        """Draws of each question."""
        return np.asarray(np.sum(self.counts, axis=1, dtype=np.int64))

    @property
    def classes(self) -> Ints:
        """K, the classes seen for each question."""
        return np.asarray(np.sum(self.counts > 0, axis=1))

    @property
    def mode(self) -> Indices:
        """The deployed class: the most frequent; of equally frequent ones the one drawn first, never by its label."""
        return np.asarray(np.argmax(self.counts, axis=1))

    @property
    def correct(self) -> Floats:
        """The deployed class's grade, NaN where it has none."""
        return np.asarray(self.grades[np.arange(self.questions), self.mode])

    def take(self, rows: NDArray[Any]) -> "AnswerPool":
        """The pool of some questions."""
        return dataclasses.replace(
            self, labels=self.labels[rows], counts=self.counts[rows], grades=self.grades[rows], mixed=self.mixed
        )


@numba.njit(cache=True)
def _number_by_appearance(raw: Ints) -> NDArray[np.int32]:
    """Number each row's values by first appearance; negative ones are missing and move to the end."""
    rows, width = raw.shape
    out = np.full((rows, width), -1, dtype=np.int32)
    seen = np.empty(width, dtype=np.int64)
    for i in range(rows):
        known = 0
        at = 0
        for j in range(width):
            value = raw[i, j]
            if value < 0:
                continue
            code = 0
            while code < known and seen[code] != value:
                code += 1
            seen[code] = value
            known = max(known, code + 1)
            out[i, at] = code
            at += 1
    return out


def _label_codes(labels: Any) -> Ints:
    """Any labels as a padded matrix of integers, -1 for a missing draw."""
    if isinstance(labels, np.ndarray) and labels.ndim == 2 and np.issubdtype(labels.dtype, np.integer):
        return labels.astype(np.int64)
    rows = [list(row) for row in labels]
    out = np.full((len(rows), max((len(r) for r in rows), default=0)), -1, dtype=np.int64)
    for i, row in enumerate(rows):
        codes: dict[Hashable, int] = {}
        for j, label in enumerate(row):
            if label is not None and label == label:  # None and NaN are missing draws
                out[i, j] = codes.setdefault(label, len(codes))
    return out


def _grade_matrix(correct: Any, shape: tuple[int, int]) -> Floats:
    if isinstance(correct, np.ndarray) and correct.shape == shape and np.issubdtype(correct.dtype, np.number):
        return correct.astype(np.float64)
    out = np.full(shape, np.nan)
    for i, row in enumerate(correct):
        values = np.array([np.nan if x is None else float(x) for x in row])
        if len(values) > shape[1]:
            raise InputError(
                f"Question {i + 1} has {len(values)} grades and at most {shape[1]} draws.",
                remedy="Give one grade per draw.",
            )
        out[i, : len(values)] = values
    return out


def answer_pool(labels: Any, correct: Any = None) -> AnswerPool:
    """The draws of all questions as a pool.

    `labels`: per question the class label of each draw in the order drawn (a matrix of integers with -1 for a missing
    draw, or rows of any labels, of unequal length if need be, None for a missing draw). `correct`: per question and
    draw 1, 0 or nothing (a class has its draws' majority grade; a tied class is wrong), or per question the grade of
    the deployed answer. A refusal or an empty answer is a class of its own, never a missing draw.
    """
    if isinstance(labels, AnswerPool):
        return labels
    raw = _label_codes(labels)
    if raw.size == 0 or (raw >= 0).sum(axis=1).min() == 0:
        raise InputError("A question has no draws.", remedy="Leave out questions without an answer, and say how many.")
    coded = _number_by_appearance(raw)
    rows, _ = coded.shape
    width = int(coded.max()) + 1
    present = coded >= 0
    flat = (np.arange(rows)[:, None] * width + coded)[present]
    counts = np.bincount(flat, minlength=rows * width).reshape(rows, width).astype(np.int32)
    grades, mixed = np.full((rows, width), np.nan), 0
    if correct is not None and len(correct) != rows:
        raise InputError("Draws and grades differ in the number of questions.", remedy="Give one row a question.")
    if correct is not None and np.ndim(correct[0]) == 0:
        deployed = np.array([np.nan if x is None else float(x) for x in correct])
        grades[np.arange(rows), np.argmax(counts, axis=1)] = deployed
    elif correct is not None:
        grades, mixed = _class_grades(raw, coded, _grade_matrix(correct, raw.shape), width)
    values = grades[~np.isnan(grades)]
    if ((values != 0) & (values != 1)).any():
        raise InputError("A grade is neither 0 nor 1.", remedy="Calibration needs right or wrong answers.")
    return AnswerPool(labels=coded, counts=counts, grades=grades, mixed=mixed)


def _class_grades(raw: Ints, coded: NDArray[np.int32], grades: Floats, width: int) -> tuple[Floats, int]:
    """The majority grade of each question's classes (NaN: none was given), and how many classes have both grades."""
    rows = len(raw)
    given = (raw >= 0) & ~np.isnan(grades)
    # `coded` moved missing draws to the end; the grades follow their draws
    order = np.argsort(raw < 0, axis=1, kind="stable")
    grades, given = np.take_along_axis(grades, order, 1), np.take_along_axis(given, order, 1)
    cell = (np.arange(rows)[:, None] * width + coded)[given]
    graded = np.bincount(cell, minlength=rows * width).reshape(rows, width)
    right = np.bincount(cell, weights=grades[given], minlength=rows * width).reshape(rows, width)
    majority = np.where(graded > 0, (2 * right > graded).astype(float), np.nan)
    return majority, int(np.sum((right > 0) & (right < graded)))


def semantic_entropy(pool: AnswerPool) -> Floats:
    """The entropy of each question's answers over their classes, in nats: the baseline of Kuhn, Gal and Farquhar.

    The sum of -p_k log p_k with p_k the share of draws in class k, without token probabilities: 0 where all say the
    same, the log of the draws where no two do.

    >>> import numpy as np
    >>> semantic_entropy(answer_pool(np.array([[0, 0, 1, 1], [2, 2, 2, 2]]))).round(3).tolist()
    [0.693, 0.0]
    """
    share = pool.counts / pool.draws[:, None]
    return np.asarray(-np.sum(share * np.log(np.where(share > 0, share, 1.0)), axis=1)) + 0.0
