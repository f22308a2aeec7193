"""Model output is untrusted: make it harmless before a person's terminal, a log or a pull request shows it."""

import re

__all__ = ["markdown_safe", "printable"]

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


# What would be Markdown gets a backslash; what would be HTML, a link by itself or a mention becomes an entity.
_MARKUP = re.compile(r"[\\`*_\[\]|~#$]|(?P<entity>[<>&@]|:(?=//)|(?<=www)\.)", re.IGNORECASE)


def markdown_safe(text: str, *, limit: int | None = None) -> str:
    """Printable text that stays text in Markdown: no markup, no HTML, no link, no mention of a person or an issue."""

    def escape(match: re.Match[str]) -> str:
        return f"&#{ord(match.group())};" if match["entity"] else f"\\{match.group()}"

    return _MARKUP.sub(escape, printable(text, limit=limit))
