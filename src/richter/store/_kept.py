"""What a run keeps beside its records: small files, and which plans its data were opened with.

In a folder they are files. A run in a database keeps them there as notes, where every machine sees the same, and what
is read is copied into the folder that `run_folder` names.
"""

import base64
import gzip
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from richter.errors import InputError, StorageError
from richter.store._database import Transaction
from richter.store._ledger import Ledger, open_ledger
from richter.store._place import RunLike, run_folder, run_place

__all__ = ["add_plan_use", "digest", "keep_file", "kept_at", "run_file"]

_READ = "SELECT body FROM notes WHERE name = ?1"
_WRITE = "INSERT INTO notes VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET body = excluded.body"
_USES = "plan uses"


def keep_file(run: RunLike, name: str, content: bytes) -> Path:
    """Write a file of a run, whole or not at all, and into the run's database if that is where it is."""
    place, path = run_place(run), run_folder(run) / name
    _write(path, content)
    if not isinstance(place, Path):
        packed = base64.b64encode(gzip.compress(content, mtime=0)).decode()

        def keep(transaction: Transaction) -> None:
            (at,) = transaction.rows("SELECT clock()")[0]
            transaction.many(_WRITE, [(f"file {name}", json.dumps({"gzip": packed, "at": at}))])

        with open_ledger(place, mode="write") as ledger:
            ledger._database.write(keep)
    return path


def run_file(run: RunLike, name: str) -> Path | None:
    """A file of a run, or None. That of a run in a database is copied here if the copy here is another."""
    path = run_folder(run) / name
    note = _kept(run, name)
    if note is not None:
        content = gzip.decompress(base64.b64decode(note["gzip"]))
        if not path.is_file() or path.read_bytes() != content:
            _write(path, content)
    return path if path.is_file() else None


def kept_at(run: RunLike, name: str) -> float | None:
    """When a database was given this file of a run, by the database's clock; None where it was not."""
    note = _kept(run, name)
    return None if note is None else float(note["at"])


def _kept(run: RunLike, name: str) -> dict[str, Any] | None:
    place = run_place(run)
    if isinstance(place, Path):
        return None
    try:
        with open_ledger(place) as ledger:
            return ledger.note(f"file {name}")
    except InputError:  # no such run
        return None


def _write(path: Path, content: bytes) -> None:
    partial = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_bytes(content)
        partial.replace(path)
    except OSError as error:
        raise StorageError(f"{path} cannot be written: {error.strerror}.", remedy="Choose another folder.") from error


def digest(ledger: Ledger) -> str:
    """SHA-256 of what a result can depend on: answers, failed calls, ratings, grades and confidences."""
    found = hashlib.sha256()

    def add(*values: object) -> None:
        found.update(json.dumps(values).encode() + b"\n")

    for a in ledger.answers():
        add("answer", a.condition, a.item, a.draw, a.text, a.error, a.logprobs)
    for r in ledger.ratings():
        add("rating", r.condition, r.item, r.draw, r.rater, r.kind, r.severity, r.mechanism)
    for g in ledger.grades():
        add("grade", g.condition, g.item, g.draw, g.scorer, g.value, g.correct, g.main)
    for c in ledger.confidences():
        add("confidence", c.condition, c.item, c.draw, c.source, c.value)
    return found.hexdigest()


def add_plan_use(ledger: Ledger, use: dict[str, Any]) -> Sequence[dict[str, Any]]:
    """Note that a run's data are opened with a plan, at the database's own time; all such uses, this one the last.

    A use that says the same as an earlier one is that one: it keeps its time.
    """

    def add(transaction: Transaction) -> list[dict[str, Any]]:
        transaction.alone()
        rows = transaction.rows(_READ, (_USES,))
        uses: list[dict[str, Any]] = json.loads(rows[0][0])["uses"] if rows else []
        same = [u for u in uses if {k: v for k, v in u.items() if k != "at"} == use]
        if same:
            return [*(u for u in uses if u is not same[0]), same[0]]
        (at,) = transaction.rows("SELECT clock()")[0]
        uses.append(use | {"at": at})
        transaction.many(_WRITE, [(_USES, json.dumps({"uses": uses}))])
        return uses

    return ledger._database.write(add)
