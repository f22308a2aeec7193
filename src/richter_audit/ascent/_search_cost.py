"""What a search costs: calls of a paragraph, and an estimate before anything is asked."""

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from richter.errors import InputError
from richter.models import Price, price_of, read_prices, resolve
from richter.records import Condition, Paragraph, Result
from richter_audit.ascent._outcome import paragraph_items
from richter_audit.ascent._propose import random_order
from richter_audit.ascent._question_writer import CHARACTERS_A_TOKEN, GENERATION, REPHRASING
from richter_audit.ascent._settings import SearchSettings
from richter_audit.knowledge import KnowledgeBase
from richter_audit.llm import Budget, messages_for

__all__ = ["SearchEstimate", "estimate_search"]

OPTIONS = 4  # of a question
JUDGING_TOKENS = 250  # of a judge's instructions
JUDGE_REPLY_TOKENS = 38
SAMPLE = 50  # paragraphs that an estimate looks at


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SearchEstimate(Result):
    """What a search would do within its budget: paragraphs from the dearest to the cheapest case, calls and money.

    Money is at the price of the longest answers allowed, None where a price is unknown.
    """

    paragraphs: int  # of the base, that could be asked about
    paragraphs_least: int
    paragraphs_most: int
    calls_most: int
    calls_per_paragraph: tuple[int, int]
    money_usd_most: float | None

    def __str__(self) -> str:
        low, high = self.calls_per_paragraph
        money = "at a price that is not known" if self.money_usd_most is None else f"at most ${self.money_usd_most:.2f}"
        return (
            f"At most {self.calls_most:,} calls ({money}) about {self.paragraphs_least:,} to {self.paragraphs_most:,} "
            f"of {self.paragraphs:,} paragraphs, {low} to {high} calls each."
        )


def estimate_search(
    base: KnowledgeBase,
    condition: Condition,
    settings: SearchSettings,
    *,
    budget: Budget,
    testee_calls: int | None = None,
    prices: Mapping[str, Price] | None = None,
    generator: str | None = None,
    judge: str | None = None,
) -> SearchEstimate:
    """Price a search before it is made, from 50 paragraphs of the base. Asks nothing.

    `testee_calls` are the most calls of the tested model.
    """
    prices = read_prices() if prices is None else prices
    rows = np.arange(len(base)) if generator else np.flatnonzero(base.askable)
    if not len(rows):
        raise no_question_error(base)
    remote = resolve(condition.model).backend != "local"
    high = calls_per_paragraph(
        settings, condition.style, generated=generator is not None, judged=judge is not None, remote=remote
    )
    tested = settings.questions * (settings.phrasings if settings.wordings == "all" else 1)
    low = tested + (1 + settings.questions if generator else 0)
    least = most = len(rows)
    calls = most * high
    if testee_calls is not None:
        own = calls_per_paragraph(settings, condition.style, generated=False, remote=remote)  # of the tested model
        least, most = min(least, testee_calls // own), min(most, testee_calls // tested)
        calls = min(calls, testee_calls + most * (high - own))
    calls = calls if budget.calls is None else min(budget.calls, calls)
    some = base.paragraphs([int(row) for row in random_order(base.askable if not generator else rows >= 0, 0)[:SAMPLE]])
    each = _paragraph_cost(some, condition, settings, prices, generator, judge)
    money = None if each is None else each * calls / high
    if money is not None and budget.money_usd is not None:
        money = min(money, budget.money_usd)
    return SearchEstimate(
        paragraphs=len(rows),
        paragraphs_least=min(calls // high, least),
        paragraphs_most=min(calls // low, most),
        calls_most=calls,
        calls_per_paragraph=(low, high),
        money_usd_most=money,
    )


def _paragraph_cost(
    some: Sequence[Paragraph],
    condition: Condition,
    settings: SearchSettings,
    prices: Mapping[str, Price],
    generator: str | None,
    judge: str | None,
) -> float | None:
    """The most that a paragraph costs on average; None where a price is unknown."""
    price, writes, rates = (price_of(name, prices) if name else None for name in (condition.model, generator, judge))
    if price is None or (generator and writes is None) or (judge and rates is None):
        return None
    asked, worded = _prompt_tokens(some, condition, settings), settings.questions * settings.phrasings
    money = price.cost(asked, condition.decoding.max_tokens) * worded
    if rates is not None:
        reads = asked + condition.decoding.max_tokens + JUDGING_TOKENS
        money += rates.cost(reads, JUDGE_REPLY_TOKENS) * worded
    if writes is not None:
        length = int(np.mean([len(p.text) for p in some]) / CHARACTERS_A_TOKEN) + 300
        rest = calls_per_paragraph(settings, condition.style, generated=True) - 1 - worded
        money += writes.cost(length, GENERATION.max_tokens) + rest * writes.cost(length, REPHRASING.max_tokens)
    return money


def _prompt_tokens(some: Sequence[Paragraph], condition: Condition, settings: SearchSettings) -> int:
    items = [item for i, p in enumerate(some) for item in paragraph_items(i, p, settings)]
    texts = [
        messages_for(item, condition)[0][-1]["content"] for item in items if condition.style != "cloze" or item.options
    ]
    return int(np.mean([len(text) for text in texts or [p.text for p in some]]) / CHARACTERS_A_TOKEN)


def calls_per_paragraph(
    settings: SearchSettings, style: str, *, generated: bool, judged: bool = False, remote: bool = False
) -> int:
    """The most calls of a paragraph: its questions in all wordings, judging, and writing, checking, rewording them."""
    prior = style == "cloze" and settings.wordings == "wrong" and settings.phrasings > 1
    asked = settings.questions * (settings.phrasings * (1 + judged) + prior * (OPTIONS if remote else 1))
    return asked + (1 + settings.questions * (1 + (settings.phrasings > 1)) if generated else 0)


def no_question_error(base: KnowledgeBase) -> InputError:
    """Nothing in the base can be asked about."""
    return InputError(
        f"{base.folder} has no paragraph with a question to ask.",
        remedy="Write some with `richter search --only questions`, or give a generator model.",
    )
