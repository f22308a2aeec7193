"""Asking by batch jobs: requests that wait together go out as one job of the provider's, at half the price.

A job is in the ledger before it goes out, with the keys of its calls, by which the provider names its requests too.
So a process that was killed or interrupted finds its jobs again, and nothing is sent twice. Everything else (answers,
retries, the budget) is the asker's, as of single calls.
"""

import asyncio
import dataclasses
import json
import random
import time
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from richter.errors import InputError, ModelError
from richter.models._prices import Price, price_of
from richter.models._providers import resolve
from richter.records import Answer, Decoding, call_key
from richter.store import Ledger
from richter_audit.llm._batch_results import BatchResults
from richter_audit.llm._model import Message, TryAgain

__all__ = ["BATCH_CONCURRENCY", "BatchModel", "BatchProvider", "batch_price", "can_batch", "open_batches"]

BATCH_CONCURRENCY = 20_000  # requests that may wait for jobs at a time
BATCH_SHARE = 0.5  # of the price of single calls
JOBS_NOTE = "batch jobs"  # in the ledger: the labels of all jobs; each has a note of its own
QUIET_S = 2.0  # a job goes out when no further request came for so long
POLL_S = 30.0
LONGEST_PAUSE_S = 60.0
MOST_SUBMITS = 6
BROKEN_DOWNLOADS = 3
_OPENAI_JOBS = ("openai", "groq", "")  # providers whose jobs have OpenAI's form; "" is any address


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class JobState:
    """How far a job is; `failure` says why one that ended has no results at all."""

    ended: bool
    failure: str = ""
    maybe_billed: bool = False


LOST_JOB = JobState(ended=True, failure="the provider no longer has it", maybe_billed=True)


class BatchProvider(Protocol):
    """What a provider's batch jobs look like."""

    most_requests: int
    most_bytes: int

    def body(self, messages: Sequence[Message], decoding: Decoding, draw: int) -> dict[str, Any]:
        """One request of a job."""

    async def submit(self, label: str, bodies: Mapping[str, dict[str, Any]]) -> str:
        """Send a job; its id. `TryAgain` with `maybe_billed` where the job may have been taken."""

    async def find(self, label: str, keys: set[str], since: float) -> str | None:
        """The id of a job that was sent under a label, if the provider has it."""

    async def look(self, job: str) -> JobState:
        """How far a job is."""

    async def results(self, job: str, keys: set[str]) -> BatchResults:
        """What a job brought for these requests."""

    def read(self, line: bytes, body: Mapping[str, Any]) -> Answer:
        """The answer in one line of the results; raises as `Model.ask` does."""

    async def aclose(self) -> None:
        """Close the connections."""


@dataclasses.dataclass(slots=True, kw_only=True)
class _Job:
    """A job: what it is called here and there, when it was sent, and what it asks."""

    label: str
    model: str
    at: float
    keys: list[str]
    id: str = ""
    is_gone: bool = False  # the provider never took it, or has lost it
    outcome: "asyncio.Task[_Outcome] | None" = None


@dataclasses.dataclass(slots=True, kw_only=True)
class _Outcome:
    """The results of a job, or why it has none."""

    lines: BatchResults = dataclasses.field(default_factory=BatchResults)
    failure: str = ""
    maybe_billed: bool = False


class BatchModel:
    """A model that is asked by batch jobs; for the asker a model like any other, only slow."""

    remote = True
    in_batches = True

    def __init__(
        self, name: str, provider: BatchProvider, ledger: Ledger, *, quiet_s: float = QUIET_S, poll_s: float = POLL_S
    ) -> None:
        self.name = name
        self.attempt_name = f"{name} (batch)"  # of attempts in the spending journal, which a later session takes over
        self._provider, self._ledger = provider, ledger
        self._quiet_s, self._poll_s = quiet_s, poll_s
        self._sent: dict[str, _Job] = {}  # by key: jobs of earlier sessions that nobody has read yet
        self._waiting: dict[str, tuple[dict[str, Any], asyncio.Future[_Job]]] = {}
        self._flusher: asyncio.Task[None] | None = None
        self._arrived_at = 0.0
        self._tasks: set[asyncio.Task[_Outcome]] = set()

    async def resume(self) -> set[str]:
        """Find the jobs of earlier sessions; the keys of the calls that they have sent."""
        for label in (self._ledger.note(JOBS_NOTE) or {}).get("labels", []):
            note = self._ledger.note(f"batch job {label}") or {}
            if note.get("model") != self.name or note.get("is_gone") or not note.get("keys"):
                continue
            job = _Job(label=label, model=self.name, at=note["at"], keys=note["keys"], id=note["id"])
            unanswered = [key for key in job.keys if self._ledger.find(key) is None]
            if unanswered and not job.id:
                job.id = await self._steadily(self._provider.find, label, set(job.keys), job.at) or ""
                job.is_gone = not job.id
                self._note(job)
            if not unanswered:
                job.keys = []
                self._note(job)
            elif not job.is_gone:
                self._sent |= dict.fromkeys(unanswered, job)  # the newest job that asks it counts
        return set(self._sent)

    async def ask(self, messages: Sequence[Message], decoding: Decoding, draw: int) -> Answer:
        """One attempt, in the next job or in one that was sent before. See `Model`."""
        key = call_key(self.name, list(messages), decoding, draw)
        body = self._provider.body(messages, decoding, draw)
        job = self._sent.pop(key, None)
        if job is None:
            job = await self._join(key, body)
        outcome = await asyncio.shield(self._follow(job))
        if outcome.failure:
            raise TryAgain(outcome.failure, maybe_billed=outcome.maybe_billed)
        line = outcome.lines.take(key)
        if line is None:
            raise TryAgain("the batch job came back without this request", maybe_billed=True)
        return dataclasses.replace(self._provider.read(line, body), latency_s=None)

    async def _join(self, key: str, body: dict[str, Any]) -> _Job:
        """Wait for the job that takes a request along."""
        sent: asyncio.Future[_Job] = asyncio.get_running_loop().create_future()
        self._waiting[key] = body, sent
        self._arrived_at = time.monotonic()
        if self._flusher is None:
            self._flusher = asyncio.create_task(self._flush())
        try:
            return await sent
        finally:
            self._waiting.pop(key, None)

    async def _flush(self) -> None:
        """Make jobs of what waits, once nothing more comes or a job is full."""
        try:
            while self._waiting:
                while (left := self._arrived_at + self._quiet_s - time.monotonic()) > 0:
                    if len(self._waiting) >= self._provider.most_requests:
                        break
                    await asyncio.sleep(left)
                self._send_job()
        finally:
            self._flusher = None

    def _send_job(self) -> None:
        bodies, size = dict[str, dict[str, Any]](), 0
        for key, (body, _) in self._waiting.items():
            size += len(json.dumps(body)) + 200  # with the names around it
            if bodies and (size > self._provider.most_bytes or len(bodies) >= self._provider.most_requests):
                break
            bodies[key] = body
        job = _Job(label=uuid.uuid4().hex, model=self.name, at=time.time(), keys=list(bodies))
        self._follow(job, bodies)
        for key in bodies:
            _, sent = self._waiting.pop(key)
            if not sent.done():
                sent.set_result(job)

    def _follow(self, job: _Job, bodies: Mapping[str, dict[str, Any]] | None = None) -> "asyncio.Task[_Outcome]":
        if job.outcome is None:
            job.outcome = asyncio.create_task(self._run(job, bodies or {}))
            self._tasks.add(job.outcome)
        return job.outcome

    async def _run(self, job: _Job, bodies: Mapping[str, dict[str, Any]]) -> _Outcome:
        """Send a job if it is new, wait until it has ended, and read what it brought."""
        if not job.id:
            self._note(job)
            reason = await self._submit(job, bodies)
            self._note(job)
            if job.is_gone:
                return _Outcome(failure=reason)
        looks = 0
        while not (state := await self._steadily(self._provider.look, job.id)).ended:
            await asyncio.sleep(min(self._poll_s, 0.5 * 2.0 ** min(looks, 10)))  # small jobs end soon
            looks += 1
        if state.failure:
            return _Outcome(failure=f"the batch job failed: {state.failure}", maybe_billed=state.maybe_billed)
        for _ in range(BROKEN_DOWNLOADS):
            lines = await self._steadily(self._provider.results, job.id, set(job.keys))
            if lines.has_all(job.keys):
                break  # else it may have been cut off on its way
        return _Outcome(lines=lines)

    async def _submit(self, job: _Job, bodies: Mapping[str, dict[str, Any]]) -> str:
        """Send a job, and look for it where nobody knows whether it arrived; why it did not."""
        reason = ""
        for attempt in range(MOST_SUBMITS):
            try:
                job.id = await self._provider.submit(job.label, bodies)
            except TryAgain as error:
                reason = error.reason
                if error.maybe_billed:
                    job.id = await self._steadily(self._provider.find, job.label, set(job.keys), job.at) or ""
                if not job.id:
                    await asyncio.sleep(_pause(attempt, error.retry_after_s, longest=2 * self._poll_s))
            if job.id:
                return ""
        job.is_gone = True
        return f"no batch job was taken: {reason}"

    async def _steadily(self, work: Any, *args: Any) -> Any:
        """Do what only asks for news until it succeeds: a job that was sent goes on whether it is seen or not."""
        attempt = 0
        while True:
            try:
                return await work(*args)
            except TryAgain as error:
                await asyncio.sleep(_pause(attempt, error.retry_after_s, longest=self._poll_s))
                attempt += 1

    def _note(self, job: _Job) -> None:
        """Keep a job in the ledger."""
        labels = (self._ledger.note(JOBS_NOTE) or {}).get("labels", [])
        fields = {name: getattr(job, name) for name in ("model", "at", "keys", "id", "is_gone")}
        self._ledger.set_note(f"batch job {job.label}", fields)
        if job.label not in labels:
            self._ledger.set_note(JOBS_NOTE, {"labels": [*labels, job.label]})

    async def aclose(self) -> None:
        """Close the connections; jobs that were sent go on."""
        for task in (*self._tasks, *([self._flusher] if self._flusher else [])):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._provider.aclose()


def _pause(attempt: int, retry_after_s: float | None, *, longest: float) -> float:
    pause = min(0.5 * 2.0 ** min(attempt, 10), longest, LONGEST_PAUSE_S) * random.uniform(0.5, 1.0)
    return max(pause, min(retry_after_s or 0.0, LONGEST_PAUSE_S))


def can_batch(name: str) -> bool:
    """Whether a model is asked by batch jobs where those are wanted; raises where it should be and cannot."""
    spec = resolve(name)
    if spec.backend == "local":
        return False
    is_openai = spec.backend == "http" and spec.provider in _OPENAI_JOBS
    if not is_openai and not (spec.backend == "inspect" and spec.model.startswith("anthropic/")):
        raise InputError(
            f"{name} cannot be asked by batch jobs.",
            remedy="Leave --batch out, or use openai/..., groq/..., inspect/anthropic/... or an address.",
        )
    return True


def batch_price(price: Price) -> Price:
    """What a model costs by batch jobs."""
    return Price(input_usd=BATCH_SHARE * price.input_usd, output_usd=BATCH_SHARE * price.output_usd)


def open_batches(
    name: str, ledger: Ledger, *, prices: Mapping[str, Price], timeout_s: float, **waits: float
) -> BatchModel:
    """A model that is asked by its provider's batch jobs."""
    spec, single = resolve(name), price_of(name, prices)
    price = None if single is None else batch_price(single)
    if spec.backend == "inspect":
        from richter_audit.llm._batch_anthropic import AnthropicBatches

        return BatchModel(spec.name, AnthropicBatches(spec, price=price, timeout_s=timeout_s), ledger, **waits)
    from richter_audit.llm._batch_openai import OpenAIBatches

    return BatchModel(spec.name, OpenAIBatches(spec, price=price, timeout_s=timeout_s), ledger, **waits)


def chat_only_error(name: str) -> ModelError:
    """What is raised where a request is no chat: batch jobs take chats alone."""
    return ModelError(f"{name} is asked by batch jobs, which take chat questions only.", remedy="Leave --batch out.")
