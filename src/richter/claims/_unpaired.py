"""Two conditions on different items: nothing is paired, and the two means are independent."""

import bisect
import dataclasses
import math

import numpy as np
import scipy
from scipy.special import betaincinv

from richter.claims._evidence import Evidence, describe_each, joint_freedom
from richter.claims._measures import Metric
from richter.claims._outcomes import Outcomes
from richter.claims._units import About, Sample, as_sample, hall, mean_evidence
from richter.records import Interval
from richter.stats import clopper_pearson
from richter.stats._proportion import effective_size_of, unit_freedom

__all__ = ["apart_evidence", "unpaired_evidence"]

MANY = 10_000  # items from which exact limits of two rates take as many as a normal law, but for 1%
ALIKE = "it holds as far as the items of both are alike, as where chance assigned them; paired items would need fewer"


def unpaired_evidence(sample: Sample | Outcomes, first: str, second: str, *, about: About = "such-items") -> Evidence:
    """The second condition's mean minus the first's, each on all of its own items, as two independent samples.

    MOVER of the two means' own limits, which must not fall short where one sample is small and skewed, as the paired
    ones may. Of rates Clopper-Pearson's, with groups or weights at the effective sample size
    (`stats.effective_sample_size`); of scores and of several draws the wider of `mean_evidence`'s (`exact`) and Hall's.
    Of rates in groups the limit beyond no difference leaves room for a
    group that was not seen, as of pairs. Items or groups that both share make it wider than need be. Figures:
    studies/core_size.py.
    """
    sample = as_sample(sample) if isinstance(sample, Outcomes) else sample
    one, two = _side(sample, first, about), _side(sample, second, about)
    found = dataclasses.replace(apart_evidence(one, two), counts=one.counts and two.counts)
    if sample.outcomes.group is None:
        return found
    beyond = apart_evidence(*(_side(sample, name, about, allow_unseen_group=True) for name in (first, second)))

    def interval(level: float) -> Interval:
        near, far = found.interval(level), beyond.interval(level)
        low, high = near.low if near.low > 0 else far.low, near.high if near.high < 0 else far.high
        return dataclasses.replace(near, low=low, high=high)

    return dataclasses.replace(found, interval=interval)


def _side(sample: Sample, name: str, about: About, *, allow_unseen_group: bool = False) -> Evidence:
    """One condition's mean, with limits that hold where it is skewed; with `allow_unseen_group` also for one
    that was not seen."""
    found, k = mean_evidence(sample, name, about=about, exact=True), sample.place(name)
    if about != "such-items" or found.labels or found.standard_error is None:
        return found
    known = ~np.isnan(sample.mean[:, k])
    x, group, weight = sample.mean[known, k], sample.outcomes.group, sample.outcomes.weight
    group, weight = None if group is None else group[known], None if weight is None else weight[known]
    if sample.metric.kind == "binary" and bool((sample.draws[known, k] == 1).all()):
        effective = effective_size_of(x, group, weight=weight)

        def interval(level: float) -> Interval:
            n = effective.at(level)
            own = clopper_pearson(effective.rate * n, n, level=level)
            low, high = effective.allow_unseen_unit(own, 0.5 + level / 2) if allow_unseen_group else (own.low, own.high)
            return dataclasses.replace(own, low=low, high=high)

        return dataclasses.replace(found, interval=interval, p=None, counts=group is None and weight is None)
    weight = np.ones(len(x)) if weight is None else weight
    part, shares = weight * (x - found.estimate) / np.sum(weight), weight / np.sum(weight)
    if group is not None:
        place = np.unique(group, return_inverse=True)[1]
        part, shares = (np.bincount(place, weights=v).astype(np.float64) for v in (part, shares))
    freedom = unit_freedom(shares)
    return found if freedom < 1 else hall(found, part, _ends(sample.metric), freedom=freedom)


def _ends(metric: Metric) -> tuple[float, float]:
    """The range of a measure; infinite where it has none."""
    low, high = (metric.low, metric.high) if metric.kind != "real" else (None, None)
    return -math.inf if low is None else low, math.inf if high is None else high


def apart_evidence(first: Evidence, second: Evidence, *, note: str = ALIKE) -> Evidence:
    """Second minus first of two independent estimates, by recovery of variances from their limits (MOVER).

    With estimates x, y and their limits at the same level: low = y - x - sqrt((y - l_y)^2 + (u_x - x)^2), and high
    alike. `sides` are the items of each.
    """
    gap = second.estimate - first.estimate

    def interval(level: float) -> Interval:
        one, two = first.interval(level), second.interval(level)
        low = gap - math.hypot(second.estimate - two.low, one.high - first.estimate)
        high = gap + math.hypot(two.high - second.estimate, first.estimate - one.low)
        return Interval(low=low, high=high, level=level, method="unpaired, mover")

    errors = (first.standard_error, second.standard_error)
    return Evidence(
        estimate=gap,
        interval=interval,
        values=(first.estimate, second.estimate),
        n=first.n + second.n,
        units=first.units + second.units,
        unit="group" if "group" in (first.unit, second.unit) else first.unit,
        standard_error=None if None in errors else math.hypot(*(e for e in errors if e is not None)),
        freedom=joint_freedom(*((side.standard_error, side.freedom) for side in (first, second))),
        labels=first.labels + second.labels,
        judged=first.judged or second.judged,
        sides=(first.n, second.n),
        notes=tuple(dict.fromkeys((note, *first.notes, *second.notes))),
        describe_at=describe_each((first, second)),
    )


def _shown(p: float, q: float, n: int, m: int, tail: float) -> float:
    """The chance that exact limits of counts at `tail` show a rate q of m items above a rate p of n: all outcomes."""
    sides = []
    for rate, size in ((p, n), (1 - q, m)):  # both as the limit above: of the first's events, of the second's others
        reach = 5 * math.sqrt(size * rate * (1 - rate)) + 5
        k = np.arange(max(math.floor(size * rate - reach), 0), min(math.ceil(size * rate + reach), size) + 1.0)
        upper = np.where(k == size, 1.0, betaincinv(k + 1, np.maximum(size - k, 0.5), 1 - tail))
        sides.append((k / size, upper - k / size, scipy.stats.binom.pmf(k, size, rate)))
    (x, up, first), (y, down, second) = sides
    return float(first @ ((1 - y[None, :]) - x[:, None] > np.hypot(up[:, None], down[None, :])) @ second)


def rates_needed(evidence: Evidence, distance: float, start: int, *, tail: float, power: float) -> int:
    """Items of both together, shared as these are, whose exact limits show a gap of `distance` with `power`.

    The gap is about the middle of the rates that were seen, whichever of the two is higher. `start` is what a normal
    law takes; where that is many the two are the same.
    """
    share, low = evidence.sides[0] / sum(evidence.sides), (sum(evidence.values) - distance) / 2
    low = min(max(low, 0.0), 1 - distance)
    high = low + distance

    def enough(total: int) -> bool:
        n = max(round(share * total), 1)
        m = max(total - n, 1)
        return min(_shown(low, high, n, m, tail), _shown(low, high, m, n, tail)) >= power

    if start > MANY or distance >= 1:
        return start
    few, most = start // 2 + 1, start
    while not enough(most):
        few, most = most + 1, 2 * most
    return bisect.bisect_left(range(most), True, lo=few, key=enough)
