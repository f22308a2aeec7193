"""What is said of agents' runs: how often rules found a fault, where, and what a step did."""

from collections.abc import Mapping
from typing import Protocol

from richter.records import counted

__all__ = ["describe_example", "describe_faults", "describe_step"]


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
