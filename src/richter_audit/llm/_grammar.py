"""Grammars in llama.cpp's notation (GBNF)."""

from collections.abc import Sequence

_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def choices_grammar(choices: Sequence[str]) -> str:
    """A grammar that admits exactly these texts."""
    return "root ::= " + " | ".join(_quote(text) for text in choices)


def tokens_grammar(pieces: Sequence[tuple[int, bytes]]) -> str:
    """A grammar that admits one text in these tokens only, each with its id and bytes.

    A character that is spread over several tokens is admitted as a character, since llama.cpp cannot hold a grammar to
    a part of one.
    """
    parts, held = [], b""
    for number, piece in pieces:
        held += piece
        try:
            text = held.decode()
        except UnicodeDecodeError:
            continue
        parts.append(f"<[{number}]>" if held == piece else _quote(text))
        held = b""
    return "root ::= " + " ".join(parts)


def _quote(text: str) -> str:
    return '"' + "".join(_ESCAPES.get(char, char) for char in text) + '"'
