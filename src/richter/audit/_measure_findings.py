"""Every claim of a run, from the results behind its sections: a sentence first, with what it rests on."""

import dataclasses
import math
from collections.abc import Iterator, Mapping
from typing import Any

from scipy.special import ndtri

from richter.audit._agreement import AgreementReport
from richter.audit._calibration import CalibrationReport, DrawsCondition, GradesCondition
from richter.audit._compare import CompareReport
from richter.audit._gate import GateReport
from richter.audit._measure_floors import gap_claims
from richter.audit._severity import SeverityReport
from richter.audit._tail import TailReport
from richter.records import Claim, Finding, Interval, Verdict
from richter.stats import EceResult

__all__ = ["ECE_MARGIN", "Measured", "calibration_labels", "claim_finding", "findings_of"]

ECE_MARGIN = 0.02  # what labels_needed is for where no margin is stated, as in a comparison
POWER = 0.8


@dataclasses.dataclass(slots=True, kw_only=True)
class Measured:
    """The results behind the sections; None where a section is missing."""

    exploratory: bool
    comparison: CompareReport | None = None
    severity: SeverityReport | None = None
    draws: CalibrationReport | None = None
    grades: CalibrationReport | None = None
    agreement: AgreementReport | None = None
    tail: TailReport | None = None
    gate: GateReport | None = None
    stopping: Mapping[str, Any] = dataclasses.field(default_factory=dict)  # what ended the asking early, if anything


def findings_of(measured: Measured) -> list[dict[str, Any]]:
    """All findings: what ended the asking, requirements, then differences, shapes, tails, and calibration one by one.

    Each row is a finding's with its `section`, the `measure` it is about and the `conditions` it names.
    """
    return [
        {"section": section, "measure": measure, "conditions": names, **finding.to_dict()}
        for section, measure, names, finding in _findings(measured)
    ]


def _findings(measured: Measured) -> Iterator[tuple[str, str, list[str], Finding]]:
    if measured.stopping:
        yield "floors", "stopping", [], _stopped(measured.stopping, measured.exploratory)
    if measured.gate is not None:
        for rule in measured.gate.claims:
            yield "floors", "requirement", list(rule.conditions), claim_finding(rule)
    if measured.severity is not None:
        for check in measured.severity.requirements:
            yield "severity", "requirement", list(check.conditions), claim_finding(check)
    if measured.comparison is not None:
        for claim in gap_claims(measured.comparison):
            yield "floors", claim.measure, list(claim.conditions), claim_finding(claim)
    if measured.severity is not None:
        for claim in measured.severity.study.claims:
            if claim.primary:
                yield "severity", claim.measure, list(claim.conditions), claim_finding(claim)
    if measured.tail is not None:
        study = measured.tail.study
        for tails in study.claims:
            yield "tail", "xi", list(tails.conditions), claim_finding(tails)
    for report, measure in ((measured.draws, "draws"), (measured.grades, "confidence")):
        for condition in () if report is None else report.conditions:
            yield "calibration", measure, [condition.name], _calibrated(condition, measured.exploratory)


def claim_finding(claim: Claim) -> Finding:
    shared = {f.name for f in dataclasses.fields(Finding)} & {f.name for f in dataclasses.fields(claim)}
    return Finding(
        claim=claim.sentence, exploratory=claim.exploratory, **{name: getattr(claim, name) for name in shared}
    )


def _stopped(note: Mapping[str, Any], exploratory: bool) -> Finding:
    """The claim that asking was stopped for, with limits that hold at every look."""
    return Finding(
        claim=note["claim"],
        verdict=Verdict(note["verdict"]),
        sentence=f"{note['sentence']} Asked {note['asked']:,} of {note['available']:,} items.",
        estimate=note["estimate"],
        interval=None if note["interval"] is None else Interval(**note["interval"]),
        n=note["n"],
        exploratory=exploratory,
    )


def calibration_labels(result: EceResult, *, margin: float = ECE_MARGIN) -> int:
    """Labels that show an ECE of the margin, or that it is below, with 80% power: n ((z_a/2 + z_b) s / margin)^2.

    The standard error s comes from the upper end of the interval alone, (high - debiased) / z_a/2: the lower end is cut
    off at 0, and half the width would promise a third of the labels it takes.
    """
    z = float(ndtri(0.5 + result.interval.level / 2))
    ask = (z + float(ndtri(POWER))) * (result.interval.high - result.debiased) / z
    return math.ceil(result.n * (ask / margin) ** 2)


def _calibrated(condition: GradesCondition | DrawsCondition, exploratory: bool) -> Finding:
    """Whether a condition is shown to be miscalibrated, and how many labels would show an ECE of the margin."""
    result = condition.result
    verdict, needed = Verdict.UNTESTABLE, None
    if result is not None:
        verdict = Verdict.UNDECIDED if condition.claim is None else condition.claim.verdict
        if verdict is Verdict.UNDECIDED:
            needed = calibration_labels(result)
    return Finding(
        claim=f"{condition.name} is miscalibrated",
        verdict=verdict,
        sentence="" if condition.claim is None else condition.claim.sentence,
        estimate=None if result is None else result.debiased,
        interval=None if result is None else result.interval,
        n=None if result is None else result.n,
        floor=condition.floor,
        needed=needed,
        exploratory=exploratory,
    )
