"""Calibration error of one condition, and the difference of two, by unit: evidence from confidences and grades."""

import dataclasses
import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from richter.claims._evidence import Evidence, single_draw_error, single_run_error
from richter.records import Interval, Unit, counted
from richter.stats import bin_gaps, ece_limits, ece_path
from richter.stats._ece import Binning

__all__ = ["EceSide", "ece_difference", "ece_evidence", "ece_side"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

# Where limits are computed, in standard deviations; between them they are interpolated. Beyond, they stay as they are.
_Z = np.concatenate((np.linspace(0, 6, 61), np.geomspace(6.5, 60, 20)))
# Fewer units leave so little to estimate a variance from that nothing is said.
_FEWEST = 5


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class EceSide:
    """One condition's calibration error: its limits at every z of a grid, and each unit's pull on it.

    `null` is the plug-in value that noise alone would give, the sum over bins of s_b sqrt(2 / pi). `pull` is the unit's
    sum of w (c - a), each row times how sure the sign of its bin is, from -1 to 1, and centred;
    `spread` is the standard deviation of the same with the signs taken as known. `freedom` is infinite where rows
    vary independently.
    """

    plug_in: float
    null: float
    debiased: float
    low: Floats
    high: Floats
    pull: Floats
    spread: float
    freedom: float
    n: int
    units: int
    unit: Unit


def ece_side(
    confidence: Floats,
    correct: Floats,
    item: Codes | None = None,
    *,
    group: Codes | None = None,
    weight: Floats | None = None,
    run: Codes | None = None,
    these: bool = False,
    bins: int = 10,
    binning: Binning = "width",
) -> EceSide:
    """What one condition's rows say of its binned ECE: one row an answer, `item` its item (None: every row its own).

    Every item counts alike, or by its `weight`, and an item's draws share that: ECE = sum over bins of
    |sum of w (c - a)|. `group` and `weight` are per item, as in `Outcomes`. Where an item has several draws, or there
    are groups, the standard errors s_b and the correlations between bins come from sums over the unit (the group,
    else the item), and quantiles are Student's with units - 1 degrees of freedom (with groups of unequal size, with
    (sum w^2)^2 / sum w^4 - 1, w the share of a unit). `these`: about these very items, of which only draws vary. `run`
    (of each row): about such runs, crossed with items; their variance is added (the interaction counts in both, so this
    is wide) and the degrees of freedom are theirs, runs - 1.
    """
    rows = np.arange(len(confidence)) if item is None else np.asarray(item, dtype=np.intp)
    draws = np.bincount(rows)
    held = draws > 0
    share = np.where(held, 1.0 if weight is None else weight[: len(draws)], 0.0)
    w = (share / np.maximum(draws, 1))[rows]
    w = w / np.sum(w)
    of_row = rows if group is None else np.asarray(group, dtype=np.intp)[rows]
    apart = group is None or len(np.unique(of_row)) == int(np.sum(held))  # every item a unit of its own
    alone = apart and int(draws.max()) == 1
    if these and (draws == 1).any():
        raise single_draw_error(int(np.sum(draws == 1)), int(np.sum(held)))
    gaps = bin_gaps(
        confidence, correct, bins=bins, binning=binning, unit=None if alone or these else of_row, weight=w,
        within=rows if these else None, crossed=run,
    )  # fmt: skip
    if these:
        of_row = np.arange(len(rows))
    size = np.bincount(of_row, weights=w)
    units = int(np.sum(size > 0))
    freedom = math.inf if alone else float(np.sum(size**2)) ** 2 / float(np.sum(size**4)) - 1
    path = ece_path(gaps.gap, gaps.standard_error, gaps.correlation)
    limit = ece_limits(path, np.concatenate((_Z, -_Z[1:])))
    sure = 2 * ndtr(gaps.gap / gaps.standard_error) - 1
    difference = w * (confidence - correct)

    def pull(sign: Floats) -> Floats:
        total = np.bincount(of_row, weights=sign[gaps.index] * difference)
        centred: Floats = total - size * float(np.sum(total))
        return centred

    pulls, spread = pull(sure), math.sqrt(float(np.sum(pull(np.sign(gaps.gap)) ** 2)))
    if these:  # conditions draw independently
        pulls, freedom = np.zeros(1), float(units - np.sum(held))
    if run is not None:
        runs, code = np.unique(run, return_inverse=True)
        if len(runs) < 2:
            raise single_run_error()
        sums = np.bincount(code, weights=np.sign(gaps.gap)[gaps.index] * difference)
        also = float(np.sum((sums - np.bincount(code, weights=w) * np.sum(sums)) ** 2)) * len(runs) / (len(runs) - 1)
        freedom = min(freedom, len(runs) - 1.0)
        spread, units = math.sqrt(spread**2 + also), len(runs)
    return EceSide(
        plug_in=float(np.sum(np.abs(gaps.gap))),
        null=math.sqrt(2 / math.pi) * float(np.sum(gaps.standard_error)),
        debiased=float(limit[0]),
        low=np.minimum.accumulate(limit[: len(_Z)]),
        high=np.maximum.accumulate(np.concatenate((limit[:1], limit[len(_Z) :]))),
        pull=pulls,
        spread=spread,
        freedom=freedom,
        n=int(np.sum(held)),
        units=units,
        unit="draw" if these else "run" if run is not None else "item" if apart else "group",
    )


def ece_evidence(side: EceSide) -> Evidence:
    """The binned ECE of one condition: the debiased value, and the honest interval at every level (D1's path)."""
    return _evidence(side.debiased, side.debiased - side.low, side.high - side.debiased, (side,), (0.0, 1.0))


def ece_difference(first: EceSide, second: EceSide, *, paired: bool = True) -> Evidence:
    """ECE of the second minus ECE of the first: their honest intervals, combined by recovery of variances (MOVER).

    With d the difference of the debiased values a and b, the lower limit is d - sqrt(x^2 + y^2 - 2 r x y),
    x = b - low_b, y = high_a - a, and likewise the upper; r is the correlation that shared units bring, counting a row
    only as far as the sign of its bin's gap is known (with signs taken as known, signs that agree by chance would
    count). Where a limit has run into 0 the distances are added instead: near 0 an ECE is only ever overestimated,
    which quadrature takes for noise (cover 0.90). Without `paired` r is 0: for confidences that are functions of each
    other, whose gaps share their signs by chance. Cover and size: studies/calibration_ece_gap.py.
    """
    spread = first.spread * second.spread
    shared = min(len(first.pull), len(second.pull))
    r = float(np.sum(first.pull[:shared] * second.pull[:shared])) / spread if paired and spread > 0 else 0.0
    r = min(max(r, -1.0), 1.0)

    def reach(x: Floats, y: Floats, bound: Floats) -> Floats:
        apart = np.sqrt(np.maximum(x**2 + y**2 - 2 * r * x * y, 0.0))
        both: Floats = np.maximum.accumulate(np.where(bound > 0, apart, x + y))  # a higher level contains a lower one
        return both

    down = reach(second.debiased - second.low, first.high - first.debiased, second.low)
    up = reach(second.high - second.debiased, first.debiased - first.low, first.low)
    return _evidence(second.debiased - first.debiased, down, up, (first, second), (-1.0, 1.0))


def _evidence(
    estimate: float, down: Floats, up: Floats, sides: tuple[EceSide, ...], limits: tuple[float, float]
) -> Evidence:
    """Distances from the estimate to its limits on the grid of z, as an interval at any level and its inversion."""
    units, freedom = min(s.units for s in sides), min(s.freedom for s in sides)
    few = (units < _FEWEST and sides[0].unit != "run") or freedom < _FEWEST - 1
    lowest, highest = limits

    def interval(level: float) -> Interval:
        z = float(stdtrit(freedom, 0.5 + level / 2) if math.isfinite(freedom) else ndtri(0.5 + level / 2))
        low = lowest if few else max(estimate - float(np.interp(z, _Z, down)), lowest)
        high = highest if few else min(estimate + float(np.interp(z, _Z, up)), highest)
        return Interval(low=low, high=high, level=level, method="ece path" + ", mover" * (len(sides) == 2))

    def p(value: float) -> float:
        if few and lowest <= value <= highest:
            return 1.0
        z = _z_reaching(abs(value - estimate), down if value <= estimate else up)
        return 2 * float(stdtr(freedom, -z) if math.isfinite(freedom) else ndtr(-z))

    notes = (f"Only {counted(units, 'unit')}: too few to say how much a calibration error varies.",) if few else ()
    return Evidence(
        estimate=estimate,
        interval=interval,
        p=p,
        values=tuple(s.debiased for s in sides),
        n=min(s.n for s in sides),
        units=units,
        unit=sides[0].unit,
        standard_error=float(max(down[20], up[20])) / float(_Z[20]),  # a distance that 0 cuts off says too little
        freedom=freedom,
        notes=notes,
    )


def _z_reaching(distance: float, reached: Floats) -> float:
    """The smallest z on the grid, interpolated, whose limit is as far away as `distance`."""
    place = int(np.searchsorted(reached, distance))
    if place in (0, len(_Z)):
        return float(_Z[min(place, len(_Z) - 1)])
    return float(np.interp(distance, reached[place - 1 : place + 1], _Z[place - 1 : place + 1]))
