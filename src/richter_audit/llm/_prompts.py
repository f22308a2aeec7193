"""From an item to the messages that a condition sends."""

import dataclasses
from collections.abc import Mapping
from typing import Any, NamedTuple

from richter.errors import InputError
from richter.records import Condition, Decoding, Item, fence
from richter_audit.llm._model import Message

__all__ = ["fence_messages", "is_shown_options", "list_of", "messages_for", "strict"]

LETTERS = "ABCDEFGHIJ"
LISTED_TOKENS = 20  # at each place of an answer that chooses among options: how sure it is, is read from them


class Asked(NamedTuple):
    """The messages of one question, and how they are decoded."""

    messages: list[Message]
    decoding: Decoding


def messages_for(item: Item, condition: Condition) -> Asked:
    """The messages and decoding of one question.

    `chat` sends the prompt (after the system prompt). `choice` lists the item's options under letters, in the order
    that the item has them; an item without options is asked as in `chat`. `raw` sends the prompt as a text to be
    continued, after the system prompt on a line of its own. `cloze` sends the system
    prompt as a first line, the item's solved sentences of the same relation (the first `shots` of them) and its stem as
    raw text, and holds the answer to the item's options by their text: small models choose far better so than between
    letters or listed options.
    """
    if condition.style == "raw":
        return Asked(
            [{"role": "text", "content": "\n".join(filter(None, (condition.system, item.prompt)))}], condition.decoding
        )
    if condition.style != "cloze":
        system = [{"role": "system", "content": condition.system}] if condition.system else []
        decoding = condition.decoding
        if decoding.logprobs and is_shown_options(item, condition):
            decoding = dataclasses.replace(decoding, top_logprobs=LISTED_TOKENS)
        return Asked([*system, {"role": "user", "content": _prompt_text(item, condition)}], decoding)
    if not (item.stem and item.options):
        raise InputError(
            f"Item {item.id!r} has no cloze stem or no options, which --style cloze needs.",
            remedy="Use --style chat, or a benchmark with `stem` and `options`.",
        )
    before = [*([condition.system] if condition.system else []), *item.shots[: condition.shots]]
    text = "\n".join([*before, item.stem])
    prior = "\n".join([*before, item.bare]) if item.bare else ""
    choices = tuple(f" {option}" for option in item.options)
    decoding = dataclasses.replace(condition.decoding, choices=choices, prior=prior)
    return Asked([{"role": "text", "content": text}], decoding)


def is_shown_options(item: Item, condition: Condition) -> bool:
    """Whether a question is sent with its options listed under letters."""
    return condition.style == "choice" and 2 <= len(item.options) <= len(LETTERS)


def _prompt_text(item: Item, condition: Condition) -> str:
    if not is_shown_options(item, condition):
        return item.prompt
    listed = "\n".join(f"{letter}. {option}" for letter, option in zip(LETTERS, item.options, strict=False))
    return f'{item.prompt}\n\n{listed}\n\nOne option is right. End your reply with a line "Answer: " and its letter.'


def strict(**properties: Any) -> dict[str, Any]:
    """The schema of a JSON object with just these properties."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def list_of(items: Any, **limits: int) -> dict[str, Any]:
    """The schema of a JSON list."""
    return {"type": "array", "items": items, **limits}


def fence_messages(task: str, data: Mapping[str, str], *, ask: str = "", reply: str = "") -> list[Message]:
    """Messages that set a task on what others wrote, which stands between boundary lines, as data."""
    boundary, body = fence(data)
    return [
        {"role": "system", "content": task},
        {"role": "user", "content": f"{ask}{boundary}\n{body}\n{boundary}{reply}"},
    ]
