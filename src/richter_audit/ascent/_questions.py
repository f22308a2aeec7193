"""Questions as part of a base: written once by a model, checked by a second reading, confirmed by people."""

import dataclasses
import itertools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Unpack

import numpy as np

from richter.errors import BudgetExhausted, ModelError, TooFewErrors
from richter.models import Price, price_of
from richter.records import Answer, Condition, Interval, Item, Paragraph, Question, Result
from richter.stats import wilson
from richter.store import Call, Spent, is_run, open_ledger
from richter_audit.ascent._question_prompts import (
    CHECK,
    GENERATION,
    check_messages,
    generation_messages,
    read_check,
    read_questions,
)
from richter_audit.knowledge import KnowledgeBase, StoredQuestion
from richter_audit.knowledge._stored_questions import CALLS, text_key
from richter_audit.llm import Asker, CallOptions, Model, check_models, replies, with_models

__all__ = [
    "KeyCheck",
    "QuestionReport",
    "QuestionsEstimate",
    "confirm_questions",
    "estimate_questions",
    "generate_questions",
    "read_key_check",
    "report_questions",
]

CONFIRM = "confirm.run"  # a folder of a base: people's readings of its questions
FIRST = 20  # paragraphs after which a generator that writes nothing usable is asked no more
AT_ONCE = 200  # paragraphs whose questions are on disk before the next are begun
CHARACTERS_A_TOKEN = 4  # for estimates only
KEY = Condition(name="key", model="key")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class QuestionReport(Result):
    """What came of writing questions: those that a base has now, and why others are not asked."""

    paragraphs: int
    written: int
    kept: int
    rejected: Mapping[str, int]
    stale: int  # written for a text that the base has no longer
    spent: Spent | None = None
    complete: bool = True


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class KeyCheck(Result):
    """The share of a base's questions whose key people found bad, with Wilson's interval over the questions drawn."""

    derived: ClassVar = ("share",)

    n: int
    bad: int
    interval: Interval

    @property
    def share(self) -> float:
        """The estimated share."""
        return self.bad / self.n

    def __str__(self) -> str:
        limits = f"{self.interval.low:.1%} to {self.interval.high:.1%}"
        return f"People found {self.bad} of {self.n} generated keys bad ({self.share:.1%}, 95%: {limits})."


async def write_questions(
    base: KnowledgeBase,
    rows: Sequence[int],
    asker: Asker,
    generator: Model,
    *,
    per_paragraph: int,
    checker: Model | None = None,
    origin: str = "",
) -> Counter[str]:
    """How many questions were rejected, by reason, of those written for paragraphs of a base, which go into it.

    `origin` says that a search chose the paragraphs. Each is read a second time with the text in view, by `checker`
    (the generator unless given): kept are those of which exactly the key is right by the text and is not given away.
    """
    titles = base.titles()
    paragraphs = base.paragraphs(rows)
    asks = [
        (generation_messages(p, title=_title(titles[base.document_of(row)], p), questions=per_paragraph), GENERATION)
        for row, p in zip(rows, paragraphs, strict=True)
    ]
    written: list[tuple[int, Paragraph, Question | None, str]] = []
    for row, paragraph, reply in zip(rows, paragraphs, await replies(asker, generator, asks), strict=True):
        questions = read_questions(reply, paragraph, limit=per_paragraph)
        written += [(row, paragraph, question, reason) for question, reason in questions]
    reader = checker or generator
    good = [(p, question) for _, p, question, reason in written if question is not None and not reason]
    checks = await replies(asker, reader, [(check_messages(p, q), CHECK) for p, q in good])
    reasons = iter([read_check(reply, q) for (_, q), reply in zip(good, checks, strict=True)])
    stored = []
    for row, paragraph, question, reason in written:
        why = reason if question is None or reason else next(reasons)
        stored.append(
            StoredQuestion(
                row=row,
                key=text_key(paragraph.text),
                question=question or Question(answer=""),
                generator=generator.name,
                checker=reader.name if question is not None and not reason else "",
                rejected=why,
                origin=origin,
            )
        )
    base.add_questions(stored)
    return Counter(q.rejected for q in stored if q.rejected)


def _title(title: str, paragraph: Paragraph) -> str:
    section = str(paragraph.attributes.get("section") or "")
    return f"{title} > {section}" if section and not section.startswith(title) else section or title


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class QuestionsEstimate(Result):
    """What writing questions costs at most: paragraphs that have none, calls, and money (None: a price is unknown)."""

    paragraphs: int
    calls: int
    money_usd_most: float | None


def estimate_questions(
    base: KnowledgeBase,
    generator: str,
    *,
    checker: str | None = None,
    per_paragraph: int = 2,
    limit: int | None = None,
    prices: Mapping[str, Price],
) -> QuestionsEstimate:
    """Price the writing and checking of questions, from 50 of the paragraphs and the longest replies. Asks nothing."""
    bare = np.flatnonzero(~base.askable)
    count = min(len(bare), limit or len(bare))
    some = base.paragraphs([int(row) for row in np.random.default_rng(0).permutation(bare)[:50]])
    writes, reads = (price_of(name, prices) for name in (generator, checker or generator))
    money = None
    if writes is not None and reads is not None and some:
        asked = [generation_messages(p, title="", questions=per_paragraph)[-1]["content"] for p in some]
        tokens = int(np.mean([len(text) for text in asked])) // CHARACTERS_A_TOKEN + 100  # the title, and the options
        each = writes.cost(tokens, GENERATION.max_tokens) + per_paragraph * reads.cost(tokens, CHECK.max_tokens)
        money = count * each
    return QuestionsEstimate(paragraphs=count, calls=count * (1 + per_paragraph), money_usd_most=money)


def generate_questions(
    base: KnowledgeBase,
    generator: str,
    *,
    checker: str | None = None,
    per_paragraph: int = 2,
    limit: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    rng: np.random.Generator,
    **calls: Unpack[CallOptions],
) -> QuestionReport:
    """Write questions for the paragraphs of a base that have none, `limit` of them drawn at random, or all.

    What was paid for is kept in the base (`questions.run`), and what was written in `questions.jsonl`: the same again
    goes on where it stopped, at the budget too. Where nothing of the first replies can be used no more are paid for;
    what one generator could not write another may.
    """
    asked = {q.row for q in base.stored if q.generator == generator}
    bare = [int(row) for row in rng.permutation(np.flatnonzero(~base.askable)) if int(row) not in asked][:limit]
    names = [generator, checker or generator]
    check_models(names, calls)
    complete = True

    async def work(asker: Asker, opened: Mapping[str, Model]) -> None:
        nonlocal complete
        for start, end in itertools.pairwise(dict.fromkeys([0, *range(FIRST, len(bare), AT_ONCE), len(bare)])):
            rows, reader = bare[start:end], opened[checker] if checker else None
            try:
                rejected = await write_questions(
                    base, rows, asker, opened[generator], per_paragraph=per_paragraph, checker=reader
                )
            except BudgetExhausted:
                complete = False
                return
            if progress is not None:
                progress(end, len(bare))
            if start == 0 and len(rows) == FIRST and not base.askable[rows].any():
                raise _useless_generator_error(generator, rejected)

    with open_ledger(base.folder / CALLS, mode="write") as ledger:
        with_models(ledger, names, work, {"slots": 4, "context_tokens": 4096, **calls})
        spent = ledger.spent()
    return dataclasses.replace(report_questions(base), spent=spent, complete=complete)


def _useless_generator_error(generator: str, rejected: Counter[str]) -> ModelError:
    why = ", ".join(f"{count} {reason}" for reason, count in rejected.most_common())
    return ModelError(
        f"{generator} wrote no question that can be asked about {FIRST} paragraphs ({why}).",
        remedy="Use another generator; the rest was not asked.",
    )


def report_questions(base: KnowledgeBase) -> QuestionReport:
    """What a base's file of questions holds."""
    rows = sorted({q.row for q in base.stored if q.row < len(base)})
    texts = dict(zip(rows, (p.text for p in base.paragraphs(rows)), strict=True))
    fresh = [q for q in base.stored if q.row in texts and q.fits(texts[q.row])]
    return QuestionReport(
        paragraphs=len(rows),
        written=len(base.stored),
        kept=sum(not q.rejected for q in fresh),
        rejected=dict(Counter(q.rejected for q in base.stored if q.rejected).most_common()),
        stale=len(base.stored) - len(fresh),
    )


def confirm_questions(base: KnowledgeBase, n: int, *, rng: np.random.Generator) -> Path:
    """Draw `n` of a base's questions at random into a run that people label: is the key right by the text?

    The run's only condition is the key. `richter label` on it: level 0 says that the key is right, any other that it is
    bad. The sample grows when more are asked for; it is never drawn anew.
    """
    rows = sorted({q.row for q in base.stored if q.row < len(base)})
    texts = dict(zip(rows, base.paragraphs(rows), strict=True))
    good = [q for q in base.stored if not q.rejected]  # their places name them, also those of stale ones
    usable = [(i, q) for i, q in enumerate(good) if q.row in texts and q.fits(texts[q.row].text)]
    if not usable:
        raise TooFewErrors(f"{base.folder} has no questions to confirm.", n=0, needed=1)
    folder = base.folder / CONFIRM
    with open_ledger(folder, mode="write") as ledger:
        there = {item.id for item in ledger.items()}
        items: list[Item] = []
        calls: list[Call] = []
        for i in rng.permutation(len(usable)):
            place, q = usable[int(i)]
            name = f"{q.key}.{place}"
            if len(there) + len(items) >= n or name in there:
                continue
            options = "\n".join(f"- {option}" for option in sorted([q.question.answer, *q.question.wrong]))
            prompt = f"{texts[q.row].text}\n\n{q.question.wordings[0]}\n{options}"
            items.append(Item(id=name, prompt=prompt, reference=q.question.answer, domain=texts[q.row].category))
            answer = Answer(text=q.question.answer, item=name, condition=KEY.name, finish="stop", money_usd=0.0)
            calls.append(Call(key=f"key {name}", model=KEY.model, request=prompt, answer=answer))
        ledger.add_items(items)
        ledger.add_conditions([KEY])
        ledger.add_calls(calls)
    return folder


def read_key_check(folder: str | Path, *, level: float = 0.95) -> KeyCheck | None:
    """What people said of the keys of the base in a folder; None where nobody has."""
    run = Path(folder) / CONFIRM
    if not run.is_dir() or not is_run(run):
        return None
    with open_ledger(run) as ledger:
        severities: dict[str, list[float]] = {}
        for rating in ledger.ratings(kind="human"):
            if rating.severity is not None:
                severities.setdefault(rating.item, []).append(rating.severity)
    if not severities:
        return None
    bad = sum(float(np.median(own)) > 0 for own in severities.values())
    return KeyCheck(n=len(severities), bad=bad, interval=wilson(bad, len(severities), level=level))
