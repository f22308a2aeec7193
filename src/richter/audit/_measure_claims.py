"""A run under study, and every claim of it from the results behind its sections."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Set
from pathlib import Path
from typing import Any

from richter import severity as sev
from richter.audit._calibration_results import CalibrationReport
from richter.audit._comparison import CompareReport
from richter.audit._gate_check import GateReport
from richter.audit._measure_run import RunRecords
from richter.audit._plan import Plan
from richter.audit._plan_lock import PlanStatus
from richter.audit._rating_agreement import AgreementReport
from richter.audit._results import STOP_NOTE, PageClaim
from richter.audit._severity_audit import SeverityReport
from richter.audit._tail_audit import TailReport
from richter.errors import LedgerCorrupt
from richter.records import Claim, Interval, Verdict
from richter.stats import Mapper
from richter.store import open_ledger
from richter.words import side


@dataclasses.dataclass(slots=True, kw_only=True)
class RunStudy:
    """A run, how it is measured, and the results behind its sections as they come (None where a section is missing)."""

    records: RunRecords
    plan: Plan | None
    status: PlanStatus | None
    wanted: Set[str]
    seed: int
    level: float
    margin: float | Mapping[str, float] | None
    vouched: Mapping[str, Any]
    n_resamples: int
    watch: Callable[[str], None] | None
    mapper: Mapper
    comparison: CompareReport | None = None
    severity: SeverityReport | None = None
    draws: CalibrationReport | None = None
    grades: CalibrationReport | None = None
    agreement: AgreementReport | None = None
    tail: TailReport | None = None
    gate: GateReport | None = None

    @property
    def is_exploratory(self) -> bool:
        """Whether no plan confirms what is found."""
        return self.status is None or not self.status.confirmatory

    @property
    def stopping(self) -> Mapping[str, Any]:
        """What ended the asking early; empty where nothing did."""
        return self.records.notes[STOP_NOTE]

    @property
    def required(self) -> list[tuple[str, Claim]]:
        """Every requirement in words with its claim: of severities, then of a gate."""
        checks = () if self.severity is None else self.severity.requirements
        gate = [] if self.gate is None else list(zip(self.gate.requirements, self.gate.claims, strict=True))
        return [(sev.describe_requirement(check), check) for check in checks] + gate

    def plan_of(self, kind: str) -> Plan | None:
        """The plan where it is of this kind: its values hold then, and another kind's do not concern a section."""
        return self.plan if self.plan is not None and self.plan.kind == kind else None

    def stamp(self, claim: Claim) -> Claim:
        """The claim with the plan, the data, the seed and the basis of the run, where it names none itself."""
        tables = self.records.tables
        plan = None if self.plan is None or self.is_exploratory else self.plan.hash
        known = {"plan": plan, "data_hash": tables.data_hash, "seed": self.seed, "basis": tables.basis}
        return dataclasses.replace(claim, **{k: v for k, v in known.items() if not getattr(claim, k)})  # type: ignore[arg-type]


def claims_of(study: RunStudy) -> tuple[PageClaim, ...]:
    """Every claim of the document, with its `section` and on which `side` it is for the reader.

    What ended the asking comes first, then requirements, differences, severities, tails, and calibration one by one. A
    claim on one measure of the same conditions is in the document once.
    """
    found: dict[tuple[Any, ...], PageClaim] = {}
    for section, claim in _claims(study):
        stamped = study.stamp(claim)
        stop = claim.notes if claim.measure == STOP_NOTE else ()  # an audit may have settled several claims
        key = (section == "requirements", claim.measure, claim.conditions, claim.hypothesis, stop)
        found.setdefault(key, PageClaim(claim=stamped, section=section, side=side(stamped)))
    return tuple(found.values())


def _claims(study: RunStudy) -> Iterator[tuple[str, Claim]]:
    if study.stopping:
        for note in study.stopping.get("claims", [study.stopping]):
            yield "requirements", _stopped(note)
    gate = () if study.gate is None else study.gate.claims
    checks = () if study.severity is None else study.severity.requirements
    yield from (("requirements", claim) for claim in (*gate, *checks))
    for claim in () if study.comparison is None else study.comparison.claims:
        if len(claim.conditions) == 2 and claim.measure != "xi":
            yield "severity" if claim.measure == "b" else "floors", claim
    yield from (("severity", claim) for claim in (() if study.severity is None else study.severity.study.claims))
    yield from (("tail", claim) for claim in (() if study.tail is None else study.tail.study.claims))
    yield from (("calibration", claim) for claim in calibration_claims_of(study))


def _stopped(note: Mapping[str, Any]) -> Claim:
    """The claim that asking was stopped for, with limits that hold at every look."""
    try:
        return Claim(
            measure=STOP_NOTE,
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


def calibration_claims_of(study: RunStudy) -> list[Claim]:
    """Whether each condition is shown to be miscalibrated: by its draws, then by its confidences."""
    reports = (study.draws, study.grades)
    return [c.claim for report in reports if report is not None for c in report.conditions if c.claim is not None]


def searches_of(records: RunRecords) -> list[Path]:
    """The run itself where it is a search, and every part RUN/search* that holds one."""
    places = [records.place] if records.place is not None and records.notes["search"] else []
    for name, part in records.parts.items():
        if name.startswith("search"):
            with open_ledger(part) as ledger:
                if ledger.note("search") is not None:
                    places.append(part)
    return places
