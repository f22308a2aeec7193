"""The results of a batch job: lines that are kept on disk, of which one at a time is in memory."""

import tempfile
import weakref
from collections.abc import AsyncIterator, Collection

import msgspec

from richter.errors import ModelError, StorageError
from richter_audit.llm._reply_bodies import LONGEST_BODY, MOST_VALUES, count_values

LONGEST_FILE = 2**30
IN_MEMORY = 2**24  # of a file of results, before it goes to disk


class _Named(msgspec.Struct):
    custom_id: str


class BatchResults:
    """The first line of each wanted request, in a temporary file that has no name.

    `is_whole` is false once a line could not be read. `unwanted` counts lines of other requests.
    """

    def __init__(self, keys: Collection[str] = ()) -> None:
        self._wanted = frozenset(keys)
        self._spans: dict[str, tuple[int, int]] = {}
        self._file = tempfile.SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115
        weakref.finalize(self, self._file.close)
        self._size = 0
        self.is_whole, self.unwanted = True, 0

    def has_all(self, keys: Collection[str]) -> bool:
        """Whether every line could be read and none of these requests is missing."""
        return self.is_whole and all(key in self._spans for key in keys)

    def add(self, line: bytes) -> None:
        """Keep a line if it is the first of a wanted request."""
        if not line.strip():
            return
        try:
            if len(line) > LONGEST_BODY or count_values(line) > MOST_VALUES:
                raise ValueError("too large")
            key = msgspec.json.decode(line, type=_Named).custom_id
        except (ValueError, RecursionError):  # msgspec's errors are ValueErrors
            self.is_whole = False
            return
        if key not in self._wanted:
            self.unwanted += 1
        elif key not in self._spans:
            try:
                self._file.seek(self._size)
                self._file.write(line)
            except OSError as error:
                raise StorageError(
                    f"The results of a batch job cannot be kept in {tempfile.gettempdir()}: {error.strerror}.",
                    remedy="Free space there, or set TMPDIR to a folder with room, and run the command again.",
                ) from error
            self._spans[key] = self._size, len(line)
            self._size += len(line)

    def take(self, key: str) -> bytes | None:
        """The line of a request, once."""
        place, size = self._spans.pop(key, (0, 0))
        if not size:
            return None
        self._file.seek(place)
        return self._file.read(size)


async def read_lines(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The lines of a file while it comes; of one that is longer than any may be, no more than shows that."""
    line, size = bytearray(), 0
    async for piece in pieces:
        size += len(piece)
        if size > LONGEST_FILE:
            raise ModelError(f"The provider sent results of over {LONGEST_FILE} bytes.", remedy="Leave --batch out.")
        *ended, begun = piece.split(b"\n")
        for rest in ended:
            yield bytes(line + rest) if len(line) <= LONGEST_BODY else bytes(line)
            line.clear()
        if len(line) <= LONGEST_BODY:
            line += begun
    yield bytes(line)
