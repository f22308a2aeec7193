"""Model output is untrusted: make it harmless before a person's terminal or a log shows it."""

import re

__all__ = ["printable"]

# C0 and C1 controls (terminal escapes among them), bidirectional overrides and isolates, zero-width and
# line-separator characters, and lone surrogates: all that can move a cursor, hide or reorder text.
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff\ufff9-\ufffb]"
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
        return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"

    return _UNSAFE.sub(escape, text)
