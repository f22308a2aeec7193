"""The evidence on a mean, or on a paired difference of two, by unit: one test and its own inversion per kind of data.

What is estimated is always the mean over items of an item's mean over draws, weighted where items have weights. What
varies independently (the unit) is the group where there are groups, else the item; runs are crossed with these.
"""

import dataclasses
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from richter._special import bdtr, bdtrc, ndtr, ndtri, stdtr, stdtrit
from richter.claims._labels import as_judged, corrected, enough_labels, labelled
from richter.claims._measures import (
    Codes,
    Counts,
    Floats,
    Metric,
    Outcomes,
    RightCounts,
    count_right,
    count_shared,
    unit_means,
)
from richter.claims._question import LEAST_FREEDOM, Evidence
from richter.errors import InputError
from richter.records import DEFAULT_LEVEL, Interval, Note, Unit, counted
from richter.stats import clopper_pearson, find_root, wilson
from richter.stats._proportion import (
    MIN_DEPARTING_UNITS,
    departures,
    effective_size_of,
    exchangeable_freedom,
    unit_freedom,
)

__all__ = ["Sample", "as_sample", "difference_evidence", "has_runs", "mean_evidence", "rate_interval", "tango"]

T = TypeVar("T")

SKEWED = 0.05  # a mean's skewness from which one side of t falls short of its level by a point or so
MAX_RARE_SHARE = 0.05  # of items that carry half of the spread: then few of them decide
RARE_VALUES: Final = "rare values"  # the kind of the note on them
UNCORRECTED = "too few human labels here to correct it: as it was graded"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Outcomes reduced to items x conditions: means over draws, their numbers and squared deviations."""

    outcomes: Outcomes
    mean: Floats
    draws: Codes
    within: Floats
    _memory: dict[str, Any] = dataclasses.field(init=False, default_factory=dict, repr=False, compare=False)

    @property
    def metric(self) -> Metric:
        """What a value is."""
        return self.outcomes.metric

    def _once(self, name: str, make: Callable[[], T]) -> T:
        if name not in self._memory:
            self._memory[name] = make()
        found: T = self._memory[name]
        return found

    def place(self, condition: str) -> int:
        """The column of a condition."""
        places = self._once("places", lambda: {name: k for k, name in enumerate(self.outcomes.conditions)})
        if condition not in places:
            raise InputError(
                f"No condition is named {condition}.", remedy=f"There are {', '.join(self.outcomes.conditions)}."
            )
        return places[condition]

    @property
    def shared(self) -> Counts:
        """How many items each two conditions share."""
        return self._once("shared", lambda: count_shared(self.mean))

    @property
    def right_counts(self) -> RightCounts | None:
        """The counts of all pairs, where items have one right or wrong answer each, and neither groups nor weights."""
        return self._once("right", self._count_right)

    def _count_right(self) -> RightCounts | None:
        everywhere = np.ones(len(self.mean), dtype=bool)
        is_plain = _has_no_units(self.outcomes, everywhere) and self.metric.kind == "binary"
        is_plain = is_plain and not has_runs(self.outcomes)
        is_plain = is_plain and (self.metric.low, self.metric.high) == (0, 1) and int(self.draws.max(initial=0)) <= 1
        return count_right(self.mean) if is_plain else None


def as_sample(outcomes: Sample | Outcomes) -> Sample:
    """Outcomes made ready for many claims: the means over draws are computed once. A sample stays as it is."""
    if isinstance(outcomes, Sample):
        return outcomes
    means = unit_means(outcomes)
    return Sample(outcomes=outcomes, mean=means.mean, draws=means.draws, within=means.within)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Frame:
    """What the estimators below share: the range of the quantity, the value from which rare events depart, and counts.

    `sides` are the directions in which an item may depart from `base`. `exact` asks for limits that never fall short.
    """

    low: float
    high: float
    base: float
    sides: tuple[int, ...]
    values: tuple[float, ...]
    n: int
    units: int
    unit: Unit = "item"
    exact: bool = False
    notes: tuple[str, ...] = ()

    def evidence(
        self,
        estimate: float,
        interval: Callable[[float], Interval],
        p: Callable[[float], float] | None = None,
        error: float | None = None,
        freedom: float = math.inf,
    ) -> Evidence:
        """What was found, with these counts and values."""
        return Evidence(
            estimate=estimate, interval=interval, p=p, values=self.values, n=self.n, units=self.units, unit=self.unit,
            standard_error=error, freedom=freedom, notes=self.notes,
        )  # fmt: skip


def difference_evidence(sample: Sample | Outcomes, first: str, second: str, *, exact: bool = False) -> Evidence:
    """The second condition's mean minus the first's, on the items that both have values for.

    One binary draw an item and no groups or weights: Tango's score test, inverted; where `exact`, of fewer than 20
    discordant items `paired_rates_mover`. Otherwise a t test on the items' differences; with groups or weights on
    linearised sums with CR2 variance and Satterthwaite's degrees of freedom.
    Where fewer than 20 items, and at most one in twenty, carry half of the spread, the limit towards the longer tail is
    moved out for skewness, and a note names how many. Where fewer than 20 units differ, and they are the minority:
    gamma limits of both directions, joined by MOVER, with room for larger differences than were seen in the limit
    beyond 0. Where people labelled some answers that others graded, the difference as people would grade, by
    `corrected`. Where all differ alike: the range times Clopper-Pearson's limit on units that might not. Amounts that
    are paid are compared by `total_evidence`.
    """
    sample = as_sample(sample)
    own = _graded_difference(sample, first, second, exact=exact)
    return _as_people(sample, (sample.place(first), sample.place(second)), own, exact=exact)


def _as_people(sample: Sample, columns: tuple[int, ...], own: Evidence, *, exact: bool) -> Evidence:
    """The evidence corrected by people's labels, where there are enough."""
    judges = sample.outcomes.judges
    if sample.outcomes.label is None:
        return dataclasses.replace(own, judged=as_judged(judges)) if judges else own
    use: NDArray[np.bool_] = np.asarray(~np.isnan(sample.mean[:, columns]).any(axis=1))
    sides = [labelled(sample.outcomes, k, use) for k in columns]
    if sample.outcomes.is_proxy and not enough_labels(sides):
        raise InputError("A condition has fewer than two human labels.", remedy="Label more: richter label.")
    if not enough_labels(sides):
        notes = (*own.notes, UNCORRECTED)
        return dataclasses.replace(own, judged=as_judged(judges, "too few human labels"), notes=notes)
    return corrected(sample.metric, sides, own, exact=exact, is_proxy=sample.outcomes.is_proxy)


def _graded_difference(sample: Sample, first: str, second: str, *, exact: bool) -> Evidence:
    """The difference as it was graded, whoever did."""
    i, j = sample.place(first), sample.place(second)
    metric, outcomes = sample.metric, sample.outcomes
    n = int(sample.shared[i, j])
    if not n:
        raise InputError(
            f"{first} and {second} have no question in common.", remedy="Compare two that answered the same questions."
        )
    counts = sample.right_counts
    if counts is not None:
        rates = (float(counts.right[i, j] / n), float(counts.right[j, i] / n))
        frame = _Frame(low=-1.0, high=1.0, base=0.0, sides=(1, -1), values=rates, n=n, units=n, exact=exact)
        return _tango_evidence(int(counts.gained[i, j]), int(counts.gained[j, i]), 1.0, frame)
    shared = ~np.isnan(sample.mean[:, i]) & ~np.isnan(sample.mean[:, j])
    a, b = sample.mean[shared, i], sample.mean[shared, j]
    weight, group = weights_of(outcomes.weight, shared), codes_of_groups(outcomes.group, shared)
    second_group = codes_of_groups(outcomes.group_2, shared)
    span = _span(metric, np.concatenate([a, b]))
    values = tuple(float(np.average(x, weights=weight)) for x in (a, b))
    frame = _Frame(low=-span, high=span, base=0.0, sides=(1, -1), values=values, n=len(a), units=len(a), exact=exact)
    if is_single_binary(sample, shared, [i, j]):
        found = _tango_evidence(int(np.sum(b > a)), int(np.sum(b < a)), span, frame)
    else:
        found = _by_units(b - a, weight, group, _without_range(metric, frame), second_group)
    return _crossed_with_runs(found, sample, shared, (i, j), _without_range(metric, frame))


def mean_evidence(sample: Sample | Outcomes, condition: str, *, exact: bool = False) -> Evidence:
    """One condition's mean. One binary draw an item: Wilson's interval, or Clopper-Pearson's where `exact`.

    A rate in groups, or of several draws an item, has Wilson's at as many independent answers as these are worth
    (`stats.unit_rate`). All else as for differences; rare events are those that depart from the end of the range at
    which most items are.
    """
    sample = as_sample(sample)
    own = _graded_mean(sample, condition, exact=exact)
    return _as_people(sample, (sample.place(condition),), own, exact=exact)


def rate_interval(evidence: Evidence, *, level: float) -> Interval:
    """The interval to show of a rate or mean. Of a count of independent items that is 0: the exact one-sided limit.

    Means, weights, groups, several draws and people's labels have bounds of their own where nothing was seen.
    """
    span = evidence.interval(level)
    none = evidence.estimate == 0 and span.method == "wilson"
    return clopper_pearson(0, evidence.n, level=level, side="upper") if none else span


def _graded_mean(sample: Sample, condition: str, *, exact: bool) -> Evidence:
    """The mean as it was graded, whoever did."""
    k = sample.place(condition)
    metric, outcomes = sample.metric, sample.outcomes
    known = ~np.isnan(sample.mean[:, k])
    if not known.any():
        raise InputError(f"{condition} has no value of {metric.name}.", remedy="Grade its answers first.")
    x = sample.mean[known, k]
    weight, group = weights_of(outcomes.weight, known), codes_of_groups(outcomes.group, known)
    second_group = codes_of_groups(outcomes.group_2, known)
    low, high = _bounds(metric, x)
    top = int(np.sum(x == high)) > int(np.sum(x == low))
    frame = _Frame(
        low=low,
        high=high,
        base=high if top else low,
        sides=(-1,) if top else (1,),
        values=(float(np.average(x, weights=weight)),),
        n=len(x),
        units=len(x),
        exact=exact,
    )
    if is_single_binary(sample, known, [k]):
        found = _rate(int(np.sum(x == high)), frame)
    else:
        found = _by_units(x, weight, group, _without_range(metric, frame), second_group)
        several = group is not None or int(sample.draws[known, k].max()) > 1
        if second_group is None and metric.kind == "binary" and several and found.standard_error is not None:
            found = _clustered_rate(found, outcomes, (outcomes.condition == k) & known[outcomes.item], frame)
    return _crossed_with_runs(found, sample, known, (k,), _without_range(metric, frame))


def is_single_binary(sample: Sample, use: NDArray[np.bool_], columns: Sequence[int]) -> bool:
    """Whether items have one right or wrong answer each, and neither groups nor weights."""
    is_plain = sample.metric.kind == "binary" and _has_no_units(sample.outcomes, use)
    return is_plain and bool((sample.draws[:, list(columns)][use] == 1).all())


def _has_no_units(outcomes: Outcomes, use: NDArray[np.bool_]) -> bool:
    """Whether the items in use have neither groups nor weights."""
    has_groups = any(codes_of_groups(g, use) is not None for g in (outcomes.group, outcomes.group_2))
    return not has_groups and weights_of(outcomes.weight, use) is None


def weights_of(values: Floats | None, use: NDArray[np.bool_]) -> Floats | None:
    """The weights of the items in use; None where they are all alike."""
    if values is None:
        return None
    kept = values[use]
    return None if np.ptp(kept) == 0 else kept


def codes_of_groups(codes: Codes | None, use: NDArray[np.bool_]) -> Codes | None:
    """Codes 0 .. of the groups in use; None where every item is alone in its own."""
    if codes is None:
        return None
    found, inverse = np.unique(codes[use], return_inverse=True)
    return None if len(found) == len(inverse) else inverse.astype(np.intp)


def _bounds(metric: Metric, values: Floats) -> tuple[float, float]:
    """The metric's range; where it has none, what was seen."""
    low = float(np.min(values)) if metric.low is None else metric.low
    return low, float(np.max(values)) if metric.high is None else metric.high


def _span(metric: Metric, values: Floats) -> float:
    low, high = _bounds(metric, values)
    return high - low


def _without_range(metric: Metric, frame: _Frame) -> _Frame:
    """The frame of a measure without ends: no value is one from which rare events depart."""
    if metric.kind != "real":
        return frame
    return dataclasses.replace(frame, low=-math.inf, high=math.inf, base=-math.inf)


# One binary draw an item


def _score(plus: int, minus: int, n: int, delta: float) -> float:
    """Tango's score statistic for a true difference of `delta`.

    The nuisance q = P(only the first) takes its constrained maximum-likelihood value (Tango 1998, eqs. (7), (12)).
    """
    linear = -plus - minus + (2 * n - plus + minus) * delta
    constant = -minus * delta * (1 - delta)
    q = max((math.sqrt(max(linear**2 - 8 * n * constant, 0.0)) - linear) / (4 * n), 0.0, -delta)
    variance = n * (2 * q + delta * (1 - delta))
    excess = plus - minus - n * delta
    if variance <= 0:
        return 0.0 if excess == 0 else math.copysign(math.inf, excess)
    return excess / math.sqrt(variance)


@functools.lru_cache(maxsize=4096)  # many pairs of a board have the same counts, and a claim asks for its own again
def tango(plus: int, minus: int, n: int, *, level: float = DEFAULT_LEVEL) -> Interval:
    """Tango's score interval for (plus - minus) / n: items that only the second, and only the first, got right."""
    z = float(ndtri(0.5 + level / 2))
    delta, edge = (plus - minus) / n, 1 - 1e-12

    def at(target: float) -> Callable[[float], float]:
        return lambda d: _score(plus, minus, n, d) - target

    low = -1.0 if at(z)(-edge) <= 0 else find_root(at(z), -edge, delta, xtol=1e-13)
    high = 1.0 if at(-z)(edge) >= 0 else find_root(at(-z), delta, edge, xtol=1e-13)
    return Interval(low=float(low), high=float(high), level=level, method="tango score")


def binary_difference_p(plus: int, minus: int, n: int, delta: float = 0.0) -> float:
    """The two-sided p-value of Tango's score test that the difference is `delta`."""
    return _two_sided(_score(plus, minus, n, delta))


def paired_rates_mover(plus: int, minus: int, n: int, *, level: float = DEFAULT_LEVEL) -> Interval:
    """The interval of (plus - minus) / n by MOVER of Clopper-Pearson's limits on both shares.

    For requirements on few discordant items: Tango's limit then passes up to 12.6% at 10%, this at most 9.7%.
    """
    gain, loss = (clopper_pearson(count, n, level=level) for count in (plus, minus))
    x, y = plus / n, minus / n
    low = x - y - math.hypot(x - gain.low, loss.high - y)
    high = x - y + math.hypot(gain.high - x, y - loss.low)
    return Interval(low=max(low, -1.0), high=min(high, 1.0), level=level, method="mover of clopper-pearson")


def _tango_evidence(plus: int, minus: int, span: float, frame: _Frame) -> Evidence:
    n = frame.n
    is_rare = frame.exact and plus + minus < MIN_DEPARTING_UNITS

    def interval(level: float) -> Interval:
        found = (paired_rates_mover if is_rare else tango)(plus, minus, n, level=level)
        return found if span == 1 else dataclasses.replace(found, low=span * found.low, high=span * found.high)

    def p(value: float) -> float:
        return binary_difference_p(plus, minus, n, value / span)

    estimate = (plus - minus) / n
    spread = max(plus + minus, 1) / n - estimate**2
    found = frame.evidence(span * estimate, interval, None if is_rare else p, span * math.sqrt(max(spread, 0.0) / n))
    return dataclasses.replace(found, binary_span=span)


def _two_sided(z: float) -> float:
    return min(1.0, 2 * float(ndtr(-abs(z))))


def _rate(k: int, frame: _Frame) -> Evidence:
    n, low, span, exact = frame.n, frame.low, frame.high - frame.low, frame.exact

    def interval(level: float) -> Interval:
        found = clopper_pearson(k, n, level=level) if exact else wilson(k, n, level=level)
        return dataclasses.replace(found, low=low + span * found.low, high=low + span * found.high)

    def p(value: float) -> float:
        share = (value - low) / span
        if not 0 < share < 1:
            return 1.0 if (share == 0 and k == 0) or (share == 1 and k == n) else 0.0
        if exact:
            above = 1.0 if k == 0 else float(bdtrc(k - 1, n, share))
            return min(1.0, 2 * min(above, float(bdtr(k, n, share))))
        return _two_sided((k / n - share) / math.sqrt(share * (1 - share) / n))

    rate = (k + 0.5) / (n + 1)
    return frame.evidence(low + span * k / n, interval, p, span * math.sqrt(rate * (1 - rate) / n))


def _clustered_rate(found: Evidence, outcomes: Outcomes, rows: NDArray[np.bool_], frame: _Frame) -> Evidence:
    """A rate of several answers an item or group: Wilson's interval at as many as these are worth (`stats.unit_rate`).

    Where few units have an event their sizes say little of those that others may have, and where a rate is near its
    end t is cut off there: gamma limits and t cover 67 to 93%, this 93% or more. All units alike keep their own bound.
    `exact`: each side by Clopper and Pearson's limit at as many, and by what was found, the wider of the two (t alone
    falls short by 2 or 3 points where units' rates are skewed).
    """
    low, span = frame.low, frame.high - frame.low
    item, event = outcomes.item[rows], (outcomes.value[rows] - low) / span
    unit = np.unique(item if outcomes.group is None else outcomes.group[item], return_inverse=True)[1]
    w = (1.0 if outcomes.weight is None else outcomes.weight[item]) / np.bincount(item)[item]
    if np.ptp(np.bincount(unit, weights=w * event) / np.bincount(unit, weights=w)) <= 1e-12:
        return found
    effective = effective_size_of(event, unit, weight=w)

    def interval(level: float) -> Interval:
        own = effective.interval(level)
        if frame.exact:
            lower, upper = (effective.interval(0.5 + level / 2, side) for side in ("lower", "upper"))
            own = Interval(low=lower.low, high=upper.high, level=level, method="clopper-pearson, by unit")
        return dataclasses.replace(own, low=low + span * own.low, high=low + span * own.high)

    own = dataclasses.replace(found, interval=interval, p=None)
    return _wider(found, own) if frame.exact else own


# Any value, groups and weights


def _sums_by_unit(d: Floats, weight: Floats | None, group: Codes | None) -> tuple[Floats, Floats]:
    """What each unit adds to the weighted mean, and its share of the weight."""
    w = np.ones(len(d)) if weight is None else weight
    total = float(np.sum(w))
    sums, shares = w * d / total, w / total
    if group is not None:
        sums, shares = (np.bincount(group, weights=x).astype(np.float64) for x in (sums, shares))
    return sums, shares


def _freedom_of(d: Floats, weight: Floats | None, group: Codes | None) -> float:
    """Degrees of freedom of the weighted mean's variance over units."""
    if weight is None and group is None:
        return len(d) - 1.0
    unit = np.arange(len(d)) if group is None else group
    return exchangeable_freedom(d, np.ones(len(d)) if weight is None else weight, unit)


def _by_units(
    d: Floats, weight: Floats | None, group: Codes | None, frame: _Frame, second_group: Codes | None = None
) -> Evidence:
    if second_group is not None:
        return _by_two_groupings(d, weight, np.arange(len(d)) if group is None else group, second_group, frame)
    sums, shares = _sums_by_unit(d, weight, group)
    units, estimate = len(sums), min(max(float(np.sum(sums)), frame.low), frame.high)
    frame = dataclasses.replace(frame, units=units, unit="item" if group is None else "group")
    away = sums - frame.base * shares
    rare = np.abs(away) > 1e-12 / units
    own = d if units == 1 else sums / shares  # units' means; one unit alone cannot be like others
    if np.ptp(own) <= 1e-12 * max(1.0, abs(own[0])) or not rare.any():
        return _constant(estimate, 1 / float(np.sum(shares**2)), frame)  # worth as many units of equal share
    if int(np.sum(rare)) < MIN_DEPARTING_UNITS and 2 * int(np.sum(rare)) < units:
        return _sparse(away[rare], float(np.sum(shares**2)), frame)
    residual = sums - estimate * shares
    variance = float(np.sum(residual**2 / (1 - shares))) if units > 1 else 0.0
    if units - 1 < LEAST_FREEDOM:
        return _few_degrees(estimate, units - 1.0, frame)
    freedom = _freedom_of(d, weight, group)
    if group is None and freedom < LEAST_FREEDOM - 1e-9:  # a few items have nearly all the weight
        return _few_degrees(estimate, freedom, frame)
    found = _t(estimate, math.sqrt(variance), freedom, frame)
    if len(frame.sides) == 2 and group is None and weight is None:
        found = _resting_on_rare_items(found, residual, frame)
    if not (frame.exact and _is_skewed(residual, away)):
        return found
    if 2 * int(np.sum(rare)) < units:
        return _wider(found, _sparse(away[rare], float(np.sum(shares**2)), frame))
    return hall(found, residual, (frame.low, frame.high), freedom=freedom)


def _is_skewed(residual: Floats, away: Floats) -> bool:
    """Whether departures are what varies, and the mean is so skewed by them that one side of t falls short."""
    square = float(np.sum(residual**2))
    is_near = float(np.sum(away**2)) < 1.5 * square
    return is_near and abs(float(np.sum(residual**3))) / square**1.5 > SKEWED


def _resting_on_rare_items(found: Evidence, residual: Floats, frame: _Frame) -> Evidence:
    """The evidence; where few items carry half of a difference's spread, with the limit towards them moved out.

    The mean of few large losses is too good more often than not, and its standard error then too small. The reach t
    grows by |a| (2 t^2 + 1) / 6, the first term of Edgeworth's expansion of t, with a the skewness of the mean. A note
    says how many items decide. Items of a large weight or group are no rare values.
    """
    squares = np.sort(residual**2)[::-1]
    number = int(np.searchsorted(np.cumsum(squares), float(np.sum(squares)) / 2)) + 1
    if number > MAX_RARE_SHARE * len(residual) or number >= MIN_DEPARTING_UNITS:
        return found
    error, own_p = found.standard_error, found.p
    assert error is not None
    assert own_p is not None
    skewness = float(np.sum(residual**3)) / float(np.sum(residual**2)) ** 1.5

    def interval(level: float) -> Interval:
        own, t = found.interval(level), float(stdtrit(found.freedom, 0.5 + level / 2))
        more = error * skewness * (2 * t**2 + 1) / 6
        low, high = max(own.low + min(more, 0.0), frame.low), min(own.high + max(more, 0.0), frame.high)
        return Interval(low=low, high=high, level=level, method=f"{own.method}, skewed")

    def p(value: float) -> float:
        t, a = (found.estimate - value) / error, abs(skewness) / 3
        if t * skewness >= 0 or not frame.low <= value <= frame.high:
            return own_p(value)
        reach = max((math.sqrt(max(1 - 4 * a * (a / 2 - abs(t)), 1.0)) - 1) / (2 * a), 0.0)
        return 2 * float(stdtr(found.freedom, -reach))

    items = counted(number, "question carries", "questions carry")
    note = Note(f"{items} half of the spread: the result rests on how often such rare values come", RARE_VALUES)
    return dataclasses.replace(found, interval=interval, p=p, notes=(*found.notes, note))


def _by_two_groupings(d: Floats, weight: Floats | None, first: Codes, second: Codes, frame: _Frame) -> Evidence:
    """Two groupings of the items at once: V = V_1 + V_2 - V_12 by linearised sums, each with G / (G - 1).

    The largest of V, V_1 and V_2 counts, with t of the smaller number of groups less 1. Where few groups of either
    depart from the base, its own limits must hold too.
    """
    w = np.ones(len(d)) if weight is None else weight
    share = w / float(np.sum(w))
    estimate = float(np.sum(share * d))
    both = np.unique(np.stack([first, second]), axis=1, return_inverse=True)[1].ravel()
    variances, sizes = [], []
    for code in (first, second, both):
        sums = np.bincount(code, weights=share * (d - estimate))
        sizes.append(len(sums))
        variances.append(float(np.sum(sums**2)) * len(sums) / max(len(sums) - 1, 1))
    alone = [_by_units(d, weight, code, frame) for code in (first, second)]
    largest = max(variances[0] + variances[1] - variances[2], *variances[:2])
    groups = min(sizes[:2])
    frame = dataclasses.replace(frame, units=groups, unit="group")
    if largest == 0:
        return dataclasses.replace(alone[sizes.index(groups)], units=groups, unit="group")
    if groups - 1 < LEAST_FREEDOM:
        return _few_degrees(estimate, groups - 1.0, frame)
    found = _t(estimate, math.sqrt(largest), groups - 1.0, frame)
    for one in alone:
        if one.p is None or not math.isfinite(one.freedom):  # limits of rare departures
            found = _wider(found, one)
    return found


def _wider(one: Evidence, other: Evidence) -> Evidence:
    """Both limits at once: where values are skewed one side of t falls short."""

    def interval(level: float) -> Interval:
        a, b = one.interval(level), other.interval(level)
        low, high = min(a.low, b.low), max(a.high, b.high)
        return Interval(low=low, high=high, level=level, method=f"{a.method}; {b.method}")

    return dataclasses.replace(one, interval=interval, p=None)


def hall(found: Evidence, part: Floats, ends: tuple[float, float], *, freedom: float) -> Evidence:
    """The wider of the limits found and Hall's (1992): t of a mean of skewness a has the law of Student's at g(t).

    g(t) = t + a t^2 / 3 + a^2 t^3 / 27 + a / 6, whose inverse is 3 (cbrt(1 + a (t - a / 6)) - 1) / a; `part` are the
    units' contributions to the mean, less their expectation, and a is the sum of their cubes, over that of their
    squares to the power of 1.5.
    """
    square, error = float(np.sum(part**2)), found.standard_error
    a = float(np.sum(part**3)) / square**1.5 if square > 0 else 0.0
    if error is None or abs(a) < 1e-6:
        return found

    def interval(level: float) -> Interval:
        own, t = found.interval(level), float(stdtrit(freedom, 0.5 + level / 2))
        up, down = (3 * (float(np.cbrt(1 + a * (z - a / 6))) - 1) / a for z in (-t, t))
        low, high = min(own.low, found.estimate - error * down), max(own.high, found.estimate - error * up)
        low, high = max(low, ends[0]), min(high, ends[1])
        return Interval(low=low, high=high, level=level, method=f"{own.method}; hall")

    return dataclasses.replace(found, interval=interval, p=None)


def _t(estimate: float, error: float, freedom: float, frame: _Frame) -> Evidence:
    unit = frame.unit
    name = f"t, {unit}s" if unit != "group" else "t, CR2 by group"

    def interval(level: float) -> Interval:
        reach = float(stdtrit(freedom, 0.5 + level / 2)) * error
        return Interval(
            low=max(estimate - reach, frame.low), high=min(estimate + reach, frame.high), level=level, method=name
        )

    def p(value: float) -> float:
        if not frame.low <= value <= frame.high:
            return 0.0
        return min(1.0, 2 * float(stdtr(freedom, -abs(estimate - value) / error)))

    return frame.evidence(estimate, interval, p, error, freedom)


def _few_degrees(estimate: float, freedom: float, frame: _Frame) -> Evidence:
    """Nothing excluded, since units leave so few degrees of freedom."""
    number, left = f"{max(freedom, 0):.2g}", counted(frame.units, f"{frame.unit} leaves", f"{frame.unit}s leave")
    left += f" {number} degree{'s' * (number != '1')} of freedom"
    return _undecidable(estimate, frame, f"{left}, and under {LEAST_FREEDOM:g} nothing is decided")


def _undecidable(estimate: float, frame: _Frame, reason: str) -> Evidence:
    """Nothing excluded at any level."""
    return dataclasses.replace(frame, notes=(*frame.notes, reason)).evidence(
        estimate,
        lambda level: Interval(low=frame.low, high=frame.high, level=level, method="the whole range"),
        lambda value: 1.0 if frame.low <= value <= frame.high else 0.0,
    )


def _constant(value: float, effective_n: float, frame: _Frame) -> Evidence:
    """All units alike: the share of those that might not be is below 1 - (a / 2)^(1 / units) at level 1 - a."""
    if not math.isfinite(frame.high - frame.low):
        others = -100 * math.expm1(math.log1p(-DEFAULT_LEVEL) / effective_n)
        units = "questions" if frame.unit == "item" else f"{frame.unit}s"
        unseen = f"at most {others:.2g}% of such {units} have another, of any size (one-sided 95%)"
        return _undecidable(value, frame, f"every value is the same; {unseen}")

    def interval(level: float) -> Interval:
        share = -math.expm1(math.log((1 - level) / 2) / effective_n)
        low, high = value - share * (value - frame.low), value + share * (frame.high - value)
        return Interval(low=low, high=high, level=level, method="range x clopper-pearson")

    def p(asked: float) -> float:
        if asked == value:
            return 1.0
        room = frame.high - value if asked > value else value - frame.low
        return min(1.0, 2 * max(0.0, 1 - abs(asked - value) / room) ** effective_n) if room > 0 else 0.0

    return frame.evidence(value, interval, p, max(frame.high - value, value - frame.low) / effective_n)


def _sparse(away: Floats, share: float, frame: _Frame) -> Evidence:
    """Few units depart from `base`: gamma limits of the sums above and below it, joined by MOVER.

    `away` are the departures' contributions to the mean. One side's x with y = sum x, v = sum x^2 are like a weighted
    Poisson count: v / y times the quantiles of a gamma of shape y^2 / v (Fay and Feuer 1997), with half a departure of
    the largest size added to y and v (Jeffreys); `exact`: none below, a whole one above (Clopper-Pearson).
    A limit beyond `base` bounds what was not seen, and what shows units equivalent or no worse: of k departures the
    next is larger than all with chance 1 / (k + 1), and may be a whole unit of `share` (draws, or items of a group,
    that all depart). So 1 / (k + 1) of what such a one exceeds the largest by is added too; `exact`: all of it. The
    limit next to `base`, which shows a difference, stays with sizes that were seen: it holds, and would show little.
    """
    seen = departures(away, share * max(frame.high - frame.base, frame.base - frame.low))
    whole, unseen = (1.0, 1.0) if frame.exact else (0.5, None)
    estimate = min(max(frame.base + float(np.sum(away)), frame.low), frame.high)

    def reaches(x: Floats, level: float) -> tuple[Floats, Floats]:
        """From the sum to its lower limit, twice, and to its upper ones: by sizes that were seen, and by any."""
        y, v, tail = float(np.sum(x)), float(np.sum(x**2)), (1 - level) / 2
        low = 0.0 if y == 0 else seen.limit(y, v, tail, whole=0.0 if frame.exact else 0.5, unseen=0.0)
        near = max(seen.limit(y, v, 1 - tail, whole=whole, unseen=0.0), y)
        far = max(seen.limit(y, v, 1 - tail, whole=whole, unseen=unseen), near)
        return np.full(2, max(y - low, 0.0)), np.array([near, far]) - y

    def interval(level: float) -> Interval:
        below = above = np.zeros(2)
        for side in frame.sides:
            down, up = reaches(np.maximum(side * away, 0.0), level)[::side]
            below, above = np.hypot(below, down), np.hypot(above, up)
        low, high = (estimate - below).tolist(), (estimate + above).tolist()
        return Interval(
            low=max(low[0] if low[0] > frame.base else low[1], frame.low),
            high=min(high[0] if high[0] < frame.base else high[1], frame.high),
            level=level,
            method="gamma limits, mover",
        )

    error = max(math.sqrt(float(np.sum(away**2))), seen.most)  # as if one unit departed
    return frame.evidence(estimate, interval, error=error)


# Runs


def has_runs(outcomes: Outcomes, *columns: int) -> bool:
    """Whether one of these conditions, or any, has runs of several answers each, and two or more of them."""
    if outcomes.run is None:
        return False
    for column in columns or range(len(outcomes.conditions)):
        own = outcomes.run[outcomes.condition == column]
        if 2 <= len(np.unique(own)) <= len(own) / 2:
            return True
    return False


def _crossed_with_runs(
    found: Evidence, sample: Sample, use: NDArray[np.bool_], columns: tuple[int, ...], frame: _Frame
) -> Evidence:
    """The evidence where runs (seeds, checkpoints, templates) are crossed with items: both vary; else as found.

    Variance: that of the runs' means over runs, which holds the interaction of runs and items, plus that of the items'
    means over items less the interaction (`_interaction`). Each part is taken at the t of its own degrees of freedom,
    those of runs being runs - 1 (Cochran's form): pooled degrees of freedom claim falsely in 7 to 11% at two or three
    runs. Limits are never inside those found without runs. Exact where runs vary normally; a run in ten that goes badly
    wrong is not seen by runs that did not. Of a condition with one run nothing says how much runs vary.
    """
    outcomes = sample.outcomes
    several = [column for column in columns if has_runs(outcomes, column)]
    if outcomes.run is None or not several or found.standard_error is None:
        return found
    parts = _varying_parts([_by_run(outcomes, outcomes.run, use, column) for column in several])
    weight = np.ones(int(np.sum(use))) if outcomes.weight is None else outcomes.weight[use]
    group = codes_of_groups(outcomes.group, use)
    means: list[Floats] = [weight @ np.nan_to_num(part) / (weight @ ~np.isnan(part)) for part in parts]  # of each run
    terms = [(float(np.var(m, ddof=1)) / len(m), len(m) - 1.0) for m in means]
    both = sum(_interaction(part, m, weight, group) for part, m in zip(parts, means, strict=True))
    frame = dataclasses.replace(frame, units=sum(part.shape[1] for part in parts), unit="run", notes=found.notes)
    shares = (weight if group is None else np.bincount(group, weights=weight)) / np.sum(weight)
    terms.append((max(found.standard_error**2 - both, 0.0), unit_freedom(np.asarray(shares, dtype=np.float64))))
    return _wider(_by_terms(found.estimate, terms, frame), found)


def _varying_parts(tables: Sequence[tuple[Codes, Floats]]) -> list[Floats]:
    """Items x runs of what varies: the difference where both conditions have the same runs, else each by itself."""
    first, last = tables[0], tables[-1]
    is_crossed = len(tables) == 2 and np.array_equal(first[0], last[0])
    return [last[1] - first[1]] if is_crossed else [table for _, table in tables]


def _by_terms(estimate: float, terms: Sequence[tuple[float, float]], frame: _Frame) -> Evidence:
    """An estimate whose variance has terms, each with degrees of freedom of its own; the last one is that of items."""

    def interval(level: float) -> Interval:
        reach = math.sqrt(sum(v * float(stdtrit(f, 0.5 + level / 2)) ** 2 for v, f in terms))
        low, high = max(estimate - reach, frame.low), min(estimate + reach, frame.high)
        return Interval(low=low, high=high, level=level, method="t, runs and items")

    error = math.sqrt(sum(v for v, _ in terms))
    return frame.evidence(estimate, interval, error=error, freedom=min(f for _, f in terms[:-1]))


def _by_run(outcomes: Outcomes, codes: Codes, use: NDArray[np.bool_], column: int) -> tuple[Codes, Floats]:
    """The runs of one condition, and the mean of each item in use in each of them."""
    rows = (outcomes.condition == column) & use[outcomes.item]
    runs, run = np.unique(codes[rows], return_inverse=True)
    place, items = np.cumsum(use) - 1, int(np.sum(use))
    cell, size = place[outcomes.item[rows]] * len(runs) + run, items * len(runs)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.bincount(cell, weights=outcomes.value[rows], minlength=size) / np.bincount(cell, minlength=size)
    return runs, mean.reshape(items, len(runs))


def _interaction(table: Floats, means: Floats, weight: Floats, group: Codes | None) -> float:
    """What the interaction of units and runs (an answer's own noise with it) adds to the variance of the mean.

    Items x runs less each item's mean and each run's: sum over units and runs of (w e / runs)^2, over the share of
    degrees of freedom that is left, (1 - 1 / runs)(1 - sum of squared shares of units).
    """
    known = ~np.isnan(table)
    runs = table.shape[1]
    share = weight / np.sum(weight)
    residual = np.where(known, table - (means - np.mean(means)), 0.0)
    number = np.sum(known, axis=1, keepdims=True)
    residual = np.where(known, residual - np.sum(residual, axis=1, keepdims=True) / number, 0.0)
    cells = share[:, None] / number * residual
    if group is not None:
        cells = np.stack([np.bincount(group, weights=column) for column in cells.T], axis=1)
        share = np.asarray(np.bincount(group, weights=share), dtype=np.float64)
    return float(np.sum(cells**2)) / ((1 - 1 / runs) * (1 - float(np.sum(share**2)))) if len(share) > 1 else 0.0
