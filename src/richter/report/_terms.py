"""Terms that the glossary explains, and names of conditions, marked in a text."""

import re
from collections.abc import Sequence

from markupsafe import Markup, escape

from richter.records import Verdict
from richter.words import GLOSSARY

_MARKED = (
    "calibration error",
    "catastrophic",
    "severe errors",
    "cloze",
    "debiased",
    "ECE",
    "G1",
    "G2",
    "G3",
    "G4",
    "G5",
    "P1",
    "P2",
    "m_min",
    "Sem-ECE",
    "xi",
)
LEVEL_TERMS = ("CI", "Holm")  # marked in the one sentence that says what intervals mean
POPOVERS = (*_MARKED, *LEVEL_TERMS, "condition", "exploratory", "interval", *Verdict)
SHORT_NAME = 24  # letters of a name that is not broken over two lines


def with_terms(text: str, words: Sequence[str] = _MARKED) -> Markup:
    """The text with a button on the first use of each of the words that the glossary explains."""
    seen: set[str] = set()
    term = re.compile(rf"\b({'|'.join(map(re.escape, sorted(words, key=len, reverse=True)))})\b")

    def button(match: re.Match[str]) -> str:
        word = match[1]
        if word in seen or word not in GLOSSARY:
            return word
        seen.add(word)
        return f'<button type="button" class="word" popovertarget="term-{word.replace(" ", "-")}">{word}</button>'

    return Markup(term.sub(button, str(escape(text))))  # noqa: S704 (escaped before)


def with_names(text: str, names: Sequence[str]) -> Markup:
    """The text with the names of conditions marked, so that they are told from words."""
    known = sorted({str(escape(n)) for n in names if len(n) > 1}, key=len, reverse=True)
    if not known:
        return escape(text)
    pattern = re.compile(rf"(?<![\w&;])({'|'.join(map(re.escape, known))})(?![\w])")

    def mark(match: re.Match[str]) -> str:
        return f'<b class="name{" short" if len(match[1]) <= SHORT_NAME else ""}">{match[1]}</b>'

    return Markup(pattern.sub(mark, str(escape(text))))  # noqa: S704 (escaped before)
