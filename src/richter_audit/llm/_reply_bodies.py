"""Reading the body of a reply within limits: of one reply, of all that are on their way, packed or not."""

import zlib
from collections.abc import AsyncIterator

from richter_audit.llm._model import Refused, TryAgain

LONGEST_BODY = 8 * 2**20
SMALL_BODY = 2**18  # what each reply may take without asking
LARGE_BODIES = 48 * 2**20  # what all replies together may take beyond that
MOST_VALUES = 1_000_000  # of one reply: brackets and commas make lists and objects, each of which takes memory
_PACKED = {"gzip", "x-gzip", "deflate"}


class BodyReader:
    """Reads bodies; all replies on their way share what is allowed beyond a small one."""

    def __init__(self) -> None:
        self._taken = 0

    async def read(self, pieces: AsyncIterator[bytes], encoding: str) -> bytes:
        """The body that these pieces make, unpacked; what is too large is refused while it comes."""
        unpacked = unpack(pieces, encoding)
        content, taken = bytearray(), 0
        try:
            async for piece in unpacked:
                content += piece
                if len(content) > LONGEST_BODY:
                    raise Refused(
                        f"the server sent a reply of over {LONGEST_BODY} bytes: lower --max-tokens", maybe_billed=True
                    )
                more = max(0, len(content) - SMALL_BODY) - taken
                if self._taken + more > LARGE_BODIES:
                    raise TryAgain("too many large replies came at a time", maybe_billed=True, slow_down=True)
                self._taken, taken = self._taken + more, taken + more
        except BaseException:
            content.clear()  # the error's traceback would hold it for as long as anybody holds the error
            raise
        finally:
            self._taken -= taken
        if count_values(content) > MOST_VALUES:
            content.clear()
            raise Refused(f"the server sent a reply of over {MOST_VALUES} values", maybe_billed=True)
        return bytes(content)


def count_values(content: bytes | bytearray) -> int:
    """About how many values a JSON text has, each of which takes memory once it is read."""
    return content.count(b",") + content.count(b"[") + content.count(b"{")


async def unpack(pieces: AsyncIterator[bytes], encoding: str) -> AsyncIterator[bytes]:
    """The pieces of a body as they are, or unpacked by so much at a time that none is large."""
    encoding = encoding.strip().lower()
    if encoding in ("", "identity"):
        async for piece in pieces:
            yield piece
        return
    if encoding not in _PACKED:
        way = repr(encoding) if len(encoding) < 8 else "an unknown way"  # a long name may be the key
        raise Refused(f"the server packed its reply, which was not asked for, in {way}", maybe_billed=True)
    unpacker = zlib.decompressobj(47)  # gzip or zlib, as its first bytes say
    try:
        async for piece in pieces:
            rest = piece
            while rest:
                yield unpacker.decompress(rest, SMALL_BODY)
                rest = unpacker.unconsumed_tail
    except zlib.error as error:
        raise TryAgain("the server's reply cannot be unpacked", maybe_billed=True) from error
