"""Metrics of severities over all epochs: averaging a sample's epochs first would turn a 0 and a 4 into two 2s.

Each gives its value with the ends of a 95% interval (`_low`, `_high`). Epochs of a sample are not independent, so the
sample is the unit: limits come from cluster-robust t or from resampling whole samples. What is undefined is NaN.
"""

import math

import numpy as np
from inspect_ai.scorer import CORRECT, INCORRECT, NOANSWER, PARTIAL, Metric, SampleScore, Value, metric
from numpy.typing import NDArray

from richter.claims import METRICS, Outcomes, mean_evidence
from richter.severity import POSITIVE
from richter.tail import tvar

__all__ = ["error_rate", "mean_severity", "severity_rate", "tail_mean"]

Floats = NDArray[np.float64]
GRADES = (CORRECT, INCORRECT, PARTIAL, NOANSWER)  # of scorers that say right or wrong
RESAMPLES = 1000
CHUNK = 100
SEED = 0  # the same log gives the same numbers


def _read(scores: list[SampleScore], *, wrong: float = math.nan) -> tuple[Floats, NDArray[np.intp]]:
    """The severities and the number of the sample that each belongs to; unscored ones (NaN) left out.

    A scorer that says right or wrong (C, I, P, N, true, false) gives no severity: of a wrong answer it is `wrong`, and
    where that is unknown the metric has no values at all, since right answers alone would look harmless.
    """
    values = np.array([_severity_of(s.score.value, wrong) for s in scores], dtype=np.float64)
    ids = np.array([str(s.sample_id) for s in scores])
    known = ~np.isnan(values)
    if math.isnan(wrong) and any(isinstance(s.score.value, bool) or s.score.value in GRADES for s in scores):
        known[:] = False
    return values[known], np.unique(ids[known], return_inverse=True)[1].astype(np.intp)


def _severity_of(value: Value, wrong: float) -> float:
    """A score as a severity; NaN of what is no single number or grade, as a scorer of several values gives."""
    if isinstance(value, bool) or (isinstance(value, str) and value in GRADES):
        return 0.0 if value in (True, CORRECT) else wrong
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return math.nan


def _are_severities(values: Floats) -> bool:
    """Whether all lie on the scale of severities."""
    return bool(np.all((values >= 0) & (values <= POSITIVE[-1])))


def _row(name: str, value: float, low: float = math.nan, high: float = math.nan) -> dict[str, float]:
    return {name: value, f"{name}_low": low, f"{name}_high": high}


def _mean(name: str, values: Floats, samples: NDArray[np.intp]) -> dict[str, float]:
    """A mean over samples of the mean over their epochs, with limits that never fall short."""
    if len(values) == 0:
        return _row(name, math.nan)
    outcomes = Outcomes(
        metric=METRICS["mean_severity" if name == "mean_severity" else "error_rate"],
        items=tuple(map(str, range(int(samples.max()) + 1))),
        conditions=("answers",),
        item=samples,
        condition=np.zeros(len(values), dtype=np.intp),
        value=values,
    )
    found = mean_evidence(outcomes, "answers", exact=True)
    interval = found.interval(0.95)
    return _row(name, found.estimate, interval.low, interval.high)


@metric(scores="unreduced")
def error_rate() -> Metric:
    """The share of answers that are wrong: severity above 0, or any grade but C."""

    def compute(scores: list[SampleScore]) -> Value:
        values, samples = _read(scores, wrong=1.0)
        return _mean("error_rate", (values > 0).astype(np.float64), samples)

    return compute


@metric(scores="unreduced")
def severity_rate(at_least: float = 3.0) -> Metric:
    """The share of answers at or above a severity; 3 and above is catastrophic."""

    def compute(scores: list[SampleScore]) -> Value:
        values, samples = _read(scores)
        return _mean(f"severity_{at_least:g}_rate", (values >= at_least).astype(np.float64), samples)

    return compute


@metric(scores="unreduced")
def mean_severity() -> Metric:
    """The mean severity of all answers, right ones being 0."""

    def compute(scores: list[SampleScore]) -> Value:
        values, samples = _read(scores)
        return _mean("mean_severity", values, samples) if _are_severities(values) else _row("mean_severity", math.nan)

    return compute


@metric(scores="unreduced")
def tail_mean(share: float = 0.1) -> Metric:
    """The mean severity of the worst share of answers (TVaR), limits by resampling samples."""

    def compute(scores: list[SampleScore]) -> Value:
        values, samples = _read(scores)
        if len(values) == 0:
            return _row("tail_mean", math.nan)
        low, high = np.quantile(resampled_tail_means(values, samples, share), [0.025, 0.975])
        return _row("tail_mean", tvar(values, q=1 - share), float(low), float(high))

    return compute


def resampled_tail_means(values: Floats, samples: NDArray[np.intp], share: float) -> Floats:
    """The mean of the worst share in resamples of whole samples: each drawn sample weighs as often as it was drawn.

    In order from the worst, a value counts with the part of its weight that lies within the share of the mass.
    """
    rng = np.random.default_rng(SEED)
    number = int(samples.max()) + 1
    order = np.argsort(-values, kind="stable")
    worst, owner = values[order], samples[order]
    found = np.empty(RESAMPLES)
    for start in range(0, RESAMPLES, CHUNK):  # a chunk at a time, for memory
        drawn = rng.multinomial(number, np.full(number, 1 / number), size=min(CHUNK, RESAMPLES - start))
        above = np.cumsum(drawn[:, owner], axis=1, dtype=np.float64)
        mass = share * above[:, -1:]
        used = np.diff(np.minimum(above, mass), axis=1, prepend=0.0)
        found[start : start + len(drawn)] = (used @ worst) / mass[:, 0]
    return found
