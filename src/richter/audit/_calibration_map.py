"""Recalibration to use elsewhere: the map a report advises, and a map applied to a table."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import polars as pl

from richter.audit._calibration import CalibrationReport
from richter.calibration import CalibrationMap, as_probability, calibration_map
from richter.errors import InputError
from richter.interop import read_frame
from richter.records import printable

__all__ = ["Applied", "apply_map", "best_map"]

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
            "No recalibration could be fitted.", remedy="It needs 40 graded items, 5 right and 5 wrong in each half."
        )
    best = advice.best or max(advice.methods, key=lambda m: m.brier_improvement)
    return dataclasses.replace(best.map, condition=condition.name)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """A table with recalibrated confidences, how many there were, and their mean before and after."""

    table: pl.DataFrame
    changed: int
    method: str
    fitted_on: int
    before: float
    after: float


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
    given, _ = as_probability(frame[column].cast(pl.Float64).fill_null(float("nan")).to_numpy())
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
    )
