"""Text of others as page and app show it: what cannot be seen becomes escapes, what is long is cut."""

from richter.records import printable


def visible(text: str) -> str:
    """Text whose control, invisible and reordering characters show as escapes; line ends and tabs stay."""
    if text.isascii() and text.isprintable():
        return text
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "\n".join("\t".join(printable(part) for part in line.split("\t")) for line in lines)


def shorten(text: str, limit: int) -> str:
    """The visible beginning of a text, which ends in an ellipsis where it was longer."""
    return visible(text if len(text) <= limit else text[: limit - 1] + "…")
