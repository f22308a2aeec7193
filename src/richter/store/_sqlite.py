"""A run's tables in one SQLite file: one writer at a time, readers beside it."""

import contextlib
import math
import os
import re
import shlex
import shutil
import sqlite3
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from richter.errors import InputError, LedgerCorrupt, LedgerError, LedgerLocked, RichterError, StorageError, StorageFull
from richter.store._schema import APPLICATION_ID, COLUMNS, GROWING, SCHEMA, VERSION, check_version, insert

__all__ = ["LEDGER_NAME", "RunLike", "ensure_inside", "is_locked", "is_run"]

RunLike = str | Path  # the folder of a run, as a caller may give it

LEDGER_NAME = "ledger.sqlite"
LOCK_NAME = "ledger.lock"
SPENDING_LOCK = "spending.lock"  # held by who asks models for a run or a part of it, whose budget is one
HEAD_NAME = "ledger.head"  # how many commits there were: by itself a ledger that has lost its end looks whole
BUSY_TIMEOUT_S = 5.0
LEAST_FREE = 16 * 2**20  # what must be left on the disk before a call is paid for
RESERVE_NAME = "ledger.reserve"  # room for what is on its way when the disk fills up; given up then
RESERVE = 64 * 2**20  # as much as all replies on their way together may be
_COUNT_COMMIT = """
    INSERT INTO commits VALUES (1, 1, ?1)
    ON CONFLICT (id) DO UPDATE SET number = number + 1, records = records + ?1 RETURNING number
"""
_END = f"""
    SELECT coalesce(max(number), 0), coalesce(max(records), 0),
    {" + ".join(f"(SELECT count(*) FROM {table})" for table in GROWING)} FROM commits
"""  # noqa: S608  (constants)

T = TypeVar("T")
read_clock = time.time  # seconds since 1970
_CHECKED_STATES: dict[Path, object] = {}  # ledgers that were found whole, and the state of their files then


class UnstorableValue(LedgerError):
    """A value that a column cannot hold, among those of a transaction, which was not done."""


class Transaction:
    """A writing transaction under way. Records go into their tables with `add`, which counts them."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self.has_added = False
        self.added = 0  # rows in tables that only grow

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        """Run one statement; the rows it returns."""
        return self._db.execute(sql, values).fetchall()

    def many(self, sql: str, rows: Iterable[Sequence[Any]]) -> int:
        """Run one statement for each row of values; how many rows it changed."""
        return self._db.executemany(sql, rows).rowcount

    def add(self, table: str, rows: Iterable[Sequence[Any]]) -> None:
        """Add records; the time at which they are made is the ledger's and is left out of the rows."""
        records = [list(row) for row in rows]
        if not records:
            return
        if "created_at" in COLUMNS[table]:
            place, now = COLUMNS[table].index("created_at"), read_clock()
            for row in records:
                row.insert(place, now)
        changed = self.many(insert(table), records)
        self.has_added = True
        self.added += changed if table in GROWING else 0


class SqliteDatabase:
    """The file `ledger.sqlite` of a run folder."""

    def __init__(self, folder: Path, *, writable: bool) -> None:
        self.path = folder / LEDGER_NAME
        self.name = str(folder)
        self._writable = writable
        self._guard = threading.RLock()
        self._head: int | None = None  # where the number of commits is noted
        self._identity: tuple[int, int] | None = None  # of the ledger's file
        self._has_reserve = False
        self._private: tempfile.TemporaryDirectory[str] | None = None
        self._lock = take_lock(folder) if writable else None
        try:
            if not writable and not self.path.exists():
                raise InputError(
                    f"{folder} is not a run: it holds no {LEDGER_NAME}.",
                    remedy="Make one with `richter audit --only ask`.",
                )
            ensure_inside(self.path, folder)
            if (folder.parent / LEDGER_NAME).exists():  # a part of a run
                ensure_inside(folder, folder.parent)
            with self._translate_errors():
                if not writable and self.path.stat().st_size == 0:
                    raise LedgerCorrupt(f"{self.path} is empty.", remedy="Restore it from a copy, or use a new folder.")
                self._db = self._connect(write=writable)
                try:
                    self._prepare()
                    # reads go beside a commit in progress, not behind it
                    self._reader = self._connect(write=False) if writable else self._db
                    self._identity = _identity_of(self.path) if writable else None
                except BaseException:
                    self._db.close()
                    raise
        except BaseException:
            self._free_lock()
            raise

    def _connect(self, *, write: bool) -> sqlite3.Connection:
        if write:
            return _open(self.path, "mode=rwc")
        db = None
        try:
            db = _open(self.path, "mode=ro")
            db.execute("PRAGMA user_version").fetchone()
        except sqlite3.Error as error:
            if db is not None:
                db.close()
            is_unwritable = re.search("unable to open|readonly", str(error)) or _is_out_of_space(error)
            if not (isinstance(error, sqlite3.OperationalError) and is_unwritable):
                raise
            return self._open_without_writing()
        return db

    def _open_without_writing(self) -> sqlite3.Connection:
        """Read where there is no room for SQLite's own files beside the ledger.

        Then SQLite reads the ledger alone, and what was committed but lies in the file beside it would be left out:
        both are copied to where there is room.
        """
        if is_locked(self.path.parent):
            raise StorageError(
                f"{self.path} is being written, and its folder cannot be: what is committed cannot be read there now.",
                remedy="Wait until nobody writes the run, or read it as a user who may write to its folder.",
            )
        beside = self.path.with_name(self.path.name + "-wal")
        try:
            if not beside.exists() or beside.stat().st_size == 0:
                return _open(self.path, "mode=ro&immutable=1")
            self._private = tempfile.TemporaryDirectory(prefix="richter-")
            for file in (self.path, beside):
                shutil.copyfile(file, Path(self._private.name) / file.name)
        except OSError as error:
            raise StorageError(
                f"{self.path} cannot be read whole: {error.strerror or error}.",
                remedy="Read it as a user who may write to its folder, or copy the whole folder.",
            ) from error
        return _open(Path(self._private.name) / self.path.name, "mode=rw")

    def ensure_whole(self) -> None:
        """Raise where the file is damaged; looked at once for each state of it."""
        state = self._state()
        if state is not None and _CHECKED_STATES.get(self.path) == state:
            return
        faults = [str(row[0]) for row in self.rows("PRAGMA integrity_check") if row[0] != "ok"]
        if faults:
            more = f", and {len(faults) - 1} more" if len(faults) > 1 else ""
            raise LedgerCorrupt(
                f"{self.path} is damaged: {faults[0]}{more}.", remedy="Restore it from a copy, or use a new run folder."
            )
        _CHECKED_STATES[self.path] = state

    def describe_lost_end(self) -> str:
        """That the last records may be missing, or some are, and how that shows; empty where all are there."""
        name = self.path.absolute().parent.name
        try:
            head = int((self.path.parent / HEAD_NAME).read_text(encoding="ascii"))
        except (OSError, ValueError):
            return f"the run {name} may lack its last records: {HEAD_NAME} beside its ledger is missing or unreadable"
        commits, written, held = self.rows(_END)[0]
        if commits < head:
            return f"the run {name} lacks its last records: {head:,} commits were made, and {commits:,} are there"
        if held != written:
            return f"the run {name} is not as it was written: {written:,} records were, and {held:,} are there"
        return ""

    def open_head(self) -> None:
        """Go on with the note of the number of commits; where the end is not known it stays unknown."""
        path, is_lost = self.path.parent / HEAD_NAME, bool(self.describe_lost_end())
        with contextlib.suppress(OSError):  # then it stays behind, and says less
            if is_lost:
                path.unlink(missing_ok=True)
            else:
                self._head = os.open(path, os.O_WRONLY)

    def _state(self) -> tuple[object, ...] | None:
        files = [self.path, self.path.with_name(self.path.name + "-wal")]
        try:
            stats = [f.stat() for f in files if f.exists()]
        except OSError:
            return None
        return tuple((s.st_ino, s.st_size, s.st_mtime_ns) for s in stats)

    def _prepare(self) -> None:
        db = self._db
        version = db.execute("PRAGMA user_version").fetchone()[0]
        application = db.execute("PRAGMA application_id").fetchone()[0]
        tables = db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if tables and application != APPLICATION_ID:
            raise LedgerCorrupt(
                f"{self.path} is a database, but not a Richter ledger.", remedy="Use another run folder."
            )
        # a view computes whatever it likes, without end if need be, and a trigger rewrites what is written
        if db.execute(
            "SELECT 1 FROM sqlite_master WHERE type NOT IN ('table', 'index') OR sql LIKE 'CREATE VIRTUAL%'"
        ).fetchone():
            raise LedgerCorrupt(
                f"{self.path} holds a view, a trigger or a virtual table, which no ledger has.",
                remedy="Do not use it: somebody changed it. Restore it from a copy.",
            )
        is_new = self._writable and version == 0
        if not is_new:
            check_version(str(self.path), version)
        if not self._writable:
            return
        db.execute("PRAGMA page_size=8192")  # of a new file: an answer of a kilobyte took a page of its own on 4,096
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA synchronous=FULL")  # what was paid for survives a power cut too
        db.execute("PRAGMA cache_size=-65536")  # in KiB: an import's keys come in no order
        if is_new:
            head = self.path.parent / HEAD_NAME
            with contextlib.suppress(OSError):  # SQLite says what is wrong with the folder
                if not head.exists():
                    head.write_text("0\n", encoding="ascii")
            db.executescript(
                f"BEGIN IMMEDIATE; PRAGMA application_id={APPLICATION_ID}; {SCHEMA} "  # constants, not input
                f"PRAGMA user_version={VERSION}; COMMIT;"
            )

    @contextlib.contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """SQLite's errors as ours."""
        try:
            yield
        except sqlite3.Error as error:
            raise _translate_error(error, self.path) from error
        except UnicodeDecodeError as error:  # also in the words of SQLite's own errors
            raise LedgerCorrupt(
                f"{self.path} is damaged: it holds text that is not UTF-8.", remedy="Restore it from a copy."
            ) from error
        except (UnicodeError, OverflowError) as error:
            raise UnstorableValue(f"{self.path} cannot hold a value: {error}.", remedy="Leave it out.") from error

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        """Read, beside a commit in progress."""
        with self._translate_errors():
            return self._reader.execute(sql, values).fetchall()

    def stream(self, sql: str, values: Sequence[Any] = ()) -> Iterator[Any]:
        """Read row by row."""
        with self._translate_errors():
            # `yield from` would close the cursor of a reader that stops half way, which fails once the file is closed
            for row in self._reader.execute(sql, values):  # noqa: UP028
                yield row

    def write(self, work: Callable[[Transaction], T]) -> T:
        """Do `work` in one transaction; where the disk is full, once more in the room that was reserved."""
        self._check_there()
        try:
            return self._transact(work)
        except StorageError:
            if not self._free_reserve():
                raise
            return self._transact(work)

    def _check_there(self) -> None:
        """Raise where the ledger's file was deleted or replaced: what is written into it then is lost."""
        if self._identity is not None and _identity_of(self.path) != self._identity:
            raise StorageError(
                f"{self.path} was deleted or replaced while it was being written.",
                remedy="Nothing more was asked. Restore the folder, or ask into a new one.",
            )

    def _transact(self, work: Callable[[Transaction], T]) -> T:
        with self._guard, self._translate_errors():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                transaction = Transaction(self._db)
                result = work(transaction)
                commits = None
                if transaction.has_added:
                    commits = self._db.execute(_COUNT_COMMIT, (transaction.added,)).fetchone()[0]
            except BaseException:
                if self._db.in_transaction:  # a full disk makes SQLite roll back by itself
                    self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")
            if commits is not None and self._head is not None:
                with contextlib.suppress(OSError):  # a full disk: the records are kept
                    os.pwrite(self._head, f"{commits:>12}\n".encode(), 0)
            return result

    def being_written(self) -> bool:
        """Whether some process holds the writer's lock."""
        return is_locked(self.path.parent)

    def check_room(self) -> None:
        """Raise before a call is paid for whose answer the disk could not take."""
        self._check_there()
        with contextlib.suppress(OSError):
            if (room := self._room_in_files()) < LEAST_FREE + RESERVE:
                raise StorageFull(
                    f"{self.path} may grow by {room // 2**20} MB only: this process may write no larger files.",
                    remedy="Nothing more was asked: raise the limit (ulimit -f unlimited) and run the command again.",
                )
            free, needed = shutil.disk_usage(self.path.parent).free, LEAST_FREE
            if not self._has_reserve:
                needed += RESERVE
                self._has_reserve = free >= needed and _reserve(self.path.parent)
            if free < needed:
                raise StorageFull(
                    f"The disk that holds {self.path} has {free // 2**20} MB left; an answer might not be kept.",
                    remedy=f"Nothing more was asked: free at least {needed // 2**20} MB and run the command again.",
                )

    def _room_in_files(self) -> float:
        """By how many bytes the ledger and the file beside it may grow before the system's limit of a file's size."""
        try:
            import resource
        except ImportError:  # Windows has no such limit
            return math.inf
        limit = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
        if limit == resource.RLIM_INFINITY:
            return math.inf
        files = (self.path, self.path.with_name(self.path.name + "-wal"))
        return limit - max(file.stat().st_size for file in files if file.exists())

    def _free_reserve(self) -> bool:
        """Give up the room that was reserved; False where there is none."""
        had, self._has_reserve = self._has_reserve, False
        with contextlib.suppress(OSError):
            (self.path.parent / RESERVE_NAME).unlink(missing_ok=True)
        return had

    def close(self) -> None:
        """Close the file and let the next writer in."""
        with self._guard:
            self._reader.close()
            self._db.close()
            if self._writable:
                self._free_reserve()
            if self._head is not None:
                os.close(self._head)
                self._head = None
            if self._private is not None:
                self._private.cleanup()
            self._free_lock()

    def _free_lock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def _identity_of(path: Path) -> tuple[int, int] | None:
    """What tells a file from another in its place; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _reserve(folder: Path) -> bool:
    """Whether room on the disk is now taken by a file of nothing."""
    try:
        with (folder / RESERVE_NAME).open("wb") as file:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, RESERVE)
            else:
                file.write(bytes(RESERVE))
    except OSError:
        with contextlib.suppress(OSError):
            (folder / RESERVE_NAME).unlink()
        return False
    return True


def is_run(source: RunLike) -> bool:
    """Whether this is the folder of a run: one that holds a ledger."""
    return (Path(source) / LEDGER_NAME).exists()


def ensure_inside(path: Path, folder: Path) -> Path:
    """The path; raises where a link makes it lead out of the folder, whose owner may be a stranger.

    A file with two names may lie outside as well, and SQLite can damage a ledger that is written under two names.
    """
    if not path.resolve().is_relative_to(folder.resolve()):
        raise InputError(
            f"{path} is a link that leads out of the run.", remedy="Put the file itself there, or remove the link."
        )
    if path.is_file() and path.stat().st_nlink > 1:
        copy = f"cp -r {shlex.quote(str(folder))} COPY"
        raise InputError(
            f"{path} has a second name (a hard link), which may lead out of the run.", remedy=f"Copy it: {copy}"
        )
    return path


def _open(path: Path, flags: str) -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?{flags}"
    db = sqlite3.connect(uri, uri=True, timeout=BUSY_TIMEOUT_S, check_same_thread=False, isolation_level=None)
    db.create_function("clock", 0, lambda: read_clock())
    return db


def take_lock(folder: Path, name: str = LOCK_NAME) -> int:
    """Hold the run's writer lock, or another; the system frees it when the process ends, however it ends."""
    if folder.is_file():
        remedy = f"Make a run of it first: richter import {shlex.quote(str(folder))} -o RUN"
        raise InputError(f"{folder} is a file, and a run is a folder.", remedy=remedy)
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


# what SQLite says -> what it means for a run
_MEANINGS: tuple[tuple[str, type[RichterError], str, str], ...] = (
    ("parameter", UnstorableValue, "{path} cannot hold a value: {text}.", "Leave it out."),
    ("locked|busy", LedgerLocked, "{path} is locked by another program.", "Close what has it open and try again."),
    (
        "full",
        StorageError,
        "The disk is full, or cannot be written; {path} could not take what was to be kept.",
        "What was committed is kept: free space and run the same command again.",
    ),
    ("readonly|unable to open", StorageError, "{path} cannot be opened or written: {text}.", "Check its permissions."),
    (
        "malformed|not a database|decode to UTF-8|no such|disk I/O|is unsupported",
        LedgerCorrupt,
        "{path} is damaged or is not a ledger: {text}.",
        "Restore it from a copy, or use a new run folder.",
    ),
    ("", LedgerError, "{path}: {text}.", "Run again with --debug and report this."),
)


def _is_out_of_space(error: sqlite3.Error) -> bool:
    """Whether SQLite could not write: on a full disk it calls that an I/O error, as it calls a broken disk."""
    return bool(
        re.match("SQLITE_IOERR_(SHM|WRITE|FSYNC|DIR_FSYNC|TRUNCATE)", getattr(error, "sqlite_errorname", "") or "")
    )


def _translate_error(error: sqlite3.Error, path: Path) -> RichterError:
    text = "parameter" if isinstance(error, sqlite3.DataError | sqlite3.InterfaceError) else str(error)
    text = "full" if _is_out_of_space(error) else text
    _, kind, what, remedy = next(means for means in _MEANINGS if re.search(means[0], text))
    return kind(what.format(path=path, text=error), remedy=remedy)
