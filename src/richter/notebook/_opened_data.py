"""What `richter.open` gives: data in any form, read once, with every question that can be put to it."""

import contextlib
import dataclasses
import datetime
import functools
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl

from richter.audit import (
    FloorsReport,
    RunResults,
    TailReport,
    WatchReport,
    apply_gate_plan,
    compare_tables,
    is_old_second,
    margin_plan,
    measure_calibration,
    measure_grades,
    measure_run,
    read_draws,
    read_plan,
    read_series,
    run_gate,
    study_column,
    watch_series,
    weigh_scores,
)
from richter.audit._plan_tail import tail_plan as tail_plan_of
from richter.claims import parse_margin
from richter.errors import InputError, UnconfirmedReading
from richter.evidence import MissingPolicy, Policy, margins_of
from richter.interop import Source, is_frame, named_source, source_name
from richter.notebook._python_words import speaks_python
from richter.notebook._shown_results import CalibrationResult, Claims, Comparison, GateResult, SeverityResult
from richter.records import DEFAULT_LEVEL, Better, Claim, RatingKind, picture
from richter.report import write_report
from richter.store import is_run, open_ledger
from richter.tables import Dataset, ReadOptions, read_tables

__all__ = ["Data", "Run", "open_run"]

Data = Any  # a path, a frame, several of them, a mapping of names to paths, frames or arrays, or an opened `Run`
Margin = float | str | Mapping[str, float | str] | None
Progress = Callable[[str], None]


@speaks_python
def open_run(
    *data: Data,
    map: Mapping[str, str] | None = None,  # noqa: A002 - the word of the command line
    scale: tuple[float, float] | None = None,
    better: Better | None = None,
    grade: Mapping[str, float | None] | None = None,
    wide: Sequence[str] | None = None,
    as_severity: tuple[float, float] | None = None,
    ratings: RatingKind | None = None,
    scorer: str | None = None,
    filter: str | None = None,  # noqa: A002 - the word of the command line
    pass_at: float | None = None,
    weight: str | None = None,
    macro: str | None = None,
    confirm: bool = False,
    options: ReadOptions | None = None,
) -> "Run":
    """Open data, to put several questions to them: each is read once.

    Data are paths of tables, other tools' logs or runs, polars or pandas frames, or a mapping of
    names to any of these or to arrays of scores. The options say what a table leaves open: `map` names the column of a
    field (`{"score": "quality"}`), `scale` the range of a score, `better` which end of it is good, `grade` what a word
    counts as, `wide` the columns that are conditions, `as_severity` the scores that are right and worst, `ratings`
    whose severities count, `scorer` and `filter` which score of a log, `pass_at` from where on a score is right,
    `weight` the column of what a question counts, `macro` one whose values count alike.
    Where the reading was inferred, `ReadingProposed` has the `options` that confirm it; `confirm` goes on without.

    >>> import richter
    >>> data = richter.open({"old": [1, 0, 1, 0] * 50, "new": [1, 1, 1, 0] * 50})
    >>> data.conditions
    ('old', 'new')
    """
    given: dict[str, Any] = {
        "map": map, "scale": scale, "better": better, "grade": grade, "as_severity": as_severity, "ratings": ratings,
        "scorer": scorer, "filter": filter, "pass_at": pass_at, "wide": None if wide is None else tuple(wide),
        "weight": weight, "macro": macro,
        "confirm": confirm or None,
    }  # fmt: skip
    chosen = dataclasses.replace(options or ReadOptions(), **{k: v for k, v in given.items() if v is not None})
    if len(data) == 1 and isinstance(data[0], Run):
        return data[0] if chosen == ReadOptions() else Run(*data[0].sources, options=chosen)
    sources = [source for one in data for source in _sources_of(one)]
    return Run(*sources, options=chosen)


def _sources_of(data: Data) -> list[Source]:
    """What the reader takes, of one thing that a user gave."""
    if isinstance(data, Mapping):
        return _named_sources(data)
    if isinstance(data, list | tuple):
        return [source for one in data for source in _sources_of(one)]
    return [data]


def _named_sources(data: Mapping[Any, Any]) -> list[Source]:
    """The sources of a mapping: paths and frames under their names, and arrays of scores as one table."""
    arrays = {
        str(name): value for name, value in data.items() if not isinstance(value, str | Path) and not is_frame(value)
    }
    if arrays and len(arrays) < len(data):
        raise InputError(
            "The mapping holds arrays beside paths or frames.", remedy="Give names to arrays only, or to files only."
        )
    if arrays:
        return [_table_of_arrays(arrays)]
    return [_name_source(str(name), value) for name, value in data.items()]


def _name_source(name: str, value: Any) -> Source:
    if isinstance(value, str | Path):
        return f"{name}={value}"
    frame = value if isinstance(value, pl.DataFrame) else pl.DataFrame({str(c): list(value[c]) for c in value.columns})
    return frame.with_columns(pl.lit(name).alias("condition"))


def _table_of_arrays(arrays: Mapping[str, Any]) -> pl.DataFrame:
    """Arrays of scores on the same questions as one table; what is not a number is missing."""
    frames = []
    for name, values in arrays.items():
        try:
            given = np.asarray(values, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(
                f"{name!r} holds a {type(values).__name__}, not an array of scores.",
                remedy="Give numbers, a path, or a frame.",
            ) from error
        if given.ndim != 1:
            raise InputError(f"{name!r} has the shape {given.shape}.", remedy="Give one score for each question.")
        items = [f"{k:06d}" for k in range(len(given))]
        frames.append(pl.DataFrame({"item": items, "condition": name, "value": given}))
    sizes = sorted({len(frame) for frame in frames})
    if len(sizes) > 1:
        raise InputError(
            f"The arrays have {' and '.join(f'{n:,}' for n in sizes)} scores.",
            remedy="Give all in the same order of questions, with NaN where a score is missing. For different "
            "questions use richter.unpaired.",
        )
    table = pl.concat(frames).with_columns(pl.col("value").fill_nan(None))
    is_binary = table["value"].drop_nulls().is_in([0.0, 1.0]).all()
    return table.rename({"value": "correct" if is_binary else "score"})


class Run:
    """Opened data, and the questions that can be put to them; each method gives a result.

    The same functions stand behind the commands, so that the numbers are the same. Nothing is asked of a model, and
    the source is read once.
    """

    def __init__(self, *sources: Source, options: ReadOptions) -> None:
        self.sources, self.options = sources, options
        self.place: Path | None = None
        if not sources:
            raise InputError("No data are given.", remedy="Give a path, a frame, or a mapping of names to scores.")
        for source in sources:
            self._check(source)

    def _check(self, source: Any) -> None:
        """Refuse what cannot be read, before it is needed."""
        if is_frame(source):
            return
        if not isinstance(source, str | Path):
            remedy = "Give a path, or make a frame of it: polars.DataFrame(rows)."
            if hasattr(source, "__array__"):
                remedy = (
                    'Give arrays with their names: {"old": first, "new": second}; or richter.paired(first, second).'
                )
            raise InputError(f"A {type(source).__name__} is not a run, a file or a frame.", remedy=remedy)
        _, place = named_source(source)
        if not place.exists():
            raise InputError(f"{place}: no such run or file.", remedy="Give a run's folder, a table, or a frame.")
        if is_run(place):
            open_ledger(place).close()  # says now that it is no run
            self.place = place if len(self.sources) == 1 else None

    def __repr__(self) -> str:
        return f"<Run: {self.name}, {', '.join(self.conditions[:4])}{', …' * (len(self.conditions) > 4)}>"

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
        return self._read(self.options)

    def _read(self, options: ReadOptions) -> Dataset:
        tables = speaks_python(read_tables)(*self.sources, options=options)
        if not tables.is_confirmed:
            warnings.warn(
                "The reading of these data was inferred and nobody confirmed it; results say so.",
                UnconfirmedReading,
                stacklevel=3,
            )
        return tables

    @property
    def conditions(self) -> tuple[str, ...]:
        """The names of what was audited, in the order given."""
        return self.tables.conditions

    def table(self, name: Literal["answers", "scores", "ratings", "rows"] = "answers") -> pl.DataFrame:
        """The `answers`, `scores` or `ratings`; or `rows`: one an answer, with grade, confidence and severity."""
        if name not in ("answers", "scores", "ratings", "rows"):
            raise InputError(f"There is no table {name!r}.", remedy="There are answers, scores, ratings, rows.")
        frame: pl.DataFrame = getattr(self.tables, name)
        return frame

    @functools.cached_property
    def scores(self) -> pl.DataFrame:
        """The severity of every rated answer (draw 0), one row each."""
        return self.tables.rows.filter(pl.col("draw") == 0, pl.col("severity").is_not_null())

    # ---- questions -----------------------------------------------------------------------------------------------

    @speaks_python
    def compare(
        self,
        *conditions: str,
        on: str | Sequence[str] = (),
        margin: Margin = None,
        by: str | None = None,
        control: str | None = None,
        all_pairs: bool = False,
        missing: MissingPolicy = "both-ways",
        trust_ids: bool = False,
        trust_raters: bool = False,
        trust_labels: bool = False,
        unpaired: bool = False,
        tail_plan: str | Path | None = None,
        tried: int = 1,
        min_shared: float = 0.5,
        level: float = DEFAULT_LEVEL,
        n_resamples: int = 2000,
        seed: int = 0,
    ) -> Comparison:
        """Is the difference real? With two names the claim "the second is better than the first" is directed.

        `margin` is the difference that would matter (0.02 or "2pt") of the main measure, or by measure; `on` names the
        main measure first; `by` a column whose values are compared one by one; `control` the condition that all others
        are compared with; `all_pairs` asks for every pair of more than 200; `missing` what missing grades mean;
        `unpaired` that each has questions of its own.
        """
        tables, by = (self.tables, by) if by is None else self._by_column(by)
        report = compare_tables(
            tables,
            conditions=conditions,
            on=(on,) if isinstance(on, str) else on,
            margin=parsed_margins(margin),
            by=by,
            control=control,
            all_pairs=all_pairs,
            missing=missing,
            trust_ids=trust_ids,
            trust_raters=trust_raters,
            trust_labels=trust_labels,
            unpaired=unpaired,
            tail_plan=None if tail_plan is None else tail_plan_of(read_plan(tail_plan, kind="tail")),
            tried=tried,
            min_shared=min_shared,
            level=level,
            n_resamples=n_resamples,
            seed=seed,
        )
        return Comparison(**(_fields_of(report) | {"claims": Claims(report.claims), "data": self}))

    def _by_column(self, by: str) -> tuple[Dataset, str]:
        """The tables with a column's values as domains, and the name under which they are."""
        if by in ("domain", "tier", "group"):
            return self.tables, by
        options = dataclasses.replace(self.options, map={**self.options.map, "domain": by})
        return self._read(options), "domain"

    @speaks_python
    def gate(
        self,
        plan: str | Path | None = None,
        *,
        margin: Margin = None,
        conditions: Sequence[str] = (),
        on: str | None = None,
        missing: MissingPolicy | None = None,
        trust_ids: bool = False,
        trust_raters: bool = False,
        trust_labels: bool = False,
        trust_reading: bool = False,
        unpaired: bool = False,
        accept_judge: bool = False,
        require_locked: bool = False,
        level: float = DEFAULT_LEVEL,
    ) -> GateResult:
        """Are the requirements of a plan met? Without a plan: is the second condition not worse by `margin` or more?

        `conditions` names the two, the old one first; without it they stand in the order of the data. `on` names what a
        bare margin is of. What is vouched for beside a plan is listed as a deviation from it.
        """
        policy = Policy(
            missing=missing, trust_ids=trust_ids, trust_raters=trust_raters, trust_labels=trust_labels,
            trust_reading=trust_reading, unpaired=unpaired,
        )  # fmt: skip
        if plan is not None:
            given = {"margin": margin, "on": on, "conditions": conditions, "level": level != DEFAULT_LEVEL}
            if beside := [name for name, value in given.items() if value]:
                raise InputError(f"Both a plan and {' and '.join(beside)} are given.", remedy="Give one of them.")
            report = apply_gate_plan(
                plan, self._tables_for(plan), policy=policy, accept_judge=accept_judge, require_locked=require_locked
            )
        elif margin is None:
            raise InputError("Neither a plan nor a margin is given.", remedy='Give margin="2pt", or plan="plan.toml".')
        else:
            stated = parsed_margins(margin)
            bare = {on or "": stated} if isinstance(stated, float) else stated
            tables = self.tables.select(conditions) if conditions else self.tables
            _check_two(tables.conditions)
            own = margin_plan(tables, margins_of(tables, bare), level=level)
            report = run_gate(own, tables, policy=policy, accept_judge=accept_judge)
        return GateResult(**(_fields_of(report) | {"claims": Claims(report.claims), "data": self}))

    @speaks_python
    def severity(
        self,
        *,
        require: Sequence[str] = (),
        plan: str | Path | None = None,
        control: str | None = None,
        level: float = DEFAULT_LEVEL,
        n_resamples: int = 2000,
        seed: int = 0,
        **more: Any,
    ) -> SeverityResult:
        """How bad are the errors? `require` are limits such as "severity>=3 below 100 per million".

        Further options are those of `richter.audit.weigh_scores`.
        """
        given: dict[str, Any] = {
            "require": list(require),
            "control": control,
            "level": level,
            "n_resamples": n_resamples,
        }
        usual: dict[str, Any] = {"require": [], "control": None, "level": DEFAULT_LEVEL, "n_resamples": 2000}
        stated = {name: value for name, value in given.items() if value != usual[name]}  # a plan may say the rest
        found = weigh_scores(self._tables_for(plan), plan=plan, seed=seed, **stated, **more)
        return SeverityResult(**_fields_of(found), data=self)

    @speaks_python
    def calibration(
        self,
        *,
        bins: int = 10,
        binning: Literal["width", "mass"] = "width",
        level: float = DEFAULT_LEVEL,
        splits: int | None = None,
        seed: int = 0,
    ) -> CalibrationResult:
        """Does it know when it is wrong? From a run's draws, a draws table or a grades table with confidences."""
        source = read_draws(*self.sources, options=self.options)
        rng = np.random.default_rng(seed)
        found = measure_calibration(source, rng=rng, bins=bins, binning=binning, level=level, splits=splits)
        return CalibrationResult(**_fields_of(found), data=self)

    @speaks_python
    def tail(
        self, column: str | None = None, *, plan: str | Path | None = None, seed: int = 0, **fields: Any
    ) -> TailReport:
        """Is one tail heavier? The gates on a column, else the severities; `fields` are a tail plan's (`q`, ...)."""
        return study_column(
            *self.sources, column=column, plan_path=plan, reading=self.options, overrides=fields, seed=seed
        )

    @speaks_python
    def watch(
        self,
        *,
        condition: str | Sequence[str] = (),
        date: str | None = None,
        margin: float | None = None,
        independent_days: bool = False,
        deployed: Sequence[str] = (),
        level: float = DEFAULT_LEVEL,
    ) -> WatchReport:
        """Did the model change over a series of runs: a folder of them, or a table with a `date` column?"""
        paths = [source for source in self.sources if isinstance(source, str | Path)]
        if len(paths) < len(self.sources):
            raise InputError(
                "A frame is not a series of runs.", remedy="Give a folder, files by date, or a table in a file."
            )
        name, days, notes = read_series(*paths, condition=condition or None, date=date, options=self.options)
        return watch_series(
            name, days, level=level, margin=margin, independent=independent_days, deployed=deployed, notes=notes
        )

    @speaks_python
    def measure(self, *, seed: int = 0, progress: bool | None = None, **options: Any) -> RunResults:
        """All of it as one document, as `richter report` has it; options are those of `richter.audit.measure_run`.

        `progress` shows which section is measured: by default on a terminal and in a notebook.
        """
        with _progress(progress) as watch:
            return measure_run(*self.sources, options=self.options, seed=seed, watch=watch, **options)

    @speaks_python
    def report(self, path: str | Path, *, seed: int = 0, progress: bool | None = None, **options: Any) -> Path:
        """Write the page of these data, and return its path; options are those of `measure`."""
        results = self.measure(seed=seed, progress=progress, **options)
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        return write_report(results.to_dict(), results.tables, path, built_at=now)

    @speaks_python
    def floors(self, *, level: float = DEFAULT_LEVEL, seed: int = 0) -> FloorsReport:
        """What this much data can show of each condition."""
        return measure_grades(self.tables, rng=np.random.default_rng(seed), level=level)

    def _tables_for(self, plan: str | Path | None) -> Dataset:
        """The tables read as the plan says, unless this was opened with options of reading."""
        planned = None if plan is None or self.options != ReadOptions() else read_plan(plan).reading
        return self.tables if planned is None else self._read(planned)

    @functools.cached_property
    def findings(self) -> tuple[Claim, ...]:
        """Every claim that these records allow without further choices. Exploratory."""
        return tuple(self.compare().claims) if len(self.tables.conditions) > 1 else ()


def _check_two(conditions: Sequence[str]) -> None:
    """Refuse a gate without a plan on other than two conditions, or on two whose names stand the wrong way round."""
    if len(conditions) == 2 and is_old_second(*conditions):
        first, second = conditions
        raise InputError(
            f"{second} comes second, and a gate checks the second one against the first.",
            remedy=f'Name the old one first: conditions=("{second}", "{first}").',
        )
    if len(conditions) != 2:
        named = ", ".join(map(repr, conditions[:2])) if len(conditions) > 2 else "'old', 'new'"
        raise InputError(
            f"A gate compares two, and the data hold {len(conditions)}.",
            remedy=f"Name both, the old one first: conditions=({named}).",
        )


def _fields_of(report: Any) -> dict[str, Any]:
    """The fields of a report, to make the result that shows itself."""
    return {f.name: getattr(report, f.name) for f in dataclasses.fields(report)}


def parsed_margins(margin: Margin) -> float | dict[str, float] | None:
    """Margins as numbers; `"2pt"` are points."""
    if isinstance(margin, Mapping):
        return {name: parse_margin(value) for name, value in margin.items()}
    return None if margin is None else parse_margin(margin)


@contextlib.contextmanager
def _progress(wanted: bool | None) -> Iterator[Progress]:
    """Shows which section is measured, where somebody looks."""
    is_watched = sys.stderr.isatty() or "ipykernel" in sys.modules if wanted is None else wanted
    if not is_watched:
        yield lambda name: None
        return
    from rich.console import Console

    with Console(stderr=True).status("reading") as status:
        yield lambda name: status.update(f"measuring: {name}")
