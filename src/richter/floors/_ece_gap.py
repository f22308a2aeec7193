"""The difference of two conditions' calibration errors on the same items."""

import dataclasses

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
    """One condition's calibration error with its limits at many levels, and each item's pull on it.

    `pull` is (c - correct) times how sure the sign of its bin is, from -1 to 1; `spread` the standard deviation of the
    same with signs taken as known.
    """

    plug_in: float
    debiased: float
    z: Floats
    low: Floats
    high: Floats
    pull: Floats
    spread: float


def ece_path(confidence: Floats, correct: Floats, *, bins: int = 10, level: float = 0.95) -> EcePath:
    """The honest interval of binned ECE over a grid of levels (`level` among them), to be inverted for p-values."""
    gaps = bin_gaps(confidence, correct, bins=bins)
    z = np.unique(np.append(_GRID, float(ndtri(0.5 + level / 2))))
    limits = [ece_interval(gaps.gap, gaps.standard_error, level=float(2 * ndtr(x) - 1)) for x in z]
    plug_in = float(np.sum(np.abs(gaps.gap)))
    with np.errstate(divide="ignore", invalid="ignore"):
        sure = 2 * ndtr(np.nan_to_num(gaps.gap / gaps.standard_error)) - 1
    return EcePath(
        plug_in=plug_in,
        debiased=limits[0][0],
        z=z,
        low=np.array([interval.low for _, interval in limits]),
        high=np.array([interval.high for _, interval in limits]),
        pull=sure[gaps.index] * (confidence - correct),
        spread=float(np.std(np.sign(gaps.gap)[gaps.index] * (confidence - correct))),
    )


def ece_gap(a: EcePath, b: EcePath, *, margin: float | None = None, level: float = 0.95) -> PairedTest:
    """ECE of b minus ECE of a on the same items: their honest intervals, combined by recovery of variances (MOVER).

    With d the difference of the debiased values, the lower limit is
    d - sqrt(x^2 + y^2 - 2 r x y), x = b - low_b, y = high_a - a, and likewise the upper; r is the correlation that
    the shared items bring, counting an item only as far as the sign of its bin's gap is known (with signs taken as
    known, signs that agree by chance would count). Where a limit has run into 0 the distances are added instead: near
    0 an ECE is only ever overestimated, which quadrature takes for noise (cover 0.90). p-values invert the interval
    over its level. Cover in simulation: studies/floors_ece_gap.py.
    """
    spread = a.spread * b.spread
    r = float(np.cov(a.pull, b.pull, ddof=0)[0, 1]) / spread if spread > 0 else 0.0
    r = min(max(r, -1.0), 1.0)
    delta = b.debiased - a.debiased

    def reach(x: Floats, y: Floats, bound: Floats) -> Floats:
        """Both distances together: in quadrature, or added where a limit has run into 0."""
        squared = np.maximum(x**2 + y**2 - 2 * r * x * y, 0.0)
        return np.where(bound > 0, np.sqrt(squared), x + y)

    low = delta - reach(b.debiased - b.low, a.high - a.debiased, b.low)
    high = delta + reach(b.high - b.debiased, a.debiased - a.low, a.low)
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
        n=len(a.pull),
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
    return float(ndtr(-crossing)) * (1 + 1e-9)  # a limit that only touches the value does not exclude it
