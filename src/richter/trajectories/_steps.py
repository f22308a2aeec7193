"""A step of an agent, the run of a task that it belongs to, and limits on what is kept of both."""

import dataclasses
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from zlib import crc32

import msgspec

__all__ = [
    "MAX_STEPS",
    "MAX_TEXT",
    "Step",
    "Trajectory",
    "arguments_text",
    "is_cut",
    "limit_steps",
    "read_steps",
    "step_of_record",
    "write_steps",
]

MAX_STEPS = 1_000  # of a run that are kept
MAX_TEXT = 2_000  # characters of one argument list, result or error that are kept
CUT = " … cut from "  # stands in a text that was longer; what follows tells two cut texts apart
ROLES = {"ai": "assistant", "model": "assistant", "agent": "assistant", "human": "user", "function": "tool"}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One thing that happened in a run: a message, or a tool call with what came of it.

    `result` is a message's text or a tool's result. None and empty mean that the log does not say.
    """

    role: str
    tool: str = ""
    arguments: str = ""
    result: str = ""
    tokens: int | None = None
    seconds: float | None = None
    error: str = ""

    @property
    def is_act(self) -> bool:
        """Whether the agent did it: what a user or a system prompt says is no step of the agent's."""
        return self.role in ("assistant", "tool")


_ENCODER, _DECODER = msgspec.json.Encoder(), msgspec.json.Decoder(tuple[Step, ...])


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Trajectory:
    """The steps of one run of a task, with its answer, how it ended, and what is known of its answer.

    `declines`: the answer gives nothing but disclaimers. `crashed`: the run ended in an error of the harness.
    `is_right`: it is graded right.
    """

    steps: tuple[Step, ...]
    prompt: str = ""
    answer: str = ""
    finish: str = ""
    declines: bool = False
    crashed: bool = False
    is_right: bool = False


def write_steps(steps: Iterable[Step]) -> str:
    """Steps as the JSON that a run keeps."""
    return _ENCODER.encode(list(steps)).decode()


def read_steps(text: str) -> tuple[Step, ...]:
    """The steps of a JSON list that `write_steps` made; ValueError for anything else."""
    return _DECODER.decode(text)


def limit_steps(steps: Iterable[Step]) -> tuple[Step, ...]:
    """The first steps of a run up to the limit, their texts cut to theirs."""
    return tuple(_limited(step) for step, _ in zip(steps, range(MAX_STEPS), strict=False))


def is_cut(text: str) -> bool:
    """Whether a text was longer than what is kept of it."""
    return CUT in text


def _limited(step: Step) -> Step:
    if max(len(step.arguments), len(step.result), len(step.error)) <= MAX_TEXT:
        return step
    return dataclasses.replace(
        step, arguments=_limit_text(step.arguments), result=_limit_text(step.result), error=_limit_text(step.error)
    )


def _limit_text(text: str) -> str:
    """The beginning of a long text, with its length and its checksum: two that differ later stay different."""
    if len(text) <= MAX_TEXT:
        return text
    return f"{text[:MAX_TEXT]}{CUT}{len(text):,} characters, {crc32(text.encode('utf-8', 'replace')):08x}"


def step_of_record(record: Mapping[str, Any]) -> Iterator[Step]:
    """The step that a JSON object describes; none where it is empty.

    `role` may be missing: an object with `tool` is a tool call, any other the agent's message. A message's text may
    also be called `content` or `text`.
    """
    tool = _text(record.get("tool") or record.get("function"))
    role = str(record.get("role") or ("tool" if tool else "assistant")).lower()
    step = Step(
        role="tool" if tool else ROLES.get(role, role),
        tool=tool,
        arguments=arguments_text(record.get("arguments")),
        result=_text(next((record[k] for k in ("result", "content", "text") if record.get(k) is not None), "")),
        tokens=_whole(record.get("tokens")),
        seconds=_amount(record.get("seconds")),
        error=_text(record.get("error")),
    )
    if step.tool or step.result or step.error:
        yield step


def arguments_text(arguments: object) -> str:
    """Arguments as one text that is the same for the same arguments in any order."""
    if isinstance(arguments, Mapping | list):
        return json.dumps(arguments, ensure_ascii=False, sort_keys=True, default=str) if arguments else ""
    return _text(arguments)


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    if value is None or value is False:
        return ""
    if isinstance(value, Mapping) and isinstance(value.get("message"), str):
        return str(value["message"])
    return json.dumps(value, ensure_ascii=False, default=str)


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 40 else None


def _amount(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e9:
        return None
    return float(value)
