"""What `richter.open` gives: a run, a table in a file, or a frame, with every question that can be put to it."""

import contextlib
import functools
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from richter.audit._calibration import CalibrationReport, measure_calibration
from richter.audit._compare import CompareReport, compare_grades
from richter.audit._draw import DRAWS_NAME
from richter.audit._floors import FloorsReport, measure_grades
from richter.audit._gate import GateReport, open_gate_data, run_gate
from richter.audit._grades import GradeMatrix, RatingKind, read_grades
from richter.audit._judging import score_rows
from richter.audit._measure import RunResults, measure_run
from richter.audit._plan import read_plan
from richter.audit._plan_tail import tail_plan
from richter.audit._severity import SeverityReport, weigh_scores
from richter.audit._tail import TailReport, study_column
from richter.errors import InputError, TooFewErrors
from richter.interop import EXPORTS, Source, grades_or_draws, is_frame, is_log, read_frame, run_grades, source_name
from richter.records import Finding, picture
from richter.store import (
    LEDGER_NAME,
    DatabaseRun,
    Place,
    is_database,
    is_run,
    open_ledger,
    run_file,
    run_part,
    run_place,
)

__all__ = ["Run", "open_run"]


def open_run(source: Source, *, ratings: RatingKind | None = None) -> "Run":
    """Open a run (a folder or postgresql://...), a table in a file, another tool's log, or a polars or pandas frame.

    `ratings` says whose severities count in a run that holds several kinds (`human`, `judge`, `rule`); they never mix.
    """
    return Run(source, ratings=ratings)


class Run:
    """Records and the questions that can be put to them; each method gives a result with `to_dict()`.

    The same functions stand behind the commands, so that the numbers are the same. Nothing is asked of a model.
    """

    def __init__(self, source: Source, *, ratings: RatingKind | None = None) -> None:
        self.source = source
        self.ratings = ratings
        self.place: Place | None = None
        if is_frame(source):
            return
        if is_database(source):
            self.place = run_place(source)
            open_ledger(self.place).close()  # says now that it is no run
            return
        path = Path(str(source))
        if not path.exists():
            raise InputError(f"{path}: no such run or file.", remedy="Give a run's folder, a table, or a frame.")
        if is_run(path):
            self.place = path

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
        return source_name(self.source) if is_frame(self.source) else Path(str(self.source)).name

    # ---- records -------------------------------------------------------------------------------------------------

    @functools.cached_property
    def conditions(self) -> tuple[str, ...]:
        """The names of what was audited."""
        if self.place is not None:
            with open_ledger(self.place) as ledger:
                return tuple(c.name for c in ledger.conditions())
        if not is_frame(self.source) and (Path(str(self.source)).is_dir() or is_log(Path(str(self.source)))):
            return self.grades.names
        frame = read_frame(self.source)
        return tuple(str(c) for c in frame["condition"].unique(maintain_order=True)) if "condition" in frame else ()

    def table(self, name: str = "answers") -> pl.DataFrame:
        """A run's `answers`, `items` or `ratings`; a file's or frame's own rows whatever the name."""
        if self.place is None:
            return read_frame(self.source)
        if name not in EXPORTS:
            raise InputError(f"There is no table {name!r}.", remedy=f"There are {', '.join(sorted(EXPORTS))}.")
        with open_ledger(self.place) as ledger:
            return EXPORTS[name](ledger)

    @functools.cached_property
    def grades(self) -> GradeMatrix:
        """Who got what right, as matrices of items x conditions."""
        return read_grades([self.source], ratings=self.ratings)

    @functools.cached_property
    def scores(self) -> pl.DataFrame:
        """The severity of every rated answer (draw 0), one row each."""
        if self.place is None:
            return read_frame(self.source)
        return pl.DataFrame(score_rows(self.place, source=self._kind()), infer_schema_length=None)

    def _kind(self) -> RatingKind:
        """The kind of rating that counts: the one named, or the only one there is."""
        assert self.place is not None
        with open_ledger(self.place) as ledger:
            given = {r.kind for r in ledger.ratings() if r.draw == 0}
        if self.ratings is None and len(given) > 1:
            raise InputError(
                f"{self.place} holds ratings of several kinds ({', '.join(sorted(given))}), which never mix.",
                remedy='Choose one: richter.open(run, ratings="rule").',
            )
        kinds: list[RatingKind] = [self.ratings] if self.ratings else list(given)
        return kinds[0] if kinds else "rule"

    @property
    def _opened(self) -> Place | None:
        return self.place / LEDGER_NAME if isinstance(self.place, Path) else self.place

    # ---- questions -----------------------------------------------------------------------------------------------

    def compare(
        self,
        *conditions: str,
        margin: float | None = None,
        severity_margin: float | None = None,
        plan: str | Path | None = None,
        tried: int = 1,
        level: float = 0.95,
        n_resamples: int = 2000,
        seed: int = 0,
    ) -> CompareReport:
        """Is the difference real? With two names the claim "the second is better than the first" is directed.

        `margin` is the gap that would matter (0.02 is two points), `plan` a tail plan for a claim on the tail's shape.
        """
        return compare_grades(
            self.grades,
            rng=np.random.default_rng(seed),
            conditions=conditions,
            margin=margin,
            severity_margin=severity_margin,
            tail_plan=None if plan is None else tail_plan(read_plan(plan, kind="tail")),
            tried=tried,
            level=level,
            n_resamples=n_resamples,
        )

    def severity(self, **options: Any) -> SeverityReport:
        """How bad are the errors? Options are those of `richter.audit.weigh_scores`: `require`, `plan`, `seed`, ..."""
        if self.place is None:
            return weigh_scores(self.source, **options)
        return weigh_scores(self.scores, opened=self._opened, **options)

    def calibration(
        self, *, bins: int = 10, binning: str = "width", level: float = 0.95, splits: int | None = None, seed: int = 0
    ) -> CalibrationReport:
        """Does it know when it is wrong? From a run's draws, a draws table or a grades table with confidences."""
        source = self.source
        if self.place is not None:
            drawn = run_file(self.place, DRAWS_NAME) or run_file(run_part(self.place, "draws"), DRAWS_NAME)
            found: Source | None = drawn or run_grades(self.place)
            if found is None:
                raise InputError(f"{self.place} holds no repeated draws.", remedy="Make them with `richter draw`.")
            source = grades_or_draws(found) if isinstance(found, pl.DataFrame) else found
        rng = np.random.default_rng(seed)
        return measure_calibration(source, rng=rng, bins=bins, binning=binning, level=level, splits=splits)

    def tail(
        self, column: str | None = None, *, plan: str | Path | None = None, seed: int = 0, **fields: Any
    ) -> TailReport:
        """Is one tail heavier? The gates on a column of severities; `fields` are a tail plan's (`q`, ...)."""
        column = column or (None if plan is not None else "severity")
        source: Source = self.source if self.place is None else self.scores
        return study_column(source, opened=self._opened, column=column, plan_path=plan, overrides=fields, seed=seed)

    def measure(self, *, seed: int = 0, **options: Any) -> RunResults:
        """All of it as one document, as `richter report` has it; options are those of `richter.audit.measure_run`."""
        if self.place is None:
            raise InputError(f"{self.name} is no run.", remedy="Make one of it: richter import FILE -o RUN.")
        return measure_run(self.place, seed=seed, **options)

    def floors(self, *, level: float = 0.95, seed: int = 0) -> FloorsReport:
        """What this much data can show of each condition."""
        return measure_grades(self.grades, rng=np.random.default_rng(seed), level=level)

    def gate(self, plan: str | Path) -> GateReport:
        """A gate plan's requirements: met, violated, or not shown either way."""
        status = open_gate_data(plan, [self.source]) if isinstance(self.source, str | Path | DatabaseRun) else None
        return run_gate(read_plan(plan, kind="gate"), self.grades, status=status)

    @functools.cached_property
    def findings(self) -> tuple[Finding, ...]:
        """Every claim that these records allow without further choices: differences, then shapes. Exploratory."""
        found: list[Finding] = []
        if len(self.grades.names) > 1:
            report = self.compare()
            for pair in report.comparison.pairs:
                gaps = [pair.accuracy, *([pair.calibration] if pair.calibration else [])]
                gaps += report.severity.get((pair.a, pair.b), {}).values()
                found += [gap.to_finding() for gap in gaps]
        if self.grades.severity is not None:
            with contextlib.suppress(TooFewErrors):  # nothing is claimed of shapes that cannot be estimated
                found += [pair.finding for pair in self.severity().study.discrimination.pairs]
        return tuple(found)
