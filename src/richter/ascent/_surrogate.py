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


def propose_bayes(field: Field, count: int, rng: np.random.Generator, *, cover: bool = False) -> list[int]:
    """The paragraphs that come out highest in joint draws from the posterior of the error field.

    The error of a paragraph is taken as m + f(x) + noise, with f a Gaussian process of covariance
    SPREAD (0.7 exp(-(1 - cosine) / scale) + 0.3 [same category]) and m the mean error seen; scale and noise are the
    pair with the highest marginal likelihood on a small grid. Looked at are 20,000 free paragraphs drawn anywhere and
    the neighbours of the evaluated paragraphs whose posterior error is highest, so that a step costs the same on any
    base; the 1,000 of the highest posterior mean are drawn jointly `count` times, and each draw gives its highest
    paragraph that is not taken yet (Thompson sampling: a region is tried in proportion to the chance that it is the
    worst).

    With `cover` a paragraph's gain is what it adds to the sum over the field of 2 sqrt(1 + errors near): its expected
    error over the root of 1 + the errors found near by, where near is a share of a half by the same category and of a
    half by the same kernel of the cosine. Found counts for 1, a place of the same batch for its own expected error, so
    that returns within a region diminish and a batch spreads over regions. Then what is looked at is drawn anywhere,
    not around the worst, and the expected error is used, not a draw: spreading explores.
    """
    seen = np.array([row for row, error in field.errors.items() if not np.isnan(error)], dtype=np.int64)
    free = np.flatnonzero(field.free)
    if not len(seen) or len(free) <= count:
        return [int(row) for row in rng.permutation(free)[:count]]
    share = min(1.0, LEARNT / len(seen))
    if share < 1:
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

    worst = seen[np.argsort(-(_kernel(cosine, same, scale) @ weights), kind="stable")[:NEAR_SOURCES]]
    around = () if cover else field.neighbours([int(row) for row in worst], NEAR).values()
    pool = np.unique(np.concatenate([*around, rng.choice(free, min(FAR, len(free)), replace=False)]))
    gain = _cross(field, pool, x, codes, scale) @ weights
    failing = seen[y + level > FAILS] if cover else seen[:0]
    if cover:
        gain = np.clip(gain + level, FLOOR, 1) / np.sqrt(1 + _near(field, pool, failing, scale).sum(axis=1) / share)
    best = pool[np.argsort(-gain, kind="stable")[:CANDIDATES]]

    cross = _cross(field, best, x, codes, scale)
    if cover:
        mean = np.clip(cross @ weights + level, FLOOR, 1)
        return _spread(field, best, mean, count, _near(field, best, failing, scale).sum(axis=1) / share, scale)
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
    field: Field,
    rows: NDArray[np.int64],
    mean: NDArray[np.float64],
    count: int,
    covered: NDArray[np.float64],
    scale: float,
) -> list[int]:
    """One after another the row of the highest gain, given the errors found and those expected of rows before."""
    between = _near(field, rows, rows, scale)
    taken: list[int] = []
    for _ in range(min(count, len(rows))):
        gain = mean / np.sqrt(1 + covered)
        gain[taken] = -1
        taken.append(int(np.argmax(gain)))
        covered = covered + mean[taken[-1]] * between[:, taken[-1]]
    return [int(rows[i]) for i in taken]


def _near(field: Field, rows: NDArray[np.int64], others: NDArray[np.int64], scale: float) -> NDArray[np.float64]:
    """How near rows are to others: 1 at the same place, a half in the same category far away."""
    x = np.asarray(field.vectors[others], dtype=np.float64)
    cosine = np.asarray(field.vectors[rows], dtype=np.float64) @ x.T
    return np.asarray(0.5 * np.exp((cosine - 1) / scale) + 0.5 * (field.codes[rows][:, None] == field.codes[others]))


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
