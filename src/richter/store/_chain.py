"""A chain of hashes over what a run holds: each writing process binds every commit to the one before.

A row of `chain` names the records of one commit with their hashes, and its link hashes that row together with the link
before. So a record that changed, went missing or came from nowhere is found without anything kept elsewhere; and
whoever keeps the run's seal elsewhere finds out too where somebody rewrote records and chain together.
"""

import dataclasses
import functools
import hashlib
import operator
import uuid
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import msgspec

from richter.store._database import Database, Statements, Values
from richter.store._schema import CHAIN

__all__ = ["Damage"]

MOST_NAMED = 100
CHUNK = 10_000  # records of one row of the chain, where a ledger from before it is sealed
_ADD = "INSERT INTO chain VALUES (?1, ?2, ?3, ?4, ?5)"
_STATE = """
    SELECT clock(), (SELECT max(place) FROM chain WHERE writer = ?1),
    (SELECT link FROM chain WHERE writer = ?1 ORDER BY place DESC LIMIT 1), EXISTS (SELECT 1 FROM chain)
"""
_ROWS = "SELECT writer, place, at, body, link FROM chain ORDER BY "


class Table(NamedTuple):
    """A table under the chain: its first columns, which are hashed, those of its key, and which record wins."""

    columns: str
    key: str = ""  # none: its rows have no key, and the same may stand there twice
    newest: bool = False  # whether a later record of the same key replaces the earlier
    again: bool = False  # whether a record may come again, and then is left as it is
    unhashed: str = ""  # further columns


SEALED = {
    "items": Table("id position body", "id"),
    "conditions": Table("name position body", "name"),
    "calls": Table(
        "key model request text finish tokens logprobs tokens_in tokens_out money_usd latency_s created_at",
        "key",
        again=True,
    ),
    "answers": Table("item condition draw call", "condition item draw", again=True),
    "failures": Table("key model item condition draw error given_up created_at", unhashed="tokens money_usd"),
    "ratings": Table(
        "item condition draw rater kind severity mechanism reason started_at ended_at",
        "condition item draw rater",
        newest=True,
    ),
    "grades": Table("item condition draw scorer value correct main", "condition item draw scorer", newest=True),
    "confidences": Table("item condition draw source value", "condition item draw source", newest=True),
    "picks": Table("paragraph step position design", "paragraph"),
    "retrievals": Table("source target", "source target"),
    "sample": Table("place paragraph", "place"),
    "notes": Table("name body", "name", newest=True),
}
_REAL = frozenset(["money_usd", "latency_s", "created_at", "severity", "started_at", "ended_at", "value"])

COLUMNS = {name: table.columns.split() for name, table in SEALED.items()}
_KEYS = {
    name: operator.itemgetter(*(COLUMNS[name].index(part) for part in table.key.split()))
    for name, table in SEALED.items()
    if table.key
}
_encode = msgspec.json.Encoder().encode


@functools.cache
def _insert(name: str) -> str:
    """The statement that adds a record to a table."""
    table, columns = SEALED[name], COLUMNS[name] + SEALED[name].unhashed.split()
    sql = f"INSERT INTO {name} VALUES ({', '.join(f'?{k + 1}' for k in range(len(columns)))})"  # noqa: S608  (constants)
    if table.again:
        return f"{sql} ON CONFLICT DO NOTHING"
    if table.newest:
        key = table.key.split()
        new = ", ".join(f"{column} = excluded.{column}" for column in columns if column not in key)
        return f"{sql} ON CONFLICT ({', '.join(key)}) DO UPDATE SET {new}"
    return sql


def _stored(table: str, values: Sequence[Any]) -> list[Any]:
    """Values as a database gives them back: numbers of a column of reals as such."""
    return [float(v) if name in _REAL and v is not None else v for name, v in zip(COLUMNS[table], values, strict=True)]


def _record(table: str, stored: Sequence[Any]) -> tuple[str, str]:
    """(key, hash) of a record as a database gives it."""
    if table == "failures":
        stored = [int(v) if isinstance(v, bool) else v for v in stored]  # PostgreSQL's given_up
    text = _encode([0.0 if isinstance(v, float) and v == 0 else v for v in stored])  # SQLite keeps no sign of a zero
    if b"\\u0000" in text:
        text = text.replace(b"\\u0000", "\u2400".encode())  # PostgreSQL keeps no NUL
    digest = hashlib.sha256(table.encode() + text).hexdigest()[:40]
    key = _KEYS.get(table)
    return (digest if key is None else _encode(key(stored)).decode()), digest


def _link(before: str, writer: str, place: int, at: float, body: str) -> str:
    return hashlib.sha256(f"{before}\n{writer}\n{place}\n{float(at)!r}\n{body}".encode()).hexdigest()


def new_writer() -> str:
    """A name for this process in the chain."""
    return uuid.uuid4().hex


class Watched:
    """A transaction whose records are noted, and bound to the chain at its end with `bind`."""

    def __init__(self, transaction: Statements, writer: str) -> None:
        self._transaction, self._writer = transaction, writer
        self._records: list[tuple[str, str, str]] = []
        self._began: tuple[float, int, str, bool] | None = None
        self.many, self.alone = transaction.many, transaction.alone

    def rows(self, sql: str, values: Values = ()) -> list[Any]:
        """Run one statement; the rows it returns."""
        return self._transaction.rows(sql, values)

    def add(self, table: str, rows: Iterable[Values]) -> None:
        """Add records to a table under the chain."""
        given, columns = [list(row) for row in rows], COLUMNS[table]
        if not given:
            return
        if "created_at" in columns:
            at = self._begin()[0]
            for row in given:
                row.insert(columns.index("created_at"), at)
        self._transaction.many(_insert(table), given)
        self._records += [(table, *_record(table, _stored(table, row[: len(columns)]))) for row in given]

    def _begin(self) -> tuple[float, int, str, bool]:
        if self._began is None:
            at, place, link, some = self._transaction.rows(_STATE, (self._writer,))[0]
            self._began = float(at), -1 if place is None else int(place), link or "", bool(some)
        return self._began

    def bind(self) -> tuple[int, str] | None:
        """Add what was noted to the chain; the place and link of its last row, None where nothing was."""
        if not self._records:
            return None
        at, place, link, some = self._begin()
        if not some:  # the first commit under the chain vouches for what was there before
            self._records = [
                (table, *_record(table, row)) for table in SEALED for row in self._transaction.rows(select(table))
            ]
        rows = []
        for start in range(0, len(self._records), CHUNK):
            place += 1
            body = msgspec.json.encode(self._records[start : start + CHUNK]).decode()
            link = _link(link, self._writer, place, at, body)
            rows.append((self._writer, place, at, body, link))
        self._transaction.many(_ADD, rows)
        return place, link


def select(table: str, where: str = "") -> str:
    """The records of a table; where a condition is given in the order of its key."""
    sql = f"SELECT {', '.join(COLUMNS[table])} FROM {table}"  # noqa: S608  (constants)
    return f"{sql} WHERE {where} ORDER BY {', '.join(SEALED[table].key.split())}" if where else sql


# ---- checking --------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """One thing that is not as it was written: where, and what is wrong with it."""

    table: str
    record: str
    what: str

    def __str__(self) -> str:
        return f"{self.table} {self.record}: {self.what}" if self.record else f"{self.table}: {self.what}"


def is_sealed(database: Database) -> bool:
    """Whether a run has a chain: older ones get theirs when something is next recorded in them."""
    if not database.rows("SELECT 1 FROM migrations WHERE name = ?1", (CHAIN,)):
        return False
    return bool(database.rows("SELECT 1 FROM chain LIMIT 1"))


def seal_of(links: Iterable[tuple[str, str]]) -> str:
    """One hash for a whole run: of the last link of each of its writers."""
    return hashlib.sha256("\n".join(f"{w} {link}" for w, link in sorted(links)).encode()).hexdigest()


class Checked(NamedTuple):
    """What the chain says of a run's records; `seals` are those it had after each commit, in order."""

    writers: int
    commits: int
    records: int
    seals: tuple[str, ...]
    damage: tuple[Damage, ...]


class _Expected:
    """The records that the chain expects in one table."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.by_writer: defaultdict[str, dict[str, str]] = defaultdict(dict)  # of each writer, key -> hash
        self.others: defaultdict[str, set[str]] = defaultdict(set)  # by key, further hashes that may stand
        self.counts: Counter[str] = Counter()  # by hash, where the table has no key

    def add(self, writer: str, key: str, digest: str) -> None:
        """Expect a record of a commit; commits of one writer come in their order."""
        own = self.by_writer[writer]
        if not self.table.key:
            self.counts[digest] += 1
        elif self.table.newest or key not in own:
            own[key] = digest
        else:
            self.others[key].add(digest)

    def merge(self, *, in_order: bool) -> dict[str, str]:
        """The hash that stands for each key; unless writers come in order, the last of each of them may."""
        merged: dict[str, str] = {}
        for own in self.by_writer.values():
            if not (self.table.newest and in_order):
                for key in merged.keys() & own:
                    self.others[key].add(merged[key])
            merged |= own
        return merged


class _Chain:
    """The chain of a run, followed commit by commit."""

    def __init__(self) -> None:
        self.expected = {name: _Expected(table) for name, table in SEALED.items()}
        self.links: dict[str, tuple[int, str]] = {}
        self.commits = 0
        self.damage: list[Damage] = []

    @property
    def seal(self) -> str:
        """The run's seal as far as the chain was followed."""
        return seal_of((writer, link) for writer, (_, link) in self.links.items())

    def follow(self, writer: Any, place: Any, at: Any, body: Any, link: Any) -> None:
        """Take one commit; commits of one writer come in their order, whatever their clock said."""
        before, previous = self.links.get(str(writer), (-1, ""))
        try:
            follows = place == before + 1 and _link(previous, writer, place, at, body) == link
            records = msgspec.json.decode(body, type=list[tuple[str, str, str]])
        except (TypeError, ValueError):  # damage has put values of another type here
            follows, records = False, []
        if not follows:
            where = f"{str(writer)[:8]} {place}"
            self.damage.append(Damage(table="chain", record=where, what="does not follow on"))
        self.links[str(writer)] = place if isinstance(place, int) else before, str(link)
        self.commits += 1
        for table, key, digest in records:
            if table in SEALED:
                self.expected[table].add(str(writer), key, digest)


def check_chain(database: Database, *, history: bool = False) -> Checked:
    """Hold a run's records against its chain; with `history` also give the seal after each commit."""
    chain, n_records = _Chain(), 0
    seals: list[str] = []
    with database.snapshot() as stream:  # others may be writing
        for row in stream(_ROWS + database.commit_order):
            chain.follow(*row)
            if history:
                seals.append(chain.seal)
        damage = chain.damage
        for name, expected in chain.expected.items():
            n, found = _compare(name, expected, stream(select(name)), in_order=database.has_one_writer)
            n_records += n
            damage += found
    seals = seals or [chain.seal]
    return Checked(len(chain.links), chain.commits, n_records, tuple(seals), tuple(damage[:MOST_NAMED]))


def _compare(
    name: str, expected: _Expected, rows: Iterable[Sequence[Any]], *, in_order: bool
) -> tuple[int, list[Damage]]:
    """How many rows a table has, and which of them are not as expected."""
    if not SEALED[name].key:
        return _compare_counts(name, expected.counts, rows)
    due, n = expected.merge(in_order=in_order), 0
    changed: list[Damage] = []
    for row in rows:
        n += 1
        key, digest = _try_record(name, row)
        stands = due.pop(key, None)
        if stands != digest and digest not in expected.others.get(key, ()):
            what = "was changed" if stands else "is in no commit"
            changed.append(Damage(table=name, record=key, what=what))
    missing = [Damage(table=name, record=key, what="is missing") for key in due]
    return n, [*missing, *changed]


def _compare_counts(name: str, counts: Counter[str], rows: Iterable[Sequence[Any]]) -> tuple[int, list[Damage]]:
    """The same of a table without a key, where the same row may stand twice."""
    held = Counter(_try_record(name, row)[1] for row in rows)
    found = [Damage(table=name, record="", what=f"{n} rows are missing") for n in (counts - held).values()]
    found += [Damage(table=name, record="", what=f"{n} rows are in no commit") for n in (held - counts).values()]
    return held.total(), found


def _try_record(table: str, row: Sequence[Any]) -> tuple[str, str]:
    """A record's key and hash, also where damage has put values of another type in it."""
    try:
        return _record(table, row)
    except (TypeError, ValueError):
        return repr(row)[:80], "unreadable"
