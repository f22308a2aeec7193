"""Corrections for many tests."""

import numpy as np
from numpy.typing import ArrayLike

from richter.errors import InputError
from richter.stats._arrays import Floats

__all__ = ["benjamini_hochberg", "holm"]


def _p_values(p: ArrayLike) -> Floats:
    values = np.asarray(p, dtype=np.float64)
    if values.ndim != 1 or np.isnan(values).any() or (values < 0).any() or (values > 1).any():
        raise InputError("p-values must be one row of numbers in [0, 1].", remedy="Leave undefined tests out.")
    return values


def benjamini_hochberg(p: ArrayLike) -> Floats:
    """Adjusted p-values (q) that control the false-discovery rate under independence or positive dependence.

    q_(i) = min over j >= i of m p_(j) / j, at most 1 (Benjamini and Hochberg 1995).
    """
    values = _p_values(p)
    m = len(values)
    order = np.argsort(values, kind="stable")
    steps = values[order] * m / np.arange(1, m + 1)
    adjusted = np.empty(m)
    adjusted[order] = np.minimum(np.minimum.accumulate(steps[::-1])[::-1], 1.0)
    return adjusted


def holm(p: ArrayLike) -> Floats:
    """Adjusted p-values that control the family-wise error under any dependence (Holm 1979)."""
    values = _p_values(p)
    m = len(values)
    order = np.argsort(values, kind="stable")
    steps = values[order] * np.arange(m, 0, -1)
    adjusted = np.empty(m)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted
