"""Batch jobs in Anthropic's form: a list of messages is sent, the results are one file."""

import datetime
import os
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from richter.errors import MissingKey
from richter.models._prices import Price
from richter.models._providers import ModelSpec
from richter.records import Answer, Decoding, printable
from richter_audit.llm._admit_answers import count
from richter_audit.llm._batch_jobs import LOST_JOB, JobState, chat_only_error
from richter_audit.llm._batch_openai import PAGES, JobsClient, read_line
from richter_audit.llm._batch_results import BatchResults
from richter_audit.llm._model import Message, Refused, TryAgain

KEY, ADDRESS = "ANTHROPIC_API_KEY", "https://api.anthropic.com"
CLOCKS_S = 300.0  # by which a provider's clock may differ from ours
JOBS = "v1/messages/batches"
LONGEST_ASIDE = 2**20
_NULL = msgspec.Raw(b"null")


class _Job(msgspec.Struct):
    id: str = ""
    processing_status: str = ""
    created_at: str = ""
    request_counts: dict[str, int] | None = None


class _Page(msgspec.Struct):
    data: list[_Job] | None = None
    has_more: bool | None = None
    last_id: str | None = None


class _Error(msgspec.Struct):
    type: str = ""
    message: str = ""
    error: "_Error | None" = None


class _Result(msgspec.Struct):
    type: str = ""
    message: msgspec.Raw = _NULL
    error: _Error | None = None


class _Line(msgspec.Struct):
    result: _Result


class _Part(msgspec.Struct):
    type: str = ""
    text: str | None = None


class _Usage(msgspec.Struct):
    input_tokens: Any = None
    output_tokens: Any = None


class _Message(msgspec.Struct):
    content: list[_Part]
    usage: _Usage | None = None
    stop_reason: str | None = None
    model: str | None = None


class AnthropicBatches:
    """Jobs behind `/v1/messages/batches`."""

    most_requests = 100_000
    most_bytes = 250_000_000

    def __init__(self, spec: ModelSpec, *, price: Price | None, timeout_s: float) -> None:
        self._name, self._model, self._price = spec.name, spec.model.partition("/")[2], price
        key = os.environ.get(KEY, "").strip()
        if not key:
            raise MissingKey(f"{spec.name} needs a key, and the environment has no {KEY}.", remedy=f"export {KEY}=...")
        url = (os.environ.get("ANTHROPIC_BASE_URL") or ADDRESS).rstrip("/")
        headers = {"x-api-key": key, "anthropic-version": "2023-06-01"}
        self._client = JobsClient(url, key, headers, timeout_s=timeout_s)
        self._known: set[str] = set()  # jobs that are somebody's already

    def body(self, messages: Sequence[Message], decoding: Decoding, draw: int) -> dict[str, Any]:
        """One request's parameters: instructions apart from the messages, no seed and no log-probabilities."""
        if messages[0]["role"] == "text" or decoding.choices:
            raise chat_only_error(self._name)
        system = "\n".join(m["content"] for m in messages if m["role"] == "system")
        params: dict[str, Any] = {
            "model": self._model,
            "max_tokens": decoding.max_tokens,
            "temperature": min(decoding.temperature, 1.0),
            "messages": [m for m in messages if m["role"] != "system"],
        }
        if system:
            params["system"] = system
        if decoding.top_p is not None:
            params["top_p"] = decoding.top_p
        return params

    async def submit(self, label: str, bodies: Mapping[str, dict[str, Any]]) -> str:
        """Send the requests as one job."""
        requests = [{"custom_id": key, "params": body} for key, body in bodies.items()]
        job = await self._client.json(_Job, "POST", JOBS, json={"requests": requests})
        if not job or not job.id:
            raise TryAgain("the provider gave a job no id", maybe_billed=True)
        self._known.add(job.id)
        return job.id

    async def find(self, label: str, keys: set[str], since: float) -> str | None:
        """The job of these requests: jobs carry no label, so their results tell, once they have ended."""
        after = ""
        for _ in range(PAGES):
            page = await self._client.json(_Page, "GET", f"{JOBS}?limit=100{after}") or _Page()
            for job in page.data or []:
                if _made_at(job) < since - CLOCKS_S:
                    return None
                if await self._is_of(job, keys):
                    self._known.add(job.id)
                    return job.id
            if not page.has_more:
                return None
            after = f"&after_id={page.last_id}"
        return None

    async def _is_of(self, job: _Job, keys: set[str]) -> bool:
        """Whether a job that nobody knows asks these requests."""
        if job.id in self._known or sum((job.request_counts or {}).values()) != len(keys):
            return False
        if job.processing_status != "ended":
            raise TryAgain("a job that may be ours has not ended")  # looked at again later
        return not (await self.results(job.id, keys)).unwanted

    async def look(self, job: str) -> JobState:
        """How far a job is."""
        self._known.add(job)
        found = await self._client.json(_Job, "GET", f"{JOBS}/{job}")
        return LOST_JOB if found is None else JobState(ended=found.processing_status == "ended")

    async def results(self, job: str, keys: set[str]) -> BatchResults:
        """The lines of a job's results."""
        results = BatchResults(keys)
        await self._client.read_results(f"{JOBS}/{job}/results", results)
        return results

    def read(self, line: bytes, body: Mapping[str, Any]) -> Answer:
        """The answer in one line."""
        result = read_line(line, _Line).result
        if result.type == "errored":
            error = (result.error and result.error.error) or result.error or _Error()
            reason = printable(f"{error.type}: {error.message}", limit=200)
            if error.type == "invalid_request_error":
                raise Refused(f"{self._name} refused the request: {reason}")
            raise TryAgain(f"the batch job did not answer this request: {reason}")
        if result.type != "succeeded":
            raise TryAgain(f"the batch job did not answer this request: {printable(result.type, limit=40)}")
        try:
            message = read_line(bytes(result.message), _Message)
        except TryAgain as error:
            error.aside = bytes(result.message)[:LONGEST_ASIDE]
            raise
        return self._answer(message)

    def _answer(self, message: _Message) -> Answer:
        usage = message.usage or _Usage()
        tokens_in, tokens_out = count(usage.input_tokens), count(usage.output_tokens)
        money = None
        if self._price is not None and tokens_in is not None and tokens_out is not None:
            money = self._price.cost(tokens_in, tokens_out)
        return Answer(
            text="".join(part.text or "" for part in message.content if part.type == "text"),
            finish=message.stop_reason or "",
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            money_usd=money,
            served=message.model or "",
        )

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()


def _made_at(job: _Job) -> float:
    """When a job was made, in seconds since 1970; 0 where it does not say so."""
    try:
        return datetime.datetime.fromisoformat(job.created_at).timestamp()
    except ValueError:
        return 0.0
