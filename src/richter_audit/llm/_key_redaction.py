"""Hiding a key that a server echoes: as it is, escaped, encoded, or spelt out in pieces."""

import base64
import functools
import re
from collections.abc import Sequence

MASK = "***"
_SECRET = re.compile(r"^(?=.*[0-9]).{8}|^.{16}")  # what may be a key: long, or a mix
_PIECES = re.compile(rb'"(?:content|text|token)"\s*:\s*"((?:[^"\\]|\\.)*)"')  # of a reply, in the order they come
_INVISIBLE = r"\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e0fff"
_GAP = rf"(?:\s|\\+[nrt]|[{_INVISIBLE}])*"  # what may stand between two letters


@functools.lru_cache(maxsize=16)
def key_pattern(key: str) -> re.Pattern[str] | None:
    """A pattern that finds a key in a text however it is written there; None where the key is not a secret.

    What many set where no key is needed (none, EMPTY, x, 1) is not a secret, and may well be the answer. Letters may
    be escaped as JSON, an address or HTML escapes them; the whole may be in base64 or hexadecimal digits.
    """
    if not _SECRET.search(key):
        return None
    plain = _GAP.join(map(_letter, key))
    raw = key.encode()
    encoded = {raw.hex(), *_base64_forms(raw), key[::-1]}
    return re.compile("|".join([plain, *(f"(?i:{re.escape(form)})" for form in encoded)]))


def _letter(letter: str) -> str:
    """A pattern of one letter of a key."""
    code = ord(letter)
    escapes = rf"\\+u{code:04x}|\\+x{code:02x}|%(?:25)*{code:02x}|&#0*{code};|&#x0*{code:x};"
    return rf"(?:{re.escape(letter)}|(?i:{escapes}))"


def _base64_forms(raw: bytes) -> set[str]:
    """A key in base64 wherever it begins in what was encoded: the letters that its neighbours do not change."""
    forms = set()
    for before in range(3):
        whole = base64.b64encode(bytes(before) + raw).decode()
        first = 0 if before == 0 else 4
        last = (before + len(raw)) // 3 * 4
        forms |= {form for form in (whole[first:last], whole[first:last].translate({43: 45, 47: 95})) if len(form) > 7}
    return forms


def hide_in_text(text: str, key: str) -> str:
    """A text without the key."""
    pattern = key_pattern(key)
    return text if pattern is None else pattern.sub(MASK, text)


def hide_in_body(content: bytes, key: str) -> bytes:
    """A reply as it came without the key. Its bytes are kept, whatever they are."""
    pattern = key_pattern(key)
    if pattern is None:
        return content
    text = content.decode("utf-8", "surrogateescape")
    hidden = pattern.sub(MASK, text)
    return content if hidden is text or hidden == text else hidden.encode("utf-8", "surrogateescape")


def hide_in_tokens(tokens: Sequence[str], key: str) -> tuple[str, ...]:
    """Tokens without those that spell the key out."""
    pattern = key_pattern(key)
    spans = [] if pattern is None else [found.span() for found in pattern.finditer("".join(tokens))]
    hidden, place = [], 0
    for token in tokens:
        covered = any(first < place + len(token) and place < last for first, last in spans)
        hidden.append(MASK if covered else token)
        place += len(token)
    return tuple(hidden)


def is_spelt_out(content: bytes, key: str) -> bool:
    """Whether the pieces of a reply (of a stream, or tokens) spell the key out together."""
    pattern = key_pattern(key)
    if pattern is None:
        return False
    pieces = b"".join(found[1] for found in _PIECES.finditer(content)).decode("utf-8", "replace")
    return pattern.search(pieces) is not None
