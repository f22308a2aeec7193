"""Stages and loops: what asks models, what combines rooms, and the plans that are fixed before."""

from richter.audit._calibration import (
    CalibrationReport,
    DrawsCondition,
    GradesCondition,
    measure_calibration,
)
from richter.audit._compare import CATASTROPHIC, CompareReport, compare_grades
from richter.audit._floors import FloorsReport, measure_grades
from richter.audit._grades import GradeMatrix, RatingKind, grade_matrix, read_grades
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
from richter.audit._sequential import Outcome, SequentialAudit, ask_until

__all__ = [
    "CATASTROPHIC",
    "CalibrationReport",
    "CompareReport",
    "DrawsCondition",
    "FloorsReport",
    "GradeMatrix",
    "GradesCondition",
    "Outcome",
    "Plan",
    "PlanField",
    "PlanStatus",
    "RatingKind",
    "SequentialAudit",
    "ask_until",
    "check_plan",
    "compare_grades",
    "grade_matrix",
    "lock_plan",
    "measure_calibration",
    "measure_grades",
    "new_plan",
    "open_data",
    "parse_value",
    "read_grades",
    "read_plan",
]
