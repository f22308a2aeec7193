"""A run's tables in one SQLite file: one writer at a time, readers beside it."""

import contextlib
import os
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from richter.errors import InputError, LedgerCorrupt, LedgerError, LedgerLocked, StorageError
from richter.store._database import Transaction, UnstorableValue, Values
from richter.store._schema import APPLICATION_ID, MIGRATIONS, check_version

__all__ = ["LEDGER_NAME", "SPENDING_LOCK", "SqliteDatabase", "is_locked", "take_lock"]

LEDGER_NAME = "ledger.sqlite"
LOCK_NAME = "ledger.lock"
SPENDING_LOCK = "spending.lock"  # held by who asks models for a run or a part of it, whose budget is one
BUSY_TIMEOUT_S = 5.0
LEAST_FREE = 16 * 2**20  # what must be left on the disk before a call is paid for

T = TypeVar("T")


class SqliteDatabase:
    """The file `ledger.sqlite` of a run folder."""

    def __init__(self, folder: Path, *, writable: bool) -> None:
        self.path = folder / LEDGER_NAME
        self.name = str(folder)
        self.version = len(MIGRATIONS)
        self._writable = writable
        self._guard = threading.RLock()
        self._lock = take_lock(folder) if writable else None
        try:
            if not writable and not self.path.exists():
                raise InputError(
                    f"{folder} is not a run: it holds no {LEDGER_NAME}.", remedy="Make one with `richter ask`."
                )
            with self._translated():
                if not writable and self.path.stat().st_size == 0:
                    raise LedgerCorrupt(f"{self.path} is empty.", remedy="Restore it from a copy, or use a new folder.")
                self._db = self._connect(write=writable)
                try:
                    self._prepare()
                    # reads go beside a commit in progress, not behind it
                    self._reader = self._connect(write=False) if writable else self._db
                except BaseException:
                    self._db.close()
                    raise
        except BaseException:
            self._free_lock()
            raise

    def _connect(self, *, write: bool) -> sqlite3.Connection:
        if write:
            uri = f"{self.path.absolute().as_uri()}?mode=rwc"
        else:  # a folder that cannot be written has no room for SQLite's shared-memory file
            flags = "mode=ro" if os.access(self.path.parent, os.W_OK) else "mode=ro&immutable=1"
            uri = f"{self.path.absolute().as_uri()}?{flags}"
        db = sqlite3.connect(uri, uri=True, timeout=BUSY_TIMEOUT_S, check_same_thread=False, isolation_level=None)
        db.create_function("clock", 0, time.time)
        return db

    def _prepare(self) -> None:
        db = self._db
        version = db.execute("PRAGMA user_version").fetchone()[0]
        application = db.execute("PRAGMA application_id").fetchone()[0]
        tables = db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if tables and application != APPLICATION_ID:
            raise LedgerCorrupt(
                f"{self.path} is a database, but not a Richter ledger.", remedy="Use another run folder."
            )
        check_version(str(self.path), version, writable=self._writable)
        if not self._writable:
            self.version = version
            return
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA synchronous=FULL")  # what was paid for survives a power cut too
        for number, (name, script) in enumerate(MIGRATIONS[version:], start=version + 1):
            db.executescript(
                f"BEGIN IMMEDIATE; PRAGMA application_id={APPLICATION_ID}; {script} "  # constants, not input
                f"PRAGMA user_version={number};"
            )
            db.execute("INSERT INTO migrations VALUES (?1, clock())", (name,))
            db.execute("COMMIT")

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        """SQLite's errors as ours."""
        try:
            yield
        except sqlite3.Error as error:
            raise _ours(error, self.path) from error
        except (UnicodeError, OverflowError) as error:
            raise UnstorableValue(f"{self.path} cannot hold a value: {error}.", remedy="Leave it out.") from error

    def rows(self, sql: str, values: Values = ()) -> list[Any]:
        """Read, beside a commit in progress."""
        with self._translated():
            return self._reader.execute(sql, values).fetchall()

    def stream(self, sql: str, values: Values = ()) -> Iterator[Any]:
        """Read row by row."""
        with self._translated():
            yield from self._reader.execute(sql, values)

    def write(self, work: Callable[[Transaction], T]) -> T:
        """Do `work` in one transaction."""
        with self._guard, self._translated():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                result = work(_Writing(self._db))
            except BaseException:
                if self._db.in_transaction:  # a full disk makes SQLite roll back by itself
                    self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")
            return result

    def being_written(self) -> bool:
        """Whether some process holds the writer's lock."""
        return is_locked(self.path.parent)

    def check_room(self) -> None:
        """Raise before a call is paid for whose answer the disk could not take."""
        with contextlib.suppress(OSError):
            free = shutil.disk_usage(self.path.parent).free
            if free < LEAST_FREE:
                raise StorageError(
                    f"The disk that holds {self.path} has {free // 2**20} MB left; an answer might not be kept.",
                    remedy=f"Nothing was asked: free at least {LEAST_FREE // 2**20} MB and run the same command again.",
                )

    def close(self) -> None:
        """Close the file and let the next writer in."""
        with self._guard:
            self._reader.close()
            self._db.close()
            self._free_lock()

    def _free_lock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


class _Writing:
    """The transaction that `write` has begun."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def rows(self, sql: str, values: Values = ()) -> list[Any]:
        return self._db.execute(sql, values).fetchall()

    def many(self, sql: str, rows: Sequence[Values]) -> None:
        self._db.executemany(sql, rows)

    def alone(self) -> None:
        """Nothing to do: the folder has one writer."""


def take_lock(folder: Path, name: str = LOCK_NAME) -> int:
    """Hold the run's writer lock, or another; the system frees it when the process ends, however it ends."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder / name, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise StorageError(
            f"{folder} cannot be written: {error.strerror}.", remedy="Choose a folder that you may write to."
        ) from error
    try:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except ImportError:  # Windows: SQLite's own locks still keep the file whole
        pass
    except OSError as error:
        os.close(descriptor)
        if not isinstance(error, BlockingIOError):
            raise StorageError(
                f"{folder} cannot be locked: {error.strerror}.", remedy="Choose a folder on a local disk."
            ) from error
        doing = "written" if name == LOCK_NAME else "asked for"
        raise LedgerLocked(
            f"{folder} is being {doing} by another process.", remedy="Wait for it to end, or use another run folder."
        ) from error
    return descriptor


def is_locked(folder: Path) -> bool:
    """Whether some process holds the run's writer lock now; False where the system has no such locks."""
    try:
        import fcntl

        with (folder / LOCK_NAME).open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)  # let go of at once, when the file closes
    except BlockingIOError:
        return True
    except (ImportError, OSError):
        return False
    return False


def _ours(error: sqlite3.Error, path: Path) -> LedgerError | StorageError:
    text = str(error)
    if isinstance(error, sqlite3.DataError | sqlite3.InterfaceError) or "parameter" in text:
        return UnstorableValue(f"{path} cannot hold a value: {text}.", remedy="Leave it out.")
    if "locked" in text or "busy" in text:
        return LedgerLocked(
            f"{path} is locked by another program.", remedy="Close what has it open and run the command again."
        )
    if "full" in text:
        return StorageError(
            f"The disk is full; {path} could not take an answer.",
            remedy="What was committed is kept: free space and run the same command again.",
        )
    if "readonly" in text or "unable to open" in text:
        return StorageError(f"{path} cannot be opened or written: {text}.", remedy="Check its permissions.")
    if isinstance(error, sqlite3.DatabaseError) and ("malformed" in text or "not a database" in text):
        return LedgerCorrupt(
            f"{path} is damaged or is not a ledger: {text}.", remedy="Restore it from a copy, or use a new run folder."
        )
    return LedgerError(f"{path}: {text}.", remedy="Run again with --debug and report this.")
