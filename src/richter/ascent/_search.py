"""Stochastic error ascent through the ledger: choose, keep the choice, ask, learn, until the budget is used."""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from richter.ascent._field import Field, Find
from richter.ascent._graph import follow
from richter.ascent._outcome import Outcome, outcomes, paragraph_items
from richter.ascent._propose import plan_step, random_order
from richter.ascent._settings import SearchSettings
from richter.ascent._summary import SearchSummary, StepSummary, summarise
from richter.errors import BudgetExhausted, InputError
from richter.knowledge import KnowledgeBase, find_similar
from richter.llm import Asker, Budget, Job, Model, Price, check_model, messages_for, open_model, price_of, read_prices
from richter.records import Condition
from richter.store import Ledger, open_ledger

__all__ = ["make_find", "run_search"]

NOTE = "search"


def make_find(base: KnowledgeBase, settings: SearchSettings) -> Find:
    """The base's retrieval as a search uses it."""

    def find(rows: NDArray[np.int64], k: int, exclude: NDArray[np.bool_]) -> NDArray[np.int64]:
        queries = np.asarray(base.vectors[rows], dtype=np.float32)
        if settings.retrieval == "exact":
            return find_similar(queries, base.vectors, k, exclude=exclude)
        return find_similar(
            queries, base.vectors, k, abstracts=base.abstracts, first_rows=base.first_rows, exclude=exclude
        )

    return find


def run_search(
    run: str | Path,
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
    watch: Callable[[StepSummary], None] | None = None,
    download: Callable[[int, int], None] | None = None,
) -> SearchSummary:
    """Search a base for a condition's errors until the budget, `steps`, or the base is used up (algorithm 1).

    The same call on the same run goes on where it stopped, in the middle of a step too: a step's choice is in the
    ledger before its first question goes out, and everything else (errors, sources, what was pruned) follows from
    the choices and the answers. The budget counts every call of the run and is held before a call goes out. `model`
    is one that is already open; otherwise it is opened by the condition's name.
    """
    if not budget.limited and steps is None:
        raise InputError("A search without a budget would ask about the whole base.", remedy="Give --budget 3000calls.")
    if not base.askable.any():
        raise InputError(
            f"{base.folder} has no paragraph with a question to ask.",
            remedy="Build a base with facts or human questions, or give a generator model.",
        )
    prices = read_prices() if prices is None else prices
    price = None
    if model is None:
        check_model(condition.model)
        price = price_of(condition.model, prices)
        if budget.money_usd is not None and price is None:
            raise InputError(
                f"The price of {condition.model} is unknown, so a budget in money cannot be held.",
                remedy="Add it to a prices file (--prices), or give the budget in calls or tokens.",
            )
    with open_ledger(run, mode="write") as ledger:
        _agree(ledger, base, condition, settings)
        ledger.add_conditions([condition])
        ledger.set_note("search budget", {"text": str(budget)})

        async def session() -> None:
            tested = model or open_model(
                condition.model,
                slots=min(slots, concurrency),
                context_tokens=context_tokens,
                timeout_s=timeout_s,
                prices=prices,
                progress=download,
            )
            try:
                asker = Asker(
                    ledger,
                    budget=budget,
                    prices={condition.model: price},
                    concurrency=concurrency,
                )
                await _ascend(ledger, base, condition, settings, asker, tested, steps, watch)
            finally:
                if model is None:
                    await tested.aclose()

        asyncio.run(session())
        return summarise(ledger)


def _agree(ledger: Ledger, base: KnowledgeBase, condition: Condition, settings: SearchSettings) -> None:
    """Keep what defines the search, or check that a resumed one is the same."""
    names, codes = base.categories
    counts = np.bincount(codes[base.askable], minlength=len(names))
    wanted: dict[str, Any] = {
        "settings": settings.to_dict(),
        "condition": condition.name,
        "base": {k: v for k, v in base.info.to_dict().items() if k in ("name", "embedding", "paragraphs", "askable")},
        "categories": {name: int(count) for name, count in zip(names, counts, strict=True) if count},
    }
    found = ledger.note(NOTE)
    if found is None:
        if ledger.spent().calls:
            raise InputError(
                f"{ledger.path.parent} already holds another kind of run.", remedy="Search into a folder of its own."
            )
        ledger.set_note(NOTE, wanted)
        return
    for part in ("settings", "condition", "base"):
        if found[part] != wanted[part]:
            before, now = _difference(found[part], wanted[part])
            raise InputError(
                f"{ledger.path.parent} was begun with another {part}: {before}, not {now}.",
                remedy="Resume with the same, or search into another folder.",
            )


def _difference(before: Any, now: Any) -> tuple[str, str]:
    if not isinstance(before, dict):
        return str(before), str(now)
    keys = [k for k in now if before.get(k) != now[k]]
    return tuple(", ".join(f"{k}={side.get(k)}" for k in keys) for side in (before, now))  # type: ignore[return-value]


async def _ascend(
    ledger: Ledger,
    base: KnowledgeBase,
    condition: Condition,
    settings: SearchSettings,
    asker: Asker,
    model: Model,
    steps: int | None,
    watch: Callable[[StepSummary], None] | None,
) -> None:
    _, codes = base.categories
    order = random_order(base.askable, settings.seed)
    field = Field(vectors=base.vectors, codes=codes, free=base.askable.copy(), find=make_find(base, settings))
    field.take([row for row, _, _ in ledger.picks()])
    per_paragraph = settings.questions * settings.phrasings
    tried: set[str] = set()
    while True:
        try:
            await _ask_missing(ledger, condition, asker, model, tried)
        except BudgetExhausted:
            return
        picks = ledger.picks()
        batches = _batches(picks)
        if watch is not None and batches:
            watch(summarise(ledger).steps[-1])
        if steps is not None and len(batches) >= steps:
            return
        size = settings.batch
        if asker.budget.calls is not None:  # no paragraph is begun that the calls left cannot finish
            size = min(size, (asker.budget.calls - asker.budget.spent_calls) // per_paragraph)
        if size < 1:
            if not batches:
                raise InputError(
                    f"A budget of {asker.budget} cannot pay for one paragraph of {per_paragraph} questions.",
                    remedy="Raise --budget, or lower --questions or --phrasings.",
                )
            return
        found = outcomes(ledger.items(), ledger.answers(condition.name), condition)
        field.errors = _errors(found)
        trails = follow(batches, ledger.retrievals(), field.errors, xi=settings.xi, gamma=settings.gamma)
        plan = plan_step(
            field,
            settings,
            step=len(batches) + 1,
            order=order,
            sampled=len(ledger.sample()),
            sources=trails[-1].sources if trails else (),
            size=size,
        )
        if not plan.picks:
            return
        rows = [row for row, _ in plan.picks]
        chosen = zip(rows, base.paragraphs(rows), strict=True)
        ledger.add_items([item for row, paragraph in chosen for item in paragraph_items(row, paragraph, settings)])
        ledger.add_step(len(batches) + 1, picks=plan.picks, retrievals=plan.edges, sample=plan.sample)


def _errors(found: Mapping[int, Outcome]) -> dict[int, float]:
    return {row: np.nan if o.error is None else o.error for row, o in found.items()}


def _batches(picks: list[tuple[int, int, str]]) -> list[list[int]]:
    table: dict[int, list[int]] = {}
    for row, step, _ in picks:
        table.setdefault(step, []).append(row)
    return list(table.values())


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
