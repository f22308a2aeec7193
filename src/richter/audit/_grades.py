"""Grades from files and runs as matrices of items x conditions."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from richter.errors import InputError
from richter.interop import Source, check_table, is_frame, read_frame, source_name
from richter.records import printable
from richter.store import LEDGER_NAME, open_ledger

__all__ = ["GradeMatrix", "RatingKind", "grade_matrix", "read_grades"]

Floats = NDArray[np.float64]
RatingKind = Literal["human", "judge", "rule"]

_KINDS: tuple[RatingKind, ...] = ("human", "judge", "rule")


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
    """Grades from one table (a file or a frame), one run folder, or several `NAME=PATH` tables of one condition each.

    A `grades` table is taken as it is; a `scores` table (a severity and no grade) counts severity 0 as correct. A
    run's severities are the mean over the raters of one kind, `ratings`, which must be named where there are several.
    """
    if len(sources) == 1 and is_frame(sources[0]):
        return grade_matrix(_grades_table(sources[0]))
    parts = [_named(str(s)) for s in sources]
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


def _named(source: str) -> tuple[str | None, str]:
    name, equals, path = source.partition("=")
    if equals and name and not Path(source).exists():
        return name, path
    return None, source


def _renamed(frame: pl.DataFrame, name: str, path: str) -> pl.DataFrame:
    found = frame["condition"].unique(maintain_order=True).to_list()
    if len(found) > 1:
        raise InputError(
            f"{path} holds {len(found)} conditions ({', '.join(printable(str(f)) for f in found[:4])}), "
            f"so it cannot be called {printable(name)}.",
            remedy="Give a file of one condition, or compare inside the file: richter compare FILE A B",
        )
    return frame.with_columns(pl.lit(name).alias("condition"))


def _read_one(path: str, ratings: RatingKind | None) -> pl.DataFrame:
    if (Path(path) / LEDGER_NAME).exists() or Path(path).is_dir():
        return _read_run(path, ratings)
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


def _read_run(path: str, ratings: RatingKind | None) -> pl.DataFrame:
    with open_ledger(path) as ledger:
        rated = [r for r in ledger.ratings() if r.draw == 0]
        failed = [a for a in ledger.answers() if a.error and a.draw == 0]
        groups = {item.id: item.domain for item in ledger.items()}
    present = [k for k in _KINDS if any(r.kind == k for r in rated)]
    if not present:
        raise InputError(f"{path} holds no ratings, so nothing in it is graded.", remedy="Run `richter judge` on it.")
    if ratings is None and len(present) > 1:
        raise InputError(
            f"{path} holds ratings of several kinds ({', '.join(present)}), which never mix.",
            remedy="Choose one with --ratings.",
        )
    kind = ratings or present[0]
    if kind not in present:
        raise InputError(f"{path} holds no {kind} ratings.", remedy=f"It has {', '.join(present)}.")
    rows = [
        {
            "item": r.item,
            "condition": r.condition,
            "severity": r.severity,
            "subject": groups.get(r.item, ""),
            "error": "",
        }
        for r in rated
        if r.kind == kind and r.severity is not None
    ]
    frame = pl.DataFrame(rows, schema={"item": str, "condition": str, "severity": float, "subject": str, "error": str})
    frame = frame.group_by("item", "condition", "subject", "error", maintain_order=True).agg(pl.col("severity").mean())
    lost = [
        {
            "item": a.item,
            "condition": a.condition,
            "subject": groups.get(a.item, ""),
            "error": a.error,
            "severity": None,
        }
        for a in failed
    ]
    if lost:
        frame = pl.concat([frame, pl.DataFrame(lost, schema=frame.schema)])
    return frame.with_columns((pl.col("severity") == 0).cast(pl.Float64).alias("correct"))


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
