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
from richter.claims import METRICS, check_margin
from richter.errors import InputError
from richter.interop import log_files, plain_name, read_frame
from richter.records import Better, Claim, Family, Hypothesis, Interval, Result, Verdict, counted, plain, printable
from richter.stats import bin_gaps
from richter.store import DatabaseRun, Place, find_parts, find_runs, is_run, open_ledger, run_place
from richter.tables import ReadOptions, Tables, holds_logs, read_tables

__all__ = ["Day", "MetricSeries", "WatchReport", "history_of", "read_series", "watch_series"]

Floats = NDArray[np.float64]

CARRIED_MOST = 0.3  # correlation with the day before up to which false alarms were seen to stay under 5%
_DATED = {"date", "day", "week", "month", "datum", "tag", "woche", "monat", "timestamp", "time", "datetime", "created",
          "created_at", "run_date", "fecha", "semana", "jour", "semaine", "data", "日期", "日付"}  # fmt: skip
_FILES = (".csv", ".tsv", ".json", ".jsonl", ".parquet", ".xlsx", ".eval")
_NAMES = {"error_rate": "error rate", "mean_score": "mean score", "mean_severity": "mean severity",
          "ece": "calibration error", "refusal_rate": "share of refusals", "money": "dollars an answer",
          "tokens": "tokens an answer", "judge": "judges' severity of fixed answers"}  # fmt: skip
_BOUNDS = {"error_rate": (0.0, 1.0), "mean_severity": (0.0, 4.0), "ece": (0.0, 1.0), "refusal_rate": (0.0, 1.0)}
_JUDGED = ("error_rate", "mean_severity")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """One entry of a series: when, from where, each item's values, and what it was made with.

    `values` has one row an item: `item`, its `weight` and the metrics that there are; `graded` the answers that have a
    grade and a confidence: `item`, `weight` (an item's draws share the item's), `confidence`, `correct`. `better` says
    which way is better of a `mean_score`. `judge` are the severities of fixed answers that were rated anew (see
    `audit --canaries`), by item.
    """

    at: str
    name: str
    values: pl.DataFrame
    judged: bool
    made: Mapping[str, str]
    better: Better = "higher"
    graded: pl.DataFrame | None = None
    judge: Mapping[str, float] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class MetricSeries:
    """One metric over the days: its values, limits that hold on all days at once, and the evidence of a change.

    With fixed answers that were rated anew, judged metrics are less what the judges rated those above their mean.

    `low` and `high` are limits of the mean, as long as nothing changed; none where a value has no bounds. `evidence` is
    how many times likelier a change is than none; an alarm is raised when it first reaches the `limit`.
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


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class WatchReport(Result):
    """What a series shows: a sentence, one claim and one series a metric, and what changed beside it.

    `step` is what an entry is by how far they lie apart: a day, a week, a month, else a run.
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
    tables: Tables
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
    as one each. A table with a column of dates (`date` names it) is a series by itself, an entry a day. Tables without
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
            Day(
                at=at,
                name=place.name,
                values=_values(own),
                graded=_graded(own),
                judged=tables.counting == "judge",
                made=_made(place, own, "" if unnamed else name),
                better="lower" if "lower" in own.scores["better"] else "higher",
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


def _answered(tables: Tables) -> pl.DataFrame:
    """The answers that came, with the weight of their item; 1 where items have none."""
    rows = tables.rows.filter(pl.col("error").fill_null("") == "")
    known = rows["weight"].null_count()
    if 0 < known < len(rows) or (rows["weight"] < 0).any():
        raise InputError("An item has no weight, or one below 0.", remedy="Give every item one, or none.")
    return rows.with_columns(pl.col("weight").fill_null(1.0))


def _values(tables: Tables) -> pl.DataFrame:
    """One row an item: means over its draws."""
    rows = _answered(tables)
    graded = rows["correct"].null_count() < len(rows)
    found = rows.group_by("item").agg(
        pl.col("weight").first(),
        (1 - pl.col("correct")).mean().alias("error_rate"),
        pl.when(not graded).then(pl.col("score")).mean().alias("mean_score"),  # where nothing is just right or wrong
        pl.col("severity").mean().alias("mean_severity"),
        pl.col("refused").cast(pl.Float64).mean().alias("refusal_rate"),
        pl.col("money_usd").mean().alias("money"),
        pl.col("tokens_out").cast(pl.Float64).mean().alias("tokens"),
    )
    return found.sort("item")


def _graded(tables: Tables) -> pl.DataFrame:
    rows = _answered(tables).filter(pl.col("confidence").is_not_null() & pl.col("correct").is_in([0.0, 1.0]))
    shared = pl.col("weight") / pl.len().over("item")
    return rows.select("item", shared, "confidence", "correct").sort("item", "confidence", "correct")


def _made(place: Place, tables: Tables, condition: str) -> dict[str, str]:
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
    *sources: str | Path, condition: str | Sequence[str] | None = None, options: ReadOptions | None = None
) -> dict[str, Any]:
    """What a series shows, for a page or a pull request."""
    name, days, notes = read_series(*sources, condition=condition, options=options)
    return watch_series(name, days, notes=notes).history


# ------------------------------------------------------------------ watching


def watch_series(
    condition: str, days: Sequence[Day], *, level: float = 0.95, margin: float = 0.05, seed: int = 0,
    independent: bool = False, notes: Sequence[str] = (),
) -> WatchReport:  # fmt: skip
    """Has a metric changed over the days? All metrics and all days together raise a false alarm in at most 1 - level.

    The day is the unit: what varies from day to day, whatever it is, is in the spread of the days. Items that every
    day has are compared with themselves; where days have other items, these are a draw of their own. Where fixed
    answers were rated anew each day, what the judges' drift did to them is taken out of judged metrics, and shown as a
    series of its own. Items count by their weights. Days that depend on the day before are allowed for, unless they
    are said to be `independent` (see `change_evidence`).
    """
    if not days:
        raise InputError("The series has no days.", remedy="Give runs that hold the condition.")
    check_margin(METRICS["error_rate"], margin)
    items, said, days = _items(days)
    found = [*notes, *said, *_gaps(days)]
    table = _daily(days, items)
    rng = np.random.default_rng(seed)
    alpha = 1 - level
    limit = len(table) / alpha if table else 1 / alpha
    series = []
    for metric, (at, values) in table.items():
        rising = metric == "mean_score" and days[0].better == "higher"
        evidence = floors.change_evidence(floors.sequential_scores(values, rng=rng), independent=independent)
        found += _carried(metric, values, independent=independent)
        one = _series(metric, [days[k].at for k in at], values, evidence, rising=rising, limit=limit)
        reach = _judges_reach(one, days)
        if one.before is not None and one.after is not None and abs(one.after - one.before) <= reach:
            found.append(
                f"the {_NAMES[metric]} moved by {one.after - one.before:+.3g} about {one.changed} beyond the fixed "
                f"answers; judges who drift otherwise on new ones may explain up to {reach:.2g}, so it is no alarm"
            )
            one = dataclasses.replace(
                one, alarm=None, changed=None, changed_between=None, before=None, after=None, worse=None
            )
        series.append(one)
    claims = tuple(_claim(s, condition, len(table), level, days[0].better) for s in series)
    alarmed = [s for s in series if s.alarm is not None]
    judge = next((s for s in alarmed if s.metric == "judge"), None)
    model = [s for s in alarmed if s.metric != "judge"]
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
        reliance=_reliance(series, margin, level),
        notes=tuple(dict.fromkeys(found)),
    )


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
    drift = {
        "mean_severity": [float(np.mean(r)) if r else np.nan for r in rated],
        "error_rate": [float(np.mean(np.array(r) > 0)) if r else np.nan for r in rated],
    }
    for metric in ("error_rate", "mean_score", "mean_severity", "ece", "refusal_rate", "money", "tokens"):
        if metric == "tokens" and "money" in found:
            continue  # one cost is enough
        at, values = [], []
        for k, day in enumerate(days):
            value = _ece(day.graded, items) if metric == "ece" else _mean(day.values, metric, items)
            if value is not None:
                at.append(k)
                values.append(value)
        if metric in _JUDGED and days[0].judged and canaries:
            moved = np.array(drift[metric]) - np.nanmean(drift[metric])
            both = [j for j, k in enumerate(at) if np.isfinite(moved[k])]
            at, values = [at[j] for j in both], [values[j] - moved[at[j]] for j in both]
        if len(at) >= max(2, len(days) // 2):
            found[metric] = at, np.array(values)
    known = [k for k, v in enumerate(drift["mean_severity"]) if np.isfinite(v)]
    if len(known) >= 2:
        found["judge"] = known, np.array([drift["mean_severity"][k] for k in known])
    return found


def _judges_reach(s: MetricSeries, days: Sequence[Day]) -> float:
    """Of an alarm of a judged metric from which the judges' drift was taken out; else 0."""
    rated = [d for d in days if d.judge]
    if s.metric not in _JUDGED or s.changed is None or not days[0].judged or not rated:
        return 0.0
    fixed = sorted(set.intersection(*(set(d.judge) for d in rated)))
    table = np.array([[d.judge[i] for i in fixed] for d in rated])
    table = (table > 0).astype(np.float64) if s.metric == "error_rate" else table
    return floors.drift_reach(table, np.array([d.at >= s.changed for d in rated]), limit=s.limit) if fixed else 0.0


def _of(rows: pl.DataFrame, items: set[str] | None) -> pl.DataFrame:
    return rows if items is None else rows.filter(pl.col("item").is_in(list(items)))


def _mean(rows: pl.DataFrame, metric: str, items: set[str] | None) -> float | None:
    """By the items' weights, over those that have a value."""
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
    metric: str, at: Sequence[str], values: Floats, evidence: Floats, *, rising: bool, limit: float
) -> MetricSeries:
    """The metric's series; `rising`: more of it is better."""
    low, high = np.full(len(values), np.nan), np.full(len(values), np.nan)
    if metric in _BOUNDS and _BOUNDS[metric][0] <= values.min() and values.max() <= _BOUNDS[metric][1]:
        sequence = floors.mean_sequence(values, low=_BOUNDS[metric][0], high=_BOUNDS[metric][1], level=1 - 1 / limit)
        low, high = sequence.low, sequence.high
    rung = np.flatnonzero(evidence >= limit)
    more: dict[str, Any] = {}
    if len(rung):
        there = floors.change_point(values)
        more = {
            "alarm": at[rung[0]], "changed": at[min(there.day + 1, len(at) - 1)],
            "changed_between": (at[min(there.low + 1, len(at) - 1)], at[min(there.high + 1, len(at) - 1)]),
            "before": there.before, "after": there.after, "worse": (there.after > there.before) is not rising,
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
    return [f"the {_NAMES[metric]} of a day is correlated with that of the day before by {rho:.2f}; {held}"]


def _alarm(s: MetricSeries, condition: str) -> str:
    assert s.changed_between is not None
    return (
        f"{printable(condition)} has {'got worse' if s.worse else 'got better'} by {_NAMES[s.metric]}: "
        f"{s.before:.4g} before, {s.after:.4g} after; it changed about {s.changed} (between {s.changed_between[0]} and "
        f"{s.changed_between[1]}), told on {s.alarm}."
    )


def _claim(s: MetricSeries, condition: str, size: int, level: float, better: Better) -> Claim:
    """That the metric has changed; with an alarm it is shown."""
    known = METRICS.get(s.metric)
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
        else f"No change of the {_NAMES[s.metric]} of {printable(condition)} is shown: the evidence is "
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
        better=better if s.metric == "mean_score" else None if known is None else known.better,
        family=Family(method="evidence shared by the metrics, all days (Ville)", size=size),
        notes=("the interval does not allow for the search of the day",) if plain is not None else (),
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
    when = next((s.changed for s in alarmed if s.metric in _JUDGED and s.changed), days[-1].at)
    rows = pl.concat([d.values.select("item", "error_rate", pl.lit(d.at >= when).alias("late")) for d in days])
    rate = rows.filter(pl.col("item").is_in(list(items))).pivot(
        on="late", index="item", values="error_rate", aggregate_function="mean"
    )
    if not {"true", "false"} <= set(rate.columns):
        return ()
    worse = rate.filter(pl.col("false") < 0.5, pl.col("true") > 0.5).sort(pl.col("true") - pl.col("false"), "item")
    return tuple(worse["item"].to_list()[::-1])


def _reliance(series: Sequence[MetricSeries], margin: float, level: float) -> str:
    """How long the last verdict may be relied on: the margin over the fastest drift that days do not exclude."""
    lead = next((s for s in series if s.metric == "error_rate"), None)
    if lead is None or len(lead.values) < FEWEST:
        return ""
    if lead.alarm is not None:
        return f"The last verdict is from before a change: verify again on data since {lead.changed}."
    day = np.array([datetime.datetime.fromisoformat(d).timestamp() / 86400 for d in lead.days])
    if float(np.ptp(day)) < 1:
        return ""
    line = scipy.stats.linregress(day, np.array(lead.values))
    reach = float(stdtrit(len(day) - 2, (1 + level) / 2)) * float(line.stderr)
    fastest = max(abs(float(line.slope)) + float(np.nan_to_num(reach)), 1e-9)  # days that are all alike have no error
    holds = floors.half_life(margin, fastest).expires_after
    return (
        f"A verdict with a margin of {100 * margin:.3g} points may be relied on for {holds:,.0f} days: the data do not "
        f"exclude a drift of {100 * fastest:.2g} points a day."
    )
