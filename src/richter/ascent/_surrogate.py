"""A Gaussian-process surrogate of the error over embeddings and categories, searched by Thompson sampling."""

import numpy as np
from numpy.typing import NDArray

from richter.ascent._field import Field

__all__ = ["propose_bayes"]

SCALES = (0.1, 0.3, 1.0)  # of (1 - cosine); which one the data bear out is asked anew at every step
NOISES = (0.03, 0.1)
SPREAD = 0.1  # prior variance of the error over the base
CANDIDATES = 2000  # those with the highest upper limits are compared by a joint draw
BLOCK = 65536


def propose_bayes(field: Field, count: int, rng: np.random.Generator) -> list[int]:
    """The paragraphs that come out highest in joint draws from the posterior of the error field.

    The error of a paragraph is taken as m + f(x) + noise with f a Gaussian process whose covariance is
    SPREAD (0.7 exp(-(1 - cosine) / scale) + 0.3 [same category]); scale and noise are the pair with the highest
    marginal likelihood on a small grid, m the mean error seen. All free paragraphs get a posterior mean and variance;
    the best `CANDIDATES` by mean + one standard deviation are drawn jointly `count` times, and each draw gives its
    highest paragraph that is not taken (Thompson sampling: uncertain regions are tried in proportion to the chance
    that they are the worst).
    """
    seen = [row for row, error in field.errors.items() if not np.isnan(error)]
    free = np.flatnonzero(field.free)
    if not seen or len(free) <= count:
        return [int(row) for row in rng.permutation(free)[:count]]
    x = np.asarray(field.vectors[seen], dtype=np.float64)
    codes = field.codes[seen]
    y = np.array([field.errors[row] for row in seen])
    mean = float(y.mean())
    cosine, same = x @ x.T, codes[:, None] == codes[None, :]
    scale, factor = _fit(cosine, same, y - mean)
    weights = _solve(factor, y - mean)
    best = _candidates(field, free, x, codes, weights, factor, scale)
    z = np.asarray(field.vectors[best], dtype=np.float64)
    cross = _kernel(z @ x.T, field.codes[best][:, None] == codes[None, :], scale)
    half = np.linalg.solve(factor, cross.T)
    own = _kernel(z @ z.T, field.codes[best][:, None] == field.codes[best][None, :], scale)
    covariance = own - half.T @ half + 1e-8 * np.eye(len(best))
    draws = (cross @ weights)[:, None] + np.linalg.cholesky(covariance) @ rng.standard_normal((len(best), count))
    chosen: dict[int, None] = {}
    for draw in draws.T:
        for i in np.argsort(-draw):
            if int(best[i]) not in chosen:
                chosen[int(best[i])] = None
                break
    return list(chosen)


def _kernel(cosine: NDArray[np.float64], same: NDArray[np.bool_], scale: float) -> NDArray[np.float64]:
    return SPREAD * (0.7 * np.exp((cosine - 1) / scale) + 0.3 * same)


def _solve(factor: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.linalg.solve(factor.T, np.linalg.solve(factor, y)))


def _fit(
    cosine: NDArray[np.float64], same: NDArray[np.bool_], y: NDArray[np.float64]
) -> tuple[float, NDArray[np.float64]]:
    """The scale of the highest marginal likelihood, over noises too, and the Cholesky factor of its covariance."""
    found = []
    for scale in SCALES:
        kernel = _kernel(cosine, same, scale)
        for noise in NOISES:
            factor: NDArray[np.float64] = np.asarray(np.linalg.cholesky(kernel + noise * np.eye(len(y))))
            fit = float(np.square(np.linalg.solve(factor, y)).sum()) / 2
            found.append((-fit - float(np.log(np.diag(factor)).sum()), scale, factor))
    _, scale, factor = max(found, key=lambda row: row[0])
    return scale, factor


def _candidates(
    field: Field,
    free: NDArray[np.int64],
    x: NDArray[np.float64],
    codes: NDArray[np.int64],
    weights: NDArray[np.float64],
    factor: NDArray[np.float64],
    scale: float,
) -> NDArray[np.int64]:
    """The free paragraphs with the highest posterior mean plus one standard deviation, in blocks."""
    inverse = np.linalg.inv(factor).astype(np.float32)
    x32, w32 = x.astype(np.float32), weights.astype(np.float32)
    upper = np.empty(len(free), dtype=np.float32)
    rows_at_once = max(1, BLOCK * 64 // len(x))
    for start in range(0, len(free), rows_at_once):
        rows = free[start : start + rows_at_once]
        cosine = np.asarray(field.vectors[rows], dtype=np.float32) @ x32.T
        same = field.codes[rows][:, None] == codes[None, :]
        cross = (SPREAD * (0.7 * np.exp((cosine - 1) / scale) + 0.3 * same)).astype(np.float32)
        variance = SPREAD - np.square(cross @ inverse.T).sum(axis=1)
        upper[start : start + rows_at_once] = cross @ w32 + np.sqrt(np.maximum(variance, 0))
    keep = min(CANDIDATES, len(free))
    return free[np.sort(np.argpartition(-upper, keep - 1)[:keep])]
