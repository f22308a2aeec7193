"""The paper's rule: matched pairs whose intervals of b are disjoint (section 4.1), for many conditions at once."""

import dataclasses
import math

import numpy as np

from richter.records import Result
from richter.severity._b_value import DEFAULT, Recipe, fit_rows
from richter.stats import Floats, Ints


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Recount(Result):
    """Conditions with a slope, matched pairs among them, and those that the disjoint-interval rule calls different."""

    rule: str
    n_conditions: int
    matched: int
    disjoint: int
    disjoint_min_gap: int


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Slopes:
    """Slopes of many conditions with their percentile intervals; NaN where there is none."""

    b: Floats
    low: Floats
    high: Floats
    start: Ints
    n_above: Floats
    error_rate: Floats


def fit_slopes(
    counts: Floats, *, recipe: Recipe = DEFAULT, n_resamples: int = 2000, level: float = 0.95, rng: np.random.Generator
) -> Slopes:
    """Slopes with their intervals for all rows of counts (conditions x 9) at once, without goodness of fit.

    Counts need not be whole (they may be weighted); errors are then resampled in their nearest whole number.
    """
    positive = np.ascontiguousarray(counts[:, 1:], dtype=np.float64)
    errors = positive.sum(axis=1)
    b, start = fit_rows(positive, recipe)
    shares = np.where(errors[:, None] > 0, positive / np.maximum(errors, 1)[:, None], 1 / 8)
    drawn = rng.multinomial(np.rint(errors).astype(np.int64), shares, size=(n_resamples, len(counts)))
    rows = drawn.astype(np.float64).reshape(-1, 8)
    if recipe.reselect:
        values = fit_rows(rows, recipe)[0].reshape(n_resamples, -1)
    else:
        values = np.empty((n_resamples, len(counts)))
        for k in np.unique(start):
            mine = start == k
            if k >= 0:
                fixed = dataclasses.replace(recipe, m_min=0.5 * (k + 1), min_events=2)
                rows = drawn[:, mine].astype(np.float64).reshape(-1, 8)
                values[:, mine] = fit_rows(rows, fixed)[0].reshape(n_resamples, -1)
    values[:, start < 0] = math.nan
    ok = np.isfinite(b) & (np.mean(np.isnan(values), axis=0) < 0.5)
    low, high = np.full(len(b), math.nan), np.full(len(b), math.nan)
    # the smallest and largest slopes may be infinite, so take order statistics and do not interpolate
    tail = (1 - level) / 2
    if ok.any():
        low[ok], high[ok] = np.nanquantile(values[:, ok], [tail, 1 - tail], axis=0, method="inverted_cdf")
    above = np.array([p[max(k, 0) :].sum() for p, k in zip(positive, start, strict=True)])
    total = counts.sum(axis=1)
    return Slopes(
        b=np.where(ok, b, math.nan),
        low=low,
        high=high,
        start=start,
        n_above=above,
        error_rate=np.where(total > 0, errors / np.maximum(total, 1), math.nan),
    )


def matched_pairs(error_rate: Floats, *, max_error_gap: float = 0.05) -> Ints:
    """The pairs (i < j) whose error rates are less than `max_error_gap` apart, as rows of two indices."""
    i, j = np.triu_indices(len(error_rate), 1)
    near = np.abs(error_rate[i] - error_rate[j]) < max_error_gap
    return np.stack([i[near], j[near]], axis=1)


def count_disjoint(rule: str, slopes: Slopes, *, max_error_gap: float = 0.05, min_gap: float = 0.15) -> Recount:
    """The count from slopes already estimated; conditions without one take no part."""
    keep = np.isfinite(slopes.b)
    b, low, high = slopes.b[keep], slopes.low[keep], slopes.high[keep]
    i, j = matched_pairs(slopes.error_rate[keep], max_error_gap=max_error_gap).T
    disjoint = (low[i] > high[j]) | (low[j] > high[i])
    return Recount(
        rule=rule,
        n_conditions=int(keep.sum()),
        matched=len(i),
        disjoint=int(disjoint.sum()),
        disjoint_min_gap=int(np.sum(disjoint & (np.abs(b[i] - b[j]) > min_gap))),
    )
