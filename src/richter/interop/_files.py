"""A file or frame of rows as a frame: CSV and its kin in any usual encoding, JSON, Parquet, Excel."""

import contextlib
import csv
import functools
import io
import itertools
import logging
import os
import re
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

import msgspec
import numpy as np
import polars as pl

from richter.errors import InputError, MissingPart
from richter.interop._fields import known_fields
from richter.interop._nested import are_records, flat_rows
from richter.interop._safe import Archive, Unreadable, decode, json_lines, open_bytes, refuse_unsafe
from richter.records import is_utf8
from richter.store import RunLike

if TYPE_CHECKING:
    from typing_extensions import TypeIs

__all__ = [
    "Frame",
    "Source",
    "as_frame",
    "is_frame",
    "named_source",
    "read_as_windows",
    "read_frame",
    "read_sheets",
    "source_name",
]


@runtime_checkable
class Frame(Protocol):
    """Whatever has named columns that turn into arrays, as a pandas frame has."""

    @property
    def columns(self) -> Any:
        """The names of the columns."""
        ...

    def __getitem__(self, name: Any) -> Any: ...


Source = str | Path | pl.DataFrame | Frame


def is_frame(source: Source) -> "TypeIs[pl.DataFrame | Frame]":
    """Whether this is a frame in memory and not the name of a file."""
    return isinstance(source, Frame) and not isinstance(source, str | Path)


def source_name(source: Source) -> str:
    """What messages call it."""
    return str(source) if isinstance(source, str | Path) else "The frame"


class NamedSource(NamedTuple):
    """The name that was given to a source, and where it is."""

    name: str | None
    place: Path


def named_source(source: RunLike) -> NamedSource:
    """`NAME=PATH` in its parts; a path that exists is one whatever it holds."""
    name, equals, path = str(source).partition("=")
    if equals and name and not Path(str(source)).exists():
        return NamedSource(name, Path(path))
    return NamedSource(None, Path(source))


def as_frame(source: pl.DataFrame | Frame) -> pl.DataFrame:
    """A polars frame of the same columns; NaN, None and NA in columns of text become null."""
    if isinstance(source, pl.DataFrame):
        return source
    names = [str(name) for name in source.columns]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"The frame has two columns named {twice!r}.", remedy="Rename one.")
    return pl.DataFrame([_series(str(name), source[name]) for name in source.columns])


def _series(name: str, column: Any) -> pl.Series:
    values = column.to_numpy() if hasattr(column, "to_numpy") else np.asarray(column)
    if values.dtype.kind in "biuf":
        return pl.Series(name, values)
    cells = [None if _missing(value) else value for value in values.tolist()]
    return pl.Series(name, cells, strict=False)


def _missing(value: object) -> bool:
    """None, NaN, and pandas' NA, whose truth is undefined: it is unequal to itself, or will not say."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):
        return True


SIZE_LIMIT = 3 << 30  # bytes of a file of rows
CELLS_FROM = 5_000_000  # cells that any table may have
SPREAD = 20  # cells of a sheet for each that has something in it
# a cell with something in it, by its place
_CELL = re.compile(rb"""<(?:[\w.-]+:)?c\b[^>]*?\br\s*=\s*["']([A-Za-z]{1,3})([0-9]{1,7})["'][^>]*(?<!/)>""")
# a text of a workbook that cells name by its number, and a cell that does
_SHARED = re.compile(rb"<(?:[\w.-]+:)?si\b[^>]*>(.*?)</(?:[\w.-]+:)?si>", re.DOTALL)
_NAMED = re.compile(rb"""\bt\s*=\s*["']s["'][^>]*>\s*<(?:[\w.-]+:)?v>\s*([0-9]{1,9})""")
TEXTS_FROM, TEXTS_RATIO = 1 << 30, 20  # bytes of texts that any table may have, and for each byte of its file
CELLS_RATIO = 50  # ... and this many for each byte of a Parquet file, whose values may be packed
SPARSE_RATIO = 1  # ... of JSON, where a row may leave out any column
COLUMNS_LIMIT = 10_000
HEAD_SIZE = 1 << 16  # bytes that tell what a file is
HEADER_ROWS = 20  # within which a header may stand
SHORT_LINE = 1 << 16  # bytes of a line of JSON that polars may read
_ROW = msgspec.json.Decoder(dict[str, msgspec.Raw])
_NOT_READ = {".sav": "a file of SPSS", ".dta": "a file of Stata", ".rds": "a file of R", ".sqlite": "a database",
             ".db": "a database", ".yaml": "YAML", ".yml": "YAML", ".xml": "XML", ".tex": "LaTeX"}  # fmt: skip
_UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_OLD_OFFICE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # .xls, and .xlsx with a password


def read_frame(source: Source, *, text: bool = False) -> pl.DataFrame:
    """Read a file of rows as it is; every fault is named with file and, where known, line.

    With `text` the columns of a CSV file stay text, so that an item `007` keeps its name. Of a workbook the first sheet
    with rows is taken. A frame in memory, polars or pandas, is taken as it is.
    """
    if is_frame(source):
        return as_frame(source)
    return next(iter(read_sheets(Path(str(source)), text=text).values()))


def read_sheets(path: Path, *, text: bool = False) -> dict[str, pl.DataFrame]:
    """The same, with every sheet of a workbook by its name; any other file is one sheet without a name."""
    if not path.exists():
        raise InputError(f"{path}: no such file.", remedy="Check the path.")
    if path.is_dir():
        raise InputError(f"{path} is a folder.", remedy="Name a CSV, TSV, Parquet, JSON or Excel file in it.")
    if not is_utf8(str(path)):
        raise InputError(f"The name of {path} is not UTF-8.", remedy="Give the file another name.")
    try:
        size = path.stat().st_size
        if size > SIZE_LIMIT:
            raise InputError(
                f"{path} has {size / 1e9:.1f} GB; a table of more than {SIZE_LIMIT / 1e9:.1f} GB is not read.",
                remedy="Keep the columns and rows that are needed, or write it as Parquet.",
            )
        with path.open("rb") as file:
            head = file.read(HEAD_SIZE)
        refuse_unsafe(path, head)
        _refuse_other_kinds(path, head)
        return _read_by_kind(path, head, text=text)
    except (
        pl.exceptions.PolarsError,
        pl.exceptions.PanicException,
        UnicodeError,
        OSError,
        ValueError,
        Unreadable,
    ) as error:
        reason = str(error).strip().splitlines()[0][:200] if str(error).strip() else type(error).__name__
        reason = "it is damaged" if isinstance(error, pl.exceptions.PanicException) else reason
        raise InputError(
            f"{path} cannot be read as a table: {reason.rstrip('.')}.",
            remedy="Check that every row has the header's columns, or save it again as CSV in UTF-8.",
        ) from error


def _refuse_other_kinds(path: Path, head: bytes) -> None:
    """Refuse an empty file, one of a kind that is not read, and one that only stands for a file."""
    if not head.strip():
        raise InputError(f"{path} is empty.", remedy="It needs a header and at least one row.")
    if path.suffix.lower() in _NOT_READ:
        raise InputError(f"{path} is {_NOT_READ[path.suffix.lower()]}, which is not read.", remedy="Save it as CSV.")
    if head.startswith(b"version https://git-lfs"):
        raise InputError(f"{path} is a pointer of Git LFS, not the file itself.", remedy="Fetch it: git lfs pull")


def _read_by_kind(path: Path, head: bytes, *, text: bool) -> dict[str, pl.DataFrame]:
    """The sheets of a file, read as what its first bytes say that it is."""
    if head[:4] == b"PAR1":
        return {"": _parquet(path)}
    if head[:4] == b"PK\x03\x04" or head[:8] == _OLD_OFFICE:
        return _workbook(path)
    if _is_json(head):
        return {"": _json(path)}
    if b"\0" in head[4:] and not _is_utf_16(head):
        raise InputError(f"{path} is not text, so it is not a table.", remedy="Give CSV, JSON, Parquet or Excel.")
    return {"": _read_separated(path, head, text=text)}


def _is_json(head: bytes) -> bool:
    """Whether a text starts as an object or a list, in UTF-8 or after the mark of UTF-16."""
    if head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"["):
        return True
    return head[:2] in _UTF_16_MARKS and head[2:4].strip(b"\0") in (b"{", b"[")


def _is_utf_16(head: bytes) -> bool:
    """Whether a text starts with the mark of UTF-16, or with a letter of two bytes."""
    return head[:2] in _UTF_16_MARKS or b"\0" in head[:2]


def _check_texts(path: Path, size: int) -> None:
    """Refuse a table whose texts, each once in its file, are gigabytes as cells."""
    if size > max(TEXTS_FROM, TEXTS_RATIO * path.stat().st_size):
        raise InputError(
            f"{path} has {size / 1e9:,.1f} GB of text in its cells, far more than a file of its size should.",
            remedy="Select the columns and rows that are needed.",
        )


@contextlib.contextmanager
def _muted_panics() -> Iterator[None]:
    """Keep the backtrace that polars writes before it raises off the screen: a damaged file can make it panic.

    Only where this is the main thread: the file descriptor is the whole process's.
    """
    screen = None
    if threading.current_thread() is threading.main_thread():
        with contextlib.suppress(OSError):  # a process without a screen
            screen = os.dup(2)
    if screen is None:
        yield
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(screen, 2)
        os.close(screen)
        os.close(nowhere)


@_muted_panics()
def _parquet(path: Path) -> pl.DataFrame:
    rows = pl.scan_parquet(path, glob=False).select(pl.len()).collect().item()
    with path.open("rb") as file:
        _check_cells(path, rows, len(pl.read_parquet_schema(file)), CELLS_RATIO)
    frame = pl.read_parquet(path, glob=False)  # a text that stands in many cells is held once, until it is used
    _check_texts(path, int(frame.estimated_size()))
    return frame


def _check_cells(path: Path, rows: int, columns: int, ratio: int) -> None:
    """Refuse a table of too many columns, and one that is far larger than its file."""
    if columns > COLUMNS_LIMIT:
        raise InputError(
            f"{path} has over {COLUMNS_LIMIT:,} columns, which are not read.", remedy="Select those that are needed."
        )
    if rows * columns > max(CELLS_FROM, ratio * path.stat().st_size):
        raise InputError(
            f"{path} has {rows:,} rows and {columns:,} columns, far more than a file of its size should.",
            remedy="Select the columns and rows that are needed.",
        )


def _workbook(path: Path) -> dict[str, pl.DataFrame]:
    try:
        import fastexcel
    except ImportError as error:
        raise MissingPart(
            f"{path} is a workbook, which needs fastexcel.", remedy="pip install 'richter[excel]', or save it as CSV."
        ) from error
    logging.getLogger("fastexcel").setLevel(logging.ERROR)  # a column without a cell is nothing to warn of
    with path.open("rb") as file:
        packed = file.read(4) == b"PK\x03\x04"
    if packed:
        _check_packed_workbook(path)
    try:
        book = fastexcel.read_excel(path)
        sheets = {name: _sheet(book, name) for name in book.sheet_names}
    except fastexcel.FastExcelError as error:
        raise _workbook_error(path, str(error).lower(), packed=packed) from error
    full = {name: sheet for name, sheet in sheets.items() if not sheet.is_empty()}
    if not full:
        raise InputError(f"{path} has no sheet with rows.", remedy="It needs a header and at least one row.")
    return full


def _check_packed_workbook(path: Path) -> None:
    """Refuse an archive that is not a workbook, and a workbook with a sheet far larger than its file."""
    with Archive(path) as archive:
        if "content.xml" in archive.members:
            raise InputError(f"{path} is an OpenDocument sheet, which is not read.", remedy="Save it as CSV or .xlsx.")
        if not any(name.startswith("xl/") for name in archive.members):
            raise InputError(f"{path} is an archive, not a table.", remedy="Unpack it and name the files in it.")
        shared = [len(text[1]) for text in _SHARED.finditer(_member(archive, "xl/sharedStrings.xml"))]
        for name in archive.members:  # within the limits of what an archive may unpack to
            if name.endswith((".xml", ".bin")):
                _check_sheet(path, archive.read(name), shared)


def _workbook_error(path: Path, reason: str, *, packed: bool) -> InputError:
    """The error of a workbook that does not open; `reason` is the library's, in small letters."""
    is_locked = not packed or "password" in reason or "encrypt" in reason
    why = "it is protected by a password, or damaged" if is_locked else "it is damaged or cut off"
    return InputError(
        f"{path} cannot be opened as a workbook: {why}.",
        remedy=f"Open it{', remove the password' if is_locked else ''} and save it as .xlsx or CSV.",
    )


def _member(archive: Archive, name: str) -> bytes:
    return archive.read(name) if name in archive.members else b""


def _check_sheet(path: Path, body: bytes, shared: list[int]) -> None:
    """Refuse a sheet whose full cells are few and far apart, or one long text many times: each takes its memory.

    `shared` are the lengths of the texts that the sheets of a workbook name by number.
    """
    used = Counter(int(cell[1]) for cell in _NAMED.finditer(body)) if shared else {}
    _check_texts(path, sum(shared[k] * n for k, n in used.items() if k < len(shared)))
    full, rows, last = 0, 1, b"A"
    for cell in _CELL.finditer(body):
        full, rows, last = full + 1, max(rows, int(cell[2])), max(last, cell[1], key=lambda name: (len(name), name))
    columns = functools.reduce(lambda n, letter: 26 * n + letter - 64, last.upper(), 0)
    if rows * columns > max(CELLS_FROM, SPREAD * full):
        raise InputError(
            f"{path} has {full:,} cells with something in them, spread over far more than a table's.",
            remedy="Copy the table alone to a new sheet, or save it as CSV.",
        )


def _sheet(book: Any, name: str) -> pl.DataFrame:
    """A sheet below its header."""
    top = book.load_sheet(name, header_row=None, n_rows=HEADER_ROWS).to_polars()
    rows = [["" if c is None else str(c) for c in row] for row in top.iter_rows()]
    at = _heading(rows)
    sheet: pl.DataFrame = book.load_sheet(name, header_row=at).to_polars()
    seen: Counter[str] = Counter()
    for k, own in enumerate(rows[at] if rows and len(rows[at]) == sheet.width else ()):
        if own and seen[own]:  # as the reader of CSV calls a name that stands twice
            sheet = sheet.rename({sheet.columns[k]: f"{own}_duplicated_{seen[own] - 1}"})
        seen[own] += 1
    return sheet


def _heading(rows: list[list[str]]) -> int:
    """Where the header stands: the first row with two known names, or below a title the first full row."""
    filled = [sum(bool(cell.strip()) for cell in row) for row in rows]
    known = _row_of_known_names(rows, filled)
    return _first_full_row(rows, filled) if known is None else known


def _row_of_known_names(rows: list[list[str]], filled: list[int]) -> int | None:
    """The first row with two known names that fills most columns; None where a fuller one stands above it."""
    last = next((k for k, row in enumerate(rows) if len(known_fields(row)) > 1 and filled[k] > max(filled) // 2), None)
    if last is None:
        return None
    once = [len({cell.strip() for cell in row} - {""}) == n for row, n in zip(rows, filled, strict=True)]
    fuller = [n for k, n in enumerate(filled[:last]) if once[k]]
    if any(n > filled[last] or (n == filled[last] and not once[last]) for n in fuller):
        return None  # data that happen to be names
    return last


def _first_full_row(rows: list[list[str]], filled: list[int]) -> int:
    """The first row that fills most columns, or that above it where it holds numbers alone."""
    full = max(filled, default=0)
    last = next((k for k, n in enumerate(filled) if n >= max(0.75 * full, min(full, 2))), 0)
    return max(last - 1, 0) if last and not any(map(_has_no_number, rows[last])) else last


def _has_no_number(*cells: str) -> bool:
    """Whether none of the cells is a number."""
    return not any(re.fullmatch(r"[-+]?[\d.,]+\s*%?", cell.strip()) for cell in cells if cell.strip())


def _json(path: Path) -> pl.DataFrame:
    """Lines of JSON, an array of objects, an object of columns, or one that holds such an array."""
    first = next(json_lines(path), b"") or b""
    has_lines = first.lstrip()[:1] == b"{" and _whole(first)
    count, longest = _count_lines(path) if has_lines else (0, 0)
    if count > 1 and longest <= SHORT_LINE and (frame := _flat_lines(path)) is not None:
        return frame
    lines = (_line(line, n) for n, line in enumerate(json_lines(path), 1) if line is not None)
    if count > 1:
        return _rows_frame(path, [row for line in lines for row in flat_rows(line)])
    document = _rows_by_end(next(lines) if count else decode(open_bytes(path)))
    if isinstance(document, dict) and document.keys() >= {"cells", "nbformat"}:
        raise InputError(f"{path} is a notebook, not a table.", remedy="Save the table in it as CSV.")
    return _rows_frame(path, _document_rows(document))


def _rows_frame(path: Path, rows: list[dict[str, Any]]) -> pl.DataFrame:
    """A frame of all columns that any of the rows has; too many cells, or none, are refused."""
    if not rows:
        raise InputError(f"{path} holds no objects of JSON.", remedy='Each row is an object: {"item": ..., ...}')
    columns = dict.fromkeys(key for row in rows for key in row)
    _check_cells(path, len(rows), len(columns), SPARSE_RATIO)
    return pl.DataFrame([pl.Series(c, [row.get(c) for row in rows], strict=False) for c in columns])


def _count_lines(path: Path) -> tuple[int, int]:
    """How many lines a file has, and how long the longest is; too many columns are refused."""
    count = longest = 0
    keys: set[str] = set()
    for line in json_lines(path):
        longest = max(longest, len(line or b""))
        keys.update(itertools.islice(_keys(line), COLUMNS_LIMIT + 1))
        count += 1
        if len(keys) > COLUMNS_LIMIT:
            break
    _check_cells(path, count, len(keys), SPARSE_RATIO)
    return count, longest


def _flat_lines(path: Path) -> pl.DataFrame | None:
    """Lines of flat objects as a frame; None where one is nested (polars takes forty times its size) or broken."""
    try:
        with path.open("rb") as file:  # a name is never a pattern, which polars would take it for
            if file.read(3) == b"\xef\xbb\xbf":
                return None
            file.seek(0)
            frame = pl.read_ndjson(file, infer_schema_length=None)
    except pl.exceptions.PolarsError:
        return None  # NaN, a broken line: read one by one
    return None if any(kind.is_nested() for kind in frame.dtypes) else frame


def _document_rows(document: Any) -> list[dict[str, Any]]:
    """The rows of one document: of a list of objects one each, else what repeats in it."""
    if not isinstance(document, list) or not all(isinstance(row, dict) for row in document):
        return flat_rows(document)
    document = _without_single_lists(document)
    are_alike = are_records(document)
    return [row for record in document for row in flat_rows(record, record=are_alike)]


def _without_single_lists(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows with an object in place of a list of one, where a field has no more in any row."""
    names = dict.fromkeys(name for row in rows for name in row)
    single = {name for name in names if _are_single([row[name] for row in rows if name in row])}
    return [{**row, **{name: next(iter(row[name]), None) for name in single & row.keys()}} for row in rows]


def _are_single(cells: list[Any]) -> bool:
    """Whether every cell is a list of at most one object, and some have one."""
    are_lists = all(isinstance(cell, list) and len(cell) <= 1 for cell in cells)
    return are_lists and any(cells) and all(isinstance(value, dict) for cell in cells for value in cell)


def _line(line: bytes, number: int) -> Any:
    try:
        return decode(line)
    except Unreadable as error:
        raise Unreadable(f"line {number}: {error}.") from error


def _rows_by_end(document: Any) -> Any:
    """A report that lists items by their end (`resolved_ids`, `successful_tasks`) as rows; anything else as it is."""
    nodes = (document, *document.values()) if isinstance(document, dict) else ()
    return next((rows for node in nodes if isinstance(node, dict) and (rows := _items_by_end(node))), document)


def _items_by_end(node: dict[str, Any]) -> list[dict[str, Any]]:
    """A row for each item of lists by their end, with whether it was solved; none where there are no such lists."""
    lists = {name: v for name, v in node.items() if isinstance(v, list) and all(isinstance(i, str) for i in v)}
    right = next((v for name, v in lists.items() if _ENDED.match(name)), None)
    others = [v for name, v in lists.items() if _ASKED.match(name)]
    if right is None or not others:
        return []
    solved, names = {*right}, dict.fromkeys(itertools.chain(right, *others))
    return [{"item": name, "correct": name in solved} for name in names]


_ENDED = re.compile(r"(resolved|success\w*|solved|passed|correct)_?(ids|tasks|instances|cases|items)?$", re.IGNORECASE)
_ASKED = re.compile(r"(submitted|failed|unsolved|incorrect|wrong)_?(ids|tasks|instances|cases|items)?$", re.IGNORECASE)


def _whole(line: bytes) -> bool:
    try:
        decode(line, dict[str, msgspec.Raw])
    except Unreadable:
        return False
    return True


def _keys(line: bytes | None) -> Iterable[str]:
    try:
        return _ROW.decode(line or b"{}")
    except (ValueError, RecursionError):  # said where the row is read
        return ()


def _read_separated(path: Path, head: bytes, *, text: bool) -> pl.DataFrame:
    source, head = _as_csv(path, head)
    lines = head.decode("utf-8", "ignore").removeprefix("\ufeff").splitlines()
    skip = sum(1 for _ in itertools.takewhile(lambda line: _COMMENT.match(line) or not line.strip(), lines))
    top = lines[skip : skip + HEADER_ROWS]
    cells = [next(csv.reader([line], delimiter=_separator(top[k:])), []) for k, line in enumerate(top)]
    skip += _heading(cells)
    if any(map(_RULE.fullmatch, lines[skip + 1 : skip + 2])):
        raise InputError(f"{path} is a table drawn with lines, which is not read.", remedy="Save it as CSV.")
    separator = _separator(lines[skip : skip + 20])
    if any(line.count(separator) >= COLUMNS_LIMIT for line in lines[skip : skip + 20]):
        _check_cells(path, 1, COLUMNS_LIMIT + 1, 1)
    try:
        return _read_csv(source, separator, skip, text=text)
    except pl.exceptions.PolarsError as error:
        fault = _uneven(source, separator, skip)
        if fault is None:
            raise
        raise InputError(
            f"{path}: {fault}.", remedy="Quote cells that hold the separator, or fix that line."
        ) from error


def _as_csv(path: Path, head: bytes) -> tuple[Path | bytes, bytes]:
    """The source as CSV in UTF-8, and its head: the file itself where it is that already."""
    source: Path | bytes = path
    encoding = _encoding(path, head)
    if encoding != "utf-8":
        source = path.read_bytes().decode(encoding).encode()
        head = source[:HEAD_SIZE]
    if b"\r" in head and b"\n" not in head:  # as Macs ended lines, and a spreadsheet there still may
        source = (path.read_bytes() if isinstance(source, Path) else source).replace(b"\r", b"\n")
        head = source[:HEAD_SIZE]
    return source, head


def _read_csv(source: Path | bytes, separator: str, skip: int, *, text: bool) -> pl.DataFrame:
    """The columns as text, or as what their first rows say; as what all rows say where these do not fit."""
    options: dict[str, Any] = {"separator": separator, "skip_lines": skip, "glob": False}
    if text:
        return pl.read_csv(source, infer_schema=False, **options)
    try:
        return pl.read_csv(source, **options)
    except pl.exceptions.ComputeError:
        return pl.read_csv(source, infer_schema_length=None, **options)


_COMMENT = re.compile(r"#(?!\s*[,;\t|])|sep=")
_RULE = re.compile(r"[ |+:-]*--[ |+:-]*")  # below the header of a table in Markdown, or as psql prints it


def _encoding(path: Path, head: bytes) -> str:
    if head[:2] in _UTF_16_MARKS:
        return "utf-16"
    if head[1:2] == b"\0" or head[:1] == b"\0":  # UTF-16 without its mark
        return "utf-16-le" if head[1:2] == b"\0" else "utf-16-be"
    with path.open("rb") as file:
        decoder = io.TextIOWrapper(file, encoding="utf-8", newline="")
        try:
            while decoder.read(1 << 24):
                pass
        except UnicodeDecodeError:
            return "cp1252"
    return "utf-8"


def read_as_windows(path: Path) -> bool:
    """Whether a text is none of UTF-8 and UTF-16, so that it was read as Windows' own code page."""
    with path.open("rb") as file:
        head = file.read(HEAD_SIZE)
    packed = head[:4] in (b"PAR1", b"PK\x03\x04") or head[:8] == _OLD_OFFICE
    return not packed and not _is_utf_16(head) and _encoding(path, head) == "cp1252"


def _separator(lines: list[str]) -> str:
    """The one that cuts the header, and the lines after it alike, into most columns; spaces where no other does."""
    counts = {s: [len(row) for row in csv.reader(lines[:20], delimiter=s)] for s in (",", ";", "\t", "|")}
    even = {s: n[0] for s, n in counts.items() if n and n[0] > 1}
    spaced = {len(row) for row in csv.reader(lines[:20], delimiter=" ")}
    if not even and len(spaced) == 1 and spaced != {1}:  # as the published MQM scores
        return " "
    return max(even, key=lambda s: (counts[s].count(even[s]), even[s]), default=",")


def _uneven(source: Path | bytes, separator: str, skip: int) -> str | None:
    """The first line whose number of cells is not the header's."""

    def lines() -> Iterator[str]:
        if isinstance(source, bytes):
            yield from source.decode().splitlines(keepends=True)
        else:
            with source.open(encoding="utf-8-sig", newline="") as file:
                yield from file

    rows = csv.reader(itertools.islice(lines(), skip, None), delimiter=separator)
    try:
        header = next(rows)
        for row in rows:
            if row and len(row) != len(header):
                return f"line {rows.line_num + skip} has {len(row)} cells and the header {len(header)}"
    except (csv.Error, StopIteration):
        return None
    return None
