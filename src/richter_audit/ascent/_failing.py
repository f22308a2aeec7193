"""The questions that a search found answered wrongly, each once, with the evidence: what comes out of a search."""

import asyncio
import dataclasses
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from richter.errors import TooFewErrors
from richter.models import resolve
from richter.records import Answer, Condition, Decoding, Item, Paragraph, Result
from richter.store import RunLike, open_ledger
from richter.texts import Verdict, normalise, read_choice, remove_thoughts
from richter_audit.ascent._judge_answers import read_judged
from richter_audit.ascent._outcome import grade, row_of
from richter_audit.ascent._summary import check_base, read_search_ledger
from richter_audit.knowledge import KnowledgeBase
from richter_audit.llm import TOKENS_NOTE, Direct, Job, messages_for, open_model

__all__ = ["FailingQuestion", "FailingSet", "ask_item", "failing_items", "failing_questions", "keep_stable"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class FailingQuestion(Result):
    """A question answered wrongly: as asked, what was answered, and what speaks for it.

    `mode` is the category it stands in; `reworded` the share of its other wordings answered wrongly (None: none was
    asked), `again` of the times that it was asked again, `asked_again`, in the same words (None: not asked); `text`
    and `place` are the paragraph behind it and where that stands.
    """

    item: Item
    answer: str
    mode: str
    reworded: float | None
    again: float | None = None
    asked_again: int = 0
    text: str = ""
    place: str = ""

    @property
    def said(self) -> str:
        """The option that was chosen, else what was answered."""
        return read_choice(self.item, self.answer) or remove_thoughts(self.answer).text


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class FailingSet(Result):
    """Failing questions, the modes with the most first, and how many were left out, by reason.

    `wrong_share` is the share of questions answered wrongly as first worded, `reworded_share` that of the other
    wordings of those (None: none was asked), `other_wordings` how many of each were.
    """

    condition: Condition
    questions: tuple[FailingQuestion, ...]
    left_out: Mapping[str, int]
    wrong_share: float = 1.0
    reworded_share: float | None = None
    other_wordings: int = 1
    judge: str | None = None  # who was asked about free-form answers

    @property
    def expected_again(self) -> float | None:
        """The share of the questions that one more asking, in words of its own, is expected to find wrong.

        A model either knows a question or does not, and answers the other way with a chance e: its chance t of a wrong
        answer is e or 1 - e. Then t^2 = t - e (1 - e), so that e (1 - e) = a (1 - c), where a is the share wrong as
        first worded and c that of the other wordings of those; each question's t follows from its answers by Bayes'
        rule. None where nothing was asked twice.
        """
        if self.reworded_share is None or not self.questions:
            return None
        a = self.wrong_share
        e = (1 - max(0.0, 1 - 4 * a * (1 - self.reworded_share)) ** 0.5) / 2
        weak = min(1.0, max(0.0, (a - e) / (1 - 2 * e))) if e < 0.5 else 0.5
        shares = []
        for q in self.questions:
            others = self.other_wordings if q.reworded is not None else 0
            wrong = 1 + others * (q.reworded or 0) + q.asked_again
            right = others * (1 - (q.reworded or 0))
            unknown, known = weak * (1 - e) ** wrong * e**right, (1 - weak) * e**wrong * (1 - e) ** right
            total = unknown + known
            shares.append((unknown * (1 - e) + known * e) / total if total else 1.0)
        return sum(shares) / len(shares)

    def items(self) -> list[Item]:
        """As items of a set of their own, to be asked as they failed: the paragraph and the wrong answer go along."""
        return [
            dataclasses.replace(
                _item_as_asked(q.item, self.condition.style),
                id=f"q{q.item.id}",
                source=q.place or q.item.source,
                truth={"answered": q.answer[:500], "source_text": q.text},
            )
            for q in self.questions
        ]


def _item_as_asked(item: Item, style: str) -> Item:
    """An item with what its style shows alone: the style by which a set is asked follows from that."""
    if style == "cloze":
        return item
    openly = dataclasses.replace(item, stem="", bare="", shots=())
    return dataclasses.replace(openly, options=()) if style == "chat" else openly


def failing_items(run: RunLike) -> set[str] | None:
    """The ids of the questions that a search's model answered wrongly, as first asked; None without a search."""
    with open_ledger(run) as ledger:
        if ledger.note("search") is None:
            return None
        search = read_search_ledger(ledger)
    return {f"{question}.0" for outcome in search.outcomes.values() for question in outcome.failing}


def failing_questions(run: RunLike, base: KnowledgeBase | None = None, *, confirmed: bool = True) -> FailingSet:
    """The questions that a search's model answered wrongly, each once.

    Left out are those whose other wordings were mostly answered rightly (with `confirmed`), and those that say the
    same as another (the same words, or the same answer to nearly the same words). With the base come the paragraphs.
    """
    with open_ledger(run) as ledger:
        search = read_search_ledger(ledger)
        needed = (ledger.note(TOKENS_NOTE) or {}).get(search.condition.model, 0)
    if base is not None:
        check_base(search.note, base, run)
    wrong = [(row, q, share) for row, o in search.outcomes.items() for q, share in o.failing.items()]
    rows = sorted({row for row, _, _ in wrong})
    paragraphs = dict(zip(rows, base.paragraphs(rows), strict=True)) if base is not None else {}
    left = Counter({"picked for its name": sum(len(o.preferred) for o in search.outcomes.values())})
    seen: set[tuple[str, str]] = set()
    questions: list[FailingQuestion] = []
    for row, question, share in wrong:
        item = search.items[f"{question}.0"]
        same = (" ".join(sorted(set(normalise(item.prompt).split()))), normalise(item.reference))
        if confirmed and share is not None and share < 0.5:
            left["right in other words"] += 1
        elif same in seen:
            left["the same as another"] += 1
        else:
            seen.add(same)
            questions.append(_failing_question(item, search.given[item.id], share, paragraphs.get(row)))
    sizes = Counter(q.mode for q in questions)
    questions.sort(key=lambda q: (-sizes[q.mode], q.mode, row_of(q.item.id)))
    others = [share for _, _, share in wrong if share is not None]
    return FailingSet(
        condition=_allow_tokens(search.condition, needed),
        questions=tuple(questions),
        left_out=dict(+left),
        wrong_share=len(wrong) / max(1, sum(o.questions for o in search.outcomes.values())),
        reworded_share=sum(others) / len(others) if others else None,
        other_wordings=max(1, search.settings.phrasings - 1),
        judge=search.note.get("judge"),
    )


def _allow_tokens(condition: Condition, tokens: int) -> Condition:
    """A condition with at least so many tokens for an answer."""
    most = max(tokens, condition.decoding.max_tokens)
    return dataclasses.replace(condition, decoding=dataclasses.replace(condition.decoding, max_tokens=most))


def _failing_question(
    item: Item, answer: Answer, reworded: float | None, paragraph: Paragraph | None
) -> FailingQuestion:
    return FailingQuestion(
        item=item,
        answer=answer.text,
        mode=item.domain,
        reworded=reworded,
        text=paragraph.text if paragraph else "",
        place=str(paragraph.attributes.get("source") or "") if paragraph else "",
    )


def keep_stable(failing: FailingSet, again: RunLike) -> FailingSet:
    """Only the questions that were answered wrongly every time they were asked again in the same words.

    `again` is the run that they were asked in again; their options may stand in another order there.
    """
    name, by_item = failing.condition.name, dict[str, list[Answer]]()
    with open_ledger(again) as ledger:
        shown, judged = {item.id: item for item in ledger.items()}, read_judged(ledger, name)
        for answer in ledger.answers(name):
            if not answer.error:
                by_item.setdefault(answer.item, []).append(answer)
    stable, left = [], Counter(failing.left_out)
    for q in failing.questions:
        given = by_item.get(q.item.id, ())
        verdicts = [grade(shown[q.item.id], answer, failing.condition.style, judged) for answer in given]
        share = verdicts.count("wrong") / len(verdicts) if verdicts else None
        if share == 1:
            stable.append(dataclasses.replace(q, again=share, asked_again=len(verdicts)))
        else:
            left["not asked again" if share is None else "not wrong when asked again"] += 1
    return dataclasses.replace(failing, questions=tuple(stable), left_out=dict(left))


class AskedItem(NamedTuple):
    """The verdict on a model's answer, and the answer."""

    verdict: Verdict
    text: str


def ask_item(model: str, item: Item, *, style: str | None = None, max_tokens: int = 2048) -> AskedItem:
    """Ask a model one item, once, and grade what it says: for tests that are made of questions."""
    name = resolve(model).name
    local = resolve(model).backend == "local"
    asked = style or ("cloze" if local and item.stem and item.options else "choice")
    condition = Condition(
        name=name,
        model=name,
        decoding=Decoding(max_tokens=max_tokens),
        style="cloze" if asked == "cloze" else "chat" if asked == "chat" else "choice",
    )

    async def ask() -> Answer:
        opened = open_model(name)
        try:
            messages, decoding = messages_for(item, condition)
            return await Direct().ask(Job(model=opened, messages=messages, decoding=decoding, item=item.id))
        finally:
            await opened.aclose()

    answer = asyncio.run(ask())
    if answer.error:
        raise TooFewErrors(f"{name} gave no answer: {answer.error}", n=0, needed=1)
    return AskedItem(grade(item, answer, condition.style), answer.text)
