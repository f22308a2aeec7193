"""The ledger's tables."""

import re

from richter.errors import LedgerError, LedgerNewer

APPLICATION_ID = 0x52494348  # "RICH": tells our files from any other SQLite database

NEWEST = 10  # the version of these tables: PRAGMA user_version; in PostgreSQL the newest row of `migrations`
TABLES_SQL = """
    CREATE TABLE migrations (name TEXT PRIMARY KEY, applied_at REAL NOT NULL);
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
    -- the processes that write or have written a run in a database; a folder has one writer and leaves them empty
    CREATE TABLE workers (
        id TEXT PRIMARY KEY,
        name TEXT NOT NULL,            -- machine and process, for people
        started_at REAL NOT NULL,
        expires_at REAL NOT NULL,      -- not heard of since: dead
        batch INTEGER NOT NULL,        -- the last group of records it committed
        calls INTEGER NOT NULL,        -- spent, or held for what is in flight; of a dead worker, the most it cost
        tokens INTEGER NOT NULL,
        money_usd REAL NOT NULL,
        in_flight INTEGER NOT NULL
    ) WITHOUT ROWID;
    -- the calls that a worker is making, so that no other makes them too
    CREATE TABLE claims (key TEXT PRIMARY KEY, worker TEXT NOT NULL REFERENCES workers (id)) WITHOUT ROWID;
    CREATE INDEX claims_worker ON claims (worker);
    CREATE INDEX failures_key ON failures (key) WHERE given_up;
    -- what went out and is not settled, at the most it can cost: it counts as spent
    CREATE TABLE attempts (
        id TEXT PRIMARY KEY,
        worker TEXT NOT NULL REFERENCES workers (id),
        key TEXT NOT NULL,
        model TEXT NOT NULL,
        tokens INTEGER NOT NULL,
        money_usd REAL NOT NULL,
        sent_at REAL NOT NULL
    ) WITHOUT ROWID;
    -- replies as they came, where they could not be kept as they are
    CREATE TABLE aside (key TEXT NOT NULL, body BLOB NOT NULL, created_at REAL NOT NULL);
    -- the hash of each record, committed with it
    CREATE TABLE hashes (
        part TEXT NOT NULL,       -- the record's table
        record TEXT NOT NULL,     -- JSON: its key; the hash where it has none
        hash TEXT NOT NULL,
        copies INTEGER NOT NULL,  -- how often it stands there, where it has no key
        PRIMARY KEY (part, record)
    ) WITHOUT ROWID;
    -- one row: how many commits added records; `ledger.head` beside a file says it too
    CREATE TABLE commits (id INTEGER PRIMARY KEY, number INTEGER NOT NULL);
"""

# How PostgreSQL's tables differ, and why.
POSTGRES = (
    (r"\bgiven_up INTEGER\b", "given_up BOOLEAN"),  # it has no number that is true
    (r"\bINTEGER\b", "BIGINT"),  # SQLite's are of 8 bytes, as Python's counts may need
    (r"\bREAL\b", "DOUBLE PRECISION"),  # its REAL has 4 bytes
    (r"\bBLOB\b", "BYTEA"),
    (r"\bTEXT\b", 'TEXT COLLATE "C"'),  # ordered by bytes, as in SQLite, whatever the database's language
    (r"\) WITHOUT ROWID", ")"),  # it has nothing of the kind
)
CLOCK = """
    CREATE FUNCTION clock() RETURNS DOUBLE PRECISION LANGUAGE sql VOLATILE AS
    'SELECT CAST(extract(epoch FROM clock_timestamp()) AS DOUBLE PRECISION)'
"""
MARK = "a Richter ledger"  # PostgreSQL's comment on the table `migrations`, as APPLICATION_ID is SQLite's


def for_postgres(script: str) -> str:
    """The tables as PostgreSQL reads them."""
    for pattern, replacement in POSTGRES:
        script = re.sub(pattern, replacement, script)
    return script


def check_version(name: str, version: int, *, writable: bool) -> None:
    """Refuse a ledger whose tables are not of this version."""
    if version > NEWEST:
        raise LedgerNewer(
            f"{name} has schema {version}; this Richter knows {NEWEST}.",
            remedy="Upgrade Richter: pip install -U richter.",
        )
    if 0 < version < NEWEST or (version == 0 and not writable):
        raise LedgerError(f"{name} has schema {version}; this Richter reads {NEWEST}.", remedy="Use another run.")
