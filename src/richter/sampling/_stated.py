"""Confidence that a model states of its own answer, and the confidence its token probabilities imply."""

import math
import re
from collections.abc import Sequence

__all__ = ["CONFIDENCE_REQUEST", "split_confidence", "token_probability"]

# Asked for after the question; the paper elicits "Confidence: X%" the same way.
CONFIDENCE_REQUEST = (
    "Answer in a few words. Then, on a new line, state how likely your answer is to be right, as `Confidence: X%`."
)

_STATED = re.compile(
    r"[\s*_`(\[-]*\bconfidence(?:\s+level|\s+score)?\b\s*(?:\W{0,4}|is|of)\s*"
    r"(?P<value>\d{1,3}(?:\.\d+)?|\.\d+)\s*(?P<unit>%|percent|/\s*100|/\s*10\b|out of 100|out of 10\b)?[\s*_`)\].]*",
    re.IGNORECASE,
)


def _last_statement(text: str) -> re.Match[str] | None:
    found = list(_STATED.finditer(text))
    return found[-1] if found else None


def split_confidence(text: str) -> tuple[str, float | None]:
    """The answer without its confidence line, and the stated confidence in [0, 1] (None where there is none).

    Read as stated: "80%", "80 percent", "80/100", "8/10", "8 out of 10"; a bare number is a probability up to 1 and a
    percentage above. The last statement counts. A value out of range (120%) is no statement.
    """
    match = _last_statement(text)
    if match is None:
        return text.strip(), None
    value = float(match["value"])
    unit = (match["unit"] or "").lower().replace(" ", "")
    if unit in ("/10", "outof10"):
        value /= 10
    elif unit or value > 1:
        value /= 100
    rest = (text[: match.start()] + "\n" + text[match.end() :]).strip()
    return rest, value if 0 <= value <= 1 else None


def token_probability(text: str, tokens: Sequence[str], logprobs: Sequence[float]) -> float | None:
    """The geometric mean of the answer's token probabilities, exp(mean log p); None without log-probabilities.

    Tokens of the confidence line are left out. Length-normalised, since the product itself punishes long answers; it
    is a confidence in the wording, not in the meaning, and so a lower one than the model's agreement with itself.
    """
    if not logprobs or len(tokens) != len(logprobs):
        return None
    match = _last_statement(text)
    end = match.start() if match else len(text)
    kept, at = [], 0
    for token, value in zip(tokens, logprobs, strict=True):
        if at < max(end, 1):
            kept.append(value)
        at += len(token)
    return math.exp(sum(kept) / len(kept))
