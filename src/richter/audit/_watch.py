"""`richter watch`: a series of runs of one audit; has anything changed, when, and was it model, judge or items?"""

import dataclasses
import datetime
import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import polars as pl
import scipy
from numpy.typing import NDArray
from scipy.special import stdtrit

from richter import floors
from richter.audit._series import CANARIES, FEWEST, date_in
from richter.claims import METRICS, Blocked, Metric, Question, as_judged, check_margin, measure_words, watched_measures
from richter.errors import InputError
from richter.evidence import evidence, graded_rows, has_values, sample_of, worst_sample
from richter.interop import log_files, plain_name, read_frame
from richter.records import (
    DEFAULT_LEVEL,
    Claim,
    Family,
    Hypothesis,
    Interval,
    Result,
    Verdict,
    counted,
    plain,
    printable,
)
from richter.stats import bin_gaps
from richter.store import DatabaseRun, Place, find_parts, find_runs, is_run, open_ledger, run_place
from richter.tables import Dataset, ReadOptions, holds_logs, read_tables

__all__ = ["Day", "MetricSeries", "WatchReport", "history_of", "noun_of", "read_series", "watch_series"]

Floats = NDArray[np.float64]

CARRIED_MOST = 0.3  # correlation with the day before up to which false alarms were seen to stay under 5%
_DATED = {"date", "day", "week", "month", "datum", "tag", "woche", "monat", "timestamp", "time", "datetime", "created",
          "created_at", "run_date", "fecha", "semana", "jour", "semaine", "data", "日期", "日付"}  # fmt: skip
_FILES = (".csv", ".tsv", ".json", ".jsonl", ".parquet", ".xlsx", ".eval")
JUDGE = "judge"  # the series of fixed answers that judges rated anew
UNCORRECTED = "human labels do not correct the values of a series: as they were graded"
DEFAULT_MARGIN = 0.05  # of the lead's range: the loss that a verdict's life is computed for


def noun_of(metric: str) -> str:
    """What a series is called."""
    return "judges' severity of fixed answers" if metric == JUDGE else measure_words(metric).noun


def _is_judged(metric: str) -> bool:
    """Whether a judge's severity of an answer says the measure's value, so that judges' drift is in it."""
    row = METRICS.get(metric)
    return row is not None and row.estimator == "mean" and (
        row.source == "severity" or (row.source == "score" and row.kind == "binary")
    )  # fmt: skip


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """One entry of a series: when, from where, each item's values, and what it was made with.

    `values` has one row an item: `item`, its `weight` and the watched measures that there are, means over draws;
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


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class MetricSeries:
    """One metric over the days: its values, limits that hold on all days at once, and the evidence of a change.

    With fixed answers that were rated anew, judged metrics are less what the judges rated those above their mean.

    `low` and `high` are limits of the mean, as long as nothing changed; none where a value has no bounds. `evidence` is
    how many times likelier a change is than none; an alarm is raised when it first reaches the `limit`. `missing`
    grades are counted over all days: the evidence is then the smaller of that without them and that with them at the
    worse end of the range, so that an alarm holds both ways.
    """

    metric: str
    days: tuple[str, ...]
    values: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    evidence: tuple[float, ...]
    limit: float
    alarm: str | None = None
    changed: str | None = None
    changed_between: tuple[str, str] | None = None
    before: float | None = None
    after: float | None = None
    worse: bool | None = None
    missing: int = 0


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class WatchReport(Result):
    """What a series shows: a sentence, one claim and one series a metric, and what changed beside it.

    `step` is what an entry is by how far they lie apart: a day, a week, a month, else a run. `understood` says how the
    newest entry was read, `basis` who graded it, and `notes` are those of all entries and of the series.
    """

    schema: ClassVar = "richter/watch"

    sentence: str
    exit_code: int
    claims: tuple[Claim, ...]
    series: tuple[MetricSeries, ...]
    condition: str
    n_days: int
    step: str
    n_items: int
    level: float
    changes: tuple[str, ...]
    flipped: tuple[str, ...]
    reliance: str
    notes: tuple[str, ...]
    understood: str = ""
    basis: str = ""

    @property
    def history(self) -> dict[str, Any]:
        """What a page and a pull request show of it."""
        rows = [{"metric": s.metric, "days": s.days, "values": s.values, "changed": s.changed} for s in self.series]
        return {"sentence": self.sentence, "condition": self.condition, "series": plain(rows)}


# ------------------------------------------------------------------ reading


class Series(NamedTuple):
    """The watched condition, the days in their order, and notes."""

    condition: str
    days: list[Day]
    notes: tuple[str, ...]


class _Entry(NamedTuple):
    """One entry of a series: when, from where, its tables, and whether its condition is named by its file alone."""

    at: str
    place: Place
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

    A source is a folder of runs, of logs or of tables, a database, or single files and runs. A run is dated by its
    first answer, a file by a date, a week or a month in its name, else by when it was changed. Entries of one day count
    as one each. A table with a column of dates (`date` names it) is a series by itself, an entry a day. Dataset without
    a column of conditions are all of one, called as their folder is.
    """
    places = [p for source in sources for p in _entries(run_place(source) if isinstance(source, str) else source)]
    if not places:
        raise InputError("The series is empty.", remedy="Give a folder of runs, a database, or files by date.")
    notes: list[str] = []
    read = sorted(
        (e for place in places for e in _read(place, date, options, notes, alone=len(places) == 1)),
        key=lambda e: (e.at, str(e.place)),
    )
    series = _series_name([e.place for e in read])
    names = [{series} if e.unnamed else set(e.tables.conditions) for e in read]
    if condition is None:
        common = set.intersection(*names)
        if len(common) != 1:
            every = ", ".join(printable(n) for n in sorted(set.union(*names)))
            raise InputError("Which condition is watched is open.", remedy=f"Name it with --condition: {every}.")
        condition = common.pop()
    called = (condition,) if isinstance(condition, str) else tuple(condition)
    days = []
    for at, place, tables, unnamed in read:
        name = next((n for n in called if n in tables.conditions), None)
        name = tables.conditions[0] if name is None and unnamed and series in called else name
        if name is None:
            notes.append(f"{at}: {place.name} has no {' or '.join(called)} and is left out")
            continue
        own = tables.select([name])
        days.append(
            dataclasses.replace(
                _measured_day(own, at=at, name=place.name),
                made=_made(place, own, "" if unnamed else name),
                judge=_judge(place, options),
            )
        )
    return Series(called[0], days, tuple(notes))


def _entries(place: Place) -> list[Place]:
    if isinstance(place, DatabaseRun):
        return find_runs(place) or [place]
    if not place.exists():
        raise InputError(f"{place}: no such run, folder or file.", remedy="Check the path.")
    if place.is_file() or is_run(place):
        return [place]
    runs = find_runs(place)
    if runs:
        return runs
    return [*(log_files(place) or sorted(f for f in place.iterdir() if f.suffix.lower() in _FILES))]


def _date(place: Place, notes: list[str]) -> str:
    if is_run(place):
        with open_ledger(place) as ledger:
            times = ledger.times()
        if times is not None:
            return datetime.datetime.fromtimestamp(times[0], datetime.UTC).isoformat(timespec="seconds")[:19]
    if found := date_in(place.name):
        return found
    if isinstance(place, DatabaseRun):
        raise InputError(f"{place} has no answers, so no date.", remedy="Leave it out.")
    said = "files without a date in their names are dated by when they were changed"
    notes += [] if said in notes else [said]
    changed = datetime.datetime.fromtimestamp(place.stat().st_mtime, datetime.UTC)
    return changed.isoformat(timespec="seconds")[:19]


def _read(
    place: Place, date: str | None, options: ReadOptions | None, notes: list[str], *, alone: bool
) -> Iterator[_Entry]:
    """The entries of one source: itself; of a table with several dates that is the whole series, one a date."""
    table = isinstance(place, Path) and place.is_file() and not holds_logs(place)
    split = table and (alone or date is not None)
    frame = read_frame(place, text=True) if split and isinstance(place, Path) else pl.DataFrame()
    if date is not None and table and date not in frame.columns:
        raise InputError(f"{place} has no column {date!r}.", remedy=f"It has {', '.join(frame.columns)}.")
    for column in [date] if date is not None and table else [c for c in frame.columns if plain_name(c) in _DATED]:
        at = pl.Series("at\0", [date_in(cell or "")[:10] for cell in frame[column].cast(pl.String).to_list()])
        if at.n_unique() > 1 and (date is not None or (at != "").all()):
            notes.append(f"an entry for each {printable(column, limit=40)} of {place.name}")
            for (day,), rows in frame.drop(column).with_columns(at).group_by("at\0", maintain_order=True):
                if day:
                    tables = read_tables(rows.drop("at\0"), options=options)
                    yield _Entry(str(day), place, tables, tables.conditions == ("frame",))
            return
    tables = read_tables(place, options=options)
    yield _Entry(_date(place, notes), place, tables, table and tables.conditions == (Path(place.name).stem,))


def _series_name(places: Sequence[Place]) -> str:
    """What is watched, where tables do not say: the folder, or the one file, that they are in."""
    paths = dict.fromkeys(p for p in places if isinstance(p, Path))
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
    """One row an item that has any value: its weight and its values, null where it has none."""
    frame = pl.DataFrame({"item": list(dataset.item_ids), "weight": weight, **columns}).fill_nan(None)
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


def _made(place: Place, tables: Dataset, condition: str) -> dict[str, str]:
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


def _judge(place: Place, options: ReadOptions | None) -> dict[str, float]:
    if not is_run(place) or CANARIES not in find_parts(place):
        return {}
    rows = read_tables(find_parts(place)[CANARIES], options=options).rows
    rated = rows.filter(pl.col("severity").is_not_null()).group_by("item").agg(pl.col("severity").mean())
    return dict(rated.iter_rows())


def history_of(
    *sources: str | Path,
    condition: str | Sequence[str] | None = None,
    options: ReadOptions | None = None,
    level: float = DEFAULT_LEVEL,
) -> dict[str, Any]:
    """What a series shows, for a page or a pull request."""
    name, days, notes = read_series(*sources, condition=condition, options=options)
    return watch_series(name, days, level=level, notes=notes).history


# ------------------------------------------------------------------ watching


def watch_series(
    condition: str, days: Sequence[Day], *, level: float = DEFAULT_LEVEL, margin: float | None = None, seed: int = 0,
    independent: bool = False, notes: Sequence[str] = (),
) -> WatchReport:  # fmt: skip
    """Has a metric changed over the days? All metrics and all days together raise a false alarm in at most 1 - level.

    The day is the unit: what varies from day to day, whatever it is, is in the spread of the days. Items that every
    day has are compared with themselves; where days have other items, these are a draw of their own. Where fixed
    answers were rated anew each day, what the judges' drift did to them is taken out of judged metrics, and shown as a
    series of its own. Items count by their weights. Days that depend on the day before are allowed for, unless they
    are said to be `independent` (see `change_evidence`). With missing grades an alarm must hold both without them and
    with them at the worse end. `margin` is the loss that would matter, on the scale of the first measure: a verdict may
    be relied on for as long as no drift that the days do not exclude reaches it (else 5% of that scale).
    """
    if not days:
        raise InputError("The series has no days.", remedy="Give runs that hold the condition.")
    items, said, days = _items(days)
    found = [*notes, *_data_notes(days), *said, *_gaps(days)]
    table = _daily(days, items)
    alpha = 1 - level
    limit = len(table) / alpha if table else 1 / alpha  # all metrics together raise a false alarm in at most alpha
    series = []
    for metric, (at, values) in table.items():
        found += _carried(metric, values, independent=independent)
        one = _series(
            days[0].metric(metric), metric, [days[k].at for k in at], values,
            _change_evidence(values, seed=seed, independent=independent), limit=limit,
        )  # fmt: skip
        one, more = _hold_both_ways(one, days, items, at, seed=seed, independent=independent)
        found += more
        reach = _judges_reach(one, days)
        if one.before is not None and one.after is not None and abs(one.after - one.before) <= reach:
            found.append(
                f"the {noun_of(metric)} moved by {one.after - one.before:+.3g} about {one.changed} beyond the fixed "
                f"answers; judges who drift otherwise on new ones may explain up to {reach:.2g}, so it is no alarm"
            )
            one = _without_alarm(one)
        series.append(one)
    claims = tuple(_claim(s, condition, len(table), level, days) for s in series)
    alarmed = [s for s in series if s.alarm is not None]
    judge = next((s for s in alarmed if s.metric == JUDGE), None)
    model = [s for s in alarmed if s.metric != JUDGE]
    changes, step = _changes(days), _step(days)
    if judge is not None:
        changes.insert(0, f"the judges rate the same answers otherwise since {judge.changed}: judges drifted")
    if any(s.worse for s in model):
        code, sentence = 3, " ".join(_alarm(s, condition) for s in model if s.worse)
    elif len(days) < FEWEST or not series:
        code = 4
        few = f"{counted(len(days), step)} of {printable(condition)}"
        sentence = f"{few} are too few to tell a change; {FEWEST} are the least."
    else:
        code = 0
        better = " ".join(_alarm(s, condition) for s in model)
        sentence = better or f"No change of {printable(condition)} is shown in {len(days)} {step}s."
    return WatchReport(
        sentence=sentence,
        exit_code=code,
        claims=claims,
        series=tuple(series),
        condition=condition,
        n_days=len(days),
        step=step,
        n_items=len(items) if items is not None else 0,
        level=level,
        changes=tuple(changes),
        flipped=_flipped(days, items, alarmed),
        reliance=_reliance(series, days, margin, level),
        notes=tuple(dict.fromkeys(found)),
        understood=days[-1].understood,
        basis=days[-1].basis,
    )


def _change_evidence(values: Floats, *, seed: int, independent: bool) -> Floats:
    """How many times likelier a change is than none, after each day."""
    rng = np.random.default_rng(seed)
    return floors.change_evidence(floors.sequential_scores(values, rng=rng), independent=independent)


def _data_notes(days: Sequence[Day]) -> list[str]:
    """What is to be said of the entries' data: their own notes, and the measures that a check blocks."""
    notes = list(dict.fromkeys(note for day in days for note in day.notes))
    for measure in dict.fromkeys(m for day in days for m in day.blocked):
        at = [day.at for day in days if measure in day.blocked]
        reason = next(day.blocked[measure].reason for day in days if measure in day.blocked)
        notes.append(f"{noun_of(measure)} is not taken from {', '.join(at[:3])}{', …' * (len(at) > 3)}: {reason}")
    return notes


def _without_alarm(one: MetricSeries) -> MetricSeries:
    return dataclasses.replace(one, alarm=None, changed=None, changed_between=None, before=None, after=None, worse=None)


def _hold_both_ways(
    one: MetricSeries, days: Sequence[Day], items: set[str] | None, at: Sequence[int], *, seed: int, independent: bool
) -> tuple[MetricSeries, list[str]]:
    """The series with an alarm only where missing grades left out and at the worse end both raise it, and notes."""
    missing = sum(day.missing.get(one.metric, 0) for day in days)
    if not missing:
        return one, []
    drift = np.array(one.values) - [_mean(days[k].values, one.metric, items) or 0.0 for k in at]  # the judges'
    worst = [_mean(_frame_of(days[k], worst=True), one.metric, items) or 0.0 for k in at]
    other = _series(
        days[0].metric(one.metric), one.metric, one.days, np.array(worst) + drift,
        _change_evidence(np.array(worst) + drift, seed=seed, independent=independent), limit=one.limit,
    )  # fmt: skip
    smaller = np.minimum(np.maximum.accumulate(one.evidence), np.maximum.accumulate(other.evidence))
    note = f"{counted(missing, 'grade is', 'grades are')} missing in {noun_of(one.metric)}"
    held = dataclasses.replace(one, evidence=tuple(smaller), missing=missing)
    if one.alarm is not None and other.alarm is not None and one.worse is other.worse:
        return dataclasses.replace(held, alarm=max(one.alarm, other.alarm)), [f"{note}: the alarm holds both ways"]
    if one.alarm is None and other.alarm is None:
        return held, [note]
    way = "without them" if other.alarm is None else "with them at the worse end" if one.alarm is None else "both"
    shown = one if one.alarm is not None else other
    if way == "both":
        how = "without them and with them at the worse end it changed in different directions"
    else:
        how = f"{way} it got {'worse' if shown.worse else 'better'} about {shown.changed}, else no change is shown"
    return _without_alarm(held), [f"{note}: {how}"]


def _frame_of(day: Day, *, worst: bool) -> pl.DataFrame:
    return day.worst if worst and day.worst is not None else day.values


def _items(days: Sequence[Day]) -> tuple[set[str] | None, list[str], list[Day]]:
    """The items that every day has (None: each has its own), what is to be said, and the days that count."""
    sets = [set(d.values["item"].to_list()) for d in days]
    sizes = np.array([len(s) for s in sets])
    typical = float(np.median(sizes))
    small = [d.at for d, n in zip(days, sizes, strict=True) if n < typical / 2]
    kept = [(d, s) for d, s in zip(days, sets, strict=True) if len(s) >= typical / 2]
    said = [f"those with less than half of the usual items are left out: {', '.join(small)}"] if small else []
    common = set.intersection(*(s for _, s in kept))
    if len(common) >= typical / 2:
        left = max(len(s) for _, s in kept) - len(common)
        if left:
            said.append(f"the items changed: {len(common):,} that all entries have are watched, up to {left:,} are not")
        return common, said, [d for d, _ in kept]
    said.append("the entries have items of their own: how hard an entry's items are is in its spread")
    return None, said, [d for d, _ in kept]


def _step(days: Sequence[Day]) -> str:
    """What an entry is: by the usual time between two of them."""
    at = [datetime.datetime.fromisoformat(day.at) for day in days]
    apart = sorted((two - one) / datetime.timedelta(days=1) for one, two in itertools.pairwise(at))
    usual = apart[len(apart) // 2] if apart else 1.0
    known = (("day", 0.5, 1.9), ("week", 6, 8), ("month", 27, 32))
    return next((name for name, low, high in known if low < usual < high), "run")


def _gaps(days: Sequence[Day]) -> list[str]:
    """What is to be said of days on which nothing ran, and of entries without the fixed answers that others have."""
    said = []
    at = [datetime.datetime.fromisoformat(day.at) for day in days]
    steps = [two - one for one, two in itertools.pairwise(at)]
    usual = max(sorted(steps)[len(steps) // 2], datetime.timedelta(days=1)) if steps else datetime.timedelta(0)
    wide = [k for k, step in enumerate(steps) if step >= 2 * usual]
    if wide:
        longest = max(wide, key=lambda k: steps[k])
        said.append(
            f"the series has {counted(len(wide), 'gap')}, the longest from {days[longest].at} to "
            f"{days[longest + 1].at}: what was not run does not count"
        )
    bare = [day.at for day in days if not day.judge]
    if days[0].judged and 0 < len(bare) < len(days):
        said.append(f"without fixed answers, and so not in judged metrics: {', '.join(bare)}")
    return said


def _daily(days: Sequence[Day], items: set[str] | None) -> dict[str, tuple[list[int], Floats]]:
    """Each metric that there is: on which days, and its value there."""
    found: dict[str, tuple[list[int], Floats]] = {}
    canaries = set.intersection(*(set(d.judge) for d in days if d.judge)) if any(d.judge for d in days) else set()
    rated = [[d.judge[i] for i in sorted(canaries)] if d.judge else [] for d in days]
    watched = watched_measures()
    drift = {
        measure: [float(np.mean(METRICS[measure].of_severity(np.array(r)))) if r else np.nan for r in rated]
        for measure in dict.fromkeys((*filter(_is_judged, watched), "mean_severity"))
    }
    for metric in watched:
        at, values = [], []
        for k, day in enumerate(days):
            is_ece = measure_words(metric).estimator == "ece"
            value = _ece(day.graded, items) if is_ece else _mean(day.values, metric, items)
            if value is not None:
                at.append(k)
                values.append(value)
        if metric in drift and days[0].judged and canaries:
            moved = np.array(drift[metric]) - np.nanmean(drift[metric])
            both = [j for j, k in enumerate(at) if np.isfinite(moved[k])]
            at, values = [at[j] for j in both], [values[j] - moved[at[j]] for j in both]
        if len(at) >= max(2, len(days) // 2):
            found[metric] = at, np.array(values)
    for cheaper in [m for m in found if METRICS[m].is_cost][:-1]:  # one cost is enough: money rather than tokens
        del found[cheaper]
    known = [k for k, v in enumerate(drift["mean_severity"]) if np.isfinite(v)]
    if len(known) >= 2:
        found[JUDGE] = known, np.array([drift["mean_severity"][k] for k in known])
    return found


def _judges_reach(s: MetricSeries, days: Sequence[Day]) -> float:
    """Of an alarm of a judged metric from which the judges' drift was taken out; else 0."""
    rated = [d for d in days if d.judge]
    if not _is_judged(s.metric) or s.changed is None or not days[0].judged or not rated:
        return 0.0
    fixed = sorted(set.intersection(*(set(d.judge) for d in rated)))
    table = np.array([[d.judge[i] for i in fixed] for d in rated])
    table = METRICS[s.metric].of_severity(table)
    return floors.drift_reach(table, np.array([d.at >= s.changed for d in rated]), limit=s.limit) if fixed else 0.0


def _of(rows: pl.DataFrame, items: set[str] | None) -> pl.DataFrame:
    return rows if items is None else rows.filter(pl.col("item").is_in(list(items)))


def _mean(rows: pl.DataFrame, metric: str, items: set[str] | None) -> float | None:
    """By the items' weights, over those that have a value."""
    if metric not in rows.columns:
        return None
    known = _of(rows, items).drop_nulls(metric)
    total = float(known["weight"].sum())
    return float((known[metric] * known["weight"]).sum()) / total if total > 0 else None


def _ece(rows: pl.DataFrame | None, items: set[str] | None) -> float | None:
    """The binned ECE of a day (the plug-in: its upward bias is alike on days of alike size)."""
    known = None if rows is None else _of(rows, items)
    if known is None or not known["weight"].sum():
        return None
    gaps = bin_gaps(known["confidence"], known["correct"], weight=known["weight"])
    return float(np.abs(gaps.gap).sum())


def _series(
    row: Metric, metric: str, at: Sequence[str], values: Floats, evidence: Floats, *, limit: float
) -> MetricSeries:
    """The metric's series; `row` says its range and which way is better."""
    low, high = np.full(len(values), np.nan), np.full(len(values), np.nan)
    is_rising = row.better == "higher" and metric != JUDGE
    ends = None if metric == JUDGE or row.kind == "real" or row.low is None or row.high is None else (row.low, row.high)
    if ends is not None and ends[0] <= values.min() and values.max() <= ends[1]:
        sequence = floors.mean_sequence(values, low=ends[0], high=ends[1], level=1 - 1 / limit)
        low, high = sequence.low, sequence.high
    rung = np.flatnonzero(evidence >= limit)
    more: dict[str, Any] = {}
    if len(rung):
        there = floors.change_point(values)
        more = {
            "alarm": at[rung[0]], "changed": at[min(there.day + 1, len(at) - 1)],
            "changed_between": (at[min(there.low + 1, len(at) - 1)], at[min(there.high + 1, len(at) - 1)]),
            "before": there.before, "after": there.after, "worse": (there.after > there.before) is not is_rising,
        }  # fmt: skip
    return MetricSeries(
        metric=metric, days=tuple(at), values=tuple(values), low=tuple(low), high=tuple(high),
        evidence=tuple(evidence), limit=limit, **more,
    )  # fmt: skip


def _carried(metric: str, values: Floats, *, independent: bool) -> list[str]:
    """What is to be said of days that depend on the day before: the correlation of what a change does not explain."""
    n = len(values)
    if n < 30 or float(np.ptp(values)) == 0:
        return []
    cut = floors.change_point(values).day + 1
    left = np.r_[values[:cut] - values[:cut].mean(), values[cut:] - values[cut:].mean()]
    rho = float(left[1:] @ left[:-1] / (left @ left)) if left.any() else 0.0
    most = 0.0 if independent else CARRIED_MOST
    if rho <= most + 2 / np.sqrt(n):
        return []
    held = "the days are said to be independent" if independent else f"false alarms stay under 5% up to {most:g}"
    return [f"the {noun_of(metric)} of a day is correlated with that of the day before by {rho:.2f}; {held}"]


def _alarm(s: MetricSeries, condition: str) -> str:
    assert s.changed_between is not None
    return (
        f"{printable(condition)} has {'got worse' if s.worse else 'got better'} by {noun_of(s.metric)}: "
        f"{s.before:.4g} before, {s.after:.4g} after; it changed about {s.changed} (between {s.changed_between[0]} and "
        f"{s.changed_between[1]}), told on {s.alarm}."
    )


def _claim(s: MetricSeries, condition: str, size: int, level: float, days: Sequence[Day]) -> Claim:
    """That the metric has changed; with an alarm it is shown."""
    estimate = None if s.before is None or s.after is None else s.after - s.before
    plain: Interval | None = None
    if s.alarm is not None and s.changed is not None:
        cut = s.days.index(s.changed)
        first, second = np.array(s.values[:cut]), np.array(s.values[cut:])
        if len(first) > 1 and len(second) > 1:
            found = scipy.stats.ttest_ind(second, first, equal_var=False).confidence_interval(level)
            plain = Interval(low=float(found.low), high=float(found.high), level=level, method="Welch t over days")
    sentence = (
        _alarm(s, condition)
        if s.alarm is not None
        else f"No change of the {noun_of(s.metric)} of {printable(condition)} is shown: the evidence is "
        f"{s.evidence[-1]:.2g}, an alarm needs {s.limit:.3g}."
    )
    return Claim(
        measure=f"change:{s.metric}",
        conditions=(condition,),
        verdict=Verdict.VERIFIED if s.alarm is not None else Verdict.UNDECIDED,
        sentence=sentence,
        estimate=estimate,
        plain_interval=plain,
        values=(s.before, s.after),
        n=len(s.values),
        units=len(s.values),
        unit="run",
        hypothesis=Hypothesis(relation="differs", value=0.0),
        better=None if s.metric == JUDGE else days[0].metric(s.metric).better,
        missing={condition: s.missing} if s.missing else {},
        basis=days[-1].basis,
        family=Family(method="evidence shared by the metrics, all days (Ville)", size=size),
        notes=(
            *(("the interval does not allow for the search of the day",) if plain is not None else ()),
            *dict.fromkeys(note for day in days for note in day.notes),
        ),
    )


def _changes(days: Sequence[Day]) -> list[str]:
    """What the runs themselves say has changed: model and settings, judge, rubric, questions."""
    said = []
    for name in dict.fromkeys(name for day in days for name in day.made):
        for one, two in itertools.pairwise(day for day in days if name in day.made):
            a, b = (printable(day.made[name], limit=120) or "none" for day in (one, two))
            if one.made[name] != two.made[name]:
                said.append(f"the {name} changed on {two.at}: {a} -> {b}")
    items = [set(d.values["item"].to_list()) for d in days]
    for k in range(1, len(days)):
        new, gone = len(items[k] - items[k - 1]), len(items[k - 1] - items[k])
        if (new or gone) and items[k] & items[k - 1]:
            said.append(f"the items changed on {days[k].at}: {new:,} new, {gone:,} gone")
    return said


def _flipped(days: Sequence[Day], items: set[str] | None, alarmed: Sequence[MetricSeries]) -> tuple[str, ...]:
    """Items mostly right before the change and mostly wrong after it (of all days before the last, without one)."""
    if items is None or len(days) < 2:
        return ()
    when = next((s.changed for s in alarmed if _is_judged(s.metric) and s.changed), days[-1].at)
    if any("error_rate" not in d.values.columns for d in days):
        return ()
    rows = pl.concat([d.values.select("item", "error_rate", pl.lit(d.at >= when).alias("late")) for d in days])
    rate = rows.filter(pl.col("item").is_in(list(items))).pivot(
        on="late", index="item", values="error_rate", aggregate_function="mean"
    )
    if not {"true", "false"} <= set(rate.columns):
        return ()
    worse = rate.filter(pl.col("false") < 0.5, pl.col("true") > 0.5).sort(pl.col("true") - pl.col("false"), "item")
    return tuple(worse["item"].to_list()[::-1])


def _reliance(series: Sequence[MetricSeries], days: Sequence[Day], margin: float | None, level: float) -> str:
    """How long the last verdict may be relied on: the margin over the fastest drift that days do not exclude."""
    lead = series[0] if series else None
    if lead is None or lead.metric == JUDGE or len(lead.values) < FEWEST:
        return ""
    words = days[0].metric(lead.metric)
    if words.low is None or words.high is None:
        return ""
    loss = DEFAULT_MARGIN * (words.high - words.low) if margin is None else margin
    check_margin(words, loss)
    if lead.alarm is not None:
        return f"The last verdict is from before a change: verify again on data since {lead.changed}."
    day = np.array([datetime.datetime.fromisoformat(d).timestamp() / 86400 for d in lead.days])
    if float(np.ptp(day)) < 1:
        return ""
    line = scipy.stats.linregress(day, np.array(lead.values))
    reach = float(stdtrit(len(day) - 2, (1 + level) / 2)) * float(line.stderr)
    fastest = max(abs(float(line.slope)) + float(np.nan_to_num(reach)), 1e-9)  # days that are all alike have no error
    span = words.high - words.low
    holds = floors.half_life(loss / span, fastest / span).expires_after
    return (
        f"A verdict with a margin of {words.scale * loss:.3g}{words.suffix} may be relied on for {holds:,.0f} days: "
        f"the data do not exclude a drift of {words.scale * fastest:.2g}{words.suffix} a day."
    )
