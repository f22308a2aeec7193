"""Runs: where they are, how their ledgers are opened, and what a run costs together with its parts."""

import contextlib
import itertools
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Literal, TypeVar

from richter.errors import InputError, RichterError, StorageError
from richter.store._ledger import Ledger, Unsettled
from richter.store._place import DatabaseRun, Place, RunLike, is_run, run_place, whole_run
from richter.store._postgres import PostgresDatabase, database_runs, drop_run, publish_run, scratch_run
from richter.store._spending import RunUsage, Spender, Usage
from richter.store._sqlite import HEAD_NAME, LEDGER_NAME, SqliteDatabase, ensure_inside, take_lock
from richter.store._workers import Worker

__all__ = [
    "find_parts",
    "find_runs",
    "has_ledger",
    "hold_run",
    "new_run",
    "open_ledger",
    "run_used",
    "settle_run",
    "start_spending",
    "unsettled_run",
]

T = TypeVar("T")
_UNFINISHED = ".unfinished-"  # what a run that is being made lies in


def open_ledger(
    run: RunLike,
    *,
    mode: Literal["read", "write"] = "read",
    alone: bool = False,
    checked: bool = True,
    item: str | None = None,
) -> Ledger:
    """Open a run's ledger to write (made if missing) or to read, beside a writer too.

    A folder has one writer at a time. A run in a database (`postgresql://...`) has as many as there are, which share
    its calls and its budget, unless one of them must be `alone`. The records of a folder are held against their hashes
    first (half a second for 100,000); not where they are not `checked`, for a look at one of them or at their number.
    With `item` the ledger gives what it holds of that item, and nothing of the others is read.
    """
    place, writable = run_place(run), mode == "write"
    database: SqliteDatabase | PostgresDatabase
    if isinstance(place, Path):
        database = SqliteDatabase(place, writable=writable)
    else:
        database = PostgresDatabase(place, writable=writable, alone=alone)
    try:
        if isinstance(database, PostgresDatabase):
            database.prepare()
        elif checked:
            database.ensure_whole()
    except BaseException:
        database.close()
        raise
    spends = Worker(database) if isinstance(database, PostgresDatabase) else Spender(database)
    return Ledger(database, place, spender=spends if writable else None, item=item)


@contextlib.contextmanager
def new_run(run: RunLike) -> Iterator[Ledger]:
    """A ledger to fill as a new run. It is there when all of it is written, and else nothing is.

    Half of an import would be read as if it were all. What a killed one left is cleared away by the next.
    """
    place, taken = run_place(run), f"{run_place(run)} is already a run."
    if has_ledger(run):
        raise InputError(taken, remedy="Name a new one with -o.")
    if not isinstance(place, Path):
        with _new_database_run(place, taken) as ledger:
            yield ledger
        return
    lock = take_lock(place)
    try:
        if has_ledger(run):  # another process was faster
            raise InputError(taken, remedy="Name a new one with -o.")
        for left in place.glob(f"{_UNFINISHED}*"):
            shutil.rmtree(left, ignore_errors=True)
        with tempfile.TemporaryDirectory(dir=place, prefix=_UNFINISHED) as scratch:
            folder = Path(scratch) / "made"  # two levels down, where no part of a run is looked for
            with open_ledger(folder, mode="write") as ledger:
                yield ledger
            for name in (f"{LEDGER_NAME}-wal", HEAD_NAME, LEDGER_NAME):  # the ledger last: with it there is a run
                if (folder / name).exists():
                    (folder / name).replace(place / name)
    except (OSError, StorageError) as error:
        why = "the disk is full, or cannot be written" if isinstance(error, StorageError) else error.strerror or error
        raise StorageError(
            f"{place} cannot be made: {why}.", remedy="Nothing was kept: free space, or choose another folder."
        ) from error
    finally:
        os.close(lock)


@contextlib.contextmanager
def _new_database_run(place: DatabaseRun, taken: str) -> Iterator[Ledger]:
    """A ledger in a schema of its own, which gets the run's name when all of it is written."""
    scratch = scratch_run(place)
    try:
        with open_ledger(scratch, mode="write", alone=True) as ledger:
            yield ledger
        if not publish_run(scratch, place):
            raise InputError(taken, remedy="Name a new one with -o.")
    except BaseException:
        with contextlib.suppress(RichterError):  # the server may be gone: the next import clears it away
            drop_run(scratch)
        raise


def find_runs(where: Place) -> list[Place]:
    """The runs in a folder, or in a database; parts of runs are not among them."""
    if isinstance(where, DatabaseRun):
        return [run for run in database_runs(where) if "/" not in run.name]
    return [path.parent for path in sorted(where.glob(f"*/{LEDGER_NAME}"))]


def find_parts(run: RunLike) -> dict[str, Place]:
    """A run's parts that have ledgers of their own (draws, searches) by name; see `run_part`."""
    place = run_place(run)
    if isinstance(place, Path):
        folders = [path.parent for path in sorted(place.glob(f"*/{LEDGER_NAME}"))]
        return {folder.name: ensure_inside(folder, place) for folder in folders}
    prefix = f"{place.name}/"
    return {run.name.removeprefix(prefix): run for run in database_runs(place) if run.name.startswith(prefix)}


def run_used(run: RunLike) -> Usage:
    """What counts against a budget over a run and all its parts: spent, held, or never settled."""
    return sum(_map_ledgers(_ledgers_of(run_place(run)), Ledger.used), Usage())


def unsettled_run(run: RunLike) -> Unsettled:
    """What may have been billed without an answer, over a run and its parts."""
    return sum(_map_ledgers(_ledgers_of(run_place(run)), Ledger.unsettled), Unsettled())


def settle_run(run: RunLike, *, billed_usd: float = 0.0) -> Unsettled:
    """Say that what may have been billed without an answer, over a run and its parts, cost this much together.

    Where there is nothing of that kind, nothing is billed: the same statement made twice counts once.
    """
    if unsettled_run(run) == Unsettled():
        return Unsettled()
    bills = itertools.chain([billed_usd], itertools.repeat(0.0))
    settled = _map_ledgers(_ledgers_of(run_place(run)), lambda ledger: ledger.settle(next(bills)), mode="write")
    return sum(settled, Unsettled())


def _ledgers_of(place: Place) -> list[Place]:
    """The ledgers whose spending is one: a run's own and its parts'."""
    root = whole_run(place)
    return [p for p in (root, *find_parts(root).values()) if has_ledger(p)]


def _map_ledgers(
    places: Iterable[Place], look: Callable[[Ledger], T], *, mode: Literal["read", "write"] = "read"
) -> Iterator[T]:
    for place in places:
        with open_ledger(place, mode=mode) as ledger:
            yield look(ledger)


def has_ledger(run: RunLike) -> bool:
    """Whether there is a run in this place; a database is asked."""
    if isinstance(run_place(run), Path):
        return is_run(run)
    try:
        open_ledger(run).close()
    except InputError:
        return False
    return True


@contextlib.contextmanager
def hold_run(run: RunLike, purpose: str) -> Iterator[None]:
    """Let nobody else do the same with a run in a database until the block ends. (A folder has one writer anyway.)"""
    place = run_place(run)
    if isinstance(place, Path):
        yield
        return
    database = PostgresDatabase(place, writable=False)
    try:
        database.hold(purpose)
        yield
    finally:
        database.close()


def start_spending(ledger: Ledger) -> RunUsage:
    """What the run with its parts, and this ledger alone, have used so far.

    In a folder nobody else may spend on the run until the ledger closes.
    """
    root = whole_run(ledger.place)
    if isinstance(root, Path) and ledger.lock_spending(root):
        here = Path(str(ledger.place)).absolute()
        others = [p for p in _ledgers_of(root) if Path(str(p)).absolute() != here]
        ledger.spender.elsewhere = sum(_map_ledgers(others, Ledger.used), Usage())
    return ledger.spender.used()
