"""Figures as people would rate, from human labels on some answers and a judge's score on all: means, rates, gaps."""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from richter.records import Interval, Shown
from richter.stats._arrays import Floats
from richter.stats._label_correction import (
    LabelCorrection,
    correct_by_labels,
    correction_difference,
    correction_interval,
)
from richter.stats._label_pools import Side

__all__ = ["Corrected", "ppi_difference", "ppi_mean", "ppi_rate"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Corrected(Shown):
    """A mean or rate of human severity, from human labels on some answers and judge scores on all.

    `labels_only` is what the labels alone give at the same level; `worth` is how many human labels would have been
    needed to be as precise without the judge.
    """

    estimate: float
    interval: Interval
    standard_error: float
    labels_only: float
    labels_only_interval: Interval
    judge_only: float
    worth: float
    n_labelled: int
    n: int


def _corrected_mean(one: LabelCorrection, alone: LabelCorrection, *, level: float, side: Side) -> Corrected:
    return _as_corrected(
        one.estimate, alone.estimate, one.judge_only, correction_interval(one, level=level, side=side),
        correction_interval(alone, level=level, side=side), (one,),
    )  # fmt: skip


def _as_corrected(
    estimate: float, labels_only: float, judge_only: float, interval: Interval, own: Interval,
    sides: Sequence[LabelCorrection],
) -> Corrected:  # fmt: skip
    labels = sum(side.labels for side in sides)
    return Corrected(
        estimate=estimate,
        interval=interval,
        standard_error=math.hypot(*(side.standard_error for side in sides)),
        labels_only=labels_only,
        labels_only_interval=dataclasses.replace(own, method=f"labels only, {own.method}"),
        judge_only=judge_only,
        worth=labels * (own.half_width / interval.half_width) ** 2 if interval.half_width > 0 else math.inf,
        n_labelled=labels,
        n=min(len(side.judged) for side in sides),
    )


def ppi_mean(
    human: ArrayLike,
    judge: ArrayLike,
    *,
    strata: ArrayLike | None = None,
    probability: ArrayLike | None = None,
    level: float = 0.95,
    side: Side = "both",
    low: float = 0.0,
    high: float = 4.0,
) -> Corrected:
    """The mean human score of all answers, from a few human labels and a judge's score on every answer.

    By `correct_by_labels`: regression on the judge's score, or parts with limits of their own where errors are rare.
    `strata` names each answer's stratum when labels were drawn by stratum; `probability` gives inclusion probabilities
    for any other design. Without either, labels are taken as a simple random sample of the answers: if they are not,
    the figure is wrong however many there are. The judge may be biased in any way; it must not have seen the labels.

    >>> from richter.stats import ppi_mean
    >>> import numpy as np
    >>> judge = np.tile([0.0, 2.0, 4.0], 100)
    >>> human = np.where(np.arange(300) < 60, judge, np.nan)  # people rated 60 of the 300
    >>> round(ppi_mean(human, judge).estimate, 3)
    2.0
    """
    y = np.asarray(human, dtype=np.float64)
    one, alone = (
        correct_by_labels(y, scores, strata=strata, probability=probability, low=low, high=high)
        for scores in (judge, np.zeros(len(y)))
    )
    return _corrected_mean(one, alone, level=level, side=side)


LEAST_SEVERE_ERROR = 0.5  # the lowest error; between two people's 0 and 0.5 lies an error too, as everywhere


def _at_least(values: ArrayLike, threshold: float) -> Floats:
    given = np.asarray(values, dtype=np.float64)
    reached = given > 0 if threshold == LEAST_SEVERE_ERROR else given >= threshold
    return np.where(np.isnan(given), np.nan, reached.astype(np.float64))


def ppi_rate(
    human: ArrayLike,
    judge: ArrayLike,
    threshold: float,
    *,
    strata: ArrayLike | None = None,
    probability: ArrayLike | None = None,
    level: float = 0.95,
    side: Side = "both",
) -> Corrected:
    """The share of answers whose human severity is at least `threshold`, P(S >= s): `ppi_mean` of the indicators.

    The judge's part in it is the flag f >= s. Zero positives seen are a bound, not zero.

    >>> from richter.stats import ppi_rate
    >>> import numpy as np
    >>> judge = np.tile([0.0, 2.0, 4.0], 100)
    >>> human = np.where(np.arange(300) < 60, judge, np.nan)
    >>> round(ppi_rate(human, judge, 3.0).estimate, 3)
    0.333
    """
    positive, flag = _at_least(human, threshold), _at_least(judge, threshold)
    options = {"strata": strata, "probability": probability}
    return ppi_mean(positive, flag, level=level, side=side, low=0.0, high=1.0, **options)


def ppi_difference(
    first: tuple[ArrayLike, ArrayLike],
    second: tuple[ArrayLike, ArrayLike],
    *,
    threshold: float | None = None,
    strata: tuple[ArrayLike, ArrayLike] | None = None,
    level: float = 0.95,
    side: Side = "both",
    low: float = 0.0,
    high: float = 4.0,
) -> Corrected:
    """Mean human severity (or rate at `threshold`) of the second condition minus the first's, on the same items.

    Each condition is (human, judge) over the items in one order; labels of one item under both count as pairs, whatever
    labels they share (`correction_difference`). `strata` are those in which each condition's labels were drawn.
    """
    sides, alone = [], []
    for (human, judge), groups in zip((first, second), strata or (None, None), strict=True):
        y, f = np.asarray(human, dtype=np.float64), np.asarray(judge, dtype=np.float64)
        if threshold is not None:
            y, f, low, high = _at_least(y, threshold), _at_least(f, threshold), 0.0, 1.0
        sides.append(correct_by_labels(y, f, strata=groups, low=low, high=high))
        alone.append(correct_by_labels(y, np.zeros(len(y)), strata=groups, low=low, high=high))
    return _as_corrected(
        sides[1].estimate - sides[0].estimate, alone[1].estimate - alone[0].estimate,
        sides[1].judge_only - sides[0].judge_only, correction_difference(*sides, level=level, side=side),
        correction_difference(*alone, level=level, side=side), sides,
    )  # fmt: skip
