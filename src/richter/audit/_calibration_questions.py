"""One row a question: margins, regime, both confidences and their gap, for `richter calibration --questions`."""

import numpy as np
import polars as pl

from richter.audit._calibration import CalibrationReport, DrawsCondition
from richter.errors import InputError

__all__ = ["question_table"]


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
