"""Stages and loops: what asks models, and the plans that are fixed before."""

from richter.audit._plan import (
    Plan,
    PlanField,
    PlanStatus,
    check_plan,
    lock_plan,
    new_plan,
    open_data,
    parse_value,
    read_plan,
)

__all__ = [
    "Plan",
    "PlanField",
    "PlanStatus",
    "check_plan",
    "lock_plan",
    "new_plan",
    "open_data",
    "parse_value",
    "read_plan",
]
