"""What a file is, by its content and never by its name: a table of formats and how each is told."""

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from richter.errors import InputError
from richter.interop._inspect import is_inspect_archive, read_inspect_archive, read_inspect_json
from richter.interop._record import Reading, Sample
from richter.interop._safe import Archive, Unreadable, decode, json_lines, open_bytes, refuse_pickle

__all__ = ["FORMATS", "Format", "Look", "look", "recognise"]

Shape = Literal["archive", "parquet", "object", "array", "lines", "text"]
HEAD = 1 << 16


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """A first look at a file: its shape, and the names in it.

    `names` are an archive's members, a table's columns, or the keys of a JSON object or first record with their
    values undecoded.
    """

    path: Path
    shape: Shape
    names: Mapping[str, Any]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """A foreign format: its name, the shapes it comes in, how it is told from others, and its reader."""

    name: str
    shapes: tuple[Shape, ...]
    told_by: Callable[[Look], bool]
    read: Callable[[Path, Reading], Iterator[Sample]]


FORMATS: tuple[Format, ...] = (
    Format(
        name="Inspect log",
        shapes=("archive",),
        told_by=lambda seen: is_inspect_archive(seen.names),
        read=read_inspect_archive,
    ),
    Format(
        name="Inspect log",
        shapes=("object",),
        told_by=lambda seen: {"eval", "status", "samples"} <= seen.names.keys(),
        read=read_inspect_json,
    ),
)


def recognise(path: Path) -> Format | None:
    """The format of a file, or None if it is none of those known."""
    seen = look(path)
    return next((f for f in FORMATS if seen.shape in f.shapes and f.told_by(seen)), None)


def look(path: Path) -> Look:
    """Look into a file as far as it takes to tell what it is."""
    try:
        with path.open("rb") as file:
            head = file.read(HEAD)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.", remedy="Check the path.") from error
    refuse_pickle(path, head)
    if head[:4] == b"PAR1":
        return Look(path=path, shape="parquet", names=_parquet_columns(path))
    if head[:4] == b"PK\x03\x04":
        with Archive(path) as archive:
            if any(name.endswith(".pkl") for name in archive.members):
                refuse_pickle(path, b"\x80\x02}")
            return Look(path=path, shape="archive", names=dict.fromkeys(archive.members))
    try:
        return _json_look(path) or Look(path=path, shape="text", names={})
    except Unreadable as error:
        raise InputError(f"{path} cannot be read: {error}.", remedy="Get the file from its source again.") from error


def _parquet_columns(path: Path) -> Mapping[str, Any]:
    import polars as pl

    try:
        return dict.fromkeys(pl.read_parquet_schema(path))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise InputError(f"{path} is a damaged Parquet file.", remedy="Get it from its source again.") from error


def _json_look(path: Path) -> Look | None:
    """A JSON object, array or sequence of lines; None if it is no JSON."""
    first = next(json_lines(path), None)
    if first is None or first.lstrip()[:1] not in (b"{", b"["):
        return None
    if first.lstrip()[:1] == b"{":
        try:
            record = decode(first, dict[str, msgspec.Raw])
        except Unreadable:
            pass  # an object over several lines, or damage; told below
        else:
            lines = json_lines(path)
            next(lines)
            return Look(path=path, shape="object" if next(lines, b"") == b"" else "lines", names=record)
        return Look(path=path, shape="object", names=decode(open_bytes(path), dict[str, msgspec.Raw]))
    rows = decode(open_bytes(path), list[msgspec.Raw])
    record = {}
    if rows:
        try:
            record = decode(rows[0], dict[str, msgspec.Raw])
        except Unreadable:
            record = {}
    return Look(path=path, shape="array", names=record)
