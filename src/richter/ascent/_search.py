"""Stochastic error ascent through the ledger: choose, keep the choice, ask, learn, until the budget is used."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from richter.ascent._field import Field, Find
from richter.ascent._generate import (
    GENERATION,
    REPHRASING,
    Dropped,
    generation_messages,
    read_questions,
    read_rephrasings,
    rephrasing_messages,
)
from richter.ascent._graph import follow
from richter.ascent._outcome import Outcome, outcomes, paragraph_items
from richter.ascent._propose import plan_step, random_order
from richter.ascent._session import check_models, replies, with_models
from richter.ascent._settings import SearchSettings
from richter.ascent._summary import BASE_NOTE, DROPPED_NOTE, INDEX_NOTE, SearchSummary, StepSummary, summarise
from richter.ascent._tasks import (
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
from richter.engine import Engine
from richter.errors import BudgetExhausted, InputError
from richter.knowledge import Embedder, KnowledgeBase, find_similar, open_index
from richter.llm import Asker, Budget, Job, Model, Price, messages_for, read_prices
from richter.records import Condition, Paragraph
from richter.store import Ledger, RunLike, open_ledger

__all__ = ["run_search"]

NOTE = "search"


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
    budget: Budget,
    prices: Mapping[str, Price] | None = None,
    concurrency: int = 64,
    slots: int = 16,
    context_tokens: int = 1024,
    timeout_s: float = 120.0,
    steps: int | None = None,
    model: Model | None = None,
    generator: Model | str | None = None,
    embedder: Embedder | None = None,
    watch: Callable[[StepSummary], None] | None = None,
    download: Callable[[int, int], None] | None = None,
    engine: Engine | None = None,
) -> SearchSummary:
    """Search a base for a condition's errors until the budget, `steps`, or the base is used up (algorithm 1).

    The same call on the same run goes on where it stopped, in the middle of a step too: a step's choice is in the
    ledger before its first question goes out, and everything else (errors, sources, what was pruned) follows from
    the choices and the answers. The budget counts every call of the run and is held before a call goes out. `model`
    is one that is already open; otherwise it is opened by the condition's name. A `generator` (a name, or one already
    open) writes questions for paragraphs that have none, and proposes the tasks of the strategy of that name; its calls
    count like all others. `embedder` turns those tasks into vectors (WordLlama unless given).
    """
    if not budget.limited and steps is None:
        raise InputError("A search without a budget would ask about the whole base.", remedy="Give --budget 3000calls.")
    if generator is None and not base.askable.any():
        raise InputError(
            f"{base.folder} has no paragraph with a question to ask.",
            remedy="Build a base with facts or human questions, or give a generator model.",
        )
    if settings.strategy == "tasks":
        if generator is None:
            raise InputError("The strategy tasks needs a model that proposes them.", remedy="Give --generator.")
        embedder = embedder_of(base.info.embedding, embedder)
    per_paragraph = _calls_a_paragraph(settings, generated=generator is not None)
    if budget.left_calls is not None and budget.left_calls < per_paragraph:
        raise InputError(
            f"A budget of {budget} cannot pay for one paragraph of {per_paragraph} calls.",
            remedy="Raise --budget, or lower --questions or --phrasings.",
        )
    prices = read_prices() if prices is None else prices
    to_open = [name for name, given in ((condition.model, model), (generator, None)) if given is None]
    priced = check_models([name for name in to_open if isinstance(name, str)], budget, prices, engine=engine)
    index = open_index(base).info if settings.retrieval == "index" else None  # refused before anything is written
    with open_ledger(run, mode="write", alone=True) as ledger:
        writer = generator if generator is None or isinstance(generator, str) else generator.name
        _agree(ledger, base, condition, settings, writer)
        ledger.add_conditions([condition])
        ledger.set_note("search budget", {"text": str(budget)})
        ledger.set_note(BASE_NOTE, {"path": str(base.folder.resolve())})
        if index is not None:
            ledger.set_note(INDEX_NOTE, index.to_dict())

        async def work(asker: Asker, opened: Mapping[str, Model]) -> None:
            tested = model or opened[condition.model]
            writes = opened[generator] if isinstance(generator, str) else generator
            await _ascend(ledger, base, condition, settings, asker, tested, writes, embedder, steps, watch)

        with_models(
            ledger,
            priced,
            work,
            budget=budget,
            prices=prices,
            concurrency=concurrency,
            slots=slots,
            context_tokens=context_tokens,
            timeout_s=timeout_s,
            download=download,
            engine=engine,
        )
        return summarise(ledger)


def _agree(
    ledger: Ledger, base: KnowledgeBase, condition: Condition, settings: SearchSettings, writer: str | None
) -> None:
    """Keep what defines the search, or check that a resumed one is the same."""
    names, codes = base.categories
    counts = np.bincount(codes if writer else codes[base.askable], minlength=len(names))
    wanted: dict[str, Any] = {
        "settings": settings.to_dict(),
        "condition": condition.name,
        "generator": writer,
        "base": {k: v for k, v in base.info.to_dict().items() if k in ("name", "embedding", "paragraphs", "askable")},
        "categories": {name: int(count) for name, count in zip(names, counts, strict=True) if count},
    }
    found = ledger.note(NOTE)
    if found is None:
        if ledger.spent().calls:
            raise InputError(
                f"{ledger.name} already holds another kind of run.", remedy="Search into a folder of its own."
            )
        ledger.set_note(NOTE, wanted)
        return
    for part in ("settings", "condition", "generator", "base"):
        if found[part] != wanted[part]:
            before, now = _difference(found[part], wanted[part])
            raise InputError(
                f"{ledger.name} was begun with another {part}: {before}, not {now}.",
                remedy="Resume with the same, or search into another folder.",
            )


def _difference(before: Any, now: Any) -> tuple[str, str]:
    if not isinstance(before, dict):
        return str(before), str(now)
    keys = [k for k in now if before.get(k) != now[k]]
    was, wanted = (", ".join(f"{k}={side.get(k)}" for k in keys) for side in (before, now))
    return was, wanted


async def _ascend(
    ledger: Ledger,
    base: KnowledgeBase,
    condition: Condition,
    settings: SearchSettings,
    asker: Asker,
    model: Model,
    generator: Model | None,
    embedder: Embedder | None,
    steps: int | None,
    watch: Callable[[StepSummary], None] | None,
) -> None:
    names, codes = base.categories
    askable = base.askable.copy() if generator is None else np.ones(len(base), dtype=np.bool_)
    order = random_order(askable, settings.seed)
    vectors = base.mapped if settings.retrieval == "index" else base.vectors
    field = Field(vectors=vectors, codes=codes, free=askable, find=make_find(base, settings))
    field.take([row for row, _, _ in ledger.picks()])
    per_paragraph = _calls_a_paragraph(settings, generated=generator is not None)
    tried: set[str] = set()
    while True:
        try:
            await _write_items(ledger, base, settings, condition.style, asker, generator)
            await _ask_missing(ledger, condition, asker, model, tried)
        except BudgetExhausted:
            if not ledger.spent().answers:
                raise
            return
        picks = ledger.picks()
        batches = _batches(picks)
        if watch is not None and batches:
            watch(summarise(ledger).steps[-1])
        if steps is not None and len(batches) >= steps:
            return
        size = settings.batch
        left = asker.budget.left_calls
        if left is not None:  # no paragraph is begun that the calls left cannot finish
            size = min(size, (left - (settings.strategy == "tasks" and bool(batches))) // per_paragraph)
        if size < 1:
            if not batches:
                raise BudgetExhausted(f"The budget ({asker.budget}) has no calls left.", remedy="Raise --budget.")
            return
        found = outcomes(ledger.items(), ledger.answers(condition.name), condition)
        field.errors = _errors(found)
        trails = follow(batches, ledger.retrievals(), field.errors, xi=settings.xi, gamma=settings.gamma)
        step, tasks = len(batches) + 1, Proposed()
        if settings.strategy == "tasks" and batches and generator is not None and embedder is not None:
            archive = read_archive(ledger, len(batches), field.errors)
            try:
                rng = np.random.default_rng([settings.seed, step, 1])
                tasks = await _new_tasks(rng.permutation(names).tolist(), archive, asker, generator, embedder)
            except BudgetExhausted:
                return
        plan = plan_step(
            field,
            settings,
            step=step,
            order=order,
            sampled=len(ledger.sample()),
            sources=trails[-1].sources if trails else (),
            size=size,
            tasks=tasks.vectors,
        )
        if not plan.picks:
            return
        if settings.strategy == "tasks":
            ledger.set_note(f"{TASKS_NOTE} {step}", tasks.note(plan.tasks))
        ledger.add_step(step, picks=plan.picks, retrievals=plan.edges, sample=plan.sample)


async def _new_tasks(
    topics: Sequence[str], archive: Sequence[Task], asker: Asker, generator: Model, embedder: Embedder
) -> Proposed:
    (reply,) = await replies(asker, generator, [(task_messages(topics, archive), TASKS)])
    texts, dropped = read_tasks(reply)
    fresh, vectors = new_tasks(texts, [task.text for task in archive], embedder)
    return Proposed(texts=tuple(fresh), vectors=vectors, dropped=dropped + len(texts) - len(fresh))


def _calls_a_paragraph(settings: SearchSettings, *, generated: bool) -> int:
    """The most calls that one paragraph takes: its questions in all wordings, and writing them."""
    asked = settings.questions * settings.phrasings
    return asked + (1 + settings.questions * (settings.phrasings > 1) if generated else 0)


def _errors(found: Mapping[int, Outcome]) -> dict[int, float]:
    return {row: np.nan if o.error is None else o.error for row, o in found.items()}


def _batches(picks: list[tuple[int, int, str]]) -> list[list[int]]:
    table: dict[int, list[int]] = {}
    for row, step, _ in picks:
        table.setdefault(step, []).append(row)
    return list(table.values())


async def _write_items(
    ledger: Ledger,
    base: KnowledgeBase,
    settings: SearchSettings,
    style: str,
    asker: Asker,
    generator: Model | None,
) -> None:
    """Make the items of the last step, unless they are there; a generator's replies come from the ledger if paid."""
    batches = _batches(ledger.picks())
    if not batches or ledger.note(f"{DROPPED_NOTE} {len(batches)}") is not None:
        return
    rows = batches[-1]
    paragraphs, dropped = base.paragraphs(rows), Dropped()
    if generator is not None:
        titles = base.titles()
        named = [titles[base.document_of(row)] for row in rows]
        paragraphs = await _generate(paragraphs, named, settings, asker, generator, dropped)
    chosen = zip(rows, paragraphs, strict=True)
    items = [item for row, paragraph in chosen for item in paragraph_items(row, paragraph, settings)]
    proposed = ledger.note(f"{TASKS_NOTE} {len(batches)}")
    dropped.tasks = proposed["dropped"] if proposed else 0
    if style == "cloze":
        dropped.optionless = sum(not item.options for item in items)
        items = [item for item in items if item.options]
    if not items and generator is None:
        raise InputError(
            f"None of {len(rows)} paragraphs has a question with options, which --style cloze needs.",
            remedy="Use --style chat, or a base whose documents have at least four different answers.",
        )
    ledger.add_items(items)
    ledger.set_note(f"{DROPPED_NOTE} {len(batches)}", dropped.to_dict())


async def _generate(
    paragraphs: list[Paragraph],
    titles: list[str],
    settings: SearchSettings,
    asker: Asker,
    generator: Model,
    dropped: Dropped,
) -> list[Paragraph]:
    """Questions, then rephrasings, for the paragraphs that have none."""
    bare = [i for i, paragraph in enumerate(paragraphs) if not paragraph.questions]
    wanted = settings.questions
    found = await replies(
        asker,
        generator,
        [(generation_messages(paragraphs[i], title=titles[i], questions=wanted), GENERATION) for i in bare],
    )
    written = {
        i: read_questions(text, paragraphs[i], limit=wanted, dropped=dropped)
        for i, text in zip(bare, found, strict=True)
    }
    if settings.phrasings > 1:
        places = [(i, q) for i, questions in written.items() for q in range(len(questions))]
        more = settings.phrasings - 1
        texts = await replies(
            asker, generator, [(rephrasing_messages(written[i][q], rephrasings=more), REPHRASING) for i, q in places]
        )
        for (i, q), text in zip(places, texts, strict=True):
            written[i][q] = read_rephrasings(text, written[i][q], limit=more, dropped=dropped)
    return [
        dataclasses.replace(paragraph, questions=tuple(written[i])) if i in written else paragraph
        for i, paragraph in enumerate(paragraphs)
    ]


async def _ask_missing(ledger: Ledger, condition: Condition, asker: Asker, model: Model, tried: set[str]) -> None:
    """Ask what the chosen paragraphs still lack: a whole new step, or the rest of one that was interrupted.

    What failed for good is not asked again in the same session, only when the search is resumed.
    """
    done = {item for item, _ in ledger.answered(condition.name)}
    items = [item for item in ledger.items() if item.id not in done and item.id not in tried]
    tried.update(item.id for item in items)
    jobs = []
    for item in items:
        messages, decoding = messages_for(item, condition)
        jobs.append(Job(model=model, messages=messages, decoding=decoding, item=item.id, condition=condition.name))
    await asker.ask_all(jobs)
