"""A run's items in a small database of their own: the app filters, sorts and pages any number of them in SQL."""

import dataclasses
import json
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from richter.errors import InputError
from richter.records import Item, printable
from richter.report._side_by_side import (
    CUT,
    answer_rows,
    judged_answers,
    read_item_tables,
    read_run_tables,
    shown_names,
)
from richter.report._visible_text import visible
from richter.store import RunLike, open_ledger
from richter.tables import Dataset

LIMIT = 100  # items in one reply at most
TABLES = """
    CREATE TABLE items (n INTEGER PRIMARY KEY, id TEXT, item TEXT, domain TEXT, tier INTEGER, question TEXT,
                        reference TEXT, hay TEXT);
    CREATE TABLE cells (c INTEGER, n INTEGER, bad REAL, wrong INTEGER, severity REAL, severe INTEGER, refused INTEGER,
                        disagree INTEGER, mechanisms TEXT, PRIMARY KEY (c, n)) WITHOUT ROWID;
"""
FROM = """
    FROM items i LEFT JOIN cells x ON x.c = :first AND x.n = i.n LEFT JOIN cells y ON y.c = :second AND y.n = i.n
    WHERE (:item IS NULL OR i.item = :item) AND (:domain IS NULL OR i.domain = :domain)
      AND (:tier IS NULL OR CAST(i.tier AS TEXT) = :tier)
      AND (:severity IS NULL OR x.severity >= :severity OR y.severity >= :severity)
      AND (:mechanism IS NULL OR instr(x.mechanisms, :mechanism) OR instr(y.mechanisms, :mechanism))
"""
BOTH = "x.bad IS NOT NULL AND y.bad IS NOT NULL AND"
SHOWS = {
    "changed": f"({BOTH} x.bad <> y.bad)",
    "worse": f"({BOTH} y.bad > x.bad)",
    "better": f"({BOTH} y.bad < x.bad)",
    "turned": f"({BOTH} y.wrong <> x.wrong)",
    "broken": f"({BOTH} y.wrong > x.wrong)",
    "fixed": f"({BOTH} y.wrong < x.wrong)",
    **{key: f"(coalesce(x.{key}, 0) + coalesce(y.{key}, 0) > 0)" for key in ("severe", "disagree", "refused", "wrong")},
    "all": "1",
}
WORST = "max(coalesce(x.bad, -1e300), coalesce(y.bad, -1e300)) DESC"
SORTS = {"matters": f"coalesce(abs(y.bad - x.bad), 0) DESC, {WORST}, i.n", "gravest": f"{WORST}, i.n", "item": "i.item"}


class EvidenceIndex:
    """The items of one run as they were read; `find` answers what <richter-evidence> asks.

    What filters and sorts lies in a database, the answers beside it in files of columns, of which a page reads its own.
    `tell` hears how much of the answers is read, from 0 to 1.
    """

    def __init__(self, run: RunLike, tell: Callable[[float], None] | None = None) -> None:
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)  # the app may end while it is written
        self.path = Path(self._folder.name) / "items.sqlite"
        tables = read_run_tables(run, tell=tell)
        self.conditions = shown_names(tables.conditions)
        judged = judged_answers(tables)
        frames = {
            "judged": judged,
            **{n: getattr(tables, n).filter(pl.col("draw") == 0) for n in ("ratings", "scores")},
        }
        for name, frame in frames.items():
            frame.write_parquet(self._file(name))
        none = {n: getattr(tables, n).clear() for n in ("answers", "ratings", "scores")}
        self._tables = dataclasses.replace(tables, **none, items={}, asked={})
        numbers = judged.select(pl.col("item").unique(maintain_order=True)).with_row_index("n")
        with sqlite3.connect(self.path) as db:
            db.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;" + TABLES)
            db.executemany("INSERT INTO items VALUES (?, ?, ?, ?, ?, ?, ?, ?)", _items(tables, judged, numbers))
            db.executemany("INSERT INTO cells VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", _cells(tables, judged, numbers))
        db.close()
        self._counts: dict[str, dict[str, int]] = {}

    def _file(self, name: str) -> Path:
        return Path(self._folder.name) / f"{name}.parquet"

    def _rows(self, items: Sequence[Item]) -> list[dict[str, Any]]:
        """Some items with their answers."""
        ids = [item.id for item in items]
        judged, ratings, scores = (
            pl.scan_parquet(self._file(name), glob=False).filter(pl.col("item").is_in(ids)).collect()
            for name in ("judged", "ratings", "scores")
        )
        own = dataclasses.replace(self._tables, ratings=ratings, scores=scores, items={i.id: i for i in items})
        return answer_rows(own, judged, ids)

    def find(self, asked: Mapping[str, str]) -> dict[str, Any]:
        """The items that a query names: how many of each kind, and one page of them, what matters most first.

        `first` and `second` are conditions, `show` one of `SHOWS`, `sort` one of `SORTS`; `search` holds words that
        occur anywhere; `item`, `domain`, `tier`, `severity` (at least) and `mechanism` narrow it further.
        """
        names = self.conditions
        first, second = _pair(names, asked)
        words = asked.get("search", "").casefold().split()[:20]
        values: dict[str, Any] = {key: asked.get(key) or None for key in ("item", "domain", "tier", "mechanism")}
        values |= {
            "first": names.index(first) if first in names else -1,
            "second": names.index(second) if second else -1,
            "severity": _number(asked, "severity"),
            **{f"w{k}": word for k, word in enumerate(words)},
        }
        where = FROM + "".join(f" AND instr(i.hay, :w{k})" for k in range(len(words)))
        db = sqlite3.connect(self.path)
        try:
            counts = self._count(db, where, values)
            show = asked.get("show", "")
            if show not in SHOWS:
                show = "changed" if second and counts["changed"] else "wrong" if counts["wrong"] else "all"
            sort = SORTS.get(asked.get("sort", ""), SORTS["matters"])
            offset = int(_number(asked, "offset") or 0)
            values |= {"limit": _limit(asked), "offset": offset}
            page = f"SELECT id, question, reference, domain, tier {where} AND {SHOWS[show]} ORDER BY {sort}"
            items = [
                Item(id=name, prompt=question, reference=reference, domain=domain, tier=tier)
                for name, question, reference, domain, tier in db.execute(f"{page} LIMIT :limit OFFSET :offset", values)
            ]
        finally:
            db.close()
        rows = self._rows(items)
        state = {"first": first, "second": second, "show": show}
        return {"total": counts[show], "counts": counts, "conditions": names, "rows": rows, "state": state}

    def _count(self, db: sqlite3.Connection, where: str, values: Mapping[str, Any]) -> dict[str, int]:
        """How many items of each kind a query names; the last queries are remembered."""
        key = json.dumps(values, sort_keys=True)
        counts = self._counts.get(key)
        if counts is None:
            sums = ", ".join(f"coalesce(sum({test}), 0)" for test in SHOWS.values())
            counts = dict(zip(SHOWS, db.execute(f"SELECT {sums} {where}", values).fetchone(), strict=True))
            self._counts = {**dict(list(self._counts.items())[-50:]), key: counts}
        return counts

    def close(self) -> None:
        """Remove the database."""
        self._folder.cleanup()


def _items(tables: Dataset, judged: pl.DataFrame, numbers: pl.DataFrame) -> Iterator[tuple[Any, ...]]:
    """Of every item what is searched and filtered by: its words are all that was written on it, its names included."""
    texts = judged.group_by("item").agg(pl.col("text").str.join("\n"))
    own = tables.ratings.filter(pl.col("draw") == 0)
    reasons = own.group_by("item").agg(pl.col("reason").fill_null("").str.join("\n"))
    words = numbers.join(texts, on="item", how="left").join(reasons, on="item", how="left").sort("n")
    for n, one, text, reason in words.select("n", "item", "text", "reason").iter_rows():
        item = tables.items.get(one) or Item(id=one, prompt="", reference="")
        question, reference = visible(item.prompt[: CUT + 1]), visible(item.reference[: CUT + 1])
        name = printable(one, limit=200)
        hay = "\n".join((name, question, reference, text or "", reason or "")).casefold()
        yield n, one, name, printable(item.domain, limit=60), item.tier, question, reference, hay


def _cells(tables: Dataset, judged: pl.DataFrame, numbers: pl.DataFrame) -> Iterator[tuple[Any, ...]]:
    """Of every first answer what it is filtered and sorted by."""
    own = tables.ratings.filter(pl.col("draw") == 0, pl.col("mechanism").fill_null("") != "")
    named = {m: printable(m, limit=60) for m in own["mechanism"].unique().to_list()}
    mechanisms = (
        own.with_columns(pl.col("mechanism").replace(named))
        .group_by("item", "condition")
        .agg(pl.col("mechanism").str.join("\n").alias("mechanisms"))
    )
    place = pl.DataFrame({"condition": list(tables.conditions), "c": range(len(tables.conditions))})
    rows = judged.join(numbers, on="item").join(place.cast({"condition": pl.String}), on="condition")
    rows = rows.join(mechanisms, on=("item", "condition"), how="left")
    wrong = pl.col("wrong").fill_null(value=False) & (pl.col("error") == "")
    kept = rows.select("c", "n", "bad", wrong, "severity", "severe", "refused", "disagree", pl.col("mechanisms"))
    yield from kept.with_columns(pl.col("mechanisms").fill_null("")).iter_rows()


def first_items(run: RunLike, asked: Mapping[str, str]) -> dict[str, Any]:
    """A page before the run is read whole: its first items, as `EvidenceIndex.find` gives them, without counts."""
    with open_ledger(run, checked=False) as ledger:
        ids, total = ledger.item_ids(limit=_limit(asked)), ledger.n_items()
        names = shown_names([c.name for c in ledger.conditions()])
    rows = []
    for one, tables in zip(ids, read_item_tables(run, ids), strict=True):
        if len(tables.conditions) == len(names):
            rows += answer_rows(tables, judged_answers(tables), [one])
    first, second = _pair(names, asked)
    state = {"first": first, "second": second, "show": ""}
    return {"total": total, "counts": dict.fromkeys(SHOWS, 0), "conditions": names, "rows": rows, "state": state}


def _pair(names: Sequence[str], asked: Mapping[str, str]) -> tuple[str, str]:
    """The two conditions that a query names, or the first two; "" where there is none."""
    first = asked["first"] if asked.get("first") in names else next(iter(names), "")
    second = asked.get("second", names[1] if len(names) > 1 else "")
    return first, second if second in names else ""


def _limit(asked: Mapping[str, str]) -> int:
    return min(int(_number(asked, "limit") or 10), LIMIT)


def _number(query: Mapping[str, str], name: str) -> float | None:
    if query.get(name, "") == "":
        return None
    try:
        value = float(query[name])
    except ValueError as error:
        raise InputError(f"{name} is {query[name][:40]!r}, no number.") from error
    if not 0 <= value < 1e9:
        raise InputError(f"{name} is out of range.")
    return value
