"""One SQLite file per run. An answer is committed before it is used, so a killed process loses no paid call."""

import asyncio
import contextlib
import dataclasses
import json
import os
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal, Self

from richter.errors import InputError, LedgerCorrupt, LedgerError, LedgerLocked, LedgerNewer, StorageError
from richter.records import Answer, Condition, Item, Rating
from richter.store._schema import APPLICATION_ID, MIGRATIONS

__all__ = ["LEDGER_NAME", "Call", "Ledger", "ModelSpent", "Spent", "being_written", "open_ledger"]

LEDGER_NAME = "ledger.sqlite"
LOCK_NAME = "ledger.lock"
GROUP_COMMIT_S = 0.005  # calls that arrive within this time share one commit
BUSY_TIMEOUT_S = 5.0

_NAMED = {  # what is there, and how to add to it
    "items": ("SELECT id, body FROM items", "INSERT INTO items VALUES (?, ?, ?)"),
    "conditions": ("SELECT name, body FROM conditions", "INSERT INTO conditions VALUES (?, ?, ?)"),
}
_FIND = "SELECT text, finish, tokens, logprobs, tokens_in, tokens_out, money_usd, latency_s FROM calls WHERE key = ?"
_ANSWERS = """
    SELECT a.item, a.condition, a.draw, text, finish, tokens, logprobs, tokens_in, tokens_out, money_usd, latency_s
    FROM answers a JOIN calls c ON c.key = a.call LEFT JOIN items i ON i.id = a.item
    WHERE ?1 IS NULL OR a.condition = ?1 ORDER BY a.condition, i.position, a.draw
"""
_FAILED = """
    SELECT f.item, f.condition, f.draw, f.error, max(f.created_at) FROM failures f LEFT JOIN answers a
    ON a.condition = f.condition AND a.item = f.item AND a.draw = f.draw
    WHERE f.given_up AND a.call IS NULL AND f.condition <> '' AND (?1 IS NULL OR f.condition = ?1)
    GROUP BY f.condition, f.item, f.draw
"""
_SPENT = """
    SELECT count(*), (SELECT count(*) FROM failures), coalesce(sum(tokens_in), 0) + coalesce(sum(tokens_out), 0),
    coalesce(sum(money_usd), 0.0), coalesce(sum(money_usd IS NULL), 0) FROM calls
"""
_SPENT_BY_MODEL = """
    SELECT model, sum(answers), sum(failed), sum(tokens_in), sum(tokens_out), sum(money), sum(unpriced) FROM (
        SELECT model, count(*) AS answers, 0 AS failed, coalesce(sum(tokens_in), 0) AS tokens_in,
        coalesce(sum(tokens_out), 0) AS tokens_out, coalesce(sum(money_usd), 0.0) AS money,
        sum(money_usd IS NULL) AS unpriced FROM calls GROUP BY model
        UNION ALL SELECT model, 0, count(*), 0, 0, 0.0, 0 FROM failures GROUP BY model
    ) GROUP BY model ORDER BY model
"""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """An attempt to call a model as the ledger keeps it: who asked (item, condition, draw), what, and the answer.

    Where `answer.error` is set the attempt brought no answer; `given_up` then says that it was the last.
    """

    key: str
    model: str
    request: str
    answer: Answer
    given_up: bool = True


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What a run has cost so far. `money_usd` counts priced calls only; `unpriced` says how many have no price."""

    calls: int  # requests that went out, retries and failures included
    answers: int
    tokens: int
    money_usd: float
    unpriced: int


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpent:
    """What a run has cost at one model. `failed` requests brought no answer; they count as requests."""

    model: str
    answers: int
    failed: int
    tokens_in: int
    tokens_out: int
    money_usd: float
    unpriced: int


def open_ledger(run: str | Path, *, mode: Literal["read", "write"] = "read") -> "Ledger":
    """Open a run folder's ledger: to write (made if missing, one writer at a time) or to read, beside a writer too."""
    folder = Path(run)
    path = folder / LEDGER_NAME
    if mode == "read":
        if not path.exists():
            raise InputError(
                f"{folder} is not a run: it holds no {LEDGER_NAME}.", remedy="Make one with `richter ask`."
            )
        return Ledger(path, lock=None)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = _take_lock(folder)
    except OSError as error:
        raise StorageError(
            f"{folder} cannot be written: {error.strerror}.", remedy="Choose a folder that you may write to."
        ) from error
    try:
        return Ledger(path, lock=lock)
    except BaseException:
        os.close(lock)
        raise


def _take_lock(folder: Path) -> int:
    """Hold the run's writer lock; the system frees it when the process ends, however it ends."""
    descriptor = os.open(folder / LOCK_NAME, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except ImportError:  # Windows: SQLite's own locks still keep the file whole
        pass
    except BlockingIOError as error:
        os.close(descriptor)
        raise LedgerLocked(
            f"{folder} is being written by another process.", remedy="Wait for it to end, or use another run folder."
        ) from error
    return descriptor


def being_written(run: str | Path) -> bool:
    """Whether some process holds the run's writer lock now; False where the system has no such locks."""
    path = Path(run) / LOCK_NAME
    try:
        import fcntl

        with path.open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)  # let go of at once, when the file closes
    except BlockingIOError:
        return True
    except (ImportError, OSError):
        return False
    return False


@contextlib.contextmanager
def _translated(path: Path) -> Iterator[None]:
    """SQLite's errors as ours."""
    try:
        yield
    except sqlite3.Error as error:
        text = str(error)
        if "locked" in text or "busy" in text:
            raise LedgerLocked(
                f"{path} is locked by another program.", remedy="Close what has it open and run the command again."
            ) from error
        if "full" in text:
            raise StorageError(
                f"The disk is full; {path} could not take an answer.",
                remedy="What was committed is kept: free space and run the same command again.",
            ) from error
        if "readonly" in text or "unable to open" in text:
            raise StorageError(
                f"{path} cannot be opened or written: {text}.", remedy="Check its permissions."
            ) from error
        if isinstance(error, sqlite3.DatabaseError) and ("malformed" in text or "not a database" in text):
            raise LedgerCorrupt(
                f"{path} is damaged or is not a ledger: {text}.",
                remedy="Restore it from a copy, or use a new run folder.",
            ) from error
        raise LedgerError(f"{path}: {text}.", remedy="Run again with --debug and report this.") from error


class Ledger:
    """A run's records. Reads may run beside one writer; writes go through group commits or one at a time."""

    def __init__(self, path: Path, *, lock: int | None) -> None:
        self.path = path
        self.writable = lock is not None
        self._lock = lock
        self._guard = threading.RLock()
        self._pending: list[tuple[Call, asyncio.Future[None]]] = []
        self._flusher: asyncio.Task[None] | None = None
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="ledger") if self.writable else None
        with _translated(path):
            if path.exists() and path.stat().st_size == 0 and not self.writable:
                raise LedgerCorrupt(f"{path} is empty.", remedy="Restore it from a copy, or use a new run folder.")
            self._db = self._connect(write=self.writable)
            try:
                self._prepare()
                # reads go beside a commit in progress, not behind it
                self._reader = self._connect(write=False) if self.writable else self._db
            except BaseException:
                self._db.close()
                raise

    def _connect(self, *, write: bool) -> sqlite3.Connection:
        if write:
            uri = f"{self.path.absolute().as_uri()}?mode=rwc"
        else:  # a folder that cannot be written has no room for SQLite's shared-memory file
            flags = "mode=ro" if os.access(self.path.parent, os.W_OK) else "mode=ro&immutable=1"
            uri = f"{self.path.absolute().as_uri()}?{flags}"
        return sqlite3.connect(uri, uri=True, timeout=BUSY_TIMEOUT_S, check_same_thread=False, isolation_level=None)

    def _prepare(self) -> None:
        db = self._db
        version = db.execute("PRAGMA user_version").fetchone()[0]
        application = db.execute("PRAGMA application_id").fetchone()[0]
        tables = db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if tables and application != APPLICATION_ID:
            raise LedgerCorrupt(
                f"{self.path} is a database, but not a Richter ledger.", remedy="Use another run folder."
            )
        if version > len(MIGRATIONS):
            raise LedgerNewer(
                f"{self.path} has schema {version}; this Richter knows {len(MIGRATIONS)}.",
                remedy="Upgrade Richter: pip install -U richter.",
            )
        if not self.writable:
            if version < len(MIGRATIONS):
                raise LedgerError(
                    f"{self.path} has the old schema {version}.", remedy="Any writing command on the run migrates it."
                )
            return
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA synchronous=FULL")  # what was paid for survives a power cut too
        for number, (name, script) in enumerate(MIGRATIONS[version:], start=version + 1):
            db.executescript(
                f"BEGIN IMMEDIATE; PRAGMA application_id={APPLICATION_ID}; {script} "  # constants, not input
                f"PRAGMA user_version={number};"
            )
            db.execute("INSERT INTO migrations VALUES (?, ?)", (name, time.time()))
            db.execute("COMMIT")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Write what is pending and let go of the file."""
        if self._pool is not None:  # before taking the guard: a commit in progress needs it to end
            self._pool.shutdown(wait=True)
        with self._guard:
            if self._pending:
                self._commit([call for call, _ in self._pending])
                self._pending.clear()
            self._reader.close()
            self._db.close()
            if self._lock is not None:
                os.close(self._lock)
                self._lock = None

    # -- items and conditions ------------------------------------------------------------------------------

    def add_items(self, items: Sequence[Item]) -> None:
        """Add items; one already there must be the same, so that an answer never changes its question."""
        self._add_named("items", [(item.id, json.dumps(item.to_dict(), ensure_ascii=False)) for item in items])

    def add_conditions(self, conditions: Sequence[Condition]) -> None:
        """Add conditions; one already there must be the same."""
        self._add_named("conditions", [(c.name, json.dumps(c.to_dict(), sort_keys=True)) for c in conditions])

    def _add_named(self, table: Literal["items", "conditions"], rows: list[tuple[str, str]]) -> None:
        select, insert = _NAMED[table]
        with self._guard, _translated(self.path):
            known = dict(self._db.execute(select))
            for name, body in rows:
                if known.get(name, body) != body:
                    raise InputError(
                        f"The run already holds another {table[:-1]} named {name!r}.",
                        remedy="Give it another name, or use a new run folder.",
                    )
            start = len(known)
            new = [(name, start + i, body) for i, (name, body) in enumerate(r for r in rows if r[0] not in known)]
            with self._transaction():
                self._db.executemany(insert, new)

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            if self._db.in_transaction:  # a full disk makes SQLite roll back by itself
                self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[None]:
        """What is read inside is of one moment, whatever is written meanwhile."""
        with _translated(self.path):
            self._reader.execute("BEGIN")
        try:
            yield
        finally:
            self._reader.execute("COMMIT")

    def _rows(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        with _translated(self.path):
            return self._reader.execute(sql, values).fetchall()

    def items(self) -> list[Item]:
        """The run's items in the order they were added."""
        bodies = self._rows("SELECT body FROM items ORDER BY position")
        return [Item.from_dict(json.loads(body)) for (body,) in bodies]

    def conditions(self) -> list[Condition]:
        """The run's conditions in the order they were added."""
        bodies = self._rows("SELECT body FROM conditions ORDER BY position")
        return [Condition.from_dict(json.loads(body)) for (body,) in bodies]

    # -- calls and answers ---------------------------------------------------------------------------------

    def find(self, key: str) -> Answer | None:
        """The answer that was paid for under this key, if any."""
        rows = self._rows(_FIND, (key,))
        return _answer("", "", 0, rows[0]) if rows else None

    def link(self, item: str, condition: str, draw: int, key: str) -> None:
        """Say that a call already in the ledger answers this item of this condition too."""
        with self._guard, _translated(self.path):
            self._db.execute("INSERT OR IGNORE INTO answers VALUES (?, ?, ?, ?)", (item, condition, draw, key))

    def answered(self, condition: str) -> set[tuple[str, int]]:
        """The (item, draw) pairs of a condition that have an answer."""
        return set(self._rows("SELECT item, draw FROM answers WHERE condition = ?", (condition,)))

    async def record(self, call: Call) -> None:
        """Commit a call; returns when it is on disk. Calls that arrive within a few milliseconds share a commit."""
        await asyncio.shield(self.record_soon(call))

    def record_soon(self, call: Call) -> asyncio.Future[None]:
        """Commit a call within milliseconds, or when the ledger closes; the future says when it is on disk."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()
        self._pending.append((call, done))
        if self._flusher is None:
            self._flusher = loop.create_task(self._flush())
        return done

    async def _flush(self) -> None:
        """Commit what is pending, a group at a time, until nothing is."""
        loop = asyncio.get_running_loop()
        try:
            while self._pending:
                await asyncio.sleep(GROUP_COMMIT_S)
                batch, self._pending = self._pending, []
                try:
                    await loop.run_in_executor(self._pool, self._commit, [call for call, _ in batch])
                except asyncio.CancelledError:
                    self._pending = batch + self._pending  # `close` commits them; a second time changes nothing
                    raise
                except Exception as error:
                    for _, done in batch:
                        done.set_exception(error)
                        done.exception()  # a waiter that was cancelled does not come back for it
                else:
                    for _, done in batch:
                        done.set_result(None)
        finally:
            self._flusher = None

    def _commit(self, calls: Sequence[Call]) -> None:
        now = time.time()
        paid = [c for c in calls if not c.answer.error]
        failed = [c for c in calls if c.answer.error]
        with self._guard, _translated(self.path), self._transaction():
            if paid:
                self._db.executemany(
                    "INSERT OR IGNORE INTO calls VALUES (?,?,?,?,?,?,?,?,?,?,?,?)",
                    [
                        (
                            c.key,
                            c.model,
                            c.request,
                            c.answer.text,
                            c.answer.finish,
                            json.dumps(c.answer.tokens, ensure_ascii=False) if c.answer.tokens else None,
                            json.dumps(c.answer.logprobs) if c.answer.logprobs else None,
                            c.answer.tokens_in,
                            c.answer.tokens_out,
                            c.answer.money_usd,
                            c.answer.latency_s,
                            now,
                        )
                        for c in paid
                    ],
                )
                self._db.executemany(
                    "INSERT OR IGNORE INTO answers VALUES (?,?,?,?)",
                    [(c.answer.item, c.answer.condition, c.answer.draw, c.key) for c in paid if c.answer.condition],
                )
            self._db.executemany(
                "INSERT INTO failures VALUES (?,?,?,?,?,?,?,?)",
                [
                    (c.key, c.model, c.answer.item, c.answer.condition, c.answer.draw, c.answer.error, c.given_up, now)
                    for c in failed
                ],
            )

    def answers(self, condition: str | None = None) -> Iterator[Answer]:
        """Answers in the order of items and draws, streamed; failed ones (never answered since) come with `error`."""
        with _translated(self.path):
            cursor = self._reader.execute(_ANSWERS, (condition,))
            for item, name, draw, *rest in cursor:
                yield _answer(item, name, draw, rest)
        yield from self._failed(condition)

    def _failed(self, condition: str | None) -> list[Answer]:
        rows = self._rows(_FAILED, (condition,))
        return [Answer(text="", item=i, condition=c, draw=d, error=e) for i, c, d, e, _ in rows]

    def spent(self) -> Spent:
        """Requests, tokens and money so far, over everything in the run."""
        answers, failed, tokens, money, unpriced = self._rows(_SPENT)[0]
        return Spent(calls=answers + failed, answers=answers, tokens=tokens, money_usd=money, unpriced=unpriced)

    def spent_by_model(self) -> list[ModelSpent]:
        """The same for each model of the run, by name."""
        names = [field.name for field in dataclasses.fields(ModelSpent)]
        return [ModelSpent(**dict(zip(names, row, strict=True))) for row in self._rows(_SPENT_BY_MODEL)]

    def times(self) -> tuple[float, float] | None:
        """When the first and the last answer came, in seconds since 1970; None without any."""
        first, last = self._rows("SELECT min(created_at), max(created_at) FROM calls")[0]
        return None if first is None else (first, last)

    # -- ratings -------------------------------------------------------------------------------------------

    def add_ratings(self, ratings: Iterable[Rating]) -> None:
        """Add ratings; a rater's newer rating of the same answer replaces the older."""
        rows = [
            (r.item, r.condition, r.draw, r.rater, r.kind, r.severity, r.mechanism, r.reason, r.started_at, r.ended_at)
            for r in ratings
        ]
        with self._guard, _translated(self.path), self._transaction():
            self._db.executemany("INSERT OR REPLACE INTO ratings VALUES (?,?,?,?,?,?,?,?,?,?)", rows)

    def ratings(self, *, kind: Literal["human", "judge", "rule"] | None = None) -> list[Rating]:
        """Ratings in the order of condition, item, draw and rater; of one kind, or all."""
        rows = self._rows("SELECT * FROM ratings WHERE ?1 IS NULL OR kind = ?1", (kind,))
        names = (
            "item",
            "condition",
            "draw",
            "rater",
            "kind",
            "severity",
            "mechanism",
            "reason",
            "started_at",
            "ended_at",
        )
        return [Rating(**dict(zip(names, row, strict=True))) for row in rows]

    # -- error search --------------------------------------------------------------------------------------

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
        with self._guard, _translated(self.path), self._transaction():
            start = self._db.execute("SELECT count(*) FROM sample").fetchone()[0]
            self._db.executemany("INSERT INTO picks VALUES (?, ?, ?, ?)", rows)
            self._db.executemany("INSERT INTO retrievals VALUES (?, ?)", list(retrievals))
            self._db.executemany("INSERT INTO sample VALUES (?, ?)", enumerate(sample, start))

    def sample(self) -> list[int]:
        """The paragraphs of a search's simple random sample, in its random order."""
        return [row for (row,) in self._rows("SELECT paragraph FROM sample ORDER BY place")]

    def picks(self) -> list[tuple[int, int, str]]:
        """(paragraph, step, design) in the order they were chosen."""
        return self._rows("SELECT paragraph, step, design FROM picks ORDER BY step, position")

    def retrievals(self) -> list[tuple[int, int]]:
        """(source, target) pairs."""
        return self._rows("SELECT source, target FROM retrievals ORDER BY source, target")

    # -- notes ---------------------------------------------------------------------------------------------

    def set_note(self, name: str, value: Mapping[str, Any]) -> None:
        """Keep a small fact of the run (its bench, versions, plan hash) under a name."""
        with self._guard, _translated(self.path):
            body = json.dumps(value, sort_keys=True, ensure_ascii=False)
            self._db.execute("INSERT OR REPLACE INTO notes VALUES (?, ?)", (name, body))

    def note(self, name: str) -> dict[str, Any] | None:
        """A fact kept with `set_note`."""
        rows = self._rows("SELECT body FROM notes WHERE name = ?", (name,))
        return json.loads(rows[0][0]) if rows else None


def _answer(item: str, condition: str, draw: int, row: Sequence[Any]) -> Answer:
    text, finish, tokens, logprobs, tokens_in, tokens_out, money_usd, latency_s = row
    return Answer(
        text=text,
        item=item,
        condition=condition,
        draw=draw,
        finish=finish,
        tokens=tuple(json.loads(tokens)) if tokens else (),
        logprobs=tuple(json.loads(logprobs)) if logprobs else (),
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        money_usd=money_usd,
        latency_s=latency_s,
    )
