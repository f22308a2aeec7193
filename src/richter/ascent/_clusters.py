"""Clusters of failing paragraphs, whether they are clusters at all, and the words that set each apart."""

import dataclasses
import math
import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.cluster.vq import ClusterError, kmeans2
from scipy.spatial.distance import cdist

from richter.ascent._map import principal_components
from richter.errors import TooFewErrors
from richter.records import Result

__all__ = ["Clustering", "Term", "cluster_vectors", "distinguishing_terms"]

SMALLEST = 20
MOST = 12
COMPONENTS = 20  # distances in hundreds of dimensions are all alike
TRIED = 400  # points by which the number of clusters is chosen, at most
RESTARTS = 3
PRIOR = 10.0  # paragraphs' worth of prior in a term's log-odds
_WORD = re.compile(r"[^\W\d_]{3,}")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Clustering(Result):
    """The cluster of each vector (from 0, the largest first), and what speaks for there being several.

    `silhouette` is the best mean silhouette over 2 to 12 clusters; `p_value` compares it with clouds of the same
    covariance and no clusters. Where it exceeds 1 - level all labels are 0: one cloud. None where every point
    is alike.
    """

    labels: tuple[int, ...]
    clusters: int
    silhouette: float | None
    silhouettes_of_one_cloud: tuple[float, ...]
    p_value: float | None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Term(Result):
    """A word: in how many paragraphs of a cluster it stands, in how many others, and the z-score of its log-odds."""

    term: str
    inside: int
    outside: int
    z: float


def cluster_vectors(
    vectors: ArrayLike, *, level: float = 0.95, n_resamples: int = 39, rng: np.random.Generator
) -> Clustering:
    """k-means on the first 20 principal components, the number of clusters being that of the highest silhouette.

    k-means cuts any cloud into pieces, so the same is done to `n_resamples` Gaussian clouds with the same variances
    along the components: p = (1 + those with a silhouette at least as high) / (1 + n_resamples). Clusters are told
    only where p is at most 1 - level. The reference is one shape of structureless cloud; a bent or skewed cloud can
    pass for several.
    """
    x = np.asarray(vectors, dtype=np.float64)
    n = len(x)
    if n < SMALLEST:
        raise TooFewErrors(f"{n} failing paragraphs are too few to look for clusters in.", n=n, needed=SMALLEST)
    scores, shares = principal_components(x, COMPONENTS)
    scores = scores[:, shares > 1e-9]
    if not scores.shape[1]:
        return Clustering(labels=(0,) * n, clusters=1, silhouette=None, silhouettes_of_one_cloud=(), p_value=None)
    tried = scores[rng.choice(n, min(n, TRIED), replace=False)]
    most = min(MOST, len(tried) // 5)
    seen, count = _best(tried, most, rng)
    spread = tried.std(axis=0)
    clouds = tuple(_best(rng.standard_normal(tried.shape) * spread, most, rng)[0] for _ in range(n_resamples))
    p_value = (1 + sum(cloud >= seen for cloud in clouds)) / (1 + n_resamples)
    labels = np.zeros(n, dtype=np.int64)
    if p_value <= 1 - level:
        found = _kmeans(scores, count, rng)
        labels = _largest_first(labels if found is None else found)
    return Clustering(
        labels=tuple(int(label) for label in labels),
        clusters=int(labels.max()) + 1,
        silhouette=seen,
        silhouettes_of_one_cloud=clouds,
        p_value=p_value,
    )


def _best(x: NDArray[np.float64], most: int, rng: np.random.Generator) -> tuple[float, int]:
    """The highest silhouette over numbers of clusters, and that number."""
    distance = cdist(x, x)
    found = [
        (_silhouette(distance, labels), k) for k in range(2, most + 1) if (labels := _kmeans(x, k, rng)) is not None
    ]
    return max(found, default=(-1.0, 1))


def _kmeans(x: NDArray[np.float64], k: int, rng: np.random.Generator) -> NDArray[np.int64] | None:
    """The labels of the tightest of a few k-means; None where each of them lost a cluster on the way."""
    best, tightest = None, math.inf
    for _ in range(RESTARTS):
        try:
            centres, labels = kmeans2(x, k, minit="++", missing="raise", seed=rng)
        except (ClusterError, ValueError):  # fewer different points than clusters
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
    found = []
    for word, count in a.items():
        share = (count + b[word]) / (n_a + n_b)
        if count < 3 or share == 1:  # a word of every text sets none apart
            continue
        x, y = count + PRIOR * share, b[word] + PRIOR * share
        without_x, without_y = n_a + PRIOR - x, n_b + PRIOR - y
        odds = math.log(x / without_x) - math.log(y / without_y)
        z = odds / math.sqrt(1 / x + 1 / without_x + 1 / y + 1 / without_y)
        if z > 1.96:
            found.append(Term(term=word, inside=count, outside=b[word], z=z))
    return sorted(found, key=lambda term: (-term.z, term.term))[:most]


def _words(text: str) -> set[str]:
    """The different words of a text, in small letters: three letters or more, no figures."""
    return set(_WORD.findall(text.casefold()))
