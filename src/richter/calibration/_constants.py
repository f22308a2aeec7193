"""The leading constants of the low-margin regime: eqs. (9) and (10) of the Sem-ECE paper and the root of g_B."""

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import ndtr

from richter.stats import Floats

__all__ = ["ece_gap_constant", "jensen_bias", "jensen_root", "oracle_gap_constant", "selection_bias"]


def _density(x: Any) -> Any:
    return np.exp(-0.5 * np.square(x)) / np.sqrt(2 * np.pi)


def jensen_bias(half_margin: ArrayLike) -> Floats:
    """J(l) = phi(2l) - 2l Phi(-2l): Sem1 overshoots the oracle by sqrt(p / n) J, eq. (9)."""
    u = 2 * np.asarray(half_margin, dtype=np.float64)
    return np.asarray(_density(u) - u * ndtr(-u))  # eq. (9)


def selection_bias(half_margin: ArrayLike) -> Floats:
    """S(l) = 2l Phi(-2l): Sem2 undershoots the oracle by sqrt(p / n) S, eq. (9)."""
    u = 2 * np.asarray(half_margin, dtype=np.float64)
    return np.asarray(u * ndtr(-u))  # eq. (9)


def ece_gap_constant(half_margin: ArrayLike) -> Floats:
    """g_A(l) = J + S = phi(2l), eq. (10): Sem1-ECE exceeds Sem2-ECE by sqrt(p / n) g_A (Theorem 5.6)."""
    return np.asarray(_density(2 * np.asarray(half_margin, dtype=np.float64)))  # eq. (10)


def oracle_gap_constant(half_margin: ArrayLike) -> Floats:
    """g_B(l) = J - S = phi(2l) - 4l Phi(-2l), eq. (10): positive where Sem2 is nearer to the oracle (Theorem 5.7)."""
    return jensen_bias(half_margin) - selection_bias(half_margin)  # eq. (10)


@cache
def jensen_root() -> float:
    """The positive root of g_B, lambda* = 0.306002; below it a question is Jensen-dominated (Definition 5.5).

    The paper's appendix A.8 prints u* = 2 lambda* as 0.6125; the root is 0.612003.
    """
    return float(brentq(lambda x: float(oracle_gap_constant(x)), 0.1, 1.0, xtol=1e-15, rtol=1e-14))
