"""Every claim of a run, from the results behind its sections: a sentence first, with what it rests on."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Literal

import numpy as np

from richter import ascent
from richter.audit._agreement import AgreementReport
from richter.audit._calibration import CalibrationReport
from richter.audit._compare import CompareReport
from richter.audit._gate import GateReport
from richter.audit._measure_run import RunRecords
from richter.audit._results import ToldClaim
from richter.audit._severity import SeverityReport
from richter.audit._tail import TailReport
from richter.claims import side
from richter.errors import InputError, LedgerCorrupt, RichterError
from richter.knowledge import open_base
from richter.records import Claim, Interval, Result, Verdict, printable
from richter.store import Place, open_ledger

MOST, LONG = 100, 300  # characters of a short and of a long text
LISTED = 300  # failing questions
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


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Spot(Result):
    """A paragraph on the map of its base: its category, first question and share of wrong answers; whether it fails.

    Searches of one base lie in one plane.
    """

    x: float
    y: float
    category: str
    wrong: float
    fails: bool = True
    question: str = ""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Failing(Result):
    """A question answered wrongly, the share of its other wordings that are too, and the text it was made from."""

    mode: str
    question: str
    right: str
    answered: str
    reworded: float | None
    text: str
    place: str


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SearchResults(Result):
    """A search as `richter search show --json` prints it, with its map and texts where the base still lies.

    `failing` are the first of `n_failing` questions, by mode, the modes with the most first.
    """

    flat: ClassVar = ("summary",)

    summary: ascent.SearchSummary
    name: str
    patterns: tuple[ascent.Pattern, ...]
    patterns_over: Literal["asked", "sample"] = "asked"
    map: tuple[Spot, ...] = ()
    clusters: tuple[ascent.ErrorCluster, ...] = ()
    map_missing: str | None = None
    failing: tuple[Failing, ...] = ()
    n_failing: int = 0


def search_results(run: Place, *, level: float) -> SearchResults:
    """What a search shows; `map_missing` says why it has no map."""
    summary, base = ascent.read_search(run), ascent.base_of(run)
    seed = summary.settings.seed
    try:
        failing = ascent.failing_questions(run, None if base is None else open_base(base)).questions
    except InputError:  # another base lies there now
        failing = ascent.failing_questions(run).questions
    missing, survey = None, None
    try:
        survey = None if base is None else ascent.survey_errors(run, open_base(base), rng=np.random.default_rng(seed))
    except RichterError as error:
        missing = str(error)
    return SearchResults(
        summary=summary,
        name=run.name.rpartition("/")[2],
        patterns=tuple(ascent.search_patterns(run, over="asked", level=level, rng=np.random.default_rng(seed))),
        map=tuple(
            Spot(x=p.x, y=p.y, category=p.category, wrong=p.error, fails=p.fails, question=_cut(p.question))
            for p in (() if survey is None else survey.points)
        ),
        clusters=() if survey is None else survey.clusters,
        map_missing="the knowledge base that was searched does not lie where it was" if base is None else missing,
        failing=tuple(
            Failing(
                mode=q.mode,
                question=_cut(q.item.prompt, LONG),
                right=_cut(q.item.reference),
                answered=_cut(q.said),
                reworded=q.reworded,
                text=_cut(q.text, LONG),
                place=_cut(q.place),
            )
            for q in failing[:LISTED]
        ),
        n_failing=len(failing),
    )


def _cut(text: str, most: int = MOST) -> str:
    return printable(text, limit=most)
