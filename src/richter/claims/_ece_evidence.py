"""Calibration error of one condition, and the difference of two, by unit: evidence from confidences and grades."""

import dataclasses
import math

import numpy as np
from numpy.typing import NDArray

from richter._special import ndtr, ndtri, stdtr, stdtrit
from richter.claims._question import Evidence, single_run_error
from richter.records import Interval, Unit, counted
from richter.stats import EcePath, bin_gaps, ece_limits, ece_path
from richter.stats._ece import Binning, folded_covariance

__all__ = ["EceSide", "ece_difference", "ece_evidence", "ece_side"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

# Where limits are computed, in standard deviations; between them they are interpolated. Beyond, they stay as they are.
_Z = np.concatenate((np.linspace(0, 6, 61), np.geomspace(6.5, 60, 20)))
_STEPS = np.linspace(-12, 12, 97)  # of a difference, in standard deviations; between them scores are interpolated
# Fewer units leave so little to estimate a variance from that nothing is said.
_FEWEST = 5


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class EceSide:
    """One condition's calibration error: its path, its limits at every z of a grid, and each unit's part in it.

    `null` is the plug-in value that noise alone would give, the sum over bins of s_b sqrt(2 / pi). `sums` are units x
    bins: the unit's sum of w ((c - a) 1{bin} - D_b). `freedom` is infinite where rows vary independently.
    """

    plug_in: float
    null: float
    debiased: float
    path: EcePath
    low: Floats
    high: Floats
    sums: Floats
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
    bins: int = 10,
    binning: Binning = "width",
) -> EceSide:
    """What one condition's rows say of its binned ECE: one row an answer, `item` its item (None: every row its own).

    Every item counts alike, or by its `weight`, and an item's draws share that: ECE = sum over bins of
    |sum of w (c - a)|. `group` and `weight` are per item, as in `Outcomes`. Where an item has several draws, or there
    are groups, the standard errors s_b and the correlations between bins come from sums over the unit (the group,
    else the item), and quantiles are Student's with units - 1 degrees of freedom (with groups of unequal size, with
    (sum w^2)^2 / sum w^4 - 1, w the share of a unit). `run` (of each row) is crossed with items: the variance of runs
    is added (the interaction counts in both, so this is wide) and the degrees of freedom are theirs, runs - 1.
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
    gaps = bin_gaps(
        confidence, correct, bins=bins, binning=binning, unit=None if alone else of_row, weight=w, crossed=run
    )  # fmt: skip
    size = np.bincount(of_row, weights=w)
    units = int(np.sum(size > 0))
    freedom = math.inf if alone else float(np.sum(size**2)) ** 2 / float(np.sum(size**4)) - 1
    path = ece_path(gaps.gap, gaps.standard_error, gaps.correlation)
    limit = ece_limits(path, np.concatenate((_Z, -_Z[1:])))
    bins_held, cells = len(gaps.gap), of_row * len(gaps.gap) + gaps.index
    held_sums = np.bincount(cells, weights=w * (confidence - correct), minlength=len(size) * bins_held)
    sums: Floats = (held_sums.reshape(-1, bins_held) - np.outer(size, gaps.gap)) * math.sqrt(units / max(units - 1, 1))
    if run is not None:
        runs = np.unique(run)
        if len(runs) < 2:
            raise single_run_error()
        freedom = min(freedom, len(runs) - 1.0)
        units = len(runs)
    return EceSide(
        plug_in=float(np.sum(np.abs(gaps.gap))),
        null=math.sqrt(2 / math.pi) * float(np.sum(gaps.standard_error)),
        debiased=float(limit[0]),
        path=path,
        low=np.minimum.accumulate(limit[: len(_Z)]),
        high=np.maximum.accumulate(np.concatenate((limit[:1], limit[len(_Z) :]))),
        sums=sums,
        freedom=freedom,
        n=int(np.sum(held)),
        units=units,
        unit="run" if run is not None else "item" if apart else "group",
    )


def ece_evidence(side: EceSide) -> Evidence:
    """The binned ECE of one condition: the debiased value, and the honest interval at every level (D1's path)."""
    return _evidence(side.debiased, side.debiased - side.low, side.high - side.debiased, (side,), (0.0, 1.0))


def ece_difference(first: EceSide, second: EceSide, *, paired: bool = True) -> Evidence:
    """ECE of the second minus ECE of the first: where T_2 - T_1 lies in its law if the ECEs differ by d.

    T is the plug-in value. Its law at an ECE of e is that of a sum of folded normals on D1's path (`EcePath`): mean
    M(e) and variance V(e). For every d the two ECEs are the debiased ones, moved to differ by d, each by its share of
    the variance and neither below 0. The score is (T_2 - T_1 - M_2 + M_1) / sqrt(V_1 + V_2 - 2 C), with C the
    covariance of the two sums from the units that both have. The limits are the d whose scores are z and -z, Student's
    with groups. Noise biases both T upwards, and much of this cancels. Without `paired` C is 0: for confidences that
    are functions of each other, whose gaps share their signs by chance. Cover, size and power beside the swap test:
    studies/calibration_ece_gap.py.
    """
    estimate = second.debiased - first.debiased
    cross = _cross_correlation(first, second) if paired else np.zeros((len(first.path.size), len(second.path.size)))
    variance = [
        float(side.path.law(_shrink_to(side.path, np.array([side.debiased]))).variance[0]) for side in (first, second)
    ]
    d = np.unique(np.concatenate((estimate + math.sqrt(sum(variance)) * _STEPS, [-1.0, 0.0, 1.0])).clip(-1.0, 1.0))
    moved = estimate - d
    one = first.debiased + moved * variance[0] / sum(variance)
    one = np.clip(one, np.maximum(-d, 0.0), np.minimum(1.0, 1.0 - d))
    laws = [side.path.law(_shrink_to(side.path, e)) for side, e in ((first, one), (second, one + d))]
    shared = folded_covariance(laws[0].first, laws[0].second, cross, laws[1].first, laws[1].second)
    total = laws[0].variance + laws[1].variance
    spread = np.sqrt(np.maximum(total - 2 * shared, 0.1 * total))
    score = (second.plug_in - first.plug_in - laws[1].mean + laws[0].mean) / spread
    score = np.minimum.accumulate(score)  # a larger d is never less exceeded
    low, high = (np.interp(sign * _Z, -score, d, left=-1.0, right=1.0) for sign in (-1, 1))
    down, up = np.maximum(estimate - low, 0.0), np.maximum(high - estimate, 0.0)
    return _evidence(estimate, down, up, (first, second), (-1.0, 1.0))


def _shrink_to(path: EcePath, norm: Floats) -> Floats:
    """The l at which sum |theta_b(l)| is each `norm`: a sum of kinked lines, inverted between its kinks."""
    kinks = np.sort(path.size / path.error)
    kinks = np.concatenate(([kinks[0] - 1.0], kinks))
    at = path.norm(kinks)
    slope = float(np.sum(path.error))
    inside = np.interp(norm, at[::-1], kinks[::-1])
    found: Floats = np.where(norm > at[0], kinks[0] - (norm - at[0]) / slope, inside)
    return found


def _cross_correlation(first: EceSide, second: EceSide) -> Floats:
    """The correlations of the gaps D_b of two conditions that units in both bring, bins x bins."""
    shared = min(len(first.sums), len(second.sums))
    covariance = first.sums[:shared].T @ second.sums[:shared]
    found: Floats = np.clip(covariance / np.outer(first.path.error, second.path.error), -1.0, 1.0)
    return found


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
        return Interval(low=low, high=high, level=level, method="ece path" + ", difference" * (len(sides) == 2))

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
