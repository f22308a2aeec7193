"""The ledger's tables."""

import functools
from typing import Literal, NamedTuple

from richter.errors import LedgerError, LedgerNewer

APPLICATION_ID = 0x52494348  # "RICH": tells our files from any other SQLite database
VERSION = 10  # of the tables (PRAGMA user_version)
SCHEMA = """
    CREATE TABLE items (id TEXT PRIMARY KEY, position INTEGER NOT NULL, body TEXT NOT NULL);
    CREATE TABLE conditions (name TEXT PRIMARY KEY, position INTEGER NOT NULL, body TEXT NOT NULL);
    -- one row per answer that was paid for; the key is a hash of model, messages, decoding and draw
    CREATE TABLE calls (
        key TEXT PRIMARY KEY,
        model TEXT NOT NULL,
        request TEXT NOT NULL,
        text TEXT NOT NULL,
        finish TEXT NOT NULL,
        tokens TEXT,              -- JSON lists, where the backend gives them
        logprobs TEXT,
        tokens_in INTEGER,
        tokens_out INTEGER,
        money_usd REAL,           -- NULL: the price is unknown
        latency_s REAL,
        created_at REAL NOT NULL
    ) WITHOUT ROWID;
    -- which call answers which question of which condition
    CREATE TABLE answers (
        item TEXT NOT NULL,
        condition TEXT NOT NULL,
        draw INTEGER NOT NULL,
        call TEXT NOT NULL REFERENCES calls (key),
        PRIMARY KEY (condition, item, draw)
    ) WITHOUT ROWID;
    -- one row per attempt that brought no answer; given_up marks the last, and resuming asks again
    CREATE TABLE failures (
        key TEXT NOT NULL,
        model TEXT NOT NULL,
        item TEXT NOT NULL,
        condition TEXT NOT NULL,
        draw INTEGER NOT NULL,
        error TEXT NOT NULL,
        given_up INTEGER NOT NULL,
        created_at REAL NOT NULL,
        -- the most that it may have been billed
        tokens INTEGER NOT NULL DEFAULT 0,
        money_usd REAL NOT NULL DEFAULT 0
    );
    CREATE INDEX failures_given_up ON failures (condition, item, draw) WHERE given_up;
    CREATE TABLE ratings (
        item TEXT NOT NULL,
        condition TEXT NOT NULL,
        draw INTEGER NOT NULL,
        rater TEXT NOT NULL,
        kind TEXT NOT NULL CHECK (kind IN ('human', 'judge', 'rule')),
        severity REAL,
        mechanism TEXT NOT NULL,
        reason TEXT NOT NULL,
        started_at REAL,
        ended_at REAL,
        PRIMARY KEY (condition, item, draw, rater)
    ) WITHOUT ROWID;
    CREATE TABLE notes (name TEXT PRIMARY KEY, body TEXT NOT NULL);
    -- the paragraphs a search chose, by row number in its base; the key keeps any from being asked about twice
    CREATE TABLE picks (
        paragraph INTEGER PRIMARY KEY,
        step INTEGER NOT NULL,
        position INTEGER NOT NULL,
        design TEXT NOT NULL CHECK (design IN ('start', 'uniform', 'ascent'))
    );
    -- which source retrieved which paragraph of a later step
    CREATE TABLE retrievals (
        source INTEGER NOT NULL REFERENCES picks (paragraph),
        target INTEGER NOT NULL REFERENCES picks (paragraph),
        PRIMARY KEY (source, target)
    ) WITHOUT ROWID;
    -- the simple random sample that carries the population estimate: the base's random order as far as covered,
    -- whether the uniform share asked about the paragraph or the ascent had done so before
    CREATE TABLE sample (place INTEGER PRIMARY KEY, paragraph INTEGER NOT NULL);
    -- what the scorers of an imported log gave, in their own numbers; NULL: the answer was not scored
    CREATE TABLE grades (
        item TEXT NOT NULL,
        condition TEXT NOT NULL,
        draw INTEGER NOT NULL,
        scorer TEXT NOT NULL,
        value REAL,
        correct INTEGER,          -- NULL where the value says neither right nor wrong
        main INTEGER NOT NULL,    -- 1 for the one of an answer's scorers that grades it
        PRIMARY KEY (condition, item, draw, scorer)
    ) WITHOUT ROWID;
    -- how sure a model was of an answer, by the way it was measured
    CREATE TABLE confidences (
        item TEXT NOT NULL,
        condition TEXT NOT NULL,
        draw INTEGER NOT NULL,
        source TEXT NOT NULL,
        value REAL NOT NULL,
        PRIMARY KEY (condition, item, draw, source)
    ) WITHOUT ROWID;
    -- the sessions that wrote the ledger, each with what it spent, or held for what was in flight when it ended
    CREATE TABLE sessions (
        id TEXT PRIMARY KEY,
        calls INTEGER NOT NULL,
        tokens INTEGER NOT NULL,
        money_usd REAL NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX failures_key ON failures (key) WHERE given_up;
    -- what went out and is not settled, at the most it can cost: it counts as spent
    CREATE TABLE attempts (
        id TEXT PRIMARY KEY,
        session TEXT NOT NULL REFERENCES sessions (id),
        key TEXT NOT NULL,
        model TEXT NOT NULL,
        tokens INTEGER NOT NULL,
        money_usd REAL NOT NULL,
        sent_at REAL NOT NULL
    ) WITHOUT ROWID;
    -- replies as they came, where they could not be kept as they are
    CREATE TABLE aside (key TEXT NOT NULL, body BLOB NOT NULL, created_at REAL NOT NULL);
    -- one row: how many commits added records, and how many rows they added to the tables that only grow;
    -- `ledger.head` beside the file has the number of commits too
    CREATE TABLE commits (id INTEGER PRIMARY KEY, number INTEGER NOT NULL, records INTEGER NOT NULL);
"""


class Table(NamedTuple):
    """A table of records: its columns, those of its key, and which record wins."""

    columns: str
    key: str = ""  # none: the same row may stand there twice
    repeated: Literal["refuse", "ignore", "replace"] = "refuse"  # what a further record of the same key does


TABLES = {
    "items": Table("id position body", "id"),
    "conditions": Table("name position body", "name"),
    "calls": Table(
        "key model request text finish tokens logprobs tokens_in tokens_out money_usd latency_s created_at",
        "key",
        "ignore",
    ),
    "answers": Table("item condition draw call", "condition item draw", "ignore"),
    "failures": Table("key model item condition draw error given_up created_at tokens money_usd"),
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
COLUMNS = {name: table.columns.split() for name, table in TABLES.items()}
GROWING = tuple(name for name, table in TABLES.items() if table.repeated != "replace")


@functools.cache
def insert(table: str) -> str:
    """The SQL that adds a record to a table."""
    columns, key = COLUMNS[table], TABLES[table].key.split()
    sql = f"INSERT INTO {table} VALUES ({', '.join(f'?{k + 1}' for k in range(len(columns)))})"  # noqa: S608  (constants)
    if TABLES[table].repeated == "ignore":
        return f"{sql} ON CONFLICT DO NOTHING"
    if TABLES[table].repeated == "replace":
        new = ", ".join(f"{column} = excluded.{column}" for column in columns if column not in key)
        return f"{sql} ON CONFLICT ({', '.join(key)}) DO UPDATE SET {new}"
    return sql


def select(table: str, where: str) -> str:
    """The SQL for the records of a table that fulfil a condition, in the order of its key."""
    order = ", ".join(TABLES[table].key.split())
    return f"SELECT {', '.join(COLUMNS[table])} FROM {table} WHERE {where} ORDER BY {order}"  # noqa: S608  (constants)


def check_version(name: str, version: int) -> None:
    """Refuse a ledger of another version of Richter."""
    if version > VERSION:
        raise LedgerNewer(
            f"{name} has schema {version}; this Richter knows {VERSION}.",
            remedy="Upgrade Richter: pip install -U richter.",
        )
    if version < VERSION:
        raise LedgerError(f"{name} has schema {version}; this Richter knows {VERSION}.", remedy="Use another run.")
