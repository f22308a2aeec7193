"""Grades come from a grader that errs: what people say of some answers, carried into accuracy and ECE."""

import dataclasses

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from richter.errors import TooFewErrors
from richter.records import Interval
from richter.stats import Floats, bin_gaps, ece_interval, wilson

__all__ = ["GraderError", "grader_error"]

NEEDED = 30  # labels, under which nothing is corrected


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class GraderError:
    """How often the grader is wrong where people looked, and accuracy and ECE as people would have graded."""

    labelled: int
    n: int
    wrong: float
    wrong_interval: Interval
    accuracy: float
    accuracy_interval: Interval
    ece: float
    ece_interval: Interval

    @property
    def sentence(self) -> str:
        """What follows from it."""
        return (
            f"the grader is wrong on {100 * self.wrong:.1f}% of {self.labelled} answers that people graded "
            f"({100 * self.wrong_interval.low:.1f} to {100 * self.wrong_interval.high:.1f}); as people grade, accuracy "
            f"is {self.accuracy:.3f} ({self.accuracy_interval.low:.3f} to {self.accuracy_interval.high:.3f}) and ECE "
            f"{self.ece:.3f} ({self.ece_interval.low:.3f} to {self.ece_interval.high:.3f})."
        )


def grader_error(
    confidence: ArrayLike, graded: ArrayLike, human: ArrayLike, *, bins: int = 10, level: float = 0.95
) -> GraderError:
    """Correct accuracy and ECE for a grader's errors by people's labels on a random part of the answers.

    Per bin D_b = mean over all of (c - g) 1{b} + mean over the labelled of (g - h) 1{b}, g the grader's grade and h
    people's (NaN: nobody looked); prediction-powered inference with weight 1. Covariances come from each answer's
    part in both means, and in a bin the share of disagreements has the variance of one more of each kind, so that
    no disagreement seen is not none. The labelled answers must be a random sample of all.
    """
    c, g, h = (np.asarray(x, dtype=np.float64) for x in (confidence, graded, human))
    seen = ~np.isnan(h)
    n, m = len(c), int(np.sum(seen))
    if m < NEEDED:
        raise TooFewErrors(f"{m} answers were graded by people; {NEEDED} are needed to correct by.", n=m, needed=NEEDED)
    gaps = bin_gaps(c, g, bins=bins)
    size = len(gaps.gap)
    inside = np.zeros((n, size))
    inside[np.arange(n), gaps.index] = 1.0
    off = np.where(seen, g - np.nan_to_num(h), 0.0)
    shift = off @ inside / m
    parts = ((c - g)[:, None] * inside - gaps.gap) / n + np.where(seen, 1.0, 0.0)[:, None] * (
        off[:, None] * inside - shift
    ) / m
    covariance = parts.T @ parts
    held, differ = seen @ inside, np.abs(off) @ inside
    rate, more = differ / np.maximum(held, 1), (differ + 1) / (held + 2)
    added = np.maximum(more * (1 - more) - rate * (1 - rate), 0.0) * np.maximum(held, 1) / m**2
    error = np.sqrt(np.diag(covariance) + np.maximum(gaps.standard_error**2 - _own(c, g, inside), 0.0) + added)
    correlation = covariance / np.outer(error, error)
    np.fill_diagonal(correlation, 0.0)
    debiased, interval = ece_interval(gaps.gap + shift, error, correlation, level=level)
    accuracy = float(np.mean(g) - np.sum(off) / m)
    own = (g - np.mean(g)) / n - np.where(seen, off - np.sum(off) / m, 0.0) / m
    reach = float(ndtri(0.5 + level / 2)) * float(np.sqrt(np.sum(own**2) + np.sum(added)))
    disagree = int(np.sum(np.abs(off)))
    return GraderError(
        labelled=m,
        n=n,
        wrong=disagree / m,
        wrong_interval=wilson(disagree, m, level=level),
        accuracy=min(max(accuracy, 0.0), 1.0),
        accuracy_interval=Interval(
            low=max(accuracy - reach, 0.0), high=min(accuracy + reach, 1.0), level=level, method="prediction-powered"
        ),
        ece=debiased,
        ece_interval=dataclasses.replace(interval, method=interval.method + ", prediction-powered"),
    )


def _own(c: Floats, g: Floats, inside: Floats) -> Floats:
    """The variance of the D_b without what `bin_gaps` adds to it."""
    d = (c - g)[:, None] * inside
    own: Floats = np.maximum(np.mean(d**2, axis=0) - np.mean(d, axis=0) ** 2, 0.0) / len(c)
    return own
