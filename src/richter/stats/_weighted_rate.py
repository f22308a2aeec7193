"""Limits for a weighted sum of rates, such as a rate standardised to someone else's traffic."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtri

from richter.errors import InputError
from richter.records import Interval

__all__ = ["weighted_rate"]


def weighted_rate(
    events: ArrayLike, weights: ArrayLike, *, largest_weight: float, level: float = 0.95, side: str = "both"
) -> Interval:
    """Gamma limits of Fay and Feuer (1997) for sum of w_i lambda_i, where events_i ~ Poisson(lambda_i).

    With y = sum w_i x_i and v = sum w_i^2 x_i the lower limit is the quantile of a gamma with mean y and variance v,
    the upper that of a gamma with mean y + w and variance v + w^2, w being `largest_weight`: the largest weight that
    *any* possible event carries, seen or not. With equal weights these are the exact Poisson limits; with unequal
    ones they are conservative. Counts of a binomial are less spread than a Poisson's, so the limits hold for them
    too. No event seen gives 0 and -ln(1 - level) w at one side, never 0. `side="upper"` or `"lower"` puts all of
    1 - level on one side.
    """
    x, w = np.asarray(events, dtype=np.float64), np.asarray(weights, dtype=np.float64)
    if (x < 0).any() or (w < 0).any() or not largest_weight > 0 or (len(w) and w.max() > largest_weight * (1 + 1e-9)):
        raise InputError(
            "Events and weights must not be negative, nor a weight above the largest.", remedy="Check the weights."
        )
    if side not in ("both", "upper", "lower"):
        raise InputError(f"side={side!r} is not known.", remedy="Use 'both', 'upper' or 'lower'.")
    tail = (1 - level) / 2 if side == "both" else 1 - level
    y, v = float(w @ x), float((w**2) @ x)
    low = 0.0 if y == 0 or side == "upper" else v / (2 * y) * float(chdtri(2 * y * y / v, 1 - tail))
    top_y, top_v = y + largest_weight, v + largest_weight**2
    high = np.inf if side == "lower" else top_v / (2 * top_y) * float(chdtri(2 * top_y * top_y / top_v, tail))
    return Interval(low=low, high=float(high), level=level, method=f"fay-feuer {side}")
