"""Where the paragraphs of a search lie: their vectors in the plane of their base, by t-SNE or principal components."""

import dataclasses
from typing import Literal

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from richter.errors import TooFewErrors
from richter.records import Result

__all__ = ["ErrorMap", "map_vectors"]

SMALLEST = 10
TSNE_SMALLEST = 50  # below: nothing to unfold
LANDMARKS = 500  # paragraphs of the base that span its plane
AROUND = 3  # landmarks between which a paragraph is placed
NEIGHBOURS = 10
PERPLEXITY = 30.0  # of t-SNE: about how many neighbours a paragraph has
ITERATIONS, EXAGGERATED = 250, 60  # of t-SNE: as many neighbours are kept as after 500
CHECKED = 1000  # points by which the neighbourhoods are checked, at most

Method = Literal["pca", "tsne"]
Floats = NDArray[np.float64]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ErrorMap(Result):
    """Points in two dimensions, and how far they can be trusted.

    `kept_neighbours` is the share of a point's ten nearest neighbours by cosine that are among its ten nearest on the
    map (chance alone: 10 / (n - 1)). `explained` is the share of the base's variance that two principal components
    carry, None for t-SNE, whose distances between far points mean nothing. `why` says how the method was chosen.
    """

    method: Method
    why: str
    points: tuple[tuple[float, float], ...]
    kept_neighbours: float
    explained: float | None


def map_vectors(
    vectors: ArrayLike,
    *,
    base: NDArray[np.floating],
    method: Method | None = None,
    rng: np.random.Generator,
) -> ErrorMap:
    """Place unit vectors in the plane of their base, by the method that fits its size unless one is named.

    The plane is that of up to 500 of the base's vectors, drawn by a fixed seed: a vector's place depends on the base
    alone, so that searches and models of one base share a plane. By t-SNE (the paper's figures 5 and 6) where the base
    has 50 vectors or more; there a vector lies between its three nearest of the plane, weighted by the inverse square
    of their distance. By their principal components otherwise.
    """
    x = np.asarray(vectors, dtype=np.float64)
    if len(x) < SMALLEST:
        raise TooFewErrors(f"{len(x)} paragraphs are too few for a map.", n=len(x), needed=SMALLEST)
    drawn = np.sort(np.random.default_rng(0).permutation(len(base))[:LANDMARKS])
    marks = np.asarray(base[drawn], dtype=np.float64)
    method, why = _choose(len(base)) if method is None else (method, "asked for")
    explained = None
    if method == "pca":
        directions, shares = _directions(marks, 2)
        points, explained = (x - marks.mean(axis=0)) @ directions, float(shares.sum())
    else:
        placed, distance = _fit_tsne(marks), scipy.spatial.distance.cdist(x, marks)
        near = np.argsort(distance, axis=1, kind="stable")[:, :AROUND]
        weights = 1 / (np.take_along_axis(distance, near, axis=1) ** 2 + 1e-9)
        points = (weights[:, :, None] * placed[near]).sum(axis=1) / weights.sum(axis=1, keepdims=True)
    return ErrorMap(
        method=method,
        why=why,
        points=tuple((float(a), float(b)) for a, b in points),
        kept_neighbours=_share_kept(x, points, rng),
        explained=explained,
    )


def _choose(n: int) -> tuple[Method, str]:
    if n < TSNE_SMALLEST:
        return "pca", f"{n} paragraphs are fewer than t-SNE needs ({TSNE_SMALLEST})"
    return "tsne", f"{min(n, LANDMARKS):,} paragraphs of the base"


def _directions(x: NDArray[np.float64], count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The first components of the rows, as columns: of each the sign that makes its largest loading positive."""
    centred = x - x.mean(axis=0)
    values, directions = np.linalg.eigh(centred.T @ centred)
    values, directions = np.maximum(values[::-1][:count], 0), directions[:, ::-1][:, :count]
    largest = np.abs(directions).argmax(axis=0)
    directions = directions * np.where(directions[largest, np.arange(directions.shape[1])] < 0, -1.0, 1.0)
    total = float(np.square(centred).sum())
    return directions, values / total if total else np.zeros(len(values))


def _fit_tsne(x: Floats) -> Floats:
    """The rows in a plane by exact t-SNE (van der Maaten and Hinton 2008), from their principal components."""
    together = np.float32(_neighbour_shares(scipy.spatial.distance.cdist(x, x, "sqeuclidean")))
    start = (x - x.mean(axis=0)) @ _directions(x, 2)[0]
    points = np.float32(start / max(start[:, 0].std(), 1e-12) * 1e-4)
    step, gains = np.zeros_like(points), np.ones_like(points)
    rate = max(len(x) / 48, 50.0)
    for iteration in range(ITERATIONS):
        pull, momentum = (12.0, 0.5) if iteration < EXAGGERATED else (1.0, 0.8)
        near = 1 / (1 + scipy.spatial.distance.cdist(points, points, "sqeuclidean").astype(np.float32))
        np.fill_diagonal(near, 0)
        force = (pull * together - near / near.sum()) * near
        slope = 4 * (force.sum(axis=1, keepdims=True) * points - force @ points)
        gains = np.maximum(np.where(slope * step < 0, gains + 0.2, gains * 0.8), 0.01)
        step = momentum * step - rate * gains * slope
        points = points + step
    return np.asarray(points, dtype=np.float64)


def _neighbour_shares(squared: Floats) -> Floats:
    """How much each pair of rows are neighbours: a Gaussian round each row, as wide as the perplexity asks."""
    n = len(squared)
    away = squared + np.diag(np.full(n, np.inf))
    away -= away.min(axis=1, keepdims=True)
    low, high = np.full(n, 1e-3), np.full(n, 1e5)
    shares, wanted = away, np.log(min(PERPLEXITY, (n - 1) / 3))
    for _ in range(40):
        precision = np.sqrt(low * high)
        shares = np.exp(-precision[:, None] * away)
        shares /= shares.sum(axis=1, keepdims=True)
        wide = scipy.special.entr(shares).sum(axis=1) > wanted
        low, high = np.where(wide, precision, low), np.where(wide, high, precision)
    return np.asarray((shares + shares.T) / (2 * n), dtype=np.float64)


def _share_kept(x: NDArray[np.float64], points: NDArray[np.float64], rng: np.random.Generator) -> float:
    n = len(x)
    rows = rng.choice(n, min(n, CHECKED), replace=False)
    k = min(NEIGHBOURS, n - 2)
    near = _nearest(x, rows, k)
    on_map = _nearest(points, rows, k)
    return float(np.mean([len(set(a) & set(b)) / k for a, b in zip(near.tolist(), on_map.tolist(), strict=True)]))


def _nearest(x: NDArray[np.float64], rows: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    distance = scipy.spatial.distance.cdist(x[rows], x)  # of unit vectors: the order of the cosine
    distance[np.arange(len(rows)), rows] = np.inf
    return np.argsort(distance, axis=1, kind="stable")[:, :k]
