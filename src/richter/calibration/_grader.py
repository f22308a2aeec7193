"""Grades come from a grader that errs: what people say of some answers, carried into accuracy and ECE."""

import dataclasses

import numpy as np
from numpy.typing import ArrayLike

from richter._special import ndtr, ndtri, stdtrit
from richter.errors import TooFewErrors
from richter.records import Interval
from richter.stats import Floats, bin_gaps, ece_interval, unit_rate
from richter.stats._proportion import unit_freedom

__all__ = ["GraderError", "grader_error"]

MIN_LABELS = 30  # labels, under which nothing is corrected


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
    confidence: ArrayLike,
    graded: ArrayLike,
    human: ArrayLike,
    *,
    unit: ArrayLike | None = None,
    bins: int = 10,
    level: float = 0.95,
) -> GraderError:
    """Accuracy and ECE corrected for a grader's errors, by human labels on a random part of the answers.

    Per bin D_b = mean over all of (c - g) 1{b} + mean over the labelled of (g - h) 1{b}, g the grader's grade and h
    people's (NaN: nobody looked); prediction-powered inference with weight 1. Covariances come from each answer's
    part in both means, and in a bin the share of disagreements has the variance of one more of each kind, so that
    no disagreement seen is not none. The labelled answers must be a random sample of all. Where answers vary together
    (`unit`, one each) covariances are of units' sums (CR2), and quantiles Student's with Satterthwaite's degrees of
    freedom.
    """
    c, g, h = (np.asarray(x, dtype=np.float64) for x in (confidence, graded, human))
    seen = ~np.isnan(h)
    n, m = len(c), int(np.sum(seen))
    if m < MIN_LABELS:
        raise TooFewErrors(
            f"{m} answers were graded by people; {MIN_LABELS} are needed to correct by.", n=m, needed=MIN_LABELS
        )
    of = None if unit is None else np.unique(np.asarray(unit), return_inverse=True)[1]
    units = n if of is None else int(of.max()) + 1
    of = None if units == n else of
    shares = None if of is None else np.bincount(of) / n
    z = float(ndtri(0.5 + level / 2))
    if shares is not None:
        z = float(stdtrit(max(unit_freedom(shares), 1.0), 0.5 + level / 2))

    def by_unit(rows: Floats) -> Floats:
        """Sums over units, so scaled that their squares add up to a variance."""
        if of is None or shares is None:
            return rows
        sums = np.zeros((units, rows.shape[1]))
        np.add.at(sums, of, rows)
        return np.asarray(sums / np.sqrt(1 - shares)[:, None])

    gaps = bin_gaps(c, g, bins=bins, unit=of)
    size = len(gaps.gap)
    inside = np.zeros((n, size))
    inside[np.arange(n), gaps.index] = 1.0
    off = np.where(seen, g - np.nan_to_num(h), 0.0)
    shift = off @ inside / m
    own = ((c - g)[:, None] * inside - gaps.gap) / n
    parts = by_unit(own + np.where(seen, 1.0, 0.0)[:, None] * (off[:, None] * inside - shift) / m)
    covariance = parts.T @ parts
    more_known = np.maximum(gaps.standard_error**2 - np.sum(by_unit(own) ** 2, axis=0), 0.0)  # what `bin_gaps` adds
    held, differ = seen @ inside, np.abs(off) @ inside
    rate, more = differ / np.maximum(held, 1), (differ + 1) / (held + 2)
    added = np.maximum(more * (1 - more) - rate * (1 - rate), 0.0) * np.maximum(held, 1) / m**2
    error = np.sqrt(np.diag(covariance) + more_known + added)
    correlation = covariance / np.outer(error, error)
    np.fill_diagonal(correlation, 0.0)
    debiased, interval = ece_interval(gaps.gap + shift, error, correlation, level=2 * float(ndtr(z)) - 1)
    accuracy = float(np.mean(g) - np.sum(off) / m)
    right = by_unit(((g - np.mean(g)) / n - np.where(seen, off - np.sum(off) / m, 0.0) / m)[:, None])
    reach = z * float(np.sqrt(np.sum(right**2) + np.sum(added)))
    return GraderError(
        labelled=m,
        n=n,
        wrong=float(np.sum(np.abs(off))) / m,
        wrong_interval=unit_rate(np.abs(off)[seen], None if of is None else of[seen], level=level),
        accuracy=min(max(accuracy, 0.0), 1.0),
        accuracy_interval=Interval(
            low=max(accuracy - reach, 0.0), high=min(accuracy + reach, 1.0), level=level, method="prediction-powered"
        ),
        ece=debiased,
        ece_interval=dataclasses.replace(interval, level=level, method=interval.method + ", prediction-powered"),
    )
