"""A judge against a reference at each severity threshold: what it catches, and what it cries wolf over."""

import dataclasses
from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from richter.errors import InputError, TooFewErrors
from richter.records import Interval, Result
from richter.stats._proportion import wilson
from richter.stats._ratings import paired_ratings

__all__ = ["Screening", "Share", "ThresholdRow", "overcall_rate", "screen"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Share(Result):
    """k of n with Wilson's interval; `estimate` and `interval` are None where n is 0: undefined, not 0."""

    k: int
    n: int
    estimate: float | None
    interval: Interval | None

    @classmethod
    def of(cls, k: int, n: int, *, level: float = 0.95) -> Self:
        """k of n."""
        if n == 0:
            return cls(k=0, n=0, estimate=None, interval=None)
        return cls(k=k, n=n, estimate=k / n, interval=wilson(k, n, level=level))


def overcall_rate(
    judge: ArrayLike, reference: ArrayLike, *, at: float = 2.0, harmless: float = 0.5, level: float = 0.95
) -> Share:
    """Of the answers a judge scored exactly `at`, the share that the reference scores at most `harmless`.

    The paper's overcall (appendix L): a 2.0 for an answer a person would score 0.0 or 0.5. Undefined (None) where the
    judge never gave that score.
    """
    if not harmless < at:
        raise InputError(
            f"harmless={harmless:g} is not below at={at:g}.", remedy="An overcall is a score above what was harmless."
        )
    given, truth = paired_ratings(judge, reference)
    flagged = truth[given == at]
    return Share.of(int(np.sum(flagged <= harmless)), len(flagged), level=level)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdRow(Result):
    """At severity >= threshold: how many of the reference's the judge catches, and how many of its own are right."""

    threshold: float
    sensitivity: Share
    ppv: Share
    specificity: Share


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Screening(Result):
    """Sensitivity and positive predictive value at each threshold, and the mean difference judge - reference."""

    rows: tuple[ThresholdRow, ...]
    bias: float
    n: int


def screen(
    judge: ArrayLike,
    reference: ArrayLike,
    *,
    thresholds: Sequence[float] = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0),
    level: float = 0.95,
) -> Screening:
    """Sensitivity, PPV and specificity of judge >= s for reference >= s (the paper's appendix I), Wilson intervals.

    PPV holds for the mix of answers in this sample: with a stratified sample it is not the population's.
    """
    given, truth = paired_ratings(judge, reference)
    if not thresholds:
        raise TooFewErrors("No threshold was given.", n=0, needed=1)
    rows = []
    for threshold in thresholds:
        says, holds = given >= threshold, truth >= threshold
        both = int(np.sum(says & holds))
        rows.append(
            ThresholdRow(
                threshold=float(threshold),
                sensitivity=Share.of(both, int(holds.sum()), level=level),
                ppv=Share.of(both, int(says.sum()), level=level),
                specificity=Share.of(int(np.sum(~says & ~holds)), int(np.sum(~holds)), level=level),
            )
        )
    return Screening(rows=tuple(rows), bias=float(np.mean(given - truth)), n=len(given))
