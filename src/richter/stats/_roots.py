"""Small numerics without scipy.optimize and scipy.stats, which take longer to load than a comparison takes."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["average_ranks", "root"]


def root(function: Callable[[float], float], low: float, high: float, *, xtol: float = 2e-12) -> float:
    """Where a continuous function that changes its sign between `low` and `high` is zero, to within `xtol`.

    Chandrupatla (1997): inverse quadratic interpolation where the three last points allow it, else bisection; never
    more than a few steps worse than halving.
    """
    a, b = float(low), float(high)
    fa, fb = function(a), function(b)
    if fa == 0 or fb == 0:
        return a if fa == 0 else b
    if (fa > 0) == (fb > 0):
        raise ValueError("the function has the same sign at both ends")
    c, fc, step = a, fa, 0.5
    for _ in range(200):
        at = a + step * (b - a)
        value = function(at)
        if (value > 0) == (fa > 0):
            c, fc = a, fa
        else:
            c, fc, b, fb = b, fb, a, fa
        a, fa = at, value
        best = a if abs(fa) < abs(fb) else b
        tolerance = 0.5 * xtol / abs(b - c)
        if fa == 0 or tolerance > 0.5:
            return best
        share, height = (a - b) / (c - b), (fa - fb) / (fc - fb)
        if height**2 < share and (1 - height) ** 2 < 1 - share:
            step = fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb)
        else:
            step = 0.5
        step = min(max(step, tolerance), 1 - tolerance)
    return best


def average_ranks(values: ArrayLike) -> NDArray[np.float64]:
    """Ranks from 1 in each column (or of a vector), ties sharing their mean; what is not a number has none."""
    x = np.asarray(values, dtype=np.float64)
    found = np.full(x.shape, np.nan)
    columns, ranks = (x[:, None], found[:, None]) if x.ndim == 1 else (x, found)
    for k in range(columns.shape[1]):
        known = ~np.isnan(columns[:, k])
        _, place, count = np.unique(columns[known, k], return_inverse=True, return_counts=True)
        ranks[known, k] = (np.cumsum(count) - (count - 1) / 2)[place]
    return found
