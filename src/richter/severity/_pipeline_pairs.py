"""Pairs that share a training pipeline, tested at a shared m_min (section 4.6, appendix O)."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from richter.errors import InputError, TooFewErrors
from richter.records import Interval
from richter.severity._b_value import DEFAULT, Recipe, fit_rows
from richter.severity._difference import difference_from_joint
from richter.severity._grid import POSITIVE, count_joint, snap
from richter.severity._result import Result
from richter.severity._scores import Scores
from richter.stats import benjamini_hochberg

__all__ = ["PipelinePair", "pipeline_pairs"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PipelinePair(Result):
    """One pair at its shared m_min. `bootstrap_p` is the paper's; `p` the permutation's, `q` of all pairs given."""

    a: str
    b: str
    m_min: float
    delta_b: float
    interval: Interval
    bootstrap_p: float
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
    """Test the named pairs at the higher of the two m_min that KS chooses, resampling shared items together.

    The paper resamples the difference at a shared m_min. That m_min is chosen on the same data, so the test is not
    quite level (6 to 10% for 5%): `discriminate` chooses inside every permutation and is the one to rely on.
    """
    levels = dict(zip(scores.conditions, snap(scores.severity).T, strict=True))
    results = []
    for a, b in pairs:
        unknown = [name for name in (a, b) if name not in levels]
        if unknown:
            raise InputError(f"There is no condition {unknown[0]!r}.", remedy=f"There are {', '.join(levels)}.")
        joint = count_joint(levels[a], levels[b])
        rows = np.stack([joint.sum(axis=1)[1:], joint.sum(axis=0)[1:]]).astype(np.float64)
        start = int(fit_rows(rows, recipe)[1].max())
        if (fit_rows(rows, recipe)[1] < 0).any():
            few = int(rows.sum(axis=1).min())
            raise TooFewErrors(f"{a} or {b} has no slope on the items they share.", n=few, needed=recipe.min_events)
        shared = dataclasses.replace(recipe, m_min=float(POSITIVE[start]), min_events=2)
        results.append(
            (a, b, difference_from_joint(joint, recipe=shared, n_resamples=n_resamples, level=level, rng=rng))
        )
    q = benjamini_hochberg([test.p for _, _, test in results])
    return tuple(
        PipelinePair(
            a=a,
            b=b,
            m_min=float(test.recipe.m_min),
            delta_b=test.delta_b,
            interval=test.interval,
            bootstrap_p=test.bootstrap_p,
            p=test.p,
            q=float(q_pair),
        )
        for (a, b, test), q_pair in zip(results, q, strict=True)
    )
