"""Floors over time and scale: horizon, duality, half-life, data rate, recalibration."""

import dataclasses
import math

from richter.floors._check import check_n, check_positive, check_share
from richter.floors._rates import Unproved
from richter.records import Result

__all__ = [
    "HalfLife",
    "Horizon",
    "Recalibration",
    "dynamics_exponent",
    "half_life",
    "horizon",
    "recalibration_rounds",
    "scaling_exponents",
]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Horizon(Result):
    """The model size beyond which `labels` cannot verify a gap as large as the error rate; rates, constant 1."""

    passive: float
    active_rate: Unproved
    labels: float
    alpha: float
    c0: float
    lipschitz: float


def horizon(labels: float, *, alpha: float = 0.5, c0: float = 1.0, lipschitz: float = 1.0) -> Horizon:
    """N* = (c0^2 M / L)^(1 / (2 alpha)) where the error rate is c0 N^-alpha (Theorem 16); active (c0 M)^(1 / alpha).

    From the floor (L e / M)^(1/3) < e. At M = 14,000 this is 1.4e4, as in the paper's table 6; its text has 1e7.
    """
    check_n(labels=labels)
    check_positive(alpha=alpha, c0=c0, lipschitz=lipschitz)
    return Horizon(
        passive=(c0**2 * labels / lipschitz) ** (1 / (2 * alpha)),
        active_rate=Unproved(value=(c0 * labels) ** (1 / alpha)),
        labels=labels,
        alpha=alpha,
        c0=c0,
        lipschitz=lipschitz,
    )


def scaling_exponents(alpha: float) -> dict[str, float]:
    """How labels grow with model size N when the error rate falls as N^-alpha and the gap sought falls with it.

    Detection e / delta^2 grows as N^alpha (Theorem 4's statement). Estimation L e / delta^3 at the passive rate
    grows as N^(2 alpha); Theorem 4 does not say so.
    """
    check_positive(alpha=alpha)
    return {"detection": alpha, "estimation": 2 * alpha}


def dynamics_exponent(beta: float) -> dict[str, str]:
    """Whether a stream of labels keeps up with an error rate that falls as t^-beta (Appendix J.1).

    Passive: it does for beta < 1/2, active (rate not proved): for beta < 1; at the critical value it depends on the
    constants.
    """
    check_positive(beta=beta)

    def state(critical: float) -> str:
        if beta == critical:
            return "depends on constants"
        return "keeps up" if beta < critical else "falls behind"

    return {"passive": state(0.5), "active": state(1.0)}


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


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Recalibration(Result):
    """`rounds` of recalibration whose improvement `labels` could still detect; `exact` before rounding down."""

    rounds: int
    exact: float
    labels: float
    factor: float
    ece: float
    error_rate: float


def recalibration_rounds(labels: float, ece: float, *, error_rate: float, factor: float = 0.5) -> Recalibration:
    """Rounds after which a further improvement by `factor` is too small to see (Appendix J.2; rate, constant 1).

    Round K improves by factor^K ECE_0 (1 - factor), which needs e / improvement^2 labels (Theorem 1):
    K* = floor(log(M (1 - factor)^2 ECE_0^2 / e) / (2 log(1 / factor))). 0 where not even the first shows.
    """
    check_n(labels=labels)
    check_share(ece=ece, error_rate=error_rate, factor=factor)
    exact = math.log(labels * (1 - factor) ** 2 * ece**2 / error_rate) / (2 * math.log(1 / factor))
    return Recalibration(
        rounds=max(0, math.floor(exact)), exact=exact, labels=labels, factor=factor, ece=ece, error_rate=error_rate
    )
