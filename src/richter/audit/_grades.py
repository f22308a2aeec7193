"""The answers of any source as matrices of items x conditions."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from richter.errors import InputError
from richter.records import printable
from richter.tables import Tables

__all__ = ["GradeMatrix", "grade_matrix"]

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


def grade_matrix(tables: Tables) -> GradeMatrix:
    """Right and wrong, confidence and severity as matrices. Draws are items of their own, grouped by their item: all
    count, and none as independent of the others."""
    if tables.metric == "mean_score":
        low, high = tables.scores.select("low", "high").row(0)
        raise InputError(
            f"{tables.name} holds a score from {low:g} to {high:g}, not right and wrong.",
            remedy=f"Say which of them are errors: --as-severity {high:g}:{low:g} (right, worst)"
            + (" or --pass-at 0.5." if (low, high) == (0, 1) else "."),
        )
    frame = tables.rows
    if int(frame["draw"].to_numpy().max()) > 0:
        later = pl.format("{} (draw {})", "item", pl.col("draw") + 1)
        frame = frame.with_columns(
            pl.coalesce("group", "item").alias("group"),
            pl.when(pl.col("draw") > 0).then(later).otherwise("item").alias("item"),
        )
    items, names = frame["item"].unique().sort(), pl.Series(tables.conditions)
    rows = frame["item"].cast(pl.Enum(items)).to_physical().to_numpy()
    columns = frame["condition"].cast(pl.Enum(names)).to_physical().to_numpy()
    shape = (len(items), len(names))

    def numbers(column: str) -> Floats | None:
        if frame[column].null_count() == len(frame):
            return None
        out = np.full(shape, np.nan)
        out[rows, columns] = frame[column].fill_null(float("nan")).to_numpy()
        return out

    def texts(values: pl.Series) -> NDArray[np.object_] | None:
        if values.null_count() == len(values):
            return None
        out = np.full(shape, None, dtype=object)
        out[rows, columns] = values.to_numpy()
        return out

    failed = np.zeros(shape, dtype=bool)
    bad = (frame["error"].fill_null("") != "").to_numpy()
    failed[rows[bad], columns[bad]] = True
    correct = numbers("correct")
    first = frame.unique("item", keep="first", maintain_order=True).sort("item")
    groups = None
    if first["group"].null_count() < len(first):
        named = first.select(
            pl.when(pl.col("group").is_null())
            .then(pl.concat_str(pl.lit("item\0"), "item"))
            .otherwise(pl.concat_str(pl.lit("group\0"), "group"))
        ).to_series()
        groups = (named.rank("dense") - 1).to_numpy().astype(np.intp)
    subject = first["domain"]
    references = {name: "|".join((item.reference, *item.aliases)) for name, item in tables.items.items()}
    return GradeMatrix(
        items=tuple(items.to_list()),
        names=tables.conditions,
        correct=np.full(shape, np.nan) if correct is None else correct,
        failed=failed,
        confidence=numbers("confidence"),
        severity=numbers("severity"),
        groups=groups,
        subjects=None if subject.null_count() == len(subject) else subject.fill_null("").to_numpy().astype(str),
        answers=texts(frame["text"]),
        references=texts(pl.Series([references.get(name) for name in tables.answers["item"]])) if references else None,
        notes=tables.notes,
    )
