"""The difference of two conditions' calibration errors on the same items."""

import dataclasses
import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from richter.floors._paired import PairedTest
from richter.records import Interval
from richter.stats import bin_gaps, ece_interval

__all__ = ["EcePath", "ece_gap", "ece_path"]

Floats = NDArray[np.float64]

_GRID = np.arange(0.25, 6.01, 0.25)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class EcePath:
    """One condition's calibration error with its limits at many levels, and each item's influence on it."""

    plug_in: float
    debiased: float
    z: Floats
    low: Floats
    high: Floats
    influence: Floats


def ece_path(confidence: Floats, correct: Floats, *, bins: int = 10, level: float = 0.95) -> EcePath:
    """The honest interval of binned ECE over a grid of levels (`level` among them), to be inverted for p-values."""
    gaps = bin_gaps(confidence, correct, bins=bins)
    z = np.unique(np.append(_GRID, float(ndtri(0.5 + level / 2))))
    limits = [ece_interval(gaps.gap, gaps.standard_error, level=float(2 * ndtr(x) - 1)) for x in z]
    plug_in = float(np.sum(np.abs(gaps.gap)))
    return EcePath(
        plug_in=plug_in,
        debiased=limits[0][0],
        z=z,
        low=np.array([interval.low for _, interval in limits]),
        high=np.array([interval.high for _, interval in limits]),
        influence=np.sign(gaps.gap)[gaps.index] * (confidence - correct) - plug_in,
    )


def ece_gap(a: EcePath, b: EcePath, *, margin: float | None = None, level: float = 0.95) -> PairedTest:
    """ECE of b minus ECE of a on the same items: their honest intervals, combined by recovery of variances (MOVER).

    With d the difference of the debiased values, the lower limit is
    d - sqrt(x^2 + y^2 - 2 r x y), x = b - low_b, y = high_a - a, and likewise the upper; r is the correlation of
    the items' influences sign(D_bin) (c - correct), which the shared items bring. p-values invert the interval over
    its level. In simulation (studies/floors_ece_gap.py) the level holds where one or both are calibrated, where a
    bootstrap of the difference does not.
    """
    spread = float(np.std(a.influence) * np.std(b.influence))
    r = (
        float(np.mean(a.influence * b.influence) - np.mean(a.influence) * np.mean(b.influence)) / spread
        if spread
        else 0.0
    )
    r = min(max(r, -1.0), 1.0)
    delta = b.debiased - a.debiased

    def reach(x: Floats, y: Floats) -> Floats:
        squared: Floats = np.maximum(x**2 + y**2 - 2 * r * x * y, 0.0)
        return np.sqrt(squared)

    low = delta - reach(b.debiased - b.low, a.high - a.debiased)
    high = delta + reach(b.high - b.debiased, a.debiased - a.low)
    at = int(np.argmin(np.abs(a.z - float(ndtri(0.5 + level / 2)))))
    within = None
    if margin is not None:
        # one-sided tests at +-margin: the level at which the lower limit reaches -margin, the upper +margin
        within = max(_tail(a.z, low, -margin), _tail(a.z, -high, -margin))
    return PairedTest(
        delta=delta,
        interval=Interval(
            low=max(float(low[at]), -1.0), high=min(float(high[at]), 1.0), level=level, method="ece path, mover"
        ),
        p=min(1.0, 2 * min(_tail(a.z, low, 0.0), _tail(a.z, -high, 0.0))),
        p_equivalence=within,
        n=len(a.influence),
        method="ece path, mover",
    )


def _tail(z: Floats, limit: Floats, value: float) -> float:
    """One-sided p-value of a quantity being at most `value`, from its lower limits at each z.

    Limits fall as z grows; the p-value is that of the z at which they pass `value`. Above the grid's largest z the
    p-value is that z's, an upper bound; where even the smallest z lies below, at least that of no evidence.
    """
    if limit[-1] > value:
        return float(ndtr(-z[-1]))
    if limit[0] <= value:
        return 0.5
    place = int(np.argmax(limit <= value))
    high, low = limit[place - 1], limit[place]
    share = (high - value) / (high - low) if high > low else 0.0
    crossing = z[place - 1] + share * (z[place] - z[place - 1])
    return float(ndtr(-crossing)) if math.isfinite(crossing) else 0.5
