"""What a reply says once its thoughts are gone, and whether it broke off in them."""

import re
from typing import NamedTuple

__all__ = ["ReplyText", "answer_window", "remove_thoughts"]

HEAD, TAIL = 5_000, 15_000  # characters of a long answer that patterns are fed: its beginning, and its conclusion
_NAME = r"(?:\w+:)?(?:think(?:ing)?|thoughts?|reasoning|reflection|scratchpad)"
_TAG = re.compile(rf"(?:<(/?){_NAME}>|\[(/?)THINK\]|◁(/?)think▷)", re.IGNORECASE)
_CHANNEL = re.compile(r"<\|channel\|>\s*(\w+)[^<]{0,80}<\|message\|>")
_CHANNEL_END = re.compile(r"<\|(?:end|return|start|call)\|>")


class ReplyText(NamedTuple):
    """The text of a reply without its thoughts; `unfinished` where the thoughts do not end."""

    text: str
    unfinished: bool


def remove_thoughts(text: str) -> ReplyText:
    """The reply without what stands between thinking tags, or before a closing tag that nothing opens.

    Some servers put the opening tag into the prompt, so that a reply begins inside its thoughts. Thoughts that never
    close hide the rest of the reply: an option that they name is not an answer.
    """
    if "<|channel|>" in text:
        return _read_channels(text)
    if _TAG.search(text) is None:
        return ReplyText(text, False)
    outside: list[str] = []
    start = depth = 0
    for tag in _TAG.finditer(text):
        if any(tag.groups()):  # a closing tag
            if depth == 0:
                outside.clear()
            depth = max(0, depth - 1)
        else:
            if depth == 0:
                outside.append(text[start : tag.start()])
            depth += 1
        start = tag.end()
    if depth == 0:
        outside.append(text[start:])
    return ReplyText("".join(outside).strip(), depth > 0)


def _read_channels(text: str) -> ReplyText:
    """The last final channel of a reply in the Harmony format."""
    finals = [match for match in _CHANNEL.finditer(text) if match[1] == "final"]
    if not finals:
        return ReplyText("", True)
    return ReplyText(_CHANNEL_END.split(text[finals[-1].end() :], maxsplit=1)[0].strip(), False)


def answer_window(text: str) -> str:
    """The text, or of a long one its beginning and its end: a pattern must not be fed a novel."""
    return text if len(text) <= HEAD + TAIL else f"{text[:HEAD]}\n{text[-TAIL:]}"
