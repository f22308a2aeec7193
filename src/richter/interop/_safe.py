"""The one way into foreign files: every size, depth and encoding is bounded, and nothing in them is ever run.

A file is read as bytes, as JSON, as lines of JSON, or as the members of a zip archive. What breaks a limit or cannot be
decoded raises `Unreadable` with a reason in words; the readers count it and go on with the next record.
"""

import bz2
import gzip
import lzma
import mmap
import re
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeVar, overload

import msgspec
import zstandard

from richter.errors import InputError
from richter.interop._json_memory import decoded_bytes
from richter.records import printable

__all__ = ["is_zip", "unpacked", "unzipped"]

DOCUMENT_LIMIT = 1 << 29  # bytes of one JSON document
MEMBER_LIMIT = 1 << 28  # bytes of one unpacked member of an archive
LINE_LIMIT = 1 << 26  # bytes of one line of JSON
REPAIR_LIMIT = 1 << 27  # bytes of JSON in which NaN and broken escapes are looked for
MEMBERS_LIMIT = 2_000_000
RATIO_LIMIT = 50  # unpacked over packed bytes of a member, above the size at which that can hurt
RATIO_FROM = 1 << 24
TOTAL_RATIO_LIMIT = 100  # the same over a whole archive
TOTAL_FROM = 1 << 26
SMALL = 1 << 20  # bytes of JSON that can be decoded to anything without harm
ROOM = 1 << 25  # bytes of memory that decoding a document may always take
ROOM_RATIO = 12  # ... and this many times its size, or what it was packed to if that is less

_STORED, _DEFLATED, _ZSTD = 0, 8, 93
_LOCAL_HEADER = struct.Struct("<4s5H3I2H")
_PACKED = (b"\x1f\x8b", b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda", b"\x28\xb5\x2f\xfd", b"BZh", b"\xfd7zXZ")
_PAGE = "a web page (HTML)"
_NO_DATA = {
    b"<!doctype html": _PAGE, b"<html": _PAGE, b"\x89png": "an image (PNG)",
    b"\xff\xd8\xff": "an image (JPEG)", b"gif8": "an image (GIF)", b"%pdf": "a PDF document", b"<svg": "an image (SVG)",
}  # fmt: skip
_PLAIN_FILES = (".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".parquet", ".xlsx", ".eval", ".gz")
_PICKLE = re.compile(rb"\x80[\x02-\x05](?:[\x95cX}\]q(]|\x8c)")
_STRING_OR_CONSTANT = re.compile(rb'"(?:[^"\\]|\\.)*+"|-?(?:NaN|Infinity)', re.DOTALL)
_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)"
)

_PACKERS: dict[bytes, Callable[[Path], IO[bytes]]] = {
    b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ": lzma.open,  # type: ignore[dict-item]
    b"\x28\xb5\x2f\xfd": lambda path: zstandard.open(path, "rb"),
}  # fmt: skip
_PACKED_ENDINGS = (".gz", ".bz2", ".xz", ".zst")
UNPACKED_LIMIT = 3 << 30  # bytes of a packed table or log

T = TypeVar("T")


class Unreadable(InputError):
    """A record or a file that cannot be read; the text says why in a few words, the same for all of its kind."""


def is_zip(path: str | Path) -> bool:
    """Whether a file is a zip archive from its first byte on: a table with an archive behind it is a table."""
    try:
        with Path(path).open("rb") as file:
            return file.read(4) in (b"PK\x03\x04", b"PK\x05\x06") and zipfile.is_zipfile(file)
    except OSError:
        return False


@overload
def decode(data: bytes | memoryview | msgspec.Raw, kind: type[T], *, packed: int | None = None) -> T: ...
@overload
def decode(data: bytes | memoryview | msgspec.Raw, *, packed: int | None = None) -> Any: ...
def decode(data: bytes | memoryview | msgspec.Raw, kind: Any = Any, *, packed: int | None = None) -> Any:
    """JSON as values of `kind`; what `kind` does not name is skipped without being built.

    NaN and infinities, which some tools write though JSON has none, become null; half of a surrogate pair becomes the
    replacement character. Three bytes of JSON can become a hundred bytes of memory, so what a large document may take
    is bounded: by its size, or by that of the `packed` bytes it came from.
    """
    size = len(memoryview(data))
    if size <= SMALL:
        return _decode(data, kind)
    limit = ROOM + ROOM_RATIO * (size if packed is None else min(size, 2 * packed))
    if decoded_bytes(memoryview(data), limit, kind) > limit:
        raise Unreadable("values that take far more memory than the file has bytes")
    return _decode(data, kind)


def _decode(data: bytes | memoryview | msgspec.Raw, kind: Any) -> Any:
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.ValidationError as error:
        raise Unreadable(_plain(error)) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        repaired = _repair(bytes(data))
        if repaired is None:
            raise Unreadable(_plain(error)) from error
    except RecursionError as error:
        raise Unreadable("JSON nested too deeply") from error
    try:
        return msgspec.json.decode(repaired, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise Unreadable(_plain(error)) from error
    except RecursionError as error:
        raise Unreadable("JSON nested too deeply") from error


def _plain(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "text that is not UTF-8"
    if isinstance(error, msgspec.ValidationError):
        return f"unexpected content ({re.sub(r'[0-9]+', 'N', str(error))[:80]})"
    return "JSON that is cut off: it ends in the middle" if "truncated" in str(error) else "broken JSON"


_BETWEEN_DOCUMENTS = re.compile(rb"^\}\s*^\{", re.MULTILINE)


def _repair(data: bytes) -> bytes | None:
    """The JSON with NaN as null, lone surrogates replaced, several documents as one list; None without these."""
    if has_several_documents(data):
        return bytes(as_one_document(data))
    if len(data) > REPAIR_LIMIT or not re.search(rb"NaN|Infinity|\\u[dD][89a-fA-F]", data):
        return None

    def mend(match: re.Match[bytes]) -> bytes:
        found = match[0]
        if found[:1] != b'"':
            return b"null"
        if b"\\ud" in found or b"\\uD" in found:
            return _ESCAPE.sub(lambda m: b"\\ufffd" if m[1] else m[0], found)
        return found

    return _STRING_OR_CONSTANT.sub(mend, data)


def has_several_documents(data: bytes | memoryview) -> bool:
    """Whether objects over several lines stand one below the other, as loggers write them."""
    return len(data) <= REPAIR_LIMIT and _BETWEEN_DOCUMENTS.search(data) is not None


def as_one_document(data: bytes | memoryview) -> bytes | memoryview:
    """Several documents as one list; any other data as it is."""
    return b"[" + _BETWEEN_DOCUMENTS.sub(b"},{", data) + b"]" if has_several_documents(data) else data


def open_bytes(path: Path, *, limit: int = DOCUMENT_LIMIT) -> bytes | memoryview:
    """A whole file as UTF-8 bytes, mapped rather than copied; UTF-16 with its mark is converted, a mark is dropped."""
    size = path.stat().st_size
    if size > limit:
        raise InputError(
            f"{path} has {size / 1e6:,.0f} MB; a JSON document of more than {limit / 1e6:,.0f} MB is not read.",
            remedy="Split it, or write the log in a format of many records (.eval, JSONL).",
        )
    if not size:
        return b""
    with path.open("rb") as file:
        view = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    return _as_utf8(view)


def _as_utf8(view: memoryview) -> bytes | memoryview:
    if bytes(view[:3]) == b"\xef\xbb\xbf":
        return view[3:]
    if bytes(view[:2]) in (b"\xff\xfe", b"\xfe\xff"):
        try:
            return bytes(view).decode("utf-16").encode()
        except UnicodeError as error:
            raise Unreadable("text that is neither UTF-8 nor UTF-16") from error
    return view


def json_lines(path: Path) -> Iterator[bytes | None]:
    """The lines of a file that are not blank; None for a line over the limit."""
    with path.open("rb") as file:
        head = file.read(3)
        if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
            yield from (line for line in bytes(open_bytes(path, limit=LINE_LIMIT)).splitlines() if line.strip())
            return
        file.seek(3 if head == b"\xef\xbb\xbf" else 0)
        while line := file.readline(LINE_LIMIT):
            if len(line) == LINE_LIMIT and not line.endswith(b"\n"):
                yield None  # before the rest of it is passed over, which in a vast file takes minutes
                while (rest := file.readline(LINE_LIMIT)) and not rest.endswith(b"\n"):
                    pass
            elif line.strip():
                yield line


def refuse_unsafe(path: Path, head: bytes) -> None:
    """Raise for what holds no data, and for what only unpickling could read, which would run whatever it says."""
    text = head.lower().lstrip(b"\xef\xbb\xbf \r\n\t")
    kind = next((what for start, what in _NO_DATA.items() if text.startswith(start)), None)
    kind = _PAGE if kind is None and text.startswith(b"<") and b"<tr" in text else kind
    if kind is not None:
        raise InputError(
            f"{path} is {kind}, not a table or a log.",
            remedy="Save the table in it as CSV; of a log-in or error page, download the file again."
            if kind == _PAGE
            else "Give the table itself.",
        )
    if head.startswith(_PACKED):
        raise InputError(f"{path} is packed in a way that is not read.", remedy="Unpack it first.")
    if _PICKLE.match(head) or head[:6] == b"\x93NUMPY":
        raise InputError(
            f"{path} is a pickle or an array file. Reading one can run any program, so Richter never does.",
            remedy="Save the table as Parquet, CSV or JSONL instead.",
        )


def stem_in(folder: Path, path: Path) -> Path:
    """Where in `folder` a packed file is unpacked; one called `...zip` has the folder above for its stem."""
    return folder / (path.stem.strip(".") or "packed")


def unpacked(path: Path, folder: Path) -> Path:
    """A file that gzip, bzip2, xz or Zstandard packed, unpacked into `folder` within limits; any other as it is."""
    with path.open("rb") as file:
        head = file.read(6)
    opener = next((how for start, how in _PACKERS.items() if head.startswith(start)), None)
    if opener is None:
        return path
    target = stem_in(folder, path) if path.suffix.lower() in _PACKED_ENDINGS else folder / path.name
    room = max(TOTAL_FROM, min(UNPACKED_LIMIT, TOTAL_RATIO_LIMIT * path.stat().st_size))
    try:
        with opener(path) as source, target.open("wb") as out:
            while block := source.read(1 << 20):
                room -= len(block)
                if room < 0:
                    raise InputError(
                        f"{path} unpacks to far more than a file of its size should.",
                        remedy="If you know what it is, unpack it yourself and name the result.",
                    )
                out.write(block)
    except (OSError, EOFError, zlib.error, lzma.LZMAError, zstandard.ZstdError) as error:
        raise InputError(f"{path} cannot be unpacked: it is damaged or cut off.", remedy="Get it again.") from error
    return target


def unzipped(path: Path, folder: Path) -> Path:
    """An archive of plain files unpacked into `folder` within limits; a workbook, a log or any other file as it is."""
    if not is_zip(path):
        return path
    with Archive(path) as archive:
        names = [n for n in archive.members if not n.endswith("/") and not n.startswith("__MACOSX/")]
        names = [n for n in names if not any(part.startswith(".") or part == ".." for part in Path(n).parts)]
        known = any(
            n.startswith(("xl/", "_journal/", "samples/")) or n in ("content.xml", "header.json") for n in names
        )
        if archive.truncated or known or not any(Path(n).suffix.lower() in _PLAIN_FILES for n in names):
            return path
        for name in names:
            _write_member(archive, name, stem_in(folder, path))
    return stem_in(folder, path)


def _write_member(archive: "Archive", name: str, folder: Path) -> None:
    """Unpack one member of an archive into a folder."""
    try:
        target = folder / Path(name).relative_to(Path(name).anchor)
        if name in archive.twice or target.is_file():
            raise Unreadable("two files have its name")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(archive.read(name))
    except (Unreadable, OSError, ValueError) as error:
        why = error.what if isinstance(error, Unreadable) else "a name that no folder can hold"
        raise InputError(
            f"{archive.path}: {printable(name, limit=60)} in it cannot be unpacked: {why}.",
            remedy="Unpack it yourself and name the files.",
        ) from error


class _Member(NamedTuple):
    offset: int
    method: int
    packed: int
    size: int
    crc: int
    flags: int


class Archive:
    """A zip archive, read member by member: stored, deflated or Zstandard, each unpacked within limits and checked.

    Where the central directory is gone (a copy that broke off), the members before the break are found by their own
    headers and `truncated` is set. A name that occurs `twice` counts as written last.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.truncated = False
        self.twice: list[str] = []
        self._file = path.open("rb")
        self._size = path.stat().st_size
        self._unpacked = 0
        try:
            with zipfile.ZipFile(self._file) as archive:
                entries = archive.infolist()
            self.members = {
                e.filename: _Member(e.header_offset, e.compress_type, e.compress_size, e.file_size, e.CRC, e.flag_bits)
                for e in entries
            }
            self.twice = sorted(name for name, k in Counter(e.filename for e in entries).items() if k > 1)
        except (zipfile.BadZipFile, NotImplementedError, OSError, ValueError, struct.error, OverflowError):
            self.members = dict(self._scan())
            self.truncated = True
        # two members that share their packed bytes are how a small file unpacks to terabytes
        if len(self.members) > MEMBERS_LIMIT or sum(m.packed for m in self.members.values()) > self._size:
            self.close()
            raise InputError(
                f"{path}: its archive names more than it holds, as an archive made to exhaust a machine does.",
                remedy="It is not read. Get the log from its source again.",
            )

    def _scan(self) -> Iterator[tuple[str, "_Member"]]:
        """Members by their local headers, from the start to the first that is not whole."""
        at = 0
        while True:
            self._file.seek(at)
            head = self._file.read(_LOCAL_HEADER.size)
            if len(head) < _LOCAL_HEADER.size or head[:4] != b"PK\x03\x04":
                return
            _, _, flags, method, _, _, crc, packed, size, name_length, extra = _LOCAL_HEADER.unpack(head)
            name = self._file.read(name_length).decode("utf-8", "replace")
            following = at + _LOCAL_HEADER.size + name_length + extra + packed
            if flags & 8 or packed == 0xFFFFFFFF or following > self._size:  # its length is told elsewhere
                return
            yield name, _Member(at, method, packed, size, crc, flags)
            at = following

    def __enter__(self) -> "Archive":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def decode(self, name: str, kind: type[T]) -> T:
        """A member's JSON as values of `kind`."""
        return decode(self.read(name), kind, packed=self.members[name].packed)

    def read(self, name: str) -> bytes:
        """A member's content; `Unreadable` if it is damaged, locked, packed in another way or too large."""
        member = self.members[name]
        if member.flags & 1:
            raise Unreadable("encrypted member")
        if member.size > min(MEMBER_LIMIT, max(RATIO_FROM, RATIO_LIMIT * member.packed)):
            raise Unreadable("member too large unpacked")
        if not 0 <= member.offset < self._size or member.packed < 0:
            raise Unreadable("damaged member")
        self._file.seek(member.offset)
        head = self._file.read(_LOCAL_HEADER.size)
        if len(head) < _LOCAL_HEADER.size or head[:4] != b"PK\x03\x04":
            raise Unreadable("damaged member")
        name_length, extra = struct.unpack("<2H", head[26:30])
        self._file.seek(name_length + extra, 1)
        try:
            content = _unpack(self._file.read(member.packed), member)
        except (zlib.error, zstandard.ZstdError, EOFError) as error:
            raise Unreadable("damaged member") from error
        if len(content) != member.size or zlib.crc32(content) != member.crc:
            raise Unreadable("damaged member")
        self._unpacked += len(content)
        if self._unpacked > max(TOTAL_FROM, TOTAL_RATIO_LIMIT * self._size):
            raise InputError(
                f"{self.path} unpacks to more than {TOTAL_RATIO_LIMIT} times its size.",
                remedy="It is not read further: an archive made to exhaust a machine does that.",
            )
        return content


def _unpack(data: bytes, member: _Member) -> bytes:
    """Unpack to one byte more than the member is said to hold, so that a lie shows and costs nothing."""
    if member.method == _STORED:
        return data
    if member.method == _DEFLATED:
        return zlib.decompressobj(-15).decompress(data, member.size + 1)
    if member.method == _ZSTD:
        unpacker = zstandard.ZstdDecompressor(max_window_size=1 << 27)
        return unpacker.stream_reader(data, read_across_frames=True).read(member.size + 1)
    raise Unreadable("member packed in an unknown way")
