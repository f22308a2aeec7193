"""The steps of an Inspect sample: its messages, with the tokens and seconds that its events state."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from richter.trajectories._steps import Step, arguments_text, limit_steps

__all__ = ["steps_of_messages"]

Text = Callable[[object], str]


def steps_of_messages(
    messages: Sequence[Any], *, text: Text, tokens: Mapping[str, int], seconds: Mapping[str, float]
) -> tuple[Step, ...]:
    """The steps of a run: what the agent wrote and every call with its result, in order.

    `text` flattens a content; `tokens` and `seconds` are by the id of a message or of a tool call. The task itself,
    the first message of a user, is no step.
    """
    return limit_steps(_steps([m for m in messages if isinstance(m, Mapping)], text, tokens, seconds))


def _steps(
    messages: Sequence[Mapping[str, Any]], text: Text, tokens: Mapping[str, int], seconds: Mapping[str, float]
) -> Iterator[Step]:
    results = {str(m.get("tool_call_id")): m for m in messages if m.get("role") == "tool"}
    task = next((m for m in messages if m.get("role") == "user"), None)
    for message in messages:
        if message.get("role") == "assistant":
            yield from _turn(message, results, text, tokens, seconds)
        elif message.get("role") == "user" and message is not task:
            yield Step(role="user", result=text(message.get("content")))


def _turn(
    message: Mapping[str, Any],
    results: Mapping[str, Mapping[str, Any]],
    text: Text,
    tokens: Mapping[str, int],
    seconds: Mapping[str, float],
) -> Iterator[Step]:
    """What the agent wrote in one message, where it wrote something, and the calls in it."""
    calls = [c for c in message.get("tool_calls") or () if isinstance(c, Mapping)]
    written, key = text(message.get("content")), str(message.get("id"))
    if written or not calls:
        yield Step(role="assistant", result=written, tokens=tokens.get(key), seconds=seconds.get(key))
    for call in calls:
        yield _call(call, results.get(str(call.get("id")), {}), text, seconds)


def _call(call: Mapping[str, Any], result: Mapping[str, Any], text: Text, seconds: Mapping[str, float]) -> Step:
    """A tool call with its result; a call that could not be parsed, or was never answered, has an error."""
    fault = result.get("error")
    message = fault.get("message") if isinstance(fault, Mapping) else fault
    return Step(
        role="tool",
        tool=text(call.get("function")),
        arguments=arguments_text(call.get("arguments")),
        result=text(result.get("content")),
        seconds=seconds.get(str(call.get("id"))),
        error=text(message) or (text(fault.get("type")) if isinstance(fault, Mapping) else "")
        or text(call.get("parse_error")),
    )  # fmt: skip
