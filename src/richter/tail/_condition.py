"""One condition's tail above one threshold, all that the gates look at; its shape over a range of them (figure 3)."""

import dataclasses
import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from richter._special import ndtr
from richter.errors import InputError, TooFewErrors
from richter.records import Interval, Result, Shown
from richter.stats import Floats
from richter.tail import _gpd_kernels as _kernels
from richter.tail._gof import GofResult, gpd_gof
from richter.tail._gpd import MIN_EXCEEDANCES, GpdFit, fit_gpd, tvar
from richter.tail._tail_plan import TailPlan
from richter.tail._transform import Bound, find_bound

__all__ = ["ConditionTail", "ScanPoint", "StabilityScan", "condition_tail", "stability_scan"]

GOF_RESAMPLES = 1_999  # a p-value of 0.05 is then known to 0.005


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """The shape at a nearby threshold."""

    q: float
    n_exc: int
    xi: float


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Stability:
    """The shape at the ends of the band around the threshold; None where no threshold there can be used.

    `chance` is the probability that sampling noise alone keeps both ends within the tolerance when the true shape is
    constant: sd = (1 + xi) sqrt(1/n_high - 1/n_low) for nested exceedances.
    """

    low: Neighbour | None
    high: Neighbour | None
    largest_move: float
    chance: float


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ConditionTail(Shown):
    """A condition's bulk, threshold, fit, goodness of fit, stability and bound.

    `interval` is that of xi by profile likelihood: percentiles of resamples cover too little and serve only the paper's
    criterion P1; where items come in groups, of which `n_groups` exceed the threshold, it counts as many as
    vary independently (`interval_by_group`), and for xi <= -0.5 is by resamples of groups.
    """

    unwritten: ClassVar = ("name", "fit", "stability")
    derived: ClassVar = ("xi", "sigma", "ad_p")

    name: str
    n: int
    q: float
    threshold: float
    n_exc: int
    mean: float
    tvar: float
    fit: GpdFit | None
    gof: GofResult | None
    stability: Stability | None
    bounded: Bound | None
    interval: Interval | None = None
    n_groups: int | None = None

    @property
    def apart(self) -> int:
        """Exceedances that vary independently: groups of items that have one, where items come in groups."""
        return self.n_exc if self.n_groups is None else self.n_groups

    @property
    def xi(self) -> float:
        """The fitted shape, NaN where there is none."""
        return math.nan if self.fit is None else self.fit.xi

    @property
    def sigma(self) -> float:
        """The fitted scale, NaN where there is none."""
        return math.nan if self.fit is None else self.fit.sigma

    @property
    def ad_p(self) -> float:
        """The p-value of the goodness of fit, NaN where it was not tested."""
        return math.nan if self.gof is None else self.gof.p


def exceedances_above(descending: Floats, threshold: float) -> Floats:
    """What lies strictly above the threshold, less the threshold, from severities sorted downwards."""
    n = int(np.searchsorted(-descending, -threshold, side="left"))
    exceedances: Floats = descending[:n] - threshold
    return exceedances


def condition_tail(
    name: str,
    values: Floats,
    q: float,
    plan: TailPlan,
    *,
    rng: np.random.Generator,
    largest: float | None = None,
    raw: bool = True,
    grid: Floats | None = None,
) -> ConditionTail:
    """One condition, fitted above its own q quantile (linear interpolation, strictly above).

    `raw` says that the values are on the scorer's own scale; `grid` holds the values that can occur, where rounded
    scores were transformed.
    """
    descending = np.sort(values)[::-1]
    threshold = float(np.quantile(values, q))
    x = exceedances_above(descending, threshold)
    bound = find_bound(
        values,
        threshold,
        largest=float(values.max()) if largest is None else largest,
        bounds=plan.bounds if raw else (),
        raw=raw,
    )
    fit = gof = stability = None
    if len(x) >= MIN_EXCEEDANCES and np.ptp(x) > 0:
        fit = fit_gpd(x, level=1 - plan.alpha)
        possible = None if grid is None else grid[grid > threshold] - threshold
        gof = _test_fit(x, fit, plan, rng, possible)
        stability = stability_of(descending, q, fit, plan)
    return ConditionTail(
        name=name,
        n=len(values),
        q=q,
        threshold=threshold,
        n_exc=len(x),
        mean=float(values.mean()),
        tvar=tvar(values, q=plan.tvar_q),
        fit=fit,
        gof=gof,
        stability=stability,
        bounded=bound,
        interval=None if fit is None else fit.interval,
    )


def _test_fit(x: Floats, fit: GpdFit, plan: TailPlan, rng: np.random.Generator, possible: Floats | None) -> GofResult:
    method = plan.gof_method
    if method == "auto":
        tied = 1 - len(np.unique(x)) / len(x)
        method = "bootstrap" if tied > 0.01 or not fit.regular else "eigen"
    if method == "eigen" and not fit.regular:
        method = "bootstrap"
    rounding = possible if possible is not None and len(possible) > 1 else None
    return gpd_gof(x, method=method, rng=rng, n_resamples=GOF_RESAMPLES, rounding=rounding)


def stability_of(descending: Floats, q: float, fit: GpdFit, plan: TailPlan) -> Stability:
    """The shape at q - width and q + width, or as high above q as the floor of exceedances allows."""
    n = len(descending)
    ascending = descending[::-1]
    low_q = q - plan.stability_width
    low = _neighbour_threshold(descending, ascending, low_q) if low_q > 0 else None
    high_q = min(q + plan.stability_width, 1 - plan.floor_exceedances / n)
    high = None
    while high_q > q + 1e-9:
        high = _neighbour_threshold(descending, ascending, high_q)
        if high is not None and high.n_exc >= plan.floor_exceedances:
            break
        high, high_q = None, high_q - 1 / n  # the linear quantile or ties can leave one too few
    ends = [end for end in (low, high) if end is not None]
    chance = 1.0
    for end in ends:
        few, many = sorted((end.n_exc, fit.n))
        noise = (1 + fit.xi) * math.sqrt(1 / few - 1 / many)
        if noise > 0:
            chance *= float(2 * ndtr(plan.stability_tolerance / noise) - 1)
    return Stability(
        low=low, high=high, largest_move=max((abs(end.xi - fit.xi) for end in ends), default=math.nan), chance=chance
    )


def _neighbour_threshold(descending: Floats, ascending: Floats, q: float) -> Neighbour | None:
    x = exceedances_above(descending, float(_sorted_quantile(ascending, q)))
    if len(x) < MIN_EXCEEDANCES or np.ptp(x) == 0:
        return None
    xi, _, _ = _kernels.fit_weighted(x, np.ones(len(x), dtype=np.int32), float(np.median(x)), math.nan)
    return Neighbour(q=q, n_exc=len(x), xi=xi)


def _sorted_quantile(ascending: Floats, q: float) -> float:
    """numpy's linear quantile without its sort."""
    position = q * (len(ascending) - 1)
    below = math.floor(position)
    above = min(below + 1, len(ascending) - 1)
    return float(ascending[below] + (position - below) * (ascending[above] - ascending[below]))


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
    """The GPD fitted above each threshold; default 60 quantiles from 0.70 to 0.985, as in figure 3.

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
