"""`richter floors data`: what a grades file shows of each condition, measured first, floors beside it."""

import dataclasses
from typing import Any

import numpy as np
import polars as pl

from richter.audit._compare import graded_rows, summaries_of
from richter.audit._pictures import floors_picture
from richter.claims import as_sample
from richter.errors import InputError, TooFewErrors
from richter.floors import (
    ConditionSummary,
    SelfEvaluation,
    SubjectNoise,
    Temperature,
    accuracy_floor,
    self_evaluation,
    subject_noise,
    temperature_rate,
)
from richter.records import plain
from richter.tables import Tables, outcomes

__all__ = ["FloorsReport", "measure_grades"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One condition: its summary, the accuracy floor, and whether confidence knows its own error."""

    summary: ConditionSummary
    accuracy_floor: float | None
    self_evaluation: SelfEvaluation | None
    temperature: Temperature | None

    def to_dict(self) -> dict[str, Any]:
        """Plain values in one row."""
        return self.summary.to_dict() | {
            "accuracy_floor": self.accuracy_floor,
            "self_evaluation": plain(self.self_evaluation),
            "temperature": plain(self.temperature),
        }


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class FloorsReport:
    """All conditions of a grades file, and the noise of their ranking by subject where there are subjects."""

    conditions: tuple[Measured, ...]
    subjects: SubjectNoise | None
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "conditions": {m.summary.name: m.to_dict() for m in self.conditions},
            "subjects": plain(self.subjects),
            "notes": list(self.notes),
        }

    def _repr_html_(self) -> str:
        return floors_picture(self)


def measure_grades(tables: Tables, *, rng: np.random.Generator, level: float = 0.95) -> FloorsReport:
    """Summaries, self-evaluation and temperature of every condition; noise by subject over all of them."""
    right = as_sample(outcomes(tables, "accuracy"))
    graded = graded_rows(tables, right)
    measured = []
    notes = list(tables.notes)
    for k, summary in enumerate(summaries_of(tables, right, graded, rng=rng, level=level)):
        c, a, _ = graded.of(k)
        c, a = c[~np.isnan(c)], a[~np.isnan(c)]
        knows, temperature = None, None
        if len(c):
            try:
                knows = self_evaluation(c, a, rng=rng)
            except TooFewErrors as few:
                notes.append(f"{summary.name}: {few.what}")
            try:
                temperature = temperature_rate(c)
            except InputError as fault:
                notes.append(f"{summary.name}: {fault.what}")
        measured.append(
            Measured(
                summary=summary, accuracy_floor=_accuracy_floor(summary), self_evaluation=knows, temperature=temperature
            )
        )
    subjects = None
    domains = tables.answers.unique("item", keep="first").sort("item")["domain"]
    if domains.null_count() < len(domains) and len(tables.conditions) > 1:
        try:
            subjects = subject_noise(right.mean, domains.cast(pl.String).fill_null("").to_numpy().astype(str), rng=rng)
        except InputError as fault:
            notes.append(fault.what)
    return FloorsReport(conditions=tuple(measured), subjects=subjects, notes=tuple(notes))


def _accuracy_floor(summary: ConditionSummary) -> float | None:
    """The floor at the error rate; where that is 0 or 1, at the limit of what it may be: a floor of 0 is false."""
    if summary.error_rate is None or summary.error_rate_interval is None:
        return None
    rate = {0.0: summary.error_rate_interval.high, 1.0: summary.error_rate_interval.low}.get(
        summary.error_rate, summary.error_rate
    )
    return accuracy_floor(summary.n, rate)
