"""How sure a model was of the option it chose: the options' share of the probability where the choice is made."""

import math
import re
import string
from collections.abc import Sequence
from typing import NamedTuple

from richter.texts._choices import LETTERS

__all__ = ["OptionMass", "option_mass"]

Alternatives = Sequence[tuple[str, float]]  # tokens that a model may have written at one place, with log-probabilities
_DECLARES = re.compile(r"(?i)(^|answer\W*(?:is)?\W*)$")
_AROUND = string.whitespace + string.punctuation


class OptionMass(NamedTuple):
    """The chosen option's probability among the options, and the probability that all options have together."""

    confidence: float
    share: float


def option_mass(
    options: Sequence[str], chosen: int, tokens: Sequence[str], alternatives: Sequence[Alternatives]
) -> OptionMass | None:
    """The normalised mass of the chosen option: p(chosen) / sum of p(option), at the token that makes the choice.

    p(option) is the sum of the probabilities of all alternatives that name it: its letter, however spaced or marked, or
    a beginning of its text that no other option has. What a server does not list has no mass. The choice is made at the
    first token that names the option at the start of the reply or after "Answer:", else at the last that names it.
    None where no token names it, or the server lists no alternatives there.
    """
    place = _place_of_choice(options, chosen, tokens)
    if place is None or place >= len(alternatives):
        return None
    mass = [0.0] * len(options)
    for token, value in dict(alternatives[place]).items():
        if (named := _named_option(options, token)) is not None:
            mass[named] += math.exp(value)
    total = math.fsum(mass)
    return OptionMass(mass[chosen] / total, min(total, 1.0)) if mass[chosen] > 0 else None


def _place_of_choice(options: Sequence[str], chosen: int, tokens: Sequence[str]) -> int | None:
    """The token by which a reply chooses an option."""
    text, last = "".join(tokens), None
    written = 0
    for place, token in enumerate(tokens):
        rest = text[written:].lstrip(_AROUND)
        if _named_option(options, token) == chosen and _goes_on_with(options[chosen], LETTERS[chosen], rest):
            if _DECLARES.search(text[:written].rstrip(_AROUND.replace(":", ""))):
                return place
            last = place
        written += len(token)
    return last


def _goes_on_with(option: str, letter: str, rest: str) -> bool:
    """Whether a text begins with an option's letter, as a word, or with its text."""
    is_letter = rest[:1].upper() == letter and not rest[1:2].isalnum()
    return is_letter or rest.casefold().startswith(option.casefold().lstrip(_AROUND))


def _named_option(options: Sequence[str], token: str) -> int | None:
    """The option that a token names: by its letter, or by a beginning that only its text has."""
    bare = token.strip(_AROUND)
    if len(bare) == 1 and bare.upper() in LETTERS[: len(options)]:
        return LETTERS.index(bare.upper())
    start = bare.casefold()
    begun = [k for k, option in enumerate(options) if start and option.casefold().lstrip(_AROUND).startswith(start)]
    return begun[0] if len(begun) == 1 else None
