"""Confidence that a model states of its own answer, and the confidence its token probabilities imply."""

import collections
import math
import re
from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["CONFIDENCE_REQUEST", "split_confidence", "token_probability"]

# Asked for after the question; the paper elicits "Confidence: X%" the same way.
CONFIDENCE_REQUEST = (
    "Answer in a few words. Then, on a new line, state how likely your answer is to be right, as `Confidence: X%`."
)

_STATED = re.compile(
    r"\bconfidence(?:\s++(?:level|score))?\b\s*+(?:\W{0,4}|is|of)\s*+"
    r"(?P<value>\d{1,3}(?:\.\d+)?|\.\d+)(?:\s*+(?P<unit>%|percent|/\s*+100|/\s*+10\b|out of 100|out of 10\b))?+"
    r"[\s*_`)\].]*",
    re.IGNORECASE,
)


def _last_statement(text: str) -> tuple[re.Match[str], int] | None:
    """The last statement, and where the marks and the space before it begin; in linear time."""
    last = collections.deque(_STATED.finditer(text), maxlen=1)
    if not last:
        return None
    start = last[0].start()
    while start and (text[start - 1].isspace() or text[start - 1] in "*_`([-"):
        start -= 1
    return last[0], start


class Stated(NamedTuple):
    """An answer without its confidence, and the confidence; None where none was stated."""

    answer: str
    confidence: float | None


def split_confidence(text: str) -> Stated:
    """The answer without its confidence line, and the stated confidence in [0, 1] (None where there is none).

    Read as stated: "80%", "80 percent", "80/100", "8/10", "8 out of 10"; a bare number is a probability up to 1 and a
    percentage above. The last statement counts. A value out of range (120%) is no statement.
    """
    stated = _last_statement(text)
    if stated is None:
        return Stated(text.strip(), None)
    match, start = stated
    value = float(match["value"])
    unit = (match["unit"] or "").lower().replace(" ", "")
    if unit in ("/10", "outof10"):
        value /= 10
    elif unit or value > 1:
        value /= 100
    rest = (text[:start] + "\n" + text[match.end() :]).strip()
    return Stated(rest, value if 0 <= value <= 1 else None)


def token_probability(text: str, tokens: Sequence[str], logprobs: Sequence[float]) -> float | None:
    """The geometric mean of the answer's token probabilities, exp(mean log p); None without log-probabilities.

    Tokens of the confidence line are left out. Length-normalised, since the product itself punishes long answers; it
    is a confidence in the wording, not in the meaning, and so a lower one than the model's agreement with itself.
    """
    if not logprobs or len(tokens) != len(logprobs):
        return None
    stated = _last_statement(text)
    end = stated[1] if stated else len(text)
    scores, at = [], 0
    for token, value in zip(tokens, logprobs, strict=True):
        if at < max(end, 1):
            scores.append(value)
        at += len(token)
    return math.exp(sum(scores) / len(scores))
