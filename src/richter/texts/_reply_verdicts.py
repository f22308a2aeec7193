"""The one way from a testee's answer to its verdict: right, wrong, or neither, and why."""

import dataclasses
import re
from collections.abc import Sequence
from typing import Literal

from richter.records import Answer, Item
from richter.texts._choices import breaks_off_in_json, named_letters, right_letters, unwrap_answer
from richter.texts._graders import grade_answer
from richter.texts._hedges import is_hedged
from richter.texts._normalise import is_refusal
from richter.texts._reply_text import remove_thoughts

__all__ = ["Verdict", "grade_reply"]

Verdict = Literal["right", "wrong", "refused", "unreadable", "truncated", "empty"]
VERDICTS_APART: Sequence[Verdict] = ("refused", "unreadable", "truncated", "empty")  # neither right nor wrong
_WORD = re.compile(r"\w|[^\w\s.,;:!?…]")


def grade_reply(item: Item, answer: Answer, style: str) -> Verdict:
    """What an answer is, by the item as it was asked: its options in the order that the model was shown.

    Thoughts are no answer. A reply that was cut off, or whose thoughts never end, counts as truncated unless it is
    right or has chosen; one without a word is empty; one that declines is refused; one that names several options, or
    offers the reference beside something else, is unreadable.
    """
    if style == "cloze":
        return "right" if answer.text.strip() == item.reference else "wrong"
    reply = remove_thoughts(answer.text)
    cut = answer.truncated or reply.unfinished
    if not _WORD.search(reply.text):
        return "truncated" if cut else "empty"
    verdict = (
        _grade_choice(item, reply.text, cut) if style == "choice" and item.options else _grade_text(item, reply.text)
    )
    if cut and verdict != "right" and not (verdict == "wrong" and style == "choice" and item.options):
        return "truncated"
    return verdict


def _grade_choice(item: Item, text: str, cut: bool) -> Verdict:
    letters, right = named_letters(item, text, cut=cut), right_letters(item)
    if letters and letters == right:
        return "right"
    if len(letters) == 1:
        return "wrong"
    if letters and len(right) > 1:  # several are asked for
        return "wrong"
    return "refused" if not letters and is_refusal(unwrap_answer(text)) else "unreadable"


def _grade_text(item: Item, text: str) -> Verdict:
    openly = dataclasses.replace(item, options=())
    if grade_answer(openly, text):
        return "right"
    if is_hedged(openly, text):
        return "unreadable"
    if breaks_off_in_json(text):
        return "unreadable"
    return "refused" if is_refusal(unwrap_answer(text)) else "wrong"
