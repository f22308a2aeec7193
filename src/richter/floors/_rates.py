"""Floors: how small an error or a gap this many labels can resolve, as the theory's rates.

A rate is an order of magnitude with constant 1, not an interval. Wherever data are at hand the measured answer
(an interval, a test) decides and the rate is printed beside it.
"""

import dataclasses
import math

from richter.floors._check import check_n, check_positive, check_share
from richter.records import Result

__all__ = [
    "HalfLife",
    "Rate",
    "accuracy_floor",
    "active_floor",
    "bias_variance_bins",
    "half_life",
    "passive_floor",
    "phase",
]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Unproved(Result):
    """A rate that the paper states and does not prove."""

    value: float
    proved: bool = False


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Rate(Result):
    """A value of a rate with constant 1, its formula, and whether the paper's proof of it holds."""

    value: float
    formula: str
    source: str
    proved: bool
    note: str
    constant: int = 1

    def __float__(self) -> float:
        return self.value


def passive_floor(n: float, error_rate: float, *, lipschitz: float = 1.0) -> Rate:
    """The smallest calibration error that n random labels resolve: (L e / n)^(1/3) (Theorems 2 and 3, Corollary 6).

    `lipschitz` bounds how fast the calibration gap changes with confidence. Minimax over all such gaps up to a
    logarithm in the lower bound; the constant is set to 1. On real data it is far from tight: on MMLU it is three
    times the half-width of an honest interval for binned ECE. For MMLU's n = 14,042, e = 0.16, L = 1.4 the formula
    gives 0.0252; the paper prints 0.028.

    >>> from richter.floors import passive_floor
    >>> round(passive_floor(1000, 0.064).value, 4)
    0.04
    """
    check_n(n=n)
    check_share(zero=True, error_rate=error_rate)
    check_positive(lipschitz=lipschitz)
    return Rate(
        value=(lipschitz * error_rate / n) ** (1 / 3),
        formula="(L e / n)^(1/3)",
        source="Theorems 2 and 3",
        proved=True,
        note="rate, constant 1; a logarithmic factor is open in the lower bound",
    )


def active_floor(n: float, error_rate: float) -> Rate:
    """The rate claimed for labels placed at chosen confidences: sqrt(e / n) (Theorem 12).

    Only its lower bound is proved (Theorem 1 holds for adaptive questions too). The upper bound takes a Lipschitz
    gap to be near zero only on a narrow band of confidences, which a Lipschitz bound does not give: a gap may stay
    at zero anywhere. So `proved` is False and this is never a result: `next_batch` and its measured savings are.

    >>> from richter.floors import active_floor
    >>> active_floor(1000, 0.1).value
    0.01
    """
    check_n(n=n)
    check_share(zero=True, error_rate=error_rate)
    return Rate(
        value=math.sqrt(error_rate / n),
        formula="sqrt(e / n)",
        source="Theorem 12",
        proved=False,
        note="rate, constant 1; only the lower bound is proved",
    )


def accuracy_floor(n: float, error_rate: float, *, conditions: int = 1) -> float:
    """Two standard errors of an accuracy: 2 sqrt(e (1 - e) / n) (section 8).

    That is one proportion's. The gap between two conditions asked separately (`conditions=2`) is noisier by
    sqrt 2; asked on the same items it depends on how often they disagree, which only data tell.

    >>> from richter.floors import accuracy_floor
    >>> round(accuracy_floor(1000, 0.1), 4)
    0.019
    """
    check_n(n=n)
    check_share(zero=True, error_rate=error_rate)
    return 2 * math.sqrt(conditions * error_rate * (1 - error_rate) / n)


def bias_variance_bins(n: float, error_rate: float, *, lipschitz: float = 1.0) -> int:
    """The number of bins that balances bias L / B and noise sqrt(e B / n): floor((L^2 n / e)^(1/3)) (Theorem 3)."""
    check_n(n=n)
    check_share(error_rate=error_rate)
    check_positive(lipschitz=lipschitz)
    bins: float = (lipschitz**2 * n / error_rate) ** (1 / 3)
    return max(1, math.floor(bins * (1 + 1e-12)))  # a cube root just under its whole number is that number


def phase(n: float, error_rate: float) -> str:
    """Where n e lies to the phase transition at n e ~ 1 (Corollary 5): `below`, `near` (1 to 10) or `above`.

    Below, fewer than one error is expected, and a gap as large as the error rate itself goes unseen by any method.
    """
    check_n(n=n)
    check_share(zero=True, error_rate=error_rate)
    expected = n * error_rate
    if expected < 1:
        return "below"
    return "near" if expected < 10 else "above"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class HalfLife(Result):
    """How long a verification holds under drift, in the drift's unit of time, and the labels a unit to keep it up."""

    expires_after: float
    labels_per_unit: float
    delta: float
    drift: float


def half_life(delta: float, drift: float, *, error_rate: float = 0.05, lipschitz: float = 1.0) -> HalfLife:
    """t = delta / drift, and the perpetual data rate L e drift / delta^4 (Appendix J.3; rate, constant 1).

    `drift` is how fast the calibration error may change per unit of time. The data rate is one audit of L e /
    delta^3 labels each half-life.
    """
    check_share(delta=delta)
    check_positive(drift=drift)
    check_share(error_rate=error_rate)
    check_positive(lipschitz=lipschitz)
    return HalfLife(
        expires_after=delta / drift, labels_per_unit=lipschitz * error_rate * drift / delta**4, delta=delta, drift=drift
    )
