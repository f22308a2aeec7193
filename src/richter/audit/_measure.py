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
from richter.audit._calibration_map import CalibrationSection, drawn_questions
from richter.audit._calibration_results import CalibrationReport
from richter.audit._comparison import compare_tables, margins_of
from richter.audit._floors_audit import FloorsSection, floors_section
from richter.audit._gate_check import run_gate
from richter.audit._measure_claims import Measured, claims_of, searches_of
from richter.audit._measure_conditions import measure_conditions
from richter.audit._measure_run import RunRecords, open_records, read_as_planned, run_plan
from richter.audit._measure_severity import SeveritySection, severity_section
from richter.audit._measure_words import answer_of, checks_of, next_steps, question_of, signature_of
from richter.audit._pictures import Picture, results_picture
from richter.audit._plan import Plan, versions
from richter.audit._plan_lock import PlanStatus, record_use
from richter.audit._plan_tail import tail_plan
from richter.audit._rating_agreement import JudgesSection, judges_section, measure_agreement
from richter.audit._results import (
    SCHEMA,
    STOP_NOTE,
    Check,
    ConditionResults,
    Methods,
    Missing,
    NoSection,
    PlanFacts,
    RunFacts,
    Signature,
    ToldClaim,
)
from richter.audit._search_section import SearchSection, find_search_reader
from richter.audit._severity_audit import weigh_scores
from richter.audit._tail_audit import SCORES, TailSection, study_column, tail_column, tail_section
from richter.claims import Asked
from richter.errors import InputError
from richter.interop import Source
from richter.records import DEFAULT_LEVEL, Claim, Refused, Result, Shown, schema_of
from richter.stats import Mapper, in_threads
from richter.store import DatabaseRun
from richter.tables import Dataset, ReadOptions

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
WORDLESS = {
    "severity": "add a column `severity` (0 right to 4 worst), or `answer` with the texts, to be rated",
    "tail": "add a column with a continuous score, or `answer` with the texts, to be scored",
    "calibration": "add a column `confidence` (0 to 1)",
    "judges": "add the severities of two raters (`judge_1`, `judge_2`), or `answer` with the texts, to be rated",
}
SECTIONS = tuple(field.name for field in dataclasses.fields(Sections))


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RunResults(Shown):
    """What `richter report --json` writes of a run or of any other data; `tables` are what it was made from."""

    schema: ClassVar = SCHEMA
    unwritten: ClassVar = ("tables",)

    version: int = VERSION
    richter: str = __version__
    run: RunFacts
    question: str
    answer: str
    understood: str
    notes: tuple[str, ...]
    conditions: tuple[ConditionResults, ...]
    claims: tuple[ToldClaim, ...]
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
    n_resamples: int = 2000,
    watch: Callable[[str], None] | None = None,
    mapper: Mapper = in_threads,
) -> RunResults:
    """Measure a run, or any other sources: every section they allow, or `only` some. Asks nothing.

    Nothing is written but, where there is a plan, a line of its log.

    `options` and `conditions` say how to read and what to keep. `plan` is the run's plan.toml unless another is given;
    `level` is that of a severity plan unless another is stated.
    `watch` is told the name of each section as it begins, and `mapper` says where pairs are tested and calibrations
    measured. The same ledgers, plan and seed give the same document, byte for byte, whatever the mapper; the paths of
    the folder are not in it.
    """
    unknown = [name for name in only or () if name not in SECTIONS]
    if unknown:
        raise InputError(f"There is no section {unknown[0]!r}.", remedy=f"There are {', '.join(SECTIONS)}.")
    options = read_as_planned(sources, plan, options)
    with open_records(*sources, options=options, conditions=conditions) as records:
        given = {"seed": seed, "n_resamples": n_resamples, "conditions": list(conditions)}
        given |= {} if level is None else {"level": level}
        chosen, status = run_plan(records, plan, options=given)
        if level is None:
            is_planned = chosen is not None and chosen.kind == "severity"
            level = float(chosen.values["level"]) if chosen is not None and is_planned else DEFAULT_LEVEL
        exploratory = status is None or not status.confirmatory
        locked = None if chosen is None or exploratory else chosen.hash
        stamp = {"plan": locked, "data_hash": records.tables.data_hash, "seed": seed, "basis": records.tables.basis}
        measured = Measured(exploratory=exploratory, stamp=stamp, stopping=records.notes[STOP_NOTE])
        found = _Measuring(
            records=records,
            plan=chosen,
            status=status,
            wanted=set(only or SECTIONS),
            measured=measured,
            seed=seed,
            level=level,
            margin=margin,
            n_resamples=n_resamples,
            watch=watch,
            mapper=mapper,
        )
        order = ("calibration", "floors", "severity", "judges", "tail", "search")  # a later one uses what earlier found
        sections = {name: found.section(name) for name in order}
        if "floors" in found.wanted and measured.comparison is not None:
            sections["calibration"] = found.with_decided(sections["calibration"])
        rows = measure_conditions(records, draws=measured.draws, grades=measured.grades, level=level)
        results = RunResults(
            run=RunFacts(
                name=records.name,
                bench=records.bench,
                items=len(records.items),
                started_at=records.moment(0),
                ended_at=records.moment(1),
                state=records.state,
                ratings=records.basis,
            ),
            question=question_of(records.names),
            answer=answer_of(records, measured, rows, chosen),
            understood=records.tables.understood,
            notes=records.tables.notes if measured.comparison is None else measured.comparison.notes,
            conditions=rows,
            claims=claims_of(measured),
            refused=() if measured.comparison is None else measured.comparison.refused,
            checks=checks_of(records, measured, status),
            next=next_steps(records, measured, sections, found.wanted),
            signature=signature_of(records, measured, rows, status, level=level),
            sections=Sections(**sections),
            methods=Methods(
                plan=_plan_facts(chosen, status),
                deviations=() if status is None else (*status.deviations, *status.reasons),
                seed=seed,
                level=level,
                margins={} if measured.comparison is None else measured.comparison.margins,
                n_resamples=n_resamples,
                versions=versions(),
                spent=records.spent,
                exploratory=measured.exploratory,
            ),
            tables=records.tables,
        )
        if chosen is not None and status is not None and not (plan is None and isinstance(records.place, DatabaseRun)):
            record_use(chosen.path, status)
        return results


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


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Measuring:
    """The sections in turn; the results behind them, which claims and checks are made from, go into `measured`."""

    records: RunRecords
    plan: Plan | None
    status: PlanStatus | None
    wanted: set[str]
    measured: Measured
    seed: int
    level: float
    margin: float | Mapping[str, float] | None
    n_resamples: int
    watch: Callable[[str], None] | None
    mapper: Mapper

    def section(self, name: str) -> Any:
        """A section's content, or what is missing for it."""
        if name not in self.wanted:
            return _missing("It was not asked for.", f"richter report {self.records.command}")
        if self.watch is not None:
            self.watch(name)
        why = self._nothing(name)
        if why is not None:
            return self._for_these(name, why)
        try:
            return self._for_these(name, getattr(self, f"_{name}")())
        except InputError as fault:
            return _missing(*self._said(fault))

    def _for_these(self, name: str, section: Any) -> Any:
        """A remedy that works on these data: files become a run first, and grades alone get what they lack."""
        if not isinstance(section, NoSection):
            return section
        if name in WORDLESS and self.records.state != "empty" and not self.records.worded:
            return _missing(section.missing.reason, WORDLESS[name])
        if not self.records.files:
            return section
        remedy = section.missing.remedy.replace(self.records.command, "RUN")
        return _missing(section.missing.reason, f"richter import {self.records.command} -o RUN; {remedy}")

    def _said(self, fault: InputError) -> tuple[str, str]:
        """A fault's reason and remedy, without the path of the folder: results do not depend on where a run lies."""
        here, name = str(self.records.folder), self.records.name
        return fault.what.replace(here, name), fault.remedy.replace(here, name)

    def _nothing(self, name: str) -> NoSection | None:
        """What every section needs: answers, and (but for searches and tails) ratings."""
        run, records = self.records.command, self.records
        if records.state == "empty":
            return _missing("The run holds no answers.", f"richter audit --only ask {run} --bench ITEMS --model MODEL")
        if name in ("severity", "floors", "judges") and records.basis is None:
            return _missing(
                "No answer is rated, so nothing is graded or weighed.", f"richter audit --only judge {run} --rules"
            )
        if name == "severity" and records.basis == "grader":
            why = "Answers are graded, not weighed: how bad an error is takes a judge or a person."
            return _missing(why, f"richter audit --only judge {run} --judges MODEL,MODEL")
        return None

    def _planned(self, kind: str) -> Plan | None:
        """The plan where it is of this kind: its values hold then, and another kind's do not concern the section."""
        return self.plan if self.plan is not None and self.plan.kind == kind else None

    def _severity(self) -> SeveritySection:
        """The study of severities; its claims are those of the page."""
        records, plan = self.records, self._planned("severity")
        asked: dict[str, Any] = {"plan": None if plan is None else plan.path}
        if plan is None:
            required = [] if self.plan is None else self.plan.values.get("require", [])
            asked["require"] = [rule for rule in required if isinstance(rule, str)]
            asked |= {"n_resamples": self.n_resamples, "level": self.level, "seed": self.seed}
        page = self.measured.comparison
        asked |= {"status": self.status, "mapper": self.mapper, "decided": None if page is None else page.claims}
        self.measured.severity = report = weigh_scores(records.tables, **asked)
        return severity_section(records, report)

    def _floors(self) -> FloorsSection | NoSection:
        tables = self.records.tables
        values = {} if self.plan is None else self.plan.values
        gate, tail, severity = (self._planned(kind) for kind in ("gate", "tail", "severity"))
        if gate is not None:
            self.measured.gate = run_gate(gate, tables, status=self.status)
        if len(tables.conditions) < 2:
            return _missing(
                f"There is one condition ({tables.conditions[0]}); a comparison needs two.",
                f"richter audit --only ask {self.records.command} --bench ITEMS --model ANOTHER",
            )
        margins = {} if self.margin is None else margins_of(tables, self.margin)
        if severity is not None and values.get("margin"):
            margins["severity_given_error"] = values["margin"]
        report = compare_tables(  # no direction is fixed beforehand: a claim is what its sentence states
            tables,
            on=() if severity is None else (values["primary"],),
            margin=margins,
            tail_plan=None if tail is None else tail_plan(tail),
            more=[a for r in (self.measured.grades, self.measured.draws) if r is not None for a in _as_others(r)],
            n_resamples=self.n_resamples,
            level=self.level,
            seed=self.seed,
        )
        if self.status is not None:
            report = dataclasses.replace(report, claims=self.status.mark_claims(report.claims))
        self.measured.comparison = report
        for name in ("grades", "draws"):
            own: CalibrationReport | None = getattr(self.measured, name)
            if own is not None:
                decided: dict[tuple[str, tuple[str, ...]], Claim]
                decided = {(c.measure, c.conditions): c for c in report.claims if len(c.conditions) == 1}
                keys = [(a.question.name, a.question.conditions) for a in own.asked]
                setattr(self.measured, name, own.with_claims([decided[key] for key in keys]))
        of_pairs = tuple(c for c in report.claims if len(c.conditions) == 2)  # others have sections of their own
        return floors_section(dataclasses.replace(report, claims=of_pairs))

    def with_decided(self, section: Any) -> Any:
        """The section on calibration with the claims as the page decided them."""
        if not isinstance(section, CalibrationSection):
            return section
        return dataclasses.replace(section, draws=self.measured.draws, grades=self.measured.grades)

    def _calibration(self) -> CalibrationSection | NoSection:
        rows = self.records.rows
        if self.records.tables.metric == "mean_score" and rows["correct"].null_count() == len(rows):
            ungraded = "No answer is graded right or wrong, so nothing says whether confidence fits."
            return _missing(ungraded, f"richter audit --only judge {self.records.command} --judges MODEL,MODEL")
        draw = (
            f"richter audit --only draw {self.records.command}/draws --bench ITEMS --model MODEL --draws 20 --limit 60"
        )
        sure = rows.filter(pl.col("confidence").is_not_null(), pl.col("correct").is_not_null()).height > 0
        grades = self._calibrated(self.records.tables, stated=True) if sure else None
        draws, why = None, ("No answer was drawn repeatedly.", draw)
        try:
            drawn = None if self.records.place is None else draws_table(self.records.place)
            if drawn is not None or int(rows["draw"].to_numpy().max()) > 0:
                draws = self._calibrated(drawn or self.records.tables)
        except InputError as fault:
            why = self._said(fault)
        self.measured.draws, self.measured.grades = draws, grades
        if draws is None and grades is None:
            return _missing(f"{why[0]} No graded answer carries a confidence.", why[1])
        return CalibrationSection(
            draws=draws,
            grades=grades,
            confidence={name: self.records.asked[name].confidence for name in self.records.names},
            questions=() if draws is None else drawn_questions(draws),
            draws_missing=None if draws is not None else self._for_these("calibration", _missing(*why)).missing,
        )

    def _calibrated(self, source: Source | Dataset, *, stated: bool = False) -> CalibrationReport:
        rng = np.random.default_rng(self.seed)
        return measure_calibration(source, rng=rng, level=self.level, stated=stated, mapper=self.mapper)

    def _judges(self) -> JudgesSection | NoSection:
        raters = {(r.kind, r.rater) for r in self.records.ratings}
        if len(raters) < 2:
            return _missing(
                "One rater alone: nobody to agree with.",
                f"richter audit --only judge {self.records.command} --judges MODEL,MODEL --limit 60",
            )
        rng, ratings = np.random.default_rng(self.seed), self.records.ratings_file()
        self.measured.agreement = report = measure_agreement(ratings, rng=rng, file=self.records.name)
        return judges_section(self.records, report)

    def _tail(self) -> TailSection | NoSection:
        column = tail_column(self.records, self.plan)
        if column is None:
            run = self.records.command
            return _missing(
                "No continuous severity was scored: half-step ratings have no continuous tail.",
                f"richter severity score {run} --scorer nll -o {shlex.quote(self.records.name)}/{SCORES}",
            )
        assert self.records.folder is not None  # `tail_column` found it there
        plan, path = self._planned("tail"), self.records.folder / SCORES
        asked: dict[str, Any] = {"overrides": {"n_resamples": self.n_resamples}, "seed": self.seed}
        asked = asked if plan is None else {"plan_path": plan.path}
        self.measured.tail = report = study_column(path, column=column, status=self.status, **asked)
        return tail_section(report)

    def _search(self) -> tuple[SearchSection, ...] | NoSection:
        searches = searches_of(self.records)
        if not searches:
            run = self.records.command
            return _missing(
                "No search for errors was run.",
                f"richter search run {run}/search --kb BASE --model MODEL --budget 2000calls",
            )
        reader = find_search_reader()
        if reader is None:
            return _missing("The package that reads searches is not installed.", "pip install 'richter[audit]'")
        return tuple(reader.read(search, level=self.level) for search in searches)


def _as_others(report: CalibrationReport) -> list[Asked]:
    """The questions of a calibration beside a page's main measure."""
    return [dataclasses.replace(a, question=dataclasses.replace(a.question, family="other")) for a in report.asked]


def _missing(reason: str, remedy: str) -> NoSection:
    return NoSection(missing=Missing(reason=reason, remedy=remedy))
