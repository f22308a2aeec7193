"""One measure on units: the record that every reader makes and every claim uses, and counts of all pairs at once."""

import dataclasses
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from richter.claims._measures import METRICS, Metric
from richter.errors import InputError
from richter.records import counted

__all__ = ["Outcomes", "as_errors", "of_conditions", "unit_means"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]
Counts = NDArray[np.int64]
MOST_EXACT = 2**24  # counts up to which sums of 32-bit floats are exact


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Outcomes:
    """One metric, one row per answer that has a value: codes of item, condition, draw and run, and the value.

    `label` is what people say of an answer (NaN: nobody was asked) and `layer` the stratum in which it could be drawn
    for them, or `chance` that with which it was (NaN: not known), by row; `label_fault` says why labels cannot be used.
    `is_proxy`: values only say which answers are right, and labels give the measure.
    `judges` names the judge models that graded.
    `group`, `group_2`, `stratum` (index into `strata`) and `weight` are per item. An answer without a value has no row.
    Nothing is dropped without a count in `notes`.
    """

    metric: Metric
    items: tuple[str, ...]
    conditions: tuple[str, ...]
    item: Codes
    condition: Codes
    value: Floats
    draw: Codes | None = None
    run: Codes | None = None
    runs: tuple[str, ...] = ()
    group: Codes | None = None
    group_2: Codes | None = None
    stratum: Codes | None = None
    strata: tuple[str, ...] = ()
    weight: Floats | None = None
    label: Floats | None = None
    layer: Codes | None = None
    chance: Floats | None = None
    label_fault: str = ""
    is_proxy: bool = False
    judges: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        rows, items = len(self.value), len(self.items)
        if len(self.item) != rows or len(self.condition) != rows:
            raise InputError("Item, condition and value differ in length.", remedy="Give one of each for every answer.")
        for name in ("group", "group_2", "stratum", "weight"):
            given = getattr(self, name)
            if given is not None and len(given) != items:
                raise InputError(
                    f"{len(given)} values of {name} for {items} items.", remedy=f"Give one {name} per item."
                )
        if self.weight is not None and not (np.isfinite(self.weight).all() and (self.weight > 0).all()):
            bad = int(np.sum(~(np.isfinite(self.weight) & (self.weight > 0))))
            raise InputError(
                f"{counted(bad, 'weight is', 'weights are')} zero, negative or missing.",
                remedy="Weights are above 0; leave items out instead.",
            )


def of_conditions(outcomes: Outcomes, names: Sequence[str]) -> Outcomes:
    """The outcomes of some conditions, which keep their codes' order."""
    kept = [k for k, name in enumerate(outcomes.conditions) if name in names]
    code = np.full(len(outcomes.conditions), -1, dtype=np.intp)
    code[kept] = np.arange(len(kept))
    rows = np.flatnonzero(code[outcomes.condition] >= 0)
    changes: dict[str, Any] = {}
    for name in ("item", "value", "draw", "run", "label", "layer", "chance"):
        values = getattr(outcomes, name)
        changes[name] = None if values is None else values[rows]
    conditions = tuple(outcomes.conditions[k] for k in kept)
    return dataclasses.replace(outcomes, conditions=conditions, condition=code[outcomes.condition[rows]], **changes)


def as_errors(right: Outcomes) -> Outcomes:
    """Outcomes of right answers as those of wrong ones."""
    label = None if right.label is None else 1 - right.label
    return dataclasses.replace(right, metric=METRICS["error_rate"], value=1 - right.value, label=label)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class UnitMeans:
    """Items x conditions: the mean of an item's draws (NaN: none), how many, and their squared deviations' sum."""

    mean: Floats
    draws: Codes
    within: Floats


def unit_means(outcomes: Outcomes) -> UnitMeans:
    """Every item's mean over its draws, which is what all claims on means are about."""
    shape = (len(outcomes.items), len(outcomes.conditions))
    place = outcomes.item * shape[1] + outcomes.condition
    size = shape[0] * shape[1]
    draws = np.bincount(place, minlength=size)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.bincount(place, weights=outcomes.value, minlength=size) / draws
    within: Floats = np.bincount(place, weights=(outcomes.value - mean[place]) ** 2, minlength=size).astype(np.float64)
    return UnitMeans(mean=mean.reshape(shape), draws=draws.reshape(shape), within=within.reshape(shape))


class RightCounts(NamedTuple):
    """Of every pair of conditions, on the items that both have: those that the first, and only the second, got right.

    `right[i, j]` is about i, `gained[i, j]` counts what j got right and i did not.
    """

    right: Counts
    gained: Counts


def count_shared(mean: Floats) -> Counts:
    """The items that two conditions both have a value for; on the diagonal those of each."""
    known = _as_sums(~np.isnan(mean))
    return (known.T @ known).astype(np.int64)


def count_right(mean: Floats) -> RightCounts | None:
    """The counts of grades 0 and 1; None where there are other values."""
    known = ~np.isnan(mean)
    if not np.isin(mean[known], (0.0, 1.0)).all():
        return None
    right, wrong = _as_sums(mean == 1), _as_sums(mean == 0)
    gained = (wrong.T @ right).astype(np.int64)
    return RightCounts(right=(right.T @ right).astype(np.int64) + gained.T, gained=gained)


def _as_sums(of: NDArray[np.bool_]) -> Floats:
    """As floats that are summed without an error."""
    return of.astype(np.float32 if len(of) < MOST_EXACT else np.float64)
