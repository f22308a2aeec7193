"""What is put to a model that judges or writes, and what it says back: both untrusted, both bounded."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

__all__ = ["fence", "json_objects", "last_object", "storable"]

LONGEST_REPLY = 50_000  # characters in which an object is looked for, the last ones
# Inside JSON these can only stand within a string, so each may be written as an escape. With them gone, no answer can
# spell a chat template's marks (<|im_end|>, [INST], <s>), a code fence or markup.
_MARKS = re.compile(r"[<>|\[\]`]")
_OPENING = re.compile(r'\{\s*+["}]')
_STRINGS = re.compile(r'"(?:[^"\\]|\\.)*+"')
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class Fenced(NamedTuple):
    """The boundary line, and the data as one line of JSON that cannot hold the boundary."""

    boundary: str
    body: str


def fence(data: Mapping[str, Any]) -> Fenced:
    """Data between boundary lines, as it is put to a model.

    The boundary is a hash of the data, so that nobody can write it into an answer beforehand, and the same answer
    gives the same prompt (and the same ledger key) every time. JSON keeps the text on one line with its quotes and
    controls escaped; ASCII only, so that no invisible or reordering character comes through.
    """
    line = json.dumps(dict(data), ensure_ascii=True)
    body = _STRINGS.sub(lambda s: _MARKS.sub(lambda m: f"\\u{ord(m.group()):04x}", s.group()), line)
    # 64 bits: nobody finds an answer that holds its own hash, and hex digits are many tokens to a small model
    boundary = f"DATA-{hashlib.sha256(body.encode()).hexdigest()[:16]}"
    return Fenced(boundary, body)


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) < 20 else float(digits)  # hundreds of digits are no number anybody meant


_DECODER = json.JSONDecoder(parse_int=_integer)


def json_objects(text: str) -> Iterator[dict[str, Any] | None]:
    """The JSON objects of a reply in their order, code fences and talk around them aside; None if it breaks off in one.

    Objects inside another are part of it. The time is linear in the reply: after a fault the search goes on behind it.
    """
    text = text[-LONGEST_REPLY:].rstrip()
    start = _OPENING.search(text)
    while start is not None:
        try:
            value, end = _DECODER.raw_decode(text, start.start())
        except json.JSONDecodeError as error:
            end = max(error.pos, start.end() - 1)
            if end >= len(text) or error.msg.startswith("Unterminated string"):
                yield None
                return
        except RecursionError:
            yield None
            return
        else:
            yield value
        start = _OPENING.search(text, end)


def last_object(text: str, *keys: str) -> dict[str, Any] | None:
    """The last whole JSON object of a reply that has `keys`; None without one.

    The last and not the first: a judge that thinks aloud quotes what it judges before it gives its verdict. An object
    that has all the keys goes before one that has only the first. A reply that breaks off inside a later object has
    none, since what stands before may be a quotation.
    """
    whole: dict[str, Any] | None = None
    partly: dict[str, Any] | None = None
    for candidate in json_objects(text):
        if candidate is None:
            return None
        if all(key in candidate for key in keys):
            whole = candidate
        elif keys[0] in candidate:
            partly = candidate
    return whole if whole is not None else partly


def storable(text: str) -> str:
    """Text that a ledger takes: half surrogates and zero bytes as the replacement sign."""
    return _UNSTORABLE.sub("\ufffd", text)
