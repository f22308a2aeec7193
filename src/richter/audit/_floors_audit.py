"""`richter size calibration`: what a grades file shows of each condition, measured first, floors beside it."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import numpy as np
import polars as pl

from richter import floors
from richter.audit._comparison import CompareReport, condition_summaries
from richter.audit._pictures import Picture, floors_picture
from richter.errors import InputError, TooFewErrors
from richter.evidence import graded_rows, sample_of
from richter.floors import accuracy_floor, self_evaluation
from richter.interop import read_frame
from richter.records import Claim, Result, Shown, printable
from richter.stats import Floats, Indices, effective_sample_size
from richter.tables import Dataset

__all__ = ["FloorsReport", "measure_grades", "published_scores"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredCondition(Result):
    """One condition: its summary, the accuracy floor, and whether confidence knows its own error."""

    flat: ClassVar[tuple[str, ...]] = ("summary",)

    summary: floors.ConditionSummary
    accuracy_floor: float | None
    self_evaluation: floors.SelfEvaluation | None
    temperature: floors.Temperature | None

    @property
    def name(self) -> str:
        """The condition."""
        return self.summary.name


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class FloorsReport(Shown):
    """All conditions of a grades file, and the noise of their ranking by subject where there are subjects."""

    keyed: ClassVar = {"conditions": "name"}

    conditions: tuple[MeasuredCondition, ...]
    subjects: floors.SubjectNoise | None
    notes: tuple[str, ...]
    self_evaluation: str = ""

    def _shown(self) -> Picture:
        return floors_picture(self)


def measure_grades(tables: Dataset, *, rng: np.random.Generator, level: float) -> FloorsReport:
    """Summaries, self-evaluation and temperature of every condition; noise by subject over all of them."""
    graded, notes = graded_rows(tables), list(tables.notes)
    measured = []
    for k, summary in enumerate(condition_summaries(tables, rng=rng, level=level)):
        confidence, correct, item = graded.of(k)
        unit = item if graded.group is None else graded.group[item]
        worth = effective_sample_size(1 - correct, unit) if len(correct) else 0.0
        knows, temperature = None, None
        known = ~np.isnan(confidence)
        if known.any():
            own = (confidence[known], correct[known], item[known], unit[known])
            knows, temperature, faults = _measure_confidence(*own, rng=rng)
            notes += [f"{summary.name}: {fault}" for fault in faults]
        floor = _accuracy_floor(summary, worth)
        measured.append(
            MeasuredCondition(summary=summary, accuracy_floor=floor, self_evaluation=knows, temperature=temperature)
        )
    subjects, faults = _measure_subjects(tables, graded.group, rng)
    notes += faults
    knowing = {m.name: m.self_evaluation for m in measured if m.self_evaluation is not None}
    return FloorsReport(
        conditions=tuple(measured),
        subjects=subjects,
        notes=tuple(notes),
        self_evaluation=floors.self_evaluation_verdict(knowing, level=level) if knowing else "",
    )


def _measure_subjects(
    tables: Dataset, group: Indices | None, rng: np.random.Generator
) -> tuple[floors.SubjectNoise | None, list[str]]:
    """The noise of a ranking by subject, where there are subjects, and why it cannot be had."""
    domains = tables.answers.unique("item", keep="first").sort("item")["domain"]
    if domains.null_count() == len(domains) or len(tables.conditions) < 2:
        return None, []
    names = domains.cast(pl.String).fill_null("").to_numpy().astype(str)
    try:
        return floors.subject_noise(sample_of(tables, "accuracy").mean, names, group=group, rng=rng), []
    except InputError as fault:
        return None, [fault.what]


def _measure_confidence(
    confidence: Floats, correct: Floats, item: Indices, unit: Indices, *, rng: np.random.Generator
) -> tuple[floors.SelfEvaluation | None, floors.Temperature | None, list[str]]:
    """Whether confidence knows its own error, the temperature's rate, and why either cannot be had."""
    knows, temperature, faults = None, None, []
    try:
        knows = self_evaluation(confidence, correct, item=item, rng=rng)
    except TooFewErrors as few:
        faults.append(few.what)
    try:
        temperature = floors.temperature_rate(confidence, n=max(1, round(effective_sample_size(1 - correct, unit))))
    except InputError as fault:
        faults.append(fault.what)
    return knows, temperature, faults


def published_scores(path: str) -> list[floors.PublishedScore]:
    """The rows of a table of published scores: `model`, `score`, `n` and, where there are several, `benchmark`.

    A score above 1 makes those of its benchmark percentages; shares beside percentages are refused.
    """
    frame = read_frame(path)
    missing = [c for c in ("model", "score", "n") if c not in frame.columns]
    if missing:
        raise InputError(
            f"{path} has no column {', '.join(missing)}; it has {', '.join(frame.columns)}.",
            remedy="A table of published scores has `model`, `score`, `n` and, where there are several, `benchmark`.",
        )
    if "benchmark" not in frame.columns:
        frame = frame.with_columns(pl.lit("").alias("benchmark"))
    written = pl.col("score").cast(pl.String).str.strip_chars()
    frame = frame.select(
        pl.col("benchmark", "model").cast(pl.String),
        written.str.strip_chars_end(" %").cast(pl.Float64, strict=False),
        pl.col("n").cast(pl.Int64, strict=False),
        written.str.ends_with("%").alias("marked"),
    )
    if frame.null_count().sum_horizontal().item():
        raise InputError(f"{path} has rows without a model, or a score or n that is a number.", remedy="Fill them in.")
    frame = frame.with_columns(((pl.col("score") > 1) | pl.col("marked")).any().over("benchmark").alias("percent"))
    unclear = frame.filter("percent", ~pl.col("marked"), pl.col("score").is_between(0, 1, closed="right"))
    for _, model, score, *_ in unclear.iter_rows():
        raise InputError(
            f"{path} has shares beside percentages: {score:g} of {printable(model, limit=40)} may be either.",
            remedy="Write all scores of a benchmark from 0 to 1, or all in per cent.",
        )
    return [
        floors.PublishedScore(benchmark=b, model=m, score=s / 100 if percent else s, n=n)
        for b, m, s, n, _, percent in frame.iter_rows()
    ]


def _accuracy_floor(summary: floors.ConditionSummary, worth: float) -> float | None:
    """The floor at the error rate of as many independent answers as these are worth.

    Where the rate is 0 or 1, at the limit of what it may be: a floor of 0 is false.
    """
    if summary.error_rate is None or summary.error_rate_interval is None:
        return None
    rate = {0.0: summary.error_rate_interval.high, 1.0: summary.error_rate_interval.low}.get(
        summary.error_rate, summary.error_rate
    )
    return accuracy_floor(max(worth, 1.0), rate)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class FloorsSection(Result):
    """The comparison as `richter compare --json` prints it; its figures are drawn from it."""

    comparison: CompareReport


def gap_claims(report: CompareReport) -> list[Claim]:
    """The differences of means, pair by pair: shapes have sections of their own."""
    order = {pair.conditions: k for k, pair in enumerate(report.pairs)}
    found = [c for c in report.claims if c.measure not in ("b", "xi") and c.conditions in order]
    return sorted(found, key=lambda c: order[c.conditions])  # type: ignore[index]
