"""The evidence of a run in one archive: records, plan, report and versions, with a hash of every file."""

import dataclasses
import hashlib
import io
import math
import platform
import unicodedata
import zipfile
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import msgspec

from richter.errors import InputError, LedgerError
from richter.interop._import_logs import imported_call
from richter.interop._run_tables import EXPORTS, export_table
from richter.interop._safe import Archive, Unreadable, is_zip, stem_in
from richter.records import Answer, Condition, Confidence, Grade, Item, Rating, json_text
from richter.store import (
    Call,
    Place,
    RunLike,
    Spent,
    check_integrity,
    find_parts,
    new_run,
    open_ledger,
    run_file,
    run_place,
    write_file,
)

__all__ = ["ARCHIVE_NOTE", "evidence_files", "evidence_of", "evidence_run", "is_evidence", "restore_run",
           "write_evidence"]  # fmt: skip

MOMENT = (1980, 1, 1, 0, 0, 0)  # the same in every archive, so that the same evidence is the same file
MEMBERS = {"MANIFEST.sha256", "records/answers.jsonl"}  # what every archive holds
CARRIED = ("plan.toml", "plan.toml.lock", "plan.toml.log", "scores.csv", "draws.jsonl")  # what a run may hold beside
NOTES = ("bench", "import", "judging", "rating sample", "served", "stopping")  # those that results rest on
ARCHIVE_NOTE = "archive"  # of a run that was made again: when its answers came, and what they cost
Notes = dict[str, dict[str, Any]]
LAST = 1e11  # seconds since 1970: far beyond any run, and a date
VERSIONS = ("richter", "numpy", "scipy", "numba", "polars", "xllamacpp", "wordllama")


def evidence_of(run: RunLike, *, scratch: Path) -> dict[str, bytes]:
    """A run's records as files: the tables of its ledger and of its parts' (draws, searches), its plan and scores.

    `integrity.json` holds the seal of each ledger: against it `check_integrity` tells later whether the run it came
    from still holds the same records.

    `scratch` is an empty folder to write tables in.
    """
    files: dict[str, bytes] = {}
    places = {"": run_place(run)} | {f"{name}/": part for name, part in find_parts(run).items()}
    for prefix, place in places.items():
        files |= {f"records/{prefix}{name}": body for name, body in _ledger_files(place, scratch).items()}
        for name in CARRIED:
            if (own := run_file(place, name)) is not None:
                files[f"{prefix}{name}"] = own.read_bytes()
    checked = check_integrity(run)
    parts = [{"name": p.name, "seal": p.seal, "records": p.records} for p in checked.parts]
    files["integrity.json"] = _json({"parts": parts, "sound": checked.sound})
    files["versions.json"] = _json({"python": platform.python_version(), **_versions()})
    return files


def _ledger_files(place: Place, scratch: Path) -> dict[str, bytes]:
    """The conditions, notes and tables of a ledger as files by name."""
    with open_ledger(place) as ledger:
        tables = {name: make(ledger) for name, make in EXPORTS.items()}
        conditions = [condition.to_dict() for condition in ledger.conditions()]
        notes = {name: note for name in NOTES if (note := ledger.note(name)) is not None}
        notes |= {ARCHIVE_NOTE: {"times": ledger.times(), "spent": dataclasses.asdict(ledger.spent())}}
    files = {"conditions.json": _json(conditions), "notes.json": _json(notes)}
    for name, table in tables.items():
        path = scratch / f"{name}.jsonl"
        export_table(table, path)
        files[f"{name}.jsonl"] = path.read_bytes()
    return files


def write_evidence(path: str | Path, files: Mapping[str, bytes]) -> None:
    """Write the files and MANIFEST.sha256 (as `sha256sum -c` reads it) to a zip; the same files give the same bytes."""
    sums = "".join(f"{hashlib.sha256(body).hexdigest()}  {name}\n" for name, body in sorted(files.items()))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in [*sorted(files.items()), ("MANIFEST.sha256", sums.encode())]:
            member = zipfile.ZipInfo(name, MOMENT)
            member.compress_type = zipfile.ZIP_DEFLATED
            member.external_attr = 0o644 << 16
            archive.writestr(member, body)
    write_file(path, buffer.getvalue())


class EvidenceFiles(NamedTuple):
    """The files by name, and what is wrong with them."""

    files: dict[str, bytes]
    faults: list[str]


def evidence_files(path: Path) -> EvidenceFiles:
    """The files of an evidence archive, the manifest aside, and in which way they are not what that says."""
    try:
        with Archive(path) as archive:
            files, twice = {name: archive.read(name) for name in archive.members}, archive.twice
        sums = dict(line.split("  ", 1)[::-1] for line in files.pop("MANIFEST.sha256").decode().splitlines())
    except (OSError, KeyError, ValueError) as error:
        raise InputError(
            f"{path} is no evidence archive.", remedy="Make one: richter export RUN --evidence a.zip"
        ) from error
    except Unreadable as error:
        raise InputError(f"{path} cannot be read: {error}.", remedy="Get it again.") from error
    bad = [n for n in sorted(files.keys() & sums) if hashlib.sha256(files[n]).hexdigest() != sums[n]]
    faults = [f"{name} was changed" for name in bad]
    places = Counter(map(_place, files))
    faults += [f"{name} is in it twice" for name in (*twice, *(n for n in files if places[_place(n)] > 1))]
    faults += [f"{name} would be unpacked elsewhere" for name in sorted(files) if _elsewhere(name)]
    faults += [f"{name} is not in the manifest" for name in sorted(files.keys() - sums)]
    faults += [f"{name} is missing" for name in sorted(sums.keys() - files)]
    return EvidenceFiles(files, faults)


def _elsewhere(name: str) -> bool:
    path = PurePosixPath(name)
    return path.is_absolute() or ".." in path.parts or "\\" in name or str(path) != name  # ./a is unpacked over a


def _place(name: str) -> str:
    """Where a file is unpacked, on disks that do not tell capitals or ways to write an accent apart."""
    return unicodedata.normalize("NFC", name).casefold()


def is_evidence(place: object) -> bool:
    """Whether this is the path of an evidence archive."""
    if not isinstance(place, Path) or not is_zip(place):
        return False
    with Archive(place) as archive:
        return archive.members.keys() >= MEMBERS


def evidence_run(path: Path, folder: Path) -> Path | None:
    """The run of an evidence archive, made again in `folder` from its records; None for any other zip file.

    Every file that is read must be what the manifest says. Of parts the draws come back, searches do not.
    """
    if not is_evidence(path):
        return None
    files, faults = evidence_files(path)
    if faults:
        raise InputError(f"{path} is not what its manifest says: {faults[0]}.", remedy="Get the archive again.")
    run = stem_in(folder, path)
    restore_run(files, run, what=str(path))
    return run


def restore_run(files: Mapping[str, bytes], run: Path, *, what: str) -> None:
    """Make the run of an archive's files again; `what` names the archive where its records are not readable."""
    try:
        _restore(run, files, "")
        if "records/draws/answers.jsonl" in files:
            _restore(run / "draws", files, "draws/")
    except (LookupError, TypeError, ValueError, RecursionError, LedgerError) as error:
        raise InputError(f"{what}: its records are not as Richter writes them.", remedy="Get it again.") from error


def _restore(run: Path, files: Mapping[str, bytes], prefix: str) -> None:
    def rows(name: str) -> list[dict[str, Any]]:
        return msgspec.json.Decoder(dict[str, Any]).decode_lines(files.get(f"records/{prefix}{name}.jsonl", b""))

    def call(row: dict[str, Any]) -> Call:
        known = [-math.inf if x is None else x for x in row.get("logprobs") or ()]
        answer = msgspec.convert(row | {"text": row["answer"], "logprobs": known}, Answer)
        return imported_call(answer, model=row["model"])

    with new_run(run) as ledger:
        ledger.add_items([msgspec.convert(row | {"id": row["item"]}, Item) for row in rows("items")])
        ledger.add_conditions(msgspec.json.decode(files[f"records/{prefix}conditions.json"], type=list[Condition]))
        ledger.add_calls([call(row) for row in rows("answers")])
        ledger.add_grades(msgspec.convert(rows("grades"), list[Grade]))
        ledger.add_confidences(msgspec.convert(rows("confidences"), list[Confidence]))
        ledger.add_ratings(msgspec.convert(rows("ratings"), list[Rating]))
        written = files.get(f"records/{prefix}notes.json")
        notes = _former(files, rows("answers")) if written is None else msgspec.json.decode(written, type=Notes)
        for name, note in _check_notes(notes).items():
            ledger.set_note(name, note)
    for name in CARRIED:
        if f"{prefix}{name}" in files:
            write_file(run / name, files[f"{prefix}{name}"])


def _check_notes(notes: Notes) -> Notes:
    """The notes that a ledger takes from an archive; times and judges that cannot be are refused."""
    times = msgspec.convert(notes.get(ARCHIVE_NOTE, {}).get("times"), tuple[float, float] | None)
    if any(not 0 <= moment < LAST for moment in times or ()):
        raise ValueError("a moment of no calendar")
    msgspec.convert(notes.get("judging", {}).get("judges", []), list[Condition])
    spent = notes.get(ARCHIVE_NOTE, {}).get("spent")
    msgspec.convert(spent, Spent | None)
    return {name: notes[name] for name in NOTES if name in notes} | {ARCHIVE_NOTE: {"times": times, "spent": spent}}


def _former(files: Mapping[str, bytes], answers: Sequence[Mapping[str, Any]]) -> Notes:
    """The notes of an archive from before they were kept: whether it had texts, and which scores its results call good.

    Without them answers of a table of grades would all be empty, and less would be worse where it is better.
    """
    try:
        floors = msgspec.json.decode(files["results.json"])["sections"]["floors"]
        reading = floors["comparison"]["options"]["reading"]
        score = {name: reading[name] for name in ("scale", "better")}
    except (LookupError, TypeError, ValueError, RecursionError):
        score = {}
    note: dict[str, Any] = {"score": score}
    if not any(row["answer"] for row in answers):
        note["understood"] = ""
    return {"import": note}


def _json(value: object) -> bytes:
    return (json_text(value, indent=1, sort_keys=True) + "\n").encode()


def _versions() -> dict[str, str]:
    found = {}
    for name in VERSIONS:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
