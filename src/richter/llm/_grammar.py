"""Grammars in llama.cpp's notation (GBNF)."""

from collections.abc import Sequence

__all__ = ["choices_grammar"]

_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def choices_grammar(choices: Sequence[str]) -> str:
    """A grammar that admits exactly these texts."""
    quoted = ('"' + "".join(_ESCAPES.get(char, char) for char in text) + '"' for text in choices)
    return "root ::= " + " | ".join(quoted)
