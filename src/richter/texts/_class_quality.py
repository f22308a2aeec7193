"""How good a clustering is, against labelled pairs of answers."""

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from richter.errors import InputError
from richter.texts._answer_classes import answer_trees

__all__ = ["PairQuality", "choose_threshold", "grouping_quality", "pair_quality"]

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


def grouping_quality(classes: Sequence[Sequence[int]], truth: Sequence[Sequence[int]]) -> PairQuality:
    """Compare classes with labelled classes, over all pairs of answers to one question."""
    pairs = [
        (q, i, j, labels[i] == labels[j])
        for q, labels in enumerate(truth)
        for i in range(len(labels))
        for j in range(i)
    ]
    return pair_quality(classes, pairs)


class Chosen(NamedTuple):
    """A threshold, and the quality of the classes it makes."""

    threshold: float
    quality: PairQuality


def choose_threshold(
    answers: Sequence[Sequence[str]],
    questions: Sequence[str] | None,
    pairs: Sequence[Pair],
    *,
    grid: Sequence[float] = tuple(np.arange(0.1, 0.7, 0.025).round(3).tolist()),
) -> Chosen:
    """The threshold of `cluster_questions` with the best F1 on labelled pairs, and its quality there.

    Judge the choice on other questions than those it was made on.
    """
    trees = answer_trees(answers, questions)
    scored = [Chosen(t, pair_quality([tree.cut(t) for tree in trees], pairs)) for t in grid]
    return max(scored, key=lambda pair: pair.quality.f1)
