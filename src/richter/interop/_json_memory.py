"""How much memory JSON takes once it is decoded, counted from its bytes before anything is built.

A limit of the process would meet other threads, which may need memory at the same time, and not every system has one.
"""

from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

PIECE = 1 << 20
QUOTE, BACKSLASH, COMMA = ord('"'), ord("\\"), ord(",")
STEP = np.zeros(256, dtype=np.int8)  # how much deeper each sign leads
STEP[[ord("["), ord("{")]], STEP[[ord("]"), ord("}")]] = 1, -1
RAW_ONLY = (list[msgspec.Raw], dict[str, msgspec.Raw])
# bytes that CPython takes; keys that repeat, as those of rows do, are kept once
OBJECT, ENTRIES, ENTRY = 64, 120, 40  # an empty dict, its first five entries, each one more
LIST, SLOT = 56, 9  # an empty list, a place in it with what is taken in advance
TEXT, NUMBER, DIGIT = 56, 32, 11  # a string without its letters, a number, a digit of a short one
RAW = 160  # a value that is kept as text, and its key


class Signs(NamedTuple):
    """How often each byte occurs, how many bytes do not count, and how many commas stand in the outermost values."""

    counts: NDArray[np.float64]
    left_out: int
    outer_commas: float


def decoded_bytes(data: bytes | memoryview, limit: int, kind: Any = Any) -> int:
    """The memory of a JSON document as values of a kind; an upper bound of it where that is within the limit.

    What a kind does not name counts too, unless it keeps all values as text. A kind of named fields may keep those in
    its lists as text.
    """
    view = memoryview(data)
    signs = _count_all(view)
    width = _letter_width(signs.counts)
    bound = _memory(signs, len(view), width, kind)
    if bound <= limit:
        return bound
    return _memory(_count_outside_strings(view, 1 if kind in RAW_ONLY else 3), len(view), width, kind)


def _count_all(view: memoryview) -> Signs:
    """The signs of a text, also those in strings."""
    counts = np.zeros(256)
    for first in range(0, len(view), PIECE):
        counts += np.bincount(np.frombuffer(view[first : first + PIECE], dtype=np.uint8), minlength=256)
    return Signs(counts, len(view), counts[COMMA])


def _count_outside_strings(view: memoryview, outer_depth: int) -> Signs:
    """The signs that are not in a string: what stands in one is not built."""
    counts, is_inside, depth, outer, first = np.zeros(256), False, 0, 0, 0
    while first < len(view):
        last = min(first + PIECE, len(view))
        while last < len(view) and view[last - 1] == BACKSLASH:  # an escape is not torn
            last += 1
        bare = bytes(view[first:last]).replace(b"\\\\", b"").replace(b'\\"', b"")
        signs, first = np.frombuffer(bare, dtype=np.uint8), last
        is_quote = signs == QUOTE
        inside = (np.cumsum(is_quote) + is_inside) % 2 == 1
        is_inside = bool(inside[-1]) if len(inside) else is_inside
        signs = signs[~inside | is_quote]
        counts += np.bincount(signs, minlength=256)
        depths = depth + np.cumsum(STEP[signs])
        outer += int(np.sum((signs == COMMA) & (depths <= outer_depth)))
        depth = int(depths[-1]) if len(depths) else depth
    return Signs(counts, len(view) - int(counts.sum()), outer)


def _letter_width(counts: NDArray[np.float64]) -> int:
    """The most bytes that a letter takes: one wide letter widens all of its string."""
    if counts[0xF0:].any() or counts[BACKSLASH]:
        return 4
    return 2 if counts[0xC4:].any() else 1


def _memory(signs: Signs, size: int, width: int, kind: Any) -> int:
    """The memory of so many signs of JSON in a text of `size` bytes, whose strings may have what does not count."""
    raw = 0 if kind is Any else RAW * (signs.outer_commas + 1)
    if kind in RAW_ONLY:
        return int(raw)
    counts = signs.counts
    objects, lists, keys, commas = (counts[ord(sign)] for sign in "{[:,")
    strings = max(counts[QUOTE] / 2 - keys, 0)
    values = commas + objects + lists + 1
    numbers = max(values - strings - objects - lists, 0)
    blanks = counts[[9, 10, 13, 32]].sum()
    digits = max(counts.sum() - 2 * (objects + lists) - keys - commas - counts[QUOTE] - blanks, 0)
    total = OBJECT * objects + ENTRIES * min(objects, keys) + ENTRY * max(keys - 5 * objects, 0)
    total += LIST * lists + SLOT * max(values - keys, 0)
    return int(raw + total + TEXT * strings + width * min(signs.left_out, size) + min(NUMBER * numbers, DIGIT * digits))
