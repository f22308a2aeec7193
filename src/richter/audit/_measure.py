"""Everything that a run's ledgers say, as one document, without one model call.

`measure_run` reads the records once and hands them to the sections, each of which calls the functions behind the
commands: a number here is the number that the command prints. A section that cannot be had says what is missing and
which command would get it.
"""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl

from richter import __version__
from richter.audit._calibration_audit import draws_table, measure_calibration
from richter.audit._calibration_results import CalibrationReport
from richter.audit._comparison import CompareReport, compare_tables
from richter.audit._drawn_questions import CalibrationSection, drawn_questions
from richter.audit._floors_audit import FloorsSection
from richter.audit._gate_check import run_gate
from richter.audit._judge_trust import study_judges
from richter.audit._measure_claims import RunStudy, claims_of, searches_of
from richter.audit._measure_conditions import measure_conditions
from richter.audit._measure_run import RunRecords, read_as_planned, read_records, run_plan
from richter.audit._measure_severity import SeveritySection, severity_section
from richter.audit._measure_summary import checks_of, first_lines_of, next_steps, signature_of
from richter.audit._pictures import Picture, results_picture
from richter.audit._plan import POLICY_DEFAULTS, Plan, versions
from richter.audit._plan_lock import PlanStatus
from richter.audit._plan_tail import tail_plan
from richter.audit._rating_agreement import (
    JudgesSection,
    agreement_by_labels,
    judges_section,
    measure_agreement,
)
from richter.audit._results import (
    SCHEMA,
    Check,
    ConditionResults,
    Methods,
    Missing,
    NoSection,
    PageClaim,
    PlanFacts,
    RunFacts,
    Signature,
)
from richter.audit._search_section import SearchSection, find_search_reader
from richter.audit._severity_audit import weigh_scores
from richter.audit._tail_audit import SCORES, TailSection, study_column, tail_column, tail_section
from richter.claims import Asked, measure_words
from richter.errors import InputError
from richter.evidence import MissingPolicy, margins_of
from richter.interop import Source
from richter.records import DEFAULT_LEVEL, LOST_END, Claim, Refused, Result, Shown, of_kind, schema_of
from richter.stats import Mapper, in_threads
from richter.tables import Dataset, ReadOptions
from richter.words import SECTION_LACKS, TEXTLESS_REMEDIES, FirstLines, describe_document_question

__all__ = ["SECTIONS", "RunResults", "measure_run", "results_schema"]

VERSION = 3


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Sections(Result):
    """What was measured, one by one; what cannot be had says what is missing."""

    severity: SeveritySection | NoSection
    tail: TailSection | NoSection
    calibration: CalibrationSection | NoSection
    floors: FloorsSection | NoSection
    search: tuple[SearchSection, ...] | NoSection
    judges: JudgesSection | NoSection


# what a table without the answers' texts lacks for a section: no judge and no person could read them
SECTIONS = tuple(field.name for field in dataclasses.fields(Sections))


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RunResults(Shown):
    """What `richter report --json` writes of a run or of any other data; `tables` are what it was made from."""

    schema: ClassVar = SCHEMA
    unwritten: ClassVar = ("tables",)

    version: int = VERSION
    richter: str = __version__
    run: RunFacts
    question: str
    answer: str
    first_lines: FirstLines
    understood: str
    notes: tuple[str, ...]
    conditions: tuple[ConditionResults, ...]
    claims: tuple[PageClaim, ...]
    refused: tuple[Refused, ...]
    checks: tuple[Check, ...]
    next: tuple[str, ...]
    signature: Signature
    sections: Sections
    methods: Methods
    tables: Dataset

    def _shown(self) -> Picture:
        return results_picture(self)


def results_schema() -> dict[str, Any]:
    """The JSON schema (draft 2020-12) of the document, made from its types."""
    reader = find_search_reader()
    return schema_of(RunResults, substitutes={} if reader is None else {SearchSection: reader.kind})


def measure_run(
    *sources: Source,
    options: ReadOptions | None = None,
    conditions: Sequence[str] = (),
    only: Collection[str] | None = None,
    plan: str | Path | None = None,
    seed: int = 0,
    level: float | None = None,
    margin: float | Mapping[str, float] | None = None,
    on: Sequence[str] = (),
    tried: int = 1,
    missing: MissingPolicy = "both-ways",
    trust_ids: bool = False,
    trust_raters: bool = False,
    trust_labels: bool = False,
    unpaired: bool = False,
    n_resamples: int = 2000,
    watch: Callable[[str], None] | None = None,
    mapper: Mapper = in_threads,
) -> RunResults:
    """Measure a run, or any other sources: every section they allow, or `only` some. Asks nothing.

    Nothing is written.

    `options` and `conditions` say how to read and what to keep. `plan` is the run's plan.toml unless another is given;
    `level` is that of a severity plan unless another is stated. `on`, `tried`, `missing`, `unpaired` and the `trust_`
    options are those of `compare_tables`; what differs from a plan makes the result exploratory.
    `watch` is told the name of each section as it begins, and `mapper` says where pairs are tested and calibrations
    measured. The same ledgers, plan and seed give the same document, byte for byte, whatever the mapper; the paths of
    the folder are not in it.
    """
    unknown = [name for name in only or () if name not in SECTIONS]
    if unknown:
        raise InputError(f"There is no section {unknown[0]!r}.", remedy=f"There are {', '.join(SECTIONS)}.")
    options = read_as_planned(sources, plan, options)
    records = read_records(*sources, options=options, conditions=conditions)
    stated = {"missing": missing, "trust_ids": trust_ids, "trust_raters": trust_raters,
              "trust_labels": trust_labels, "unpaired": unpaired, "on": tuple(on), "tried": tried}  # fmt: skip
    vouched = {name: value for name, value in stated.items() if value != POLICY_DEFAULTS[name]}
    given: dict[str, Any] = {"seed": seed, "n_resamples": n_resamples, "conditions": list(conditions), **vouched}
    given |= {} if level is None else {"level": level}
    chosen, status = run_plan(records, plan, options=given)
    study = RunStudy(
        records=records,
        plan=chosen,
        status=status,
        wanted=set(only or SECTIONS),
        seed=seed,
        level=_planned_level(chosen) if level is None else level,
        margin=margin,
        vouched=vouched,
        n_resamples=n_resamples,
        watch=watch,
        mapper=mapper,
    )
    return _measure_study(study)


def _planned_level(plan: Plan | None) -> float:
    """The level of a severity plan, else the usual one."""
    return float(plan.values["level"]) if plan is not None and plan.kind == "severity" else DEFAULT_LEVEL


def _measure_study(study: RunStudy) -> RunResults:
    """The document: its sections, then what is said of them together."""
    records, status = study.records, study.status
    order = ("calibration", "floors", "severity", "judges", "tail", "search")  # a later one uses what earlier found
    sections = {name: _section(study, name) for name in order}
    if isinstance(sections["calibration"], CalibrationSection):  # with the claims as the page decided them
        decided = dataclasses.replace(sections["calibration"], draws=study.draws, grades=study.grades)
        sections["calibration"] = decided
    rows = measure_conditions(records, draws=study.draws, grades=study.grades, level=study.level)
    page = study.comparison
    first = first_lines_of(study, rows)
    notes = records.tables.notes if page is None else page.notes
    return RunResults(
        run=RunFacts(
            name=records.name,
            bench=records.bench,
            items=len(records.items),
            started_at=records.moment(0),
            ended_at=records.moment(1),
            state=records.state,
            lost=records.lost,
            ratings=records.basis,
        ),
        question=describe_document_question(records.names),
        answer=first.headline,
        first_lines=first,
        understood=records.tables.understood,
        notes=tuple(note for note in notes if note not in of_kind(notes, LOST_END)),  # which `run` has
        conditions=rows,
        claims=claims_of(study),
        refused=() if page is None else page.refused,
        checks=checks_of(study),
        next=next_steps(study, sections),
        signature=signature_of(study, rows),
        sections=Sections(**sections),
        methods=Methods(
            plan=_plan_facts(study.plan, status),
            seed=study.seed,
            level=study.level,
            margins={} if page is None else page.margins,
            vouched=study.vouched,
            n_resamples=study.n_resamples,
            versions=versions(),
            spent=records.spent,
            exploratory=study.is_exploratory,
        ),
        tables=records.tables,
    )


def _plan_facts(plan: Plan | None, status: PlanStatus | None) -> PlanFacts | None:
    if plan is None or status is None:
        return None
    return PlanFacts(
        hash=plan.hash,
        locked_at=status.locked_at,
        fields=plan.values,
        kind=plan.kind,
        state=status.state,
        vouched=status.vouched or "; ".join(status.reasons),
    )


def _section(study: RunStudy, name: str) -> Any:
    """A section's content, or what is missing for it."""
    if name not in study.wanted:
        return _missing(SECTION_LACKS["not asked"], f"richter report {study.records.command}")
    if study.watch is not None:
        study.watch(name)
    lacking = _lacks_records(study.records, name)
    if lacking is not None:
        return _with_remedy(study.records, name, lacking)
    try:
        return _with_remedy(study.records, name, MAKERS[name](study))
    except InputError as fault:
        return _missing(*_without_path(study.records, fault))


def _with_remedy(records: RunRecords, name: str, section: Any) -> Any:
    """A remedy that works on these data: files become a run first, and grades alone get what they lack."""
    if not isinstance(section, NoSection):
        return section
    if name in TEXTLESS_REMEDIES and records.state != "empty" and not records.tables.has_texts:
        return _missing(section.missing.reason, TEXTLESS_REMEDIES[name])
    if not records.files or name == "floors":  # a second file is compared with the first one as it is
        return section
    remedy = section.missing.remedy.replace(records.command, "RUN")
    return _missing(section.missing.reason, f"richter import {records.command} -o RUN; {remedy}")


def _without_path(records: RunRecords, fault: InputError) -> tuple[str, str]:
    """A fault's reason and remedy, without the path of the folder: results do not depend on where a run lies."""
    here, name = str(records.place), records.name
    return fault.what.replace(here, name), fault.remedy.replace(here, name)


def _lacks_records(records: RunRecords, name: str) -> NoSection | None:
    """What every section needs: answers, and (but for searches and tails) ratings."""
    run = records.command
    if records.state == "empty":
        return _missing(SECTION_LACKS["empty"], f"richter audit --only ask {run} --bench ITEMS --model MODEL")
    if name in ("severity", "floors", "judges") and records.basis is None:
        return _missing(SECTION_LACKS["ungraded"], f"richter audit --only judge {run} --rules")
    if name == "severity" and records.basis == "grader":
        return _missing(SECTION_LACKS["severity"], f"richter audit --only judge {run} --judges MODEL,MODEL")
    return None


def _measure_severity(study: RunStudy) -> SeveritySection:
    """The study of severities; its claims are those of the page."""
    plan, page = study.plan_of("severity"), study.comparison
    asked: dict[str, Any] = {"plan": None if plan is None else plan.path}
    if plan is None:
        required = [] if study.plan is None else study.plan.values.get("require", [])
        asked["require"] = [rule for rule in required if isinstance(rule, str)]
        asked |= {"n_resamples": study.n_resamples, "level": study.level, "seed": study.seed}
    asked |= {
        **study.vouched,
        "status": study.status,
        "mapper": study.mapper,
        "decided": None if page is None else page.claims,
    }
    study.severity = weigh_scores(study.records.tables, **asked)
    return severity_section(study.records, study.severity)


def _measure_floors(study: RunStudy) -> FloorsSection | NoSection:
    """The comparison, which decides the claims of the whole page."""
    tables, gate = study.records.tables, study.plan_of("gate")
    if gate is not None:
        study.gate = run_gate(gate, tables, status=study.status)
    if len(tables.conditions) < 2:
        again = study.records.command
        ask = f"richter audit --only ask {again} --bench ITEMS --model ANOTHER"
        return _missing(
            SECTION_LACKS["one model"].format(name=tables.conditions[0]),
            f"richter compare {again} OTHER.csv" if study.records.files else ask,
        )
    vouched = dict(study.vouched)
    on = tuple(vouched.pop("on", ()))
    margins = margins_of(tables, study.margin, on[0] if on and not measure_words(on[0]).is_cost else None)
    tail, severity = study.plan_of("tail"), study.plan_of("severity")
    if severity is not None:
        from richter.audit._plan_severity import plan_margins  # here, since slopes are slow to load

        margins |= plan_margins(severity.values)
    report = compare_tables(  # no direction is fixed beforehand: a claim is what its sentence states
        tables,
        on=on if on or severity is None else (severity.values["primary"],),
        margin=margins,
        tail_plan=None if tail is None else tail_plan(tail),
        more=[*_as_others(study.grades), *_as_others(study.draws)],
        **vouched,
        n_resamples=study.n_resamples,
        level=study.level,
        seed=study.seed,
    )
    if study.status is not None:
        report = dataclasses.replace(report, claims=study.status.mark_claims(report.claims))
    study.comparison = report
    study.grades, study.draws = _with_decided(study.grades, report), _with_decided(study.draws, report)
    of_pairs = tuple(c for c in report.claims if len(c.conditions) == 2)  # others have sections of their own
    return FloorsSection(comparison=dataclasses.replace(report, claims=of_pairs))


def _with_decided(report: CalibrationReport | None, page: CompareReport) -> CalibrationReport | None:
    """A calibration with its claims as the page decided them."""
    if report is None:
        return None
    decided: dict[tuple[str, tuple[str, ...]], Claim]
    decided = {(c.measure, c.conditions): c for c in page.claims if len(c.conditions) == 1}
    return report.with_claims([decided[a.question.name, a.question.conditions] for a in report.asked])


def _measure_calibration(study: RunStudy) -> CalibrationSection | NoSection:
    """Calibration by the answers' own confidences, and by repeated draws."""
    records = study.records
    rows = records.rows
    if records.tables.metric == "mean_score" and rows["correct"].null_count() == len(rows):
        return _missing(
            SECTION_LACKS["right or wrong"], f"richter audit --only judge {records.command} --judges MODEL,MODEL"
        )
    draw = f"richter audit --only draw {records.command}/draws --bench ITEMS --model MODEL --draws 20 --limit 60"
    sure = rows.filter(pl.col("confidence").is_not_null(), pl.col("correct").is_not_null())
    study.grades = None if sure.is_empty() else _calibrated(study, records.tables, stated=True)
    why = (SECTION_LACKS["repeats"], draw)
    try:
        drawn = None if records.place is None else draws_table(records.place)
        if drawn is not None or int(rows["draw"].to_numpy().max()) > 0:
            study.draws = _calibrated(study, drawn or records.tables)
    except InputError as fault:
        why = _without_path(records, fault)
    if study.draws is None and study.grades is None:
        return _missing(f"{why[0]} {SECTION_LACKS['confidence']}", why[1])
    lacking = _with_remedy(records, "calibration", _missing(*why)).missing
    return CalibrationSection(
        draws=study.draws,
        grades=study.grades,
        confidence={name: records.asked[name].confidence for name in records.names},
        questions=() if study.draws is None else drawn_questions(study.draws),
        draws_missing=lacking if study.draws is None else None,
    )


def _calibrated(study: RunStudy, source: Source | Dataset, *, stated: bool = False) -> CalibrationReport:
    rng = np.random.default_rng(study.seed)
    return measure_calibration(source, rng=rng, level=study.level, stated=stated, mapper=study.mapper)


def _measure_judges(study: RunStudy) -> JudgesSection | NoSection:
    """How far raters agree, and each judge with human labels."""
    records = study.records
    trust = study_judges(records.tables, level=study.level)
    if len({(r.kind, r.rater) for r in records.ratings}) < 2:
        if trust is not None and any(judge.agreement is not None for judge in trust.judges):
            return judges_section(records, agreement_by_labels(trust, file=records.name))
        return _missing(
            SECTION_LACKS["one rater"],
            f"richter audit --only judge {records.command} --judges MODEL,MODEL --limit 60",
        )
    rng = np.random.default_rng(study.seed)
    found = measure_agreement(records.ratings_file(), rng=rng, file=records.name)
    study.agreement = dataclasses.replace(found, trust=trust)
    return judges_section(records, study.agreement)


def _measure_tail(study: RunStudy) -> TailSection | NoSection:
    """The tail protocol on the scores that lie beside a run."""
    records = study.records
    column = tail_column(records, study.plan)
    if column is None:
        return _missing(
            SECTION_LACKS["tail"],
            f"richter audit {records.command} --scorer nll -o {shlex.quote(records.name)}/{SCORES}",
        )
    assert records.place is not None  # `tail_column` found it there
    plan = study.plan_of("tail")
    asked: dict[str, Any] = {"overrides": {"n_resamples": study.n_resamples}, "seed": study.seed}
    asked = asked if plan is None else {"plan_path": plan.path}
    study.tail = study_column(records.place / SCORES, column=column, status=study.status, **asked)
    return tail_section(study.tail)


def _measure_search(study: RunStudy) -> tuple[SearchSection, ...] | NoSection:
    """What the run's searches for errors show."""
    searches = searches_of(study.records)
    if not searches:
        return _missing(
            SECTION_LACKS["search"],
            f"richter search {study.records.command}/search --kb BASE --model MODEL --budget 2000calls",
        )
    reader = find_search_reader()
    if reader is None:
        return _missing(SECTION_LACKS["search package"], "pip install 'richter[audit]'")
    return tuple(reader.read(search, level=study.level) for search in searches)


MAKERS: Mapping[str, Callable[[RunStudy], Any]] = {
    "calibration": _measure_calibration,
    "floors": _measure_floors,
    "severity": _measure_severity,
    "judges": _measure_judges,
    "tail": _measure_tail,
    "search": _measure_search,
}


def _as_others(report: CalibrationReport | None) -> list[Asked]:
    """The questions of a calibration beside a page's main measure."""
    asked = () if report is None else report.asked
    return [dataclasses.replace(a, question=dataclasses.replace(a.question, family="other")) for a in asked]


def _missing(reason: str, remedy: str) -> NoSection:
    return NoSection(missing=Missing(reason=reason, remedy=remedy))
