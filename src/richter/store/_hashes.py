"""The hash of every record of a ledger, committed with the record itself.

A record that was changed, went missing or came from nowhere no longer fits the hashes, so damage is named without
anything that is kept elsewhere.
"""

import dataclasses
import functools
import hashlib
import operator
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from richter.store._database import Database, Statements, Values

__all__ = ["Damage"]

MOST_NAMED = 100
_ALL = "SELECT part, record, hash, copies FROM hashes ORDER BY part, record"


class Table(NamedTuple):
    """A table whose records are hashed: its first columns, which are, those of its key, and which record wins."""

    columns: str
    key: str = ""  # none: its rows have no key, and the same may stand there twice
    repeated: Literal["refuse", "ignore", "replace"] = "refuse"  # what a further record of the same key does
    unhashed: str = ""  # further columns


TABLES = {
    "items": Table("id position body", "id"),
    "conditions": Table("name position body", "name"),
    "calls": Table(
        "key model request text finish tokens logprobs tokens_in tokens_out money_usd latency_s created_at",
        "key",
        "ignore",
    ),
    "answers": Table("item condition draw call", "condition item draw", "ignore"),
    "failures": Table("key model item condition draw error given_up created_at", unhashed="tokens money_usd"),
    "ratings": Table(
        "item condition draw rater kind severity mechanism reason started_at ended_at",
        "condition item draw rater",
        "replace",
    ),
    "grades": Table("item condition draw scorer value correct main", "condition item draw scorer", "replace"),
    "confidences": Table("item condition draw source value", "condition item draw source", "replace"),
    "picks": Table("paragraph step position design", "paragraph"),
    "retrievals": Table("source target", "source target"),
    "sample": Table("place paragraph", "place"),
    "notes": Table("name body", "name", "replace"),
}
_REAL = frozenset(["money_usd", "latency_s", "created_at", "severity", "started_at", "ended_at", "value"])

COLUMNS = {name: table.columns.split() for name, table in TABLES.items()}
_REALS = {name: [k for k, column in enumerate(columns) if column in _REAL] for name, columns in COLUMNS.items()}
_KEYS = {
    name: operator.itemgetter(*(COLUMNS[name].index(part) for part in table.key.split()))
    for name, table in TABLES.items()
    if table.key
}
_KEYLESS = TABLES.keys() - _KEYS.keys()
_encode = msgspec.json.Encoder().encode


@functools.cache
def _insert_record(name: str) -> str:
    """The statement that adds a record to a table."""
    table, columns = TABLES[name], COLUMNS[name] + TABLES[name].unhashed.split()
    sql = f"INSERT INTO {name} VALUES ({', '.join(f'?{k + 1}' for k in range(len(columns)))})"  # noqa: S608  (constants)
    if table.repeated == "ignore":
        return f"{sql} ON CONFLICT DO NOTHING"
    if table.repeated == "replace":
        key = table.key.split()
        new = ", ".join(f"{column} = excluded.{column}" for column in columns if column not in key)
        return f"{sql} ON CONFLICT ({', '.join(key)}) DO UPDATE SET {new}"
    return sql


def _insert_hash(name: str) -> str:
    """The statement that adds a record's hash: it wins or loses against an earlier one as the record does."""
    sql = "INSERT INTO hashes VALUES (?1, ?2, ?3, 1) ON CONFLICT"
    if TABLES[name].repeated == "ignore":
        return f"{sql} DO NOTHING"
    change = "hash = excluded.hash" if TABLES[name].key else "copies = hashes.copies + 1"
    return f"{sql} (part, record) DO UPDATE SET {change}"


def _to_stored(table: str, values: Sequence[Any]) -> list[Any]:
    """Values as a database gives them back: numbers of a column of reals as such."""
    stored = list(values)
    for k in _REALS[table]:
        stored[k] = None if stored[k] is None else float(stored[k])
    return stored


def _without_signed_zeros(stored: Sequence[Any]) -> list[Any]:
    """The same values; SQLite keeps no sign of a zero."""
    return [0.0 if isinstance(v, float) and v == 0 else v for v in stored]


def _hash_record(table: str, stored: Sequence[Any]) -> tuple[str, str]:
    """(key, hash) of a record as a database gives it."""
    if table == "failures":
        stored = [int(v) if isinstance(v, bool) else v for v in stored]  # PostgreSQL's given_up
    text = _encode(_without_signed_zeros(stored) if _REALS[table] else stored)
    if b"\\u0000" in text:
        text = text.replace(b"\\u0000", "\u2400".encode())  # PostgreSQL keeps no NUL
    digest = hashlib.sha256(table.encode() + text).hexdigest()[:40]
    key = _KEYS.get(table)
    return (digest if key is None else _encode(key(stored)).decode()), digest


class HashedTransaction:
    """A transaction that remembers the hashes of the records it adds; `keep_hashes` commits them with these."""

    def __init__(self, transaction: Statements) -> None:
        self._transaction = transaction
        self._hashes: defaultdict[str, list[tuple[str, str, str]]] = defaultdict(list)
        self._now: float | None = None
        self.rows, self.many, self.alone = transaction.rows, transaction.many, transaction.alone

    def add(self, table: str, rows: Iterable[Values]) -> None:
        """Add records to a table."""
        records, columns = [list(row) for row in rows], COLUMNS[table]
        if not records:
            return
        if "created_at" in columns:
            if self._now is None:
                self._now = float(self.rows("SELECT clock()")[0][0])
            for row in records:
                row.insert(columns.index("created_at"), self._now)
        self.many(_insert_record(table), records)
        self._remember(table, (_to_stored(table, row[: len(columns)]) for row in records))

    def _remember(self, table: str, stored: Iterable[Sequence[Any]]) -> None:
        self._hashes[table] += [(table, *_hash_record(table, row)) for row in stored]

    def keep_hashes(self) -> bool:
        """Write the hashes of what was added; False where nothing was."""
        if not self._hashes:
            return False
        for table, hashes in self._hashes.items():
            self.many(_insert_hash(table), sorted(hashes, key=operator.itemgetter(1)))  # in the order of the index
        return True


def select(table: str, where: str = "") -> str:
    """The SQL for the records of a table; where a condition is given in the order of its key."""
    sql = f"SELECT {', '.join(COLUMNS[table])} FROM {table}"  # noqa: S608  (constants)
    return f"{sql} WHERE {where} ORDER BY {', '.join(TABLES[table].key.split())}" if where else sql


# ---- checking --------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """One thing that is not as it was written: where, and what is wrong with it."""

    table: str
    record: str
    what: str

    def __str__(self) -> str:
        return f"{self.table} {self.record}: {self.what}" if self.record else f"{self.table}: {self.what}"


def has_hashes(database: Database) -> bool:
    """Whether anything was recorded in a run."""
    return bool(database.rows("SELECT 1 FROM hashes LIMIT 1"))


class CheckedRecords(NamedTuple):
    """How many records a run has, one hash over all of their hashes, and what is wrong with them."""

    records: int
    seal: str
    damage: tuple[Damage, ...]


def check_hashes(database: Database) -> CheckedRecords:
    """Compare a run's records with their hashes."""
    due: defaultdict[str, dict[str, str]] = defaultdict(dict)  # by table: record -> hash
    copies: Counter[str] = Counter()  # of the rows without a key, by hash
    seal, n_records, damage = hashlib.sha256(), 0, list[Damage]()
    with database.snapshot() as stream:  # others may be writing
        for row in stream(_ALL):
            seal.update(repr(tuple(row)).encode())
            table, record, digest = map(str, row[:3])
            if table in _KEYLESS:
                copies[record] = row[3] if isinstance(row[3], int) else 0
            else:
                due[table][record] = digest
        for table in sorted({*TABLES, *due}):
            rows = stream(select(table)) if table in TABLES else ()  # damage may name others
            if table in _KEYLESS:
                n, faults = _compare_copies(table, copies, rows)
            else:
                n, faults = _compare_hashes(table, due[table], rows)
            n_records += n
            damage += faults
    return CheckedRecords(n_records, seal.hexdigest(), tuple(damage[:MOST_NAMED]))


def _compare_hashes(name: str, due: dict[str, str], rows: Iterable[Sequence[Any]]) -> tuple[int, list[Damage]]:
    """How many rows a table has, and which of them are not as they were written."""
    n, changed = 0, []
    for row in rows:
        n += 1
        key, digest = _try_hash(name, row)
        expected = due.pop(key, None)
        if expected != digest:
            changed.append(Damage(table=name, record=key, what="was changed" if expected else "was never written"))
    return n, [*(Damage(table=name, record=key, what="is missing") for key in due), *changed]


def _compare_copies(name: str, copies: Counter[str], rows: Iterable[Sequence[Any]]) -> tuple[int, list[Damage]]:
    """The same of a table without a key, where the same row may stand twice."""
    held = Counter(_try_hash(name, row)[1] for row in rows)
    damage = [Damage(table=name, record="", what=f"{n} rows are missing") for n in (copies - held).values()]
    damage += [Damage(table=name, record="", what=f"{n} rows were never written") for n in (held - copies).values()]
    return held.total(), damage


def _try_hash(table: str, row: Sequence[Any]) -> tuple[str, str]:
    """A record's key and hash, also where damage has put values of another type in it."""
    try:
        return _hash_record(table, row)
    except (TypeError, ValueError):
        return repr(row)[:80], "unreadable"
