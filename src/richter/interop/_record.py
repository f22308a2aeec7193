"""What every foreign log is read into: one plain record per answer, whatever wrote it."""

import dataclasses
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from richter.interop._safe import Unreadable
from richter.records import Result

DOMAIN_KEYS = ("domain", "subject", "category", "topic", "subtask")
_WORDS = {
    **dict.fromkeys(("c", "correct", "yes", "true", "pass", "passed", "right"), 1.0),
    **dict.fromkeys(("i", "incorrect", "no", "false", "fail", "failed", "wrong", "n"), 0.0),
    "p": 0.5,
    "partial": 0.5,
}
_MISSING = ("", "nan", "null", "none", "na", "n/a")

__all__ = ["LogOptions"]


@dataclasses.dataclass(frozen=True, slots=True)
class Setup:
    """What was audited as far as a log says: a model and the settings (name, value) it was asked with."""

    model: str
    settings: tuple[tuple[str, str], ...] = ()


@dataclasses.dataclass(slots=True, kw_only=True)
class Sample:
    """One answer of a log, with all that came with it. None and empty mean that the log does not say.

    `scores` are each scorer's numbers and `votes` single judges' within a scorer (named `scorer/judge`), both as the
    log has them and None where the answer was not scored. `confidences` are in [0, 1], by what they were read from.
    `steps` counts the messages and calls of an agent's run, `failed_calls` those calls that failed.
    """

    item: str
    setup: Setup
    task: str = ""
    draw: int | None = None
    prompt: str = ""
    references: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    domain: str = ""
    answer: str = ""
    scores: Mapping[str, float | None] = dataclasses.field(default_factory=dict)
    votes: Mapping[str, float | None] = dataclasses.field(default_factory=dict)
    confidences: Mapping[str, float] = dataclasses.field(default_factory=dict)
    tokens: tuple[str, ...] = ()
    logprobs: tuple[float, ...] = ()
    tokens_in: int | None = None
    tokens_out: int | None = None
    money_usd: float | None = None
    latency_s: float | None = None
    finish: str = ""
    error: str = ""
    steps: int | None = None
    failed_calls: int | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class LogOptions:
    """What a user may settle where a log leaves it open."""

    scorer: str | None = None
    filter: str | None = None
    columns: Mapping[str, str] = dataclasses.field(default_factory=dict)
    scale: tuple[float, float] | None = None
    pass_at: float = 1.0


@dataclasses.dataclass(slots=True, kw_only=True)
class Reading(Result):
    """A file while it is read: what it is, and what in it was not read, by reason.

    `scorer` is the one that the log itself puts first, `totals` what the tool itself counted as the mean of a scorer,
    `expected` the answers it should hold, `interrupted` why it holds fewer.
    """

    unwritten: ClassVar = ("options", "scorer", "expected")

    path: Path
    format: str
    options: LogOptions = dataclasses.field(default_factory=LogOptions)
    scorer: str = ""
    totals: dict[str, float] = dataclasses.field(default_factory=dict)
    expected: int | None = None
    interrupted: str = ""
    unread: Counter[str] = dataclasses.field(default_factory=Counter)
    notes: list[str] = dataclasses.field(default_factory=list)

    def counted(self, scorer: object, total: float | None) -> None:
        """Keep what the tool itself says is the mean of a scorer, if it does."""
        if total is not None:
            self.totals[flat_text(scorer)] = total


def number(value: object) -> float | None:
    """A score as a number: words such as C and I, yes and no, true and false count 1 and 0, P a half; None if missing.

    Anything else has no order and is `Unreadable`.
    """
    if value is None:
        return None
    if isinstance(value, bool | int | float):
        try:
            result = float(value)
        except OverflowError as error:
            raise Unreadable("a number too large to be a score") from error
        return None if math.isnan(result) else result
    if isinstance(value, str):
        text = value.strip().lower()
        if text in _MISSING:
            return None
        if text in _WORDS:
            return _WORDS[text]
        try:
            return number(float(text))
        except ValueError:
            pass
    raise Unreadable("a score that is neither a number nor right or wrong")


def count_number(value: object, reading: Reading) -> float | None:
    """The same, with what has no order counted as unread and missing."""
    try:
        return number(value)
    except Unreadable as error:
        reading.unread[f"score: {error}"] += 1
        return None


def real(value: object) -> float | None:
    """A finite number as it stands; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) < 1e300 else None


def whole(value: object) -> int | None:
    """A whole number that a database can hold; None for anything else."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 62 else None


def flat_text(value: object) -> str:
    """A value as one text: a string as it is, a number as written, content parts and lists joined."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, bool | int | float):
        return str(value)
    if isinstance(value, Mapping):
        for key in ("text", "content", "reasoning", "value"):
            if key in value:
                return flat_text(value[key])
        return ""
    if isinstance(value, Sequence):
        return "\n".join(part for part in map(flat_text, value) if part)
    return ""


def messages_text(messages: object) -> tuple[str, str]:
    """(system prompt, the rest) of a list of chat messages; a lone message without its role."""
    if not isinstance(messages, list):
        return "", flat_text(messages)
    system: list[str] = []
    rest: list[tuple[str, str]] = []
    for message in messages:
        role = str(message.get("role", "")) if isinstance(message, Mapping) else ""
        content = flat_text(message.get("content")) if isinstance(message, Mapping) else flat_text(message)
        if role == "system":
            system.append(content)
        else:
            rest.append((role, content))
    lines = [content if len(rest) == 1 or not role else f"{role}: {content}" for role, content in rest]
    return "\n".join(system), "\n".join(lines)


def share(right: object, wrong: object) -> float | None:
    """right / (right + wrong) of two counts; None where there are none."""
    n = (whole(right) or 0) + (whole(wrong) or 0)
    return (whole(right) or 0) / n if n else None


def mapping(value: object) -> Mapping[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def pick(row: Mapping[str, Any], *names: str) -> Any:
    """The first of these fields that holds something."""
    for name in names:
        value = row.get(name)
        if value is not None and value != "":
            return value
    return None


def softmax_choice(loglikelihoods: Sequence[float]) -> tuple[int, float]:
    """The likeliest option and its probability among the options: exp(l_k) / sum_j exp(l_j)."""
    top = max(range(len(loglikelihoods)), key=loglikelihoods.__getitem__)
    total = sum(math.exp(value - loglikelihoods[top]) for value in loglikelihoods)
    return top, 1.0 / total
