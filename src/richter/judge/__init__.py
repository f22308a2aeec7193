"""Severity: the rubric, judging by rules, by judge models and by people, and what the ratings are worth."""

from richter.judge._reliability import (
    Agreement,
    Correction,
    JudgeReport,
    Tabulated,
    Undefined,
    agreement,
    corrections,
    judge_report,
    tabulate,
)
from richter.judge._rubric import GRID, Rubric, check_mechanism, check_severity, rubric, snap

__all__ = [
    "GRID",
    "Agreement",
    "Correction",
    "JudgeReport",
    "Rubric",
    "Tabulated",
    "Undefined",
    "agreement",
    "check_mechanism",
    "check_severity",
    "corrections",
    "judge_report",
    "rubric",
    "snap",
    "tabulate",
]
