"""Runs: where they are, how their ledgers are opened, and what a run costs together with its parts."""

import contextlib
import itertools
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Literal, TypeVar

from richter.errors import InputError, StorageError
from richter.store._ledger import Ledger, Unsettled
from richter.store._spending import RunUsage, Spender, Usage
from richter.store._sqlite import HEAD_NAME, LEDGER_NAME, RunLike, SqliteDatabase, ensure_inside, is_run, take_lock

__all__ = [
    "find_parts",
    "find_runs",
    "new_run",
    "open_ledger",
    "run_file",
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
    checked: bool = True,
    item: str | None = None,
) -> Ledger:
    """Open a run's ledger to write (made if missing) or to read, beside a writer too.

    A run has one writer at a time. Its file is looked through for damage first; not where it is not `checked`, for a
    look at one record or at their number.
    With `item` the ledger gives what it holds of that item, and nothing of the others is read.
    """
    place, writable = Path(run), mode == "write"
    database = SqliteDatabase(place, writable=writable)
    try:
        if checked:
            database.ensure_whole()
        if writable:
            database.open_head()
    except BaseException:
        database.close()
        raise
    return Ledger(database, place, spender=Spender(database) if writable else None, item=item)


@contextlib.contextmanager
def new_run(run: RunLike) -> Iterator[Ledger]:
    """A ledger to fill as a new run. It is there when all of it is written, and else nothing is.

    Half of an import would be read as if it were all. What a killed one left is cleared away by the next.
    """
    place, taken = Path(run), f"{run} is already a run."
    if is_run(run):
        raise InputError(taken, remedy="Name a new one with -o.")
    lock = take_lock(place)
    try:
        if is_run(run):  # another process was faster
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


def run_file(run: RunLike, name: str) -> Path | None:
    """A file that a run keeps beside its ledger, or None."""
    path = Path(run) / name
    return ensure_inside(path, Path(run)) if path.is_file() else None


def find_runs(where: Path) -> list[Path]:
    """The runs in a folder; parts of runs are not among them."""
    return [path.parent for path in sorted(where.glob(f"*/{LEDGER_NAME}"))]


def find_parts(run: RunLike) -> dict[str, Path]:
    """A run's parts by name: the folders in its folder that have ledgers of their own (draws, searches)."""
    return {folder.name: ensure_inside(folder, Path(run)) for folder in find_runs(Path(run))}


def run_used(run: RunLike) -> Usage:
    """What counts against a budget over a run and all its parts: spent, held, or never settled."""
    return sum(_map_ledgers(_ledgers_of(Path(run)), Ledger.used), Usage())


def unsettled_run(run: RunLike) -> Unsettled:
    """What may have been billed without an answer, over a run and its parts."""
    return sum(_map_ledgers(_ledgers_of(Path(run)), Ledger.unsettled), Unsettled())


def settle_run(run: RunLike, *, billed_usd: float = 0.0) -> Unsettled:
    """Say that what may have been billed without an answer, over a run and its parts, cost this much together.

    Where there is nothing of that kind, nothing is billed: the same statement made twice counts once.
    """
    if unsettled_run(run) == Unsettled():
        return Unsettled()
    bills = itertools.chain([billed_usd], itertools.repeat(0.0))
    settled = _map_ledgers(_ledgers_of(Path(run)), lambda ledger: ledger.settle(next(bills)), mode="write")
    return sum(settled, Unsettled())


def _ledgers_of(place: Path) -> list[Path]:
    """The ledgers whose spending is one: a run's own and its parts'."""
    root = _whole_run(place)
    return [p for p in (root, *find_parts(root).values()) if is_run(p)]


def _whole_run(place: Path) -> Path:
    """The run that this is a part of, or itself."""
    above = place.absolute().parent
    return above if is_run(above) else place


def _map_ledgers(
    places: Iterable[Path], look: Callable[[Ledger], T], *, mode: Literal["read", "write"] = "read"
) -> Iterator[T]:
    for place in places:
        with open_ledger(place, mode=mode) as ledger:
            yield look(ledger)


def start_spending(ledger: Ledger) -> RunUsage:
    """What the run with its parts, and this ledger alone, have used so far.

    Nobody else may spend on the run until the ledger closes.
    """
    root = _whole_run(ledger.place)
    if ledger.lock_spending(root):
        here = ledger.place.absolute()
        others = [p for p in _ledgers_of(root) if p.absolute() != here]
        ledger.spender.elsewhere = sum(_map_ledgers(others, Ledger.used), Usage())
    return ledger.spender.used()
