"""Exact top-k by inner product, in blocks that stay inside a memory bound."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from richter.errors import InputError

__all__ = ["top_k"]

BLOCK_BYTES = 32 * 2**20  # scores and converted rows of one block, at most
GROUP = 64  # scores that are looked at together


class Nearest(NamedTuple):
    """The rows nearest to each query, and their scores."""

    rows: NDArray[np.int64]
    scores: NDArray[np.float32]


def top_k(
    queries: NDArray[np.float32],
    matrix: NDArray[np.floating],
    k: int,
    *,
    exclude: NDArray[np.bool_] | None = None,
    block_bytes: int = BLOCK_BYTES,
) -> Nearest:
    """The rows of `matrix` with the k largest products with each query, best first, ties to the lower row.

    Returns (rows, scores), each queries x k; where fewer than k rows are left after `exclude`, the rest is -1 and
    -inf. The matrix is read once, block by block (a memory map is never loaded whole): after the first block only
    scores above a query's k-th best so far are looked at again, so that the cost is one matrix product and one
    comparison a score.
    """
    n, dim = matrix.shape
    if k < 1:
        raise InputError(f"k = {k} is not a number of neighbours.", remedy="Ask for at least 1.")
    if queries.ndim != 2 or queries.shape[1] != dim:
        raise InputError(
            f"Queries of shape {queries.shape} do not fit vectors of {dim} dimensions.",
            remedy="Embed both with the same model.",
        )
    m = len(queries)
    queries = np.ascontiguousarray(queries, dtype=np.float32)
    converts = matrix.dtype != np.float32
    rows_at_once = max(k, block_bytes // (4 * (m + dim * converts)) if m else n)
    best = np.full((m, k), -1, dtype=np.int64)
    score = np.full((m, k), -np.inf, dtype=np.float32)
    for start in range(0, n, rows_at_once):
        stop = min(n, start + rows_at_once)
        block = np.asarray(matrix[start:stop], dtype=np.float32)
        products = queries @ block.T
        if exclude is not None:
            products[:, exclude[start:stop]] = -np.inf
        _merge(products, start, best, score)
    return Nearest(best, score)


def _merge(products: NDArray[np.float32], start: int, best: NDArray[np.int64], score: NDArray[np.float32]) -> None:
    """Take a block's better scores into the running best, in place.

    Of every 64 scores only the largest is compared with a query's floor, its k-th best so far; where there is none
    yet, the k-th largest of those is one, since k scores at least reach it.
    """
    m, width = products.shape
    k, whole = best.shape[1], width - width % GROUP
    largest = products[:, :whole].reshape(m, whole // GROUP, GROUP).max(axis=2)
    tail = np.arange(whole, width)
    for q in range(m):
        floor = score[q, -1]
        if np.isneginf(floor) and largest.shape[1] > k:
            floor = np.nextafter(np.partition(largest[q], -k)[-k], np.float32(-np.inf))
        groups = np.flatnonzero(largest[q] > floor)
        columns = np.concatenate([(groups[:, None] * GROUP + np.arange(GROUP)).ravel(), tail])
        columns = columns[products[q, columns] > floor]
        if len(columns):
            scores = np.concatenate([score[q], products[q, columns]])
            rows = np.concatenate([best[q], columns + start])
            order = np.lexsort((rows, -scores))[:k]
            best[q], score[q] = rows[order], scores[order]
