"""The section on severity: the study, where and how answers fail, and the magnitude-frequency curve with its fit."""

from __future__ import annotations

import dataclasses
from collections import Counter
from typing import ClassVar

import numpy as np
import polars as pl

from richter import severity as sev
from richter.audit._measure_run import RunRecords
from richter.audit._severity_audit import SeverityReport
from richter.audit._severity_labels import mechanisms_named
from richter.records import Result, of_kind
from richter.tables import CATASTROPHIC

LEVELS = np.arange(1, 9) / 2


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class HeatmapCell(Result):
    """The answers of a condition in one domain and tier."""

    condition: str
    domain: str | None
    tier: int | None
    n: int
    errors: int
    error_rate: float
    mean_severity: float
    catastrophic: int


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class MechanismCount(Result):
    """Wrong answers of a condition by mechanism and severity."""

    condition: str
    mechanism: str
    severity: float
    count: int


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CurvePoint(Result):
    """Answers at a level, at or above it (`exceed`), and as the law expects them there (None below m_min)."""

    condition: str
    severity: float
    count: int
    exceed: int
    fitted_exceed: float | None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SeveritySection(Result):
    """The study as `richter severity --json` prints it, and the rows that its figures draw.

    `unused` says what the data hold and these figures do not take.
    """

    always: ClassVar = ("study", "heatmap", "mechanisms", "curve")

    study: SeverityReport
    heatmap: tuple[HeatmapCell, ...]
    mechanisms: tuple[MechanismCount, ...]
    curve: tuple[CurvePoint, ...]
    unused: tuple[str, ...] = ()


def severity_section(records: RunRecords, report: SeverityReport) -> SeveritySection:
    """The section on severity."""
    return SeveritySection(
        study=report,
        heatmap=_heatmap(records.scores),
        mechanisms=_mechanisms(records),
        curve=tuple(row for name in report.study.slopes for row in _curve(name, report)),
        unused=tuple(of_kind(report.notes, "unused")),
    )


def _heatmap(scores: pl.DataFrame) -> tuple[HeatmapCell, ...]:
    keys = ["condition", "domain", "tier"]
    table = scores.with_columns(pl.col("domain").cast(pl.String), pl.col("tier").cast(pl.Int64))
    cells = table.group_by(keys, maintain_order=True).agg(
        pl.len().alias("n"),
        (pl.col("severity") > 0).sum().alias("errors"),
        (pl.col("severity") > 0).mean().alias("error_rate"),
        pl.col("severity").mean().alias("mean_severity"),
        (pl.col("severity") >= CATASTROPHIC).sum().alias("catastrophic"),
    )
    order = {name: i for i, name in enumerate(scores["condition"].unique(maintain_order=True).to_list())}
    rows = [HeatmapCell(**row) for row in cells.to_dicts()]
    return tuple(sorted(rows, key=lambda row: (order[row.condition], row.domain or "", row.tier or 0)))


def _mechanisms(records: RunRecords) -> tuple[MechanismCount, ...]:
    """Wrong answers by mechanism and severity: the mechanism that most raters of the basis named, ties as "several"."""
    named = mechanisms_named(records.ratings, records.basis)
    wrong = records.scores.filter(pl.col("severity") > 0).select("item", "condition", "severity")
    counts = Counter((c, named.get((i, c), ("not named",))[0] or "several", s) for i, c, s in wrong.iter_rows())
    places = {name: i for i, name in enumerate(records.names)}
    rows = [MechanismCount(condition=c, mechanism=m, severity=s, count=n) for (c, m, s), n in counts.items()]
    return tuple(sorted(rows, key=lambda row: (places[row.condition], row.mechanism, row.severity)))


def _curve(name: str, report: SeverityReport) -> list[CurvePoint]:
    """The answers at and above each level, seen and as the law with the fitted b expects them above m_min.

    The law is the truncated geometric one on the half-step grid: P(level) proportional to 10^(-b (s - m_min)) from
    m_min to 4, scaled to the answers at or above m_min.
    """
    fit = report.study.slopes[name]
    counts = np.asarray(fit.counts[1:], dtype=np.int64)
    exceed = np.cumsum(counts[::-1])[::-1]
    fitted = np.full(8, np.nan)
    if isinstance(fit, sev.BValue):
        above = fit.m_min <= LEVELS
        weight = np.where(above, 10 ** (-fit.b * (LEVELS - fit.m_min)), 0.0)
        law = np.cumsum((weight / weight.sum())[::-1])[::-1]
        fitted[above] = (law * exceed[np.argmax(above)])[above]
    return [
        CurvePoint(
            condition=name,
            severity=float(level),
            count=int(count),
            exceed=int(seen),
            fitted_exceed=None if np.isnan(model) else float(model),
        )
        for level, count, seen, model in zip(LEVELS, counts, exceed, fitted, strict=True)
    ]
