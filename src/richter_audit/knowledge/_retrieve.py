"""Neighbours of a paragraph: exact, by document first and paragraph second, or among the candidates of an index."""

import dataclasses
from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from richter.errors import InputError
from richter.records import Interval, Result
from richter_audit.knowledge._device import top_k_on_accelerator
from richter_audit.knowledge._topk import top_k

__all__ = ["Recall", "Retrieval", "find_similar", "measure_recall"]

Retrieval = Literal["two-level", "exact", "index"]
Candidates = Callable[[NDArray[np.float32], int], NDArray[np.int64]]  # queries, how many -> rows, -1 where fewer
SPARE = 2  # candidates for each neighbour: an index orders them by rounded vectors
PATIENCE = 8  # candidates for each neighbour beyond which, most being left out, the whole base is read


def find_similar(
    queries: NDArray[np.float32],
    vectors: NDArray[np.floating],
    k: int,
    *,
    abstracts: NDArray[np.floating] | None = None,
    first_rows: NDArray[np.int64] | None = None,
    documents: int = 50,
    index: Candidates | None = None,
    exclude: NDArray[np.bool_] | None = None,
    accelerator: bool = True,
) -> NDArray[np.int64]:
    """FindSim of eq. (4): for each query the k rows of largest cosine (vectors are of unit length), best first.

    With `abstracts` and `first_rows` (document d holds the rows first_rows[d] to first_rows[d + 1]) in two levels, as
    section 2.1 has it: the `documents` nearest abstracts, then the nearest rows within them. Where those hold fewer
    than k rows outside `exclude`, more documents are taken, so that a search does not run dry beside full documents.
    With `index` among the candidates that it gives, ordered by their cosines; where too many of them are in `exclude`
    the query is answered by exact search. Missing neighbours are -1. On an accelerator that torch can use, and that the
    vectors fit on, whole matrices are searched there (the same rows, to rounding) unless `accelerator` is False.
    """
    if index is not None:
        return _among(queries, vectors, k, exclude, index, accelerator)
    if abstracts is None:
        return _nearest(queries, vectors, k, exclude, accelerator)
    if first_rows is None or len(first_rows) != len(abstracts) + 1:
        raise InputError("Two-level retrieval needs every document's first row.", remedy="Give `first_rows`.")
    similar = np.full((len(queries), k), -1, dtype=np.int64)
    free_rows = np.concatenate([[0], np.cumsum(~exclude)]) if exclude is not None else None
    nearest = _nearest(queries, abstracts, min(documents, len(abstracts)), None, accelerator)
    for q, query in enumerate(queries):
        chosen = nearest[q]
        while _count_rows(chosen, first_rows, free_rows) < k and len(chosen) < len(abstracts):
            chosen = _nearest(query[None], abstracts, min(4 * len(chosen), len(abstracts)), None, accelerator)[0]
        rows = np.concatenate([np.arange(first_rows[d], first_rows[d + 1]) for d in np.sort(chosen)])
        if exclude is not None:
            rows = rows[~exclude[rows]]
        best = nearest_of(query, vectors, rows, k)
        similar[q, : len(best)] = best
    return similar


def nearest_of(
    query: NDArray[np.float32], vectors: NDArray[np.floating], rows: NDArray[np.int64], k: int
) -> NDArray[np.int64]:
    """The k of the given rows with the largest products, best first, ties to the lower row."""
    scores = np.asarray(vectors[rows], dtype=np.float32) @ query
    best: NDArray[np.int64] = rows[np.lexsort((rows, -scores))[:k]]
    return best


def _among(
    queries: NDArray[np.float32],
    vectors: NDArray[np.floating],
    k: int,
    exclude: NDArray[np.bool_] | None,
    index: Candidates,
    accelerator: bool,
) -> NDArray[np.int64]:
    nearest = np.full((len(queries), k), -1, dtype=np.int64)
    left, wanted = np.arange(len(queries)), SPARE * k
    while len(left):
        if wanted > PATIENCE * k:
            nearest[left] = _nearest(queries[left], vectors, k, exclude, accelerator)
            break
        short = []
        for q, rows in zip(left, index(queries[left], wanted), strict=True):
            rows = rows[rows >= 0]
            if exclude is not None:
                rows = rows[~exclude[rows]]
            if len(rows) < min(k, len(vectors)):
                short.append(q)
            else:
                best = nearest_of(queries[q], vectors, rows, k)
                nearest[q, : len(best)] = best
        left, wanted = np.asarray(short, dtype=np.int64), 2 * wanted
    return nearest


def _nearest(
    queries: NDArray[np.float32],
    matrix: NDArray[np.floating],
    k: int,
    exclude: NDArray[np.bool_] | None,
    accelerator: bool,
) -> NDArray[np.int64]:
    nearest = top_k_on_accelerator(queries, matrix, k, exclude) if accelerator else None
    return top_k(queries, matrix, k, exclude=exclude)[0] if nearest is None else nearest


def _count_rows(chosen: NDArray[np.int64], first_rows: NDArray[np.int64], free_rows: NDArray[np.int64] | None) -> int:
    """How many rows the chosen documents hold, those left out aside."""
    ends, starts = first_rows[chosen + 1], first_rows[chosen]
    return int((ends - starts).sum() if free_rows is None else (free_rows[ends] - free_rows[starts]).sum())


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Recall(Result):
    """The share of the exact k nearest that a retrieval finds: its mean over random paragraphs, and an interval."""

    recall: float
    interval: Interval
    queries: int
    k: int


def measure_recall(
    vectors: NDArray[np.floating],
    abstracts: NDArray[np.floating],
    first_rows: NDArray[np.int64],
    *,
    queries: int = 100,
    k: int = 50,
    documents: int = 50,
    level: float = 0.95,
    n_resamples: int = 2000,
    rng: np.random.Generator,
) -> Recall:
    """How much of the exact k nearest two-level retrieval finds on this base, from paragraphs drawn at random.

    The interval is the bootstrap's percentile interval over the drawn paragraphs.
    """
    rows = rng.choice(len(vectors), min(queries, len(vectors)), replace=False)
    asked, k = np.asarray(vectors[rows], dtype=np.float32), min(k, len(vectors))
    exact = find_similar(asked, vectors, k)
    nearest = find_similar(asked, vectors, k, abstracts=abstracts, first_rows=first_rows, documents=documents)
    shares = np.array([len(set(a) & set(b)) / k for a, b in zip(exact.tolist(), nearest.tolist(), strict=True)])
    means = shares[rng.integers(len(shares), size=(n_resamples, len(shares)))].mean(axis=1)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    interval = Interval(low=float(low), high=float(high), level=level, method="percentile bootstrap")
    return Recall(recall=float(shares.mean()), interval=interval, queries=len(rows), k=k)
