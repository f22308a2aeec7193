"""Exact top-k by inner product on an accelerator, over a matrix held there in half precision (extra `gpu`)."""

import torch

from richter.errors import InputError

GROUP = 64  # rows whose best product is kept in the first pass
BLOCK_ROWS = 1_600_000  # products of one block: 128 MB for 40 queries
SCORED_FLOATS = 2**28  # entries of the rows that are scored in float32 at a time: 1 GiB
PATIENCE = 40  # groups for each neighbour before the rows left out are looked at first


def top_k_on_device(
    queries: torch.Tensor, matrix: torch.Tensor, k: int, *, exclude: torch.Tensor | None = None, longest: float = 1.0
) -> tuple[torch.Tensor, torch.Tensor]:
    """The rows of `matrix` with the k largest products with each query, best first, ties to the lower row.

    `queries` (m x d, float32) and `matrix` (n x d, float16, no row longer than `longest`) lie on one device. The
    matrix is read once: products in half precision, of which only the best of each group of 64 rows is kept. The rows
    of the best groups are then scored in float32. The half-precision products are off by at most a bound e that is
    computed here; when the k-th best float32 score is not e above the best group left out, more groups are taken, so
    that the result is exact and not only likely. Returns (rows, scores), each m x k.
    """
    n, dim = matrix.shape
    if queries.ndim != 2 or queries.shape[1] != dim:
        raise InputError(
            f"Queries of shape {tuple(queries.shape)} do not fit vectors of {dim} dimensions.",
            remedy="Embed both with the same model.",
        )
    if not 1 <= k <= n:
        raise InputError(f"k = {k} is not between 1 and the {n} rows.", remedy="Ask for fewer neighbours.")
    half = queries.to(matrix.dtype)
    # without leaving rows out the best of a group is an upper bound, and the pass over all products is spared
    best, bound = _best_of_groups(half, matrix, None)
    # rounding of the query, of the product itself, and of the sum that makes it
    slack = longest * ((queries - half.float()).norm(dim=1) + bound * 2.0**-10 + dim * 2.0**-24)
    masked, wanted = exclude is None, k + 30
    while True:
        wanted = min(wanted, best.shape[0])
        values, groups = best.topk(wanted, dim=0)
        rows, scores = _score(queries, matrix, groups.T, exclude, k)
        left_out = values[-1].float() if wanted < best.shape[0] else torch.full_like(slack, -torch.inf)
        if bool((scores[:, -1] >= left_out + slack).all()) or wanted == best.shape[0]:
            return rows, scores
        wanted *= 4
        if not masked and wanted > PATIENCE * k:  # too many of the best are left out: say so to the groups
            best, _ = _best_of_groups(half, matrix, exclude)
            masked, wanted = True, k + 30


def _best_of_groups(
    half: torch.Tensor, matrix: torch.Tensor, exclude: torch.Tensor | None
) -> tuple[torch.Tensor, torch.Tensor]:
    """The best product of every group of rows with every query (groups x m), and the largest in size a query."""
    n = matrix.shape[0]
    best = torch.empty(-(-n // GROUP), half.shape[0], dtype=matrix.dtype, device=matrix.device)
    for start in range(0, n, BLOCK_ROWS):
        stop = min(n, start + BLOCK_ROWS)
        products = matrix[start:stop] @ half.T
        if exclude is not None:
            products.masked_fill_(exclude[start:stop, None], -torch.inf)
        short = -(stop - start) % GROUP
        if short:  # the last group is filled up with what can never be best
            products = torch.nn.functional.pad(products, (0, 0, 0, short), value=-torch.inf)
        groups = products.view(-1, GROUP, half.shape[0])
        torch.amax(groups, dim=1, out=best[start // GROUP : -(-stop // GROUP)])
    largest = best.float().masked_fill(best.isinf(), 0).abs().amax(dim=0)
    return best, largest


def _score(
    queries: torch.Tensor, matrix: torch.Tensor, groups: torch.Tensor, exclude: torch.Tensor | None, k: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """The k best rows of the given groups (m x groups) by float32 products."""
    each = max(1, SCORED_FLOATS // (groups.shape[1] * GROUP * matrix.shape[1]))
    parts = [
        _score_some(queries[start : start + each], matrix, groups[start : start + each], exclude, k)
        for start in range(0, len(queries), each)
    ]
    return torch.cat([rows for rows, _ in parts]), torch.cat([scores for _, scores in parts])


def _score_some(
    queries: torch.Tensor, matrix: torch.Tensor, groups: torch.Tensor, exclude: torch.Tensor | None, k: int
) -> tuple[torch.Tensor, torch.Tensor]:
    n = matrix.shape[0]
    rows = (groups.sort(dim=1).values[:, :, None] * GROUP + torch.arange(GROUP, device=groups.device)).flatten(1)
    inside = rows.clamp(max=n - 1)
    candidates = matrix[inside.flatten()].view(*rows.shape, -1).float()
    scores = torch.bmm(candidates, queries[:, :, None]).squeeze(2)
    scores = scores.masked_fill(rows >= n, -torch.inf)
    if exclude is not None:
        scores = scores.masked_fill(exclude[inside], -torch.inf)
    order = scores.sort(dim=1, descending=True, stable=True)
    return rows.gather(1, order.indices[:, :k]), order.values[:, :k]
