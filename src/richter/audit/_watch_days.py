"""A series of runs of one audit, read: its entries in their order, each item's values, and what each was made with."""

import dataclasses
import datetime
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from richter.audit._series import CANARIES
from richter.claims import Blocked, Metric, Question, as_judged, measure_words, watched_measures
from richter.errors import InputError
from richter.evidence import evidence, graded_rows, has_values, sample_of, worst_sample
from richter.interop import log_files, read_frame
from richter.records import plain, printable
from richter.store import find_parts, find_runs, is_run, open_ledger
from richter.tables import Dataset, ReadOptions, date_in, dates_of, holds_logs, item_codes, read_tables

__all__ = ["Day", "read_series"]

Floats = NDArray[np.float64]

_FILES = (".csv", ".tsv", ".json", ".jsonl", ".parquet", ".xlsx", ".eval", ".zip")
UNCORRECTED = "human labels do not correct the values of a series: as they were graded"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """One entry of a series: when, from where, each item's values, and what it was made with.

    `values` has one row an item: `item`, its `weight`, its `group` where there are any, and the watched measures that
    there are, means over draws;
    `worst` the same with missing grades at the worse end, where any are missing. `graded` are the answers that have a
    grade and a confidence: `item`, `weight` (an item's draws share the item's), `confidence`, `correct`. `metrics` are
    the measures with the range and the direction that the data say. `judge` are the severities of fixed answers that
    were rated anew (see `audit --canaries`), by item. `missing` counts the grades that are missing by measure, `notes`
    are those of the data and of the checks, `blocked` says why a measure is not taken from this entry, `understood` how
    it was read, `basis` who graded.
    """

    at: str
    name: str
    values: pl.DataFrame
    judged: bool
    made: Mapping[str, str]
    worst: pl.DataFrame | None = None
    metrics: Mapping[str, Metric] = dataclasses.field(default_factory=dict)
    graded: pl.DataFrame | None = None
    judge: Mapping[str, float] = dataclasses.field(default_factory=dict)
    missing: Mapping[str, int] = dataclasses.field(default_factory=dict)
    blocked: Mapping[str, Blocked] = dataclasses.field(default_factory=dict)
    notes: tuple[str, ...] = ()
    understood: str = ""
    basis: str = ""

    def metric(self, measure: str) -> Metric:
        """A measure as these data have it."""
        return self.metrics.get(measure) or measure_words(measure)


class Series(NamedTuple):
    """The watched condition, the days in their order, and notes."""

    condition: str
    days: list[Day]
    notes: tuple[str, ...]


class _Entry(NamedTuple):
    """One entry of a series: when, from where, its tables, and whether its condition is named by its file alone."""

    at: str
    place: Path
    tables: Dataset
    unnamed: bool


def read_series(
    *sources: str | Path,
    condition: str | Sequence[str] | None = None,
    date: str | None = None,
    options: ReadOptions | None = None,
) -> Series:
    """The watched condition, the days in their order, and notes. Nothing is written.

    Several names of a `condition` are one thing that was called otherwise (another model, another prompt): of each
    entry the first that it has.

    A source is a folder of runs, of logs or of tables, or single files and runs. A run is dated by its
    first answer, a file by a date, a week or a month in its name, else by when it was changed. Entries of one day count
    as one each. A table with a column of dates (`date` names it) is a series by itself, an entry a day. Dataset without
    a column of conditions are all of one, called as their folder is.
    """
    places = [p for source in sources for p in _entries(Path(source))]
    if not places:
        raise InputError("The series is empty.", remedy="Give a folder of runs, or files by date.")
    notes: list[str] = []
    read = sorted(
        (e for place in places for e in _read(place, date, options, notes, alone=len(places) == 1)),
        key=lambda e: (e.at, str(e.place)),
    )
    series = _series_name([e.place for e in read])
    called = (condition,) if isinstance(condition, str) else tuple(condition or [_only_condition(read, series)])
    days = []
    for entry in read:
        name = _name_in(entry, called, series)
        if name is None:
            notes.append(f"{entry.at}: {entry.place.name} has no {' or '.join(called)} and is left out")
            continue
        own = entry.tables.select([name])
        days.append(
            dataclasses.replace(
                _measured_day(own, at=entry.at, name=entry.place.name),
                made=_made(entry.place, own, "" if entry.unnamed else name),
                judge=_judge(entry.place, options),
            )
        )
    return Series(called[0], days, tuple(notes))


def _only_condition(read: Sequence[_Entry], series: str) -> str:
    """The one condition that all entries have; an error where there is none, or several."""
    names = [{series} if e.unnamed else set(e.tables.conditions) for e in read]
    common = set.intersection(*names)
    if len(common) != 1:
        every = ", ".join(printable(n) for n in sorted(set.union(*names)))
        raise InputError(f"The data hold several models: {every}.", remedy="Name the one to watch: --condition NAME.")
    return common.pop()


def _name_in(entry: _Entry, called: Sequence[str], series: str) -> str | None:
    """What the watched condition is called in an entry; None where it has none."""
    name = next((n for n in called if n in entry.tables.conditions), None)
    return entry.tables.conditions[0] if name is None and entry.unnamed and series in called else name


def _entries(place: Path) -> list[Path]:
    if not place.exists():
        raise InputError(f"{place}: no such run, folder or file.", remedy="Check the path.")
    if is_run(place) or not place.is_dir():
        return [place]
    runs = find_runs(place)
    if runs:
        return runs
    return [*(log_files(place) or sorted(f for f in place.iterdir() if f.suffix.lower() in _FILES))]


def _date(place: Path, notes: list[str]) -> str:
    if is_run(place):
        with open_ledger(place) as ledger:
            times = ledger.times()
        if times is not None:
            return datetime.datetime.fromtimestamp(times[0], datetime.UTC).isoformat(timespec="seconds")[:19]
    if found := date_in(place.name):
        return found
    said = "files without a date in their names are dated by when they were changed"
    notes += [] if said in notes else [said]
    changed = datetime.datetime.fromtimestamp(place.stat().st_mtime, datetime.UTC)
    return changed.isoformat(timespec="seconds")[:19]


def _read(
    place: Path, date: str | None, options: ReadOptions | None, notes: list[str], *, alone: bool
) -> Iterator[_Entry]:
    """The entries of one source: itself; of a table with several dates that is the whole series, one a date."""
    is_table = place.is_file() and not holds_logs(place)
    if is_table and (alone or date is not None):
        frame = read_frame(place, text=True)
        if date is not None and date not in frame.columns:
            raise InputError(f"{place} has no column {date!r}.", remedy=f"It has {', '.join(frame.columns)}.")
        dated = dates_of(frame, date)
        if dated is not None:
            column, dates = dated
            notes.append(f"one entry for each {printable(column, limit=40)} of {place.name}")
            yield from _entries_by_date(place, frame.drop(column).with_columns(dates), options)
            return
    tables = read_tables(place, options=options)
    yield _Entry(_date(place, notes), place, tables, is_table and tables.conditions == (Path(place.name).stem,))


def _entries_by_date(place: Path, frame: pl.DataFrame, options: ReadOptions | None) -> Iterator[_Entry]:
    """An entry for each date of a table."""
    for (day,), rows in frame.group_by("at\0", maintain_order=True):
        if day:
            tables = read_tables(rows.drop("at\0"), options=options)
            yield _Entry(str(day), place, tables, tables.conditions == ("frame",))


def _series_name(places: Sequence[Path]) -> str:
    """What is watched, where tables do not say: the folder, or the one file, that they are in."""
    paths = dict.fromkeys(places)
    first = next(iter(paths), Path("series"))
    return first.stem if len(paths) == 1 else first.resolve().parent.name


def _measured_day(dataset: Dataset, *, at: str, name: str) -> Day:
    """An entry's measures by item, through the checks of every command; what a check blocks is not taken from it."""
    columns: dict[str, Floats] = {}
    filled: dict[str, Floats] = {}
    metrics, missing, blocked, notes = {}, {}, {}, list(dataset.notes)
    weight = np.ones(len(dataset.item_ids))
    for measure in (m for m in watched_measures() if has_values(dataset, m)):
        asked = evidence(dataset, Question(measure=measure, conditions=dataset.conditions))
        if isinstance(asked.evidence, Blocked):
            blocked[measure] = asked.evidence
            continue
        metrics[measure] = asked.metric
        if asked.known.labels:  # the evidence is corrected, the items' own values are not
            uncorrected = as_judged(sample_of(dataset, measure).outcomes.judges, UNCORRECTED)
            notes += [*asked.notes, f"{asked.metric.noun}: {UNCORRECTED}", *filter(None, [uncorrected])]
        else:
            notes += [*asked.notes, *asked.known.notes, *filter(None, [asked.known.judged])]
        if asked.metric.estimator != "mean":
            continue
        sample = sample_of(dataset, measure)
        weight = weight if sample.outcomes.weight is None else sample.outcomes.weight
        columns[measure] = filled[measure] = sample.mean[:, 0]
        if asked.known.missing:
            missing[measure] = sum(asked.known.missing.values())
            filled[measure] = worst_sample(dataset, asked.question).mean[:, 0]
    return Day(
        at=at, name=name, judged=dataset.counting == "judge", made={}, metrics=metrics, missing=missing,
        values=_item_frame(dataset, weight, columns), worst=_item_frame(dataset, weight, filled) if missing else None,
        graded=_graded(dataset, weight) if "ece" in metrics else None, blocked=blocked,
        notes=tuple(dict.fromkeys(notes)), understood=dataset.understood, basis=dataset.basis,
    )  # fmt: skip


def _item_frame(dataset: Dataset, weight: Floats, columns: Mapping[str, Floats]) -> pl.DataFrame:
    """One row an item that has any value: its weight, its group and its values, null where it has none."""
    frame = pl.DataFrame({"item": list(dataset.item_ids), "weight": weight, **columns}).fill_nan(None)
    if dataset.answers["group"].null_count() < len(dataset.answers):
        codes, names = item_codes(dataset, "group")
        frame = frame.with_columns(pl.Series("group", [names[code] for code in codes]))
    return frame.filter(pl.any_horizontal(pl.col(name).is_not_null() for name in columns)) if columns else frame


def _graded(dataset: Dataset, weight: Floats) -> pl.DataFrame:
    """The answers that have a grade and a confidence; an item's draws share the item's weight."""
    rows, items = graded_rows(dataset), np.array(dataset.item_ids, dtype=object)
    confidence, correct, item = rows.of(0)
    known = ~np.isnan(confidence)
    frame = pl.DataFrame({"item": items[item[known]].tolist(), "weight": weight[item[known]],
                          "confidence": confidence[known], "correct": correct[known]})  # fmt: skip
    shared = pl.col("weight") / pl.len().over("item")
    return frame.with_columns(shared).sort("item", "confidence", "correct")


def _made(place: Path, tables: Dataset, condition: str) -> dict[str, str]:
    """What could have changed beside the model's own behaviour: its name and settings, raters, rubric, questions."""
    raters = sorted(tables.ratings["rater"].drop_nulls().unique().to_list())
    made = ({"model": condition} if condition else {}) | ({"judge": ", ".join(raters)} if raters else {})
    if is_run(place):
        with open_ledger(place) as ledger:
            asked = next((c for c in ledger.conditions() if c.name == condition), None)
            note = ledger.note("judging") or {}
        if asked is not None:
            made |= {"model": asked.model, "system prompt": asked.system, "style": asked.style}
            made |= {name.replace("_", " "): str(value) for name, value in plain(asked.decoding).items()}
        made |= {"rubric": str(note["rubric"])} if note.get("rubric") else {}
    return made


def _judge(place: Path, options: ReadOptions | None) -> dict[str, float]:
    if not is_run(place) or CANARIES not in find_parts(place):
        return {}
    rows = read_tables(find_parts(place)[CANARIES], options=options).rows
    rated = rows.filter(pl.col("severity").is_not_null()).group_by("item").agg(pl.col("severity").mean())
    return dict(rated.iter_rows())
