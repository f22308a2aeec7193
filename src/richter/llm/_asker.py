"""Asking through the ledger: pay once, retry what may pass, hold the budget, keep what arrived."""

import asyncio
import dataclasses
import json
import math
import random
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from richter.errors import BudgetExhausted, CallFailed, ModelError, RichterError, Unreachable
from richter.llm._budget import Budget
from richter.llm._limit import AdaptiveLimit
from richter.llm._model import Message, Model, TryAgain
from richter.llm._prices import Price
from richter.records import Answer, Decoding, call_key
from richter.store import Call, Ledger, Usage

__all__ = ["Asker", "Asks", "Direct", "Job", "Tally"]

TEMPLATE_TOKENS = 256  # a chat template's own tokens, at most
LONGEST_PAUSE_S = 30.0
LOOK_AGAIN_S = 0.5  # whether another process has the answer by now
GIVE_UP_AFTER = 10  # calls that failed for good, in a row
UNREACHABLE_AFTER = 3  # attempts that never reached anything


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One question to one model, and whose answer it is."""

    model: Model
    messages: Sequence[Message]
    decoding: Decoding
    draw: int = 0
    item: str = ""
    condition: str = ""


class Asks(Protocol):
    """Whoever answers a job: `Asker` through a ledger, `Direct` without one."""

    async def ask(self, job: Job) -> Answer:
        """The answer; `error` is set where the call failed for good."""
        ...


class Direct:
    """One attempt a job and nothing kept, for hosts that have their own log, retries and limits."""

    async def ask(self, job: Job) -> Answer:
        """The answer, or the reason why there is none."""
        try:
            answer = await job.model.ask(job.messages, job.decoding, job.draw)
        except (CallFailed, TryAgain) as error:
            return Answer(text="", item=job.item, condition=job.condition, draw=job.draw, error=str(error))
        return dataclasses.replace(answer, item=job.item, condition=job.condition, draw=job.draw)


@dataclasses.dataclass(slots=True, kw_only=True)
class Tally:
    """How far the asking has come in this session."""

    answered: int = 0
    reused: int = 0  # paid for before
    failed: int = 0
    retries: int = 0
    tokens: int = 0
    money_usd: float = 0.0
    unpriced: int = 0
    last_error: str = ""


class Asker:
    """Asks models through one ledger under one budget."""

    def __init__(
        self,
        ledger: Ledger,
        *,
        budget: Budget | None = None,
        prices: dict[str, Price | None] | None = None,
        concurrency: int = 64,
        max_attempts: int = 10,
        first_pause_s: float = 0.5,
    ) -> None:
        self.ledger = ledger
        self.budget = budget or Budget()
        self.budget.start_from(ledger)
        self.tally = Tally()
        self._prices = prices or {}
        self._concurrency = concurrency
        self._max_attempts = max_attempts
        self._first_pause_s = first_pause_s
        self._limits: dict[str, AdaptiveLimit] = {}
        self._in_progress: dict[str, asyncio.Future[None]] = {}
        self._reached: set[str] = set()
        self._failed_in_a_row = 0

    async def ask(self, job: Job) -> Answer:
        """The answer to a job: from the ledger if it was paid for before, else asked, committed, then returned.

        A call that failed for good comes back with `error` set; the run goes on. What makes all further calls
        pointless is raised.
        """
        while True:
            answer = await self._ask(job)
            if answer is not None:
                return answer
            await asyncio.sleep(LOOK_AGAIN_S)

    async def _ask(self, job: Job) -> Answer | None:
        """The answer to a job, or None while another process that writes the run is asking for it."""
        key = call_key(job.model.name, list(job.messages), job.decoding, job.draw)
        while key in self._in_progress:  # the same question twice at a time is paid for once
            await asyncio.wait([self._in_progress[key]])
        turn = self._in_progress[key] = asyncio.get_running_loop().create_future()
        try:
            found = await self.ledger.claim(key, job.item, job.condition, job.draw)
            if found == "ours":
                return await self._pay(job, key)
            if found == "theirs":
                return None
            if found.error:
                self.tally.failed += 1
                self.tally.last_error = found.error
            else:
                self.tally.reused += 1
            return found
        finally:
            del self._in_progress[key]
            turn.set_result(None)

    async def _pay(self, job: Job, key: str) -> Answer:
        try:
            answer = await self._attempts(job, key)
        except CallFailed as error:
            answer = Answer(text="", error=str(error))
        call = self._call(job, key, answer)
        await self.ledger.record(call)
        self._count(answer, job.model.name)
        return call.answer

    def _call(self, job: Job, key: str, answer: Answer, *, given_up: bool = True) -> Call:
        request = json.dumps({"messages": list(job.messages), **job.decoding.to_dict(), "draw": job.draw})
        answer = dataclasses.replace(answer, item=job.item, condition=job.condition, draw=job.draw)
        return Call(key=key, model=job.model.name, request=request, answer=answer, given_up=given_up)

    def _count(self, answer: Answer, model: str) -> None:
        if answer.error:
            self.tally.failed += 1
            self.tally.last_error = answer.error
            self._failed_in_a_row += 1
            if self._failed_in_a_row >= GIVE_UP_AFTER:
                raise ModelError(
                    f"{model} failed {self._failed_in_a_row} calls in a row; the last: {answer.error}",
                    remedy="What arrived is kept; mend the cause and run the same command again.",
                )
            return
        self._failed_in_a_row = 0
        self.tally.answered += 1
        self.tally.tokens += (answer.tokens_in or 0) + (answer.tokens_out or 0)
        self.tally.money_usd += answer.money_usd or 0.0
        self.tally.unpriced += answer.money_usd is None

    async def _attempts(self, job: Job, key: str) -> Answer:
        name = job.model.name
        limit = self._limits.setdefault(name, AdaptiveLimit(self._concurrency))
        bound = self._bound(job)
        for attempt in range(1, self._max_attempts + 1):
            async with limit:
                await self.budget.hold(bound)
                cost, failure = Usage(calls=1), ""
                try:
                    answer = await job.model.ask(job.messages, job.decoding, job.draw)
                    tokens = (answer.tokens_in or 0) + (answer.tokens_out or 0)
                    cost = Usage(calls=1, tokens=tokens, money_usd=answer.money_usd or 0.0)
                    limit.succeeded()
                    self._reached.add(name)
                    return answer
                except TryAgain as error:
                    again, failure = error, error.reason
                    if error.maybe_billed:
                        cost = bound
                    if error.slow_down:
                        limit.slow_down(error.retry_after_s)
                except asyncio.CancelledError:
                    failure = "cancelled"
                    raise
                finally:
                    self.budget.settle(bound, cost)
                    if failure and attempt < self._max_attempts:  # it went out, so it counts, whatever comes next
                        self.ledger.record_soon(self._call(job, key, Answer(text="", error=failure), given_up=False))
            if again.connected:
                self._reached.add(name)
            elif attempt >= UNREACHABLE_AFTER and name not in self._reached:
                raise Unreachable(f"{name}: {again.reason}.", remedy="Check the address and the network.")
            if attempt < self._max_attempts:
                self.tally.retries += 1
                await asyncio.sleep(self._pause(attempt, again.retry_after_s))
        raise CallFailed(f"{name}: {again.reason} ({self._max_attempts} attempts).")

    def _pause(self, attempt: int, retry_after_s: float | None) -> float:
        """Exponential, with jitter so that calls refused together do not come back together."""
        pause: float = min(self._first_pause_s * 2.0 ** (attempt - 1), LONGEST_PAUSE_S) * random.uniform(0.5, 1.0)
        return max(pause, retry_after_s or 0.0)

    def _bound(self, job: Job) -> Usage:
        """The most that one attempt can cost; without limit where the price is unknown and money is limited."""
        if not self.budget.limited:
            return Usage(calls=1)
        # a token is at least one byte, so bytes bound tokens whatever the tokenizer
        tokens_in = sum(len(m["content"].encode()) for m in job.messages) + TEMPLATE_TOKENS
        price = self._prices.get(job.model.name)
        unknown = 0.0 if self.budget.money_usd is None else math.inf
        money = price.cost(tokens_in, job.decoding.max_tokens) if price else unknown
        return Usage(calls=1, tokens=tokens_in + job.decoding.max_tokens, money_usd=money)

    async def ask_all(self, jobs: Iterable[Job], keep: Callable[[Job, Answer], None] | None = None) -> None:
        """Ask every job, a bounded number at a time, taking them from the iterable as it goes; `keep` gets each.

        What other processes are asking for comes last, when most of it is answered. Where the budget is used up, what
        is on its way is kept before that is raised: it has been paid for.
        """
        source, theirs = iter(jobs), deque[Job]()
        used_up: list[BudgetExhausted] = []

        async def ask_each() -> None:
            for job in source:
                answer = await self._ask(job)
                if answer is None:
                    theirs.append(job)
                elif keep is not None:
                    keep(job, answer)
                if used_up:
                    return
            while theirs:
                job = theirs.popleft()
                answer = await self.ask(job)
                if keep is not None:
                    keep(job, answer)
                if used_up:
                    return

        async def work() -> None:
            try:
                await ask_each()
            except BudgetExhausted as error:
                used_up.append(error)

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(self._concurrency):
                    group.create_task(work())
        except BaseExceptionGroup as errors:
            ours, _ = errors.split(RichterError)
            raise (_first(ours) if ours else _first(errors)) from None
        if used_up:
            raise used_up[0]


def _first(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
