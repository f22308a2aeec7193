"""The section on calibration: repeated draws, and the confidence that the answers themselves carry."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from richter.audit._calibration import CalibrationReport, DrawsCondition, measure_calibration
from richter.audit._draw import DRAWS_NAME
from richter.audit._measure_run import RunRecords
from richter.stats import Mapper
from richter.store import RunLike, run_file, run_part

__all__ = ["calibration_section", "measure_draws", "measure_run_grades"]


def draws_table(run: RunLike) -> Path | None:
    """RUN/draws/draws.jsonl, or draws.jsonl in the run itself where `richter draw` made it."""
    return run_file(run_part(run, "draws"), DRAWS_NAME) or run_file(run, DRAWS_NAME)


def measure_draws(records: RunRecords, *, level: float, seed: int, mapper: Mapper) -> CalibrationReport | None:
    """`richter calibration` on the run's draws; None where there are none."""
    path = draws_table(records.place)
    if path is None:
        return None
    return measure_calibration(path, rng=np.random.default_rng(seed), level=level, mapper=mapper)


def measure_run_grades(grades: pl.DataFrame, *, level: float, seed: int, mapper: Mapper) -> CalibrationReport | None:
    """`richter calibration` on the run's grades; None where no graded answer carries a confidence."""
    if grades.is_empty() or grades["confidence"].null_count() == len(grades):
        return None
    return measure_calibration(grades, rng=np.random.default_rng(seed), level=level, mapper=mapper)


def calibration_section(
    records: RunRecords, draws: CalibrationReport | None, grades: CalibrationReport | None
) -> dict[str, Any]:
    """Both reports as `richter calibration --json` prints them, and a row for each drawn question."""
    return {
        "draws": None if draws is None else draws.to_dict(),
        "grades": None if grades is None else grades.to_dict(),
        "confidence": {name: records.asked[name].confidence[1] for name in records.names},
        "questions": [row for c in (() if draws is None else draws.conditions) for row in _questions(c)],
    }


def _questions(condition: Any) -> list[dict[str, Any]]:
    """The margin between the two most frequent answers, the share of the first, the regime, and whether it is right."""
    if not isinstance(condition, DrawsCondition):
        return []
    found, sem = condition.regimes, condition.sem
    regime = np.where(found.is_jensen, "jensen", np.where(found.is_low, "low", "large"))
    correct = np.full(condition.questions, np.nan) if sem is None else sem.correct
    top = (found.top_two + found.margin) / 2
    return [
        {
            "condition": condition.name,
            "item": item,
            "margin": float(margin),
            "top_share": float(share),
            "regime": str(kind),
            "correct": None if np.isnan(right) else bool(right),
        }
        for item, margin, share, kind, right in zip(condition.items, found.margin, top, regime, correct, strict=True)
    ]
