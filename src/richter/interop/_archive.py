"""The evidence of a run in one archive: records, plan, report and versions, with a hash of every file."""

import hashlib
import io
import json
import platform
import zipfile
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

import polars as pl

from richter.errors import InputError
from richter.interop._export import EXPORTS, export_table
from richter.interop._safe import Archive, Unreadable
from richter.store import RunLike, check_integrity, find_parts, open_ledger, run_file, run_place, write_file

__all__ = ["evidence_files", "evidence_of", "evidence_table", "is_evidence", "write_evidence"]

MOMENT = (1980, 1, 1, 0, 0, 0)  # the same in every archive, so that the same evidence is the same file
MEMBERS = {"MANIFEST.sha256", "records/answers.jsonl"}  # what every archive holds
CARRIED = ("plan.toml", "plan.toml.lock", "scores.csv")  # what a run may hold beside its ledger
VERSIONS = ("richter", "numpy", "scipy", "numba", "polars", "xllamacpp", "wordllama")


def evidence_of(run: RunLike, *, scratch: Path) -> dict[str, bytes]:
    """A run's records as files: the tables of its ledger and of its parts' (draws, searches), its plan and scores.

    `integrity.json` holds the seal of each ledger: against it `check_integrity` tells later whether the run it came
    from was rewritten.

    `scratch` is an empty folder to write tables in.
    """
    files: dict[str, bytes] = {}
    places = {"": run_place(run)} | {f"{name}/": part for name, part in find_parts(run).items()}
    for prefix, place in places.items():
        with open_ledger(place) as ledger:
            tables = {name: make(ledger) for name, make in EXPORTS.items()}
            conditions = [condition.to_dict() for condition in ledger.conditions()]
        files[f"records/{prefix}conditions.json"] = _json(conditions)
        for name, table in tables.items():
            path = scratch / f"{name}.jsonl"
            export_table(table, path)
            files[f"records/{prefix}{name}.jsonl"] = path.read_bytes()
    for name in CARRIED:
        if (own := run_file(run, name)) is not None:
            files[name] = own.read_bytes()
    checked = check_integrity(run)
    parts = [{"name": p.name, "seal": p.seal, "commits": p.commits, "records": p.records} for p in checked.parts]
    files["integrity.json"] = _json({"parts": parts, "sound": checked.sound})
    files["versions.json"] = _json({"python": platform.python_version(), **_versions()})
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
    faults += [f"{name} is in it twice" for name in twice]
    faults += [f"{name} is not in the manifest" for name in sorted(files.keys() - sums)]
    faults += [f"{name} is missing" for name in sorted(sums.keys() - files)]
    return EvidenceFiles(files, faults)


def is_evidence(place: object) -> bool:
    """Whether this is the path of an evidence archive."""
    if not isinstance(place, Path) or not zipfile.is_zipfile(place):
        return False
    with Archive(place) as archive:
        return archive.members.keys() >= MEMBERS


def evidence_table(path: Path, folder: Path) -> Path | None:
    """The graded or rated answers of an evidence archive as a table in `folder`; None for any other zip file.

    Every file that is read must be what the manifest says. Grades count where there are any, else ratings.
    """
    with Archive(path) as archive:
        if not archive.members.keys() >= MEMBERS:
            return None
        try:
            sums = dict(line.split("  ", 1)[::-1] for line in archive.read("MANIFEST.sha256").decode().splitlines())
            names = ("answers.jsonl", "grades.jsonl", "ratings.jsonl", "items.jsonl", "conditions.json")
            found = {name: archive.read(f"records/{name}") for name in names}
        except (Unreadable, KeyError, ValueError) as error:
            raise InputError(f"{path} is a damaged evidence archive.", remedy="Get it again.") from error
    for name, body in found.items():
        if sums.get(f"records/{name}") != hashlib.sha256(body).hexdigest():
            raise InputError(f"{path}: records/{name} is not what its manifest says.", remedy="Get the archive again.")
    try:
        table = _graded(found)
    except (pl.exceptions.PolarsError, LookupError, TypeError, ValueError) as error:
        raise InputError(f"{path}: its records are not as Richter writes them.", remedy="Get it again.") from error
    if table is None:
        raise InputError(f"{path} holds no grades and no ratings.", remedy="Rate the run, then export it again.")
    target = folder / f"{path.stem}.jsonl"
    table.write_ndjson(target)
    return target


def _graded(found: Mapping[str, bytes]) -> pl.DataFrame | None:
    key = ["item", "condition", "draw"]
    order = [condition["name"] for condition in json.loads(found["conditions.json"])]
    read = {
        name.removesuffix(".jsonl"): pl.read_ndjson(body, infer_schema_length=None)
        for name, body in found.items()
        if name.endswith(".jsonl") and body
    }
    answers, items = read["answers"].select(*key, "prompt", "answer", "error"), read.get("items", pl.DataFrame())
    told = [n for n in ("domain", "tier", "group", "weight") if n in items.columns]
    told = [n for n in told if (items[n].cast(pl.String).fill_null("") != "").any()]
    if told:
        answers = answers.join(items.select("item", *told), on="item", how="left", maintain_order="left")
    if "grades" in read:
        rows = read["grades"].filter("main")
        graded = rows["correct"].null_count() < len(rows)
        rows = rows.select(*key, pl.col("correct").cast(pl.Int8) if graded else pl.col("value").alias("score"))
    elif "ratings" in read:
        rows = read["ratings"].select(*key, "rater", "kind", "severity")
    else:
        return None
    place = pl.col("condition").replace_strict(
        order, range(len(order)), default=len(order)
    )  # whose claims are signed so
    return answers.sort(place, maintain_order=True).join(rows, on=key, how="inner", maintain_order="left")


def _json(value: object) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True) + "\n").encode()


def _versions() -> dict[str, str]:
    found = {}
    for name in VERSIONS:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
