"""Stages in a row on real grades: each one's calibration, the whole's, and what the composition bound says of it."""

import dataclasses
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl

from richter.calibration import ConfidenceStudy, EceResult, as_probability, calibration_claims, study_confidence
from richter.errors import InputError, TooFewErrors
from richter.floors import lipschitz
from richter.interop import read_frame
from richter.records import DEFAULT_LEVEL, Claim, Result, counted, printable
from richter.stats import Floats

__all__ = ["PipelineReport", "measure_pipeline"]

_STAGE = re.compile(r"correct_(\d{1,3})")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One stage, or the whole: its calibration, and L of its calibration gap (None where undefined)."""

    name: str
    result: EceResult
    lipschitz: float | None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PipelineCondition(Result):
    """The stages of a condition in order, the whole last.

    The whole is right where every stage is; its confidence is the product of theirs. `independent` is the product of
    the stages' accuracies: far from the whole's accuracy, errors of stages go together. `bound` is the limit of the
    whole's L by composition (Theorem 13): the product of the stages' (L + 1), which bounds how fast their accuracy
    changes with confidence, plus 1.
    """

    unwritten: ClassVar[tuple[str, ...]] = ("name",)

    name: str
    stages: tuple[Stage, ...]
    claim: Claim
    independent: float
    bound: float | None
    n: int
    left_out: int
    notes: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """The claim, and what the stages say of it."""
        whole = self.stages[-1]
        text = (
            f"{self.claim.sentence} The whole is right in {100 * whole.result.accuracy:.1f}% "
            f"of {counted(self.n, 'item')}; "
            f"stages that err independently would be in {100 * self.independent:.1f}%."
        )
        if self.bound is not None and whole.lipschitz is not None:
            text += f" L of the whole {whole.lipschitz:.2f}, at most {self.bound:.2f} by composition."
        return text + (
            f" {counted(self.left_out, 'item lacks', 'items lack')} a stage and are left out." if self.left_out else ""
        )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PipelineReport(Result):
    """All conditions of a table of stages."""

    conditions: tuple[PipelineCondition, ...]


def measure_pipeline(
    source: str | Path | pl.DataFrame, *, rng: np.random.Generator, level: float = DEFAULT_LEVEL
) -> PipelineReport:
    """Read columns correct_1, confidence_1, correct_2, ... and measure every stage and the whole, by condition."""
    frame = read_frame(source)
    numbers = _stage_numbers(frame)
    if "condition" not in frame.columns:
        frame = frame.with_columns(pl.lit("pipeline").alias("condition"))
    measured = [
        _measure_condition(str(name), part, numbers, rng=rng, level=level)
        for (name,), part in frame.group_by("condition", maintain_order=True)
    ]
    studies = {row["name"]: whole for row, whole in measured}
    claims = calibration_claims(dict(studies), level=level, what="the product of its stages' confidences")
    return PipelineReport(conditions=tuple(PipelineCondition(claim=claims[row["name"]], **row) for row, _ in measured))


def _stage_numbers(frame: pl.DataFrame) -> list[int]:
    """The numbers of the stages that the columns name; each has a grade and a confidence."""
    numbers = sorted(int(m[1]) for c in frame.columns if (m := _STAGE.fullmatch(c)))
    missing = [f"confidence_{k}" for k in numbers if f"confidence_{k}" not in frame.columns]
    if len(numbers) < 2 or missing:
        raise InputError(
            f"The table has {counted(len(numbers), 'stage')}" + (f" and no {', '.join(missing)}." if missing else "."),
            remedy="Give columns correct_1, confidence_1, correct_2, confidence_2, ...",
        )
    return numbers


def _measure_condition(
    name: str, part: pl.DataFrame, numbers: Sequence[int], *, rng: np.random.Generator, level: float
) -> tuple[dict[str, Any], ConfidenceStudy]:
    """One condition's stages, all but its claim, and the study of the whole that the claim is decided by."""
    a = np.stack([_grades(part, f"correct_{k}") for k in numbers], axis=1)
    sure = {f"confidence_{k}": as_probability(_numbers(part, f"confidence_{k}")) for k in numbers}
    c = np.stack([values for values, _ in sure.values()], axis=1)
    use = ~np.isnan(a).any(axis=1) & ~np.isnan(c).any(axis=1)
    if not use.any():
        raise InputError(
            f"No question of {printable(name)} has every stage.", remedy="Grade every stage of each question."
        )
    pairs = [(f"stage {k}", c[use, j], a[use, j]) for j, k in enumerate(numbers)]
    pairs.append(("whole", np.prod(c[use], axis=1), np.prod(a[use], axis=1)))
    studies = [study_confidence(x, y, rng=rng, level=level) for _, x, y in pairs]
    smooth = [_smooth(x, y) for _, x, y in pairs]
    known = [v for v in smooth[:-1] if v is not None]
    stages = tuple(
        Stage(name=label, result=study.result, lipschitz=v)
        for (label, _, _), study, v in zip(pairs, studies, smooth, strict=True)
    )
    row = {
        "name": name,
        "stages": stages,
        "independent": float(np.prod([s.result.accuracy for s in stages[:-1]])),
        "bound": float(np.prod(np.array(known) + 1)) + 1 if len(known) == len(numbers) else None,
        "n": int(np.sum(use)),
        "left_out": int(np.sum(~use)),
        "notes": tuple(f"{column}: {note}" for column, (_, note) in sure.items() if note),
    }
    return row, studies[-1]


def _numbers(part: pl.DataFrame, column: str) -> Floats:
    try:
        values = part[column].cast(pl.Float64)
    except pl.exceptions.InvalidOperationError as e:
        raise InputError(f"Column {column} holds something that is not a number.", remedy="Use 0 to 1.") from e
    return values.fill_null(float("nan")).to_numpy()


def _grades(part: pl.DataFrame, column: str) -> Floats:
    values = _numbers(part, column)
    if not np.isin(values[~np.isnan(values)], (0.0, 1.0)).all():
        raise InputError(f"A grade in {column} is neither 0 nor 1.", remedy="Write 1 for right, 0 for wrong.")
    return values


def _smooth(c: Floats, a: Floats) -> float | None:
    try:
        return lipschitz(c, a, rng=np.random.default_rng(0), n_resamples=20).estimate
    except TooFewErrors:
        return None
