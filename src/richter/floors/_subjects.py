"""Leaderboards by subject, how much of their ranking is noise; and whether self-evaluation tells calibration."""

import dataclasses
import itertools
import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from richter._special import bdtr
from richter.claims import METRICS, Outcomes, as_sample, difference_evidence, p_value
from richter.errors import InputError, TooFewErrors
from richter.floors._condition_floor import item_shares
from richter.floors._rates import accuracy_floor
from richter.records import Result
from richter.stats import Floats, Indices, average_ranks, holm

__all__ = ["SelfEvaluation", "Subject", "SubjectNoise", "self_evaluation", "self_evaluation_verdict", "subject_noise"]


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
    group: ArrayLike | None = None,
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

    Where a grade is the mean of several draws, or items come in groups (`group`, one an item), pairs are told apart by
    the test that `claims.difference_evidence` has for them, groups are what is resampled, and the floor is two standard
    errors of two separate means (CR2 by group).
    """
    grades = np.asarray(correct, dtype=np.float64)
    labels = np.asarray(subjects)
    if grades.ndim != 2 or grades.shape[1] < 2 or len(labels) != len(grades):
        raise InputError(
            "Give grades of two conditions at least, and one subject per item.", remedy="Check the shapes."
        )
    groups = np.arange(len(grades)) if group is None else np.unique(np.asarray(group), return_inverse=True)[1]
    whole = ~np.isnan(grades).any(axis=1)
    grades, labels, groups = grades[whole], labels[whole], groups[whole]
    found = []
    skipped = 0
    for name in np.unique(labels):
        block = grades[labels == name]
        if len(block) < min_items:
            skipped += 1
            continue
        own = np.unique(groups[labels == name], return_inverse=True)[1]
        found.append(_subject(str(name), block, own, rng=rng, alpha=alpha, n_resamples=n_resamples))
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


def _subject(
    name: str, block: Floats, group: Indices, *, rng: np.random.Generator, alpha: float, n_resamples: int
) -> Subject:
    n, number = block.shape
    units = int(group.max()) + 1
    accuracy = block.mean(axis=0)
    counts = units == n and bool(np.isin(block, (0.0, 1.0)).all())
    item, column = (index.ravel() for index in np.indices(block.shape))
    seen = Outcomes(
        metric=dataclasses.replace(METRICS["accuracy"], kind="binary" if counts else "bounded"),
        items=tuple(str(k) for k in range(n)), conditions=tuple(str(k) for k in range(number)), item=item,
        condition=column, value=block.ravel(), group=group,
    )  # fmt: skip
    sample = as_sample(seen)
    shares = np.bincount(group) / n
    sums = [np.bincount(group, weights=column / n) for column in (block - accuracy).T]
    errors = [math.sqrt(float(np.sum(x**2 / np.maximum(1 - shares, 1e-9)))) for x in sums]
    gaps, floors, p = [], [], []
    for i, j in itertools.combinations(range(number), 2):
        only_i, only_j = (int(np.sum(block[:, x] > block[:, y])) for x, y in ((i, j), (j, i)))
        gaps.append(abs(float(accuracy[j] - accuracy[i])))
        floor = accuracy_floor(units, 1 - (accuracy[i] + accuracy[j]) / 2, conditions=2)
        floors.append(floor if counts or units == 1 else 2 * math.hypot(errors[i], errors[j]))
        # McNemar's exact test: the items that one alone got right fall to either side with probability 1/2
        exact = min(1.0, 2 * float(bdtr(min(only_i, only_j), only_i + only_j, 0.5)))
        p.append(exact if counts else p_value(difference_evidence(sample, str(i), str(j)), 0.0))
    order = np.argsort(-accuracy, kind="stable")
    weights = rng.multinomial(units, np.full(units, 1 / units), size=n_resamples)[:, group]
    drawn = np.argsort(-(weights @ block / weights.sum(axis=1, keepdims=True)), axis=1, kind="stable")
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


_MAX_EXACT_BINS = 7  # up to 7! = 5,040 orders are all looked at


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SelfEvaluation(Result):
    """Spearman's rho over confidence bins, of confidence with |gap| and, as positive control, with accuracy.

    `p` are two-sided permutation p-values. A gap correlation that is not significant while the control is says that
    confidence tells right from wrong but not how wrong itself is. With few bins neither can be significant:
    `smallest_p` is the least the number of bins allows.
    """

    rho_gap: float
    p_gap: float
    rho_accuracy: float
    p_accuracy: float
    bins: int
    smallest_p: float
    n: int


def self_evaluation(
    confidence: ArrayLike,
    correct: ArrayLike,
    *,
    rng: np.random.Generator,
    item: ArrayLike | None = None,
    bins: int = 20,
    min_count: int = 30,
    n_resamples: int = 10_000,
) -> SelfEvaluation:
    """Rank correlations of bins' mean confidence c with |accuracy - c| and with accuracy (section 3, Appendix F).

    Bins as for the Lipschitz constant, an `item` of several draws counting once. The permutation test shuffles bins; up
    to seven bins all orders are counted. A rank correlation without variation (all gaps equal) is undefined and given
    as 0 with p = 1.
    """
    c, a = np.asarray(confidence, dtype=np.float64), np.asarray(correct, dtype=np.float64)
    index = np.minimum((c * bins + 1e-9).astype(np.intp), bins - 1)
    share = item_shares(item, len(c))
    count = np.round(np.bincount(index, weights=share, minlength=bins), 9)
    enough = count >= min_count
    number = int(np.sum(enough))
    if number < 3:
        raise TooFewErrors(
            f"{number} confidence bins hold {min_count} items; a correlation over bins needs 3.", n=number, needed=3
        )
    mean = np.bincount(index, weights=share * c, minlength=bins)[enough] / count[enough]
    accuracy = np.bincount(index, weights=share * a, minlength=bins)[enough] / count[enough]
    rho_gap, p_gap = _spearman(mean, np.abs(accuracy - mean), rng, n_resamples)
    rho_accuracy, p_accuracy = _spearman(mean, accuracy, rng, n_resamples)
    return SelfEvaluation(
        rho_gap=rho_gap,
        p_gap=p_gap,
        rho_accuracy=rho_accuracy,
        p_accuracy=p_accuracy,
        bins=number,
        smallest_p=2 / math.factorial(number) if number <= _MAX_EXACT_BINS else 1 / (n_resamples + 1),
        n=round(float(np.sum(share))),
    )


def self_evaluation_verdict(found: Mapping[str, SelfEvaluation], *, level: float = 0.95) -> str:
    """What the test says over all conditions, against the paper's claim that confidence says nothing of its gap.

    It recounts the paper's table and is no claim on these conditions, so `decide` has no part in it.
    At 1 - level each, as the paper counts, and after Holm over the conditions. The estimated |gap| of a bin is the
    noisier the nearer its accuracy is to one half, so that a calibrated model is called significant too often (13% and
    26% at 5% with the confidences of two real benchmarks; 2% and 5% where the true gap is one constant): read a rank
    correlation of a model that is shown to be miscalibrated.
    """
    alpha = 1 - level
    names = list(found)
    alone = sum(found[n].p_gap <= alpha for n in names)
    adjusted = holm([found[n].p_gap for n in names])
    shown_for = [n for n, p in zip(names, adjusted, strict=True) if p <= alpha]
    sentence = (
        f"Confidence goes with the size of its own gap in {alone} of {len(names)} conditions at {100 * alpha:g}% each"
    )
    if shown_for:
        return (
            f"{sentence}, after Holm in {', '.join(shown_for)}: against the paper's claim that it says nothing of it."
        )
    if alone:
        return f"{sentence}, after Holm in none: neither for nor against the paper's claim that it says nothing of it."
    return f"{sentence}: as the paper claims, though with few bins little else can be seen."


def _spearman(x: Floats, y: Floats, rng: np.random.Generator, n_resamples: int) -> tuple[float, float]:
    rank_x, rank_y = average_ranks(x), average_ranks(y)
    rank_x, rank_y = rank_x - rank_x.mean(), rank_y - rank_y.mean()
    scale = math.sqrt(float(rank_x @ rank_x) * float(rank_y @ rank_y))
    if scale == 0:
        return 0.0, 1.0
    seen = float(rank_x @ rank_y) / scale
    if len(x) <= _MAX_EXACT_BINS:
        orders = np.array(list(itertools.permutations(range(len(x)))))
        beyond = np.abs(rank_y[orders] @ rank_x) / scale >= abs(seen) - 1e-12
        return seen, float(np.mean(beyond))
    orders = rng.permuted(np.tile(np.arange(len(x)), (n_resamples, 1)), axis=1)
    beyond = np.abs(rank_y[orders] @ rank_x) / scale >= abs(seen) - 1e-12
    return seen, float((np.sum(beyond) + 1) / (n_resamples + 1))
