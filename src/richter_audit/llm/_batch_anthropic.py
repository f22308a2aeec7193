"""Batch jobs in Anthropic's form: a list of messages is sent, the results are one file."""

import datetime
import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from richter.errors import MissingKey
from richter.models._prices import Price
from richter.models._providers import ModelSpec
from richter.records import Answer, Decoding, printable
from richter_audit.llm._admit_answers import count
from richter_audit.llm._batch_jobs import LOST_JOB, JobState, chat_only_error, read_rows
from richter_audit.llm._batch_openai import PAGES, JobsClient
from richter_audit.llm._model import Message, Refused, TryAgain

KEY, ADDRESS = "ANTHROPIC_API_KEY", "https://api.anthropic.com"
CLOCKS_S = 300.0  # by which a provider's clock may differ from ours
JOBS = "v1/messages/batches"


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
        job = await self._client.json("POST", JOBS, json={"requests": requests})
        if not job or not isinstance(job.get("id"), str):
            raise TryAgain("the provider gave a job no id", maybe_billed=True)
        self._known.add(job["id"])
        return str(job["id"])

    async def find(self, label: str, keys: set[str], since: float) -> str | None:
        """The job of these requests: jobs carry no label, so their results tell, once they have ended."""
        after = ""
        for _ in range(PAGES):
            page = await self._client.json("GET", f"{JOBS}?limit=100{after}") or {}
            for job in page.get("data") or []:
                if _made_at(job) < since - CLOCKS_S:
                    return None
                if await self._is_of(job, keys):
                    self._known.add(job["id"])
                    return str(job["id"])
            if not page.get("has_more"):
                return None
            after = f"&after_id={page.get('last_id')}"
        return None

    async def _is_of(self, job: Mapping[str, Any], keys: set[str]) -> bool:
        """Whether a job that nobody knows asks these requests."""
        counts = job.get("request_counts") or {}
        if job["id"] in self._known or sum(map(int, counts.values())) != len(keys):
            return False
        if job.get("processing_status") != "ended":
            raise TryAgain("a job that may be ours has not ended")  # looked at again later
        return set((await self.rows(job["id"]))[0]) <= keys

    async def look(self, job: str) -> JobState:
        """How far a job is."""
        self._known.add(job)
        found = await self._client.json("GET", f"{JOBS}/{job}")
        return LOST_JOB if found is None else JobState(ended=found.get("processing_status") == "ended")

    async def rows(self, job: str) -> tuple[dict[str, Any], bool]:
        """The lines of a job's results, by request."""
        content = await self._client.send("GET", f"{JOBS}/{job}/results")
        rows, is_whole = read_rows(content or b"", "custom_id")
        return rows, is_whole and content is not None

    def read(self, row: Any, body: Mapping[str, Any]) -> Answer:
        """The answer in one line."""
        result = row.get("result") or {}
        kind = result.get("type")
        if kind == "errored":
            error = (result.get("error") or {}).get("error") or result.get("error") or {}
            reason = printable(f"{error.get('type')}: {error.get('message')}", limit=200)
            if error.get("type") == "invalid_request_error":
                raise Refused(f"{self._name} refused the request: {reason}")
            raise TryAgain(f"the batch job did not answer this request: {reason}")
        if kind != "succeeded":
            raise TryAgain(f"the batch job did not answer this request: {printable(str(kind), limit=40)}")
        return self._read_message(result.get("message"))

    def _read_message(self, message: Any) -> Answer:
        try:
            text = "".join(part["text"] for part in message["content"] if part.get("type") == "text")
            usage = message.get("usage") or {}
            tokens_in, tokens_out = count(usage.get("input_tokens")), count(usage.get("output_tokens"))
        except (KeyError, TypeError, AttributeError) as error:
            raw = json.dumps(message)[: 2**20].encode()
            raise TryAgain("the answer is not what the API promises", maybe_billed=True, aside=raw) from error
        money = None
        if self._price is not None and tokens_in is not None and tokens_out is not None:
            money = self._price.cost(tokens_in, tokens_out)
        return Answer(
            text=text,
            finish=str(message.get("stop_reason") or ""),
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            money_usd=money,
            served=str(message.get("model") or ""),
        )

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()


def _made_at(job: Mapping[str, Any]) -> float:
    """When a job was made, in seconds since 1970; 0 where it does not say so."""
    try:
        return datetime.datetime.fromisoformat(str(job.get("created_at"))).timestamp()
    except ValueError:
        return 0.0
