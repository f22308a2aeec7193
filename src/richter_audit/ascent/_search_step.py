"""One step of a search: its questions, the other wordings of those answered wrongly, and asking them."""

import dataclasses
import functools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from richter.errors import BudgetExhausted, InputError
from richter.records import Answer, Condition, Item, Paragraph
from richter.store import Ledger
from richter.texts import Embedder
from richter_audit.ascent._frame import SEARCH_ORIGIN
from richter_audit.ascent._judge_answers import Judged, judge_wrong
from richter_audit.ascent._outcome import Outcome, grade, is_first, outcomes, paragraph_items, question_of, row_of
from richter_audit.ascent._question_writer import REPHRASING, read_rephrasings, rephrasing_messages, write_questions
from richter_audit.ascent._settings import SearchSettings
from richter_audit.ascent._summary import DROPPED_NOTE, REWORDED_NOTE
from richter_audit.ascent._tasks import TASKS_NOTE
from richter_audit.bench import without_subject
from richter_audit.knowledge import KnowledgeBase
from richter_audit.llm import Asker, Job, Model, messages_for, replies


@dataclasses.dataclass(slots=True, kw_only=True)
class SearchState:
    """A search under way: what its ledger holds, kept in memory so that a step costs by what it adds."""

    ledger: Ledger
    base: KnowledgeBase
    condition: Condition
    settings: SearchSettings
    asker: Asker
    model: Model
    generator: Model | None
    checker: Model | None
    judge: Model | None
    embedder: Embedder | None
    progress: Callable[[int, int, int], None] | None
    items: dict[int, list[Item]]  # by paragraph
    waiting: dict[str, Item]  # to be asked, as far as is known
    given: dict[str, Answer]
    judged: Judged
    per_paragraph: int  # calls, at most
    testee_per_paragraph: int  # of the tested model
    testee_calls: int | None  # of the tested model, at most over the search
    batches: list[list[int]]
    lines: int  # of the questions that the base had when the search began
    outcomes: dict[int, Outcome] = dataclasses.field(default_factory=dict)
    tried: set[str] = dataclasses.field(default_factory=set)

    def learn(self, rows: Iterable[int]) -> None:
        """Take in what came of some paragraphs."""
        own = [item for row in rows for item in self.items.get(row, ())]
        self.outcomes.update(outcomes(own, self.given, self.condition, self.settings, self.judged))

    def errors(self) -> dict[int, float]:
        """The error of every paragraph that was asked about; nan where it has none."""
        return {row: math.nan if o.error is None else o.error for row, o in self.outcomes.items()}

    def keep_items(self, items: Sequence[Item]) -> None:
        """Put items into the ledger, and wait for their answers."""
        self.ledger.add_items(items)
        self.take_items(items)

    def take_items(self, items: Iterable[Item]) -> None:
        """Take in items that are in the ledger."""
        for item in items:
            self.items.setdefault(row_of(item.id), []).append(item)
            self.waiting[item.id] = item


async def finish_step(now: SearchState) -> bool:
    """Ask all that is missing: the first wordings, then those of what was answered wrongly; False: no budget left."""
    try:
        await _write_items(now)
        await _ask(now)
        if now.batches:
            now.learn(now.batches[-1])
        await _write_rewordings(now)
        await _ask(now)
    except BudgetExhausted:
        if not now.ledger.spent().answers:
            raise
        return False
    return True


async def _write_items(now: SearchState) -> None:
    """Make the items of the last step, unless they are there; a generator's replies come from the ledger if paid."""
    number = len(now.batches)
    if not number or now.ledger.note(f"{DROPPED_NOTE} {number}") is not None:
        return
    rows, settings = now.batches[-1], now.settings
    dropped: Counter[str] = Counter()
    if now.generator is not None:
        bare = [row for row, own in zip(rows, now.base.paragraphs(rows), strict=True) if not own.questions]
        dropped += await write_questions(
            now.base,
            bare,
            now.asker,
            now.generator,
            per_paragraph=settings.questions,
            checker=now.checker,
            origin=SEARCH_ORIGIN,
        )
    paragraphs = dict(zip(rows, now.base.paragraphs(rows), strict=True))
    if now.generator is not None and settings.wordings == "all" and settings.phrasings > 1:
        every = {f"{row}.{q}": row for row in rows for q in range(len(paragraphs[row].questions[: settings.questions]))}
        await _reword_questions(now, now.generator, every, paragraphs, dropped)
    items = [item for row, paragraph in paragraphs.items() for item in paragraph_items(row, paragraph, settings)]
    items = [item for item in items if settings.wordings == "all" or is_first(item.id)]
    proposed = now.ledger.note(f"{TASKS_NOTE} {number}")
    dropped["tasks"] += proposed["dropped"] if proposed else 0
    if now.condition.style == "cloze":
        items = _items_with_options(now, items, dropped)
    now.keep_items(items)
    now.ledger.set_note(f"{DROPPED_NOTE} {number}", dict(dropped))


def _items_with_options(now: SearchState, items: Sequence[Item], dropped: Counter[str]) -> list[Item]:
    """The items that can be asked as a cloze; the others are counted."""
    usable = [item for item in items if item.options]
    dropped["optionless"] += len(items) - len(usable)
    if not usable and now.generator is None:
        raise InputError(
            f"None of {len(now.batches[-1])} paragraphs has a question with options, which --style cloze needs.",
            remedy="Use --style chat, or a base whose documents have at least four different answers.",
        )
    return usable


async def _write_rewordings(now: SearchState) -> None:
    """Make the other wordings of the last step's questions that were answered wrongly: the base's, or a generator's.

    A cloze is also asked corrected for the options' prior, the sentence without its subject; over HTTP each option is
    a call.
    """
    settings, number = now.settings, len(now.batches)
    noted = f"{REWORDED_NOTE} {number}"
    if settings.wordings == "all" or settings.phrasings == 1 or not number or now.ledger.note(noted) is not None:
        return  # nothing more is asked of a wrong answer
    failing = {q: row for row in now.batches[-1] if row in now.outcomes for q in now.outcomes[row].failing}
    rows = sorted(set(failing.values()))
    paragraphs = dict(zip(rows, now.base.paragraphs(rows), strict=True))
    dropped: Counter[str] = Counter()
    if now.generator is not None:
        await _reword_questions(now, now.generator, failing, paragraphs, dropped)
    items = [item for row, paragraph in paragraphs.items() for item in paragraph_items(row, paragraph, settings)]
    items = [item for item in items if question_of(item.id) in failing]
    if now.condition.style == "cloze":
        items += _prior_items(now, [item for item in items if is_first(item.id) and item.options], paragraphs)
    now.keep_items([item for item in items if not is_first(item.id)])
    now.ledger.set_note(noted, dict(dropped))


async def _reword_questions(
    now: SearchState,
    generator: Model,
    questions: Mapping[str, int],
    paragraphs: dict[int, Paragraph],
    dropped: Counter[str],
) -> None:
    """Give questions (with their paragraphs) that have too few wordings a generator's others, in `paragraphs`."""
    more = now.settings.phrasings - 1
    places = [(row, _question_number(q)) for q, row in questions.items()]
    places = [(row, q) for row, q in places if len(paragraphs[row].questions[q].wordings) <= more]
    asks = [(rephrasing_messages(paragraphs[row].questions[q], rephrasings=more), REPHRASING) for row, q in places]
    for (row, q), reply in zip(places, await replies(now.asker, generator, asks), strict=True):
        own = list(paragraphs[row].questions)
        own[q] = read_rephrasings(reply, own[q], limit=more, dropped=dropped)
        paragraphs[row] = dataclasses.replace(paragraphs[row], questions=tuple(own))


def _prior_items(now: SearchState, items: Sequence[Item], paragraphs: Mapping[int, Paragraph]) -> list[Item]:
    """Clozes without their subjects, which say how likely options are by themselves: one item, or one an option."""
    priors = []
    for item in items:
        name = question_of(item.id)
        question = paragraphs[row_of(item.id)].questions[_question_number(name)]
        whole = without_subject(question, item, identity=f"{name}.p")
        each = [dataclasses.replace(whole, id=f"{name}.p{k}", options=(o,)) for k, o in enumerate(item.options)]
        priors += each if getattr(now.model, "remote", False) else [whole]
    return priors


def _question_number(question: str) -> int:
    return int(question.rsplit(".", 1)[1])


async def _ask(now: SearchState) -> None:
    """Ask what has no answer yet. What failed for good is asked again only when the search is resumed."""
    jobs = []
    for item in now.waiting.values():
        before = now.given.get(item.id)
        if before is None or (before.error and item.id not in now.tried):
            messages, decoding = messages_for(item, now.condition)
            jobs.append(
                Job(
                    model=now.model,
                    messages=messages,
                    decoding=decoding,
                    item=item.id,
                    condition=now.condition.name,
                    cut=None
                    if now.condition.style == "cloze"
                    else functools.partial(_is_cut, item, now.condition.style),
                )
            )
            now.tried.add(item.id)
    await now.asker.ask_all(jobs, _keep_answers(now, len(jobs)))
    if now.judge is not None:
        given = [now.given[name] for name in now.waiting if name in now.given]
        await judge_wrong(now.asker, now.judge, now.waiting.values(), given, now.condition, now.judged)
    now.waiting.clear()


def _keep_answers(now: SearchState, asked: int) -> Callable[[Job, Answer], None]:
    answered = 0

    def keep(job: Job, answer: Answer) -> None:
        nonlocal answered
        answered += 1
        if not answer.error or job.item not in now.given:
            now.given[job.item] = answer
        if now.progress is not None:
            now.progress(len(now.batches), answered, asked)

    return keep


def _is_cut(item: Item, style: str, answer: Answer) -> bool:
    return grade(item, answer, style) == "truncated"
