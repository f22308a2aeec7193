"""Every claim of a run, from the results behind its sections: a sentence first, with what it rests on."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from richter.audit._calibration_results import CalibrationReport
from richter.audit._comparison import CompareReport
from richter.audit._gate_check import GateReport
from richter.audit._measure_run import RunRecords
from richter.audit._rating_agreement import AgreementReport
from richter.audit._results import ToldClaim
from richter.audit._severity_audit import SeverityReport
from richter.audit._tail_audit import TailReport
from richter.claims import side
from richter.errors import LedgerCorrupt
from richter.records import Claim, Interval, Verdict
from richter.store import Place, open_ledger

ECE_MARGIN = 0.02  # what labels_needed is for where no margin is stated, as in a comparison


@dataclasses.dataclass(slots=True, kw_only=True)
class Measured:
    """The results behind the sections; None where a section is missing."""

    exploratory: bool
    stamp: Mapping[str, Any] = dataclasses.field(default_factory=dict)  # plan, data, seed and basis of every claim
    comparison: CompareReport | None = None
    severity: SeverityReport | None = None
    draws: CalibrationReport | None = None
    grades: CalibrationReport | None = None
    agreement: AgreementReport | None = None
    tail: TailReport | None = None
    gate: GateReport | None = None
    stopping: Mapping[str, Any] = dataclasses.field(default_factory=dict)  # what ended the asking early, if anything


def claims_of(measured: Measured) -> tuple[ToldClaim, ...]:
    """Every claim of the document, with its `section` and on which `side` it is for the reader.

    What ended the asking comes first, then requirements, differences, severities, tails, and calibration one by one. A
    claim on one measure of the same conditions is in the document once.
    """
    rows, seen = [], set()
    for section, claim in _claims(measured):
        key = (section == "requirements", claim.measure, claim.conditions, claim.hypothesis)
        if key not in seen:
            seen.add(key)
            made = dataclasses.replace(claim, **{k: v for k, v in measured.stamp.items() if not getattr(claim, k)})
            rows.append(ToldClaim(claim=made, section=section, side=side(made)))
    return tuple(rows)


def _claims(measured: Measured) -> Iterator[tuple[str, Claim]]:
    if measured.stopping:
        yield "requirements", _stopped(measured.stopping)
    for rule in () if measured.gate is None else measured.gate.claims:
        yield "requirements", rule
    for check in () if measured.severity is None else measured.severity.requirements:
        yield "requirements", check
    for claim in () if measured.comparison is None else measured.comparison.claims:
        if len(claim.conditions) == 2 and claim.measure != "xi":
            yield "severity" if claim.measure == "b" else "floors", claim
    for claim in () if measured.severity is None else measured.severity.study.claims:
        yield "severity", claim
    for claim in () if measured.tail is None else measured.tail.study.claims:
        yield "tail", claim
    for claim in calibration_claims_of(measured):
        yield "calibration", claim


def _stopped(note: Mapping[str, Any]) -> Claim:
    """The claim that asking was stopped for, with limits that hold at every look."""
    try:
        return Claim(
            measure="stopping",
            conditions=(),
            verdict=Verdict(note["verdict"]),
            sentence=f"{note['sentence']} Asked {note['asked']:,} of {note['available']:,} items.",
            estimate=note["estimate"],
            interval=None if note["interval"] is None else Interval(**note["interval"]),
            n=note["n"],
            units=note["n"],
            notes=(f"the claim was: {note['claim']}",),
        )
    except (LookupError, TypeError, ValueError) as error:
        raise LedgerCorrupt(
            "The run was not written by Richter: its note on why asking stopped cannot be read.",
            remedy="Restore it from a copy, or use a new run folder.",
        ) from error


def calibration_claims_of(measured: Measured) -> list[Claim]:
    """Whether each condition is shown to be miscalibrated: by its draws, then by its confidences."""
    reports = (measured.draws, measured.grades)
    return [c.claim for report in reports if report is not None for c in report.conditions if c.claim is not None]


def searches_of(records: RunRecords) -> list[Place]:
    """The run itself where it is a search, and every part RUN/search* that holds one."""
    places = [records.place] if records.place is not None and records.notes["search"] else []
    for name, part in records.parts.items():
        if name.startswith("search"):
            with open_ledger(part) as ledger:
                if ledger.note("search") is not None:
                    places.append(part)
    return places
