"""What a run keeps beside its records: small files.

In a folder they are files. A run in a database keeps them there as notes, where every machine sees the same, and what
is read is copied into the folder that `run_folder` names.
"""

import base64
import gzip
import json
from pathlib import Path
from typing import Any

from richter.errors import InputError
from richter.store._atomic_files import write_file
from richter.store._database import Transaction
from richter.store._place import RunLike, run_folder, run_place
from richter.store._runs import open_ledger
from richter.store._sqlite import ensure_inside

__all__ = ["file_stored_at", "keep_file", "run_file"]


def keep_file(run: RunLike, name: str, content: bytes) -> Path:
    """Write a file of a run, whole or not at all, and into the run's database if that is where it is."""
    place, path = run_place(run), run_folder(run) / name
    write_file(path, content, into_new=True, remedy="Choose another folder.")
    if not isinstance(place, Path):
        packed = base64.b64encode(gzip.compress(content, mtime=0)).decode()

        def keep(transaction: Transaction) -> None:
            (at,) = transaction.rows("SELECT clock()")[0]
            transaction.add("notes", [(f"file {name}", json.dumps({"gzip": packed, "at": at}))])

        with open_ledger(place, mode="write") as ledger:
            ledger._database.write(keep)
    return path


def run_file(run: RunLike, name: str) -> Path | None:
    """A file of a run, or None. That of a run in a database is copied here if the copy here is another."""
    path = run_folder(run) / name
    note = _stored_content(run, name)
    if note is not None:
        content = gzip.decompress(base64.b64decode(note["gzip"]))
        if not path.is_file() or path.read_bytes() != content:
            write_file(path, content, into_new=True, remedy="Choose another folder.")
    return ensure_inside(path, run_folder(run)) if path.is_file() else None


def file_stored_at(run: RunLike, name: str) -> float | None:
    """When a database was given this file of a run, by the database's clock; None where it was not."""
    note = _stored_content(run, name)
    return None if note is None else float(note["at"])


def _stored_content(run: RunLike, name: str) -> dict[str, Any] | None:
    place = run_place(run)
    if isinstance(place, Path):
        return None
    try:
        with open_ledger(place) as ledger:
            return ledger.note(f"file {name}")
    except InputError:  # no such run
        return None
