"""Standard streams whose reader may go away: `richter gate ... | head` ends as it would without a pipe."""

import contextlib
import io
import sys
from collections.abc import Iterator
from typing import Any, TextIO

__all__ = ["outliving_readers"]


class _PipeWriter(io.FileIO):
    """A file to write to; what nobody reads any more is dropped."""

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            return memoryview(data).nbytes


@contextlib.contextmanager
def outliving_readers() -> Iterator[None]:
    """Go on where the reader of stdout or stderr has gone, for as long as the block runs.

    The exit status says how the work ended, and files that it writes are written. Streams that somebody else has put
    in the place of the process's own are left alone, and so are terminals.
    """
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = _outliving(sys.stdout, sys.__stdout__), _outliving(sys.stderr, sys.__stderr__)
    try:
        yield
    finally:
        for stream in filter(None, (sys.stdout, sys.stderr)):
            stream.flush()
        sys.stdout, sys.stderr = before


def _outliving(stream: TextIO, own: TextIO | None) -> TextIO:
    """A stream to the same file that outlives its reader; the same stream where that is not needed."""
    if stream is not own or not isinstance(stream, io.TextIOWrapper) or stream.isatty():
        return stream
    stream.flush()
    buffer = io.BufferedWriter(_PipeWriter(stream.fileno(), "w", closefd=False))
    return io.TextIOWrapper(
        buffer, encoding=stream.encoding, errors=stream.errors, line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )  # fmt: skip
