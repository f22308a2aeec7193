"""The shape over a range of thresholds (the paper's figure 3)."""

import dataclasses
import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from richter.errors import InputError, TooFewErrors
from richter.records import Interval, Result
from richter.tail._condition import exceedances_above
from richter.tail._gpd import fit_gpd

__all__ = ["ScanPoint", "StabilityScan", "stability_scan"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ScanPoint(Result):
    """The fit above one threshold."""

    q: float
    threshold: float
    n_exc: int
    xi: float
    sigma: float
    interval: Interval


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """Two ends."""

    low: float
    high: float


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class StabilityScan(Result):
    """xi over thresholds with intervals, and the condition's own envelope: median and standard deviation of xi.

    A shape at one threshold that lies within `median` ± `spread` is inside the noise of choosing the threshold.
    """

    derived: ClassVar = ("envelope",)

    points: tuple[ScanPoint, ...]
    median: float
    spread: float
    n: int

    @property
    def envelope(self) -> Envelope:
        """Median minus and plus one standard deviation over the scan."""
        return Envelope(low=self.median - self.spread, high=self.median + self.spread)


def stability_scan(
    values: ArrayLike, *, quantiles: Sequence[float] | None = None, level: float = 0.95, min_exceedances: int = 200
) -> StabilityScan:
    """Fit the GPD above each threshold; default 60 quantiles from 0.70 to 0.985, as in figure 3.

    Thresholds with fewer than `min_exceedances` (the paper's 200) are left out. Intervals are by profile likelihood,
    which needs no resampling. Neighbouring thresholds share data: their intervals are not independent.
    """
    x = np.asarray(values, dtype=np.float64)
    if x.ndim != 1 or not np.isfinite(x).all():
        raise InputError("A stability scan needs one row of finite numbers.", remedy="Remove missing values.")
    grid = np.linspace(0.70, 0.985, 60) if quantiles is None else np.asarray(quantiles, dtype=np.float64)
    if ((grid <= 0) | (grid >= 1)).any():
        raise InputError("Thresholds are quantiles between 0 and 1.", remedy="Leave 0 and 1 out.")
    descending = np.sort(x)[::-1]
    points = []
    for q in grid:
        threshold = float(np.quantile(x, q))
        above = exceedances_above(descending, threshold)
        if len(above) < max(min_exceedances, 10) or np.ptp(above) == 0:
            continue
        fit = fit_gpd(above, level=level)
        points.append(
            ScanPoint(
                q=float(q), threshold=threshold, n_exc=len(above), xi=fit.xi, sigma=fit.sigma, interval=fit.interval
            )
        )
    if not points:
        needed = math.ceil(min_exceedances / (1 - float(grid.min())))
        raise TooFewErrors(
            f"No threshold leaves {min_exceedances} exceedances of {len(x)} values.", n=len(x), needed=needed
        )
    shapes = np.array([p.xi for p in points])
    return StabilityScan(
        points=tuple(points),
        median=float(np.median(shapes)),
        spread=float(np.std(shapes, ddof=1)) if len(shapes) > 1 else 0.0,
        n=len(x),
    )
