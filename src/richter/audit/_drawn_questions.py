"""One row for each question that was drawn repeatedly: margins, regime, both confidences and their gap."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Literal

import numpy as np
import polars as pl

from richter.audit._calibration_results import CalibrationReport, DrawsCondition
from richter.audit._results import Missing
from richter.errors import InputError
from richter.records import Result

__all__ = ["question_table", "report_section"]


def question_table(report: CalibrationReport) -> pl.DataFrame:
    """Every question of every condition with draws, the hardest (largest Sem1 - Sem2 gap) first within a condition.

    `regime` is `large`, `low` or `jensen` (the part of low margin where Sem2 is nearer to the oracle). Confidences and
    grade are null where nothing is graded.
    """
    frames = [_questions(c) for c in report.conditions if isinstance(c, DrawsCondition)]
    if not frames:
        raise InputError("A grades table has no draws, so there are no margins.", remedy="Give a draws table.")
    gap = (pl.col("sem1") - pl.col("sem2")).alias("gap")
    widest = {"descending": True, "nulls_last": True, "maintain_order": True}
    return pl.concat(frame.with_columns(gap).sort("gap", **widest) for frame in frames)


def _questions(condition: DrawsCondition) -> pl.DataFrame:
    found, sem = condition.margins, condition.sem
    empty = np.full(condition.questions, np.nan)
    regime = np.where(found.is_jensen, "jensen", np.where(found.is_low, "low", "large"))
    return pl.DataFrame(
        {
            "item": list(condition.items),
            "condition": [condition.name] * condition.questions,
            "draws": found.n,
            "classes": found.classes,
            "margin": found.margin,
            "top_two": found.top_two,
            "standardised_margin": found.standardised_margin,
            "regime": regime,
            "sem1": empty if sem is None else sem.confidence_1,
            "sem2": empty if sem is None else sem.confidence_2,
            "predicted_gap": found.predicted_gap_halves,
            "correct": empty if sem is None else sem.correct,
        }
    ).fill_nan(None)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class DrawnQuestion(Result):
    """The margin between a question's two most frequent answers, the share of the first, and whether it is right."""

    condition: str
    item: str
    margin: float
    top_share: float
    regime: Literal["large", "low", "jensen"]
    correct: bool | None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationSection(Result):
    """Both reports as `richter calibration --json` prints them, and a row for each drawn question."""

    draws: CalibrationReport | None = None
    grades: CalibrationReport | None = None
    confidence: Mapping[str, str] = dataclasses.field(default_factory=dict)
    questions: tuple[DrawnQuestion, ...] = ()
    draws_missing: Missing | None = None


def report_section(report: CalibrationReport) -> CalibrationSection:
    """A report by itself as the section that figures are drawn from."""
    if report.kind == "grades":
        return CalibrationSection(grades=report)
    return CalibrationSection(draws=report, questions=drawn_questions(report))


def drawn_questions(report: CalibrationReport) -> tuple[DrawnQuestion, ...]:
    """Every question that was drawn repeatedly, by condition."""
    frames = (_questions(c) for c in report.conditions if isinstance(c, DrawsCondition))
    return tuple(
        DrawnQuestion(
            condition=row["condition"],
            item=row["item"],
            margin=row["margin"],
            top_share=(row["top_two"] + row["margin"]) / 2,
            regime=row["regime"],
            correct=None if row["correct"] is None else bool(row["correct"]),
        )
        for frame in frames
        for row in frame.iter_rows(named=True)
    )
