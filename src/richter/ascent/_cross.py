"""Each model on each other's failures: do they fail alike?"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from richter.ascent._outcome import is_wrong, row_of
from richter.ascent._summary import search_note, search_outcomes
from richter.errors import InputError
from richter.records import Condition, Item
from richter.store import RunLike, has_ledger, open_ledger

__all__ = ["CrossMatrix", "Failures", "cross_matrix", "merge_items", "read_answers", "read_failures"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Failures:
    """The items of a search's failing paragraphs, whose failures they are, and the base that was searched."""

    run: str
    condition: Condition
    base: Mapping[str, Any]
    items: tuple[Item, ...]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CrossMatrix:
    """`accuracy[i][j]` is condition j's accuracy on the failing paragraphs of condition i's search.

    `correlation[i][j]` is the correlation (phi) of right and wrong between conditions i and j over all the items that
    both answered. None where there is nothing to compute it from: no item, or a condition that is always right or
    always wrong. The diagonal of `accuracy` is low by selection: the items are there because that condition failed.
    """

    conditions: tuple[str, ...]
    items: tuple[int, ...]
    accuracy: tuple[tuple[float | None, ...], ...]
    correlation: tuple[tuple[float | None, ...], ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return dataclasses.asdict(self)


def read_failures(run: RunLike) -> Failures:
    """The items of a run's paragraphs whose error exceeds xi."""
    with open_ledger(run) as ledger:
        settings, condition, note = search_note(ledger)
        _, found = search_outcomes(ledger, condition)
        failing = {row for row, o in found.items() if o.error is not None and o.error > settings.xi}
        items = tuple(item for item in ledger.items() if row_of(item.id) in failing)
    return Failures(run=str(run), condition=condition, base=note["base"], items=items)


def merge_items(failures: Sequence[Failures]) -> dict[str, Item]:
    """All items by id. Searches of another base, or with other questions, have other items under the same ids."""
    merged: dict[str, Item] = {}
    for f in failures:
        if f.base != failures[0].base:
            raise InputError(
                f"{f.run} searched another base than {failures[0].run}.", remedy="Give searches of one base."
            )
        for item in f.items:
            if merged.setdefault(item.id, item) != item:
                raise InputError(
                    f"{f.run} asked other questions about the same paragraphs.",
                    remedy="Give searches whose questions come from the base, not from a generator.",
                )
    return merged


def read_answers(runs: Sequence[RunLike], condition: Condition) -> dict[str, bool]:
    """Whether the condition answered each item rightly, over the ledgers of some runs; failed calls are left out."""
    right: dict[str, bool] = {}
    for run in runs:
        if not has_ledger(run):
            continue
        with open_ledger(run) as ledger:
            items = {item.id: item for item in ledger.items()}
            for answer in ledger.answers(condition.name):
                if not answer.error and answer.item in items:
                    right[answer.item] = not is_wrong(items[answer.item], answer.text, condition.style)
    return right


def cross_matrix(subsets: Mapping[str, Sequence[str]], right: Mapping[str, Mapping[str, bool]]) -> CrossMatrix:
    """The matrix from each condition's subset of item ids and each condition's right and wrong answers."""
    names = tuple(subsets)
    if len(names) < 2:
        raise InputError("A cross-model matrix needs at least two conditions.", remedy="Give searches of two models.")
    accuracy = tuple(
        tuple(_mean([right[column][item] for item in subsets[row] if item in right[column]]) for column in names)
        for row in names
    )
    correlation = tuple(tuple(_phi(right[row], right[column]) for column in names) for row in names)
    counts = tuple(len(subsets[name]) for name in names)
    return CrossMatrix(conditions=names, items=counts, accuracy=accuracy, correlation=correlation)


def _mean(values: Sequence[bool]) -> float | None:
    return float(np.mean(values)) if values else None


def _phi(one: Mapping[str, bool], other: Mapping[str, bool]) -> float | None:
    both = sorted(one.keys() & other.keys())
    x, y = np.array([one[i] for i in both], dtype=float), np.array([other[i] for i in both], dtype=float)
    if not both or x.std() == 0 or y.std() == 0:
        return None
    return float(np.corrcoef(x, y)[0, 1])
