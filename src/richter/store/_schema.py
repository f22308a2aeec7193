"""The ledger's tables, as named migrations. A migration is never changed once released; a new one is added."""

from richter.errors import LedgerError, LedgerNewer

__all__ = ["APPLICATION_ID", "MIGRATIONS", "check_version"]

APPLICATION_ID = 0x52494348  # "RICH": tells our files from any other SQLite database

# (name, SQL). The position in this tuple, from 1, is the schema version (PRAGMA user_version).
MIGRATIONS: tuple[tuple[str, str], ...] = (
    (
        "2026-11 first tables",
        """
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
            created_at REAL NOT NULL
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
        """,
    ),
    (
        "2026-11 error search",
        """
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
        """,
    ),
    (
        "2026-11 imported grades",
        """
        -- what the scorers of an imported log gave, in their own numbers; NULL: the answer was not scored
        CREATE TABLE grades (
            item TEXT NOT NULL,
            condition TEXT NOT NULL,
            draw INTEGER NOT NULL,
            scorer TEXT NOT NULL,
            value REAL,
            correct INTEGER,          -- NULL where the value says neither right nor wrong
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
        """,
    ),
)

READABLE = 2  # the oldest schema whose tables hold everything that is only read


def check_version(name: str, version: int, *, writable: bool) -> None:
    """Refuse a ledger of a newer Richter; one of an older is migrated when it is written."""
    if version > len(MIGRATIONS):
        raise LedgerNewer(
            f"{name} has schema {version}; this Richter knows {len(MIGRATIONS)}.",
            remedy="Upgrade Richter: pip install -U richter.",
        )
    if version < READABLE and not writable:
        raise LedgerError(f"{name} has the old schema {version}.", remedy="Any writing command on the run migrates it.")
