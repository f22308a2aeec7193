"""Clusters of failing paragraphs, whether they are clusters at all, and the words that set each apart."""

import dataclasses
import math
import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from richter.errors import TooFewErrors
from richter.records import Result
from richter_audit.ascent._error_map import principal_components

__all__ = ["Clustering", "Term", "cluster_vectors", "distinguishing_terms"]

SMALLEST = 20
MOST = 12
COMPONENTS = 20  # distances in hundreds of dimensions are all alike
TRIED = 400  # points by which the number of clusters is chosen, at most
RESTARTS = 3
NEIGHBOURS = 10
LOOKED_AT = 2000  # points asked about by which nearness is tested, at most
PRIOR = 10.0  # paragraphs' worth of prior in a term's log-odds
_WORD = re.compile(r"[^\W\d_]{3,}")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Clustering(Result):
    """The cluster of each failing vector (from 0, the largest first), and what speaks for there being any.

    `near` is the share of failing ones among the ten nearest points that were asked about in earlier steps, averaged
    over failing points; `near_at_random` the same over all points, which it would be if errors fell at random, and
    `p_value` the one-sided test of the difference. `is_closer`: it is at most 1 - level; else all labels are 0.
    `silhouette` is the best mean silhouette over 2 to 12 clusters, by which their number is chosen. None where every
    point is alike.
    """

    labels: tuple[int, ...]
    clusters: int
    silhouette: float | None
    near: float | None
    near_at_random: float | None
    p_value: float | None
    is_closer: bool = False


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Term(Result):
    """A word: in how many paragraphs of a cluster it stands, in how many others, and the z-score of its log-odds."""

    term: str
    inside: int
    outside: int
    z: float


def cluster_vectors(
    vectors: ArrayLike, fails: ArrayLike, steps: ArrayLike, *, level: float = 0.95, rng: np.random.Generator
) -> Clustering:
    """Clusters of the failing ones of the points that were asked about, where errors lie closer than chance.

    The search goes where errors were, so that a point asked about late has failing ones near it whatever its own
    answer. The test looks back: with s the share of failing ones among the ten nearest of a point's **earlier** steps,
    z = sum (y - mean y) (s - mean s) / sqrt(mean y (1 - mean y) sum (s - mean s)^2). Where errors fall at random an
    answer does not depend on anything before it, the search's choices included, and z is standard normal in large
    samples (a sum of martingale differences). Clusters are told only where its one-sided p-value is at most
    1 - level: k-means on the first 20 principal components of the failing ones, their number being that of the highest
    silhouette. How many there are is a description, not a test.
    """
    x, failing = np.asarray(vectors, dtype=np.float64), np.asarray(fails, dtype=np.bool_)
    n = int(failing.sum())
    if n < SMALLEST:
        raise TooFewErrors(f"{n} failing paragraphs are too few to look for clusters in.", n=n, needed=SMALLEST)
    own = x[failing]
    scores, shares = principal_components(own, COMPONENTS)
    scores = scores[:, shares > 1e-9]
    labels = np.zeros(n, dtype=np.int64)
    if not scores.shape[1]:
        return Clustering(labels=(0,) * n, clusters=1, silhouette=None, near=None, near_at_random=None, p_value=None)
    near, at_random, p_value = _nearness(x, failing, np.asarray(steps), rng)
    tried = scores[rng.choice(n, min(n, TRIED), replace=False)]
    seen, count = _best(tried, min(MOST, len(tried) // 5), rng)
    if p_value <= 1 - level:
        clusters = _kmeans(scores, count, rng)
        labels = _largest_first(labels if clusters is None else clusters)
    return Clustering(
        labels=tuple(int(label) for label in labels),
        clusters=int(labels.max()) + 1,
        silhouette=seen,
        near=near,
        near_at_random=at_random,
        p_value=p_value,
        is_closer=p_value <= 1 - level,
    )


def _nearness(
    x: NDArray[np.float64], failing: NDArray[np.bool_], steps: NDArray[np.int64], rng: np.random.Generator
) -> tuple[float, float, float]:
    """The share of failing earlier neighbours of failing points, of all points, and the p-value of the difference."""
    if len(x) > LOOKED_AT:
        some = np.sort(rng.choice(len(x), LOOKED_AT, replace=False))
        x, failing, steps = x[some], failing[some], steps[some]
    product = x @ x.T
    product[steps[:, None] <= steps[None, :]] = -np.inf
    later = np.flatnonzero(np.isfinite(product).sum(axis=1) >= NEIGHBOURS)
    if not len(later):
        return float(failing.mean()), float(failing.mean()), 1.0
    nearest = np.argpartition(-product[later], NEIGHBOURS - 1, axis=1)[:, :NEIGHBOURS]
    share, wrong = failing[nearest].mean(axis=1), failing[later]
    rate, centred = float(wrong.mean()), share - share.mean()
    spread = math.sqrt(rate * (1 - rate) * float(np.square(centred).sum()))
    z = float(((wrong - rate) * centred).sum()) / spread if spread > 0 else 0.0
    near = float(share[wrong].mean()) if wrong.any() else 0.0
    return near, float(share.mean()), float(ndtr(-z))


def _best(x: NDArray[np.float64], most: int, rng: np.random.Generator) -> tuple[float, int]:
    """The highest silhouette over numbers of clusters, and that number."""
    distance = scipy.spatial.distance.cdist(x, x)
    tries = [
        (_silhouette(distance, labels), k) for k in range(2, most + 1) if (labels := _kmeans(x, k, rng)) is not None
    ]
    return max(tries, default=(-1.0, 1))


def _kmeans(x: NDArray[np.float64], k: int, rng: np.random.Generator) -> NDArray[np.int64] | None:
    """The labels of the tightest of a few k-means; None where each of them lost a cluster on the way."""
    best, tightest = None, math.inf
    for _ in range(RESTARTS):
        try:
            centres, labels = scipy.cluster.vq.kmeans2(x, k, minit="++", missing="raise", seed=rng)
        except (scipy.cluster.vq.ClusterError, ValueError):  # fewer different points than clusters
            continue
        loss = float(np.square(x - centres[labels]).sum())
        if loss < tightest:
            best, tightest = np.asarray(labels, dtype=np.int64), loss
    return best


def _silhouette(distance: NDArray[np.float64], labels: NDArray[np.int64]) -> float:
    """The mean of (b - a) / max(a, b): a is the mean distance to one's own cluster, b to the nearest other."""
    member = np.eye(int(labels.max()) + 1)[labels]
    size = member.sum(axis=0)
    mean = distance @ member / size
    own = np.arange(len(labels)), labels
    a = mean[own] * size[labels] / np.maximum(size[labels] - 1, 1)
    mean[own] = np.inf
    b = mean.min(axis=1)
    widest = np.maximum(a, b)
    value = np.divide(b - a, widest, out=np.zeros_like(a), where=widest > 0)
    return float(np.where(size[labels] > 1, value, 0.0).mean())


def _largest_first(labels: NDArray[np.int64]) -> NDArray[np.int64]:
    order = np.argsort(-np.bincount(labels), kind="stable")
    return np.argsort(order)[labels]


def distinguishing_terms(inside: Sequence[str], outside: Sequence[str], *, most: int = 8) -> list[Term]:
    """The words that stand in more of the texts `inside` than of those `outside`, the surest first.

    A word counts once a text. Its score is the difference of the log-odds of standing in a text, in standard errors,
    with a prior of ten texts that hold the word as often as all of them do (after Monroe, Colaresi and Quinn 2008);
    kept are those above 1.96 that stand in at least three texts. Clusters are made from the same texts, so the scores
    describe and do not test.
    """
    a, b = (Counter(word for text in texts for word in _words(text)) for texts in (inside, outside))
    n_a, n_b = len(inside), len(outside)
    terms = []
    for word, count in a.items():
        share = (count + b[word]) / (n_a + n_b)
        if count < 3 or share == 1:  # a word of every text sets none apart
            continue
        x, y = count + PRIOR * share, b[word] + PRIOR * share
        without_x, without_y = n_a + PRIOR - x, n_b + PRIOR - y
        odds = math.log(x / without_x) - math.log(y / without_y)
        z = odds / math.sqrt(1 / x + 1 / without_x + 1 / y + 1 / without_y)
        if z > 1.96:
            terms.append(Term(term=word, inside=count, outside=b[word], z=z))
    return sorted(terms, key=lambda term: (-term.z, term.term))[:most]


def _words(text: str) -> set[str]:
    """The different words of a text, in small letters: three letters or more, no figures."""
    return set(_WORD.findall(text.casefold()))
