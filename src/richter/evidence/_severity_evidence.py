"""Evidence on how severe errors are: severities of all draws as rows, by unit."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from richter.claims import Blocked, Evidence, Outcomes, Question, as_judged, has_runs
from richter.errors import InputError
from richter.evidence._checks import Policy, SeveritySettings
from richter.evidence._facts import metric_of, once, outcomes_of, sample_of
from richter.records import Unit
from richter.stats import Floats, Indices
from richter.tables import Dataset

if TYPE_CHECKING:
    from richter.severity import PairStudy

__all__ = ["SeverityRows", "estimate_given_error", "severity_pairs", "severity_rows"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SeverityRows:
    """Severities as conditions x rows (NaN: none), a row being a draw of an item; which rows vary together.

    `groups` is None where every row is its own unit. `unit` names what `groups` are.
    """

    conditions: tuple[str, ...]
    severity: Floats
    item: Indices
    groups: Indices | None
    weight: Floats | None
    run: Indices | None
    unit: Unit
    width: int

    def of(self, name: str) -> Floats:
        """One condition's severities."""
        found: Floats = self.severity[self.conditions.index(name)]
        return found


@once
def severity_rows(dataset: Dataset, by_run: bool) -> SeverityRows:
    """The severities of every draw, in one order of rows for all conditions.

    `by_run`: conditions share a row where the same run, by its name, drew it; else where the draw has one number.
    """
    rated = sample_of(dataset, "mean_severity").outcomes
    if rated.is_proxy:
        rated = _labelled_only(rated)
    draw = np.zeros(len(rated.item), dtype=np.intp) if rated.draw is None else rated.draw
    if by_run and rated.run is not None:
        draw = _slots_of_runs(rated, rated.run, draw)
    width, items = int(draw.max()) + 1, len(rated.items)
    table = np.full((len(rated.conditions), items * width), np.nan)
    place = rated.item * width + draw
    table[rated.condition, place] = rated.value
    run = None
    if by_run and rated.run is not None:
        run = np.zeros(items * width, dtype=np.intp)
        run[place] = rated.run
    unit = np.arange(items) if rated.group is None else rated.group
    is_alone = rated.group is None or len(np.unique(rated.group)) == items
    return SeverityRows(
        conditions=rated.conditions,
        severity=table,
        item=np.repeat(np.arange(items), width),
        groups=None if rated.group is None and width == 1 else np.repeat(unit, width),
        weight=None if rated.weight is None else np.repeat(rated.weight, width),
        run=run,
        unit="item" if is_alone else "group",
        width=width,
    )


def _labelled_only(rated: Outcomes) -> Outcomes:
    """The answers that people labelled, with their labels as the severities."""
    assert rated.label is not None
    known = ~np.isnan(rated.label)
    draw, run = (None if codes is None else codes[known] for codes in (rated.draw, rated.run))
    return dataclasses.replace(
        rated, item=rated.item[known], condition=rated.condition[known], value=rated.label[known], draw=draw, run=run,
        label=None, layer=None, chance=None,
    )  # fmt: skip


def _slots_of_runs(rated: Outcomes, run: Indices, draw: Indices) -> Indices:
    """The place of every answer among its item's: one for each run and for the answer's number within that run."""
    cell = (rated.item * len(rated.conditions) + rated.condition) * (int(run.max()) + 1) + run
    order = np.lexsort((draw, cell))
    _, start, size = np.unique(cell[order], return_index=True, return_counts=True)
    number = np.empty_like(draw)
    number[order] = np.arange(len(cell)) - np.repeat(start, size)
    slots: Indices = np.unique(run * (int(number.max()) + 1) + number, return_inverse=True)[1].astype(np.intp)
    return slots


@once
def severity_pairs(dataset: Dataset, settings: SeveritySettings) -> PairStudy:
    """The evidence on every pair's severities, with slopes and error rates, computed once."""
    from richter.severity import DEFAULT, weigh_pairs

    rows = severity_rows(dataset, False)
    columns = {name: rows.of(name) for name in rows.conditions if not np.isnan(rows.of(name)).all()}
    return weigh_pairs(
        columns, groups=rows.groups, weights=rows.weight, control=settings.control, recipe=settings.recipe or DEFAULT,
        max_error_gap=settings.max_error_gap, n_resamples=settings.n_resamples, level=settings.level,
        rng=np.random.default_rng(settings.seed), mapper=settings.mapper, worst=dataset.worst_severity,
    )  # fmt: skip


def estimate_given_error(dataset: Dataset, question: Question, policy: Policy) -> Evidence | Blocked:
    """How severe errors are when they happen, the second condition's minus the first's.

    The mean severity of errors, the share of errors from a level up, the chance that the second's error is the more
    severe one, the difference at every severity, or the slope. Human labels do not correct it: it stays the judge's
    where a judge rated.
    """
    rated = outcomes_of(dataset, "mean_severity")
    by_run = has_runs(rated, *(rated.conditions.index(name) for name in question.conditions))
    rows = severity_rows(dataset, by_run)
    without = [name for name in question.conditions if not (rows.of(name) > 0).any()]
    if without:
        raise InputError(f"{' and '.join(without)} has no error to weigh.", remedy="Rate more answers.")
    found = _by_runs(dataset, question, rows) if by_run else _weighed(dataset, question, policy)
    return found if isinstance(found, Blocked) else _as_rated(dataset, question, rows, found)


def _weighed(dataset: Dataset, question: Question, policy: Policy) -> Evidence | Blocked:
    """The evidence from the study of all pairs."""
    pairs = severity_pairs(dataset, policy.severity).pairs
    pair = next((p for p in pairs if p.names == question.conditions), None)
    if pair is None or (question.measure not in pair.evidence and question.measure != "b"):
        noun = metric_of(dataset, question.measure).noun
        raise InputError(f"{noun} needs severities from 0 to 4.", remedy="Use --as-severity RIGHT:WORST.")
    return pair.of(question.measure)


def _by_runs(dataset: Dataset, question: Question, rows: SeverityRows) -> Evidence:
    """The evidence with runs crossed with items."""
    from richter.severity import severity_given_error

    first, second = (rows.of(name) for name in question.conditions)
    return severity_given_error(
        first, second, at=metric_of(dataset, question.measure).at, groups=rows.groups, runs=rows.run,
        weights=rows.weight, worst=dataset.worst_severity,
    )  # fmt: skip


def _as_rated(dataset: Dataset, question: Question, rows: SeverityRows, found: Evidence) -> Evidence:
    """The evidence with items counted once, and who rated."""
    sample = sample_of(dataset, "mean_severity")
    places = [sample.place(name) for name in question.conditions]
    known = ~np.isnan(sample.mean[:, places])  # its rows may be draws
    n, sides = int(np.sum(known.all(axis=1))), ()
    if 2 * n <= known.sum(axis=0).min():  # all of each count, as in `align_pair`
        sides = tuple(known.sum(axis=0).tolist())
        n = sum(sides)
    unit = rows.unit if found.unit == "group" else found.unit
    why = "" if sample.outcomes.label is None else "human labels do not correct this measure"
    return dataclasses.replace(found, n=n, sides=sides, unit=unit, judged=as_judged(sample.outcomes.judges, why))
