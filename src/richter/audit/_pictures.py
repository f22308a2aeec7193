"""The reports as a notebook shows them: their sentences, then a figure of their intervals."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import TYPE_CHECKING

from richter.records import Mark, plain, refusals
from richter.words import lines_below

Picture = tuple[list[str], list[Mark]]

if TYPE_CHECKING:
    from richter.audit._calibration_results import CalibrationReport
    from richter.audit._comparison import CompareReport
    from richter.audit._floors_audit import FloorsReport
    from richter.audit._gate_check import GateReport
    from richter.audit._measure import RunResults
    from richter.audit._severity_audit import SeverityReport
    from richter.audit._tail_audit import TailReport
    from richter.floors import ConditionSummary
    from richter.records import Claim, Interval


Row = tuple[str, float | None, "Interval | None"]  # a label, its estimate and interval


def _panel(panel: str, rows: Iterable[Row]) -> list[Mark]:
    return [Mark(panel=panel, label=label, estimate=x, interval=interval) for label, x, interval in rows]


def _summaries(conditions: Iterable[ConditionSummary]) -> list[Mark]:
    known = list(conditions)
    rates = _panel("error rate", ((c.name, c.error_rate, c.error_rate_interval) for c in known))
    eces = ((c.name, c.ece_debiased, c.ece_interval) for c in known if c.ece is not None)
    return rates + _panel("ECE, debiased", eces)


def _marks(claims: Iterable[Claim]) -> list[Mark]:
    """Differences by measure, the second minus the first; a measure of one condition under its own name."""
    return [
        Mark(
            panel=c.measure.replace("_", " ") + (", difference" if len(c.conditions) == 2 else ""),
            label=" minus ".join(reversed(c.conditions)),
            estimate=c.estimate,
            interval=c.interval or c.plain_interval,
            against=None if c.hypothesis is None else c.hypothesis.value,
        )
        for c in claims
    ]


def compare_picture(report: CompareReport) -> Picture:
    """Every claim, the differences by measure, and the error rate of each condition."""
    refused = [f"Not compared: {line}." for line in refusals((r.conditions, r.reason) for r in report.refused)]
    sentences = [report.first_lines.headline, *lines_below(plain(report.first_lines))]
    sentences += [c.sentence for c in report.claims if not c.primary or len(report.conditions) > 2][:12]
    return sentences + refused, _marks(report.claims) + _summaries(report.conditions.values())


def results_picture(report: RunResults) -> Picture:
    """The answer, and every claim."""
    sentences = [report.answer, *lines_below(plain(report.first_lines))]
    return sentences, _marks(page.claim for page in report.claims)


def severity_picture(report: SeverityReport) -> Picture:
    """What was required, the first claims, mean severities of errors, catastrophic answers per million, and slopes."""
    study = report.study
    severe = {name: table.at(3.0) for name, table in study.rates.items()}
    rates = _panel("per million, severity >= 3", ((n, row.per_million, row.interval) for n, row in severe.items()))
    found = ((n, c.mean_given_error, c.mean_given_error_interval) for n, c in study.conditions.items())
    means = _panel("mean severity of errors", found)
    fits = ((n, getattr(fit, "b", None), getattr(fit, "interval", None)) for n, fit in study.slopes.items())
    slopes = _panel("b", fits)
    return [*(c.sentence for c in report.claims[:12]), *report.notes], means + rates + slopes


def calibration_picture(report: CalibrationReport) -> Picture:
    """Debiased ECE of each condition, by each kind of confidence there is."""
    from richter.audit._calibration_results import GradesCondition

    rows: list[Row] = []
    for c in report.conditions:
        if isinstance(c, GradesCondition):
            kinds = {"": c.result}
        else:
            kinds = {} if c.sem is None else {", Sem1": c.sem.sem1, ", Sem2": c.sem.sem2, ", token": c.token}
        rows += [(c.name + kind, r.debiased, r.interval) for kind, r in kinds.items() if r is not None]
    sentences = [f"{c.name}: untestable; {c.reason}." for c in report.conditions if c.reason]
    return sentences, _panel("ECE, debiased", rows)


def tail_picture(report: TailReport) -> Picture:
    """The verdict, the differences of shape and each condition's shape."""
    study = report.study
    pairs = ((" minus ".join(reversed(p.conditions)), p.estimate, p.interval) for p in study.claims)
    gaps = [dataclasses.replace(mark, against=0.0) for mark in _panel("xi, difference", pairs)]
    shapes = _panel("xi", ((n, c.fit.xi if c.fit else None, c.interval) for n, c in study.conditions.items()))
    return [study.claim.sentence, *(p.sentence for p in study.claims[:6])], gaps + shapes


def floors_picture(report: FloorsReport) -> Picture:
    """Error rate and calibration of each condition."""
    return list(report.notes), _summaries(m.summary for m in report.conditions)


def gate_picture(report: GateReport) -> Picture:
    """Each requirement's interval against what is allowed."""
    return [report.sentence, *(c.sentence for c in report.claims)], _marks(report.claims)
