"""The mean of the worst: tail value-at-risk."""

import math

import numpy as np
from numpy.typing import ArrayLike

from richter.errors import InputError
from richter.tail._gpd import GpdFit

__all__ = ["gpd_tvar", "tvar"]


def tvar(values: ArrayLike, *, q: float = 0.9) -> float:
    """TVaR_q (CVaR): the mean of the worst share 1 - q of the values, the paper's tail magnitude (section 3).

    The share may cut through a value, or through tied ones: they enter with the fraction that makes the mass exactly
    (1 - q) n, so that ties at the quantile neither double nor drop out. An infinite severity gives an infinite tail
    mean, returned as such.
    """
    x = np.asarray(values, dtype=np.float64)
    if x.ndim != 1 or len(x) == 0 or np.isnan(x).any():
        raise InputError("TVaR needs one row of at least one number, none missing.", remedy="Drop missing values.")
    if not 0 <= q < 1:
        raise InputError(f"q = {q} is not in [0, 1).", remedy="Use 0.9 for the worst tenth.")
    mass = (1 - q) * len(x)
    whole = min(math.ceil(mass), len(x))
    worst = np.sort(np.partition(x, len(x) - whole)[len(x) - whole :])[::-1]
    weights = np.ones(whole)
    weights[-1] = mass - (whole - 1)
    if np.isinf(worst).any():
        return math.inf if worst[0] > 0 else -math.inf
    return float(worst @ weights / mass)


def gpd_tvar(fit: GpdFit, *, q: float, threshold: float, threshold_q: float) -> float:
    """TVaR_q under a GPD fitted above `threshold`, which is the `threshold_q` quantile; only for q >= threshold_q.

    With u the threshold, VaR_q = u + sigma/xi (((1 - q)/(1 - threshold_q))^(-xi) - 1) and
    TVaR_q = (VaR_q + sigma - xi u) / (1 - xi) (McNeil, Frey and Embrechts). Infinite for xi >= 1, returned as such.
    """
    if not threshold_q <= q < 1:
        raise InputError(
            f"q = {q} lies below the threshold's quantile {threshold_q}: the GPD says nothing there.",
            remedy="Use tvar() on the values.",
        )
    if fit.xi >= 1:
        return math.inf
    share = math.log((1 - q) / (1 - threshold_q))
    over = -share if abs(fit.xi) < 1e-12 else math.expm1(-fit.xi * share) / fit.xi
    value_at_risk = threshold + fit.sigma * over
    return (value_at_risk + fit.sigma - fit.xi * threshold) / (1 - fit.xi)
