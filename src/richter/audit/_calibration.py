"""`richter calibration`: what a grades or draws table shows of each condition's calibration."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from richter.bench import is_refusal, matches_reference, normalise
from richter.calibration import (
    AnswerPool,
    EceResult,
    Regimes,
    SemEce,
    Verbalised,
    answer_pool,
    as_probability,
    ece,
    regimes,
    sem_ece,
    verbalised_ece,
)
from richter.errors import InputError
from richter.interop import read_frame, read_table
from richter.records import Verdict, jsonable

__all__ = ["CalibrationReport", "DrawsCondition", "GradesCondition", "measure_calibration"]

Floats = NDArray[np.float64]

UNTESTABLE = (
    "no item is graded: without labels no method can tell a calibrated model from one that is surely wrong, so "
    "calibration is untestable (the verification tax: label-free evidence is blind to it)"
)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class GradesCondition:
    """One condition of a grades table; `result` is None, and `reason` says why, where nothing can be tested."""

    name: str
    result: EceResult | None
    ungraded: int
    without_confidence: int
    failed: int
    reason: str = ""
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain values, the result's at the top level."""
        row: dict[str, Any] = {
            "ungraded": self.ungraded,
            "without_confidence": self.without_confidence,
            "failed": self.failed,
        }
        if self.result is None:
            return {
                "n": 0,
                "verdict": Verdict.UNTESTABLE.value,
                "reason": self.reason,
                **row,
                "notes": list(self.notes),
            }
        return {**self.result.to_dict(), **row, "notes": [*self.result.notes, *self.notes]}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class DrawsCondition:
    """One condition of a draws table."""

    name: str
    questions: int
    draws: tuple[int, int]
    clusters: str
    sem: SemEce | None
    regimes: Regimes
    verbalised: Verbalised | None = None
    reason: str = ""
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain values under the names others rely on."""
        row: dict[str, Any] = {
            "questions": self.questions,
            "draws": self.draws[0] if self.draws[0] == self.draws[1] else list(self.draws),
            "clusters": self.clusters,
            "accuracy": None,
            "sem1": None,
            "sem2": None,
            "verbalised": None,
            "gap": None,
            "regimes": {"large": self.regimes.large, "low": self.regimes.low, "jensen": self.regimes.jensen},
            "notes": list(self.notes),
        }
        if self.sem is None:
            return row | {"verdict": Verdict.UNTESTABLE.value, "reason": self.reason}
        row["accuracy"] = self.sem.sem1.accuracy
        row["sem1"] = self.sem.sem1.to_dict()
        row["sem2"] = None if self.sem.sem2 is None else self.sem.sem2.to_dict()
        if self.verbalised is not None:
            row["verbalised"] = {
                **self.verbalised.imputed.to_dict(),
                "parse_rate": self.verbalised.parse_rate,
                "dropped": jsonable(self.verbalised.dropped),
                "questions_dropped": self.verbalised.questions_dropped,
            }
        if self.sem.sem2 is not None:
            both = ~np.isnan(self.sem.confidence_2) & ~np.isnan(self.sem.correct)
            row["gap"] = {
                "confidence": float(np.mean((self.sem.confidence_1 - self.sem.confidence_2)[both])),
                "ece": self.sem.sem1.ece - self.sem.sem2.ece,
                "predicted": float(np.mean(self.regimes.predicted_gap_halves)),
            }
        row["notes"] = [*self.sem.notes, *self.notes]
        return row


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationReport:
    """All conditions of a table; `kind` is `grades` or `draws`."""

    kind: str
    conditions: tuple[GradesCondition | DrawsCondition, ...]
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain values; conditions by name."""
        return {
            "kind": self.kind,
            "conditions": {c.name: c.to_dict() for c in self.conditions},
            "notes": list(self.notes),
        }


def measure_calibration(
    path: str | Path,
    *,
    rng: np.random.Generator,
    bins: int = 10,
    binning: Any = "width",
    level: float = 0.95,
    splits: int | None = None,
) -> CalibrationReport:
    """Read a grades or draws table (told apart by the column `draw`) and measure every condition."""
    options: dict[str, Any] = {"bins": bins, "binning": binning, "level": level}
    if "draw" in read_frame(path).columns:
        frame = read_table(path, "draws")
        return _draws(frame, options, rng, splits)
    return _grades(read_table(path, "grades"), options)


def _parts(frame: pl.DataFrame) -> Mapping[str, pl.DataFrame]:
    return {str(name): part for (name,), part in frame.group_by("condition", maintain_order=True)}


def _grades(frame: pl.DataFrame, options: dict[str, Any]) -> CalibrationReport:
    if "confidence" not in frame.columns:
        raise InputError(
            "The table has no column `confidence`.",
            remedy="Add one (0 to 1), or give a draws table (item, condition, draw, answer).",
        )
    values, note = as_probability(frame["confidence"].fill_null(float("nan")).to_numpy())
    frame = frame.with_columns(pl.Series("confidence", values))
    rows = [_grades_condition(name, part, options) for name, part in _parts(frame).items()]
    return CalibrationReport(kind="grades", conditions=tuple(rows), notes=(note,) if note else ())


def _grades_condition(name: str, part: pl.DataFrame, options: dict[str, Any]) -> GradesCondition:
    failed = np.zeros(len(part), dtype=bool)
    if "error" in part.columns:
        failed = (part["error"].cast(pl.String).str.strip_chars().fill_null("") != "").to_numpy()
    c = part["confidence"].to_numpy()
    a = part["correct"].fill_null(float("nan")).to_numpy()
    ungraded, silent = np.isnan(a) & ~failed, np.isnan(c) & ~failed
    use = ~failed & ~ungraded & ~silent
    counts: dict[str, Any] = {
        "ungraded": int(ungraded.sum()),
        "without_confidence": int(silent.sum()),
        "failed": int(failed.sum()),
    }
    notes = [
        f"{count} of {len(part)} rows {what} and are left out."
        for count, what in (
            (counts["failed"], "are failed calls"),
            (counts["ungraded"], "have no grade"),
            (counts["without_confidence"], "have no confidence"),
        )
        if count
    ]
    if not use.any():
        reason = UNTESTABLE if ungraded.all() else "no graded row has a confidence"
        return GradesCondition(name=name, result=None, reason=reason, notes=tuple(notes), **counts)
    return GradesCondition(name=name, result=ece(c[use], a[use], **options), notes=tuple(notes), **counts)


def _draws(
    frame: pl.DataFrame, options: dict[str, Any], rng: np.random.Generator, splits: int | None
) -> CalibrationReport:
    notes = []
    if "confidence" in frame.columns:
        values, note = as_probability(frame["confidence"].fill_null(float("nan")).to_numpy())
        frame = frame.with_columns(pl.Series("confidence", values))
        notes += [note] if note else []
    rows = [_draws_condition(name, part, options, rng, splits) for name, part in _parts(frame).items()]
    return CalibrationReport(kind="draws", conditions=tuple(rows), notes=tuple(notes))


def _classes(part: pl.DataFrame) -> tuple[pl.Series, str]:
    if "cluster" in part.columns and part["cluster"].null_count() == 0:
        return part["cluster"].cast(pl.String), "given"
    answers = part["answer"].fill_null("").to_list()
    return pl.Series(["" if is_refusal(a) else normalise(a) for a in answers]), "normal form"


def _wide(part: pl.DataFrame, column: str, fill: float) -> Floats:
    """A column as questions x draws, `fill` where a question has fewer draws, NaN where a cell is empty."""
    out = np.full((int(part["question"].max()) + 1, int(part["place"].max()) + 1), fill)  # type: ignore[arg-type]
    values = part[column].cast(pl.Float64).fill_null(float("nan")).to_numpy()
    out[part["question"].to_numpy(), part["place"].to_numpy()] = values
    return out


def _draws_condition(
    name: str, part: pl.DataFrame, options: dict[str, Any], rng: np.random.Generator, splits: int | None
) -> DrawsCondition:
    part = part.sort("draw", maintain_order=True)
    classes, how = _classes(part)
    items = part["item"].unique(maintain_order=True)
    part = part.with_columns(
        pl.Series("class", classes).rank("dense").cast(pl.Int64),
        part["item"].replace_strict(items, pl.Series(range(len(items)))).alias("question"),
    ).with_columns(pl.int_range(pl.len()).over("question").alias("place"))
    labels = _wide(part, "class", -1.0).astype(np.int64)
    part, notes = _graded(part)
    pool = answer_pool(labels, _wide(part, "correct", np.nan) if "correct" in part.columns else None)
    draws = (int(pool.draws.min()), int(pool.draws.max()))
    sem, stated, reason = None, None, ""
    if np.isnan(pool.correct).all():
        reason = UNTESTABLE
    else:
        sem = sem_ece(pool, rng=rng, splits=splits, **options)
        stated = _stated(part, pool, options)
    return DrawsCondition(
        name=name,
        questions=pool.questions,
        draws=draws,
        clusters=how,
        sem=sem,
        regimes=regimes(pool),
        verbalised=stated,
        reason=reason,
        notes=tuple(notes),
    )


def _graded(part: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """Grades as given; where none are, from the reference by rule."""
    if "correct" in part.columns and part["correct"].null_count() < len(part):
        return part, []
    if "reference" not in part.columns:
        return part.drop("correct", strict=False), ["There is neither a grade nor a reference."]
    grades = [
        None if not reference else float(matches_reference(answer or "", reference.split("|")))
        for answer, reference in zip(part["answer"].to_list(), part["reference"].to_list(), strict=True)
    ]
    missing = sum(g is None for g in grades)
    notes = ["Answers are graded by rule: right when they name the reference (aliases split by |)."]
    if missing:
        notes.append(f"{missing} of {len(part)} draws have no reference and no grade.")
    return part.with_columns(pl.Series("correct", grades, dtype=pl.Float64)), notes


def _stated(part: pl.DataFrame, pool: AnswerPool, options: dict[str, Any]) -> Verbalised | None:
    if "confidence" not in part.columns:
        return None
    graded = ~np.isnan(pool.correct)
    matrix = _wide(part, "confidence", -1.0)
    if np.isnan(matrix[matrix != -1]).all():
        return None
    return verbalised_ece(matrix[graded], pool.correct[graded], **options)
