"""Leaderboards by subject: how much of the ranking inside small subjects is noise."""

import dataclasses
import itertools

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import binom

from richter.errors import InputError
from richter.floors._rates import accuracy_floor
from richter.records import Result
from richter.stats import Floats, holm

__all__ = ["Subject", "SubjectNoise", "subject_noise"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """One subject: its items, the pairs below the floor and not told apart by test, and how often the order flips."""

    name: str
    n: int
    pairs: int
    below_floor: int
    undecided: int
    instability: float
    widest_gap: float
    floor: float


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SubjectNoise(Result):
    """All subjects. `share_*` are over all subject-pairs; `unranked` subjects have no pair told apart."""

    subjects: tuple[Subject, ...]
    share_below_floor: float
    share_undecided: float
    unranked: int
    mean_instability: float
    skipped: int
    n_resamples: int


def subject_noise(
    correct: ArrayLike,
    subjects: ArrayLike,
    *,
    rng: np.random.Generator,
    min_items: int = 10,
    alpha: float = 0.05,
    n_resamples: int = 200,
) -> SubjectNoise:
    """Share of pairs within a subject with a gap below the accuracy floor, and how stable the order is (Appendix E).

    The floor of a gap is 2 sqrt(2 e (1 - e) / n), two separate proportions'; `undecided` counts pairs that McNemar's
    exact test, Holm-corrected within the subject, does not tell apart. Instability is the share of bootstraps of the
    items in which the order of the conditions changes (ties in the data keep the order of columns). Items that any
    condition lacks are left out; subjects under `min_items` items are skipped and counted. The paper's own floors
    per subject (table 3) follow none of its formulas and are no reference.
    """
    grades = np.asarray(correct, dtype=np.float64)
    labels = np.asarray(subjects)
    if grades.ndim != 2 or grades.shape[1] < 2 or len(labels) != len(grades):
        raise InputError("Give grades of two conditions at least, and one subject an item.", remedy="Check the shapes.")
    whole = ~np.isnan(grades).any(axis=1)
    grades, labels = grades[whole], labels[whole]
    found = []
    skipped = 0
    for name in np.unique(labels):
        block = grades[labels == name]
        if len(block) < min_items:
            skipped += 1
            continue
        found.append(_subject(str(name), block, rng=rng, alpha=alpha, n_resamples=n_resamples))
    if not found:
        raise InputError(f"No subject has {min_items} items.", remedy="Use fewer, larger subjects.")
    pairs = sum(s.pairs for s in found)
    return SubjectNoise(
        subjects=tuple(found),
        share_below_floor=sum(s.below_floor for s in found) / pairs,
        share_undecided=sum(s.undecided for s in found) / pairs,
        unranked=sum(s.undecided == s.pairs for s in found),
        mean_instability=float(np.mean([s.instability for s in found])),
        skipped=skipped,
        n_resamples=n_resamples,
    )


def _subject(name: str, block: Floats, *, rng: np.random.Generator, alpha: float, n_resamples: int) -> Subject:
    n, number = block.shape
    accuracy = block.mean(axis=0)
    both = block.T @ block
    gaps, floors, p = [], [], []
    for i, j in itertools.combinations(range(number), 2):
        only_i, only_j = int(both[i, i] - both[i, j]), int(both[j, j] - both[i, j])
        gaps.append(abs(only_j - only_i) / n)
        floors.append(accuracy_floor(n, 1 - (accuracy[i] + accuracy[j]) / 2, conditions=2))
        # McNemar's exact test: the items that one alone got right fall to either side with probability 1/2
        p.append(min(1.0, 2 * float(binom.cdf(min(only_i, only_j), only_i + only_j, 0.5))))
    order = np.argsort(-accuracy, kind="stable")
    weights = rng.multinomial(n, np.full(n, 1 / n), size=n_resamples)
    drawn = np.argsort(-(weights @ block), axis=1, kind="stable")
    return Subject(
        name=name,
        n=n,
        pairs=len(gaps),
        below_floor=int(np.sum(np.array(gaps) < np.array(floors))),
        undecided=int(np.sum(holm(p) > alpha)),
        instability=float(np.mean(np.any(drawn != order, axis=1))),
        widest_gap=max(gaps),
        floor=max(floors),
    )
