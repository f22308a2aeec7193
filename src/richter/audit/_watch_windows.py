"""The entries of a series as values of items: their sampling error, and the items before and within a window."""

import dataclasses
import datetime
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from richter.audit._watch_days import Day
from richter.claims import (
    METRICS,
    Evidence,
    Metric,
    Outcomes,
    apart_evidence,
    difference_evidence,
    ece_difference,
    ece_side,
    unpaired_evidence,
)
from richter.stats import bin_gaps

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

WINDOW_DAYS = 7  # what is compared with the time before: the last week ..
MIN_WINDOW_ENTRIES = 2  # .. and as many entries at the least
MEASURING = ("judge", "rubric")  # changes of these are no deployments


class ItemValues(NamedTuple):
    """One entry's values of a measure: item, value, weight and group (each item's own name where there are none)."""

    item: list[str]
    value: Floats
    weight: Floats
    group: list[str]

    @property
    def mean(self) -> float:
        """The weighted mean; NaN without a value."""
        return float(np.average(self.value, weights=self.weight)) if len(self.value) else np.nan


def item_values(frame: pl.DataFrame, measure: str, items: set[str] | None) -> ItemValues:
    """An entry's values of a measure on the items that are watched (None: its own)."""
    if measure not in frame.columns:
        return ItemValues([], np.empty(0), np.empty(0), [])
    rows = frame if items is None else frame.filter(pl.col("item").is_in(list(items)))
    known = rows.drop_nulls(measure).sort("item")
    names = known["item"].to_list()
    group = known["group"].to_list() if "group" in known.columns else names
    return ItemValues(names, known[measure].to_numpy(), known["weight"].to_numpy(), group)


def sampling_noise(entries: Sequence[ItemValues], *, paired: bool, least: float) -> Floats:
    """The variance of each entry's mean by sampling alone, from the entries up to it.

    Of the same items: half of that of the mean difference from the entry before. Of items of their own: that of their
    mean. By groups where there are any; averaged over the entries so far. `least` is a single item's part in a mean,
    by which answers that never vary may still differ.
    """
    found: list[float] = []
    sizes: list[float] = []
    for k, entry in enumerate(entries):
        if paired and k == 0:
            continue
        part = _changed(entries[k - 1], entry) if paired else entry
        total = float(part.weight.sum())
        if total <= 0:
            found, sizes = [*found, np.nan], [*sizes, 1.0]
            continue
        pull = part.weight * (part.value - part.mean) / total
        sums = np.bincount(np.unique(part.group, return_inverse=True)[1], weights=pull)
        found.append(float(np.sum(sums**2)) / (2 if paired else 1) * len(part.value))
        sizes.append(float(len(part.value)))
    if paired:
        found, sizes = [*found[:1], *found], [*sizes[:1], *sizes]
    if not found:
        return np.array([least**2 / max(len(entries[0].value), 1) ** 2]) if entries else np.empty(0)
    each = np.array(found)
    known = np.isfinite(each)
    running = np.cumsum(np.where(known, each, 0.0)) / np.maximum(np.cumsum(known), 1)
    size = np.maximum(np.array(sizes), 1.0)
    return np.asarray(np.maximum(running / size, (least / size) ** 2))


def _changed(before: ItemValues, after: ItemValues) -> ItemValues:
    """What each item that both entries have differs by."""
    if before.item == after.item:
        return after._replace(value=after.value - before.value)
    place = {item: k for k, item in enumerate(before.item)}
    both = [(k, place[item]) for k, item in enumerate(after.item) if item in place]
    now, then = ([pair[side] for pair in both] for side in (0, 1))
    return ItemValues(
        [after.item[k] for k in now], after.value[now] - before.value[then], after.weight[now],
        [after.group[k] for k in now],
    )  # fmt: skip


def ece_noise(day: Day, items: set[str] | None) -> float:
    """The variance of an entry's calibration error by sampling: the sum of its bins'."""
    assert day.graded is not None
    rows = day.graded if items is None else day.graded.filter(pl.col("item").is_in(list(items)))
    gaps = bin_gaps(rows["confidence"], rows["correct"], weight=rows["weight"])
    return float(np.sum(gaps.standard_error**2))


def days_of(at: Sequence[str]) -> Floats:
    """The times of entries in days."""
    return np.array([datetime.datetime.fromisoformat(day).timestamp() / 86400 for day in at])


def deployments(days: Sequence[Day], stated: Sequence[str] = ()) -> list[int]:
    """The entries that are the first of another model, prompt or setting, as they record it or as it is stated."""
    found = set()
    for k in range(1, len(days)):
        before, after = days[k - 1].made, days[k].made
        if any(before[name] != after[name] for name in before.keys() & after.keys() if name not in MEASURING):
            found.add(k)
        if any(days[k - 1].at < date <= days[k].at for date in stated):
            found.add(k)
    return sorted(found)


def window_start(at: Floats, last: int, deployed: Sequence[int]) -> int:
    """The first entry of the window that ends with entry `last`.

    It holds the last seven days, two entries at the least, and nothing from before the last deployment: the calendar
    and deployments fix it, not the change that was found.
    """
    start = int(np.searchsorted(at[: last + 1], at[last] - WINDOW_DAYS, side="right"))
    start = min(start, max(last + 1 - MIN_WINDOW_ENTRIES, 0))
    return max([start, *(d for d in deployed if d <= last)])


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ItemSeries:
    """All entries of a measure by item, so that any window is compared with the entries before it."""

    metric: Metric
    entries: Sequence[ItemValues]
    paired: bool

    def sides(self, start: int, last: int) -> tuple[ItemValues, ItemValues]:
        """Items' means over the entries before `start`, and from it up to `last`."""
        return _pooled(self.entries[:start], self.paired), _pooled(self.entries[start : last + 1], self.paired)

    def difference(self, start: int, last: int) -> Evidence:
        """The window's mean minus that of the entries before it: of the same items by pairs, else of two samples."""
        before, after = self.sides(start, last)
        names = sorted({*before.item, *after.item})
        place = {name: k for k, name in enumerate(names)}
        groups = dict(zip([*before.item, *after.item], [*before.group, *after.group], strict=True))
        weights = dict(zip([*before.item, *after.item], [*before.weight, *after.weight], strict=True))
        code = np.unique([groups[name] for name in names], return_inverse=True)[1].astype(np.intp)
        single = not self.paired or (start == 1 and last == start)
        kind = self.metric.kind if single or self.metric.kind != "binary" else "bounded"  # means over several entries
        outcomes = Outcomes(
            metric=dataclasses.replace(self.metric, kind=kind), items=tuple(names), conditions=("before", "after"),
            item=np.array([place[name] for name in (*before.item, *after.item)], dtype=np.intp),
            condition=np.repeat([0, 1], [len(before.item), len(after.item)]).astype(np.intp),
            value=np.r_[before.value, after.value], group=code, weight=np.array([weights[name] for name in names]),
        )  # fmt: skip
        estimate = difference_evidence if self.paired else unpaired_evidence
        return estimate(outcomes, "before", "after")


def _pooled(entries: Sequence[ItemValues], paired: bool) -> ItemValues:
    """Each item's mean over entries; of items of their own every answer, under a name that tells entries apart."""
    if not paired:
        names = [f"{k}\0{name}" for k, entry in enumerate(entries) for name in entry.item]
        shared = {name for entry in entries for name in entry.group}
        alone = sum(len(entry.item) for entry in entries) == len(shared)
        group = names if alone else [name for entry in entries for name in entry.group]
        values, weights = (np.concatenate([entry[k] for entry in entries]) for k in (1, 2))
        return ItemValues(names, values, weights, group)
    rows = pl.concat(
        [pl.DataFrame({"item": e.item, "value": e.value, "weight": e.weight, "group": e.group}) for e in entries]
    )
    mean = rows.group_by("item").agg(pl.col("value").mean(), pl.col("weight").last(), pl.col("group").last())
    mean = mean.sort("item")
    return ItemValues(
        mean["item"].to_list(), mean["value"].to_numpy(), mean["weight"].to_numpy(), mean["group"].to_list()
    )


def ece_window(days: Sequence[Day], start: int, last: int, items: set[str] | None) -> Evidence:
    """The window's calibration error minus that of the entries before it."""
    sides, names = [], sorted({i for day in days if day.graded is not None for i in day.graded["item"]})
    place = {name: k for k, name in enumerate(names)}
    for part in (days[:start], days[start : last + 1]):
        rows = pl.concat([day.graded for day in part if day.graded is not None])
        rows = rows if items is None else rows.filter(pl.col("item").is_in(list(items)))
        item = np.array([place[name] for name in rows["item"]], dtype=np.intp)
        weight = np.bincount(item, weights=rows["weight"].to_numpy(), minlength=len(names)).astype(np.float64)
        sides.append(ece_side(rows["confidence"].to_numpy(), rows["correct"].to_numpy(), item, weight=weight))
    return ece_difference(*sides, paired=items is not None)


def canary_values(days: Sequence[Day], measure: str) -> list[ItemValues] | None:
    """What the judges said of the fixed answers that all entries with any share; None where there are none."""
    rated = [day for day in days if day.judge]
    fixed = sorted(set.intersection(*(set(day.judge) for day in rated))) if rated else []
    if not fixed:
        return None
    values = [METRICS[measure].of_severity(np.array([day.judge[item] for item in fixed])) for day in rated]
    return [ItemValues(fixed, value.astype(np.float64), np.ones(len(fixed)), fixed) for value in values]


def less_drift(items: Evidence, canaries: Evidence) -> Evidence:
    """The items' difference less what the judges rate the fixed answers otherwise, which are a sample of answers."""
    return apart_evidence(canaries, items, note="judges' drift on fixed answers is taken out")
