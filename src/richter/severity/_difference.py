"""b of a second condition minus b of a first, at an m_min that both share."""

import dataclasses
import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from richter.claims import Evidence
from richter.errors import TooFewErrors
from richter.severity._b_value import B_PER_LOG_Q, DEFAULT, Recipe, fit_rows
from richter.severity._given_error import Paired, align_pair, linearised_evidence
from richter.severity._grid import POSITIVE, level_index, snap
from richter.severity._severity_kernels import CODES, fit_from
from richter.severity._true_severity import evidence_from_draws
from richter.stats import Floats, Ints

__all__ = ["BDifference", "compare_b"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class BDifference:
    """The evidence on b of the second minus b of the first, from `m_min` up, with the errors of each there."""

    evidence: Evidence
    m_min: float
    n_above: tuple[int, int]


def compare_b(
    first: ArrayLike,
    second: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    recipe: Recipe = DEFAULT,
    n_resamples: int = 2000,
    rng: np.random.Generator,
) -> BDifference:
    """The difference of two slopes on shared items (NaN: not rated), both from the same m_min up.

    At a planned m_min the slope is a function of the mean number of steps above it, so each error has an influence on
    b, (steps - mean) / n times db/dmean, and the variance is the sum over units (groups where given, else items) of
    the squared difference of the two influences. Otherwise each condition chooses its m_min by the recipe, the higher
    of the two serves both, and units are resampled together with that choice made anew in every resample. That the law
    holds on both sides is not tested here: see `BValue.adequate`. Raises `TooFewErrors` where one has no slope.
    """
    data = align_pair(first, second, groups=groups)
    levels = [snap(x) for x in (data.first, data.second)]
    if isinstance(recipe.m_min, str):
        return _compare_by_resampling(data, levels, recipe, n_resamples, rng)
    return _compare_at_planned_m_min(data, levels, level_index(recipe.m_min), recipe)


def _compare_at_planned_m_min(data: Paired, levels: list[NDArray[np.int8]], start: int, recipe: Recipe) -> BDifference:
    slopes, above, rests, weights = [], [], [], []
    for level in levels:
        tail = level >= start
        counts = np.bincount(level[tail] - 1, minlength=8).astype(np.float64)[None, :]
        slope = float(fit_rows(counts, recipe)[0][0])
        n = int(tail.sum())
        if not math.isfinite(slope):
            raise TooFewErrors(
                f"{n} errors at or above {POSITIVE[start - 1]:g} are too few, or all at one end, for a slope there: "
                f"{recipe.min_events} on two levels or more are needed.",
                n=n,
                needed=max(recipe.min_events, n + 1),
            )
        steps = (level[tail] - start).astype(np.float64)
        law = np.exp(slope / B_PER_LOG_Q * (np.arange(9 - start) - (8 - start if slope < 0 else 0)))
        law /= law.sum()
        variance = float(law @ np.arange(9 - start) ** 2 - (law @ np.arange(9 - start)) ** 2)
        rest = np.bincount(data.unit[tail], weights=steps - steps.mean(), minlength=data.n_units)
        slopes.append(slope)
        above.append(n)
        rests.append(rest / n * B_PER_LOG_Q / variance)
        weights.append(np.bincount(data.unit[tail], minlength=data.n_units) / n)
    evidence = linearised_evidence(
        data, slopes[1] - slopes[0], rests[1] - rests[0], weights[0] + weights[1], values=(slopes[0], slopes[1])
    )
    return BDifference(evidence=evidence, m_min=float(POSITIVE[start - 1]), n_above=(above[0], above[1]))


def _compare_by_resampling(
    data: Paired, levels: list[NDArray[np.int8]], recipe: Recipe, n_resamples: int, rng: np.random.Generator
) -> BDifference:
    """Joint tables of units, drawn anew with the common m_min chosen in each."""
    first, second = (level + 1 for level in levels)  # 0 is not rated
    cell = first.astype(np.intp) * 10 + second
    if data.kind == "item":
        joint = np.bincount(cell, minlength=100)
        seen = np.flatnonzero(joint)
        drawn = rng.multinomial(len(cell), joint[seen] / len(cell), size=n_resamples).astype(np.float64)
    else:
        seen, place = np.unique(cell, return_inverse=True)
        tables = np.bincount(data.unit * len(seen) + place, minlength=data.n_units * len(seen))
        by_unit = tables.reshape(data.n_units, len(seen)).astype(np.float64)
        joint = np.zeros(100, dtype=np.int64)
        joint[seen] = by_unit.sum(axis=0).astype(np.int64)
        times = rng.multinomial(data.n_units, np.full(data.n_units, 1 / data.n_units), size=n_resamples)
        drawn = times.astype(np.float64) @ by_unit
    to_first = (seen[:, None] // 10 - 1 == np.arange(1, 9)).astype(np.float64)
    to_second = (seen[:, None] % 10 - 1 == np.arange(1, 9)).astype(np.float64)
    weight = joint[seen].astype(np.float64)
    rows = [(weight @ to_first)[None, :], (weight @ to_second)[None, :]]
    slopes, start = _slopes_at_common_m_min(rows, recipe)
    if start[0] < 0 or not np.isfinite(slopes).all():
        few = min(int(r.sum()) for r in rows)
        raise TooFewErrors(
            "One of the two has no tail to start from on the items that they share.", n=few, needed=recipe.min_events
        )
    values, _ = _slopes_at_common_m_min([drawn @ to_first, drawn @ to_second], recipe)
    gaps = values[1] - values[0]
    gaps = gaps[np.isfinite(gaps)]
    if len(gaps) < n_resamples / 2:
        raise TooFewErrors("The difference is undefined in most resamples.", n=len(gaps), needed=n_resamples // 2)
    evidence = evidence_from_draws(
        gaps, (float(slopes[0, 0]), float(slopes[1, 0])), n=len(cell), units=data.n_units, unit=data.kind,
        method="bootstrap percentile, common m_min reselected",
    )  # fmt: skip
    k = int(start[0])
    above = (int(rows[0][0, k:].sum()), int(rows[1][0, k:].sum()))
    return BDifference(evidence=evidence, m_min=float(POSITIVE[k]), n_above=above)


def _slopes_at_common_m_min(rows: list[Floats], recipe: Recipe) -> tuple[Floats, Ints]:
    """Both slopes at the higher of the two m_min that the recipe chooses, row by row."""
    chosen = [fit_rows(r, recipe).m_min for r in rows]
    start = np.where(np.minimum(*chosen) < 0, -1, np.maximum(*chosen))
    code = CODES[recipe.estimator]
    return np.stack([fit_from(np.ascontiguousarray(r), start, code) * B_PER_LOG_Q for r in rows]), start
