"""Asking through the ledger: pay once, retry what may pass, hold the budget, keep what arrived."""

import asyncio
import dataclasses
import json
import math
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from richter.errors import BudgetExhausted, CallFailed, ModelError, RichterError, StorageFull, Unreachable
from richter.models._prices import Price
from richter.records import Answer, Decoding, call_key, printable
from richter.store import SERVED_NOTE, Call, Ledger, Usage
from richter_audit.llm._adaptive_limit import AdaptiveLimit
from richter_audit.llm._admit_answers import admit
from richter_audit.llm._batch_jobs import BatchModel
from richter_audit.llm._budget import Budget
from richter_audit.llm._model import AttemptFailed, Message, Model, Refused, TryAgain
from richter_audit.llm._sentinel import DECODING as SENTINEL
from richter_audit.llm._sentinel import Sentinels

__all__ = ["MOST_TOKENS", "TOKENS_NOTE", "Asker", "Asks", "Direct", "Job", "Tally"]

TEMPLATE_TOKENS = 256  # a chat template's own tokens, at most
LONGEST_PAUSE_S = 30.0
GIVE_UP_AFTER = 10  # calls that failed for good, in a row
REFUSED_AT_FIRST = 3  # refusals that may be of all questions, in a row, where none was ever answered ...
REFUSED_BY_ALL = 30  # ... or where some were: a server may refuse single questions
UNREADABLE = 5  # whole replies to one question that are no answer: each may have been billed
UNREACHABLE_AFTER = 3  # attempts that never reached anything
MOST_TOKENS = 8192  # of an answer, however often it was cut off
TOKENS_NOTE = "tokens"  # by model: how many an answer needed


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One question to one model, and whose answer it is; `cut` tells which answers that were cut off are no use."""

    model: Model
    messages: Sequence[Message]
    decoding: Decoding
    draw: int = 0
    item: str = ""
    condition: str = ""
    cut: Callable[[Answer], bool] | None = None  # None: an answer is taken as it comes
    confidences: Callable[[Answer], Mapping[str, float]] | None = None  # by source: how sure an answer is when it comes


class Asks(Protocol):
    """Whoever answers a job: `Asker` through a ledger, `Direct` without one."""

    async def ask(self, job: Job) -> Answer:
        """The answer; `error` is set where the call failed for good."""


class Direct:
    """One attempt a job and nothing kept, for hosts that have their own log, retries and limits."""

    async def ask(self, job: Job) -> Answer:
        """The answer, or the reason why there is none."""
        try:
            answer = await job.model.ask(job.messages, job.decoding, job.draw)
        except (CallFailed, AttemptFailed) as error:
            answer = Answer(text="", error=str(error))
        return _assign_to(admit(answer)[0], job)


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
    truncated: int = 0  # cut off at the most tokens that were allowed
    server_notes: list[str] = dataclasses.field(default_factory=list)  # what people should know of a server, once each


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
        most_tokens: int | None = None,
    ) -> None:
        self.ledger = ledger
        self.budget = budget or Budget()
        self.budget.start_from(ledger)
        self.tally = Tally()
        self._prices = prices or {}
        self._concurrency = concurrency
        self._max_attempts = max_attempts
        self._first_pause_s = first_pause_s
        self._most_tokens = MOST_TOKENS if most_tokens is None else most_tokens
        self._needed: dict[str, int] = {**(ledger.note(TOKENS_NOTE) or {})}
        self._served: dict[str, list[str]] = {**(ledger.note(SERVED_NOTE) or {})}
        self._limits: dict[str, AdaptiveLimit] = {}
        self._in_progress: dict[str, asyncio.Future[None]] = {}
        self._reached: set[str] = set()
        self._answered: set[str] = set()
        # how many times its bound a call may cost, where a server showed it, here or in an earlier session
        self._excess: dict[str, float] = {**(ledger.note("excess") or {})}
        self._failed_in_a_row = 0
        self._answered_at = -math.inf
        self.sentinels = Sentinels()
        self._trusted_at = time.time()
        self._taken_over: dict[str, str] = {}  # attempts by key, of batch jobs that an earlier session sent

    async def take_over(self, model: BatchModel) -> None:
        """Go on with the batch jobs of earlier sessions: what they hold of the budget is ours, and not held again."""
        left = self.ledger.take_over(model.attempt_name)
        sent = await model.resume()
        self._taken_over |= {key: attempt for key, attempt in left.items() if key in sent}
        self.ledger.give_back([attempt for key, attempt in left.items() if key not in sent])

    async def ask(self, job: Job) -> Answer:
        """The answer to a job: from the ledger if it was paid for before, else asked, committed, then returned.

        A call that failed for good comes back with `error` set; the run goes on. What makes all further calls
        pointless is raised.

        Where a server cut an answer off it is asked again with twice the tokens, up to the most allowed, and what one
        answer of a model needed is the first limit of its next. Each is a call of its own for the budget; only the last
        is the item's answer, so that a resumed run finds the others paid for and goes on.
        """
        if job.cut is None or not getattr(job.model, "remote", False):
            return await self._ask_once(dataclasses.replace(job, cut=None))
        cut_off: tuple[Job, Answer] | None = None
        tokens = job.decoding.max_tokens
        while 2 * tokens <= self._most_tokens and tokens < self._needed.get(job.model.name, 0):
            tokens *= 2
        while True:
            last = 2 * tokens > self._most_tokens
            decoding = dataclasses.replace(job.decoding, max_tokens=tokens)
            now = dataclasses.replace(job, decoding=decoding, cut=None if last else job.cut)
            answer = await self._ask_once(now)
            if answer.error and cut_off is not None:  # it allows no more: what there is counts
                before, answer = cut_off
                self.ledger.link(job.item, job.condition, job.draw, _key(before))
                self.tally.failed, self.tally.answered = self.tally.failed - 1, self.tally.answered + 1
                self.tally.truncated += 1
                return answer
            if not _goes_on(now, answer):
                return answer
            cut_off, tokens = (now, answer), 2 * tokens
            if tokens > self._needed.get(job.model.name, 0):
                self._needed[job.model.name] = tokens
                self.ledger.set_note(TOKENS_NOTE, self._needed)

    async def _ask_once(self, job: Job) -> Answer:
        key = _key(job)
        while key in self._in_progress:  # the same question twice at a time is paid for once
            await asyncio.wait([self._in_progress[key]])
        turn = self._in_progress[key] = asyncio.get_running_loop().create_future()
        try:
            known = self.ledger.find(key)
            if known is None:
                return await self._pay(job, key)
            if not _goes_on(job, known):
                self.tally.reused += 1
                if job.condition:
                    self.ledger.link(job.item, job.condition, job.draw, key)
                if job.confidences is not None:
                    self.ledger.share_confidences(key, job.item, job.condition, job.draw)
            return _assign_to(known, job)
        finally:
            del self._in_progress[key]
            turn.set_result(None)

    async def _pay(self, job: Job, key: str) -> Answer:
        """Make attempts until one brings an answer or none will; each is in the journal before it goes out."""
        name, began, unreadable = job.model.name, time.monotonic(), 0
        limit = self._limit_of(name, in_batches=isinstance(job.model, BatchModel))
        for attempt in range(1, self._max_attempts + 1):
            tried = await self._attempt(job, key, limit)
            if tried.failure is None:
                await asyncio.shield(self._record(job, key, tried.answer, tried.held, tried.cost, aside=tried.aside))
                self._count_answer(job, tried.answer)
                await self._watch_binding(job, tried.answer)
                return _assign_to(tried.answer, job)
            failure, reason = tried.failure, tried.answer.error
            unreadable += bool(tried.aside)
            again = isinstance(failure, TryAgain) and attempt < self._max_attempts and unreadable < UNREADABLE
            if isinstance(failure, TryAgain) and not again:
                reason = f"{name}: {reason} ({attempt} attempts)."
            answer, _ = admit(Answer(text="", error=reason))
            done = self._record(job, key, answer, tried.held, tried.cost, given_up=not again, aside=tried.aside)
            if isinstance(failure, TryAgain):
                self._check_reached(name, attempt, failure)
            if not again:
                await asyncio.shield(done)
                break
            await self._wait_to_retry(attempt, failure, reason)
        if job.decoding is not SENTINEL:
            self._count_failure(name, key, answer.error, failure, began)
        return _assign_to(answer, job)

    def _limit_of(self, name: str, *, in_batches: bool) -> AdaptiveLimit:
        """How many calls to a model go out at a time."""
        limit = self._limits.get(name)
        if limit is None:
            limit = self._limits[name] = AdaptiveLimit(self._concurrency)
            if not in_batches and (self.budget.tokens is not None or self.budget.money_usd is not None):
                limit.restart()  # whether the server keeps to a token limit is not known yet
        return limit

    async def _attempt(self, job: Job, key: str, limit: AdaptiveLimit) -> "_Attempted":
        """Hold what one attempt may cost, and make it."""
        async with limit:
            bound = self._bound(job)
            in_batches = isinstance(job.model, BatchModel)
            name = job.model.attempt_name if isinstance(job.model, BatchModel) else job.model.name
            held = self._taken_over.pop(key, None) or await self.budget.hold(key, name, bound)
            try:
                given = await job.model.ask(job.messages, job.decoding, job.draw)
            except (AttemptFailed, CallFailed) as error:
                if isinstance(error, TryAgain) and error.slow_down:
                    limit.slow_down(error.retry_after_s)
                return _failed_attempt(held, error, bound)
            except BaseException as error:  # cancelled, or what no question passes: it went out, so it counts
                if in_batches and not isinstance(error, ModelError):
                    raise  # its job goes on; whoever resumes takes the attempt over
                cost = Usage(calls=1) if isinstance(error, ModelError) else bound
                failed = Answer(text="", error=printable(str(error), limit=300) or type(error).__name__)
                self._record(job, key, failed, held, cost, given_up=False)
                raise
            answer, aside = admit(given)
            return _Attempted(held, answer, aside, self._cost(job, answer, bound, limit), None)

    async def _wait_to_retry(self, attempt: int, failure: AttemptFailed | CallFailed, reason: str) -> None:
        """Pause before the next attempt; not where the request was changed, which people are told."""
        self.tally.retries += 1
        if isinstance(failure, TryAgain) and failure.changed:
            self._say(reason)
        else:
            wait_s = failure.retry_after_s if isinstance(failure, TryAgain) else None
            await asyncio.sleep(self._pause(attempt, wait_s))

    def _cost(self, job: Job, answer: Answer, bound: Usage, limit: AdaptiveLimit) -> Usage:
        """What an answer cost; its bound where that is not known.

        Where a server does not keep to its token limit, more is held for each call, and one goes out at a time.
        """
        tokens = bound.tokens
        if answer.tokens_in is not None and answer.tokens_out is not None:
            tokens = answer.tokens_in + answer.tokens_out
        money = bound.money_usd if answer.money_usd is None else answer.money_usd
        limit.count_success()
        if tokens > bound.tokens or (money > bound.money_usd > 0):
            name, least = job.model.name, self._bound(job, excess=1.0)
            excess = max(tokens / least.tokens, money / least.money_usd if least.money_usd else 0.0)
            self._excess[name] = max(self._excess.get(name, 1.0), 2 * excess)
            self.ledger.set_note("excess", self._excess)
            if not isinstance(job.model, BatchModel):
                limit.restart()
            self._say(f"{name} does not keep to the most tokens it is allowed: more of the budget is held for each")
        return Usage(1, tokens, money)

    def _say(self, text: str) -> None:
        """Tell people something of a server, once, and keep it with the run."""
        if text not in self.tally.server_notes:
            self.tally.server_notes.append(text)
            before = (self.ledger.note("servers") or {}).get("said", [])
            self.ledger.set_note("servers", {"said": [*before, text]})

    @property
    def waiting_s(self) -> float:
        """How long nothing goes out, because a server asked for that."""
        return max((limit.waiting_s for limit in self._limits.values()), default=0.0)

    def _count_answer(self, job: Job, answer: Answer) -> None:
        name = job.model.name
        self._reached.add(name)
        self._answered.add(name)
        self._failed_in_a_row = 0
        self._answered_at = time.monotonic()
        tally = self.tally
        whole = not _goes_on(job, answer)
        tally.answered += whole and job.decoding is not SENTINEL  # which is nobody's question
        tally.tokens += (answer.tokens_in or 0) + (answer.tokens_out or 0)
        tally.money_usd += answer.money_usd or 0.0
        tally.unpriced += answer.money_usd is None
        tally.truncated += whole and answer.truncated
        if answer.served:
            self._note_served(name, answer.served)

    def _note_served(self, model: str, served: str) -> None:
        """Keep the models that a server says it answered with; people are told where it is another than was asked."""
        if served in self._served.get(model, ()):
            return
        names = self._served[model] = [*self._served.get(model, ()), served]
        self.ledger.set_note(SERVED_NOTE, self._served)
        if len(names) > 1:
            self._say(f"{model} answers as several models: {', '.join(names)}")
        elif served.rpartition("/")[2] != model.rpartition("#")[2].rpartition("/")[2]:
            self._say(f"{model} answers as {served}")

    async def _watch_binding(self, job: Job, answer: Answer) -> None:
        """Send a sentinel now and then; where its word turns up under another question, the run ends."""
        own = job.messages[-1]["content"].rpartition(" ")[2] if job.decoding is SENTINEL else ""
        if stray := self.sentinels.stray(answer.text, own):
            note = {"model": job.model.name, "since": self._trusted_at, "until": time.time(), "word": stray}
            self.ledger.set_note("suspects", note)
            raise ModelError(
                f"{job.model.name} gave an answer under the wrong question: a sentinel's word came back elsewhere. All "
                f"answers since {time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(self._trusted_at))} are suspect.",
                remedy="Find out what swaps replies (a proxy?), and ask into a new run.",
            )
        if own and own in answer.text:
            self.sentinels.returned += 1
            self._trusted_at = time.time()
        elif not own and _may_swap_replies(job.model) and self.sentinels.is_due(job.model.name):
            messages = self.sentinels.ask()
            await self.ask(Job(model=job.model, messages=messages, decoding=SENTINEL))

    def _record(
        self, job: Job, key: str, answer: Answer, held: str, cost: Usage, *, given_up: bool = True, aside: bytes = b""
    ) -> asyncio.Future[None]:
        asked = {"messages": list(job.messages), **job.decoding.to_dict(), "draw": job.draw}
        request = json.dumps(asked | ({"served": answer.served} if answer.served else {}))
        done = self.ledger.record_soon(
            Call(
                key=key,
                model=job.model.name,
                request=request,
                answer=_assign_to(answer, dataclasses.replace(job, condition="") if _goes_on(job, answer) else job),
                given_up=given_up,
                attempt=held,
                cost=cost,
                aside=aside,
                confidences={} if job.confidences is None or answer.error else job.confidences(answer),
            )
        )
        done.add_done_callback(self.budget.notify_settled)
        return done

    def _check_reached(self, name: str, attempt: int, failure: TryAgain) -> None:
        if failure.connected:
            self._reached.add(name)
        elif attempt >= UNREACHABLE_AFTER and name not in self._reached:
            raise Unreachable(f"{name}: {failure.reason}.", remedy="Check the address and the network.")

    def _count_failure(
        self, name: str, key: str, reason: str, failure: AttemptFailed | CallFailed, began: float
    ) -> None:
        """Count a question that was given up; raises what is wrong where no question passes."""
        self.tally.failed += 1
        # what failed before, or while others were answered, says nothing of the server
        if self._answered_at > began or self.ledger.times_given_up(key) > 1:
            return
        self._failed_in_a_row += 1
        if isinstance(failure, Refused):
            known = name in self._answered or self.ledger.has_answers(name)
            if failure.if_all is not None and self._failed_in_a_row >= (REFUSED_BY_ALL if known else REFUSED_AT_FIRST):
                raise failure.if_all
            if not failure.maybe_billed and known and self._failed_in_a_row < REFUSED_BY_ALL:
                return
        if self._failed_in_a_row >= GIVE_UP_AFTER:
            raise ModelError(
                f"{name} failed {self._failed_in_a_row} calls in a row; the last: {reason}",
                remedy="What arrived is kept; mend the cause and run the same command again.",
            )

    def _pause(self, attempt: int, retry_after_s: float | None) -> float:
        """Exponential, with jitter so that calls refused together do not come back together."""
        pause: float = min(self._first_pause_s * 2.0 ** (attempt - 1), LONGEST_PAUSE_S) * random.uniform(0.5, 1.0)
        return max(pause, retry_after_s or 0.0)

    def _bound(self, job: Job, *, excess: float | None = None) -> Usage:
        """The most that one attempt can cost; without limit where the price is unknown and money is limited."""
        # a token is at least one byte, so bytes bound tokens whatever the tokenizer
        tokens_in = sum(len(m["content"].encode("utf-8", "replace")) for m in job.messages) + TEMPLATE_TOKENS
        price = self._prices.get(job.model.name)
        unknown = 0.0 if self.budget.money_usd is None else math.inf
        money = price.cost(tokens_in, job.decoding.max_tokens) if price else unknown
        excess = self._excess.get(job.model.name, 1.0) if excess is None else excess
        return Usage(1, math.ceil(excess * (tokens_in + job.decoding.max_tokens)), excess * money)

    async def ask_all(self, jobs: Iterable[Job], keep: Callable[[Job, Answer], None] | None = None) -> None:
        """Ask every job, a bounded number at a time, taking them from the iterable as it goes; `keep` gets each.

        Where budget or disk has no more room, what is on its way is kept before that is raised: it has been paid for.
        """
        queue = _JobQueue(iter(jobs), keep or (lambda job, answer: None))
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(self._concurrency):
                    group.create_task(self._work_off(queue))
        except BaseExceptionGroup as errors:
            ours, _ = errors.split(RichterError)
            raise (_first(ours) if ours else _first(errors)) from None
        if queue.used_up is not None:
            raise queue.used_up

    async def _work_off(self, queue: "_JobQueue") -> None:
        """Ask jobs of a queue, one after the other, until it is empty or there is room for no more."""
        try:
            for job in queue.jobs:
                queue.keep(job, await self.ask(job))
                if queue.used_up is not None:
                    return
        except (BudgetExhausted, StorageFull) as error:
            queue.used_up = queue.used_up or error


class _Attempted(NamedTuple):
    """What one attempt brought: an answer, or a failure with its reason as the answer's error; and what it cost."""

    held: str
    answer: Answer
    aside: bytes
    cost: Usage
    failure: AttemptFailed | CallFailed | None


def _failed_attempt(held: str, failure: AttemptFailed | CallFailed, bound: Usage) -> _Attempted:
    if isinstance(failure, AttemptFailed):
        cost = bound if failure.maybe_billed else Usage(calls=1)
        return _Attempted(held, Answer(text="", error=failure.reason), failure.aside, cost, failure)
    return _Attempted(held, Answer(text="", error=str(failure)), b"", Usage(calls=1), failure)


@dataclasses.dataclass(slots=True)
class _JobQueue:
    """Jobs to ask, and what there is no more room for."""

    jobs: Iterator[Job]
    keep: Callable[[Job, Answer], None]
    used_up: BudgetExhausted | StorageFull | None = None


def _key(job: Job) -> str:
    return call_key(job.model.name, list(job.messages), job.decoding, job.draw)


def _may_swap_replies(model: Model) -> bool:
    """Whether replies could reach the wrong question unseen; those of a batch job carry their calls' keys."""
    return getattr(model, "remote", False) and not isinstance(model, BatchModel)


def _goes_on(job: Job, answer: Answer) -> bool:
    """Whether an answer was cut off, and is asked again with more tokens."""
    return job.cut is not None and not answer.error and answer.truncated and job.cut(answer)


def _assign_to(answer: Answer, job: Job) -> Answer:
    return dataclasses.replace(answer, item=job.item, condition=job.condition, draw=job.draw)


def _first(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
