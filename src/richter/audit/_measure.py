"""Everything that a run's ledgers say, as one document, without one model call.

`measure_run` reads the records once and hands them to the sections, each of which calls the functions behind the
commands: a number here is the number that the command prints. A section that cannot be had says what is missing and
which command would get it.
"""

import dataclasses
import json
import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, ClassVar

from richter import __version__
from richter.audit._agreement import agree_on_run, judges_section
from richter.audit._calibration_questions import calibration_section, measure_draws, measure_run_grades
from richter.audit._floors import compare_run, floors_section
from richter.audit._gate import run_gate
from richter.audit._measure_claims import Measured, claims_of, search_section, searches_of
from richter.audit._measure_conditions import measure_conditions
from richter.audit._measure_run import RunRecords, read_run, run_plan
from richter.audit._measure_severity import severity_section, weigh_run
from richter.audit._measure_words import answer_of, checks_of, next_steps, question_of, signature_of
from richter.audit._plan import Plan, PlanStatus, versions
from richter.audit._plan_tail import tail_plan
from richter.audit._sequential import STOP_NOTE
from richter.audit._tail import SCORES, study_tail, tail_column, tail_section
from richter.errors import InputError
from richter.interop import Source
from richter.records import Result, plain
from richter.stats import Mapper, in_threads
from richter.tables import ReadOptions, Tables

__all__ = ["SECTIONS", "RunResults", "measure_run", "results_schema"]

VERSION = 2
SECTIONS = ("severity", "tail", "calibration", "floors", "search", "judges")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RunResults(Result):
    """The results document of a run, already plain values (`results.schema.json` describes it), and its tables."""

    unwritten: ClassVar = ("tables",)
    flat: ClassVar = ("document",)

    document: Mapping[str, Any]
    tables: Tables


def results_schema() -> dict[str, Any]:
    """The JSON schema (draft 2020-12) of the document."""
    text = resources.files("richter.audit").joinpath("results.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def measure_run(
    *sources: Source,
    options: ReadOptions | None = None,
    conditions: Sequence[str] = (),
    only: Collection[str] | None = None,
    plan: str | Path | None = None,
    seed: int = 0,
    level: float = 0.95,
    n_resamples: int = 2000,
    watch: Callable[[str], None] | None = None,
    mapper: Mapper = in_threads,
) -> RunResults:
    """Measure a run, or any other sources: every section they allow, or `only` some. Asks nothing, writes nothing.

    `options` and `conditions` say how to read and what to keep. `plan` is the run's plan.toml unless another is given.
    `watch` is told the name of each section as it begins, and `mapper` says where pairs are tested and calibrations
    measured. The same ledgers, plan and seed give the same document, byte for byte, whatever the mapper; the paths of
    the folder are not in it.
    """
    unknown = [name for name in only or () if name not in SECTIONS]
    if unknown:
        raise InputError(f"There is no section {unknown[0]!r}.", remedy=f"There are {', '.join(SECTIONS)}.")
    records = read_run(*sources, options=options, conditions=conditions)
    chosen, status = run_plan(records, plan)
    found = _Measuring(
        records,
        chosen,
        status,
        set(only or SECTIONS),
        seed=seed,
        level=level,
        n_resamples=n_resamples,
        watch=watch,
        mapper=mapper,
    )
    sections = {name: found.section(name) for name in ("severity", "floors", "calibration", "judges", "tail", "search")}
    measured = found.measured
    rows = measure_conditions(records, draws=measured.draws, grades=measured.grades, level=level)
    claims = claims_of(measured)
    checks = checks_of(records, measured, status)
    document = {
        "schema": "richter/results",
        "version": VERSION,
        "richter": __version__,
        "run": {
            "name": records.name,
            "bench": records.bench,
            "items": len(records.items),
            "started_at": records.moment(0),
            "ended_at": records.moment(1),
            "state": records.state,
            "ratings": records.basis,
        },
        "question": question_of(records.names),
        "answer": answer_of(records, measured, rows, chosen),
        "conditions": rows,
        "claims": claims,
        "refused": [] if measured.comparison is None else measured.comparison.refused,
        "checks": checks,
        "next": next_steps(records, measured, sections),
        "signature": signature_of(records, measured, rows, status, level=level),
        "sections": {name: sections[name] for name in SECTIONS},
        "methods": {
            "plan": _plan_row(chosen, status),
            "deviations": [] if status is None else [*status.deviations, *status.reasons],
            "seed": seed,
            "level": level,
            "n_resamples": n_resamples,
            "versions": versions(),
            "spent": dict(records.spent),
            "exploratory": measured.exploratory,
        },
    }
    return RunResults(document=plain(document), tables=records.tables)


def _plan_row(plan: Plan | None, status: PlanStatus | None) -> dict[str, Any] | None:
    if plan is None or status is None:
        return None
    return {
        "hash": plan.hash,
        "locked_at": status.locked_at,
        "fields": dict(plan.values),
        "kind": plan.kind,
        "state": status.state,
        "vouched": status.vouched or "; ".join(status.reasons),
    }


class _Measuring:
    """The sections in turn, and the results behind them, which claims and checks are made from."""

    def __init__(
        self,
        records: RunRecords,
        plan: Plan | None,
        status: PlanStatus | None,
        wanted: set[str],
        *,
        seed: int,
        level: float,
        n_resamples: int,
        watch: Callable[[str], None] | None,
        mapper: Mapper,
    ) -> None:
        self.records, self.plan, self.status, self.wanted = records, plan, status, wanted
        self.seed, self.level, self.n_resamples, self.watch = seed, level, n_resamples, watch
        self.mapper = mapper
        exploratory = status is None or not status.confirmatory
        locked = None if plan is None or exploratory else plan.hash
        stamp = {"plan": locked, "data_hash": records.tables.data_hash, "seed": seed, "basis": records.tables.basis}
        self.measured = Measured(exploratory=exploratory, stamp=stamp, stopping=records.notes[STOP_NOTE])

    def section(self, name: str) -> Any:
        """A section's content, or what is missing for it."""
        if name not in self.wanted:
            return _missing("It was not asked for.", f"richter report {self.records.command}")
        if self.watch is not None:
            self.watch(name)
        why = self._nothing(name)
        if why is not None:
            return self._for_files(why)
        try:
            return self._for_files(getattr(self, f"_{name}")())
        except InputError as fault:
            return _missing(*self._said(fault))

    def _for_files(self, section: Any) -> Any:
        """A remedy that works on a run, said of files: they become one first."""
        if self.records.place is not None or not isinstance(section, dict) or "missing" not in section:
            return section
        reason, remedy = section["missing"]["reason"], section["missing"]["remedy"].replace(self.records.command, "RUN")
        return _missing(reason, f"richter import {self.records.command} -o RUN; {remedy}")

    def _said(self, fault: InputError) -> tuple[str, str]:
        """A fault's reason and remedy, without the path of the folder: results do not depend on where a run lies."""
        here, name = str(self.records.folder), self.records.name
        return fault.what.replace(here, name), fault.remedy.replace(here, name)

    def _nothing(self, name: str) -> dict[str, Any] | None:
        """What every section needs: answers, and (but for searches and tails) ratings."""
        run, records = self.records.command, self.records
        if records.state == "empty":
            return _missing("The run holds no answers.", f"richter ask {run} --bench ITEMS --model MODEL")
        if name in ("severity", "floors", "judges") and records.basis is None:
            return _missing("No answer is rated, so nothing is graded or weighed.", f"richter judge {run} --rules")
        if name == "severity" and records.basis == "grader":
            why = "Answers are graded right or wrong only: how bad an error is takes a judge or a person."
            return _missing(why, f"richter judge {run} --judges MODEL,MODEL")
        return None

    def _severity(self) -> dict[str, Any]:
        report = weigh_run(
            self.records,
            plan=self.plan,
            status=self.status,
            n_resamples=self.n_resamples,
            level=self.level,
            seed=self.seed,
            mapper=self.mapper,
        )
        self.measured.severity = report
        return severity_section(self.records, report)

    def _floors(self) -> dict[str, Any]:
        tables = self.records.tables
        values = {} if self.plan is None else self.plan.values
        severity = self.measured.severity  # its tests of b are the comparison's: one claim, one p-value
        if self.plan is not None and self.plan.kind == "gate":
            self.measured.gate = run_gate(self.plan, tables, status=self.status)
        if len(tables.conditions) < 2:
            return _missing(
                f"There is one condition ({tables.conditions[0]}); a comparison needs two.",
                f"richter ask {self.records.command} --bench ITEMS --model ANOTHER",
            )
        report = compare_run(
            tables,
            margin=values.get("margin"),
            severity_margin=values.get("severity_margin"),
            tail_plan=tail_plan(self.plan) if self.plan is not None and self.plan.kind == "tail" else None,
            slopes=None if severity is None else severity.study.claims,
            plan=None if self.plan is None or self.measured.exploratory else self.plan.hash,
            n_resamples=self.n_resamples,
            level=self.level,
            seed=self.seed,
        )
        self.measured.comparison = report
        return floors_section(report)

    def _calibration(self) -> dict[str, Any]:
        rows = self.records.rows
        if self.records.tables.metric == "mean_score" and rows["correct"].null_count() == len(rows):
            ungraded = "No answer is graded right or wrong, so nothing says whether confidence fits."
            return _missing(ungraded, f"richter judge {self.records.command} --judges MODEL,MODEL")
        draw = f"richter draw {self.records.command}/draws --bench ITEMS --model MODEL --draws 20 --limit 60"
        grades = measure_run_grades(self.records, level=self.level, seed=self.seed, mapper=self.mapper)
        draws, why = None, ("No answer was drawn repeatedly.", draw)
        try:
            draws = measure_draws(self.records, level=self.level, seed=self.seed, mapper=self.mapper)
        except InputError as fault:
            why = self._said(fault)
        self.measured.draws, self.measured.grades = draws, grades
        if draws is None and grades is None:
            return _missing(f"{why[0]} No graded answer carries a confidence.", why[1])
        missing = None if draws is not None else _missing(*why)["missing"]
        return calibration_section(self.records, draws, grades) | {"draws_missing": missing}

    def _judges(self) -> dict[str, Any]:
        raters = {(r.kind, r.rater) for r in self.records.ratings}
        if len(raters) < 2:
            return _missing(
                "One rater alone: nobody to agree with.",
                f"richter judge {self.records.command} --judges MODEL,MODEL --limit 60",
            )
        report = agree_on_run(self.records, seed=self.seed)
        self.measured.agreement = report
        return judges_section(self.records, report)

    def _tail(self) -> dict[str, Any]:
        column = tail_column(self.records, self.plan)
        if column is None:
            run = self.records.command
            return _missing(
                "No continuous severity was scored: half-step ratings have no continuous tail.",
                f"richter tail score {run} --scorer nll -o {shlex.quote(self.records.name)}/{SCORES}",
            )
        report = study_tail(
            self.records, column, plan=self.plan, status=self.status, n_resamples=self.n_resamples, seed=self.seed
        )
        self.measured.tail = report
        return tail_section(report, self.plan)

    def _search(self) -> Any:
        searches = searches_of(self.records)
        if not searches:
            run = self.records.command
            return _missing(
                "No search for errors was run.",
                f"richter search run {run}/search --kb BASE --model MODEL --budget 2000calls",
            )
        return search_section(searches, level=self.level)


def _missing(reason: str, remedy: str) -> dict[str, Any]:
    return {"missing": {"reason": reason, "remedy": remedy}}
