"""What `richter.open` gives: a run, a table in a file, or a frame, with every question that can be put to it."""

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from richter.audit._calibration_audit import measure_calibration, read_draws
from richter.audit._calibration_results import CalibrationReport
from richter.audit._comparison import CompareReport, compare_tables
from richter.audit._floors_audit import FloorsReport, measure_grades
from richter.audit._gate_check import GateReport, apply_gate_plan
from richter.audit._measure import RunResults, measure_run
from richter.audit._plan import read_plan
from richter.audit._plan_tail import tail_plan
from richter.audit._severity_audit import SeverityReport, weigh_scores
from richter.audit._tail_audit import TailReport, study_column
from richter.claims import About
from richter.errors import InputError
from richter.evidence import MissingPolicy
from richter.interop import RatingKind, Source, is_frame, named_source, source_name
from richter.records import DEFAULT_LEVEL, Claim, picture
from richter.store import DatabaseRun, Place, is_run, open_ledger
from richter.tables import Dataset, ReadOptions, read_tables

__all__ = ["Run", "open_run"]


def open_run(
    *sources: Source, ratings: RatingKind | None = None, options: ReadOptions | None = None, confirm: bool = False
) -> "Run":
    """Open a run (a folder or postgresql://...), tables, other tools' logs, or polars or pandas frames.

    `ratings` says whose severities count where there are several kinds (`human`, `judge`, `rule`); they never mix.
    `options` settle what else a source leaves open, as the options of every command do. Where how a table is read was
    inferred, `ReadingProposed` has the options that confirm it; `confirm` takes it as it is, and results say so.
    """
    chosen = options or ReadOptions()
    chosen = dataclasses.replace(chosen, confirm=True) if confirm else chosen
    return Run(*sources, options=chosen if ratings is None else dataclasses.replace(chosen, ratings=ratings))


class Run:
    """Records and the questions that can be put to them; each method gives a result.

    The same functions stand behind the commands, so that the numbers are the same. Nothing is asked of a model, and
    the source is read once.
    """

    def __init__(self, *sources: Source, options: ReadOptions) -> None:
        self.sources, self.options = sources, options
        self.place: Place | None = None
        for source in sources:
            if is_frame(source):
                continue
            given: Any = source  # in a notebook nothing checks types
            if not isinstance(given, str | Path | DatabaseRun):
                remedy = "Give a path, or make a frame of it: polars.DataFrame(rows)."
                raise InputError(f"A {type(given).__name__} is no run, file or frame.", remedy=remedy)
            _, place = named_source(source)
            if isinstance(place, Path) and not place.exists():
                raise InputError(f"{place}: no such run or file.", remedy="Give a run's folder, a table, or a frame.")
            if is_run(place):
                open_ledger(place).close()  # says now that it is no run
                self.place = place if len(sources) == 1 else None

    def __repr__(self) -> str:
        return f"Run({self.name!r}: {len(self.conditions)} conditions)"

    def _repr_html_(self) -> str:
        try:
            return self.floors()._repr_html_()
        except InputError as error:
            return picture([f"{self.name}: {', '.join(self.conditions)}.", str(error)], [])

    @property
    def name(self) -> str:
        """The run's or file's name; "The frame" for a frame."""
        if self.place is not None:
            return self.place.name
        first = self.sources[0]
        return source_name(first) if is_frame(first) else Path(str(first)).name

    # ---- records -------------------------------------------------------------------------------------------------

    @functools.cached_property
    def tables(self) -> Dataset:
        """Answers, scores and ratings, as every command reads them."""
        return read_tables(*self.sources, options=self.options)

    @property
    def conditions(self) -> tuple[str, ...]:
        """The names of what was audited, in the order given."""
        return self.tables.conditions

    def table(self, name: str = "answers") -> pl.DataFrame:
        """The `answers`, `scores` or `ratings`; or `rows`: one an answer, with grade, confidence and severity."""
        if name not in ("answers", "scores", "ratings", "rows"):
            raise InputError(f"There is no table {name!r}.", remedy="There are answers, scores, ratings, rows.")
        found: pl.DataFrame = getattr(self.tables, name)
        return found

    @functools.cached_property
    def scores(self) -> pl.DataFrame:
        """The severity of every rated answer (draw 0), one row each."""
        return self.tables.rows.filter(pl.col("draw") == 0, pl.col("severity").is_not_null())

    # ---- questions -----------------------------------------------------------------------------------------------

    def compare(
        self,
        *conditions: str,
        on: Sequence[str] = (),
        margin: float | Mapping[str, float] | None = None,
        about: About = "such-items",
        missing: MissingPolicy = "both-ways",
        control: str | None = None,
        trust_ids: bool = False,
        trust_raters: bool = False,
        trust_labels: bool = False,
        unpaired: bool = False,
        one_family: bool = False,
        plan: str | Path | None = None,
        tried: int = 1,
        level: float = DEFAULT_LEVEL,
        n_resamples: int = 2000,
        seed: int = 0,
    ) -> CompareReport:
        """Is the difference real? With two names the claim "the second is better than the first" is directed.

        `margin` is the gap that would matter (0.02 is two points) of the main measure, or by measure; `on` names the
        main measure first, `control` the condition that all others are compared with, `missing` what missing grades
        mean, `unpaired` that each has other items, `plan` a tail plan for a claim on the tail's shape.
        """
        if isinstance(margin, str):
            raise InputError(f"The margin {margin!r} is a text.", remedy="Give a number: 0.02 is two points.")
        return compare_tables(
            self.tables,
            conditions=conditions,
            on=on,
            margin=margin,
            about=about,
            missing=missing,
            control=control,
            trust_ids=trust_ids,
            trust_raters=trust_raters,
            trust_labels=trust_labels,
            unpaired=unpaired,
            one_family=one_family,
            tail_plan=None if plan is None else tail_plan(read_plan(plan, kind="tail")),
            tried=tried,
            level=level,
            n_resamples=n_resamples,
            seed=seed,
        )

    def severity(self, **options: Any) -> SeverityReport:
        """How bad are the errors? Options are those of `richter.audit.weigh_scores`: `require`, `plan`, `seed`, ..."""
        return weigh_scores(self._tables_for(options.get("plan")), **options)

    def calibration(
        self,
        *,
        bins: int = 10,
        binning: str = "width",
        level: float = DEFAULT_LEVEL,
        splits: int | None = None,
        seed: int = 0,
    ) -> CalibrationReport:
        """Does it know when it is wrong? From a run's draws, a draws table or a grades table with confidences."""
        source = read_draws(*self.sources, options=self.options)
        rng = np.random.default_rng(seed)
        return measure_calibration(source, rng=rng, bins=bins, binning=binning, level=level, splits=splits)

    def tail(
        self, column: str | None = None, *, plan: str | Path | None = None, seed: int = 0, **fields: Any
    ) -> TailReport:
        """Is one tail heavier? The gates on a column, else the severities; `fields` are a tail plan's (`q`, ...)."""
        return study_column(
            *self.sources, column=column, plan_path=plan, reading=self.options, overrides=fields, seed=seed
        )

    def measure(self, *, seed: int = 0, **options: Any) -> RunResults:
        """All of it as one document, as `richter report` has it; options are those of `richter.audit.measure_run`."""
        return measure_run(*self.sources, options=self.options, seed=seed, **options)

    def floors(self, *, level: float = DEFAULT_LEVEL, seed: int = 0) -> FloorsReport:
        """What this much data can show of each condition."""
        return measure_grades(self.tables, rng=np.random.default_rng(seed), level=level)

    def gate(self, plan: str | Path, *, require_locked: bool = False) -> GateReport:
        """A gate plan's requirements: met, violated, or not shown either way; see `apply_gate_plan`."""
        return apply_gate_plan(plan, self._tables_for(plan), require_locked=require_locked)

    def _tables_for(self, plan: str | Path | None) -> Dataset:
        """The tables read as the plan says, unless this was opened with options of reading."""
        planned = None if plan is None or self.options != ReadOptions() else read_plan(plan).reading
        return self.tables if planned is None else read_tables(*self.sources, options=planned)

    @functools.cached_property
    def findings(self) -> tuple[Claim, ...]:
        """Every claim that these records allow without further choices: differences, then shapes. Exploratory."""
        found: list[Claim] = []
        if len(self.tables.conditions) > 1:
            found += self.compare().claims
        return tuple(found)
