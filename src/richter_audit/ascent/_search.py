"""Stochastic error ascent through the ledger: choose, keep the choice, ask, learn, until the budget is used."""

import dataclasses
import functools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from richter.errors import BudgetExhausted, InputError
from richter.models import Price, price_of, read_prices, resolve
from richter.records import Answer, Condition, Item, Result
from richter.store import Ledger, RunLike, open_ledger
from richter.texts import Embedder
from richter_audit.ascent._field import Field, Find
from richter_audit.ascent._generate import GENERATION, REPHRASING, read_rephrasings, rephrasing_messages
from richter_audit.ascent._graph import Trails
from richter_audit.ascent._judged import Judged, check_judge, judge_wrong, read_judged
from richter_audit.ascent._outcome import (
    Outcome,
    grade,
    is_first,
    last_answers,
    outcomes,
    paragraph_items,
    question_of,
    row_of,
)
from richter_audit.ascent._propose import plan_step, random_order
from richter_audit.ascent._questions import CHARACTERS_A_TOKEN, write_questions
from richter_audit.ascent._settings import SearchSettings
from richter_audit.ascent._summary import (
    BASE_NOTE,
    DROPPED_NOTE,
    INDEX_NOTE,
    REWORDED_NOTE,
    UNASKED,
    SearchSummary,
    Steps,
    StepSummary,
    summarise,
)
from richter_audit.ascent._tasks import (
    TASKS,
    TASKS_NOTE,
    Proposed,
    Task,
    embedder_of,
    new_tasks,
    read_archive,
    read_tasks,
    task_messages,
)
from richter_audit.bench import without_subject
from richter_audit.knowledge import KnowledgeBase, find_similar, open_index
from richter_audit.llm import Asker, Budget, CallOptions, Job, Model, check_models, messages_for, replies, with_models

__all__ = ["SearchEstimate", "estimate_search", "run_search"]

NOTE = "search"
OPTIONS = 4  # of a question
JUDGED_TOKENS = 250  # of a judge's instructions


def make_find(base: KnowledgeBase, settings: SearchSettings) -> Find:
    """The base's retrieval as a search uses it."""
    if settings.retrieval == "index":
        index = open_index(base)

        def find_by_index(rows: NDArray[np.int64], k: int, exclude: NDArray[np.bool_]) -> NDArray[np.int64]:
            queries = np.asarray(base.mapped[rows], dtype=np.float32)
            return find_similar(queries, base.mapped, k, index=index, exclude=exclude)

        return find_by_index

    def find(rows: NDArray[np.int64], k: int, exclude: NDArray[np.bool_]) -> NDArray[np.int64]:
        queries = np.asarray(base.vectors[rows], dtype=np.float32)
        if settings.retrieval == "exact":
            return find_similar(queries, base.vectors, k, exclude=exclude)
        return find_similar(
            queries, base.vectors, k, abstracts=base.abstracts, first_rows=base.first_rows, exclude=exclude
        )

    return find


def run_search(
    run: RunLike,
    base: KnowledgeBase,
    condition: Condition,
    settings: SearchSettings,
    *,
    steps: int | None = None,
    model: Model | None = None,
    generator: Model | str | None = None,
    judge: str | None = None,
    embedder: Embedder | None = None,
    watch: Callable[[StepSummary], None] | None = None,
    progress: Callable[[int, int, int], None] | None = None,
    **calls: Unpack[CallOptions],
) -> SearchSummary:
    """Search a base for a condition's errors until the budget, `steps`, or the base is used up (algorithm 1).

    The same call on the same run goes on where it stopped, in the middle of a step too: a step's choice is in the
    ledger before its first question goes out, and everything else (errors, sources, what was pruned) follows from
    the choices and the answers. The budget counts every call of the run and is held before a call goes out. `model`
    is one that is already open; otherwise it is opened by the condition's name. A `generator` (a name, or one already
    open) writes questions for paragraphs that have none (into the base, for every other search of it), rewords those
    that were answered wrongly, and proposes the tasks of the strategy of that name; its calls count like all others.
    A `judge` is asked about free-form answers that are not the reference's words, and may call them right.
    `embedder` turns those tasks into vectors (WordLlama unless given). `watch` is told each step, `progress`
    the step, the answers so far and how many are asked for within it.
    """
    budget = calls.get("budget") or Budget()
    if not budget.limited and steps is None:
        raise InputError("A search without a budget would ask about the whole base.", remedy="Give --budget 3000calls.")
    if generator is None and not base.askable.any():
        raise InputError(
            f"{base.folder} has no paragraph with a question to ask.",
            remedy="Write some with `richter search questions`, or give a generator model.",
        )
    if settings.strategy == "tasks":
        if generator is None:
            raise InputError("The strategy tasks needs a model that proposes them.", remedy="Give --generator.")
        embedder = embedder_of(base.info.embedding, embedder)
    if judge is not None:
        check_judge(judge, condition)
    remote = resolve(condition.model).backend != "local" if model is None else getattr(model, "remote", False)
    per_paragraph = _calls_a_paragraph(
        settings, condition.style, generated=generator is not None, judged=judge is not None, remote=remote
    )
    if budget.left_calls is not None and budget.left_calls < per_paragraph:
        raise InputError(
            f"A budget of {budget} cannot pay for one paragraph of {per_paragraph} calls.",
            remedy="Raise --budget, or lower --questions or --phrasings.",
        )
    named = [name for name, given in ((condition.model, model), (generator, None), (judge, None)) if given is None]
    to_open = [name for name in named if isinstance(name, str)]
    check_models(to_open, calls)
    index = open_index(base).info if settings.retrieval == "index" else None  # refused before anything is written
    with open_ledger(run, mode="write", alone=True) as ledger:
        writer = generator if generator is None or isinstance(generator, str) else generator.name
        base = _agree(ledger, base, condition, settings, writer, judge)
        ledger.add_conditions([condition])
        ledger.set_note("search budget", {"text": str(budget)})
        ledger.set_note(BASE_NOTE, {"path": str(base.folder.resolve())})
        if index is not None:
            ledger.set_note(INDEX_NOTE, index.to_dict())

        async def work(asker: Asker, opened: Mapping[str, Model]) -> None:
            tested = model or opened[condition.model]
            writes = opened[generator] if isinstance(generator, str) else generator
            now = _Ascent(
                ledger=ledger,
                base=base,
                condition=condition,
                settings=settings,
                asker=asker,
                model=tested,
                generator=writes,
                judge=None if judge is None else opened[judge],
                embedder=embedder,
                progress=progress,
                items={},
                waiting={},
                given=last_answers(ledger.answers(condition.name)),
                judged=read_judged(ledger, condition.name),
                per_paragraph=per_paragraph,
                batches=_batches(ledger.picks()),
            )
            _take(now, ledger.items())
            await _ascend(now, steps, watch)

        with_models(ledger, to_open, work, calls)
        return summarise(ledger)


def _agree(
    ledger: Ledger,
    base: KnowledgeBase,
    condition: Condition,
    settings: SearchSettings,
    writer: str | None,
    judge: str | None,
) -> KnowledgeBase:
    """Keep what defines the search, or check that a resumed one is the same.

    The base comes back held to the questions that it had when the search began, unless a generator writes more.
    """
    found = ledger.note(NOTE)
    if writer is None:
        base = dataclasses.replace(base, lines=found.get("questions", 0) if found else len(base.stored))
    names, codes = base.categories
    counts = np.bincount(codes if writer else codes[base.askable], minlength=len(names))
    wanted: dict[str, Any] = {
        "settings": settings.to_dict(),
        "condition": condition.name,
        "generator": writer,
        "judge": judge,
        "questions": base.lines,
        "base": {k: v for k, v in base.info.to_dict().items() if k in ("name", "embedding", "paragraphs", "askable")},
        "categories": {name: int(count) for name, count in zip(names, counts, strict=True) if count},
    }
    if found is None:
        if ledger.spent().calls:
            raise InputError(
                f"{ledger.name} already holds another kind of run.", remedy="Search into a folder of its own."
            )
        ledger.set_note(NOTE, wanted)
        return base
    for part in ("settings", "condition", "generator", "judge", "base"):
        if found.get(part) != wanted[part]:
            before, now = _difference(found.get(part), wanted[part])
            raise InputError(
                f"{ledger.name} was begun with another {part}: {before}, not {now}.",
                remedy="Resume with the same, or search into another folder.",
            )
    return base


def _difference(before: Any, now: Any) -> tuple[str, str]:
    if not isinstance(before, dict):
        return str(before), str(now)
    keys = [k for k in now if before.get(k) != now[k]]
    was, wanted = (", ".join(f"{k}={side.get(k)}" for k in keys) for side in (before, now))
    return was, wanted


def _batches(picks: Sequence[tuple[int, int, str]]) -> list[list[int]]:
    table: dict[int, list[int]] = {}
    for row, step, _ in picks:
        table.setdefault(step, []).append(row)
    return list(table.values())


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
    prices: Mapping[str, Price] | None = None,
    generator: str | None = None,
    judge: str | None = None,
) -> SearchEstimate:
    """Price a search before it is made, from 50 paragraphs of the base. Asks nothing."""
    prices = read_prices() if prices is None else prices
    rows = np.arange(len(base)) if generator else np.flatnonzero(base.askable)
    if not len(rows):
        raise InputError(
            f"{base.folder} has no paragraph with a question to ask.",
            remedy="Write some with `richter search questions`, or give a generator model.",
        )
    high = _calls_a_paragraph(
        settings,
        condition.style,
        generated=generator is not None,
        judged=judge is not None,
        remote=resolve(condition.model).backend != "local",
    )
    low = settings.questions * (settings.phrasings if settings.wordings == "all" else 1)
    low += 1 + settings.questions if generator else 0
    calls = len(rows) * high if budget.calls is None else min(budget.calls, len(rows) * high)
    some = base.paragraphs([int(row) for row in random_order(base.askable if not generator else rows >= 0, 0)[:50]])
    items = [item for i, p in enumerate(some) for item in paragraph_items(i, p, settings)]
    texts = [
        messages_for(item, condition)[0][-1]["content"] for item in items if condition.style != "cloze" or item.options
    ]
    asked = np.mean([len(text) for text in texts or [p.text for p in some]]) / CHARACTERS_A_TOKEN
    price, writes, rates = (price_of(name, prices) if name else None for name in (condition.model, generator, judge))
    money, worded = None, settings.questions * settings.phrasings
    if price is not None and (generator is None or writes is not None) and (judge is None or rates is not None):
        money = price.cost(int(asked), condition.decoding.max_tokens) * worded
        if rates is not None:
            money += rates.cost(int(asked) + condition.decoding.max_tokens + JUDGED_TOKENS, 38) * worded
        if writes is not None:
            length = int(np.mean([len(p.text) for p in some]) / CHARACTERS_A_TOKEN) + 300
            rest = _calls_a_paragraph(settings, condition.style, generated=True) - 1 - worded
            money += writes.cost(length, GENERATION.max_tokens) + rest * writes.cost(length, REPHRASING.max_tokens)
        money *= calls / high
        if budget.money_usd is not None:
            money = min(money, budget.money_usd)
    return SearchEstimate(
        paragraphs=len(rows),
        paragraphs_least=min(calls // high, len(rows)),
        paragraphs_most=min(calls // low, len(rows)),
        calls_most=calls,
        calls_per_paragraph=(low, high),
        money_usd_most=money,
    )


@dataclasses.dataclass(slots=True, kw_only=True)
class _Ascent:
    """A search under way: what its ledger holds, kept in memory so that a step costs by what it adds."""

    ledger: Ledger
    base: KnowledgeBase
    condition: Condition
    settings: SearchSettings
    asker: Asker
    model: Model
    generator: Model | None
    judge: Model | None
    embedder: Embedder | None
    progress: Callable[[int, int, int], None] | None
    items: dict[int, list[Item]]  # by paragraph
    waiting: dict[str, Item]  # to be asked, as far as is known
    given: dict[str, Answer]
    judged: Judged
    per_paragraph: int  # calls, at most
    batches: list[list[int]]
    found: dict[int, Outcome] = dataclasses.field(default_factory=dict)
    tried: set[str] = dataclasses.field(default_factory=set)

    def learn(self, rows: Iterable[int]) -> None:
        """Take in what came of some paragraphs."""
        own = [item for row in rows for item in self.items.get(row, ())]
        self.found.update(outcomes(own, self.given, self.condition, self.settings, self.judged))

    def errors(self) -> dict[int, float]:
        """The error of every paragraph that was asked about; nan where it has none."""
        return {row: math.nan if o.error is None else o.error for row, o in self.found.items()}


async def _ascend(now: _Ascent, steps: int | None, watch: Callable[[StepSummary], None] | None) -> None:
    base, settings, ledger = now.base, now.settings, now.ledger
    names, codes = base.categories
    askable = base.askable.copy() if now.generator is None else np.ones(len(base), dtype=np.bool_)
    order = random_order(askable, settings.seed)
    vectors = base.mapped if settings.retrieval == "index" else base.vectors
    field = Field(vectors=vectors, codes=codes, free=askable, find=make_find(base, settings))
    field.take([row for batch in now.batches for row in batch])
    trails, summaries = Trails(xi=settings.xi, gamma=settings.gamma), Steps()
    edges = ledger.retrievals()
    sampled = len(ledger.sample())
    trail = None
    done = await _finish(now)
    now.learn(row for batch in now.batches for row in batch)
    while True:
        field.errors = now.errors()
        for batch in now.batches[trails.steps :]:
            own = set(batch)
            trail = trails.add(batch, [e for e in edges if e[1] in own], field.errors)
            step = summaries.add(trail, [now.found.get(row, UNASKED) for row in batch])
            if watch is not None and trails.steps == len(now.batches):
                watch(step)
        if not done or (steps is not None and len(now.batches) >= steps):
            return
        size = settings.batch
        left = now.asker.budget.left_calls
        if left is not None:  # no paragraph is begun that the calls left cannot finish
            size = min(size, (left - (settings.strategy == "tasks" and bool(now.batches))) // now.per_paragraph)
        if size < 1:
            if not now.batches:
                raise BudgetExhausted(f"The budget ({now.asker.budget}) has no calls left.", remedy="Raise --budget.")
            return
        number, tasks = len(now.batches) + 1, Proposed()
        if settings.strategy == "tasks" and now.batches and now.generator is not None and now.embedder is not None:
            archive = read_archive(ledger, len(now.batches), field.errors)
            try:
                rng = np.random.default_rng([settings.seed, number, 1])
                tasks = await _new_tasks(
                    rng.permutation(names).tolist(), archive, now.asker, now.generator, now.embedder
                )
            except BudgetExhausted:
                return
        plan = plan_step(
            field,
            settings,
            step=number,
            order=order,
            sampled=sampled,
            sources=trail.sources if trail else (),
            size=size,
            tasks=tasks.vectors,
        )
        if not plan.picks:
            return
        if settings.strategy == "tasks":
            ledger.set_note(f"{TASKS_NOTE} {number}", tasks.note(plan.tasks))
        ledger.add_step(number, picks=plan.picks, retrievals=plan.edges, sample=plan.sample)
        now.batches.append([row for row, _ in plan.picks])
        edges, sampled = list(plan.edges), sampled + len(plan.sample)
        done = await _finish(now)
        now.learn(now.batches[-1])


async def _finish(now: _Ascent) -> bool:
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


async def _new_tasks(
    topics: Sequence[str], archive: Sequence[Task], asker: Asker, generator: Model, embedder: Embedder
) -> Proposed:
    (reply,) = await replies(asker, generator, [(task_messages(topics, archive), TASKS)])
    texts, dropped = read_tasks(reply)
    fresh, vectors = new_tasks(texts, [task.text for task in archive], embedder)
    return Proposed(texts=tuple(fresh), vectors=vectors, dropped=dropped + len(texts) - len(fresh))


def _calls_a_paragraph(
    settings: SearchSettings, style: str, *, generated: bool, judged: bool = False, remote: bool = False
) -> int:
    """The most calls of a paragraph: its questions in all wordings, judging, and writing, checking, rewording them."""
    prior = style == "cloze" and settings.wordings == "wrong" and settings.phrasings > 1
    asked = settings.questions * (settings.phrasings * (1 + judged) + prior * (OPTIONS if remote else 1))
    return asked + (1 + settings.questions * (1 + (settings.phrasings > 1)) if generated else 0)


async def _write_items(now: _Ascent) -> None:
    """Make the items of the last step, unless they are there; a generator's replies come from the ledger if paid."""
    ledger, settings, style = now.ledger, now.settings, now.condition.style
    number = len(now.batches)
    if not number or ledger.note(f"{DROPPED_NOTE} {number}") is not None:
        return
    rows = now.batches[-1]
    dropped: Counter[str] = Counter()
    if now.generator is not None:
        bare = [row for row, own in zip(rows, now.base.paragraphs(rows), strict=True) if not own.questions]
        dropped += await write_questions(now.base, bare, now.asker, now.generator, per_paragraph=settings.questions)
    chosen = zip(rows, now.base.paragraphs(rows), strict=True)
    items = [item for row, paragraph in chosen for item in paragraph_items(row, paragraph, settings)]
    proposed = ledger.note(f"{TASKS_NOTE} {number}")
    dropped["tasks"] += proposed["dropped"] if proposed else 0
    if settings.wordings == "wrong":
        items = [item for item in items if is_first(item.id)]
    if style == "cloze":
        dropped["optionless"] += sum(not item.options for item in items)
        items = [item for item in items if item.options]
    if not items and now.generator is None:
        raise InputError(
            f"None of {len(rows)} paragraphs has a question with options, which --style cloze needs.",
            remedy="Use --style chat, or a base whose documents have at least four different answers.",
        )
    _add(now, items)
    ledger.set_note(f"{DROPPED_NOTE} {number}", dict(dropped))


def _add(now: _Ascent, items: Sequence[Item]) -> None:
    now.ledger.add_items(items)
    _take(now, items)


def _take(now: _Ascent, items: Iterable[Item]) -> None:
    for item in items:
        now.items.setdefault(row_of(item.id), []).append(item)
        now.waiting[item.id] = item


async def _write_rewordings(now: _Ascent) -> None:
    """Make the other wordings of the last step's questions that were answered wrongly: the base's, or a generator's.

    A cloze is also asked corrected for the options' prior, the sentence without its subject; over HTTP each option is
    a call.
    """
    settings, number = now.settings, len(now.batches)
    noted = f"{REWORDED_NOTE} {number}"
    if settings.wordings == "all" or settings.phrasings == 1 or not number or now.ledger.note(noted) is not None:
        return  # nothing more is asked of a wrong answer
    failing = {q: row for row in now.batches[-1] if row in now.found for q in now.found[row].failing}
    rows = sorted(set(failing.values()))
    paragraphs = dict(zip(rows, now.base.paragraphs(rows), strict=True))
    dropped: Counter[str] = Counter()
    more = settings.phrasings - 1
    if now.generator is not None:
        places = [(row, int(q.rsplit(".", 1)[1])) for q, row in failing.items()]
        places = [(row, q) for row, q in places if len(paragraphs[row].questions[q].wordings) == 1]
        asks = [(rephrasing_messages(paragraphs[row].questions[q], rephrasings=more), REPHRASING) for row, q in places]
        for (row, q), reply in zip(places, await replies(now.asker, now.generator, asks), strict=True):
            own = list(paragraphs[row].questions)
            own[q] = read_rephrasings(reply, own[q], limit=more, dropped=dropped)
            paragraphs[row] = dataclasses.replace(paragraphs[row], questions=tuple(own))
    items = [item for row, paragraph in paragraphs.items() for item in paragraph_items(row, paragraph, settings)]
    items = [item for item in items if question_of(item.id) in failing]
    if now.condition.style == "cloze":
        firsts = [item for item in items if is_first(item.id) and item.options]
        for item in firsts:
            name = question_of(item.id)
            asked = paragraphs[failing[name]].questions[int(name.rsplit(".", 1)[1])]
            whole = without_subject(asked, item, identity=f"{name}.p")
            each = [dataclasses.replace(whole, id=f"{name}.p{k}", options=(o,)) for k, o in enumerate(item.options)]
            items += each if getattr(now.model, "remote", False) else [whole]
    _add(now, [item for item in items if not is_first(item.id)])
    now.ledger.set_note(noted, dict(dropped))


async def _ask(now: _Ascent) -> None:
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
                    cut=None if now.condition.style == "cloze" else functools.partial(_cut, item, now.condition.style),
                )
            )
            now.tried.add(item.id)
    await now.asker.ask_all(jobs, _keeper(now, len(jobs)))
    if now.judge is not None:
        given = [now.given[name] for name in now.waiting if name in now.given]
        await judge_wrong(now.asker, now.judge, now.waiting.values(), given, now.condition, now.judged)
    now.waiting.clear()


def _keeper(now: _Ascent, asked: int) -> Callable[[Job, Answer], None]:
    answered = 0

    def keep(job: Job, answer: Answer) -> None:
        nonlocal answered
        answered += 1
        if not answer.error or job.item not in now.given:
            now.given[job.item] = answer
        if now.progress is not None:
            now.progress(len(now.batches), answered, asked)

    return keep


def _cut(item: Item, style: str, answer: Answer) -> bool:
    return grade(item, answer, style) == "truncated"
