"""llama.cpp in this process, through xllamacpp: any GGUF file, and SmolLM2-135M-Instruct as the built-in."""

import asyncio
import dataclasses
import http.client
import itertools
import json
import operator
import os
import secrets
import threading
import time
import urllib.parse
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from richter.errors import CallFailed, InputError, MissingPart, ModelError
from richter.records import Answer, Decoding
from richter_audit.llm._grammar import choices_grammar, tokens_grammar
from richter_audit.llm._model import AttemptFailed, Message, draw_seed
from richter_audit.llm._reply import read_pieces

# llama.cpp's threads spin while they wait unless told not to, and starve each other on a busy machine; OpenMP reads
# this when it is loaded, so it must be set before anything imports xllamacpp
os.environ.setdefault("OMP_WAIT_POLICY", "passive")


def check_gguf(path: Path) -> None:
    """Refuse what is no GGUF file: llama.cpp itself says little about why it cannot load one."""
    try:
        with path.open("rb") as file:
            magic = file.read(4)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}.", remedy="Give the path of a .gguf file.") from error
    if magic != b"GGUF":
        raise InputError(f"{path} is not a GGUF file.", remedy="Give the path of a .gguf file.")


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class _Question:
    messages: list[Message]
    decoding: Decoding
    draw: int
    cancelled: threading.Event
    answered: "Future[Answer]"


class _Slots:
    """Which waiting question goes to which of the server's slots next.

    A slot remembers the prompt it has read, and reading is most of the work of a short answer (measured: 0.35 s of CPU
    for a prompt of 51 tokens, 0.04 s where the slot holds it). So a question goes where its prompt is held, and one
    whose prompt is just being read elsewhere waits for that slot while there are others to ask. Of the others the one
    is asked that begins most as a free slot's prompt does: the slot reads only the rest. So that none waits for ever,
    every eighth is the one that waited longest.
    """

    def __init__(self, slots: int) -> None:
        self._guard = threading.Lock()
        self._waiting: list[_Question] = []
        self._free = list(range(slots))  # the one that was free longest first
        self._held: list[list[Message]] = [[]] * slots
        self._taken = itertools.count()

    def wait(self, question: _Question) -> None:
        """A question waits; `take` is called once for each that does."""
        with self._guard:
            self._waiting.append(question)

    def take(self) -> tuple[_Question, int]:
        """The question to ask now and the slot for it."""
        with self._guard:
            question, slot = self._choose()
            self._waiting.remove(question)
            self._free.remove(slot)
            self._held[slot] = question.messages
            return question, slot

    def _choose(self) -> tuple[_Question, int]:
        for question in self._waiting:
            for slot in self._free:
                if self._held[slot] == question.messages:
                    return question, slot
        fresh = [q for q in self._waiting if q.messages not in self._held] or self._waiting
        some = fresh if next(self._taken) % 8 else fresh[:1]
        return max(
            itertools.product(some, self._free), key=lambda pair: _shared_length(pair[0].messages, self._held[pair[1]])
        )

    def give_back(self, slot: int) -> None:
        """The slot is free again."""
        with self._guard:
            self._free.append(slot)


def _shared_length(messages: list[Message], held: list[Message]) -> int:
    """How many characters the two have in common from the beginning."""
    count = 0
    for one, other in zip(messages, held, strict=False):
        if one["role"] != other["role"]:
            break
        alike = map(operator.eq, one["content"], other["content"])
        count += sum(1 for _ in itertools.takewhile(bool, alike))
        if one["content"] != other["content"]:
            break
    return count


class LocalModel:
    """A GGUF model with `slots` answers in progress at a time, each with `context_tokens` for prompt and answer."""

    def __init__(self, name: str, path: Path, *, slots: int, context_tokens: int, threads: int | None = None) -> None:
        self.name = name
        check_gguf(path)
        self._cancelled = threading.Event()
        self._pool = ThreadPoolExecutor(slots, thread_name_prefix="local-model")
        self._slots = _Slots(slots)
        self._priors: dict[tuple[str, str], float] = {}
        self._key = secrets.token_urlsafe(32)
        self._server: Any = _serve(path, slots=slots, context_tokens=context_tokens, threads=threads, key=self._key)

    async def ask(self, messages: Sequence[Message], decoding: Decoding, draw: int) -> Answer:
        """One attempt. See `Model`. Runs in a thread; cancelling the task stops the generation at the next token."""
        question = _Question(list(messages), decoding, draw, threading.Event(), Future())
        self._slots.wait(question)
        self._pool.submit(self._answer_next)
        try:
            return await asyncio.wrap_future(question.answered)
        except asyncio.CancelledError:
            question.cancelled.set()
            raise

    def _answer_next(self) -> None:
        """Answer one of the waiting questions, not always the oldest."""
        question, slot = self._slots.take()
        try:
            if question.answered.set_running_or_notify_cancel():
                question.answered.set_result(self._generate(question, slot))
        except BaseException as error:
            question.answered.set_exception(error)
        finally:
            self._slots.give_back(slot)

    def _correct(self, question: _Question, slot: int) -> Answer:
        """The choice whose likelihood gains most over that after the prior text, which is computed once a text."""
        prior, choices, started = question.decoding.prior, question.decoding.choices, time.perf_counter()

        def score(messages: list[Message], choice: str) -> Answer:
            alone = dataclasses.replace(question.decoding, choices=(choice,), prior="", logprobs=True, temperature=0.0)
            return self._generate(dataclasses.replace(question, messages=messages, decoding=alone), slot)

        given = [score(question.messages, choice) for choice in choices]
        for choice in choices:
            if (prior, choice) not in self._priors:
                self._priors[prior, choice] = sum(score([{"role": "text", "content": prior}], choice).logprobs)
        gains = [sum(a.logprobs) - self._priors[prior, c] for a, c in zip(given, choices, strict=True)]
        best = max(range(len(choices)), key=gains.__getitem__)
        latency = time.perf_counter() - started
        return dataclasses.replace(given[best], tokens=choices, logprobs=tuple(gains), latency_s=latency)

    def _generate(self, question: _Question, slot: int) -> Answer:
        if question.decoding.prior:
            return self._correct(question, slot)
        messages, cancelled = question.messages, question.cancelled
        raw = messages[0]["role"] == "text"
        request = _request(messages, question.decoding, question.draw, raw=raw) | {"id_slot": slot}
        if len(question.decoding.choices) == 1:
            # held to one text, a model would spell it in whatever tokens it likes best at each point, letter by letter
            # if need be: the likelihood is that of the text as its own tokenizer splits it
            request["grammar"] = tokens_grammar(self._tokenize(question.decoding.choices[0]))
        given = _Generated(raw=raw)

        def take(chunk: Any) -> bool:
            given.take(chunk)
            return cancelled.is_set() or self._cancelled.is_set()

        started = time.perf_counter()
        handle = self._server.handle_completions if raw else self._server.handle_chat_completions
        handle(request, take)
        if cancelled.is_set() or self._cancelled.is_set():
            raise CallFailed("The call was cancelled.")
        if error := given.last.get("error"):
            raise CallFailed(
                f"{self.name}: {error.get('message', error)}",
                remedy="A prompt that is too long needs a larger --context-tokens.",
            )
        usage = given.last.get("usage") or {}
        return Answer(
            text="".join(given.parts),
            finish=given.finish,
            tokens=tuple(given.tokens),
            logprobs=tuple(given.logprobs),
            tokens_in=usage.get("prompt_tokens"),
            tokens_out=usage.get("completion_tokens"),
            money_usd=0.0,
            latency_s=time.perf_counter() - started,
            alternatives=tuple(given.alternatives) if question.decoding.top_logprobs else (),
        )

    def _tokenize(self, text: str) -> list[tuple[int, bytes]]:
        """The tokens of a text, by the server's own loopback port (the library has no call for it)."""
        connection = http.client.HTTPConnection(urllib.parse.urlsplit(self._server.listening_address).netloc)
        try:
            headers = {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"}
            body = json.dumps({"content": text, "add_special": False, "parse_special": False, "with_pieces": True})
            connection.request("POST", "/tokenize", body, headers)
            return read_pieces(connection.getresponse().read())
        except (OSError, http.client.HTTPException, AttemptFailed) as error:
            raise CallFailed(f"{self.name}: its tokenizer did not answer ({error}).") from error
        finally:
            connection.close()

    async def aclose(self) -> None:
        """Stop what is running, join the threads, then free the server: in that order, else the process crashes."""
        await asyncio.get_running_loop().run_in_executor(None, self.close)

    def close(self) -> None:
        """The same without an event loop."""
        self._cancelled.set()
        self._pool.shutdown()
        self._server = None


@dataclasses.dataclass(slots=True, kw_only=True)
class _Generated:
    """What a stream of chunks has spelt out so far."""

    raw: bool
    parts: list[str] = dataclasses.field(default_factory=list)
    tokens: list[str] = dataclasses.field(default_factory=list)
    logprobs: list[float] = dataclasses.field(default_factory=list)
    alternatives: list[tuple[tuple[str, float], ...]] = dataclasses.field(default_factory=list)
    finish: str = ""
    last: dict[str, Any] = dataclasses.field(default_factory=dict)

    def take(self, chunk: Any) -> None:
        """Add a chunk."""
        self.last.update(chunk)
        for choice in chunk.get("choices") or ():
            self.parts.append((choice.get("text") if self.raw else choice["delta"].get("content")) or "")
            self.finish = choice.get("finish_reason") or ""
            for token in ((choice.get("logprobs") or {}).get("content")) or ():
                if token["token"]:  # the end-of-text token has no text
                    self.tokens.append(token["token"])
                    self.logprobs.append(token["logprob"])
                    tops = token.get("top_logprobs") or ()
                    self.alternatives.append(tuple((top["token"], top["logprob"]) for top in (token, *tops)))


def _request(messages: Sequence[Message], decoding: Decoding, draw: int, *, raw: bool) -> dict[str, Any]:
    request: dict[str, Any] = {
        "max_tokens": decoding.max_tokens,
        "temperature": decoding.temperature,
        "seed": draw_seed(decoding, draw),
        "stream": True,
        "stream_options": {"include_usage": True},
        # llama.cpp trims the distribution by default; a sample at temperature t is of the model's own distribution
        "top_k": 0,
        "min_p": 0.0,
        "top_p": 1.0 if decoding.top_p is None else decoding.top_p,
    }
    if raw:
        request["prompt"] = messages[0]["content"]
    else:
        request["messages"] = list(messages)
    if decoding.logprobs and raw:
        request["n_probs"] = max(1, decoding.top_logprobs)
    elif decoding.logprobs:
        request |= {"logprobs": True, "top_logprobs": max(1, decoding.top_logprobs)}
    if decoding.choices:
        request["grammar"] = choices_grammar(decoding.choices)
    if decoding.json_schema is not None:
        request["json_schema" if raw else "response_format"] = (
            decoding.json_schema
            if raw
            else {"type": "json_schema", "json_schema": {"name": "answer", "schema": decoding.json_schema}}
        )
    return request


def _serve(path: Path, *, slots: int, context_tokens: int, threads: int | None, key: str) -> Any:
    try:
        import xllamacpp
    except ImportError as error:
        raise MissingPart("Local models need xllamacpp.", remedy="pip install 'richter[local]'") from error
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.n_parallel = slots
    params.n_ctx = slots * context_tokens
    params.cpuparams.n_threads = threads or os.cpu_count() or 2
    params.cache_ram_mib = 0  # else memory grows by gigabytes over a run
    params.verbosity = -1
    params.api_keys = [key]  # it opens a loopback port; nobody else may use it
    params.ui = False
    try:
        return xllamacpp.Server(params)
    except (RuntimeError, ValueError) as error:
        raise ModelError(f"{path} cannot be loaded: {error}.", remedy="Check that it is a whole GGUF model.") from error
