"""The four tables (scores, grades, draws, ratings) from CSV, TSV, Parquet and JSONL, checked on the way in."""

import dataclasses
from pathlib import Path

import polars as pl

from richter.errors import InputError
from richter.interop._files import read_frame
from richter.interop._frames import Source, source_name

__all__ = ["TABLES", "Table", "check_table", "read_table"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """The columns of a table: those it must have, those it may have, and what makes a row unique."""

    required: tuple[str, ...]
    optional: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()
    unique: tuple[str, ...] = ()


TABLES = {
    "scores": Table(
        required=("item", "condition", "severity"),
        optional=("domain", "tier", "judge_1", "judge_2"),
        numeric=("severity", "judge_1", "judge_2"),
        unique=("item", "condition"),
    ),
    "grades": Table(
        required=("item", "condition", "correct"),
        optional=("confidence", "subject", "group", "error"),
        numeric=("confidence",),
        unique=("item", "condition"),
    ),
    "draws": Table(
        required=("item", "condition", "draw", "answer"),
        optional=("cluster", "correct", "confidence", "reference"),
        numeric=("confidence",),
        unique=("item", "condition", "draw"),
    ),
    "ratings": Table(
        required=("item", "condition", "rater", "kind", "severity"),
        optional=("mechanism",),
        numeric=("severity",),
        unique=("item", "condition", "rater"),
    ),
}


def read_table(source: Source, kind: str) -> pl.DataFrame:
    """Read one of the four tables, from a file or a frame, and check it with `check_table`."""
    return check_table(read_frame(source), kind, source_name(source))


def check_table(frame: pl.DataFrame, kind: str, path: str | Path) -> pl.DataFrame:
    """Check a table's columns, types and keys; `path` is for the messages. Other columns are kept.

    `item`, `condition`, `rater` and `group` become text; numeric columns become Float64 with empty cells as null;
    `correct` becomes 0/1 (true/false, yes/no, 1/0 in any case), null where empty or NaN.
    """
    table = TABLES[kind]
    missing = [c for c in table.required if c not in frame.columns]
    if missing:
        raise InputError(
            f"{path}: a {kind} table needs the column{'s' * (len(missing) > 1)} {', '.join(missing)}; "
            f"it has {', '.join(frame.columns)}.",
            remedy="Rename your columns to these names.",
        )
    if frame.is_empty():
        raise InputError(f"{path} has a header and no rows.", remedy="It needs at least one row.")
    for column in ("item", "condition", "rater", "kind", "group", "subject", "domain", "answer", "reference"):
        if column in frame.columns and frame.schema[column] != pl.String:
            frame = frame.with_columns(pl.col(column).cast(pl.String))
    for column in ("item", "condition"):
        _refuse_rows(
            path, frame, pl.col(column).is_null() | (pl.col(column).str.strip_chars() == ""), f"empty {column}"
        )
    for column in table.numeric:
        if column in frame.columns:
            frame = _to_number(path, frame, column)
    if "correct" in frame.columns:
        frame = _to_grade(path, frame)
    _refuse_rows(path, frame, pl.struct(table.unique).is_duplicated(), f"duplicate ({', '.join(table.unique)})")
    return frame


def _refuse_rows(path: str | Path, frame: pl.DataFrame, bad: pl.Expr, what: str) -> None:
    rows = frame.select(pl.arg_where(bad)).to_series().head(4).to_list()
    if rows:
        count = frame.select(bad.sum()).item()
        places = ", ".join(str(r + 1) for r in rows[:3]) + (", …" if len(rows) > 3 else "")
        raise InputError(
            f"{path}: {what} in {count} row{'s' * (count > 1)} (data row {places}).",
            remedy="Fix or remove these rows.",
        )


def _to_number(path: str | Path, frame: pl.DataFrame, column: str) -> pl.DataFrame:
    if frame.schema[column].is_numeric() or frame.schema[column] == pl.Null:
        return frame.with_columns(pl.col(column).cast(pl.Float64).fill_nan(None))
    text = pl.col(column).cast(pl.String).str.strip_chars()
    text = pl.when(text.str.to_lowercase().is_in(["", "nan", "na", "null", "none"])).then(None).otherwise(text)
    number = text.cast(pl.Float64, strict=False)
    _refuse_rows(path, frame, text.is_not_null() & number.is_null(), f"{column} is not a number")
    return frame.with_columns(number.fill_nan(None).alias(column))


def _to_grade(path: str | Path, frame: pl.DataFrame) -> pl.DataFrame:
    text = pl.col("correct").cast(pl.String).str.strip_chars().str.to_lowercase()
    grade = (
        pl.when(text.is_in(["1", "1.0", "true", "yes", "correct"]))
        .then(pl.lit(1.0))
        .when(text.is_in(["0", "0.0", "false", "no", "wrong", "incorrect"]))
        .then(pl.lit(0.0))
    )
    empty = text.is_null() | text.is_in(["", "nan", "na", "null", "none"])
    _refuse_rows(path, frame, ~empty & grade.is_null(), "correct is neither 0/1 nor true/false")
    return frame.with_columns(grade.alias("correct"))
