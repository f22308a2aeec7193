"""Where two raters rate one answer: how often they differ, by how much, and whether they name the same mechanism."""

import dataclasses

import numpy as np

from richter.errors import TooFewErrors
from richter.records import Interval, Result
from richter.stats import Floats, Indices, Kappa, fleiss_kappa, wilson

__all__ = ["LabelNoise", "label_noise", "mechanism_kappa"]

MIN_DOUBLE = 10  # answers that several have rated


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class LabelNoise(Result):
    """What ratings of one answer differ by: `answers` with several ratings, the share on which these differ.

    `spread` is the standard deviation of one rating about the mean of all that such raters would give.
    """

    answers: int
    differ: float
    differ_interval: Interval
    spread: float


def label_noise(values: Floats, *, level: float = 0.95) -> LabelNoise:
    """The noise of ratings (answers x raters, NaN: none), from the answers that have at least two.

        spread^2 = sum over answers of squared deviations from their own mean / sum of (ratings - 1)

    A corrected figure's interval holds this noise already: a label's residual is what its answer and its rater make it.
    """
    number = (~np.isnan(values)).sum(axis=1)
    several = values[number >= 2]
    if len(several) < MIN_DOUBLE:
        raise TooFewErrors(
            f"{len(several)} answers have ratings of two raters.", n=len(several), needed=MIN_DOUBLE
        )  # fmt: skip
    mean = np.nanmean(several, axis=1, keepdims=True)
    squares = float(np.nansum((several - mean) ** 2))
    differ = int(np.sum(np.nanmax(several, axis=1) > np.nanmin(several, axis=1)))
    return LabelNoise(
        answers=len(several), differ=differ / len(several), differ_interval=wilson(differ, len(several), level=level),
        spread=float(np.sqrt(squares / np.sum(number[number >= 2] - 1))),
    )  # fmt: skip


def mechanism_kappa(mechanism: Indices, *, level: float = 0.95) -> Kappa:
    """Fleiss' kappa of the mechanisms that raters name (answers x raters, below 0: none named).

    Of the answers for which the usual number of raters, two at least, name one.
    """
    number = (mechanism >= 0).sum(axis=1)
    several = number[number >= 2]
    if len(several) < MIN_DOUBLE:
        raise TooFewErrors(f"{len(several)} answers have mechanisms of two raters.", n=len(several), needed=MIN_DOUBLE)
    each = int(np.bincount(several).argmax())
    rows = mechanism[number == each]
    order = np.argsort(rows < 0, axis=1, kind="stable")[:, :each]
    return fleiss_kappa(np.take_along_axis(rows, order, axis=1).astype(np.float64), level=level)
