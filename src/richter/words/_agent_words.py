"""What is said of agents' runs: how often rules found a fault, where, and what a step did."""

from collections.abc import Mapping
from typing import Protocol

from richter.records import Interval, counted, printable
from richter.words._study_words import describe_ci

__all__ = ["describe_example", "describe_faults", "describe_step", "describe_step_agreement"]


class Example(Protocol):
    """Where a fault is."""

    @property
    def condition(self) -> str: ...
    @property
    def item(self) -> str: ...
    @property
    def run(self) -> int: ...
    @property
    def step(self) -> int: ...


def describe_faults(runs: Mapping[str, int], n_rules: int) -> str:
    """What a table of faults counts, or that there is none to show."""
    total = counted(sum(runs.values()), "run")
    if not n_rules:
        return f"The rules found no fault in {total}."
    each = ", ".join(f"{name} {n:,}" for name, n in runs.items())
    return f"Runs with a fault, by rule, of {total} ({each})."


def describe_example(example: Example) -> str:
    """The place of a fault."""
    return f"{example.item}, run {example.run} of {example.condition}, step {example.step}"


def describe_step(role: str, tool: str, *, error: str) -> str:
    """What a step is: a call of a tool, which may have failed, or a message."""
    if not tool:
        return {"assistant": "The agent writes", "user": "The user writes"}.get(role, role)
    return f"Calls {tool}, which fails" if error else f"Calls {tool}"


class StepPair(Protocol):
    """How far two raters agree on the steps of runs."""

    @property
    def raters(self) -> tuple[str, str]: ...
    @property
    def runs(self) -> int: ...
    @property
    def steps(self) -> int: ...
    @property
    def kappa(self) -> float | None: ...
    @property
    def interval(self) -> Interval | None: ...
    @property
    def same_first(self) -> int: ...


def describe_step_agreement(pair: StepPair) -> str:
    """Two raters' agreement on steps, in a sentence each on severity and on the first decisive error."""
    who = " and ".join(printable(name, limit=40) for name in pair.raters)
    where = f"{counted(pair.steps, 'step')} of {counted(pair.runs, 'run')}"
    if pair.kappa is None or pair.interval is None:
        return f"{who} give every one of {where} the same severity, so that kappa is not known."
    return (
        f"{who}: weighted kappa {pair.kappa:.2f} {describe_ci(pair.interval)} on {where}. They name the same first "
        f"decisive step in {pair.same_first:,} of {counted(pair.runs, 'run')}."
    )
