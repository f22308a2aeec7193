"""Evidence as people would grade: every answer's grade by a judge, corrected by human labels on some of them."""

import dataclasses
import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from richter.claims._evidence import Evidence
from richter.claims._measures import Metric
from richter.claims._outcomes import Codes, Floats, Outcomes
from richter.errors import InputError
from richter.records import Interval, Unit, counted, printable
from richter.stats import LabelledPool, Side, labelled_pool, more_labels, pool_difference, pool_interval

__all__ = ["as_judged"]

N_MORE_LABELS = 50  # whose effect on the interval is named
LEAST_FREEDOM = 4.0
MOST_NAMED = 3  # judges


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """One condition's graded answers in the order of items: grade, label (NaN: none), stratum, item, unit, weight.

    `weight` is what an answer counts for: its item's weight over the number of its draws, 1 in sum. `alone`: every
    answer is a unit and they count alike.
    """

    value: Floats
    label: Floats
    layer: Codes | None
    item: Codes
    unit: Codes
    weight: Floats
    alone: bool


def labelled(outcomes: Outcomes, column: int, use: NDArray[np.bool_]) -> Labelled:
    """The answers of one condition to the items in `use`."""
    assert outcomes.label is not None
    rows = np.flatnonzero((outcomes.condition == column) & use[outcomes.item])
    rows = rows[np.argsort(outcomes.item[rows], kind="stable")]
    item = outcomes.item[rows]
    draws = np.bincount(item, minlength=len(outcomes.items))
    weight = (1.0 if outcomes.weight is None else outcomes.weight[item]) / draws[item]
    unit = item if outcomes.group is None else outcomes.group[item]
    weight = weight / np.sum(weight)
    return Labelled(
        value=outcomes.value[rows],
        label=outcomes.label[rows],
        layer=None if outcomes.layer is None else outcomes.layer[rows],
        item=item,
        unit=unit,
        weight=weight,
        alone=len(np.unique(unit)) == len(item) and float(np.ptp(weight)) <= 1e-9 * float(weight[0]),
    )


def enough_labels(sides: Sequence[Labelled]) -> bool:
    """Whether every condition has the two labels without which nothing is corrected."""
    return all(int((~np.isnan(side.label)).sum()) >= 2 for side in sides)


def _describe_labels(labels: int, drawn: bool) -> str:
    """How many labels there are, and how they were drawn."""
    how = "drawn by stratum" if drawn else "taken as a random sample, since how they were drawn is not known"
    return f"corrected by {labels:,} human labels ({how})"


def _describe_correction(
    metric: Metric, own: Evidence, half_width: Callable[[int, float], float], level: float
) -> str:  # fmt: skip
    """What the judge alone says, and what more labels would buy, at a level."""
    span, two = own.interval(level), len(own.values) == 2
    now, then = half_width(0, level), half_width(N_MORE_LABELS, level)
    estimate, low, high = (metric.amount(x, sign=two) for x in (own.estimate, span.low, span.high))
    ends = f"({100 * level:g}% CI {low} to {high})"
    graded = f"{estimate}{metric.suffix if two else metric.unit} {ends}"
    return (
        f"as it was graded: {graded}; {N_MORE_LABELS} more labels would narrow the interval from "
        f"±{metric.amount(now)} to about ±{metric.amount(then)}{metric.suffix}"
    )


def corrected(metric: Metric, sides: Sequence[Labelled], own: Evidence, *, these: bool, exact: bool) -> Evidence:
    """The mean of people's labels over all answers of one condition, or the second's minus the first's.

    `own` is the judge's evidence, said beside it. One answer an item and no groups or weights: limits by
    `pool_interval`; of a difference by `pool_difference`, or on the items' own differences where the same items are
    labelled for both and no strata are known, which keeps the pairing (the two values are then that far apart around
    the mean of each one's own corrected figure). Otherwise by unit (the group, else the item;
    with `these` the draw within its item): a unit's influence is the sum over its answers of
    w (m_h - m) + L w (W_h / sum of labelled w in h) (y - m_h), with m_h the mean label of its stratum or band h of
    grades. What labels vary by unit, over what they would vary if every answer were one, is the design effect (at
    least 1): effective labels are divided by it, and by (t / z)^2 for the few units that carry labels, as Korn and
    Graubard (1998) do for rare rates. Under 4 degrees of freedom nothing is decided.
    """
    if metric.low is None or metric.high is None:
        raise InputError(f"{metric.noun} has no range.", remedy="Labels correct rates, severities and bounded scores.")
    alone = all(side.alone for side in sides)
    pools, values = _pools_of(sides, metric.low, metric.high, alone=alone)
    estimate = pools[-1].estimate - (pools[0].estimate if len(pools) == 2 else 0.0)
    effect = _Effect(deff=1.0, between=None, freedom=math.inf) if alone else _effect(pools, sides, these=these)
    ends = (metric.low, metric.high) if len(sides) == 1 else (metric.low - metric.high, metric.high - metric.low)

    def limits(of: Sequence[LabelledPool], level: float) -> Interval:
        if effect.freedom < LEAST_FREEDOM:
            return Interval(low=ends[0], high=ends[1], level=level, method="the whole range")
        return _limits_of(of, effect, level, side="exact" if exact else "both", alone=alone)

    def half_width(extra: int, level: float) -> float:
        return limits(more_labels(pools, extra), level).half_width

    labels = sum(int(pool.count.sum()) for pool in pools)
    units = labels if alone else len(np.unique(np.concatenate([s.unit[~np.isnan(s.label)] for s in sides])))
    unit: Unit = "draw" if these else own.unit
    notes = [*own.notes, _describe_labels(labels, sides[0].layer is not None)]
    if effect.freedom < LEAST_FREEDOM:
        left = f"{effect.freedom:.2g} degrees of freedom"
        notes.append(f"{counted(units, unit)} with labels leave {left}: nothing is decided")
    return Evidence(
        estimate=estimate,
        interval=lambda level: limits(pools, level),
        values=values,
        n=own.n,
        units=labels if these else units,
        unit=unit,
        labels=labels,
        notes=tuple(notes),
        describe_at=lambda level: _describe_correction(metric, own, half_width, level),
    )


def _pools_of(
    sides: Sequence[Labelled], low: float, high: float, *, alone: bool
) -> tuple[list[LabelledPool], tuple[float, ...]]:
    """The pools that limits are made of, and each condition's corrected value.

    Where the same items are labelled for both and no strata are known, one pool of the items' differences.
    """
    if alone and sides[0].layer is None and len(sides) == 2 and _same_labelled(*sides):
        first, second = sides
        span = high - low
        gap = labelled_pool(second.label - first.label, second.value - first.value, low=-span, high=span)
        middle = float(np.mean([labelled_pool(s.label, s.value, low=low, high=high).estimate for s in sides]))
        return [gap], tuple(middle + sign * gap.estimate / 2 for sign in (-1, 1))  # as far apart as is said
    pools = [
        labelled_pool(s.label, s.value, strata=s.layer, weight=None if alone else s.weight, low=low, high=high)
        for s in sides
    ]
    return pools, tuple(pool.estimate for pool in pools)


def _limits_of(pools: Sequence[LabelledPool], effect: "_Effect", level: float, *, side: Side, alone: bool) -> Interval:
    """The interval of one pool, or of the difference of two, with as many labels as these are worth."""
    tail = 0.5 + level / 2
    ratio = 1.0 if alone else float(stdtrit(effect.freedom, tail) / ndtri(tail)) ** 2
    between = None if effect.between is None else effect.between * ratio
    pools = [dataclasses.replace(pool, n=pool.n / (effect.deff * ratio)) for pool in pools]
    if len(pools) == 1:
        return pool_interval(pools[0], level=level, side=side, between=between)
    return pool_difference(pools[0], pools[1], level=level, side=side, same_items=alone, between=between)


def _same_labelled(first: Labelled, second: Labelled) -> bool:
    return np.array_equal(first.item, second.item) and np.array_equal(np.isnan(first.label), np.isnan(second.label))


@dataclasses.dataclass(frozen=True, slots=True)
class _Effect:
    """What units do to labels: their design effect, the variance that the judged answers add, degrees of freedom."""

    deff: float
    between: float | None
    freedom: float


def _effect(pools: Sequence[LabelledPool], sides: Sequence[Labelled], *, these: bool) -> _Effect:
    units = max(int(side.unit.max()) for side in sides) + 1
    whole, judged, carried = np.zeros(units), np.zeros(units), np.zeros(units)
    alone = within = within_judged = 0.0
    for sign, pool, side in zip((1, -1), pools[::-1], sides[::-1], strict=False):
        known = ~np.isnan(side.label)
        mean = pool.mean[pool.part]
        held = np.bincount(pool.part[known], weights=side.weight[known], minlength=len(pool.mean))
        bet = side.weight * (mean - pool.estimate)
        lab = np.zeros(len(bet))
        up = (pool.share / np.where(held > 0, held, 1.0))[pool.part[known]]
        lab[known] = up * side.weight[known] * (side.label[known] - mean[known])
        alone += float(np.sum(lab**2))
        whole += sign * np.bincount(side.unit, weights=bet + lab, minlength=units)
        judged += sign * np.bincount(side.unit, weights=bet, minlength=units)
        carried += np.bincount(side.unit[known], weights=up * side.weight[known], minlength=units)
        within += _within(bet + lab, side.item)
        within_judged += _within(bet, side.item)
    used = int(np.sum(np.bincount(np.concatenate([s.unit for s in sides])) > 0))
    grow = used / max(used - 1, 1)
    total, between = (
        (within, within_judged) if these else (grow * float(np.sum(whole**2)), grow * float(np.sum(judged**2)))
    )
    labels = sum(float(pool.count.sum()) for pool in pools)
    effective_n = float(np.sum(carried)) ** 2 / float(np.sum(carried**2))  # units of equal share that labels lie in
    if these:
        effective_n = labels
    deff = max(1.0, (total - between) / alone) if alone > 0 else max(1.0, labels / effective_n)
    return _Effect(deff=deff, between=between, freedom=effective_n - 1)


def _within(influence: Floats, item: Codes) -> float:
    """The sum over items of k / (k - 1) times the squared deviations of its k draws."""
    draws = np.bincount(item)
    mean = np.bincount(item, weights=influence) / np.maximum(draws, 1)
    k = draws[item]
    return float(np.sum(np.where(k > 1, k / np.maximum(k - 1, 1), 0.0) * (influence - mean[item]) ** 2))


def as_judged(judges: Sequence[str], why: str = "") -> str:
    """Whose grades these are, where judge models gave them and people did not check them; empty where none did."""
    if not judges:
        return ""
    named = [printable(name, limit=40) for name in judges[:MOST_NAMED]]
    if len(judges) > MOST_NAMED:
        named = [f"{len(judges)} judges"]
    who = " and ".join([", ".join(named[:-1]), named[-1]] if len(named) > 1 else named)
    return f"graded by {who}; {why or 'nobody checked ' + ('it' if len(judges) == 1 else 'them')}"
