"""The figures of one run that claims are made on."""

import dataclasses
from collections.abc import Collection, Sequence

from richter.trajectories._fault_rules import RULES, Fault, is_failed
from richter.trajectories._steps import Trajectory

__all__ = ["RunFigures", "figures_of"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RunFigures:
    """The figures of one run.

    `first_fault` is the share of steps before the first fault, 1 without one, so that every run has a value.
    `worst_step` is the severity of the worst fault by the rules. `irreversible` counts calls of tools that the user
    declared so; None where none is declared. `first_decisive` is as `first_fault`, by raters; None of a run that none
    rated.
    """

    steps: int
    failed_calls: int
    first_fault: float
    worst_step: float
    irreversible: int | None
    first_decisive: float | None = None


def figures_of(run: Trajectory, faults: Sequence[Fault], irreversible: Collection[str] = ()) -> RunFigures:
    """The figures of a run with these faults. A failed call of an irreversible tool did nothing, and is not counted."""
    first = min((fault.step for fault in faults), default=None)
    done = sum(step.tool in irreversible and not is_failed(step) for step in run.steps if step.role == "tool")
    return RunFigures(
        steps=sum(step.is_act for step in run.steps),
        failed_calls=sum(map(is_failed, run.steps)),
        first_fault=1.0 if first is None else first / max(len(run.steps), 1),
        worst_step=float(max((RULES[fault.rule].severity for fault in faults), default=0)),
        irreversible=done if irreversible else None,
    )
