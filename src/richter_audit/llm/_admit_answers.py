"""The border between a model's reply and the ledger: nothing a model says may keep its neighbours from being kept."""

import dataclasses
import json
import math
from typing import Any

from richter.records import Answer

MOST_TOKENS = 2**53  # of one reply: what every reader of JSON can hold
LONGEST_WORD = 200  # of a reason for finishing


def admit(given: Answer) -> tuple[Answer, bytes]:
    """A backend's answer as any ledger can hold it, and the answer as it came where something had to be changed.

    Halves of surrogate pairs become U+FFFD. A count or a price that cannot be one (negative, not finite, absurd) is
    unknown, which is not 0; log-probabilities that are none are left out.
    """
    scored = len(given.tokens) == len(given.logprobs) and all(_is_number(p) for p in given.logprobs)
    answer = dataclasses.replace(
        given,
        text=_text(given.text),
        finish=_text(given.finish)[:LONGEST_WORD],
        error=_text(given.error),
        served=_text(given.served)[:LONGEST_WORD],
        tokens=tuple(_text(t) for t in given.tokens) if scored else (),
        logprobs=tuple(float(p) for p in given.logprobs) if scored else (),
        tokens_in=count(given.tokens_in),
        tokens_out=count(given.tokens_out),
        money_usd=amount(given.money_usd),
        latency_s=amount(given.latency_s),
    )
    if answer == given:
        return answer, b""
    raw = dataclasses.asdict(dataclasses.replace(given, alternatives=()))
    return answer, json.dumps(raw, default=ascii).encode()  # ASCII keeps every character


def _text(value: Any) -> str:
    text = value if isinstance(value, str) else ""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def count(value: Any) -> int | None:
    """A number of tokens, if it can be one."""
    return value if type(value) is int and 0 <= value < MOST_TOKENS else None


def _is_number(value: Any) -> bool:
    try:
        return type(value) in (int, float) and math.isfinite(float(value))
    except OverflowError:
        return False


def amount(value: Any) -> float | None:
    """Money or time, if it can be that."""
    return float(value) if _is_number(value) and value >= 0 else None
