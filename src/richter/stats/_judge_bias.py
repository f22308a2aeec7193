"""What a judge's grade depends on besides correctness, and how far it agrees with labels of right and wrong."""

import dataclasses
import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from richter._special import stdtrit
from richter.errors import TooFewErrors
from richter.records import Interval, Result
from richter.stats._arrays import Floats, Indices

__all__ = ["GradeDependence", "LabelAgreement", "agreement_with_labels", "grade_dependence", "position_bias"]

MIN_ANSWERS = 50
MIN_LABELLED = 10


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class GradeDependence(Result):
    """How much a grade changes with one unit of a quantity, among answers of the same correctness."""

    estimate: float
    standard_error: float
    freedom: float
    n: int
    units: int
    method: str = "t, given correctness"

    def interval(self, level: float, *, times: float = 1.0) -> Interval:
        """The interval of so many times the estimate."""
        reach = float(stdtrit(self.freedom, 0.5 + level / 2)) * self.standard_error * abs(times)
        middle = times * self.estimate
        return Interval(low=middle - reach, high=middle + reach, level=level, method=self.method)


def grade_dependence(
    grade: ArrayLike,
    reference: ArrayLike,
    quantities: Mapping[str, ArrayLike],
    *,
    unit: ArrayLike | None = None,
    is_true: bool = True,
) -> dict[str, GradeDependence]:
    """The slope of `grade` on each quantity, the others held fixed, among answers of the same correctness.

    With a reference that `is_true` (labels, rules, known answers) grades and quantities are deviations from the means
    of their reference level. A second judge errs too: among answers that it grades alike the right ones are still
    graded higher, so that whatever goes with correctness would look like a bias. Then the two judges' difference in
    grades is regressed instead; it shows a bias that they do not share, if they are about equally accurate. Least
    squares, with HC3 residuals summed by `unit` and Student's t of the units' number less levels and slopes.
    """
    f, r = np.asarray(grade, dtype=np.float64), np.asarray(reference, dtype=np.float64)
    x = np.column_stack([np.asarray(v, dtype=np.float64) for v in quantities.values()])
    units = np.arange(len(f)) if unit is None else np.asarray(unit)
    known = ~(np.isnan(f) | np.isnan(r) | np.isnan(x).any(axis=1))
    f, r, x, units = f[known], r[known], x[known], np.unique(units[known], return_inverse=True)[1]
    if len(f) < MIN_ANSWERS:
        raise TooFewErrors(f"{len(f)} answers have both grades.", n=len(f), needed=MIN_ANSWERS)
    level = np.unique(r, return_inverse=True)[1] if is_true else np.zeros(len(f), dtype=np.intp)
    size = np.bincount(level)

    def centre(values: Floats) -> Floats:
        return np.asarray(values - (np.bincount(level, weights=values) / size)[level])

    x, f = np.column_stack([centre(v) for v in x.T]), centre(f if is_true else f - r)
    square = x.T @ x
    if np.linalg.matrix_rank(square, tol=1e-9 * len(f)) < len(square):
        raise TooFewErrors("A quantity does not vary by itself among these answers.", n=0, needed=2)
    solve = np.linalg.solve(square, x.T)
    slopes = solve @ f
    leverage = 1 / size[level] + np.sum(x * solve.T, axis=1)
    influence = solve * ((f - x @ slopes) / np.maximum(1 - leverage, 1e-9))
    groups = int(units.max()) + 1
    grow = groups / (groups - 1) if groups < len(f) else 1.0
    freedom = max(float(groups - len(size) - len(slopes)), 1.0)
    found = {}
    for name, slope, moves in zip(quantities, slopes, influence, strict=True):
        variance = grow * float(np.sum(np.bincount(units, weights=moves) ** 2))
        found[name] = GradeDependence(
            estimate=float(slope), standard_error=math.sqrt(variance), freedom=freedom, n=len(f), units=groups
        )
    return found


def position_bias(first_then_second: ArrayLike, second_then_first: ArrayLike) -> GradeDependence:
    """How many points more often the answer shown first is preferred, from pairs that were judged in both orders.

    Each array is 1 where the answer that was shown first won, 0 where the other did and 0.5 for a tie; row i of both is
    the same pair with its answers swapped. A judge without the habit prefers the first place in half of all judgements,
    whichever answer is better: the estimate is the mean of both less one half, the error that of pairs.
    """
    both = (np.asarray(first_then_second, dtype=np.float64) + np.asarray(second_then_first, dtype=np.float64)) / 2 - 0.5
    both = both[~np.isnan(both)]
    if len(both) < MIN_ANSWERS:
        raise TooFewErrors(f"{len(both)} pairs were judged in both orders.", n=len(both), needed=MIN_ANSWERS)
    error = float(np.std(both, ddof=1)) / math.sqrt(len(both))
    return GradeDependence(
        estimate=float(both.mean()), standard_error=error, freedom=len(both) - 1.0, n=len(both), units=len(both),
        method="t, pairs in both orders",
    )  # fmt: skip


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class LabelAgreement(Result):
    """How far a judge's right and wrong agree with people's, of all answers that labels stand for."""

    kappa: float
    kappa_interval: Interval
    ac1: float
    ac1_interval: Interval
    agreement: float
    agreement_interval: Interval
    n: int


def agreement_with_labels(
    judge: ArrayLike, label: ArrayLike, *, weight: ArrayLike | None = None, strata: ArrayLike | None = None,
    level: float = 0.95,
) -> LabelAgreement:  # fmt: skip
    """Cohen's kappa and Gwet's AC1 of two graders' right (1) and wrong (0), with the share of agreement.

        kappa = (a - e) / (1 - e),  e = p q + (1 - p)(1 - q);   AC1: e = 2 m (1 - m),  m = (p + q) / 2

    with a the share of agreement, p and q the shares of right. `weight` is how many answers a label stands for and
    `strata` those in which labels were drawn; intervals are Student's t on linearised values within strata. AC1 does
    not fall where nearly all answers are right, as kappa does.
    """
    f, y = np.asarray(judge, dtype=np.float64), np.asarray(label, dtype=np.float64)
    known = ~(np.isnan(f) | np.isnan(y))
    if int(known.sum()) < MIN_LABELLED:
        raise TooFewErrors(f"{int(known.sum())} answers have a label.", n=int(known.sum()), needed=MIN_LABELLED)
    f, y = f[known], y[known]
    own = np.ones(len(f)) if weight is None else np.asarray(weight, dtype=np.float64)[known]
    own = own / own.sum()
    code = np.zeros(len(f), dtype=np.intp)
    if strata is not None:
        code = np.unique(np.asarray(strata)[known], return_inverse=True)[1].astype(np.intp)
    agree = f * y + (1 - f) * (1 - y)
    a, p, q = (float(own @ v) for v in (agree, f, y))
    m = (p + q) / 2
    by_chance = p * q + (1 - p) * (1 - q), 2 * m * (1 - m)
    slope = (
        (2 * q - 1) * (f - p) + (2 * p - 1) * (y - q),
        2 * (1 - 2 * m) * ((f + y) / 2 - m),
    )
    figures = [(a, agree - a)]
    for expected, moves in zip(by_chance, slope, strict=True):
        left = max(1 - expected, 1e-12)
        figures.append(((a - expected) / left, (agree - a) / left - (1 - a) * moves / left**2))
    spans = [_stratified_mean(value, influence, own, code, level) for value, influence in figures]
    return LabelAgreement(
        agreement=figures[0][0], agreement_interval=spans[0], kappa=figures[1][0], kappa_interval=spans[1],
        ac1=figures[2][0], ac1_interval=spans[2], n=len(f),
    )  # fmt: skip


def _stratified_mean(value: float, influence: Floats, own: Floats, code: Indices, level: float) -> Interval:
    """Student's t on values that vary within strata."""
    moved = own * influence
    size = np.bincount(code)
    mean = np.bincount(code, weights=moved) / size
    spare = np.maximum(size - 1, 1)
    parts = np.bincount(code, weights=(moved - mean[code]) ** 2) * size / spare
    freedom = float(parts.sum() ** 2 / np.sum(parts**2 / spare)) if parts.any() else float(spare.sum())
    reach = float(stdtrit(freedom, 0.5 + level / 2)) * math.sqrt(float(parts.sum()))
    return Interval(low=max(value - reach, -1.0), high=min(value + reach, 1.0), level=level, method="t, linearised")
