"""The reports as a notebook shows them: their sentences, then a figure of their intervals."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from richter.records import Mark

Picture = tuple[list[str], list[Mark]]

if TYPE_CHECKING:
    from richter.audit._calibration import CalibrationReport
    from richter.audit._compare import CompareReport
    from richter.audit._floors import FloorsReport
    from richter.audit._gate import GateReport
    from richter.audit._measure import RunResults
    from richter.audit._severity import SeverityReport
    from richter.audit._tail import TailReport
    from richter.floors import ConditionSummary
    from richter.records import Claim


def _summaries(conditions: Iterable[ConditionSummary]) -> list[Mark]:
    known = list(conditions)
    rates = [
        Mark(panel="error rate", label=c.name, estimate=c.error_rate, interval=c.error_rate_interval) for c in known
    ]
    return rates + [
        Mark(panel="ECE, debiased", label=c.name, estimate=c.ece_debiased, interval=c.ece_interval)
        for c in known
        if c.ece is not None
    ]


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
    refused = [f"{' and '.join(r.conditions)} are not compared: {r.reason}." for r in report.refused]
    sentences = [c.sentence for c in report.claims][:12]
    return sentences + refused, _marks(report.claims) + _summaries(report.conditions.values())


def results_picture(report: RunResults) -> Picture:
    """The answer, and every claim."""
    return [report.answer], _marks(told.claim for told in report.claims)


def severity_picture(report: SeverityReport) -> Picture:
    """What was required, the first claims, mean severities of errors, catastrophic answers per million, and slopes."""
    study = report.study
    fits = study.slopes
    slopes = [
        Mark(panel="b", label=name, estimate=getattr(fit, "b", None), interval=getattr(fit, "interval", None))
        for name, fit in fits.items()
    ]
    rates = []
    for name, table in study.rates.items():
        row = table.at(3.0)
        rates.append(
            Mark(panel="per million, severity >= 3", label=name, estimate=row.per_million, interval=row.interval)
        )
    means = [
        Mark(
            panel="mean severity of errors",
            label=name,
            estimate=found.mean_given_error,
            interval=found.mean_given_error_interval,
        )
        for name, found in study.conditions.items()
    ]
    return [*(c.sentence for c in report.claims[:12]), *report.notes], means + rates + slopes


def calibration_picture(report: CalibrationReport) -> Picture:
    """Debiased ECE of each condition, by each kind of confidence there is."""
    from richter.audit._calibration import GradesCondition

    marks, sentences = [], []
    for condition in report.conditions:
        if isinstance(condition, GradesCondition):
            kinds = {"": condition.result}
        elif condition.sem is None:
            kinds = {}
        else:
            kinds = {", Sem1": condition.sem.sem1, ", Sem2": condition.sem.sem2, ", token": condition.token}
        for kind, result in kinds.items():
            if result is not None:
                label = condition.name + kind
                marks.append(
                    Mark(panel="ECE, debiased", label=label, estimate=result.debiased, interval=result.interval)
                )
        if condition.reason:
            sentences.append(f"{condition.name}: untestable; {condition.reason}.")
    return sentences, marks


def tail_picture(report: TailReport) -> Picture:
    """The verdict, the differences of shape and each condition's shape."""
    study = report.study
    gaps = [
        Mark(
            panel="xi, difference",
            label=" minus ".join(reversed(p.conditions)),
            estimate=p.estimate,
            interval=p.interval,
            against=0.0,
        )
        for p in study.claims
    ]
    shapes = [
        Mark(panel="xi", label=name, estimate=c.fit.xi if c.fit else None, interval=c.interval)
        for name, c in study.conditions.items()
    ]
    return [study.claim.sentence, *(p.sentence for p in study.claims[:6])], gaps + shapes


def floors_picture(report: FloorsReport) -> Picture:
    """Error rate and calibration of each condition."""
    return list(report.notes), _summaries(m.summary for m in report.conditions)


def gate_picture(report: GateReport) -> Picture:
    """Each requirement's interval against what is allowed."""
    return [report.sentence, *(c.sentence for c in report.claims)], _marks(report.claims)
