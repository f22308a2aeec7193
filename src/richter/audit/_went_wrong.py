"""Where agents went wrong: how often each rule finds a fault in the runs of each condition, with an example."""

import dataclasses
from collections.abc import Mapping

import polars as pl

from richter.records import Result
from richter.tables import KEY, Dataset


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class FaultExample(Result):
    """Where a rule found a fault: the task, the run of it from 1, and the step from 1."""

    condition: str
    item: str
    run: int
    step: int


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class FaultCount(Result):
    """How often a rule found a fault: the runs of each condition that have it, all faults, and one example."""

    rule: str
    severity: int
    meaning: str
    runs: Mapping[str, int]
    faults: Mapping[str, int]
    example: FaultExample


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class WentWrong(Result):
    """The runs of each condition, and what the rules found in them, the most severe first.

    The counts describe these runs, and no test is made on them. Claims are made on the measures of runs.
    """

    runs: Mapping[str, int]
    rules: tuple[FaultCount, ...]


def count_faults(dataset: Dataset) -> WentWrong:
    """What rules find in the steps of a dataset that has some."""
    assert dataset.steps is not None
    assert dataset.faults is not None
    from richter.trajectories import RULES  # only where there are steps

    counts = dict(dataset.steps.select(KEY).unique().group_by("condition").len().iter_rows())
    runs = {name: int(counts.get(name, 0)) for name in dataset.conditions}
    found = {str(rule): own for (rule,), own in dataset.faults.group_by("rule", maintain_order=True)}
    rows = [
        _count(name, RULES[name].severity, RULES[name].meaning, found[name], runs) for name in RULES if name in found
    ]
    return WentWrong(runs=runs, rules=tuple(sorted(rows, key=lambda row: -row.severity)))


def _count(rule: str, severity: int, meaning: str, faults: pl.DataFrame, runs: Mapping[str, int]) -> FaultCount:
    """The counts of one rule; its example is of the condition that has it in the larger share of runs."""
    every = dict(faults.group_by("condition").len().iter_rows())
    marked = dict(faults.select(KEY).unique().group_by("condition").len().iter_rows())
    affected = {name: int(marked.get(name, 0)) for name in runs}
    worst = max(affected, key=lambda name: affected[name] / max(runs[name], 1))
    item, draw, place = faults.filter(pl.col("condition") == worst).select("item", "draw", "place").row(0)
    return FaultCount(
        rule=rule,
        severity=severity,
        meaning=meaning,
        runs=affected,
        faults={name: int(every.get(name, 0)) for name in runs},
        example=FaultExample(condition=worst, item=item, run=draw + 1, step=place),
    )
