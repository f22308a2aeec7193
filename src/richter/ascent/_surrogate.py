"""A Gaussian-process surrogate of the error over embeddings and categories, searched by Thompson sampling."""

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, solve_triangular

from richter.ascent._field import Field

SCALES = (0.1, 0.3, 1.0)  # of (1 - cosine); which one the data bear out is asked anew at every step
NOISES = (0.03, 0.1)
SPREAD = 0.1  # prior variance of the error over the base
LEARNT, FITTED = (
    600,
    300,
)  # evaluated paragraphs that it learns from, and that choose its scale: cost grows with the cube
FAR, NEAR_SOURCES, NEAR = 20_000, 200, 50  # free paragraphs looked at: anywhere, and around the worst so far
FAILS, FLOOR = 0.5, 0.01  # an error that counts as found; the least that is hoped for anywhere
CANDIDATES = 1000  # of those, the ones compared by joint draws
POWERS = (2.0, 1.5, 1.0, 0.75, 0.5, 0.25, 0.0)  # how fast returns within a region diminish
KEPT = 0.8  # of the errors an ascent would find in as many paragraphs: what spreading may cost
REGIONS = 10  # categories below which regions are cells of the vectors, five times as many


def propose_bayes(field: Field, count: int, rng: np.random.Generator, *, cover: bool = False) -> list[int]:
    """The paragraphs that come out highest in joint draws from the posterior of the error field.

    The error of a paragraph is taken as m + f(x) + noise, with f a Gaussian process of covariance
    SPREAD (0.7 exp(-(1 - cosine) / scale) + 0.3 [same category]) and m the mean error seen; scale and noise are the
    pair with the highest marginal likelihood on a small grid. Looked at are 20,000 free paragraphs drawn anywhere and
    the neighbours of the evaluated paragraphs whose posterior error is highest, so that a step costs the same on any
    base; the 1,000 of the highest posterior mean are drawn jointly `count` times, and each draw gives its highest
    paragraph that is not taken yet (Thompson sampling: a region is tried in proportion to the chance that it is the
    worst).

    With `cover` the aim is many kinds of failure: each place goes to the paragraph of the highest expected error over
    (1 + errors found in its region)^g, the batch's earlier places counting with their own expected errors. g is the
    largest of a few powers with which the batch is still expected to hold four fifths of the errors that the ascent
    of the paper would find (a draw from the neighbours of the failing ones), 0 (the most errors) where none does. What
    is looked at is not drawn around the worst, and the expected error is used, not a draw: spreading explores.
    """
    seen = np.array([row for row, error in field.errors.items() if not np.isnan(error)], dtype=np.int64)
    free = np.flatnonzero(field.free)
    if not len(seen) or len(free) <= count:
        return [int(row) for row in rng.permutation(free)[:count]]
    failing = np.array([row for row in seen if field.errors[int(row)] > FAILS], dtype=np.int64)
    if len(seen) > LEARNT:
        seen = rng.choice(seen, LEARNT, replace=False)
    x, codes = np.asarray(field.vectors[seen], dtype=np.float64), field.codes[seen]
    y = np.array([field.errors[int(row)] for row in seen])
    level = float(y.mean())
    y -= level
    cosine, same = x @ x.T, codes[:, None] == codes[None, :]
    some = rng.choice(len(seen), FITTED, replace=False) if len(seen) > FITTED else np.arange(len(seen))
    scale, noise = _fit(cosine[np.ix_(some, some)], same[np.ix_(some, some)], y[some])
    factor = np.linalg.cholesky(_kernel(cosine, same, scale) + noise * np.eye(len(y)))
    weights = cho_solve((factor, True), y)

    if cover:
        near = field.neighbours([int(row) for row in rng.permutation(failing)[:NEAR_SOURCES]], NEAR)
        union = np.unique(np.concatenate([*near.values(), free[:0]]))
        pool = np.unique(np.concatenate([union, rng.choice(free, min(FAR, len(free)), replace=False)]))
        mean = np.clip(_cross(field, pool, x, codes, scale) @ weights + level, FLOOR, 1)
        wanted = KEPT * float(mean[np.isin(pool, union)].mean()) if len(union) else 0.0
        return [int(row) for row in pool[_spread(mean, *_regions(field, pool, failing), count, wanted)]]
    worst = seen[np.argsort(-(_kernel(cosine, same, scale) @ weights), kind="stable")[:NEAR_SOURCES]]
    around = field.neighbours([int(row) for row in worst], NEAR).values()
    pool = np.unique(np.concatenate([*around, rng.choice(free, min(FAR, len(free)), replace=False)]))
    best = pool[np.argsort(-(_cross(field, pool, x, codes, scale) @ weights), kind="stable")[:CANDIDATES]]
    cross = _cross(field, best, x, codes, scale)
    half = solve_triangular(factor, cross.T, lower=True)
    own = _cross(field, best, np.asarray(field.vectors[best], dtype=np.float64), field.codes[best], scale)
    spread = np.linalg.cholesky(own - half.T @ half + 1e-6 * np.eye(len(best)))
    draws = (cross @ weights)[:, None] + spread @ rng.standard_normal((len(best), count))
    chosen: dict[int, None] = {}
    for draw in draws.T:
        ranked = best[np.argsort(-draw, kind="stable")[: count + 1]]  # one of count + 1 is always free
        chosen[next(int(row) for row in ranked if int(row) not in chosen)] = None
    return list(chosen)


def _spread(
    mean: NDArray[np.float64],
    region: NDArray[np.int64],
    found: NDArray[np.float64],
    count: int,
    wanted: float,
) -> NDArray[np.int64]:
    """Places of rows with expected errors and regions, as spread over regions as `wanted` errors a row allow."""
    for power in POWERS:
        errors, taken, gain = found.copy(), np.empty(min(count, len(mean)), dtype=np.int64), mean / (
            1 + found[region]
        ) ** power  # fmt: skip
        for i in range(len(taken)):
            taken[i] = best = int(np.argmax(gain))
            own = region == region[best]
            errors[region[best]] += mean[best]
            gain[own] = np.where(gain[own] < 0, -1, mean[own] / (1 + errors[region[best]]) ** power)
            gain[best] = -1
        if mean[taken].mean() >= wanted:
            break
    return taken


def _regions(
    field: Field, rows: NDArray[np.int64], failing: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The region of each row and the errors found in each region: categories, or cells of the vectors if few."""
    region, errors = field.codes[rows], field.codes[failing]
    if len(np.unique(region)) < REGIONS:
        centres = np.asarray(
            field.vectors[np.random.default_rng(0).permutation(len(field.codes))[: 5 * REGIONS]], dtype=np.float64
        )
        region, errors = (
            (np.asarray(field.vectors[some], dtype=np.float64) @ centres.T).argmax(axis=1) for some in (rows, failing)
        )
    size = int(max(region.max(), errors.max(initial=0))) + 1
    return region, np.bincount(errors, minlength=size).astype(np.float64)


def _kernel(cosine: NDArray[np.float64], same: NDArray[np.bool_], scale: float) -> NDArray[np.float64]:
    return np.asarray(SPREAD * (0.7 * np.exp((cosine - 1) / scale) + 0.3 * same))


def _cross(
    field: Field, rows: NDArray[np.int64], x: NDArray[np.float64], codes: NDArray[np.int64], scale: float
) -> NDArray[np.float64]:
    """Covariances between paragraphs and vectors x with their categories."""
    cosine = np.asarray(field.vectors[rows], dtype=np.float64) @ x.T
    return _kernel(cosine, field.codes[rows][:, None] == codes[None, :], scale)


def _fit(cosine: NDArray[np.float64], same: NDArray[np.bool_], y: NDArray[np.float64]) -> tuple[float, float]:
    """The scale and the noise of the highest marginal likelihood."""
    found = []
    for scale in SCALES:
        kernel = _kernel(cosine, same, scale)
        for noise in NOISES:
            factor = np.linalg.cholesky(kernel + noise * np.eye(len(y)))
            misfit = float(np.square(solve_triangular(factor, y, lower=True)).sum()) / 2
            found.append((-misfit - float(np.log(np.diag(factor)).sum()), scale, noise))
    return max(found)[1:]
