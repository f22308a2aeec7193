"""Items drawn anew: means, tail means and shapes of all conditions from one set of item weights."""

import dataclasses
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from richter.records import Interval
from richter.stats import Floats, Mapper
from richter.tail import _kernels
from richter.tail._condition import ConditionTail, exceedances_above
from richter.tail._gpd import seeds_from
from richter.tail._plan import TailPlan

CHUNK = 250  # resamples a task; each has a seed of its own, so that this changes no number


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Resampled:
    """Bootstrap replicates: means and tail means (B, C), shapes (B, C, T)."""

    means: Floats
    tvars: Floats
    shapes: Floats


def resample(
    scores: Mapping[str, Floats],
    by_q: Mapping[float, Mapping[str, ConditionTail]],
    plan: TailPlan,
    paired: bool,
    rng: np.random.Generator,
    mapper: Mapper = map,
) -> Resampled:
    """One bootstrap of items for all conditions together, or one for each."""
    names = list(scores)
    parts = [
        _kernel_call([scores[n] for n in group], [[by_q[q][n] for q in by_q] for n in group], plan, rng, mapper)
        for group in ([names] if paired else [[n] for n in names])
    ]
    means, tvars, shapes = (np.concatenate([p[k] for p in parts], axis=1) for k in range(3))
    return Resampled(means=means, tvars=tvars, shapes=shapes)


def _kernel_call(
    values: Sequence[Floats],
    tails: Sequence[Sequence[ConditionTail]],
    plan: TailPlan,
    rng: np.random.Generator,
    mapper: Mapper,
) -> tuple[Floats, ...]:
    stacked = np.stack(values)
    order = np.argsort(-stacked, axis=1, kind="stable").astype(np.int32)
    widest = max(c.n_exc for row in tails for c in row)
    shape = (len(values), len(tails[0]))
    exceedances, scales = np.ones((*shape, max(widest, 1))), np.ones(shape)
    n_exc, starts = np.zeros(shape, dtype=np.int64), np.full(shape, np.nan)
    for i, row in enumerate(tails):
        descending = stacked[i][order[i]]
        for t, c in enumerate(row):
            x = exceedances_above(descending, c.threshold)
            n_exc[i, t] = len(x)
            exceedances[i, t, : len(x)] = x
            if c.fit is not None:
                scales[i, t] = np.median(x)
                starts[i, t] = c.fit.xi / c.fit.sigma
    mass = (1 - plan.tvar_q) * stacked.shape[1]
    seeds = seeds_from(rng, plan.n_resamples)
    rows = partial(_rows, (stacked, order, exceedances, n_exc, scales, starts, mass))
    parts = mapper(rows, np.split(seeds, range(CHUNK, len(seeds), CHUNK)))
    return tuple(np.concatenate(found) for found in zip(*parts, strict=True))


def _rows(given: tuple[Any, ...], seeds: NDArray[np.uint64]) -> tuple[Floats, ...]:
    values, order, exceedances, n_exc, scales, starts, mass = given
    result: tuple[Floats, ...] = _kernels.bootstrap_rows(values, order, exceedances, n_exc, scales, starts, mass, seeds)
    return result


def percentile(drawn: Floats, level: float) -> Interval:
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    return Interval(low=float(low), high=float(high), level=level, method="bootstrap percentile")
