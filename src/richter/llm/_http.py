"""Any OpenAI-compatible endpoint, on aiohttp."""

import asyncio
import email.utils
import json
import os
import time
from collections.abc import Sequence
from typing import Any

import aiohttp

from richter.errors import CallFailed, ModelError, UnknownModel, Unreachable, WrongKey
from richter.llm._grammar import choices_grammar
from richter.llm._model import Message, TryAgain, draw_seed
from richter.llm._prices import Price
from richter.llm._providers import Endpoint, ModelSpec, endpoint
from richter.records import Answer, Decoding, printable

__all__ = ["HttpModel"]

RETRIED = {408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529}
LONGEST_BODY = 32 * 1024 * 1024


class HttpModel:
    """A model behind `/chat/completions` (or `/completions` for raw text)."""

    def __init__(self, spec: ModelSpec, *, price: Price | None, timeout_s: float) -> None:
        self.name = spec.name
        self._endpoint: Endpoint = endpoint(spec)
        self._price = price
        self._timeout_s = timeout_s
        self._session: aiohttp.ClientSession | None = None

    async def aclose(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            headers = {"Content-Type": "application/json", "User-Agent": "richter"}
            if self._endpoint.key:
                headers["Authorization"] = f"Bearer {self._endpoint.key}"
            self._session = aiohttp.ClientSession(
                headers=headers,
                connector=aiohttp.TCPConnector(limit=0),  # the adaptive limit decides
                timeout=aiohttp.ClientTimeout(total=self._timeout_s),
                trust_env=_has_proxy(),  # aiohttp looks the proxy up in a thread for every call
            )
        return self._session

    async def ask(self, messages: Sequence[Message], decoding: Decoding, draw: int) -> Answer:
        """One attempt. See `Model`."""
        raw = messages[0]["role"] == "text"
        url = f"{self._endpoint.url}/{'completions' if raw else 'chat/completions'}"
        body = json.dumps(self._payload(messages, decoding, draw, raw=raw)).encode()
        started = time.perf_counter()
        try:
            async with self._open().post(url, data=body, allow_redirects=False) as response:
                content = await self._read(response)
                status, headers = response.status, response.headers
        except aiohttp.ClientConnectorError as error:
            raise TryAgain(f"cannot connect to {self._endpoint.url}: {error.os_error}", connected=False) from error
        except TimeoutError as error:
            raise TryAgain(f"no answer within {self._timeout_s:g} s", maybe_billed=True) from error
        except aiohttp.InvalidURL as error:
            raise Unreachable(
                f"{self._endpoint.url} is not an address.", remedy="Write http://host:port/v1."
            ) from error
        except (aiohttp.ClientError, asyncio.IncompleteReadError, OSError) as error:
            raise TryAgain(f"the connection broke: {type(error).__name__}", maybe_billed=True) from error
        if status != 200:
            self._refuse(status, headers, content)
        answer = self._parse(content, raw=raw, latency_s=time.perf_counter() - started)
        if decoding.choices and answer.text.strip() not in {choice.strip() for choice in decoding.choices}:
            raise CallFailed(
                f"{self.name} answered {printable(answer.text, limit=40)!r}, none of the texts it was held to.",
                remedy="The server ignores grammars; use --style chat with it.",
            )
        return answer

    async def _read(self, response: aiohttp.ClientResponse) -> bytes:
        content = await response.content.read(LONGEST_BODY)
        while not response.content.at_eof() and len(content) < LONGEST_BODY:
            content += await response.content.read(LONGEST_BODY - len(content))
        if len(content) >= LONGEST_BODY:
            raise CallFailed(f"{self.name} sent an answer of over {LONGEST_BODY} bytes.", remedy="Lower --max-tokens.")
        return content

    def _payload(self, messages: Sequence[Message], decoding: Decoding, draw: int, *, raw: bool) -> dict[str, Any]:
        provider = self._endpoint.provider
        payload: dict[str, Any] = {
            "model": self._endpoint.model,
            "max_tokens" if raw else provider.max_tokens: decoding.max_tokens,
            "temperature": decoding.temperature,
        }
        if raw:
            payload["prompt"] = messages[0]["content"]
        else:
            payload["messages"] = list(messages)
        if decoding.top_p is not None:
            payload["top_p"] = decoding.top_p
        if decoding.seed is not None:
            payload["seed"] = draw_seed(decoding, draw)
        if decoding.logprobs:
            payload["logprobs"] = 1 if raw else True
        if decoding.json_schema is not None:
            schema = {"name": "answer", "strict": True, "schema": decoding.json_schema}
            payload["response_format"] = {"type": "json_schema", "json_schema": schema}
        if decoding.choices:
            if provider.choices == "vllm":
                payload["structured_outputs"] = {"choice": list(decoding.choices)}
            elif provider.choices == "grammar":
                payload["grammar"] = choices_grammar(decoding.choices)
            else:
                raise ModelError(
                    f"{self.name} cannot be held to given answer texts.",
                    remedy="Use --style chat, or a local model, a vLLM or a llama.cpp server for --style cloze.",
                )
        return payload

    def _scrub(self, text: str) -> str:
        """A server may echo the key in its error; it must not reach a log."""
        key = self._endpoint.key
        return printable(text.replace(key, "***") if key else text, limit=300)

    def _refuse(self, status: int, headers: Any, content: bytes) -> None:
        """Turn an HTTP error into ours."""
        message = self._scrub(_error_message(content))
        if status in (401, 403):
            raise WrongKey(
                f"{self._endpoint.url} refused the key ({status}): {message}",
                remedy=f"Check {self._endpoint.key_variable or 'the server’s key'} in the environment.",
            )
        if status == 404:
            raise UnknownModel(
                f"{self._endpoint.url} knows no model {self._endpoint.model!r} ({status}): {message}",
                remedy="Check the model's name and the address.",
            )
        if status == 402 or (status == 429 and "insufficient_quota" in message):
            raise ModelError(f"{self._endpoint.url}: the account has no credit left ({status}).", remedy="Top it up.")
        if status in RETRIED:
            raise TryAgain(
                f"the server answered {status}: {message}",
                retry_after_s=_retry_after(headers.get("Retry-After")),
                slow_down=status in (429, 503, 529),
                maybe_billed=status in (502, 504, 520, 522, 524),
            )
        raise CallFailed(f"{self.name} refused the request ({status}): {message}", remedy="See the message.")

    def _parse(self, content: bytes, *, raw: bool, latency_s: float) -> Answer:
        try:
            body = json.loads(content)
            choice = body["choices"][0]
            text = choice["text"] if raw else (choice["message"].get("content") or choice["message"].get("refusal"))
            usage = body.get("usage") or {}
            tokens, logprobs = _logprobs(choice.get("logprobs"))
            tokens_in, tokens_out = usage.get("prompt_tokens"), usage.get("completion_tokens")
            money = usage.get("cost")  # OpenRouter says what it charged
            if money is None and self._price and tokens_in is not None and tokens_out is not None:
                money = self._price.cost(tokens_in, tokens_out)
            return Answer(
                text=text if isinstance(text, str) else "",
                finish=str(choice.get("finish_reason") or ""),
                tokens=tokens,
                logprobs=logprobs,
                tokens_in=tokens_in if isinstance(tokens_in, int) else None,
                tokens_out=tokens_out if isinstance(tokens_out, int) else None,
                money_usd=float(money) if isinstance(money, int | float) else None,
                latency_s=latency_s,
            )
        except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError) as error:
            raise TryAgain(
                f"the answer is not what the API promises ({type(error).__name__})", maybe_billed=True
            ) from error


def _has_proxy() -> bool:
    return any(os.environ.get(name) for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"))


def _logprobs(block: Any) -> tuple[tuple[str, ...], tuple[float, ...]]:
    """Tokens and their log-probabilities from the chat form, or the older completions form."""
    if not block:
        return (), ()
    if block.get("content"):
        return (
            tuple(str(t["token"]) for t in block["content"]),
            tuple(float(t["logprob"]) for t in block["content"]),
        )
    if block.get("token_logprobs"):
        pairs = [(t, p) for t, p in zip(block["tokens"], block["token_logprobs"], strict=True) if p is not None]
        return tuple(str(t) for t, _ in pairs), tuple(float(p) for _, p in pairs)
    return (), ()


def _error_message(content: bytes) -> str:
    text = content[:2000].decode("utf-8", "replace").strip()
    try:
        body = json.loads(content)
        error = body.get("error", body)
        if isinstance(error, dict):
            return " ".join(str(error[k]) for k in ("code", "message") if error.get(k)) or text
        return str(error)
    except (ValueError, AttributeError, RecursionError):
        return text or "no message"


def _retry_after(value: str | None) -> float | None:
    """Seconds from a Retry-After header: a number or a date."""
    if not value:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        try:
            return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
        except ValueError:
            return None
