"""Stochastic error ascent through the ledger: choose, keep the choice, ask, learn, until the budget is used."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from richter.errors import BudgetExhausted, InputError
from richter.models import resolve
from richter.records import Condition
from richter.store import Ledger, RunLike, open_ledger
from richter.texts import Embedder
from richter_audit.ascent._error_field import Field, Find
from richter_audit.ascent._frame import drawable_rows, sampling_frame
from richter_audit.ascent._judge_answers import check_judge, read_judged
from richter_audit.ascent._outcome import last_answers
from richter_audit.ascent._propose import plan_step, random_order
from richter_audit.ascent._search_cost import calls_per_paragraph, no_question_error
from richter_audit.ascent._search_step import SearchState, finish_step
from richter_audit.ascent._settings import SearchSettings
from richter_audit.ascent._summary import (
    BASE_NOTE,
    INDEX_NOTE,
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
from richter_audit.ascent._trails import Trail, Trails
from richter_audit.knowledge import KnowledgeBase, find_similar, open_index
from richter_audit.llm import Asker, Budget, CallOptions, Model, check_models, replies, with_models

__all__ = ["run_search"]

NOTE, ARMS_NOTE = "search", "search arms"


def make_find(base: KnowledgeBase, settings: SearchSettings) -> Find:
    """The base's retrieval as a search uses it."""
    if settings.retrieval == "index":
        index = open_index(base)

        def find_by_index(rows: NDArray[np.int64], k: int, exclude: NDArray[np.bool_]) -> NDArray[np.int64]:
            queries = np.asarray(base.vectors_on_disk[rows], dtype=np.float32)
            return find_similar(queries, base.vectors_on_disk, k, index=index, exclude=exclude)

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
    testee_calls: int | None = None,
    model: Model | None = None,
    generator: Model | str | None = None,
    checker: str | None = None,
    judge: str | None = None,
    embedder: Embedder | None = None,
    watch: Callable[[StepSummary], None] | None = None,
    progress: Callable[[int, int, int], None] | None = None,
    **calls: Unpack[CallOptions],
) -> SearchSummary:
    """Search a base for a condition's errors until the budget, `steps`, or the base is used up (algorithm 1).

    The same call on the same run goes on where it stopped, in the middle of a step too: a step's choice is in the
    ledger before its first question goes out, and everything else (errors, sources, what was pruned) follows from
    the choices and the answers. The budget counts every call of the run and is held before a call goes out;
    `testee_calls` are the most of the tested model alone, as the paper counts: no step begins that could exceed them.

    `model` is one that is already open; otherwise it is opened by the condition's name. A `generator` (a name, or one
    already open) writes questions for paragraphs that have none (into the base, for every other search of it), rewords
    those that were answered wrongly and have no other wording, and proposes the tasks of the strategy of that name. A
    `checker` reads what it writes a second time (the generator itself unless given); what is rejected stays so for that
    generator. A `judge` is asked about free-form answers that are not the reference's words, and may call them right.
    `embedder` turns those tasks into vectors (WordLlama unless given). `watch` is told each step, `progress` the step,
    the answers so far and how many are asked for within it.
    """
    budget = calls.get("budget") or Budget()
    helpers = {"generator": generator, "checker": checker, "judge": judge}
    is_limited = budget.is_limited or steps is not None or testee_calls is not None
    _check_search(base, condition, settings, is_limited=is_limited, helpers=helpers)
    if settings.strategy == "tasks":
        embedder = embedder_of(base.info.embedding, embedder)
    remote = resolve(condition.model).backend != "local" if model is None else getattr(model, "remote", False)
    per_paragraph = calls_per_paragraph(
        settings, condition.style, generated=generator is not None, judged=judge is not None, remote=remote
    )
    if budget.left_calls is not None and budget.left_calls < per_paragraph:
        raise InputError(
            f"A budget of {budget} cannot pay for one paragraph of {per_paragraph} calls.",
            remedy="Raise --budget, or lower --questions or --phrasings.",
        )
    named = [*helpers.values(), condition.model if model is None else None]
    to_open = [name for name in named if isinstance(name, str)]
    check_models(to_open, calls)
    index = open_index(base).info if settings.retrieval == "index" else None  # refused before anything is written
    with open_ledger(run, mode="write") as ledger:
        writer = generator if generator is None or isinstance(generator, str) else generator.name
        names = {"generator": writer, "checker": checker, "judge": judge}
        base, lines = _agree(ledger, base, condition, settings, names)
        ledger.add_conditions([condition])
        ledger.set_note("search budget", {"text": str(budget)})
        ledger.set_note(BASE_NOTE, {"path": str(base.folder.resolve())})
        if index is not None:
            ledger.set_note(INDEX_NOTE, index.to_dict())

        async def work(asker: Asker, opened: Mapping[str, Model]) -> None:
            tested = model or opened[condition.model]
            writes = opened[generator] if isinstance(generator, str) else generator
            now = SearchState(
                ledger=ledger,
                base=base,
                condition=condition,
                settings=settings,
                asker=asker,
                model=tested,
                generator=writes,
                checker=None if checker is None else opened[checker],
                judge=None if judge is None else opened[judge],
                embedder=embedder,
                progress=progress,
                items={},
                waiting={},
                given=last_answers(ledger.answers(condition.name)),
                judged=read_judged(ledger, condition.name),
                per_paragraph=per_paragraph,
                testee_calls=testee_calls,
                testee_per_paragraph=calls_per_paragraph(settings, condition.style, generated=False, remote=remote),
                batches=_group_steps(ledger.picks()),
                lines=lines,
            )
            now.take_items(ledger.items())
            await _Ascent(now, steps, watch).run()

        with_models(ledger, to_open, work, calls)
        return summarise(ledger)


def _check_search(
    base: KnowledgeBase,
    condition: Condition,
    settings: SearchSettings,
    *,
    is_limited: bool,
    helpers: Mapping[str, Model | str | None],
) -> None:
    """Raise where a search cannot be made of what was given."""
    generator, judge = helpers["generator"], helpers["judge"]
    if not is_limited:
        raise InputError("A search without a budget would ask about the whole base.", remedy="Give --budget 3000calls.")
    if generator is None and not base.askable.any():
        raise no_question_error(base)
    if settings.strategy == "tasks" and generator is None:
        raise InputError("The strategy tasks needs a model that proposes them.", remedy="Give --generator.")
    if helpers["checker"] is not None and generator is None:
        raise InputError("A checker reads what a generator writes.", remedy="Give --generator, or leave --checker out.")
    if isinstance(judge, str):
        check_judge(judge, condition)


def _agree(
    ledger: Ledger,
    base: KnowledgeBase,
    condition: Condition,
    settings: SearchSettings,
    helpers: Mapping[str, str | None],
) -> tuple[KnowledgeBase, int]:
    """The base, and how many questions had been written for it when the search began.

    What defines the search is kept in the ledger; one that is resumed must be the same. The base is held to the
    questions that it had, unless a generator writes more.
    """
    noted, writer = ledger.note(NOTE), helpers["generator"]
    lines = len(base.stored) if noted is None else int(noted.get("questions") or 0)
    if writer is None:
        base = dataclasses.replace(base, lines=lines)
    names, codes = base.categories
    counts = np.bincount(codes[drawable_rows(base, writer, lines)], minlength=len(names))
    wanted: dict[str, Any] = {
        "settings": settings.to_dict(),
        "condition": condition.name,
        **helpers,
        "questions": lines,
        "frame": sampling_frame(base, writer, lines).to_dict(),
        "base": {k: v for k, v in base.info.to_dict().items() if k in ("name", "embedding", "paragraphs", "askable")},
        "categories": {name: int(count) for name, count in zip(names, counts, strict=True) if count},
    }
    if noted is None:
        if ledger.spent().calls:
            raise InputError(
                f"{ledger.name} already holds another kind of run.", remedy="Search into a folder of its own."
            )
        ledger.set_note(NOTE, wanted)
        return base, lines
    for part in ("settings", "condition", *helpers, "base"):
        if noted.get(part) != wanted[part]:
            before, now = _difference(noted.get(part), wanted[part])
            raise InputError(
                f"{ledger.name} was begun with another {part}: {before}, not {now}.",
                remedy="Resume with the same, or search into another folder.",
            )
    return base, lines


def _difference(before: Any, now: Any) -> tuple[str, str]:
    if not isinstance(before, dict):
        return str(before), str(now)
    keys = [k for k in now if before.get(k) != now[k]]
    was, wanted = (", ".join(f"{k}={side.get(k)}" for k in keys) for side in (before, now))
    return was, wanted


def _group_steps(picks: Sequence[tuple[int, int, str]]) -> list[list[int]]:
    table: dict[int, list[int]] = {}
    for row, step, _ in picks:
        table.setdefault(step, []).append(row)
    return list(table.values())


def _read_arms(ledger: Ledger, steps: int) -> dict[int, tuple[str, int]]:
    """Which strategy of a portfolio chose each paragraph, and in which step."""
    notes = {step: ledger.note(f"{ARMS_NOTE} {step}") or {} for step in range(1, steps + 1)}
    return {row: (arm, step) for step, note in notes.items() for arm, own in note.items() for row in own}


class _Ascent:
    """The steps of a search: what is free, the trails of errors, and how far the random sample has grown."""

    def __init__(self, now: SearchState, steps: int | None, watch: Callable[[StepSummary], None] | None) -> None:
        self._now, self._steps, self._watch = now, steps, watch
        base, settings, ledger = now.base, now.settings, now.ledger
        self._names, codes = base.categories
        askable = drawable_rows(base, None if now.generator is None else now.generator.name, now.lines)
        self._order = random_order(askable, settings.seed)
        vectors = base.vectors_on_disk if settings.retrieval == "index" else base.vectors
        self._field = Field(vectors=vectors, codes=codes, free=askable, find=make_find(base, settings))
        self._field.take([row for batch in now.batches for row in batch])
        self._field.arms = _read_arms(ledger, len(now.batches))
        self._trails, self._summaries = Trails(xi=settings.xi, gamma=settings.gamma), Steps()
        self._edges: Sequence[tuple[int, int]] = ledger.retrievals()
        self._sampled = len(ledger.sample())
        self._trail: Trail | None = None

    async def run(self) -> None:
        """Finish the step that was begun, then choose and finish others until one cannot be."""
        now = self._now
        finished = await finish_step(now)
        now.learn(row for batch in now.batches for row in batch)
        self._summarise_steps()
        while finished and (self._steps is None or len(now.batches) < self._steps) and await self._begin_step():
            finished = await finish_step(now)
            now.learn(now.batches[-1])
            self._summarise_steps()

    def _summarise_steps(self) -> None:
        """Follow the trails through what is new, and tell who watches the last step."""
        now = self._now
        self._field.errors = now.errors()
        for batch in now.batches[self._trails.steps :]:
            own = set(batch)
            self._trail = self._trails.add(batch, [e for e in self._edges if e[1] in own], self._field.errors)
            step = self._summaries.add(self._trail, [now.outcomes.get(row, UNASKED) for row in batch])
            if self._watch is not None and self._trails.steps == len(now.batches):
                self._watch(step)

    async def _begin_step(self) -> bool:
        """Choose the paragraphs of the next step and keep the choice; False where there is nothing, or no budget."""
        now, settings, number = self._now, self._now.settings, len(self._now.batches) + 1
        size = self._affordable_size()
        if size < 1:
            if not now.batches:
                raise BudgetExhausted(
                    f"The budget ({now.asker.budget}) has no calls left.", remedy="Raise --budget or --testee-budget."
                )
            return False
        try:
            tasks = await self._propose_tasks(number)
        except BudgetExhausted:
            return False
        plan = plan_step(
            self._field,
            settings,
            step=number,
            order=self._order,
            sampled=self._sampled,
            sources=self._trail.sources if self._trail else (),
            size=size,
            tasks=tasks.vectors,
        )
        if not plan.picks:
            return False
        if settings.strategy == "tasks":
            now.ledger.set_note(f"{TASKS_NOTE} {number}", tasks.note(plan.tasks))
        if plan.arms:
            now.ledger.set_note(f"{ARMS_NOTE} {number}", {arm: list(own) for arm, own in plan.arms.items()})
            self._field.arms |= {row: (arm, number) for arm, own in plan.arms.items() for row in own}
        now.ledger.add_step(number, picks=plan.picks, retrievals=plan.edges, sample=plan.sample)
        now.batches.append([row for row, _ in plan.picks])
        self._edges, self._sampled = list(plan.edges), self._sampled + len(plan.sample)
        return True

    def _affordable_size(self) -> int:
        """How many paragraphs the next step has: none is begun that the calls left cannot finish."""
        now, left, size = self._now, self._now.asker.budget.left_calls, self._now.settings.batch
        if left is not None:
            proposing = now.settings.strategy == "tasks" and bool(now.batches)
            size = min(size, (left - proposing) // now.per_paragraph)
        if now.testee_calls is not None:
            rows = (row for row in now.ledger.spent_by_model() if row.model == now.condition.model)
            spent = sum(row.answers + row.failed for row in rows)
            size = min(size, (now.testee_calls - spent) // now.testee_per_paragraph)
        return size

    async def _propose_tasks(self, number: int) -> Proposed:
        """What a generator proposes to look for, where the strategy is that; nothing in the first step."""
        now = self._now
        if now.settings.strategy != "tasks" or not now.batches or now.generator is None or now.embedder is None:
            return Proposed()
        archive = read_archive(now.ledger, len(now.batches), self._field.errors)
        rng = np.random.default_rng([now.settings.seed, number, 1])
        return await _new_tasks(rng.permutation(self._names).tolist(), archive, now.asker, now.generator, now.embedder)


async def _new_tasks(
    topics: Sequence[str], archive: Sequence[Task], asker: Asker, generator: Model, embedder: Embedder
) -> Proposed:
    (reply,) = await replies(asker, generator, [(task_messages(topics, archive), TASKS)])
    texts, dropped = read_tasks(reply)
    fresh, vectors = new_tasks(texts, [task.text for task in archive], embedder)
    return Proposed(texts=tuple(fresh), vectors=vectors, dropped=dropped + len(texts) - len(fresh))
