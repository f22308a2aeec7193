"""How far two raters agree on the steps of agents' runs."""

import dataclasses
import itertools
import math
from collections.abc import Iterable, Mapping

import numpy as np

from richter.records import DECISIVE, DEFAULT_LEVEL, Interval, Result, StepRating
from richter.stats import Floats, percentiles

__all__ = ["StepAgreement", "step_agreement"]

RESAMPLES = 1000
Run = tuple[str, str, int]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class StepAgreement(Result):
    """Two raters on the runs that both rated: Cohen's kappa of the severities of steps, with quadratic weights.

    Its interval is by resampled tasks, since steps and runs of a task vary together; None where all severities are
    alike. `same_first` counts the runs of which both name the same first decisive step, or both none.
    """

    raters: tuple[str, str]
    runs: int
    steps: int
    kappa: float | None
    interval: Interval | None
    same_first: int


def step_agreement(
    ratings: Iterable[StepRating], *, level: float = DEFAULT_LEVEL, rng: np.random.Generator
) -> list[StepAgreement]:
    """The agreement of every two raters, from a severity by each of every step of the runs that they rated."""
    given: dict[str, dict[Run, dict[int, float]]] = {}
    for r in ratings:
        if r.severity is not None:
            run = given.setdefault(r.rater, {}).setdefault((r.item, r.condition, r.draw), {})
            run[r.step] = r.severity
    pairs = itertools.combinations(sorted(given), 2)
    return [_agreement(pair, *(given[name] for name in pair), level=level, rng=rng) for pair in pairs]


def _agreement(
    raters: tuple[str, str],
    one: Mapping[Run, Mapping[int, float]],
    other: Mapping[Run, Mapping[int, float]],
    *,
    level: float,
    rng: np.random.Generator,
) -> StepAgreement:
    shared = sorted(one.keys() & other.keys())
    items = {item: k for k, item in enumerate(dict.fromkeys(run[0] for run in shared))}
    sums = np.zeros((len(items), 6))
    for run in shared:
        a, b = (np.array([own[run][step] for step in sorted(one[run])]) for own in (one, other))
        sums[items[run[0]]] += [len(a), a.sum(), b.sum(), (a**2).sum(), (b**2).sum(), ((a - b) ** 2).sum()]
    kappa = float(_kappa(sums.sum(axis=0, keepdims=True))[0])
    interval = None
    if not math.isnan(kappa):
        times = rng.multinomial(len(items), np.full(len(items), 1 / len(items)), size=RESAMPLES)
        interval = percentiles(_kappa(times @ sums), level=level, method="bootstrap percentile, tasks")
    return StepAgreement(
        raters=raters,
        runs=len(shared),
        steps=int(sums[:, 0].sum()),
        kappa=None if math.isnan(kappa) else kappa,
        interval=interval,
        same_first=sum(_first_decisive(one[run]) == _first_decisive(other[run]) for run in shared),
    )


def _kappa(sums: Floats) -> Floats:
    """1 - D / E of every row of sums: D the mean squared difference, E that of two independent raters."""
    n, a, b, a2, b2, d2 = sums.T
    with np.errstate(invalid="ignore", divide="ignore"):
        mean_a, mean_b = a / n, b / n
        expected = a2 / n - mean_a**2 + b2 / n - mean_b**2 + (mean_a - mean_b) ** 2
        return np.where(expected > 1e-12, 1 - d2 / n / expected, np.nan)


def _first_decisive(steps: Mapping[int, float]) -> int | None:
    return min((step for step, severity in steps.items() if severity >= DECISIVE), default=None)
