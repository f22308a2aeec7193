"""How good a clustering is, against labelled pairs of answers."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from richter.errors import InputError

__all__ = [
    "GroupingQuality",
    "PairQuality",
    "adjusted_rand",
    "grouping_quality",
    "pair_quality",
    "same_mode",
]

# (question, one answer, the other, whether they say the same)
Pair = tuple[int, int, int, bool]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PairQuality:
    """Precision, recall and F1 of "same class" against labelled pairs; `all_same_f1` is what one class for all gets."""

    precision: float
    recall: float
    f1: float
    all_same_f1: float
    n: int


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class GroupingQuality(PairQuality):
    """Quality over pairs, and by question: the mean adjusted Rand index, and the share with the same mode.

    Questions with one answer have one grouping only, and are left out of both.
    """

    adjusted_rand: float
    same_mode: float
    questions: int


def pair_quality(classes: Sequence[Sequence[int]], pairs: Sequence[Pair]) -> PairQuality:
    """Compare classes with labelled pairs."""
    if not pairs:
        raise InputError("There are no labelled pairs.", remedy="Give pairs that someone called equal or not.")
    joined = np.array([classes[q][i] == classes[q][j] for q, i, j, _ in pairs])
    true = np.array([same for *_, same in pairs])
    hits = int(np.sum(joined & true))
    return PairQuality(
        precision=hits / max(int(joined.sum()), 1),
        recall=hits / max(int(true.sum()), 1),
        f1=2 * hits / max(int(joined.sum() + true.sum()), 1),
        all_same_f1=2 * float(true.mean()) / (1 + float(true.mean())),
        n=len(pairs),
    )


def grouping_quality(classes: Sequence[Sequence[int]], truth: Sequence[Sequence[int]]) -> GroupingQuality:
    """Compare classes with labelled classes: over all pairs of answers to one question, and question by question."""
    pairs = [
        (q, i, j, labels[i] == labels[j])
        for q, labels in enumerate(truth)
        for i in range(len(labels))
        for j in range(i)
    ]
    quality = pair_quality(classes, pairs)
    rows = [(one, other) for one, other in zip(classes, truth, strict=True) if len(other) > 1]
    return GroupingQuality(
        **dataclasses.asdict(quality),
        adjusted_rand=float(np.mean([adjusted_rand(*row) for row in rows])),
        same_mode=float(np.mean([same_mode(*row) for row in rows])),
        questions=len(rows),
    )


def adjusted_rand(one: Sequence[int], other: Sequence[int]) -> float:
    """The Rand index of two groupings of the same answers, adjusted for chance (Hubert and Arabie 1985).

    (joint - expected) / (mean - expected) of the pairs that are together: in both, expected by chance, and the mean of
    both groupings. Two groupings that are both one class, or both single answers, agree: 1.
    """
    table = np.zeros((len(set(one)), len(set(other))))
    np.add.at(table, (np.unique(one, return_inverse=True)[1], np.unique(other, return_inverse=True)[1]), 1)
    joint, rows, columns = (float(np.sum(n * (n - 1) / 2)) for n in (table, table.sum(axis=1), table.sum(axis=0)))
    if joint == rows == columns:
        return 1.0
    expected = rows * columns / (len(one) * (len(one) - 1) / 2)
    return (joint - expected) / ((rows + columns) / 2 - expected)


def same_mode(one: Sequence[int], other: Sequence[int]) -> bool:
    """True where the first answer of each grouping's largest class is in the other's; of equal classes the first."""
    modes = [max(labels, key=list(labels).count) for labels in (one, other)]
    inside = [[label == mode for label in labels] for labels, mode in zip((one, other), modes, strict=True)]
    return inside[0][inside[1].index(True)] and inside[1][inside[0].index(True)]
