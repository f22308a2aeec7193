"""The intraclass correlation of a table of items x raters."""

import dataclasses
import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import fdtri

from richter.records import Interval, Shown
from richter.stats._raters_table import ratings_table

__all__ = ["ICC", "icc"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ICC(Shown):
    """Reliability of one rater (`single`, ICC(2,1)) and of the mean of all k (`average`, ICC(2,k))."""

    single: float
    single_interval: Interval
    average: float
    average_interval: Interval
    n_items: int
    n_raters: int
    mean_square_items: float
    mean_square_raters: float
    mean_square_error: float


def icc(table: ArrayLike, *, level: float = 0.95) -> ICC:
    """Intraclass correlation, two-way random effects, absolute agreement (Shrout and Fleiss 1979, case 2).

    With the mean squares of a two-way analysis of variance without replication, BMS between items, JMS between
    raters and EMS residual, n items and k raters:

        ICC(2,1) = (BMS - EMS) / (BMS + (k - 1) EMS + k (JMS - EMS) / n)
        ICC(2,k) = (BMS - EMS) / (BMS + (JMS - EMS) / n)

    and F-based intervals with Satterthwaite's degrees of freedom for the denominator (the same paper, p. 424; McGraw
    and Wong 1996, table 7). It estimates the share of the scores' variance that lies between items, raters being a
    sample from those who might have rated. Valid when residuals are about normal and of one size; on a nine-level
    scale with many zeros the interval is a guide, the point is not affected. A negative value is kept: it says that
    raters agree less than the items' spread alone would make them.
    """
    values = ratings_table(table, complete=True)
    n, k = values.shape
    centred = values - values.mean()
    # einsum, not matrix products: on two columns a threaded BLAS costs more than the sums themselves
    rows, columns = np.einsum("ij->i", centred) / k, np.einsum("ij->j", centred) / n
    squares_items, squares_raters = (
        k * float(np.einsum("i,i", rows, rows)),
        n * float(np.einsum("j,j", columns, columns)),
    )
    squares = float(np.einsum("ij,ij", centred, centred))
    rest = squares - squares_items - squares_raters
    if rest < 1e-12 * squares:  # exact agreement up to a shift: what is left is rounding
        rest = 0.0
    between, raters, error = squares_items / (n - 1), squares_raters / (k - 1), rest / ((n - 1) * (k - 1))
    single = (between - error) / (between + (k - 1) * error + k * (raters - error) / n)
    average = (between - error) / (between + (raters - error) / n)
    low, high = _single_limits(single, between, raters, error, n, k, level)
    return ICC(
        single=single,
        single_interval=Interval(low=low, high=high, level=level, method="F, Satterthwaite"),
        average=average,
        average_interval=Interval(low=_step_up(low, k), high=_step_up(high, k), level=level, method="F, Satterthwaite"),
        n_items=n,
        n_raters=k,
        mean_square_items=between,
        mean_square_raters=raters,
        mean_square_error=error,
    )


def _single_limits(
    r: float, between: float, raters: float, error: float, n: int, k: int, level: float
) -> tuple[float, float]:
    if error == 0 and raters == 0:
        return 1.0, 1.0
    if error == 0:
        freedom = float(k - 1)  # the limit of Satterthwaite's formula as JMS / EMS grows without bound
    else:
        ratio = raters / error
        share = n * (1 + (k - 1) * r) - k * r
        freedom = (k - 1) * (n - 1) * (k * r * ratio + share) ** 2
        freedom /= (n - 1) * k**2 * r**2 * ratio**2 + share**2
    tail = (1 + level) / 2
    upper, lower = float(fdtri(n - 1, freedom, tail)), float(fdtri(freedom, n - 1, tail))
    base = k * raters + (k * n - k - n) * error
    low = n * (between - upper * error) / (upper * base + n * between)
    high = n * (lower * between - error) / (base + n * lower * between)
    return low, high


def _step_up(r: float, k: int) -> float:
    """Spearman-Brown: the reliability of k raters' mean from that of one."""
    below = 1 + (k - 1) * r
    return k * r / below if below > 0 else -math.inf
