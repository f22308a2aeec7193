"""Any OpenAI-compatible endpoint, on aiohttp.

A connection carries one question: whatever a server sends on it besides its answer, twice or late, is nobody else's.
"""

import asyncio
import dataclasses
import hashlib
import json
import os
import re
import time
from collections.abc import Sequence
from typing import Any

from richter.errors import MissingPart, ModelError, UnknownModel, Unreachable, WrongKey
from richter.models._prices import Price
from richter.models._providers import Endpoint, ModelSpec, endpoint
from richter.records import Answer, Decoding, printable
from richter_audit.llm._grammar import choices_grammar, tokens_grammar
from richter_audit.llm._key_redaction import hide_in_body, hide_in_text, hide_in_tokens, is_spelt_out
from richter_audit.llm._model import AttemptFailed, Message, Refused, TryAgain, draw_seed
from richter_audit.llm._reply import (
    LONGEST_ASIDE,
    error_message,
    read_answer,
    read_echoed,
    read_likelihoods,
    read_pieces,
    refused_parameter,
    retry_after_s,
)
from richter_audit.llm._reply_bodies import BodyReader

try:
    import aiohttp
except ModuleNotFoundError as error:
    raise MissingPart("Asking models over HTTP needs aiohttp.", remedy="pip install 'richter[audit]'") from error

RETRIED = {408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529}
IDS_TO_TRUST = 20  # distinct ones, before a second reply with one of them says something
MOST_LISTED, FEW_LISTED = 20, 5  # tokens that a server lists at each place; where it refuses the first number
# how servers are asked how likely a text is: older completions and vLLM, vLLM, llama.cpp
READINGS: dict[str, dict[str, Any]] = {
    "echo": {"echo": True, "max_tokens": 0},
    "listed": {"prompt_logprobs": 0, "max_tokens": 1},
    "held": {},
}
LONGEST_WAIT_S = 60.0  # of what a server asks for; what is still refused after that fails, and can be asked again
# how servers say that they do not take a parameter, and the words by which they name those that can be left out
_REFUSES = re.compile(
    r"un(supported|known|recognized|expected|available)|not? (\w+ )?(support|allow|permit|valid|recogn|implement)"
    r"|not accept|invalid|extra (inputs|fields)|(does|do)n.t support|cannot|must|only|required|instead",
    re.IGNORECASE,
)
_OPTIONAL = {
    "temperature": r"\btemperature\b",
    "top_p": r"\btop_p\b",
    "seed": r"\bseed\b",
    "logprobs": r"\b(top_)?logprobs\b",
    "response_format": r"\b(response_format|json_schema|structured outputs?)\b",
    "stream_options": r"\bstream_options\b",
}


class HttpModel:
    """A model behind `/chat/completions` (or `/completions` for raw text)."""

    remote = True  # what it answers may be given to the wrong question on the way

    def __init__(self, spec: ModelSpec, *, price: Price | None, timeout_s: float) -> None:
        self.name = spec.name
        self.endpoint: Endpoint = endpoint(spec)
        self._price = price
        self._timeout_s = timeout_s
        self._session: aiohttp.ClientSession | None = None
        # what the server was found to want
        self._max_tokens = self.endpoint.provider.max_tokens
        self._tried: set[str] = set()
        self._left_out: set[str] = set()
        self._streams = False
        self._listed = MOST_LISTED
        self._reads: str | None = None  # how it says how likely a given text is, once it has
        self._bodies = BodyReader()
        self._ids: dict[bytes, bytes] | None = {}  # of replies, with a hash of the whole

    async def aclose(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            headers = {"Content-Type": "application/json", "User-Agent": "richter", "Connection": "close"}
            headers["Accept-Encoding"] = "identity"  # a small packed reply may be gigabytes
            if self.endpoint.key:
                headers["Authorization"] = f"Bearer {self.endpoint.key}"
            self._session = aiohttp.ClientSession(
                headers=headers,
                connector=aiohttp.TCPConnector(limit=0, force_close=True),  # the adaptive limit decides how many
                timeout=aiohttp.ClientTimeout(total=self._timeout_s),
                auto_decompress=False,
                trust_env=_has_proxy(),  # aiohttp looks the proxy up in a thread for every call
            )
        return self._session

    async def ask(self, messages: Sequence[Message], decoding: Decoding, draw: int) -> Answer:
        """One attempt. See `Model`."""
        if decoding.prior:
            return await self._gain(messages[0]["content"], decoding)
        raw, started = messages[0]["role"] == "text", time.perf_counter()
        if raw and decoding.logprobs and len(decoding.choices) == 1:
            return await self._read(messages[0]["content"], decoding)
        content = await self._post(
            "completions" if raw else "chat/completions", self.payload(messages, decoding, draw, raw=raw)
        )
        answer = self.read_reply(content, raw=raw, started=started)
        if decoding.choices and answer.text.strip() not in {choice.strip() for choice in decoding.choices}:
            raise Refused(
                f"{self.name} answered {printable(answer.text, limit=40)!r}, none of the texts it was held to: "
                "the server ignores grammars; use --style chat with it",
                maybe_billed=True,
            )
        return answer

    async def _gain(self, text: str, decoding: Decoding) -> Answer:
        """log P(choice | text) - log P(choice | prior) of one choice, as the answer's one log-probability.

        A vLLM server gives the likelihood of whole texts (echo): with the choice, less without it. A llama.cpp server
        is held to the tokens of the choice after each of the two texts. Either way it is one request. The answer of a
        server that can do neither is empty.
        """
        (choice,), started = decoding.choices, time.perf_counter()
        before, sent = [text, decoding.prior], {"model": self.endpoint.model, "temperature": 0.0, "logprobs": 1}
        try:
            if self.endpoint.provider.choices == "vllm":
                prompts = [prompt for one in before for prompt in (one + choice, one)]
                content = await self._post("completions", sent | {"prompt": prompts, "echo": True, "max_tokens": 0})
                whole = read_likelihoods(content, len(prompts))
                likely = [whole[0] - whole[1], whole[2] - whole[3]]
            else:
                content = await self._post("completions", sent | await self._hold_to_tokens(choice, before))
                likely = read_likelihoods(content, len(before), choice)
        except (Refused, TryAgain) as error:
            if isinstance(error, TryAgain) and not error.changed:
                raise
            return Answer(text="", latency_s=time.perf_counter() - started)
        answer = self.read_reply(content, raw=True, started=started)
        return dataclasses.replace(answer, text=choice, tokens=(choice,), logprobs=(likely[0] - likely[1],))

    async def _hold_to_tokens(self, text: str, before: str | list[str]) -> dict[str, Any]:
        """What holds a llama.cpp server to a text after others, in the tokens that it would read it in."""
        wanted = {"content": text, "add_special": False, "parse_special": False, "with_pieces": True}
        pieces = read_pieces(await self._post("tokenize", wanted, root=self.endpoint.url.removesuffix("/v1")))
        return {"prompt": before, "grammar": tokens_grammar(pieces), "max_tokens": len(pieces) + 1}

    async def _read(self, before: str, decoding: Decoding) -> Answer:
        """The one choice as the answer, with the log-probability of each of its first tokens after a text.

        The server repeats the text (OpenAI's older completions, vLLM), lists the prompt's log-probabilities (vLLM), or
        is held to the choice's tokens (llama.cpp). What it did once it is asked for from then on.
        """
        (text,), started = decoding.choices, time.perf_counter()
        sent = {"model": self.endpoint.model, "temperature": 0.0, "logprobs": 1}
        for way in [self._reads] if self._reads else READINGS:
            try:
                held = way == "held"
                asked = await self._hold_to_tokens(text, before) if held else {"prompt": before + text, **READINGS[way]}
                content = await self._post("completions", sent | asked)
                tokens = read_echoed(content, "" if held else before, text)
            except (Refused, TryAgain) as error:
                if self._reads or (isinstance(error, TryAgain) and not error.changed):
                    raise
                continue
            self._reads = way
            names, values = zip(*tokens[: decoding.max_tokens], strict=True)
            whole = len(names) == len(tokens)
            shown, finish = (text, "stop") if whole else (text[: len("".join(names))], "length")
            answer = self.read_reply(content, raw=True, started=started)
            return dataclasses.replace(answer, text=shown, finish=finish, tokens=names, logprobs=values)
        reason = f"{self.name} does not say how likely a given text is"
        remedy = "Use a local model, or one behind a vLLM or a llama.cpp server."
        raise Refused(reason, if_all=ModelError(f"{reason}.", remedy=remedy))

    async def _post(self, path: str, sent: dict[str, Any], *, root: str = "") -> bytes:
        """What the server sends with status 200; anything else is raised as what it means."""
        url, body = f"{root or self.endpoint.url}/{path}", json.dumps(sent).encode()
        try:
            async with self._open().post(url, data=body, allow_redirects=False) as response:
                encoding = response.headers.get("Content-Encoding", "")
                content = await self._bodies.read(response.content.iter_any(), encoding)
                content = hide_in_body(content, self.endpoint.key)
                status, headers = response.status, response.headers
        except aiohttp.ClientConnectorError as error:
            raise TryAgain(f"cannot connect to {self.endpoint.url}: {error.os_error}", connected=False) from error
        except TimeoutError as error:
            raise TryAgain(f"no answer within {self._timeout_s:g} s", maybe_billed=True) from error
        except aiohttp.InvalidURL as error:
            raise Unreachable(f"{self.endpoint.url} is not an address.", remedy="Write http://host:port/v1.") from error
        except (aiohttp.ClientError, asyncio.IncompleteReadError, OSError) as error:
            raise TryAgain(f"the connection broke: {type(error).__name__}", maybe_billed=True) from error
        if status != 200:
            self.adapt(status, content, sent)
            self.refuse(status, headers, content)
        self._check_id(content)
        return content

    def _check_id(self, content: bytes) -> None:
        """Refuse a reply that came before, word for word, where the server gives each one an id of its own."""
        identity = re.search(rb'"id"\s*:\s*"([^"\\]{1,100})"', content[:500])
        if identity is None or self._ids is None:
            return
        digest = hashlib.sha256(content).digest()
        before = self._ids.setdefault(identity[1], digest)
        if before != digest:
            self._ids = None  # its ids mean nothing
        elif before is not digest and len(self._ids) >= IDS_TO_TRUST:
            raise TryAgain("the reply to another question came again", maybe_billed=True, aside=self._aside(content))

    def read_reply(self, content: bytes, *, raw: bool, started: float) -> Answer:
        """The answer in a reply, without the key wherever the server spells it out."""
        key, aside = self.endpoint.key, self._aside(content)
        try:
            answer = read_answer(
                content, raw=raw, price=self._price, latency_s=time.perf_counter() - started, aside=aside
            )
        except AttemptFailed as error:
            error.reason = hide_in_text(error.reason, key)
            raise
        hidden: dict[str, Any] = {
            name: hide_in_text(getattr(answer, name), key) for name in ("text", "finish", "served")
        }
        return dataclasses.replace(answer, **hidden, tokens=hide_in_tokens(answer.tokens, key))

    def _aside(self, content: bytes) -> bytes:
        """What is kept of a reply that is not an answer: its beginning, or nothing where it spells the key out."""
        return b"" if is_spelt_out(content, self.endpoint.key) else content[:LONGEST_ASIDE]

    def payload(self, messages: Sequence[Message], decoding: Decoding, draw: int, *, raw: bool) -> dict[str, Any]:
        """One request's body."""
        payload: dict[str, Any] = {
            "model": self.endpoint.model,
            "max_tokens" if raw else self._max_tokens: decoding.max_tokens,
            "temperature": decoding.temperature,
        }
        if self._streams:
            payload |= {"stream": True, "stream_options": {"include_usage": True}}
        if raw:
            payload["prompt"] = messages[0]["content"]
        else:
            payload["messages"] = list(messages)
        if decoding.top_p is not None:
            payload["top_p"] = decoding.top_p
        if decoding.seed is not None:
            payload["seed"] = draw_seed(decoding, draw)
        if decoding.logprobs:
            payload["logprobs"] = max(1, self._most_listed(decoding)) if raw else True
            if decoding.top_logprobs and not raw:
                payload["top_logprobs"] = self._most_listed(decoding)
        if decoding.json_schema is not None:
            schema = {"name": "answer", "strict": True, "schema": decoding.json_schema}
            payload["response_format"] = {"type": "json_schema", "json_schema": schema}
        if decoding.choices:
            payload |= self._hold_to(decoding.choices)
        return {name: value for name, value in payload.items() if name not in self._left_out}

    def _most_listed(self, decoding: Decoding) -> int:
        """How many tokens are listed at each place: as many as are asked for, and the server allows."""
        return min(decoding.top_logprobs, self._listed)

    def _hold_to(self, choices: Sequence[str]) -> dict[str, Any]:
        """What tells the server to answer with one of the choices."""
        match self.endpoint.provider.choices:
            case "vllm":
                return {"structured_outputs": {"choice": list(choices)}}
            case "grammar":
                return {"grammar": choices_grammar(choices)}
        raise ModelError(
            f"{self.name} cannot be held to given answer texts.",
            remedy="Use --style chat, or a local model, a vLLM or a llama.cpp server for --style cloze.",
        )

    def adapt(self, status: int, content: bytes, sent: dict[str, Any]) -> None:
        """Where a server refuses a parameter, ask without it (or by its other name) from now on, and say so."""
        message = error_message(content)
        if status not in (400, 404, 415, 422, 501) or not _REFUSES.search(message):
            return
        named = refused_parameter(content)
        change = self._rename_token_limit(named, sent) or self._list_fewer(named, sent)
        dropped = [p for p in _OPTIONAL if p in sent and re.search(_OPTIONAL[p], named, re.IGNORECASE)]
        if not change and dropped:
            self._left_out |= {*dropped, *(("top_logprobs",) if "logprobs" in dropped else ())}
            change = f"{' and '.join(dropped)} is left out, so what it asks for does not hold"
        if not change and "stream" not in sent and re.search(r"\bstream", named):
            self._streams, change = True, "answers are taken as streams"
        if change:
            raise TryAgain(
                f"{self.name} refuses what was asked ({printable(message, limit=300)}): {change}", changed=True
            )

    def _list_fewer(self, named: str, sent: dict[str, Any]) -> str:
        """List fewer tokens at each place where a server refuses so many; what is done, or nothing."""
        if not re.search(r"\btop_logprobs\b", named) or sent.get("top_logprobs", 0) <= FEW_LISTED:
            return ""
        self._listed = FEW_LISTED
        return f"{FEW_LISTED} tokens are listed at each place"

    def _rename_token_limit(self, named: str, sent: dict[str, Any]) -> str:
        """Send the token limit by its other name where a server refuses the one; what is done, or nothing."""
        change = ""
        for ours, theirs in (("max_tokens", "max_completion_tokens"), ("max_completion_tokens", "max_tokens")):
            if ours not in sent or "messages" not in sent or not re.search(rf"\b{ours}\b", named):
                continue
            if self._max_tokens == ours and theirs not in self._tried:
                self._tried.add(ours)
                self._max_tokens = theirs
            if self._max_tokens != ours:
                change = f"{theirs} is sent in its place"
        return change

    def refuse(self, status: int, headers: Any, content: bytes) -> None:
        """Turn an HTTP error into ours."""
        message = printable(error_message(content), limit=300)
        refused = f"{self.name} refused the request ({status}): {message}"
        if status in (401, 403):
            wrong = WrongKey(
                f"{self.endpoint.url} refused the key ({status}): {message}",
                remedy=f"Check {self.endpoint.key_variable or 'the server’s key'} in the environment.",
            )
            raise wrong if status == 401 else Refused(refused, if_all=wrong)  # 403 may be of this question alone
        if status == 404:
            unknown = UnknownModel(
                f"{self.endpoint.url} knows no model {self.endpoint.model!r} ({status}): {message}",
                remedy="Check the model's name and the address.",
            )
            raise unknown if "model_not_found" in message else Refused(refused, if_all=unknown)
        if status == 402 or (status == 429 and "insufficient_quota" in message):
            raise ModelError(f"{self.endpoint.url}: the account has no credit left ({status}).", remedy="Top it up.")
        if status in RETRIED:
            wait_s = retry_after_s(headers)
            asked = f", and asks to wait {wait_s:.0f} s" if wait_s is not None and wait_s > LONGEST_WAIT_S else ""
            raise TryAgain(
                f"the server answered {status}{asked}: {message}",
                retry_after_s=None if wait_s is None else min(wait_s, LONGEST_WAIT_S),
                slow_down=status in (429, 503, 529),
                maybe_billed=status not in (409, 425, 429, 503, 529),  # which say that it was not begun
            )
        raise Refused(refused)


def _has_proxy() -> bool:
    return any(os.environ.get(name) for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"))
