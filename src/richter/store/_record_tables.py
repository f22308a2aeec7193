"""The records of a run that no call brings: items, conditions, ratings, grades, a search's steps, notes."""

import json
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeVar

from richter.errors import InputError
from richter.records import Condition, Confidence, Grade, Item, Rating
from richter.store._call_rows import read_json
from richter.store._schema import COLUMNS, select
from richter.store._sqlite import SqliteDatabase, Transaction

T = TypeVar("T")
_NAMED = {"items": "SELECT id, body FROM items", "conditions": "SELECT name, body FROM conditions"}
_RATED = """
    SELECT kind, count(*) FROM (
        SELECT DISTINCT condition, item, draw, kind FROM ratings WHERE severity IS NOT NULL
    ) AS rated GROUP BY kind
"""
_OF_ITEM = "(?1 IS NULL OR item = ?1)"
_OF_KIND = f"{_OF_ITEM} AND (?2 IS NULL OR kind = ?2)"


class RecordTables:
    """Items, conditions, ratings, grades, confidences, steps of a search and notes, read and added."""

    def __init__(self, database: SqliteDatabase, *, item: str | None = None) -> None:
        self._database, self._item = database, item
        self.name = database.name

    def describe_lost_end(self) -> str:
        """That the last records may be missing, or some are, and how that shows; empty where all are there."""
        return self._database.describe_lost_end()

    def add_items(self, items: Sequence[Item]) -> None:
        """Add items; one already there must be the same, so that an answer never changes its question."""
        self._add_named("items", [(item.id, json.dumps(item.to_dict(), ensure_ascii=False)) for item in items])

    def add_conditions(self, conditions: Sequence[Condition]) -> None:
        """Add conditions; one already there must be the same."""
        self._add_named("conditions", [(c.name, json.dumps(c.to_dict(), sort_keys=True)) for c in conditions])

    def _add_named(self, table: Literal["items", "conditions"], rows: list[tuple[str, str]]) -> None:
        def add(transaction: Transaction) -> None:
            known = dict(transaction.rows(_NAMED[table]))
            for name, body in rows:
                if known.get(name, body) != body:
                    raise InputError(
                        f"The run already holds another {table[:-1]} named {name!r}.",
                        remedy="Give it another name, or use a new run.",
                    )
            new = {name: body for name, body in rows if name not in known}
            transaction.add(table, [(name, i, body) for i, (name, body) in enumerate(new.items(), len(known))])

        self._database.write(add)

    def _rows(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        return self._database.rows(sql, values)

    def _add(self, table: str, rows: Sequence[Sequence[Any]]) -> None:
        if rows:
            self._database.write(lambda transaction: transaction.add(table, rows))

    def _add_records(self, table: str, records: Iterable[object]) -> None:
        fields = operator.attrgetter(*COLUMNS[table])
        self._add(table, [[int(v) if isinstance(v, bool) else v for v in fields(record)] for record in records])

    def _read_rows(self, table: str, where: str, *values: object) -> Iterator[dict[str, Any]]:
        return (dict(zip(COLUMNS[table], row, strict=True)) for row in self._rows(select(table, where), values))

    def items(self) -> list[Item]:
        """The run's items in the order they were added."""
        one = "SELECT body FROM items WHERE ?1 IS NULL OR id = ?1 ORDER BY position"
        bodies = self._rows(one, (self._item,))
        return [read_json(Item.from_dict, body, "an item", self.name) for (body,) in bodies]

    def item_ids(self, *, limit: int) -> list[str]:
        """The names of the first items."""
        return [name for (name,) in self._rows("SELECT id FROM items ORDER BY position LIMIT ?1", (limit,))]

    def n_items(self) -> int:
        """How many items the run has."""
        return int(self._rows("SELECT count(*) FROM items")[0][0])

    def conditions(self) -> list[Condition]:
        """The run's conditions in the order they were added."""
        bodies = self._rows("SELECT body FROM conditions ORDER BY position")
        return [read_json(Condition.from_dict, body, "a condition", self.name) for (body,) in bodies]

    def add_ratings(self, ratings: Iterable[Rating]) -> None:
        """Add ratings; a rater's newer rating of the same answer replaces the older."""
        self._add_records("ratings", ratings)

    def rated_counts(self) -> dict[str, int]:
        """How many answers each kind of rater gave a severity."""
        return dict(self._rows(_RATED))

    def ratings(self, *, kind: Literal["human", "judge", "rule"] | None = None) -> list[Rating]:
        """Ratings in the order of condition, item, draw and rater; of one kind, or all."""
        return [Rating(**row) for row in self._read_rows("ratings", _OF_KIND, self._item, kind)]

    def add_grades(self, grades: Iterable[Grade]) -> None:
        """Add grades; a scorer's newer grade of the same answer replaces the older."""
        self._add_records("grades", grades)

    def grades(self) -> list[Grade]:
        """Grades in the order of condition, item, draw and scorer."""
        rows = list(self._read_rows("grades", _OF_ITEM, self._item))
        for row in rows:
            row["correct"] = None if row["correct"] is None else bool(row["correct"])
        return [Grade(**row | {"main": bool(row["main"])}) for row in rows]

    def add_confidences(self, confidences: Iterable[Confidence]) -> None:
        """Add confidences; a newer one of the same answer and source replaces the older."""
        self._add_records("confidences", confidences)

    def confidences(self) -> list[Confidence]:
        """Confidences in the order of condition, item, draw and source."""
        return [Confidence(**row) for row in self._read_rows("confidences", _OF_ITEM, self._item)]

    def add_step(
        self,
        step: int,
        *,
        picks: Sequence[tuple[int, str]],
        retrievals: Iterable[tuple[int, int]],
        sample: Sequence[int],
    ) -> None:
        """Keep a step of a search before it is asked.

        What it chose (paragraph, design), what retrieved it (source, target), and by which paragraphs the random
        sample has grown.
        """
        rows = [(paragraph, step, i, design) for i, (paragraph, design) in enumerate(picks)]
        edges = list(retrievals)

        def add(transaction: Transaction) -> None:
            (start,) = transaction.rows("SELECT count(*) FROM sample")[0]
            transaction.add("picks", rows)
            transaction.add("retrievals", edges)
            transaction.add("sample", enumerate(sample, start))

        self._database.write(add)

    def sample(self) -> list[int]:
        """The paragraphs of a search's simple random sample, in its random order."""
        return [row for (row,) in self._rows("SELECT paragraph FROM sample ORDER BY place")]

    def picks(self) -> list[tuple[int, int, str]]:
        """(paragraph, step, design) in the order they were chosen."""
        return self._rows("SELECT paragraph, step, design FROM picks ORDER BY step, position")

    def retrievals(self) -> list[tuple[int, int]]:
        """(source, target) pairs."""
        return self._rows("SELECT source, target FROM retrievals ORDER BY source, target")

    def set_note(self, name: str, value: Mapping[str, Any]) -> None:
        """Keep a small fact of the run (its bench, versions, plan hash) under a name."""
        self._add("notes", [(name, json.dumps(value, sort_keys=True, ensure_ascii=False))])

    def note(self, name: str) -> dict[str, Any] | None:
        """A fact kept with `set_note`."""
        return self.read_note(name, dict[str, Any])

    def read_note(self, name: str, make: Callable[[Any], T]) -> T | None:
        """A fact kept with `set_note`, made into what it stands for; where it cannot be, the ledger is damaged."""
        rows = self._rows("SELECT body FROM notes WHERE name = ?1", (name,))
        return read_json(make, rows[0][0], f"the note {name!r}", self.name) if rows else None
