"""A Gaussian-process surrogate of the error over embeddings and categories, searched by Thompson sampling."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, cholesky, solve_triangular

from richter_audit.ascent._error_field import Field

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]

SCALES = (0.1, 0.3, 1.0)  # of (1 - cosine); which one the data bear out is asked now and then
NOISES = (0.03, 0.1)
SPREAD = 0.1  # prior variance of the error over the base
LEARNT = 600  # evaluated paragraphs that it learns from: cost grows with the cube
FITTED, GROWTH = 300, 1.25  # those that choose its scale, anew each time that so many times as many were evaluated
FAR, NEAR_SOURCES, NEAR = 20_000, 200, 50  # free paragraphs looked at: anywhere, and around the worst so far
FAILS, FLOOR = 0.5, 0.01  # an error that counts as found; the least that is hoped for anywhere
CANDIDATES = 300  # of those, the ones compared by joint draws
POWERS = (2.0, 1.5, 1.0, 0.75, 0.5, 0.25, 0.0)  # how fast returns within a region diminish
KEPT = 0.8  # of the errors an ascent would find in as many paragraphs: what spreading may cost
REGIONS = 10  # categories below which regions are cells of the vectors, five times as many


def propose_bayes(field: Field, count: int, rng: np.random.Generator, *, cover: bool = False) -> list[int]:
    """The paragraphs that come out highest in joint draws from the posterior of the error field.

    The error of a paragraph is taken as m + f(x) + noise, with f a Gaussian process of covariance
    SPREAD (0.7 exp(-(1 - cosine) / scale) + 0.3 [same category]) and m the mean error seen; scale and noise are the
    pair with the highest marginal likelihood on a small grid, chosen anew whenever a quarter more is known. Looked at
    are 20,000 free paragraphs drawn anywhere and the neighbours of the evaluated paragraphs whose posterior error is
    highest, so that a step costs the same on any base; the 300 of the highest posterior mean are drawn jointly
    `count` times, and each draw gives its highest paragraph that is not taken yet (Thompson sampling: a region is tried
    in proportion to the chance that it is the worst).

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
    scale, noise = _fit_kernel(field, seen)
    if len(seen) > LEARNT:
        seen = rng.choice(seen, LEARNT, replace=False)
    y = _errors(field, seen)
    level = float(y.mean())
    kernel = _kernel(field, seen, seen, scale)
    factor = _factor(kernel, noise)
    weights = cho_solve((factor, True), y - level, check_finite=False)
    posterior = _Posterior(field, seen, scale, factor, weights)
    if cover:
        return _choose_spread(posterior, free, failing, level, count, rng)
    return _choose_by_draws(posterior, free, seen[np.argsort(-(kernel @ weights), kind="stable")], count, rng)


class _Posterior(NamedTuple):
    """A Gaussian process given what was seen: the factor of its kernel, and the weights that give its mean."""

    field: Field
    seen: Rows
    scale: float
    factor: Floats
    weights: Floats

    def mean(self, rows: Rows) -> Floats:
        """The posterior mean of the error of paragraphs, less the mean error seen."""
        return _mean(self.field, rows, self.seen, self.weights, self.scale)


def _choose_spread(
    posterior: _Posterior, free: Rows, failing: Rows, level: float, count: int, rng: np.random.Generator
) -> list[int]:
    """Paragraphs of high expected error, spread over regions."""
    field = posterior.field
    near = field.neighbours([int(row) for row in rng.permutation(failing)[:NEAR_SOURCES]], NEAR)
    union = np.unique(np.concatenate([*near.values(), free[:0]]))
    pool = np.unique(np.concatenate([union, rng.choice(free, min(FAR, len(free)), replace=False)]))
    mean = np.clip(posterior.mean(pool) + level, FLOOR, 1)
    wanted = KEPT * float(mean[np.isin(pool, union)].mean()) if len(union) else 0.0
    return [int(row) for row in pool[_spread(mean, *_regions(field, pool, failing), count, wanted)]]


def _choose_by_draws(
    posterior: _Posterior, free: Rows, worst_first: Rows, count: int, rng: np.random.Generator
) -> list[int]:
    """The highest paragraph of each of `count` joint draws, no paragraph twice."""
    field, seen, scale, factor, weights = posterior
    around = field.neighbours([int(row) for row in worst_first[:NEAR_SOURCES]], NEAR).values()
    pool = np.unique(np.concatenate([*around, rng.choice(free, min(FAR, len(free)), replace=False)]))
    best = pool[np.argsort(-posterior.mean(pool), kind="stable")[:CANDIDATES]]
    cross, own = (_kernel(field, best, some, scale) for some in (seen, best))
    half = solve_triangular(factor, cross.T, lower=True)
    spread = _factor(own - half.T @ half, 1e-6)
    draws = (cross @ weights)[:, None] + spread @ rng.standard_normal((len(best), count))
    chosen: dict[int, None] = {}
    for draw in draws.T:
        ranked = best[np.argsort(-draw, kind="stable")[: count + 1]]  # one of count + 1 is always free
        chosen[next(int(row) for row in ranked if int(row) not in chosen)] = None
    return list(chosen)


def _spread(
    mean: Floats,
    region: Rows,
    before: Floats,
    count: int,
    wanted: float,
) -> Rows:
    """Places of rows with expected errors and regions, as spread over regions as `wanted` errors a row allow."""
    for power in POWERS:
        errors, taken, gain = before.copy(), np.empty(min(count, len(mean)), dtype=np.int64), mean / (
            1 + before[region]
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


def _regions(field: Field, rows: Rows, failing: Rows) -> tuple[Rows, Floats]:
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


def _errors(field: Field, rows: Rows) -> Floats:
    return np.array([field.errors[int(row)] for row in rows])


def _near(field: Field, rows: Rows, others: Rows, scale: float, kind: type[np.floating]) -> NDArray[np.floating]:
    """exp((cosine - 1) / scale) of paragraphs, in single or double precision."""
    near = np.asarray(field.vectors[rows], dtype=kind) @ np.asarray(field.vectors[others], dtype=kind).T
    near -= 1
    near /= scale
    return np.asarray(np.exp(near, out=near))


def _kernel(field: Field, rows: Rows, others: Rows, scale: float) -> Floats:
    """Covariances between the errors of paragraphs."""
    same = field.codes[rows][:, None] == field.codes[others][None, :]
    return np.asarray(SPREAD * (0.7 * _near(field, rows, others, scale, np.float64) + 0.3 * same), dtype=np.float64)


def _mean(field: Field, rows: Rows, seen: Rows, weights: Floats, scale: float) -> Floats:
    """`_kernel(rows, seen) @ weights`, cheaply: single precision, and a category's share summed once, not per pair."""
    size = int(field.codes.max()) + 1
    alike = np.bincount(field.codes[seen], weights=weights, minlength=size)[field.codes[rows]]
    near = _near(field, rows, seen, scale, np.float32) @ weights.astype(np.float32)
    return np.asarray(SPREAD * (0.7 * near + 0.3 * alike), dtype=np.float64)


def _factor(kernel: Floats, noise: float) -> Floats:
    """The lower Cholesky factor of a kernel with noise on its diagonal."""
    noisy = kernel.T.copy(order="F")
    noisy[np.diag_indices(len(noisy))] += noise
    return np.asarray(cholesky(noisy, lower=True, overwrite_a=True, check_finite=False))


def _fit_kernel(field: Field, seen: Rows) -> tuple[float, float]:
    """The scale and the noise of the highest marginal likelihood, on what was seen when it last had grown by a quarter.

    They move little from step to step, and the choice is most of a step's cost; which rows it is made on depends on
    their number alone, so that a search that goes on later chooses the same.
    """
    size = math.floor(GROWTH ** math.floor(math.log(len(seen), GROWTH) + 1e-9))
    if size not in field.fitted:
        some = seen[:size]
        some = np.random.default_rng(size).choice(some, FITTED, replace=False) if size > FITTED else some
        y = _errors(field, some)
        fits = []
        for scale in SCALES:
            kernel = _kernel(field, some, some, scale)
            for noise in NOISES:
                factor = _factor(kernel, noise)
                misfit = float(np.square(solve_triangular(factor, y - y.mean(), lower=True)).sum()) / 2
                fits.append((-misfit - float(np.log(np.diag(factor)).sum()), scale, noise))
        field.fitted[size] = max(fits)[1:]
    return field.fitted[size]
