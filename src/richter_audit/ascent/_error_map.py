"""Where the paragraphs of a search lie: their vectors in the plane of their base, by t-SNE or principal components."""

import contextlib
import dataclasses
import hashlib
import json
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from richter.errors import StorageError, TooFewErrors
from richter.records import Result
from richter.store import write_file

__all__ = ["ErrorMap", "map_vectors"]

SMALLEST = 10
TSNE_SMALLEST = 50  # below: nothing to unfold
LANDMARKS = 500  # paragraphs of the base that span its plane
AROUND = 3  # landmarks between which a paragraph is placed
NEIGHBOURS = 10
ITERATIONS = 500  # of t-SNE: as many neighbours are kept as after 1,000
PLANE = "plane.json"  # of a base: where t-SNE places the paragraphs that span its plane
CHECKED = 1000  # points by which the neighbourhoods are checked, at most

Method = Literal["pca", "tsne"]


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
    folder: Path | None = None,
    method: Method | None = None,
    rng: np.random.Generator,
) -> ErrorMap:
    """Place unit vectors in the plane of their base, by the method that fits its size unless one is named.

    The plane is that of up to 500 of the base's vectors, drawn by a fixed seed: a vector's place depends on the base
    alone, so that searches and models of one base share a plane. By t-SNE (the paper's figures 5 and 6) where
    scikit-learn is installed and the base has 50 vectors or more; there a vector lies between its three nearest of the
    plane, weighted by the inverse square of their distance. By their principal components otherwise. What t-SNE found
    is kept in `folder`, the base's own, and read from there the next time.
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
        placed, distance = _read_or_fit_plane(marks, folder), scipy.spatial.distance.cdist(x, marks)
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
    if find_spec("sklearn") is None:
        return "pca", "scikit-learn is not installed (pip install 'richter[map]')"
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


def _read_or_fit_plane(marks: NDArray[np.float64], folder: Path | None) -> NDArray[np.float64]:
    """Where t-SNE places the paragraphs that span a plane: from the base's folder where it was done before."""
    if folder is None:
        return _fit_tsne(marks)
    source = hashlib.sha256(np.ascontiguousarray(marks).tobytes()).hexdigest()
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        known = json.loads((folder / PLANE).read_bytes())
        placed = np.asarray(known["points"], dtype=np.float64)
        if known["source"] == source and placed.shape == (len(marks), 2) and np.isfinite(placed).all():
            return placed
    placed = _fit_tsne(marks)
    with contextlib.suppress(StorageError, OSError):  # a base that cannot be written to is placed anew each time
        write_file(folder / PLANE, json.dumps({"source": source, "points": placed.tolist()}))
    return placed


def _fit_tsne(x: NDArray[np.float64]) -> NDArray[np.float64]:
    from sklearn.manifold import TSNE

    tsne = TSNE(n_components=2, perplexity=min(30.0, (len(x) - 1) / 3), init="pca", random_state=0, max_iter=ITERATIONS)
    return np.asarray(tsne.fit_transform(x), dtype=np.float64)


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
