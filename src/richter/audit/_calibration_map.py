"""Recalibration to use elsewhere, and one row a question: margins, regime, both confidences and their gap."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl

from richter.audit._calibration_results import CalibrationReport, DrawsCondition
from richter.audit._results import Missing
from richter.calibration import CalibrationMap, as_probability, calibration_map
from richter.errors import InputError
from richter.interop import read_frame
from richter.records import Result, printable

__all__ = ["Applied", "apply_map", "best_map", "question_table", "report_section"]

_LARGEST = 10_000_000  # bytes of a map's file


def best_map(report: CalibrationReport) -> CalibrationMap:
    """The map of a report's one condition: the one advised, else the one with the best held-out Brier score."""
    if len(report.conditions) != 1:
        raise InputError(
            f"There are {len(report.conditions)} conditions, and a map is for one.",
            remedy="Give a table with one condition.",
        )
    (condition,) = report.conditions
    advice = None if condition.study is None else condition.study.recalibration
    if advice is None:
        raise InputError(
            "No recalibration could be fitted.",
            remedy="It needs 40 graded questions, 5 right and 5 wrong in each half.",
        )
    best = advice.best or max(advice.methods, key=lambda m: m.brier_improvement)
    return dataclasses.replace(best.map, condition=condition.name)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """A table with recalibrated confidences: how many, their mean before and after, and how they were read."""

    table: pl.DataFrame
    changed: int
    method: str
    fitted_on: int
    before: float
    after: float
    note: str = ""


def apply_map(map_path: str | Path, table: str | Path | pl.DataFrame, *, column: str = "confidence") -> Applied:
    """Recalibrate a column by a map's file; the column as it was is kept as `<column>_before`."""
    path = Path(map_path)
    try:
        if path.stat().st_size > _LARGEST:
            raise InputError(f"{path} is too large to be a calibration map.", remedy="Give the file of --save-map.")
        row = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as e:
        raise InputError(f"{path} cannot be read as JSON.", remedy="Give the file that --save-map wrote.") from e
    mapping = calibration_map(row)
    frame = read_frame(table)
    if column not in frame.columns or not frame[column].dtype.is_numeric():
        raise InputError(
            f"The table has no numeric column {printable(column)}.", remedy=f"It has {', '.join(frame.columns)}."
        )
    given, note = as_probability(frame[column].cast(pl.Float64).fill_null(float("nan")).to_numpy())
    known = ~np.isnan(given)
    if not known.any():
        raise InputError(f"Column {printable(column)} is empty.", remedy="Give a table with confidences.")
    new = mapping.apply(given)
    out = frame.with_columns(
        pl.Series(f"{column}_before", frame[column]), pl.Series(column, new).fill_nan(None).alias(column)
    )
    return Applied(
        table=out,
        changed=int(np.sum(known)),
        method=mapping.method,
        fitted_on=mapping.fitted_on,
        before=float(np.mean(given[known])),
        after=float(np.mean(new[known])),
        note=note or "",
    )


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
