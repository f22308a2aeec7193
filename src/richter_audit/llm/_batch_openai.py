"""Batch jobs in OpenAI's form: a file of requests is uploaded, a job made of it, its results are two files."""

import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from typing import Any

from richter.errors import MissingPart, ModelError, WrongKey
from richter.models._prices import Price
from richter.models._providers import ModelSpec
from richter.records import Answer, Decoding, printable
from richter_audit.llm._batch_jobs import LOST_JOB, JobState, chat_only_error, read_rows
from richter_audit.llm._http import RETRIED, HttpModel
from richter_audit.llm._key_redaction import hide_in_body
from richter_audit.llm._model import Message, TryAgain
from richter_audit.llm._reply import error_message, retry_after_s

try:
    import aiohttp
except ModuleNotFoundError as error:
    raise MissingPart("Batch jobs need aiohttp.", remedy="pip install 'richter[audit]'") from error

LONGEST_FILE = 2**30
PAGES = 20  # of a provider's list of jobs that are looked through
_ENDED = {"completed", "failed", "expired", "cancelled"}


class JobsClient:
    """Requests to a provider that are about jobs and not about questions."""

    def __init__(self, url: str, key: str, headers: Mapping[str, str], *, timeout_s: float) -> None:
        self.url, self._key, self._headers, self._timeout_s = url, key, headers, timeout_s
        self._session: aiohttp.ClientSession | None = None

    async def send(self, method: str, path: str, **body: Any) -> bytes | None:
        """What the provider sends with status 200; None for what it does not know (404)."""
        if self._session is None:
            self._session = aiohttp.ClientSession(
                headers={**self._headers, "User-Agent": "richter", "Accept-Encoding": "identity"},
                auto_decompress=False,  # a small packed reply may be gigabytes
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=self._timeout_s, sock_read=self._timeout_s),
            )
        address = path if path.startswith("http") else f"{self.url}/{path}"
        try:
            async with self._session.request(method, address, allow_redirects=False, **body) as response:
                if response.headers.get("Content-Encoding", "identity").lower() != "identity":
                    raise TryAgain("the provider packed its reply, which was not asked for", maybe_billed=True)
                content = bytearray()
                async for piece in response.content.iter_any():
                    content += piece
                    if len(content) > LONGEST_FILE:
                        raise ModelError(f"{self.url} sent over {LONGEST_FILE} bytes.", remedy="Use smaller jobs.")
                status, headers = response.status, response.headers
        except (aiohttp.ClientError, TimeoutError, asyncio.IncompleteReadError, OSError) as error:
            is_sent = not isinstance(error, aiohttp.ClientConnectorError)
            raise TryAgain(f"the connection broke: {type(error).__name__}", maybe_billed=is_sent) from error
        found = hide_in_body(bytes(content), self._key)
        if status == 404:
            return None
        if status not in (200, 201):
            self._refuse(status, headers, found)
        return found

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

    async def json(self, method: str, path: str, **body: Any) -> dict[str, Any] | None:
        """The same, read as an object; what is none may pass."""
        content = await self.send(method, path, **body)
        if content is None:
            return None
        try:
            found = json.loads(content)
            assert isinstance(found, dict)
        except (ValueError, AssertionError, RecursionError) as error:
            raise TryAgain("the provider's reply about a job cannot be read", maybe_billed=True) from error
        return found

    async def aclose(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()


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
            file = await self._client.json("POST", "files", data=form)
        except TryAgain as error:
            error.maybe_billed = False  # a file alone costs nothing
            raise
        fields = {"input_file_id": (file or {}).get("id"), "endpoint": asked["url"], "completion_window": "24h"}
        job = await self._client.json("POST", "batches", json={**fields, "metadata": {"richter": label}})
        if not job or not isinstance(job.get("id"), str):
            raise TryAgain("the provider gave a job no id", maybe_billed=True)
        return str(job["id"])

    async def find(self, label: str, keys: set[str], since: float) -> str | None:
        """The job that carries the label, among the provider's newest."""
        after = ""
        for _ in range(PAGES):
            page = await self._client.json("GET", f"batches?limit=100{after}") or {}
            jobs = page.get("data") or []
            for job in jobs:
                if (job.get("metadata") or {}).get("richter") == label:
                    return str(job["id"])
            if not page.get("has_more") or not jobs or jobs[-1].get("created_at", 0) < since - 3600:
                return None
            after = f"&after={jobs[-1]['id']}"
        return None

    async def look(self, job: str) -> JobState:
        """How far a job is."""
        found = await self._client.json("GET", f"batches/{job}")
        if found is None:
            return LOST_JOB
        status = found.get("status")
        if status == "failed":
            errors = (found.get("errors") or {}).get("data") or [{}]
            return JobState(ended=True, failure=printable(str(errors[0].get("message", "no reason")), limit=200))
        return JobState(ended=status in _ENDED)

    async def rows(self, job: str) -> tuple[dict[str, Any], bool]:
        """The lines of a job's two files, by request."""
        found = await self._client.json("GET", f"batches/{job}") or {}
        rows, is_whole = dict[str, Any](), True
        for name in ("output_file_id", "error_file_id"):
            if found.get(name):
                content = await self._client.send("GET", f"files/{found[name]}/content")
                more, whole = read_rows(content or b"", "custom_id")
                rows, is_whole = {**more, **rows}, is_whole and whole and content is not None
        return rows, is_whole

    def read(self, row: Any, body: Mapping[str, Any]) -> Answer:
        """The answer in one line, as of a single call."""
        response = row.get("response") or {}
        status, content = response.get("status_code"), json.dumps(response.get("body")).encode()
        if status == 200:
            return self._single.read_reply(content, raw=False, started=time.perf_counter())
        if status is None or row.get("error"):
            reason = printable(error_message(json.dumps({"error": row.get("error")}).encode()), limit=200)
            raise TryAgain(f"the batch job did not answer this request: {reason}")
        self._single.adapt(int(status), content, dict(body))
        try:
            self._single.refuse(int(status), {}, content)
        except TryAgain as error:
            error.maybe_billed = error.slow_down = False  # what a job could not do is not charged
            raise
        raise AssertionError("an error is always refused")

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()
