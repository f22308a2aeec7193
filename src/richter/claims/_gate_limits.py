"""The limit that a gate passes by: losing grades of the candidate never improves it.

Where grades are missing it is the least favourable limit over all values that they may have had, between the worse and
the better end of the range. A grade that is lost was one of these values, so the limit was no lower before.
"""

import dataclasses
import functools
import math
from collections.abc import Callable

import numpy as np

from richter._special import stdtrit
from richter.claims._measures import Codes, Floats
from richter.claims._question import LEAST_FREEDOM, Evidence, one_sided_level
from richter.claims._units import (
    Sample,
    codes_of_groups,
    difference_evidence,
    is_single_binary,
    mean_evidence,
    weights_of,
)
from richter.records import Interval
from richter.stats import Bools
from richter.stats._proportion import MIN_DEPARTING_UNITS, MIN_FREEDOM, unit_freedom

__all__ = ["with_gate_limit"]

N_WEIGHTINGS = 10_000  # of the units at random: 500 of them lie below a limit at 5%
MAX_STORED_WEIGHTS = 20_000_000
FAILING_SHARE = 1 / 8  # of groups that may fail wholly without being seen
MIN_GROUPS = 23  # as many show a failing one in 95% of cases: (7 / 8)^23 < 5%
Limit = Callable[[float], float]  # of the mean, more being better, by the share of cases below it
SEED = 20_261_117  # every limit takes the same weights: with others one could exceed another by chance


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class UnitFills:
    """What each unit adds to the mean, at least and at most over the missing grades' values; more is better.

    `share` is a unit's share of the mean, `worst` the worse end of the mean's range, and `failing` the mean of these
    items if the candidate failed all of them. `bases` are the values of units that do not depart, and `are_groups` says
    that a unit is a group of items.
    """

    least: Floats
    most: Floats
    share: Floats
    worst: float
    failing: float
    bases: tuple[float, ...]
    are_groups: bool

    def largest_residuals(self) -> Floats:
        """The largest distance of each unit's part of the mean from its share of it, over the missing grades."""
        low, high = float(np.sum(self.least)), float(np.sum(self.most))
        shares = np.stack([self.share * low, self.share * high])
        found: Floats = np.maximum(np.abs(self.most - shares.min(axis=0)), np.abs(self.least - shares.max(axis=0)))
        return found

    def smallest_residuals(self) -> Floats:
        """The smallest of these distances."""
        low, high = float(np.sum(self.least)), float(np.sum(self.most))
        shares = np.stack([self.share * low, self.share * high])
        found: Floats = np.maximum(np.maximum(self.least - shares.max(axis=0), shares.min(axis=0) - self.most), 0.0)
        return found

    def may_depart_rarely(self) -> bool:
        """Whether few units depart from a base, or all are alike, with some values of the missing grades."""
        tiny = 1e-12 / len(self.share)
        for base in self.bases:
            departs = (self.least - base * self.share > tiny) | (self.most - base * self.share < -tiny)
            number = int(np.sum(departs))
            if number < MIN_DEPARTING_UNITS and 2 * number < len(self.share):
                return True
        return float(np.max(self.least / self.share)) <= float(np.min(self.most / self.share)) + 1e-12


def with_gate_limit(found: Evidence, worst: Sample, best: Sample, *, conditions: tuple[str, ...]) -> Evidence:
    """The evidence of a gate with the limit that it passes by; `worst` and `best` hold the missing grades' two ends.

    Single answers that are right or wrong have their own limits at `worst` (Tango's, Clopper and Pearson's), which no
    worse answer improves. All else has the smaller of two limits. The first is the smallest mean, less Student's t
    times the largest standard error (CR2). The second is a quantile of the mean under random (Dirichlet) weights of the
    units and of one more unit (Gaffke 2005). That unit is as bad as the worst one, or as the range allows where few
    units depart. With G < 23 groups one in eight of such groups may fail wholly without being seen
    (`_limit_if_groups_fail`).
    """
    is_rising = worst.metric.better == "higher"
    by_counts = _limit_of_counts(worst, conditions)
    limit = by_counts or _limit_of_units(worst, best, conditions)

    def interval(level: float) -> Interval:
        own, end = found.interval(level), limit((1 - level) / 2)
        if found.unit == "run":  # units alone do not know how runs vary
            end = min(end, own.low if is_rising else -own.high)
        low, high = (end, max(own.high, end)) if is_rising else (min(own.low, -end), -end)
        return Interval(low=low, high=high, level=level, method=f"{own.method}; gate limit")

    return dataclasses.replace(found, interval=interval, p=None if by_counts is None else found.p)


def _limit_of_counts(worst: Sample, conditions: tuple[str, ...]) -> Limit | None:
    """The limit of single answers, right or wrong, by their counts; None where there is more to them."""
    places = [worst.place(name) for name in conditions]
    known: Bools = np.asarray(~np.isnan(worst.mean[:, places]).any(axis=1))
    if not is_single_binary(worst, known, places):
        return None
    if len(conditions) == 1:
        counted = mean_evidence(worst, conditions[0], exact=True)
    else:
        counted = difference_evidence(worst, *conditions, exact=True)
    is_rising = worst.metric.better == "higher"

    def limit(tail: float) -> float:
        ends = counted.interval(one_sided_level(tail))
        return ends.low if is_rising else -ends.high

    return limit


def _limit_of_units(worst: Sample, best: Sample, conditions: tuple[str, ...]) -> Limit:
    """The limit by unit: by items, by groups, or by each of two groupings."""
    outcomes = worst.outcomes
    places = [worst.place(name) for name in conditions]
    known: Bools = np.asarray(~np.isnan(worst.mean[:, places]).any(axis=1))
    groupings = [codes_of_groups(codes, known) for codes in (outcomes.group, outcomes.group_2)]
    codings = [codes for codes in groupings if codes is not None] or [np.arange(int(np.sum(known)))]
    fills = [_fills_by(worst, best, conditions, known, codes) for codes in codings]
    few = min(fills, key=lambda one: len(one.share))
    groups = len(few.share)
    if len(fills) == 2:
        both = np.unique(np.stack(codings), axis=1, return_inverse=True)[1].ravel()
        error = _largest_crossed_error(fills[0], fills[1], _fills_by(worst, best, conditions, known, both))
        freedom = groups - 1.0
    else:
        error = _largest_error(few)
        freedom = max(unit_freedom(few.share), MIN_FREEDOM)
    weighted = [_WeightedMeans.of(one) for one in fills]

    def limit(tail: float) -> float:
        if groups - 1 < LEAST_FREEDOM:
            return few.worst
        student = float(np.sum(few.least)) - float(stdtrit(freedom, 1 - tail)) * error
        ends = [student, *(means.quantile(tail) for means in weighted)]
        if few.are_groups:
            ends.append(_limit_if_groups_fail(few, error, freedom, tail))
        return max(min(ends), few.worst)

    return limit


def _limit_if_groups_fail(fills: UnitFills, error: float, freedom: float, tail: float) -> float:
    """The limit of the mean if one in eight of such groups fails wholly and none of these does.

    With s = 1 / 8 that is not seen in (1 - s)^G of cases. In these a gate may be met with chance a = tail / (1 - s)^G:
    (1 - s)(mean - t_a error) + s x the mean of a group that fails. From 23 groups on a is above 1 and sets no limit.
    Where t_a is below 0 it takes the smallest error, so that a lost grade never improves the limit.
    """
    chance = tail / (1 - FAILING_SHARE) ** len(fills.share)
    if chance >= 1:
        return math.inf
    quantile = float(stdtrit(freedom, 1 - chance))
    if quantile < 0:
        error = math.sqrt(float(np.sum(fills.smallest_residuals() ** 2 / (1 - fills.share))))
    mean = float(np.sum(fills.least)) - quantile * error
    return (1 - FAILING_SHARE) * mean + FAILING_SHARE * fills.failing


def _fills_by(worst: Sample, best: Sample, conditions: tuple[str, ...], known: Bools, codes: Codes) -> UnitFills:
    """The units of a coding of the items, with the value of a candidate at both ends of its missing grades."""
    metric, weight = worst.metric, weights_of(worst.outcomes.weight, known)
    sign = 1.0 if metric.better == "higher" else -1.0
    assert metric.worst is not None
    assert metric.best is not None
    candidate, bad, good = worst.place(conditions[-1]), sign * metric.worst, sign * metric.best
    least, most = (sign * sample.mean[known, candidate] for sample in (worst, best))
    bases: tuple[float, ...] = (bad, good)
    failing = np.full(len(least), bad)
    if len(conditions) == 2:
        baseline = sign * worst.mean[known, worst.place(conditions[0])]
        least, most, failing, bases = least - baseline, most - baseline, bad - baseline, (0.0,)
        bad -= good
    share = np.full(len(least), 1 / len(least)) if weight is None else weight / float(np.sum(weight))
    parts = (np.bincount(codes, weights=x).astype(np.float64) for x in (share * least, share * most, share))
    lower, upper, shares = parts
    are_groups = len(shares) < len(least)
    return UnitFills(
        least=lower, most=upper, share=shares, worst=bad, failing=float(share @ failing), bases=bases,
        are_groups=are_groups,
    )  # fmt: skip


def _largest_error(fills: UnitFills) -> float:
    """The largest CR2 standard error of the mean over the missing grades."""
    if len(fills.share) < 2:
        return math.inf
    return math.sqrt(float(np.sum(fills.largest_residuals() ** 2 / (1 - fills.share))))


def _largest_crossed_error(first: UnitFills, second: UnitFills, both: UnitFills) -> float:
    """The largest standard error over the missing grades with two groupings: V_1 + V_2 - V_12, V_1 or V_2."""
    one, two = (_variance(fills.largest_residuals()) for fills in (first, second))
    return math.sqrt(max(one + two - _variance(both.smallest_residuals()), one, two))


def _variance(residuals: Floats) -> float:
    number = len(residuals)
    return float(np.sum(residuals**2)) * number / max(number - 1, 1)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _WeightedMeans:
    """Means under random weights of the units and of one more unit, in ascending order."""

    means: Floats

    @classmethod
    def of(cls, fills: UnitFills) -> "_WeightedMeans":
        """Of the units with the missing grades at the worse end; the added unit has a typical unit's share."""
        added = float(np.sum(fills.share**2))  # the share of the unit that a random answer lies in
        own = fills.worst if fills.may_depart_rarely() else float(np.min(fills.least / fills.share))
        weights = _unit_weights(len(fills.share) + 1)
        sums = weights @ np.append(fills.least, added * own)
        means: Floats = np.sort(sums / (weights @ np.append(fills.share, added)))
        return cls(means=means)

    def quantile(self, tail: float) -> float:
        """The limit at `tail`: that many of the means lie below it."""
        return float(self.means[max(math.floor(tail * (len(self.means) + 1)) - 1, 0)])


@functools.lru_cache(maxsize=4)
def _unit_weights(units: int) -> Floats:
    """Exponential weights, weightings x units: the same ones for every limit of as many units."""
    number = max(min(N_WEIGHTINGS, MAX_STORED_WEIGHTS // units), 2_000)
    return np.random.default_rng(SEED).standard_exponential((number, units))
