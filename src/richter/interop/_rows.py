"""Records of a JSON file, one by one: lines, an array, or a lone object; and the rows of a table."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from richter.errors import InputError
from richter.interop._files import read_frame
from richter.interop._record import Reading
from richter.interop._safe import Unreadable, decode, json_lines, open_bytes

CELLS_LIMIT = 50_000_000  # of a table: what Python can hold as rows within about a gigabyte


def json_rows(path: Path, reading: Reading) -> Iterator[dict[str, Any]]:
    """Objects of a JSON array or of lines of JSON; what is none is counted under `record`."""
    first = next(json_lines(path), b"")
    if first is not None and first.lstrip()[:1] == b"[":
        records: Iterator[Any] = iter(decode(open_bytes(path), list[msgspec.Raw]))
    elif first is not None and not _whole(first):
        records = iter([open_bytes(path)])
    else:
        records = json_lines(path)
    for record in records:
        if record is None:
            reading.unread["record: line too long"] += 1
            continue
        try:
            yield decode(record, dict[str, Any])
        except Unreadable as error:
            reading.unread[f"record: {error}"] += 1


def _whole(line: bytes) -> bool:
    """Whether a first line is a record by itself, and not the start of an object over several lines."""
    try:
        decode(line, dict[str, msgspec.Raw])
    except Unreadable:
        return line.strip() not in (b"{", b"") and not line.rstrip().endswith((b",", b"{", b"["))
    return True


def table_rows(path: Path, reading: Reading) -> tuple[list[str], Iterator[Mapping[str, Any]]]:
    """The columns of a CSV, TSV, Parquet or JSON file and its rows; a row of JSON may lack some."""
    first = next(json_lines(path), None)
    if first is not None and first.lstrip()[:1] in (b"{", b"["):
        records = list(json_rows(path, reading))
        columns = list(dict.fromkeys(key for record in records for key in record))
        return columns, ({c: record.get(c) for c in columns} for record in records)
    frame = read_frame(path)
    if frame.height * frame.width > CELLS_LIMIT:
        raise InputError(
            f"{path} has {frame.height:,} rows; a table of more than {CELLS_LIMIT:,} cells is not imported.",
            remedy="Select the columns and rows that are needed, or measure it as it is (richter compare).",
        )
    return frame.columns, frame.iter_rows(named=True)


def companion(path: Path, kind: type[Any]) -> Any:
    """A JSON file that belongs beside a log; None if it is not there or cannot be read."""
    try:
        return decode(open_bytes(path), kind) if path.is_file() else None
    except (Unreadable, InputError, OSError):
        return None
