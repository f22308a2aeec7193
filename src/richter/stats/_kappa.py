"""Chance-corrected agreement: Cohen's weighted kappa for two raters, Fleiss' kappa for many."""

import dataclasses
import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from richter.errors import InputError
from richter.records import Interval, Shown
from richter.stats._raters_table import level_counts, paired_ratings, ratings_table

__all__ = ["Kappa", "fleiss_kappa", "weighted_kappa"]

Weights = Literal["none", "linear", "quadratic"]
_POWER = {"linear": 1, "quadratic": 2}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Kappa(Shown):
    """Agreement beyond chance: 1 perfect, 0 what the raters' own frequencies give by chance."""

    estimate: float
    standard_error: float
    interval: Interval
    observed: float  # weighted agreement seen
    expected: float  # weighted agreement by chance
    n_items: int
    n_raters: int
    weights: str


def _kappa(
    estimate: float, variance: float, observed: float, expected: float, n: int, k: int, weights: str, level: float
) -> Kappa:
    error = math.sqrt(max(variance, 0.0))
    reach = float(ndtri((1 + level) / 2)) * error
    interval = Interval(low=estimate - reach, high=min(estimate + reach, 1.0), level=level, method="normal, delta")
    return Kappa(
        estimate=estimate,
        standard_error=error,
        interval=interval,
        observed=observed,
        expected=expected,
        n_items=n,
        n_raters=k,
        weights=weights,
    )


def weighted_kappa(
    first: ArrayLike, second: ArrayLike, *, weights: Weights = "quadratic", level: float = 0.95
) -> Kappa:
    """Cohen's kappa of two raters with weights 1 - (distance / range)^p, p = 1 linear, 2 quadratic.

        kappa = (p_o - p_e) / (1 - p_e),  p_o = sum w_ij p_ij,  p_e = sum w_ij p_i. p_.j

    and the large-sample variance of Fleiss, Cohen and Everitt (1969). Distances are taken on the scale itself, not
    on the rank of the levels that happen to occur, so an unused level changes nothing. Items where either score is
    missing are left out. Kappa falls with skewed frequencies even when raters agree as often: read it with p_o.
    """
    if weights not in ("none", *_POWER):
        raise InputError(f"weights={weights!r} is not known.", remedy="Use 'none', 'linear' or 'quadratic'.")
    a, b = paired_ratings(first, second)
    table = ratings_table(np.column_stack([a, b]), complete=True)
    levels = level_counts(table)[0]
    n = len(table)
    joint = np.zeros((len(levels), len(levels)))
    np.add.at(joint, (np.searchsorted(levels, a), np.searchsorted(levels, b)), 1 / n)
    if weights == "none":
        weight = np.eye(len(levels))
    else:
        weight = 1 - (np.abs(levels[:, None] - levels[None, :]) / np.ptp(levels)) ** _POWER[weights]
    rows, columns = joint.sum(axis=1), joint.sum(axis=0)
    observed, expected = float(np.sum(weight * joint)), float(rows @ weight @ columns)
    estimate = (observed - expected) / (1 - expected)
    row_weight, column_weight = weight @ columns, rows @ weight
    inner = weight * (1 - expected) - (row_weight[:, None] + column_weight[None, :]) * (1 - observed)
    spread = float(np.sum(joint * inner**2)) - (observed * expected - 2 * expected + observed) ** 2
    variance = spread / (n * (1 - expected) ** 4)
    return _kappa(estimate, variance, observed, expected, n, 2, weights, level)


def fleiss_kappa(table: ArrayLike, *, level: float = 0.95) -> Kappa:
    """Fleiss' kappa of items x raters: categories count as the same or not, however near on the scale.

    P_i is the share of agreeing pairs on item i, p_j the share of all ratings in category j,
    kappa = (mean P_i - sum p_j^2) / (1 - sum p_j^2) (Fleiss 1971). The interval comes from the variance over items
    of the estimate's linearisation (Gwet 2008, for any number of raters), which holds whatever kappa is;
    Fleiss' own standard error holds only under kappa = 0 and makes no interval.
    """
    values = ratings_table(table, complete=True)
    n, k = values.shape
    counts = level_counts(values)[1]
    share = counts.sum(axis=0) / (n * k)
    expected = float(np.sum(share**2))
    agree = (np.sum(counts**2, axis=1) - k) / (k * (k - 1))
    observed = float(agree.mean())
    estimate = (observed - expected) / (1 - expected)
    chance = counts @ share / k  # an item's part in p_e; its mean over items is p_e
    influence = (agree - expected) / (1 - expected) - 2 * (1 - estimate) * (chance - expected) / (1 - expected)
    variance = float(np.sum((influence - estimate) ** 2)) / (n * (n - 1))
    return _kappa(estimate, variance, observed, expected, n, k, "none", level)
