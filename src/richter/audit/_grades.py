"""Grades from files and runs as matrices of items x conditions."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from richter.errors import InputError
from richter.interop import (
    RatingKind,
    Source,
    check_table,
    is_frame,
    is_log,
    named_source,
    problems,
    read_frame,
    read_logs,
    run_grades,
    run_ratings,
    source_name,
    spread_draws,
)
from richter.records import printable
from richter.store import DatabaseRun, Place, is_run, open_ledger

__all__ = ["GradeMatrix", "RatingKind", "grade_matrix", "read_grades"]

Floats = NDArray[np.float64]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class GradeMatrix:
    """Items x conditions. NaN where there is no grade, confidence or severity; None where no column had any."""

    items: tuple[str, ...]
    names: tuple[str, ...]
    correct: Floats
    failed: NDArray[np.bool_]
    confidence: Floats | None = None
    severity: Floats | None = None
    groups: NDArray[np.intp] | None = None
    subjects: NDArray[np.str_] | None = None
    answers: NDArray[np.object_] | None = None
    references: NDArray[np.object_] | None = None
    notes: tuple[str, ...] = ()

    def select(self, names: Sequence[str]) -> "GradeMatrix":
        """Only these conditions, in this order."""
        unknown = [n for n in names if n not in self.names]
        if unknown:
            raise InputError(
                f"No condition is named {', '.join(printable(n) for n in unknown)}.",
                remedy=f"There are {', '.join(printable(n) for n in self.names)}.",
            )
        if len(set(names)) < len(names):
            raise InputError("A condition is named twice.", remedy="Name different conditions.")
        columns = [self.names.index(n) for n in names]
        picked: dict[str, Any] = {
            name: None if (value := getattr(self, name)) is None else value[:, columns]
            for name in ("correct", "failed", "confidence", "severity", "answers", "references")
        }
        return dataclasses.replace(self, names=tuple(names), **picked)


def read_grades(sources: Sequence[Source], *, ratings: RatingKind | None = None) -> GradeMatrix:
    """Grades from a table (file or frame), a run folder, several `NAME=PATH` of one condition each, or others' logs.

    A `grades` table is taken as it is; a `scores` table (a severity and no grade) counts severity 0 as correct. A
    run's severities are the mean over the raters of one kind, `ratings`, which must be named where there are several.
    Several draws of an item count as items grouped by it.
    """
    if len(sources) == 1 and is_frame(sources[0]):
        return grade_matrix(_grades_table(sources[0]))
    paths = [s if isinstance(s, DatabaseRun) else str(s) for s in sources]
    parts = [named_source(s) for s in paths]
    if all(_is_logs(path) for _, path in parts):
        return _from_logs([str(path) for path in paths])
    if len(parts) == 1:
        name, path = parts[0]
        frame = _read_one(path, ratings)
        return grade_matrix(frame if name is None else _renamed(frame, name, path))
    if any(name is None for name, _ in parts):
        raise InputError(
            "Several files are given without names.", remedy="Name them: richter compare old=a.csv new=b.csv"
        )
    if len({name for name, _ in parts}) < len(parts):
        raise InputError("Two files have the same name.", remedy="Name them differently.")
    frames = [_renamed(_read_one(path, ratings), str(name), path) for name, path in parts]
    return grade_matrix(pl.concat(frames, how="diagonal_relaxed"))


def _is_logs(path: Place) -> bool:
    """A log of another tool, or a folder that holds no ledger and so must hold logs."""
    return isinstance(path, Path) and (is_log(path) or (path.is_dir() and not is_run(path)))


def _from_logs(sources: Sequence[str | Path]) -> GradeMatrix:
    logs = read_logs(sources)
    notes = [f"{count} x {printable(reason)}: not read" for reason, count in logs.unread.most_common()]
    matrix = grade_matrix(spread_draws(logs.grades()))
    return dataclasses.replace(matrix, notes=(*matrix.notes, *notes, *problems(logs)))


def _renamed(frame: pl.DataFrame, name: str, path: Place) -> pl.DataFrame:
    found = frame["condition"].unique(maintain_order=True).to_list()
    if len(found) > 1:
        raise InputError(
            f"{path} holds {len(found)} conditions ({', '.join(printable(str(f)) for f in found[:4])}), "
            f"so it cannot be called {printable(name)}.",
            remedy="Give a file of one condition, or compare inside the file: richter compare FILE A B",
        )
    return frame.with_columns(pl.lit(name).alias("condition"))


def _read_one(path: Place, ratings: RatingKind | None) -> pl.DataFrame:
    if not isinstance(path, Path) or path.is_dir():
        return _read_run(path, ratings)
    if is_log(path):
        return spread_draws(read_logs([path]).grades())
    return _grades_table(path)


def _grades_table(source: Source) -> pl.DataFrame:
    given = read_frame(source)
    kind = "scores" if "correct" not in given.columns and "severity" in given.columns else "grades"
    frame = check_table(given, kind, source_name(source))
    if "severity" in frame.columns and kind == "grades":
        frame = frame.with_columns(pl.col("severity").cast(pl.Float64, strict=False).fill_nan(None))
    if kind == "scores":
        frame = frame.with_columns((pl.col("severity") == 0).cast(pl.Float64).alias("correct"))
    return frame


def _read_run(path: Place, ratings: RatingKind | None) -> pl.DataFrame:
    imported = run_grades(path)
    if imported is not None:
        return spread_draws(_with_severity(imported, path, ratings))
    rated = run_ratings(path, ratings=ratings).filter(pl.col("draw") == 0, pl.col("severity").is_not_null())
    with open_ledger(path) as ledger:
        failed = [a for a in ledger.answers() if a.error and a.draw == 0]
        subjects = {item.id: item.domain for item in ledger.items()}
    frame = rated.select("item", "condition", "severity", pl.col("domain").alias("subject"), pl.lit("").alias("error"))
    lost = [
        {
            "item": a.item,
            "condition": a.condition,
            "severity": None,
            "subject": subjects.get(a.item, ""),
            "error": a.error,
        }
        for a in failed
    ]
    if lost:
        frame = pl.concat([frame, pl.DataFrame(lost, schema=frame.schema)])
    return frame.with_columns((pl.col("severity") == 0).cast(pl.Float64).alias("correct"))


def _with_severity(frame: pl.DataFrame, path: Place, ratings: RatingKind | None) -> pl.DataFrame:
    """An imported run's grades beside its severities, where it has any; an answer without a grade is graded by them."""
    with open_ledger(path) as ledger:
        rated = bool(ledger.ratings())
    if not rated:
        if ratings is not None:
            raise InputError(f"{path} holds no {ratings} ratings.", remedy="Leave out --ratings: it holds grades.")
        return frame
    keys = ["item", "condition", "draw"]
    severities = run_ratings(path, ratings=ratings).select(*keys, "severity")
    by_rating = (pl.col("severity") == 0).cast(pl.Float64)
    return frame.join(severities, on=keys, how="left", maintain_order="left").with_columns(
        pl.coalesce("correct", by_rating).alias("correct")
    )


def grade_matrix(frame: pl.DataFrame) -> GradeMatrix:
    """A checked grades table as matrices. A row marked as a failed call has no grade, whatever its `correct` says."""
    items = frame["item"].unique(maintain_order=True)
    names = frame["condition"].unique(maintain_order=True)
    rows = frame["item"].replace_strict(items, pl.Series(range(len(items)))).to_numpy()
    columns = frame["condition"].replace_strict(names, pl.Series(range(len(names)))).to_numpy()
    shape = (len(items), len(names))

    def numbers(column: str) -> Floats | None:
        if column not in frame.columns or frame[column].null_count() == len(frame):
            return None
        out = np.full(shape, np.nan)
        out[rows, columns] = frame[column].cast(pl.Float64).fill_null(float("nan")).to_numpy()
        return out

    def texts(column: str) -> NDArray[np.object_] | None:
        if column not in frame.columns:
            return None
        out = np.full(shape, None, dtype=object)
        out[rows, columns] = frame[column].cast(pl.String).to_numpy()
        return out

    correct = numbers("correct")
    if correct is None:
        correct = np.full(shape, np.nan)
    failed = np.zeros(shape, dtype=bool)
    notes = []
    if "error" in frame.columns:
        text = frame["error"].cast(pl.String).str.strip_chars()
        bad = (text.is_not_null() & (text != "")).to_numpy()
        failed[rows[bad], columns[bad]] = True
        overruled = int(np.sum(failed & ~np.isnan(correct)))
        if overruled:
            notes.append(f"{overruled} rows marked as failed calls carried a grade; it is not used")
        correct[failed] = np.nan
    confidence = numbers("confidence")
    if confidence is not None and ((confidence < 0) | (confidence > 1)).any():
        worst = float(confidence[(confidence < 0) | (confidence > 1)][0])
        raise InputError(f"A confidence of {worst:g} is outside [0, 1].", remedy="Divide percentages by 100.")
    first = frame.unique("item", keep="first", maintain_order=True)
    groups = None
    if "group" in frame.columns and frame["group"].null_count() < len(frame):
        alone = int(first["group"].null_count())
        if alone:
            notes.append(f"{alone} items name no group; each is taken as a group of its own")
        # an item's own name, marked, keeps the unnamed apart from every named group
        named = first.select(
            pl.when(pl.col("group").is_null())
            .then(pl.concat_str(pl.lit("item\x00"), "item"))
            .otherwise(pl.concat_str(pl.lit("group\x00"), "group"))
        ).to_series()
        groups = np.unique(named.to_numpy().astype(str), return_inverse=True)[1].astype(np.intp)
    subject = next((c for c in ("subject", "domain") if c in frame.columns), None)
    return GradeMatrix(
        items=tuple(items.to_list()),
        names=tuple(names.to_list()),
        correct=correct,
        failed=failed,
        confidence=confidence,
        severity=numbers("severity"),
        groups=groups,
        subjects=None if subject is None else first[subject].cast(pl.String).fill_null("").to_numpy().astype(str),
        answers=texts("answer"),
        references=texts("reference"),
        notes=tuple(notes),
    )
