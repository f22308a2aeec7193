"""Model output is untrusted: make it harmless before a person's terminal, a log or a pull request shows it."""

import re
from collections.abc import Sequence

__all__ = ["distinct_names", "markdown_safe", "printable", "sparkline"]

# All that can move a cursor, hide or reorder text: C0 and C1 controls (terminal escapes among them), bidirectional
# overrides and isolates, zero-width, filling and line-separating characters, variation selectors other than the one
# of emoji, tags, lone surrogates and non-characters.
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u034f\u061c\u070f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u2800\u3164\ud800-\udfff\ufdd0-\ufdef\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)


def printable(text: str, *, limit: int | None = None) -> str:
    """Text on one line with every control and invisible character shown as an escape, cut to `limit`."""
    if limit is not None and len(text) > limit:
        text = text[: max(limit - 1, 0)] + "…"

    def escape(match: re.Match[str]) -> str:
        char = match.group()
        if char in "\n\t\r":
            return " "
        code = ord(char)
        return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"

    return _UNSAFE.sub(escape, text)


def sparkline(values: Sequence[float], *, ascii_only: bool = False) -> str:
    """A series as one line of characters from lowest to highest; all alike, the middle one."""
    marks = "_.-=#" if ascii_only else "▁▂▃▄▅▆▇█"
    low, high = min(values), max(values)
    if not high > low:
        return marks[len(marks) // 2] * len(values)
    return "".join(marks[min(int((v - low) / (high - low) * len(marks)), len(marks) - 1)] for v in values)


# What would be Markdown gets a backslash, and what would be HTML becomes an entity.
_MARKUP = re.compile(r"[\\`*_\[\]|~#$]|(?P<entity>[<>&@])")
# Mentions, references to issues and commits, and links by themselves are looked for in the rendered page, where neither
# backslash nor entity is left. They need their characters side by side, so something invisible goes between.
_REFERENCE = re.compile(
    r"""[@#!&~%$](?=[\w"'])|:(?=//)|\bwww(?=\.)|\bgh-(?=\d)|\bmailto(?=:)|\bxmpp(?=:)""", re.IGNORECASE
)
_COMMIT = re.compile(r"\b[0-9a-f]{7,}\b", re.IGNORECASE)
_APART = "\u200b"


def markdown_safe(text: str, *, limit: int | None = None) -> str:
    """Printable text that stays text in Markdown: no markup, no HTML, no link, no mention of a person or an issue."""

    def escape(match: re.Match[str]) -> str:
        return f"&#{ord(match.group())};" if match["entity"] else f"\\{match.group()}"

    apart = _REFERENCE.sub(lambda m: m.group() + _APART, printable(text, limit=limit))
    apart = _COMMIT.sub(lambda m: _APART.join(re.findall(".{1,6}", m.group())), apart)
    return _MARKUP.sub(escape, apart).replace(_APART, f"&#{ord(_APART)};")


def distinct_names(names: Sequence[str], *, width: int = 24) -> tuple[str, ...]:
    """Each name in at most `width` characters where that leaves all of them distinct, by cutting out the middle.

    What all long names begin with goes first ("org/very-long-family-" says nothing where all have it); then the
    middle of a name becomes one ellipsis, with more of its end kept as long as two would read the same. A name that
    stays ambiguous is kept whole.
    """
    if all(len(name) <= width for name in names):
        return tuple(names)
    start = _common_start(names)
    bodies = ["…" + name[start:] if start else name for name in names]
    for end in range(width // 2, width):
        short = tuple(_cut(body, width, end) for body in bodies)
        if len(set(short)) == len(set(names)):
            return short
    taken = [_cut(body, width, width // 2) for body in bodies]
    return tuple(name if taken.count(s) > 1 else s for name, s in zip(names, taken, strict=True))


def _common_start(names: Sequence[str]) -> int:
    """Length of the beginning, up to a separator, that all names share."""
    if len(set(names)) < 2:
        return 0
    low, high = min(names), max(names)
    same = next((k for k, (x, y) in enumerate(zip(low, high, strict=False)) if x != y), min(len(low), len(high)))
    return max((k + 1 for k in range(same) if low[k] in "/-_.: "), default=0)


def _cut(name: str, width: int, end: int) -> str:
    if len(name) <= width:
        return name
    return name[: width - end - 1] + "…" + name[len(name) - end :]
