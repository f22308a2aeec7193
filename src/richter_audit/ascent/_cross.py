"""Each model on what the others' searches asked about: do they fail alike?"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from richter.errors import InputError
from richter.records import Condition, Item, Result
from richter.store import RunLike, is_run, open_ledger
from richter_audit.ascent._outcome import grade, is_first, last_answers, row_of
from richter_audit.ascent._summary import read_search_records

__all__ = ["CrossMatrix", "Subset", "cross_matrix", "merge_items", "read_answers", "read_subset"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Subset:
    """The items that a search asked about, or those of its failing paragraphs; whose search it was, of which base."""

    run: str
    condition: Condition
    base: Mapping[str, Any]
    items: tuple[Item, ...]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CrossMatrix(Result):
    """Condition j (columns) on the subset of condition i's search (rows), as in the paper's figure 4.

    `accuracy[i][j]` is j's accuracy there; `correlation[i][j]` the correlation (phi) of right and wrong between i and j
    there, which need not be the same the other way round. None where there is nothing to compute it from: no item, or
    a condition that is always right or always wrong, as i is on its own failing paragraphs. Row i was chosen by i's
    errors, so that i's own accuracy in it is low by selection; neither figure is one of the base.
    """

    conditions: tuple[str, ...]
    items: tuple[int, ...]
    accuracy: tuple[tuple[float | None, ...], ...]
    correlation: tuple[tuple[float | None, ...], ...]


def read_subset(run: RunLike) -> Subset:
    """The items of the paragraphs that a run finished asking about."""
    search = read_search_records(run)
    rows = set(search.known_errors)
    items = tuple(item for item in search.items.values() if row_of(item.id) in rows and is_first(item.id))
    return Subset(run=str(run), condition=search.condition, base=search.note["base"], items=items)


def merge_items(subsets: Sequence[Subset]) -> dict[str, Item]:
    """All items by id. Searches of another base, or with other questions, have other items under the same ids."""
    merged: dict[str, Item] = {}
    for subset in subsets:
        if subset.base != subsets[0].base:
            raise InputError(
                f"{subset.run} searched another base than {subsets[0].run}.", remedy="Give searches of one base."
            )
        for item in subset.items:
            if merged.setdefault(item.id, item) != item:
                raise InputError(
                    f"{subset.run} asked other questions about the same paragraphs.",
                    remedy="Give searches that asked the questions of one base.",
                )
    return merged


def read_answers(runs: Sequence[RunLike], condition: Condition) -> dict[str, bool]:
    """Whether the condition answered each item rightly, over the ledgers of some runs; what is neither is left out."""
    right: dict[str, bool] = {}
    for run in runs:
        if not is_run(run):
            continue
        with open_ledger(run) as ledger:
            items = {item.id: item for item in ledger.items()}
            for name, answer in last_answers(ledger.answers(condition.name)).items():
                verdict = grade(items[name], answer, condition.style) if name in items and not answer.error else ""
                if verdict in ("right", "wrong"):
                    right[name] = verdict == "right"
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
    correlation = tuple(tuple(_phi(subsets[row], right[row], right[column]) for column in names) for row in names)
    counts = tuple(len(subsets[name]) for name in names)
    return CrossMatrix(conditions=names, items=counts, accuracy=accuracy, correlation=correlation)


def _mean(values: Sequence[bool]) -> float | None:
    return float(np.mean(values)) if values else None


def _phi(items: Sequence[str], one: Mapping[str, bool], other: Mapping[str, bool]) -> float | None:
    both = [item for item in items if item in one and item in other]
    x, y = np.array([one[i] for i in both], dtype=float), np.array([other[i] for i in both], dtype=float)
    if not both or x.std() == 0 or y.std() == 0:
        return None
    return float(np.corrcoef(x, y)[0, 1])
