"""The calibration of one condition by its own confidences: rows in, a study out."""

from __future__ import annotations

import dataclasses
from typing import Any, TypeVar

import numpy as np
import polars as pl

from richter import calibration as cal
from richter.audit._calibration_results import CalibrationCondition, GradesCondition, Refusals
from richter.errors import TooFewErrors
from richter.floors import lipschitz, passive_floor
from richter.stats import effective_sample_size
from richter.texts import is_refusal

UNTESTABLE = (
    "no item is graded: without labels no method can tell a calibrated model from one that is surely wrong, so "
    "calibration is untestable (the verification tax: label-free evidence is blind to it)"
)


Condition = TypeVar("Condition", bound=CalibrationCondition)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    rng: np.random.Generator
    bins: int
    binning: Any
    level: float
    splits: int | None
    target: float
    by: str | None
    refusals: str

    @property
    def ece(self) -> dict[str, Any]:
        return {"bins": self.bins, "binning": self.binning, "level": self.level}


def with_probabilities(part: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """One condition's confidences as probabilities: another condition may well state percentages."""
    if "confidence" not in part.columns:
        return part, []
    values, note = cal.as_probability(part["confidence"].fill_null(float("nan")).to_numpy())
    return part.with_columns(pl.Series("confidence", values)), [note] if note else []


def mark_declined(part: pl.DataFrame) -> list[pl.Series]:
    """Which rows decline, and which are empty; nothing where the table says nothing of either."""
    nobody = np.zeros(len(part), dtype=bool)
    refused = part["refused"].fill_null(False).to_numpy() if "refused" in part.columns else nobody
    empty = nobody
    if "answer" in part.columns and part["answer"].null_count() < len(part):
        answers = part["answer"].fill_null("").to_list()
        known = {x: is_refusal(x) for x in set(answers)}
        empty = np.array([not x.strip() for x in answers])
        refused = (np.array([known[x] for x in answers]) | refused) & ~empty
    return [pl.Series("declined", refused), pl.Series("empty", empty)]


def study_grades(name: str, part: pl.DataFrame, options: Options) -> GradesCondition:
    part, notes = with_probabilities(part)
    rows = part.with_columns(mark_declined(part))
    if "error" in part.columns:
        rows = rows.filter(pl.col("error").cast(pl.String).str.strip_chars().fill_null("") == "")
    graded, sure = pl.col("correct").is_not_null(), pl.col("confidence").is_not_nan()
    base = GradesCondition(
        name=name,
        failed=len(part) - len(rows),
        ungraded=rows.filter(~graded).height,
        without_confidence=rows.filter(~sure).height,
    )
    left = {"are failed calls": base.failed, "have no grade": base.ungraded}
    left["have no confidence"] = base.without_confidence
    notes += [f"{count} of {len(part)} rows {what} and are left out." for what, count in left.items() if count]
    base = dataclasses.replace(base, notes=tuple(notes))
    if rows.filter(graded, sure).is_empty():
        reason = UNTESTABLE if rows.filter(graded).is_empty() else "no graded row has a confidence"
        return dataclasses.replace(base, reason=reason)
    return studied(base, rows.filter(graded, sure), options)


def studied(base: Condition, rows: pl.DataFrame, options: Options) -> Condition:
    """What confidences and grades show, a row an answer or a question; refusals are kept or left out."""
    refusals, rows = _refusals(rows, options)
    grader, more = _grader(rows, options)
    c, a, by = rows["confidence"], rows["correct"], _texts(rows, options.by)
    study = cal.study_confidence(c, a, rng=options.rng, by=by, target=options.target, **_units(rows), **options.ece)
    notes = (*base.notes, *more)
    return dataclasses.replace(base, study=study, refusals=refusals, grader=grader, floor=_floor(rows), notes=notes)


def _units(rows: pl.DataFrame) -> dict[str, Any]:
    """Item, group and weight of rows."""
    weight = None if "weight" not in rows.columns else rows["weight"].fill_null(1.0).to_numpy()
    return {"item": _texts(rows, "item"), "group": _texts(rows, "group"), "weight": weight}


def unit_of(rows: pl.DataFrame) -> list[str] | None:
    """What varies independently: the group, else the item."""
    return _texts(rows, "group") or _texts(rows, "item")


def _texts(rows: pl.DataFrame, name: str | None) -> list[str] | None:
    """A column as texts; None where it is missing or empty throughout. An item without a group is one of its own."""
    if name is None or name not in rows.columns or rows[name].null_count() == len(rows):
        return None
    own = pl.concat_str(pl.lit("\0"), pl.col("item")) if name == "group" else pl.lit("none")
    return rows.select(pl.col(name).cast(pl.String).fill_null(own))[name].to_list()


def _refusals(rows: pl.DataFrame, options: Options) -> tuple[Refusals | None, pl.DataFrame]:
    """The count of declined and empty answers, ECE with and without them, and the rows to use."""
    answered = rows.filter(~pl.col("declined") & ~pl.col("empty"))
    if len(answered) == len(rows):
        return None, rows
    leave = options.refusals == "leave-out" and len(answered) > 0
    found = Refusals(
        refused=int(rows["declined"].sum()),
        empty=int(rows["empty"].sum()),
        of=len(rows),
        used="left out" if leave else "kept",
        kept=_ece(rows, options),
        left_out=_ece(answered, options) if len(answered) else None,
    )
    return found, answered if leave else rows


def _ece(rows: pl.DataFrame, options: Options) -> cal.EceResult:
    return cal.unit_ece(rows["confidence"], rows["correct"], **_units(rows), **options.ece)


def _grader(rows: pl.DataFrame, options: Options) -> tuple[cal.GraderError | None, list[str]]:
    """What people's labels (1 right, 0 wrong, empty where nobody looked) say of the grades, if drawn at random."""
    if "human" not in rows.columns or rows["human"].null_count() == len(rows):
        return None, []
    if "uneven" in rows.columns and rows["uneven"].any():
        why = "Answers were drawn for people with different chances, so their labels are no random sample of all: "
        return None, [why + "how often the grader is wrong is not worked out from them here (richter compare does)."]
    alike = ["What people's labels say of the grader counts every answer alike, without its weight."]
    c, a, labels = rows["confidence"], rows["correct"], rows["human"].fill_null(float("nan"))
    try:
        found = cal.grader_error(c, a, labels, unit=unit_of(rows), bins=options.bins, level=options.level)
        return found, alike if "weight" in rows.columns else []
    except TooFewErrors as e:
        return None, [str(e)]


def _floor(rows: pl.DataFrame) -> float | None:
    """The passive floor at as many labels as these are worth and the estimated L, as `size calibration` has it."""
    a = rows["correct"].to_numpy()
    wrong = float(np.mean(a == 0))
    if not 0 < wrong < 1:
        return None
    try:
        item = rows["item"].rank("dense").to_numpy()
        smooth = lipschitz(rows["confidence"], a, item=item, rng=np.random.default_rng(0), n_resamples=20)
    except TooFewErrors:
        return None
    return passive_floor(effective_sample_size(a == 0, unit_of(rows)), wrong, lipschitz=smooth.estimate).value
