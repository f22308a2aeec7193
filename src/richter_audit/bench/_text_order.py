"""Names compared as people compare them, and choices made by hashing, which no Python version can change."""

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import TypeVar

__all__ = ["leaks", "normalise_name", "order_by_hash"]

T = TypeVar("T")

# letters that do not decompose into a base letter and an accent
_LETTERS = str.maketrans(
    {
        "ø": "o", "Ø": "o", "ł": "l", "Ł": "l", "đ": "d", "Đ": "d", "ð": "d", "Ð": "d", "ı": "i", "ħ": "h", "Ħ": "h",
        "ß": "ss", "æ": "ae", "Æ": "ae", "œ": "oe", "Œ": "oe", "þ": "th", "Þ": "th", "ə": "e", "Ə": "e",
        **dict.fromkeys("'’‘ʻʼ`´ʹʽ", ""),
    }
)  # fmt: skip
_GAPS = re.compile(r"[\W_]+")


def normalise_name(text: str) -> str:
    """Lower case, no accents, no punctuation, single spaces, no leading article: 'The Côte d’Ivoire' -> 'cote divoire'.

    Letters of other scripts stay. A text of signs alone ('+', '&') comes back as it is, stripped.
    """
    if text.isascii() and text.isalpha():  # most names; the rest of the way would not change them further
        return text.lower()
    plain = text
    if not text.isascii():
        plain = "".join(
            c for c in unicodedata.normalize("NFKD", text.translate(_LETTERS)) if not unicodedata.combining(c)
        )
    else:
        plain = text.replace("'", "").replace("`", "")
    plain = _GAPS.sub(" ", plain.casefold()).strip()
    return plain.removeprefix("the ") if plain else text.strip()


def leaks(answers: Iterable[str], text: str) -> bool:
    """Whether an answer stands in the text: as words, as the same characters, or (4 letters up) inside a word."""
    words = f" {normalise_name(text)} "
    for answer in answers:
        name = normalise_name(answer)
        if f" {name} " in words or answer in text or (len(name) > 3 and name in words):
            return True
    return False


def unique(names: Iterable[str]) -> tuple[str, ...]:
    """Names without empty ones and without repeats (by `normalise_name`), in their order."""
    seen: dict[str, str] = {}
    for name in names:
        if name and name.strip():
            seen.setdefault(normalise_name(name), name.strip())
    return tuple(seen.values())


def words(text: str, separator: str | None = None) -> list[str]:
    """The words of a text: a compact way to write a long list of codes."""
    return text.split(separator)


def _hash(*parts: object) -> int:
    return int.from_bytes(hashlib.sha256("|".join(map(str, parts)).encode()).digest()[:8], "big")


def order_by_hash(values: Iterable[T], *salt: object) -> list[T]:
    """The values in an order that looks random and depends on the values and the salt alone."""
    prefix = "|".join(map(str, salt))
    return sorted(values, key=lambda v: (_hash(prefix, v), str(v)))


def pick(values: Sequence[T], count: int, *salt: object) -> list[T]:
    """Up to `count` different members of a long sequence, chosen by the salt alone."""
    chosen: dict[int, T] = {}
    for turn in range(20 * count):
        if len(chosen) >= min(count, len(values)):
            break
        index = _hash(*salt, turn) % len(values)
        chosen.setdefault(index, values[index])
    return list(chosen.values())
