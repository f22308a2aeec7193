"""Where the failing paragraphs lie: their vectors in two dimensions, by t-SNE or principal components."""

import dataclasses
from importlib.util import find_spec
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist

from richter.errors import TooFewErrors
from richter.records import Result

__all__ = ["ErrorMap", "map_vectors"]

SMALLEST = 10
TSNE_SMALLEST, TSNE_LARGEST = 50, 2000  # below: nothing to unfold; above: minutes
NEIGHBOURS = 10
CHECKED = 1000  # points by which the neighbourhoods are checked, at most

Method = Literal["pca", "tsne"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ErrorMap(Result):
    """Points in two dimensions, and how far they can be trusted.

    `kept_neighbours` is the share of a point's ten nearest neighbours by cosine that are among its ten nearest on the
    map (chance alone: 10 / (n - 1)). `explained` is the share of the vectors' variance that two principal components
    carry, None for t-SNE, whose distances between far points mean nothing. `why` says how the method was chosen.
    """

    method: Method
    why: str
    points: tuple[tuple[float, float], ...]
    kept_neighbours: float
    explained: float | None


def map_vectors(vectors: ArrayLike, *, method: Method | None = None, rng: np.random.Generator) -> ErrorMap:
    """Place unit vectors in the plane, by the method that fits their number unless one is named.

    t-SNE for 50 to 2,000 points where scikit-learn is installed (the paper's figures 5 and 6), principal components
    otherwise: fewer points have no neighbourhoods to unfold, and for more it takes minutes.
    """
    x = np.asarray(vectors, dtype=np.float64)
    n = len(x)
    if n < SMALLEST:
        raise TooFewErrors(f"{n} failing paragraphs are too few for a map.", n=n, needed=SMALLEST)
    if method is None:
        method, why = _choose(n)
    else:
        why = "asked for"
    explained = None
    if method == "pca":
        scores, shares = principal_components(x, 2)
        points, explained = scores, float(shares.sum())
    else:
        points = _tsne(x, rng)
    return ErrorMap(
        method=method,
        why=why,
        points=tuple((float(a), float(b)) for a, b in points),
        kept_neighbours=_kept(x, points, rng),
        explained=explained,
    )


def _choose(n: int) -> tuple[Method, str]:
    if n < TSNE_SMALLEST:
        return "pca", f"{n} points are fewer than t-SNE needs ({TSNE_SMALLEST})"
    if n > TSNE_LARGEST:
        return "pca", f"{n} points are more than t-SNE places in good time ({TSNE_LARGEST})"
    if find_spec("sklearn") is None:
        return "pca", "scikit-learn is not installed (pip install 'richter[map]')"
    return "tsne", f"{n} points"


def principal_components(x: NDArray[np.float64], count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The scores of the rows on the first `count` components, and the share of the variance that each carries.

    A component's sign is the one that makes its largest loading positive, so that a map is the same everywhere.
    """
    centred = x - x.mean(axis=0)
    values, directions = np.linalg.eigh(centred.T @ centred)
    values, directions = np.maximum(values[::-1][:count], 0), directions[:, ::-1][:, :count]
    largest = np.abs(directions).argmax(axis=0)
    directions = directions * np.where(directions[largest, np.arange(directions.shape[1])] < 0, -1.0, 1.0)
    total = float(np.square(centred).sum())
    return centred @ directions, values / total if total else np.zeros(len(values))


def _tsne(x: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    from sklearn.manifold import TSNE

    placed = TSNE(
        n_components=2, perplexity=min(30.0, (len(x) - 1) / 3), init="pca", random_state=int(rng.integers(2**31 - 1))
    ).fit_transform(x)
    return np.asarray(placed, dtype=np.float64)


def _kept(x: NDArray[np.float64], points: NDArray[np.float64], rng: np.random.Generator) -> float:
    n = len(x)
    rows = rng.choice(n, min(n, CHECKED), replace=False)
    k = min(NEIGHBOURS, n - 2)
    near = _nearest(x, rows, k)
    on_map = _nearest(points, rows, k)
    return float(np.mean([len(set(a) & set(b)) / k for a, b in zip(near.tolist(), on_map.tolist(), strict=True)]))


def _nearest(x: NDArray[np.float64], rows: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    distance = cdist(x[rows], x)  # of unit vectors: the order of the cosine
    distance[np.arange(len(rows)), rows] = np.inf
    return np.argsort(distance, axis=1, kind="stable")[:, :k]
