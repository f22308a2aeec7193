"""The rule of missing grades: a claim holds with them ignored and at the worse end, or they block it.

Claims from data, gates and stop rules all apply it by these functions.
"""

import dataclasses
from collections.abc import Mapping
from typing import Literal

import numpy as np

from richter.claims._measures import Codes, Outcomes
from richter.claims._question import Blocked, Evidence, p_value
from richter.claims._subgroups import Subgroup, Subgroups
from richter.records import Interval
from richter.words._check_words import BLOCK_REASONS, REMEDIES

__all__ = ["block_by_missing", "both_ways", "spanning_both", "subgroups_both_ways", "with_missing_at"]

MAX_UNBOUNDED_MISSING = 0.01  # share of missing grades above which a measure without a worse end is blocked


def with_missing_at(outcomes: Outcomes, lacking: Codes, end: Literal["worst", "best"] = "worst") -> Outcomes:
    """The same outcomes with a row at the worse (or better) end of the range for every grade that is missing.

    `lacking` counts them by item and condition. Where people labelled some answers, the added rows are a stratum of
    their own in which every label is known, or have a chance of 1.
    """
    value = outcomes.metric.worst if end == "worst" else outcomes.metric.best
    assert value is not None
    item, condition = (np.repeat(code, lacking.ravel()) for code in np.indices(lacking.shape).reshape(2, -1))
    added, before = len(item), len(outcomes.item)
    changes: dict[str, object] = {
        "item": np.concatenate([outcomes.item, item]),
        "condition": np.concatenate([outcomes.condition, condition]),
        "value": np.concatenate([outcomes.value, np.full(added, value)]),
    }
    if outcomes.draw is not None:
        changes["draw"] = np.concatenate([outcomes.draw, np.full(added, -1)])
    if outcomes.run is not None:
        changes["run"] = np.concatenate([outcomes.run, _runs_of_missing(outcomes, outcomes.run, item, condition)])
    if outcomes.label is not None:
        changes["label"] = np.concatenate([outcomes.label, np.full(added, value)])
        if outcomes.chance is not None:
            changes["chance"] = np.concatenate([outcomes.chance, np.ones(added)])
        else:
            layer = np.zeros(before, dtype=np.intp) if outcomes.layer is None else outcomes.layer
            changes["layer"] = np.concatenate([layer, np.full(added, int(layer.max(initial=0)) + 1)])
    return dataclasses.replace(outcomes, **changes)  # type: ignore[arg-type]


def _runs_of_missing(outcomes: Outcomes, run: Codes, item: Codes, condition: Codes) -> Codes:
    """The run of each missing grade: of its condition's runs, in turn, those with the fewest answers to the item."""
    found = np.zeros(len(item), dtype=np.intp)
    for column in np.unique(condition):
        own, lacking = outcomes.condition == column, np.flatnonzero(condition == column)
        runs, code = np.unique(run[own], return_inverse=True)
        if not len(runs):
            continue
        items, first, place = np.unique(item[lacking], return_index=True, return_inverse=True)
        row = np.searchsorted(items, outcomes.item[own])
        asked = np.isin(outcomes.item[own], items)
        counts = np.bincount(row[asked] * len(runs) + code[asked], minlength=len(items) * len(runs))
        order = np.argsort(counts.reshape(len(items), len(runs)), axis=1, kind="stable")
        turn = (np.arange(len(lacking)) - first[place]) % len(runs)
        found[lacking] = runs[order[place, turn]]
    return found


def spanning_both(ignoring: Interval, as_worst: Interval) -> Interval:
    """The interval that excludes what both ways exclude."""
    low, high = min(ignoring.low, as_worst.low), max(ignoring.high, as_worst.high)
    return dataclasses.replace(ignoring, low=low, high=high, method=f"{ignoring.method}; missing grades both ways")


def both_ways(ignoring: Evidence, as_worst: Evidence, *, missing: Mapping[str, int]) -> Evidence:
    """Evidence that shows only what holds both with missing grades ignored and with them at the worse end.

    Its interval spans both intervals, and its p-value is the larger one (1 where the two lie on different sides).
    """

    def interval(level: float) -> Interval:
        return spanning_both(ignoring.interval(level), as_worst.interval(level))

    def p(value: float) -> float:
        if (ignoring.estimate - value) * (as_worst.estimate - value) <= 0:
            return 1.0
        return max(p_value(ignoring, value), p_value(as_worst, value))

    return dataclasses.replace(
        ignoring, interval=interval, p=p, missing=dict(missing), ignoring=ignoring, as_worst=as_worst
    )


def subgroups_both_ways(ignoring: Subgroups, as_worst: Subgroups) -> Subgroups:
    """Subgroups with intervals that span both ways, and the p-value with which the effect differs both ways.

    Where nothing varies with missing grades at the worse end, no difference is shown there.
    """
    worst = {part.name: part for part in as_worst.subgroups}

    def spanning(part: Subgroup) -> Subgroup:
        other = worst[part.name]
        both = dataclasses.replace(part, interval=spanning_both(part.interval, other.interval))
        if part.pooled_interval is None or other.pooled_interval is None:
            return dataclasses.replace(both, pooled=None, pooled_interval=None)
        return dataclasses.replace(both, pooled_interval=spanning_both(part.pooled_interval, other.pooled_interval))

    p = None if ignoring.p is None else max(ignoring.p, 1.0 if as_worst.p is None else as_worst.p)
    return dataclasses.replace(ignoring, p=p, subgroups=tuple(map(spanning, ignoring.subgroups)))


def block_by_missing(count: int, total: int, *, why: str, kinds: str = "") -> Blocked | None:
    """Why missing grades that cannot count at a worse end block a question; None where they are 1% or fewer."""
    if count <= MAX_UNBOUNDED_MISSING * total:
        return None
    of = f" ({kinds})" if kinds else ""
    reason = BLOCK_REASONS["missing"].format(number=count, total=total, of=of, why=why)
    return Blocked(gate="missing", reason=reason, remedy=REMEDIES["missing"], override="--missing at-random")
