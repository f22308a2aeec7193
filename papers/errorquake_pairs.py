"""Pairs of conditions from one training pipeline, by their slopes at a shared m_min (section 4.6)."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from errorquake_scores import Scores
from richter.claims import p_value
from richter.errors import InputError, TooFewErrors
from richter.records import Interval, Result
from richter.severity import DEFAULT, POSITIVE, Recipe, compare_b, count_levels, fit_rows
from richter.stats import benjamini_hochberg


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PipelinePair(Result):
    """One pair at its shared m_min: `delta_b` is the second's b minus the first's; `q` is over all pairs given."""

    first: str
    second: str
    m_min: float
    delta_b: float
    interval: Interval
    p: float
    q: float


def pipeline_pairs(
    scores: Scores,
    pairs: Sequence[tuple[str, str]],
    *,
    recipe: Recipe = DEFAULT,
    n_resamples: int = 2000,
    level: float = 0.95,
    rng: np.random.Generator,
) -> tuple[PipelinePair, ...]:
    """Test the named pairs at the higher of the two m_min that KS chooses, on shared items.

    That m_min is chosen on the same data, so the test is not quite level (6 to 10% for 5%), and whether the law holds
    there is not asked: `discriminate` asks, at a planned m_min or one chosen anew in every resample.
    """
    columns = scores.columns()
    found = []
    for pair in pairs:
        unknown = [name for name in pair if name not in columns]
        if unknown:
            raise InputError(f"There is no condition {unknown[0]!r}.", remedy=f"There are {', '.join(columns)}.")
        first, second = (columns[name] for name in pair)
        rows = np.stack([count_levels(x)[1:] for x in (first, second)]).astype(np.float64)
        start = fit_rows(rows, dataclasses.replace(recipe, m_min="ks"))[1]
        if (start < 0).any():
            few = int(rows.sum(axis=1).min())
            raise TooFewErrors(f"{pair[0]} or {pair[1]} has no slope.", n=few, needed=recipe.min_events)
        shared = dataclasses.replace(recipe, m_min=float(POSITIVE[start.max()]), min_events=2)
        found.append((pair, compare_b(first, second, recipe=shared, n_resamples=n_resamples, rng=rng)))
    p = [p_value(test.evidence, 0.0) for _, test in found]
    return tuple(
        PipelinePair(
            first=first,
            second=second,
            m_min=test.m_min,
            delta_b=test.evidence.estimate,
            interval=test.evidence.interval(level),
            p=p_pair,
            q=float(q_pair),
        )
        for ((first, second), test), p_pair, q_pair in zip(found, p, benjamini_hochberg(p), strict=True)
    )
