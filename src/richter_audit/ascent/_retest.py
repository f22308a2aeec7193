"""Ask again what was answered wrongly: openly instead of by options, or with the paragraph in view."""

import dataclasses
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from richter.errors import TooFewErrors
from richter.records import Condition, Interval, Item, Result
from richter.stats import wilson
from richter.store import RunLike, open_ledger
from richter_audit.ascent._judge_answers import read_judged
from richter_audit.ascent._outcome import grade, is_prior, last_answers, question_of, row_of
from richter_audit.ascent._summary import read_search_records
from richter_audit.knowledge import KnowledgeBase

__all__ = ["Retest", "prepare_retest", "score_retest"]

Kind = Literal["open", "context"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Retest(Result):
    """How many of the questions that were answered wrongly are answered rightly when asked another way.

    The interval takes questions as independent; `n` are one wording each of different paragraphs, so they are not
    rephrasings of one another.
    """

    derived: ClassVar = ("share",)

    kind: Kind
    n: int
    right: int
    interval: Interval

    @property
    def share(self) -> float:
        """The share that is now right."""
        return self.right / self.n


class Prepared(NamedTuple):
    """The items to ask again, and how."""

    items: list[Item]
    condition: Condition


def prepare_retest(run: RunLike, base: KnowledgeBase, *, kind: Kind, limit: int, rng: np.random.Generator) -> Prepared:
    """Up to `limit` wrongly answered items, one of each paragraph drawn at random, as they are to be asked now.

    `open` asks the same words without options and grades the text (does the model state something false when left to
    itself?). `context` puts the paragraph before the question (does it use what it is told, or stay with what it
    believes?), in the way that the search asked.
    """
    search = read_search_records(run, base)
    condition = search.condition
    by_row: dict[int, list[Item]] = {}
    right = {question for o in search.outcomes.values() for question in o.preferred}  # corrected for the options' prior
    for answer in search.given.values():
        if answer.error or is_prior(answer.item) or question_of(answer.item) in right:
            continue
        if grade(search.items[answer.item], answer, condition.style, search.judged) == "wrong":
            by_row.setdefault(row_of(answer.item), []).append(search.items[answer.item])
    if not by_row:
        raise TooFewErrors(f"{run} has no wrong answer to ask again.", n=0, needed=1)
    rows = rng.permutation(sorted(by_row))[:limit]
    chosen = [by_row[int(row)][int(rng.integers(len(by_row[int(row)])))] for row in rows]
    texts = [paragraph.text for paragraph in base.paragraphs([int(row) for row in rows])]
    again = dataclasses.replace(condition, name=f"{condition.name} ({kind})")
    if kind == "open":
        return Prepared(chosen, dataclasses.replace(again, style="chat"))
    items = [
        dataclasses.replace(item, prompt=f"{text}\n\n{item.prompt}", shots=(*item.shots, text) if item.shots else ())
        for item, text in zip(chosen, texts, strict=True)
    ]
    return Prepared(items, again)


def score_retest(run: RunLike, items: list[Item], condition: Condition, *, kind: Kind, level: float = 0.95) -> Retest:
    """Grade the answers that a run folder holds to the items of `prepare_retest`, by their options as shown there."""
    wanted = {item.id for item in items}
    with open_ledger(run) as ledger:
        shown = {item.id: item for item in ledger.items()}
        answers = last_answers(ledger.answers(condition.name)).values()
        given = [a for a in answers if not a.error and a.item in wanted and a.item in shown]
        judged = read_judged(ledger, condition.name)
    if not given:
        raise TooFewErrors(f"{run} has no answer to these questions.", n=0, needed=1)
    right = sum(grade(shown[a.item], a, condition.style, judged) == "right" for a in given)
    return Retest(kind=kind, n=len(given), right=right, interval=wilson(right, len(given), level=level))
