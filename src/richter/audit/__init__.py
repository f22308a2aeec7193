"""Stages and loops: what asks models, what combines rooms, and the plans that are fixed before."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from richter.audit._active import NextLabels, label_pool, next_labels
    from richter.audit._agreement import AgreementReport, LoneRater, measure_agreement
    from richter.audit._ask import AskProgress, Estimate, ask_run, estimate_run, name_conditions
    from richter.audit._calibration import (
        CalibrationReport,
        DrawsCondition,
        GradesCondition,
        measure_calibration,
        measure_phase,
        read_draws,
    )
    from richter.audit._calibration_map import Applied, apply_map, best_map
    from richter.audit._calibration_pipeline import PipelineReport, measure_pipeline
    from richter.audit._calibration_questions import question_table
    from richter.audit._compare import CompareReport, compare_tables
    from richter.audit._demo import DemoSize, demo_settings, prepare_demo
    from richter.audit._draw import DRAWS_NAME, DrawsResult, draw_run, tabulate_draws
    from richter.audit._floors import FloorsReport, measure_grades
    from richter.audit._gate import GateReport, open_gate_data, run_gate
    from richter.audit._grading import GradingResult, grade_run
    from richter.audit._judging import JudgingEstimate, JudgingResult, estimate_judging, judge_run
    from richter.audit._labelling import Labelling, LabelState, labelling_of
    from richter.audit._measure import SECTIONS, RunResults, measure_run, results_schema
    from richter.audit._measure_calibration import report_section
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
    from richter.audit._rating import (
        ImportedRatings,
        import_ratings,
        open_rating,
        serve_rating,
        shared_sample,
        write_sheet,
    )
    from richter.audit._run import Run, open_run
    from richter.audit._sequential import Outcome, SequentialAudit, ask_until
    from richter.audit._severity import SeverityReport, weigh_scores
    from richter.audit._stages import (
        AuditSettings,
        StagesResult,
        adopt_plan,
        draw_conditions,
        run_stages,
    )
    from richter.audit._stages_cost import StageEstimate, estimate_stages
    from richter.audit._tail import TailReport, study_column
    from richter.audit._verify import Verification, verify_archive, verify_results

# What each file holds. A file is loaded when one of its names is first used: asking a model need not wait for all the
# statistics to load.
_FILES = {
    "_active": (
        "NextLabels",
        "label_pool",
        "next_labels",
    ),
    "_agreement": (
        "AgreementReport",
        "LoneRater",
        "measure_agreement",
    ),
    "_ask": (
        "AskProgress",
        "Estimate",
        "ask_run",
        "estimate_run",
        "name_conditions",
    ),
    "_calibration": (
        "CalibrationReport",
        "DrawsCondition",
        "GradesCondition",
        "measure_calibration",
        "measure_phase",
        "read_draws",
    ),
    "_calibration_map": ("Applied", "apply_map", "best_map"),
    "_calibration_pipeline": ("PipelineReport", "measure_pipeline"),
    "_calibration_questions": ("question_table",),
    "_measure_calibration": ("report_section",),
    "_compare": (
        "CompareReport",
        "compare_tables",
    ),
    "_demo": (
        "DemoSize",
        "demo_settings",
        "prepare_demo",
    ),
    "_draw": (
        "DRAWS_NAME",
        "DrawsResult",
        "draw_run",
        "tabulate_draws",
    ),
    "_floors": (
        "FloorsReport",
        "measure_grades",
    ),
    "_gate": (
        "GateReport",
        "open_gate_data",
        "run_gate",
    ),
    "_grading": (
        "GradingResult",
        "grade_run",
    ),
    "_labelling": (
        "LabelState",
        "Labelling",
        "labelling_of",
    ),
    "_judging": (
        "JudgingEstimate",
        "JudgingResult",
        "estimate_judging",
        "judge_run",
    ),
    "_measure": (
        "SECTIONS",
        "RunResults",
        "measure_run",
        "results_schema",
    ),
    "_plan": (
        "Plan",
        "PlanField",
        "PlanStatus",
        "check_plan",
        "lock_plan",
        "new_plan",
        "open_data",
        "parse_value",
        "read_plan",
    ),
    "_rating": (
        "ImportedRatings",
        "import_ratings",
        "open_rating",
        "serve_rating",
        "shared_sample",
        "write_sheet",
    ),
    "_run": (
        "Run",
        "open_run",
    ),
    "_sequential": (
        "Outcome",
        "SequentialAudit",
        "ask_until",
    ),
    "_severity": (
        "SeverityReport",
        "weigh_scores",
    ),
    "_stages": (
        "AuditSettings",
        "StagesResult",
        "adopt_plan",
        "draw_conditions",
        "run_stages",
    ),
    "_stages_cost": (
        "StageEstimate",
        "estimate_stages",
    ),
    "_tail": (
        "TailReport",
        "study_column",
    ),
    "_verify": (
        "Verification",
        "verify_archive",
        "verify_results",
    ),
}

__all__ = [
    "DRAWS_NAME",
    "SECTIONS",
    "AgreementReport",
    "Applied",
    "AskProgress",
    "AuditSettings",
    "CalibrationReport",
    "CompareReport",
    "DemoSize",
    "DrawsCondition",
    "DrawsResult",
    "Estimate",
    "FloorsReport",
    "GateReport",
    "GradesCondition",
    "GradingResult",
    "ImportedRatings",
    "JudgingEstimate",
    "JudgingResult",
    "LabelState",
    "Labelling",
    "LoneRater",
    "NextLabels",
    "Outcome",
    "PipelineReport",
    "Plan",
    "PlanField",
    "PlanStatus",
    "Run",
    "RunResults",
    "SequentialAudit",
    "SeverityReport",
    "StageEstimate",
    "StagesResult",
    "TailReport",
    "Verification",
    "adopt_plan",
    "apply_map",
    "ask_run",
    "ask_until",
    "best_map",
    "check_plan",
    "compare_tables",
    "demo_settings",
    "draw_conditions",
    "draw_run",
    "estimate_judging",
    "estimate_run",
    "estimate_stages",
    "grade_run",
    "import_ratings",
    "judge_run",
    "label_pool",
    "labelling_of",
    "lock_plan",
    "measure_agreement",
    "measure_calibration",
    "measure_grades",
    "measure_phase",
    "measure_pipeline",
    "measure_run",
    "name_conditions",
    "new_plan",
    "next_labels",
    "open_data",
    "open_gate_data",
    "open_rating",
    "open_run",
    "parse_value",
    "prepare_demo",
    "question_table",
    "read_draws",
    "read_plan",
    "report_section",
    "results_schema",
    "run_gate",
    "run_stages",
    "serve_rating",
    "shared_sample",
    "study_column",
    "tabulate_draws",
    "verify_archive",
    "verify_results",
    "weigh_scores",
    "write_sheet",
]


def __getattr__(name: str) -> Any:
    for file, names in _FILES.items():
        if name in names:
            return getattr(import_module(f"richter.audit.{file}"), name)
    raise AttributeError(f"module 'richter.audit' has no attribute {name!r}")
