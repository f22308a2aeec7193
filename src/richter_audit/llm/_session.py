"""Open the models that a piece of work asks, hold its budget, and close them whatever happens."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from typing import Any, TypedDict, TypeVar

from richter.engine import Engine
from richter.models._prices import Price, price_of, read_prices
from richter.records import Answer, Decoding
from richter.store import Ledger
from richter_audit.llm._asker import Asker, Job
from richter_audit.llm._batch_jobs import BATCH_CONCURRENCY, BatchModel, batch_price, can_batch, open_batches
from richter_audit.llm._budget import Budget
from richter_audit.llm._model import Message, Model
from richter_audit.llm._open_models import check_model, check_price, open_model

__all__ = ["CallOptions", "at_once", "check_models", "replies", "with_models"]

T = TypeVar("T")


class CallOptions(TypedDict, total=False):
    """How calls are made: within a budget, at prices, so many at once, for so long; what is told; where they run.

    With `batch`, models are asked by their providers' batch jobs, at half the price.
    `slots` and `context_tokens` (of each) matter to local models, `timeout_s` and `most_tokens` (up to which those of
    an answer that was cut off are doubled) to the others.
    """

    budget: Budget | None
    prices: Mapping[str, Price] | None
    concurrency: int
    slots: int
    context_tokens: int | None
    timeout_s: float
    max_attempts: int
    most_tokens: int | None
    batch: bool
    download: Callable[[int, int], None] | None
    engine: Engine | None
    waits: Mapping[str, float]  # of batch jobs, in seconds: quiet_s before one goes out, poll_s between looks


def check_models(names: Iterable[str], calls: CallOptions) -> None:
    """Raise what can be known without asking: no such model, no key, no price for a budget in money."""
    budget, prices = calls.get("budget") or Budget(), calls.get("prices")
    prices = read_prices() if prices is None else prices
    for name in names:
        check_model(name, engine=calls.get("engine"))
        check_price(name, budget, prices)
        if calls.get("batch"):
            can_batch(name)


def with_models(
    ledger: Ledger,
    names: Iterable[str],
    work: Callable[[Asker, Mapping[str, Model]], Awaitable[T]],
    calls: CallOptions,
) -> T:
    """Run `work` with an asker over the ledger and the models open by name."""
    prices, concurrency = calls.get("prices"), calls.get("concurrency", 64)
    known = read_prices() if prices is None else prices
    names = list(dict.fromkeys(names))

    async def session() -> T:
        opened: dict[str, Model] = {}
        by_batch: dict[str, BatchModel] = {}
        try:
            for name in names:
                if calls.get("batch") and can_batch(name):
                    by_batch[name] = opened[name] = open_batches(
                        name, ledger, prices=known, timeout_s=calls.get("timeout_s", 120.0), **calls.get("waits", {})
                    )
                    continue
                opened[name] = open_model(
                    name,
                    slots=min(calls.get("slots", 16), concurrency),
                    context_tokens=calls.get("context_tokens") or 1024,
                    timeout_s=calls.get("timeout_s", 120.0),
                    prices=known,
                    progress=calls.get("download"),
                    engine=calls.get("engine"),
                )
            asker = Asker(
                ledger,
                budget=calls.get("budget"),
                prices={name: _price(name, known, by_batch=name in by_batch) for name in names},
                concurrency=max(concurrency, BATCH_CONCURRENCY) if by_batch else concurrency,
                max_attempts=calls.get("max_attempts", 10),
                most_tokens=calls.get("most_tokens"),
            )
            for model in by_batch.values():
                await asker.take_over(model)
            return await work(asker, opened)
        finally:
            for each in opened.values():
                await each.aclose()

    return asyncio.run(session())


def _price(name: str, known: Mapping[str, Price], *, by_batch: bool) -> Price | None:
    price = price_of(name, known)
    return batch_price(price) if by_batch and price is not None else price


async def at_once(work: Callable[[], Coroutine[Any, Any, None]], number: int) -> None:
    """So many workers side by side, until all have ended; the first that fails ends them all, with its own error."""
    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(number):
                group.create_task(work())
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None  # one line for people, not a group of sixteen


async def replies(asker: Asker, model: Model, asks: Sequence[tuple[list[Message], Decoding]]) -> list[str]:
    """The texts a model gives to each of these, in their order; empty where a call failed for good."""
    texts: dict[int, str] = {}

    def keep(job: Job, answer: Answer) -> None:
        texts[id(job)] = answer.text

    jobs = [Job(model=model, messages=messages, decoding=decoding) for messages, decoding in asks]
    await asker.ask_all(jobs, keep)
    return [texts[id(job)] for job in jobs]
