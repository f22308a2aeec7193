"""Evidence as people would grade: every answer's grade by a judge, corrected by human labels on some of them."""

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from richter.claims._measures import Codes, Floats, Metric, Outcomes
from richter.claims._question import Evidence
from richter.errors import InputError
from richter.records import Interval, counted, printable
from richter.stats import (
    LabelCorrection,
    Side,
    correct_by_labels,
    correction_difference,
    correction_interval,
    with_more_labels,
)

__all__ = ["as_judged"]

N_MORE_LABELS = 50  # whose effect on the interval is named
LEAST_FREEDOM = 4.0
MOST_NAMED = 3  # judges


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """One condition's graded answers in the order of items: grade, label (NaN: none), stratum, item, unit, weight.

    `weight` is what an answer counts for: its item's weight over the number of its draws, 1 in sum. `chance` is that of
    every labelled answer, where strata are not known and chances are.
    """

    value: Floats
    label: Floats
    layer: Codes | None
    chance: Floats | None
    item: Codes
    unit: Codes
    weight: Floats


def labelled(outcomes: Outcomes, column: int, use: NDArray[np.bool_]) -> Labelled:
    """The answers of one condition to the items in `use`."""
    assert outcomes.label is not None
    rows = np.flatnonzero((outcomes.condition == column) & use[outcomes.item])
    rows = rows[np.argsort(outcomes.item[rows], kind="stable")]
    item = outcomes.item[rows]
    draws = np.bincount(item, minlength=len(outcomes.items))
    weight = (1.0 if outcomes.weight is None else outcomes.weight[item]) / draws[item]
    unit = item if outcomes.group is None else outcomes.group[item]
    return Labelled(
        value=outcomes.value[rows],
        label=outcomes.label[rows],
        layer=None if outcomes.layer is None else outcomes.layer[rows],
        chance=None if outcomes.chance is None else outcomes.chance[rows],
        item=item,
        unit=unit,
        weight=weight / np.sum(weight),
    )


def enough_labels(sides: Sequence[Labelled]) -> bool:
    """Whether every condition has the two labels without which nothing is corrected."""
    return all(int((~np.isnan(side.label)).sum()) >= 2 for side in sides)


def _describe_labels(labels: int, drawn: bool) -> str:
    """How many labels there are, and how they were drawn."""
    how = "drawn by stratum" if drawn else "taken as a random sample, since how they were drawn is not known"
    return f"corrected by {labels:,} human labels ({how})"


def _describe_correction(
    metric: Metric, own: Evidence, with_labels: Callable[[int, float], Interval], level: float
) -> str:  # fmt: skip
    """What the judge alone says, and what more labels would buy, at a level."""
    span, two = own.interval(level), len(own.values) == 2
    now, then = (with_labels(extra, level).half_width for extra in (0, N_MORE_LABELS))
    estimate, low, high = (metric.amount(x, sign=two) for x in (own.estimate, span.low, span.high))
    ends = f"({100 * level:g}% CI {low} to {high})"
    graded = f"{estimate}{metric.suffix if two else metric.unit} {ends}"
    return (
        f"as it was graded: {graded}; {N_MORE_LABELS} more labels would narrow the interval from "
        f"±{metric.amount(now)} to about ±{metric.amount(then)}{metric.suffix}"
    )


def corrected(
    metric: Metric, sides: Sequence[Labelled], own: Evidence, *, exact: bool, is_proxy: bool
) -> Evidence:  # fmt: skip
    """The mean of people's labels over all answers of one condition, or the second's minus the first's.

    `own` is the judge's evidence, described beside it. By `stats.correct_by_labels` with the group, else the item, as
    the unit. Under 4 degrees of freedom nothing is decided.
    With `is_proxy` grades are not on the measure's scale and are not described.
    """
    if metric.low is None or metric.high is None:
        raise InputError(f"{metric.noun} has no range.", remedy="Labels correct rates, severities and bounded scores.")
    found = [_correction_of(side, metric.low, metric.high) for side in sides]
    values = tuple(one.estimate for one in found)
    freedom = min(one.freedom for one in found)
    limits = _limits_of(metric.low, metric.high, freedom, "exact" if exact else "both")

    def with_labels(extra: int, level: float) -> Interval:
        return limits(with_more_labels(found, extra), level)

    labels = sum(one.labels for one in found)
    unlabelled = sum(len(side.value) for side in sides) - labels
    units = len(np.unique(np.concatenate([s.unit[~np.isnan(s.label)] for s in sides])))
    notes = [*own.notes, _describe_labels(labels, sides[0].layer is not None or sides[0].chance is not None)]
    if freedom < LEAST_FREEDOM:
        left = f"{freedom:.2g} degrees of freedom"
        notes.append(f"{counted(units, own.unit)} with labels leave {left}: nothing is decided")
    return Evidence(
        estimate=values[-1] - (values[0] if len(values) == 2 else 0.0),
        interval=lambda level: limits(found, level),
        values=values,
        n=own.n,
        units=units,
        unit=own.unit,
        labels=labels,
        as_graded=None if is_proxy else own,
        notes=tuple(notes),
        describe_at=None if is_proxy else lambda level: _describe_correction(metric, own, with_labels, level),
        labels_to_settle=lambda level: _labels_to_settle(lambda extra: with_labels(extra, level), unlabelled),
    )


def _labels_to_settle(interval: Callable[[int], Interval], unlabelled: int) -> int | None:
    """The fewest more labels with which an interval excludes 0, to a twentieth; None where all there are would not."""
    if 0.0 not in interval(0):
        return 0
    if 0.0 in interval(unlabelled):
        return None
    low, high = 0, unlabelled
    while high - low > max(1, high // 20):
        middle = (low + high) // 2
        low, high = (middle, high) if 0.0 in interval(middle) else (low, middle)
    return high


def _limits_of(
    low: float, high: float, freedom: float, side: Side
) -> Callable[[Sequence[LabelCorrection], float], Interval]:  # fmt: skip
    """The interval of one correction, or of two conditions' difference, at any level; the whole range of few units."""

    def limits(of: Sequence[LabelCorrection], level: float) -> Interval:
        if freedom < LEAST_FREEDOM:
            ends = (low, high) if len(of) == 1 else (low - high, high - low)
            return Interval(low=ends[0], high=ends[1], level=level, method="the whole range")
        if len(of) == 1:
            return correction_interval(of[0], level=level, side=side)
        return correction_difference(of[0], of[1], level=level, side=side)

    return limits


def _correction_of(side: Labelled, low: float, high: float) -> LabelCorrection:
    return correct_by_labels(
        side.label, side.value, strata=side.layer, probability=side.chance, weight=side.weight, unit=side.unit,
        item=side.item, low=low, high=high,
    )  # fmt: skip


def as_judged(judges: Sequence[str], why: str = "") -> str:
    """Whose grades these are, where judge models gave them and people did not check them; empty where none did."""
    if not judges:
        return ""
    named = [printable(name, limit=40) for name in judges[:MOST_NAMED]]
    if len(judges) > MOST_NAMED:
        named = [f"{len(judges)} judges"]
    who = " and ".join(filter(None, (", ".join(named[:-1]), named[-1])))
    return f"graded by {who}; {why or 'nobody checked ' + ('it' if len(judges) == 1 else 'them')}"
