"""One row a question: margins, regime, both confidences and their gap, for `richter calibration --questions`."""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Literal

import numpy as np
import polars as pl

from richter.audit._calibration import CalibrationReport, DrawsCondition, draws_table, measure_calibration
from richter.audit._measure_run import RunRecords
from richter.audit._results import Missing
from richter.errors import InputError
from richter.records import Result
from richter.stats import Mapper

__all__ = ["question_table", "report_section"]


def question_table(report: CalibrationReport) -> pl.DataFrame:
    """Every question of every condition with draws, the hardest (largest Sem1 - Sem2 gap) first within a condition.

    `regime` is `large`, `low` or `jensen` (the part of low margin where Sem2 is nearer to the oracle). Confidences and
    grade are null where nothing is graded.
    """
    frames = [_one(c) for c in report.conditions if isinstance(c, DrawsCondition)]
    if not frames:
        raise InputError("A grades table has no draws, so there are no margins.", remedy="Give a draws table.")
    return pl.concat(frames)


def _one(condition: DrawsCondition) -> pl.DataFrame:
    found, sem = condition.margins, condition.sem
    empty = np.full(condition.questions, np.nan)
    regime = np.where(found.is_jensen, "jensen", np.where(found.is_low, "low", "large"))
    frame = pl.DataFrame(
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
    gap = (pl.col("sem1") - pl.col("sem2")).alias("gap")
    return frame.with_columns(gap).sort("gap", descending=True, nulls_last=True, maintain_order=True)


def measure_draws(records: RunRecords, *, level: float, seed: int, mapper: Mapper) -> CalibrationReport | None:
    """`richter calibration` on the run's draws; None where there are none."""
    path = None if records.place is None else draws_table(records.place)
    if path is None and int(records.rows["draw"].to_numpy().max()) == 0:
        return None
    return measure_calibration(path or records.tables, rng=np.random.default_rng(seed), level=level, mapper=mapper)


def measure_run_grades(records: RunRecords, *, level: float, seed: int, mapper: Mapper) -> CalibrationReport | None:
    """`richter calibration` on first answers; None where no graded one carries a confidence."""
    first = records.tables.first_draws()
    if first.rows.filter(pl.col("confidence").is_not_null() & pl.col("correct").is_not_null()).is_empty():
        return None
    return measure_calibration(first, rng=np.random.default_rng(seed), level=level, mapper=mapper)


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
    return tuple(row for c in report.conditions if isinstance(c, DrawsCondition) for row in _questions(c))


def _questions(condition: DrawsCondition) -> Iterator[DrawnQuestion]:
    found, sem = condition.margins, condition.sem
    regime = np.where(found.is_jensen, "jensen", np.where(found.is_low, "low", "large"))
    correct = np.full(condition.questions, np.nan) if sem is None else sem.correct
    top = (found.top_two + found.margin) / 2
    for item, margin, share, kind, right in zip(condition.items, found.margin, top, regime, correct, strict=True):
        yield DrawnQuestion(
            condition=condition.name,
            item=item,
            margin=float(margin),
            top_share=float(share),
            regime=kind,
            correct=None if np.isnan(right) else bool(right),
        )
