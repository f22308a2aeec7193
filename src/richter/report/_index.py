"""A run's items in a small database of their own: the app filters, sorts and pages any number of them in SQL."""

import json
import sqlite3
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from richter.errors import InputError
from richter.report._evidence import answer_rows, judged_answers, read_run_tables, shown_names
from richter.store import RunLike

LIMIT = 100  # items in one reply at most
AT_ONCE = 5_000  # items turned into rows at a time
TABLES = """
    CREATE TABLE items (n INTEGER PRIMARY KEY, item TEXT, domain TEXT, tier TEXT, hay TEXT, body TEXT);
    CREATE TABLE cells (c INTEGER, n INTEGER, bad REAL, wrong INTEGER, severity REAL, severe INTEGER, refused INTEGER,
                        disagree INTEGER, mechanisms TEXT, PRIMARY KEY (c, n)) WITHOUT ROWID;
"""
FROM = """
    FROM items i LEFT JOIN cells x ON x.c = :first AND x.n = i.n LEFT JOIN cells y ON y.c = :second AND y.n = i.n
    WHERE (:item IS NULL OR i.item = :item) AND (:domain IS NULL OR i.domain = :domain)
      AND (:tier IS NULL OR i.tier = :tier)
      AND (:severity IS NULL OR x.severity >= :severity OR y.severity >= :severity)
      AND (:mechanism IS NULL OR instr(x.mechanisms, :mechanism) OR instr(y.mechanisms, :mechanism))
"""
BOTH = "x.bad IS NOT NULL AND y.bad IS NOT NULL AND"
SHOWS = {
    "changed": f"({BOTH} x.bad <> y.bad)",
    "worse": f"({BOTH} y.bad > x.bad)",
    "better": f"({BOTH} y.bad < x.bad)",
    **{key: f"(coalesce(x.{key}, 0) + coalesce(y.{key}, 0) > 0)" for key in ("severe", "disagree", "refused", "wrong")},
    "all": "1",
}
WORST = "max(coalesce(x.bad, -1e300), coalesce(y.bad, -1e300)) DESC"
SORTS = {"matters": f"coalesce(abs(y.bad - x.bad), 0) DESC, {WORST}, i.n", "gravest": f"{WORST}, i.n", "item": "i.item"}


class EvidenceIndex:
    """The items of one run as they were read; `find` answers what <richter-evidence> asks."""

    def __init__(self, run: RunLike) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self.path = Path(self._folder.name) / "items.sqlite"
        tables = read_run_tables(run)
        self.conditions = shown_names(tables.conditions)
        judged = judged_answers(tables)
        ids = judged["item"].unique(maintain_order=True).to_list()
        with sqlite3.connect(self.path) as db:
            db.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;" + TABLES)
            for start in range(0, len(ids), AT_ONCE):
                for n, row in enumerate(answer_rows(tables, judged, ids[start : start + AT_ONCE]), start=start):
                    self._add(db, n, row)
        db.close()
        self._counts: dict[str, dict[str, int]] = {}

    def _add(self, db: sqlite3.Connection, n: int, row: Mapping[str, Any]) -> None:
        cells = [(c, cell) for c, cell in enumerate(row["answers"]) if cell is not None]
        words = [row["item"], row["question"], row["reference"]]
        for _, cell in cells:
            words += [cell["text"], *(rating[4] for rating in cell.get("ratings", ()))]
        tier = None if row["tier"] is None else str(row["tier"])
        body = json.dumps(row, ensure_ascii=False)
        hay = "\n".join(words).casefold()
        db.execute("INSERT INTO items VALUES (?, ?, ?, ?, ?, ?)", (n, row["item"], row["domain"], tier, hay, body))
        db.executemany(
            "INSERT INTO cells VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (
                    c,
                    n,
                    cell["bad"],
                    cell["state"] == "wrong",
                    cell["severity"],
                    bool(cell.get("severe")),
                    bool(cell.get("refused")),
                    bool(cell.get("disagree")),
                    "\n".join(rating[3] for rating in cell.get("ratings", ())),
                )
                for c, cell in cells
            ],
        )

    def find(self, asked: Mapping[str, str]) -> dict[str, Any]:
        """The items that a query names: how many of each kind, and one page of them, what matters most first.

        `first` and `second` are conditions, `show` one of `SHOWS`, `sort` one of `SORTS`; `search` holds words that
        occur anywhere; `item`, `domain`, `tier`, `severity` (at least) and `mechanism` narrow it further.
        """
        names = self.conditions
        first = asked.get("first") if asked.get("first") in names else next(iter(names), "")
        second = asked.get("second", names[1] if len(names) > 1 else "")
        second = second if second in names else ""
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
            key = json.dumps(values, sort_keys=True)
            counts = self._counts.get(key)
            if counts is None:
                sums = ", ".join(f"coalesce(sum({test}), 0)" for test in SHOWS.values())
                counts = dict(zip(SHOWS, db.execute(f"SELECT {sums} {where}", values).fetchone(), strict=True))
                self._counts = {**dict(list(self._counts.items())[-50:]), key: counts}
            show = asked.get("show", "")
            if show not in SHOWS:
                show = "changed" if second and counts["changed"] else "wrong" if counts["wrong"] else "all"
            sort = SORTS.get(asked.get("sort", ""), SORTS["matters"])
            offset = int(_number(asked, "offset") or 0)
            values |= {"limit": min(int(_number(asked, "limit") or 10), LIMIT), "offset": offset}
            page = f"SELECT i.body {where} AND {SHOWS[show]} ORDER BY {sort} LIMIT :limit OFFSET :offset"
            rows = [json.loads(body) for (body,) in db.execute(page, values)]
        finally:
            db.close()
        state = {"first": first, "second": second, "show": show}
        return {"total": counts[show], "counts": counts, "conditions": names, "rows": rows, "state": state}

    def close(self) -> None:
        """Remove the database."""
        self._folder.cleanup()


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
