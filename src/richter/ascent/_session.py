"""Open the models that a piece of work asks, hold its budget, and close them whatever happens."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeVar

from richter.engine import Engine
from richter.llm import Asker, Budget, Job, Message, Model, Price, check_model, check_price, open_model
from richter.records import Answer, Decoding
from richter.store import Ledger

T = TypeVar("T")


def check_models(
    names: Sequence[str], budget: Budget, prices: Mapping[str, Price], *, engine: Engine | None = None
) -> dict[str, Price | None]:
    """Each model's price, after what can be known without asking: no such model, no key, no price for a budget."""
    priced = {}
    for name in names:
        check_model(name, engine=engine)
        priced[name] = check_price(name, budget, prices)
    return priced


def with_models(
    ledger: Ledger,
    priced: Mapping[str, Price | None],
    work: Callable[[Asker, Mapping[str, Model]], Awaitable[T]],
    *,
    budget: Budget,
    prices: Mapping[str, Price],
    concurrency: int = 64,
    slots: int = 16,
    context_tokens: int = 1024,
    timeout_s: float = 120.0,
    download: Callable[[int, int], None] | None = None,
    engine: Engine | None = None,
) -> T:
    """Run `work` with an asker over the ledger and the models open by name."""

    async def session() -> T:
        opened: dict[str, Model] = {}
        try:
            for name in priced:
                opened[name] = open_model(
                    name,
                    slots=min(slots, concurrency),
                    context_tokens=context_tokens,
                    timeout_s=timeout_s,
                    prices=prices,
                    progress=download,
                    engine=engine,
                )
            asker = Asker(ledger, budget=budget, prices=dict(priced), concurrency=concurrency)
            return await work(asker, opened)
        finally:
            for each in opened.values():
                await each.aclose()

    return asyncio.run(session())


async def replies(asker: Asker, model: Model, asks: Sequence[tuple[list[Message], Decoding]]) -> list[str]:
    """The texts a model gives to each of these, in their order; empty where a call failed for good."""
    texts: dict[int, str] = {}

    def keep(job: Job, answer: Answer) -> None:
        texts[id(job)] = answer.text

    jobs = [Job(model=model, messages=messages, decoding=decoding) for messages, decoding in asks]
    await asker.ask_all(jobs, keep)
    return [texts[id(job)] for job in jobs]
