"""Batch jobs in OpenAI's form: a file of requests is uploaded, a job made of it, its results are two files."""

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from richter.errors import MissingPart, ModelError, WrongKey
from richter.models._prices import Price
from richter.models._providers import ModelSpec
from richter.records import Answer, Decoding, printable
from richter_audit.llm._batch_jobs import LOST_JOB, JobState, chat_only_error
from richter_audit.llm._batch_results import BatchResults, read_lines
from richter_audit.llm._http import RETRIED, HttpModel
from richter_audit.llm._key_redaction import hide_in_body
from richter_audit.llm._model import Message, Refused, TryAgain
from richter_audit.llm._reply import error_message, retry_after_s
from richter_audit.llm._reply_bodies import BodyReader, unpack

try:
    import aiohttp
except ModuleNotFoundError as error:
    raise MissingPart("Batch jobs need aiohttp.", remedy="pip install 'richter[audit]'") from error

PAGES = 20  # of a provider's list of jobs that are looked through
T = TypeVar("T")
_ENDED = {"completed", "failed", "expired", "cancelled"}
_NULL = msgspec.Raw(b"null")


class _Problem(msgspec.Struct):
    message: str | None = None


class _Problems(msgspec.Struct):
    data: list[_Problem] | None = None


class _File(msgspec.Struct):
    id: str


class _Job(msgspec.Struct):
    id: str = ""
    status: str = ""
    created_at: float | None = None
    metadata: dict[str, Any] | None = None
    errors: _Problems | None = None
    output_file_id: str | None = None
    error_file_id: str | None = None


class _Page(msgspec.Struct):
    data: list[_Job] | None = None
    has_more: bool | None = None


class _Response(msgspec.Struct):
    status_code: int | None = None
    body: msgspec.Raw = _NULL


class _Line(msgspec.Struct):
    response: _Response | None = None
    error: msgspec.Raw = _NULL


class JobsClient:
    """Requests to a provider that are about jobs and not about questions."""

    def __init__(self, url: str, key: str, headers: Mapping[str, str], *, timeout_s: float) -> None:
        self.url, self._key, self._headers, self._timeout_s = url, key, headers, timeout_s
        self._session: aiohttp.ClientSession | None = None
        self._bodies = BodyReader()

    async def send(self, method: str, path: str, **body: Any) -> bytes | None:
        """What the provider sends with status 200; None for what it does not know (404)."""
        async with self._request(method, path, body) as response:
            return await self._read(response)

    async def read_results(self, path: str, results: BatchResults) -> None:
        """Add a file of results while it comes; one that the provider does not have is not whole."""
        async with self._request("GET", path, {}) as response:
            if response.status not in (200, 201):
                results.is_whole = await self._read(response) is not None
                return
            pieces = unpack(response.content.iter_any(), response.headers.get("Content-Encoding", ""))
            async for line in read_lines(pieces):
                results.add(hide_in_body(line, self._key))

    @contextlib.asynccontextmanager
    async def _request(self, method: str, path: str, body: Mapping[str, Any]) -> AsyncIterator[aiohttp.ClientResponse]:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                headers={**self._headers, "User-Agent": "richter", "Accept-Encoding": "identity"},
                auto_decompress=False,  # a small packed reply may be gigabytes
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=self._timeout_s, sock_read=self._timeout_s),
            )
        try:
            async with self._session.request(method, f"{self.url}/{path}", allow_redirects=False, **body) as response:
                yield response
        except (aiohttp.ClientError, TimeoutError, asyncio.IncompleteReadError, OSError) as error:
            is_sent = not isinstance(error, aiohttp.ClientConnectorError)
            raise TryAgain(f"the connection broke: {type(error).__name__}", maybe_billed=is_sent) from error
        except Refused as error:
            raise ModelError(f"{self.url} failed: {error.reason}.", remedy="Leave --batch out.") from error

    async def _read(self, response: aiohttp.ClientResponse) -> bytes | None:
        encoding = response.headers.get("Content-Encoding", "")
        content = hide_in_body(await self._bodies.read(response.content.iter_any(), encoding), self._key)
        if response.status == 404:
            return None
        if response.status not in (200, 201):
            self._refuse(response.status, response.headers, content)
        return content

    def _refuse(self, status: int, headers: Any, content: bytes) -> None:
        message = printable(error_message(content), limit=300)
        if status in (401, 403):
            raise WrongKey(f"{self.url} refused the key ({status}): {message}", remedy="Check it in the environment.")
        if status in RETRIED:
            raise TryAgain(
                f"the server answered {status}: {message}",
                retry_after_s=retry_after_s(headers),
                maybe_billed=status not in (409, 425, 429, 503, 529),
            )
        raise ModelError(f"{self.url} takes no batch jobs ({status}): {message}", remedy="Leave --batch out.")

    async def json(self, kind: type[T], method: str, path: str, **body: Any) -> T | None:
        """The same, read as what it should be; what is not may pass."""
        content = await self.send(method, path, **body)
        if content is None:
            return None
        try:
            return msgspec.json.decode(content, type=kind)
        except (ValueError, RecursionError) as error:
            raise TryAgain("the provider's reply about a job cannot be read", maybe_billed=True) from error

    async def aclose(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()


def read_line(line: bytes, kind: type[T]) -> T:
    """A line of results as what it should be."""
    try:
        return msgspec.json.decode(line, type=kind)
    except (ValueError, RecursionError) as error:
        reason = "the batch job's line of this request is not what the API promises"
        raise TryAgain(reason, maybe_billed=True) from error


class OpenAIBatches:
    """Jobs behind `/files` and `/batches`."""

    most_requests = 50_000
    most_bytes = 190_000_000

    def __init__(self, spec: ModelSpec, *, price: Price | None, timeout_s: float) -> None:
        self._single = HttpModel(spec, price=price, timeout_s=timeout_s)
        endpoint = self._single.endpoint
        headers = {"Authorization": f"Bearer {endpoint.key}"} if endpoint.key else {}
        self._client = JobsClient(endpoint.url, endpoint.key, headers, timeout_s=timeout_s)

    def body(self, messages: Sequence[Message], decoding: Decoding, draw: int) -> dict[str, Any]:
        """One request of a job, as a single call would be sent."""
        if messages[0]["role"] == "text" or decoding.choices:
            raise chat_only_error(self._single.name)
        return self._single.payload(messages, decoding, draw, raw=False)

    async def submit(self, label: str, bodies: Mapping[str, dict[str, Any]]) -> str:
        """Upload the requests, and make a job of them that carries the label."""
        asked = {"method": "POST", "url": "/v1/chat/completions"}
        lines = "".join(json.dumps({"custom_id": key, **asked, "body": body}) + "\n" for key, body in bodies.items())
        form = aiohttp.FormData()
        form.add_field("purpose", "batch")
        form.add_field("file", lines.encode(), filename=f"{label}.jsonl", content_type="application/jsonl")
        try:
            file = await self._client.json(_File, "POST", "files", data=form)
        except TryAgain as error:
            error.maybe_billed = False  # a file alone costs nothing
            raise
        made = {"input_file_id": file.id if file else None, "endpoint": asked["url"], "completion_window": "24h"}
        job = await self._client.json(_Job, "POST", "batches", json={**made, "metadata": {"richter": label}})
        if not job or not job.id:
            raise TryAgain("the provider gave a job no id", maybe_billed=True)
        return job.id

    async def find(self, label: str, keys: set[str], since: float) -> str | None:
        """The job that carries the label, among the provider's newest."""
        after = ""
        for _ in range(PAGES):
            page = await self._client.json(_Page, "GET", f"batches?limit=100{after}") or _Page()
            jobs = page.data or []
            for job in jobs:
                if (job.metadata or {}).get("richter") == label:
                    return job.id
            if not page.has_more or not jobs or (jobs[-1].created_at or 0.0) < since - 3600:
                return None
            after = f"&after={jobs[-1].id}"
        return None

    async def look(self, job: str) -> JobState:
        """How far a job is."""
        found = await self._client.json(_Job, "GET", f"batches/{job}")
        if found is None:
            return LOST_JOB
        if found.status == "failed":
            problems = (found.errors and found.errors.data) or [_Problem()]
            return JobState(ended=True, failure=printable(problems[0].message or "no reason", limit=200))
        return JobState(ended=found.status in _ENDED)

    async def results(self, job: str, keys: set[str]) -> BatchResults:
        """The lines of a job's two files."""
        found = await self._client.json(_Job, "GET", f"batches/{job}") or _Job()
        results = BatchResults(keys)
        for file in filter(None, (found.output_file_id, found.error_file_id)):
            await self._client.read_results(f"files/{file}/content", results)
        return results

    def read(self, line: bytes, body: Mapping[str, Any]) -> Answer:
        """The answer in one line, as of a single call."""
        found = read_line(line, _Line)
        response = found.response or _Response()
        status, content = response.status_code, bytes(response.body)
        if status == 200:
            return self._single.read_reply(content, raw=False, started=time.perf_counter())
        if status is None or bytes(found.error) != b"null":
            reason = printable(error_message(b'{"error": %b}' % bytes(found.error)), limit=200)
            raise TryAgain(f"the batch job did not answer this request: {reason}")
        self._single.adapt(status, content, dict(body))
        try:
            self._single.refuse(status, {}, content)
        except TryAgain as error:
            error.maybe_billed = error.slow_down = False  # what a job could not do is not charged
            raise
        raise AssertionError("an error is always refused")

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()
