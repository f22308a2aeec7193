"""What a run or any other source holds, read once: the records behind every section of its results."""

import dataclasses
import datetime
import functools
import math
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import polars as pl

from richter.audit._plan import POLICY_DEFAULTS, Plan, read_plan
from richter.audit._plan_lock import PlanStatus, open_data
from richter.audit._results import JUDGING_NOTE, STOP_NOTE, Spending
from richter.interop import Source, is_frame, named_source
from richter.records import LOST_END, Condition, Item, Rating, of_kind, tell_apart
from richter.store import Spent, find_parts, is_run, open_ledger, run_file
from richter.tables import Dataset, RatingsFile, ReadOptions, ratings_of, read_tables, tables_of

Basis = Literal["given", "human", "rule", "judge", "grader"]
BASES: dict[Basis, str] = {
    "given": "the source",
    "human": "people",
    "rule": "rules",
    "judge": "judges",
    "grader": "your file",
}
PLAN_NAME = "plan.toml"
NOTES = ("bench", JUDGING_NOTE, "rating sample", "search", STOP_NOTE)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CallCounts:
    """What came of asking one condition: items that it answered, calls that failed, answers that decline, the cost."""

    answered: int = 0
    failed: int = 0
    refused: int = 0
    calls: int = 0
    tokens: int = 0
    money_usd: float = 0.0
    unpriced: int = 0
    confidence: str = "stated confidence"  # what its confidences are

    def spent(self) -> Spending:
        """What its calls cost."""
        answers = self.calls - self.failed
        unknown = answers and self.unpriced >= answers
        return Spending(calls=self.calls, tokens=self.tokens, money_usd=None if unknown else self.money_usd)


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunRecords:
    """The records of a run, or of other sources (`place` is None), and which kind of rating speaks for them.

    `basis` is the kind of rating that counts, "grader" where answers are graded and not rated, None where neither;
    `rated` how many answers each kind covers, `parts` a run's draws and searches.
    """

    tables: Dataset
    conditions: tuple[Condition, ...]
    spent: Mapping[str, Any]
    drawn: Mapping[str, str] = dataclasses.field(default_factory=dict)  # the models of its parts' conditions
    place: Path | None = None
    source: str = ""
    files: tuple[str, ...] = ()  # as they are given to a command, without their folders
    parts: Mapping[str, Path] = dataclasses.field(default_factory=dict)
    state: Literal["complete", "in progress", "empty"] = "complete"
    lost: str = ""  # which records are missing or may be
    notes: Mapping[str, Mapping[str, Any]] = dataclasses.field(default_factory=lambda: {n: {} for n in NOTES})
    times: tuple[float, float] | None = None

    @property
    def bench(self) -> str:
        """Where the items came from."""
        return str(self.notes["bench"].get("path", ""))

    @property
    def names(self) -> list[str]:
        """The conditions' names."""
        return [c.name for c in self.conditions]

    @property
    def name(self) -> str:
        """The folder's or file's own name; its path is not part of any result."""
        return self.source if self.place is None or self.source else self.place.resolve().name

    @property
    def command(self) -> str:
        """The run as one writes it in a command."""
        return shlex.join(self.files or (self.name,))

    @functools.cached_property
    def items(self) -> Mapping[str, Item]:
        """Every item, those whose text is not known too."""
        known = self.tables.items
        return {**known, **{i: Item(id=i, prompt="", reference="") for i in self.tables.item_ids if i not in known}}

    @functools.cached_property
    def rows(self) -> pl.DataFrame:
        """One row an answer of the conditions that were asked: grade, severity, confidence and what else is known."""
        return self.tables.rows

    @functools.cached_property
    def scores(self) -> pl.DataFrame:
        """The first draws that have a severity."""
        first = self.rows.filter(pl.col("draw") == 0, pl.col("severity").is_not_null())
        tier = pl.col("tier").str.strip_prefix("T").cast(pl.Int64, strict=False)
        return first.select("item", "condition", "severity", "domain", tier)

    @functools.cached_property
    def rated(self) -> Mapping[Basis, int]:
        """How many answers each kind of rating covers."""
        known = self.tables.ratings.filter(pl.col("severity").is_not_null())
        counts = dict(known.group_by("kind").agg(pl.struct("item", "condition", "draw").n_unique()).iter_rows())
        if self.basis == "grader":
            counts["grader"] = self.rows.filter(pl.col("score").is_not_null()).height
        return {kind: counts[kind] for kind in BASES if kind in counts}

    @property
    def basis(self) -> Basis | None:
        """Whose word counts."""
        graded = self.tables.scores["value"].null_count() < len(self.tables.scores)
        return self.tables.counting or ("grader" if graded else None)

    @functools.cached_property
    def asked(self) -> Mapping[str, CallCounts]:
        """What came of asking each condition."""
        failed = pl.col("error").fill_null("") != ""
        table = self.rows.group_by("condition").agg(
            pl.col("item").filter(~failed).n_unique().alias("answered"),
            failed.sum().alias("failed"),
            pl.col("refused").fill_null(value=False).sum().alias("refused"),
            pl.len().alias("calls"),
            (pl.col("tokens_in").fill_null(0) + pl.col("tokens_out").fill_null(0)).sum().alias("tokens"),
            pl.col("money_usd").sum().alias("money_usd"),
            (pl.col("money_usd").is_null() & ~failed).sum().alias("unpriced"),
            pl.col("confidence_source")
            .drop_nulls()
            .mode()
            .sort()
            .first()
            .fill_null("stated confidence")
            .alias("source"),
        )
        found = {row.pop("condition"): row for row in table.to_dicts()}
        return {c.name: CallCounts(confidence=row.pop("source"), **row) if (row := found.get(c.name)) else CallCounts()
                for c in self.conditions}  # fmt: skip

    @functools.cached_property
    def ratings(self) -> tuple[Rating, ...]:
        """Every rater's own rating."""
        return ratings_of(self.tables).ratings

    def ratings_file(self) -> RatingsFile:
        """All ratings with the items' domains and the strata in which answers were drawn for people."""
        drawn = self.notes["rating sample"].get("strata", [])
        strata = {(item, condition, int(draw)): stratum for item, condition, draw, stratum in drawn}
        return dataclasses.replace(ratings_of(self.tables), strata=strata)

    def moment(self, which: int) -> str | None:
        """When the first (0) or last (1) answer came, as ISO text."""
        if self.times is None:
            return None
        return datetime.datetime.fromtimestamp(self.times[which], datetime.UTC).isoformat(timespec="seconds")


def read_records(*sources: Source, options: ReadOptions | None = None, conditions: Sequence[str] = ()) -> RunRecords:
    """Read a run, or whatever else `read_tables` takes, of some `conditions` if so. Nothing is asked or written."""
    return _kept(_read(sources, options), conditions)


def _kept(records: RunRecords, conditions: Sequence[str]) -> RunRecords:
    if not conditions:
        return records
    kept = {c.name: c for c in records.conditions}
    tables = records.tables.select(conditions)
    return dataclasses.replace(records, tables=tables, conditions=tuple(kept[name] for name in conditions))


def _read(sources: Sequence[Source], options: ReadOptions | None) -> RunRecords:
    if len(sources) == 1 and not is_frame(sources[0]):
        name, place = named_source(sources[0])
        if name is None and is_run(place):
            return _read_ledger(place, options or ReadOptions())
    tables = read_tables(*sources, options=options)
    named = [(None, "the frame") if is_frame(s) else named_source(s) for s in sources]
    files = [(name, Path(str(place)).name) for name, place in named]
    first, *others = (file for _, file in files)
    calls = len(tables.answers)
    priced = tables.answers["money_usd"].null_count() < calls
    return RunRecords(
        tables=tables,
        conditions=tuple(Condition(name=name, model=name) for name in tables.conditions),
        lost="; ".join(of_kind(tables.notes, LOST_END)),
        source=first if not others else f"{first} and {others[0] if len(others) == 1 else f'{len(others)} more'}",
        files=tuple(file if name is None else f"{name}={file}" for name, file in files),
        spent={
            "calls": calls,
            "answers": tables.answers.filter(pl.col("error").fill_null("") == "").height,
            "tokens": int(tables.answers.select(pl.sum_horizontal("tokens_in", "tokens_out").sum()).item()),
            "unpriced": tables.answers["money_usd"].null_count(),
            "money_usd": float(tables.answers["money_usd"].sum()) if priced else None,
        },
    )


def _read_ledger(place: Path, options: ReadOptions) -> RunRecords:
    with open_ledger(place) as ledger:
        writing = ledger.being_written()
        tables = tables_of(ledger, options)
        conditions = _told_apart(ledger.conditions())
        notes = {name: ledger.note(name) or {} for name in NOTES}
        times = ledger.times()
        spent, lost = [ledger.spent()], [ledger.describe_lost_end()]
    parts = find_parts(place)
    drawn: dict[str, str] = {}
    for part in parts.values():
        with open_ledger(part) as ledger:
            spent.append(ledger.spent())
            lost.append(ledger.describe_lost_end())
            drawn |= {c.name: c.model for c in _told_apart(ledger.conditions())}
    answered = len(tables.answers) > 0
    return RunRecords(
        tables=tables,
        place=place,
        parts=parts,
        drawn=drawn,
        state="in progress" if writing else "complete" if answered else "empty",
        lost="; ".join(filter(None, lost)),
        conditions=tuple(c for c in conditions if c.name in tables.conditions or not answered),
        notes=notes,
        times=times,
        spent=_sum(spent),
    )


def _told_apart(conditions: Sequence[Condition]) -> tuple[Condition, ...]:
    """The conditions of a ledger under the names that its tables have."""
    apart = tell_apart(c.name for c in conditions)
    return tuple(dataclasses.replace(c, name=apart.get(c.name, c.name)) for c in conditions)


def _sum(parts: list[Spent]) -> dict[str, Any]:
    """What the run's ledgers cost together; money is None where no answer has a price."""
    names = ("calls", "answers", "tokens", "unpriced")
    total: dict[str, Any] = {name: sum(getattr(p, name) for p in parts) for name in names}
    priced = total["answers"] == 0 or total["unpriced"] < total["answers"]
    return {**total, "money_usd": math.fsum(p.money_usd for p in parts) if priced else None}


def run_plan(
    records: RunRecords, path: str | Path | None, *, options: Mapping[str, Any]
) -> tuple[Plan | None, PlanStatus | None]:
    """The run's plan (as given, else its plan.toml) and where it stands with these options of `measure_run`."""
    if path is None:
        path = None if records.place is None else run_file(records.place, PLAN_NAME)
    if path is None:
        return None, None
    plan = read_plan(path)
    control = plan.values.get("control")  # of a severity plan
    candidates = [plan.values["candidate"]] if plan.kind == "gate" else []
    if control:
        candidates = [name for name in records.tables.conditions if name != control]
    extra = _compare_options(plan, options)
    answered = None if records.times is None else [records.times[0]]
    return plan, open_data(path, records.tables, candidates=candidates, extra=extra, answered=answered)


_DEFAULTS: Mapping[str, Any] = {"seed": 0, "level": 0.95, "n_resamples": 2000, "conditions": [], **POLICY_DEFAULTS}


def _compare_options(plan: Plan, options: Mapping[str, Any]) -> list[str]:
    """The options that are neither the plan's nor the defaults, in words."""
    pair = [name for name in (plan.values.get("baseline"), plan.values.get("candidate")) if name]
    planned = {**_DEFAULTS, "conditions": pair, **plan.values}
    return [
        f"{name}: plan {planned[name]!r}, option {value!r}"
        for name, value in options.items()
        if value not in (_DEFAULTS[name], planned[name])
    ]


def read_as_planned(
    sources: Sequence[Source], plan: str | Path | None, options: ReadOptions | None
) -> ReadOptions | None:
    """The options of reading: as given, else those of the plan (as given, else of the run's plan.toml)."""
    if options not in (None, ReadOptions()):
        return options
    if plan is None and len(sources) == 1 and not is_frame(sources[0]):
        place = named_source(sources[0])[1]
        plan = run_file(place, PLAN_NAME) if is_run(place) else None
    planned = None if plan is None else read_plan(plan).reading
    if planned is None or options is None:
        return planned or options
    return dataclasses.replace(planned, confirm=options.confirm)
