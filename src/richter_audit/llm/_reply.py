"""Reading what an OpenAI-compatible server sends: one answer, whole or as a stream, in the forms that servers have."""

import email.utils
import itertools
import json
import math
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from richter.models._prices import Price
from richter.records import Answer, printable
from richter_audit.llm._admit_answers import amount, count
from richter_audit.llm._model import Refused, TryAgain

LONGEST_ASIDE = 2**20
LONGEST_NAME = 200  # of a model
_BROKEN = (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError, ArithmeticError)


def read_answer(
    content: bytes, *, raw: bool, price: Price | None, latency_s: float, aside: bytes | None = None
) -> Answer:
    """The answer in a reply with status 200; what cannot be read as one is an attempt that may have been billed.

    `aside` is what is then kept of the reply, its beginning unless given.
    """
    aside = content[:LONGEST_ASIDE] if aside is None else aside
    try:
        body = _stream(content) if content.startswith((b"data:", b"event:", b":")) else json.loads(content)
        if not body.get("choices") and body.get("error"):
            reason = printable(error_message(content), limit=300)
            raise TryAgain(f"the server answered 200 with an error: {reason}", maybe_billed=True, aside=aside)
        if body.get("choices") == []:
            raise TryAgain(
                "the server sent no choices: its filter took them out, or --max-tokens leaves no room after what it "
                "thinks",
                maybe_billed=True,
                aside=aside,
            )
        choice = _first_choice(body["choices"])
        text = choice["text"] if raw else _text(choice["message"], aside)
        usage = body.get("usage") or {}
        scored = choice.get("logprobs") or _llama_cpp_block(body)
        tokens, logprobs = _logprobs(scored)
        tokens_in, tokens_out = usage.get("prompt_tokens"), usage.get("completion_tokens")
        money, known = usage.get("cost"), (count(tokens_in), count(tokens_out))  # OpenRouter says what it charged
        if price and amount(money) is None and known[0] is not None and known[1] is not None:
            money = price.cost(known[0], known[1])
        if not isinstance(text, str):
            raise TypeError(text)
        return Answer(
            text=text,
            finish=str(choice.get("finish_reason") or ""),
            tokens=tokens,
            logprobs=logprobs,
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            money_usd=money,
            latency_s=latency_s,
            served=_served_model(body),
            alternatives=_alternatives(scored),
        )
    except _BROKEN as error:
        raise TryAgain(
            f"the answer is not what the API promises ({type(error).__name__})", maybe_billed=True, aside=aside
        ) from error


def _first_choice(choices: Any) -> Any:
    """The choice of index 0, or the only one where it has no index: another index is another answer."""
    chosen = [row for row in choices if row.get("index") in (0, None)]
    if not chosen:
        raise ValueError("no choice of index 0")
    return chosen[0]


def _served_model(body: Mapping[str, Any]) -> str:
    """The model that a server says it answered with, or nothing."""
    name = body.get("model")
    return printable(name, limit=LONGEST_NAME) if isinstance(name, str) else ""


def read_likelihoods(content: bytes, count: int, choice: str = "") -> list[float]:
    """The log-likelihood of each of so many texts in one reply: all of it, or of a choice that it was held to."""
    try:
        rows = sorted(json.loads(content)["choices"], key=lambda row: row["index"])
        scored = [_logprobs(row["logprobs"]) for row in rows]
        texts = ["".join(tokens) for tokens, _ in scored]
        if len(scored) != count or not all(scores for _, scores in scored) or (choice and set(texts) != {choice}):
            raise ValueError(texts)
        return [math.fsum(p for token, p in zip(*one, strict=True) if token) for one in scored]  # not of a text's end
    except _BROKEN as error:
        raise Refused("the server does not say how likely given texts are", maybe_billed=True) from error


def read_echoed(content: bytes, before: str, text: str) -> list[tuple[str, float]]:
    """The tokens of `text` and their log-probabilities, in a reply that says how likely `before + text` is.

    It says so as the echo of the older completions, or as vLLM's `prompt_logprobs`, where the given token comes first
    at its place. A token that begins in `before` belongs to the text that it ends. Without `before` the reply is the
    text.
    """
    try:
        block = _given_block(json.loads(content)["choices"][0], text)
        pairs = list(zip(*_logprobs(block), strict=True))
        if before:
            # the first token of all, after nothing, has a place and no probability
            starts = (block.get("text_offset") or _starts([token for token, _ in pairs], before + text))[-len(pairs) :]
            ends = [*starts[1:], len(before) + len(text)]
            pairs = [pair for pair, end in zip(pairs, ends, strict=True) if end > len(before)]
        if not pairs:
            raise ValueError("no tokens")
        return [pair for pair in pairs if pair[0]]
    except _BROKEN as error:
        raise Refused("the server does not say how likely given texts are", maybe_billed=True) from error


def _given_block(row: Mapping[str, Any], text: str) -> dict[str, Any]:
    """The tokens of a given text and their log-probabilities, in the form of the older completions or of the chat."""
    if listed := row.get("prompt_logprobs"):
        given = [next(iter(place.values())) for place in listed if place]
        return {"tokens": [g["decoded_token"] for g in given], "token_logprobs": [g["logprob"] for g in given]}
    if not str(row["text"]).endswith(text):
        raise ValueError(row["text"])
    block: dict[str, Any] = row["logprobs"]
    return block


def _starts(tokens: Sequence[str], whole: str) -> list[int]:
    """Where each of the last tokens of a text begins in it."""
    if not whole.endswith("".join(tokens)):
        raise ValueError("tokens of another text")
    lengths = list(itertools.accumulate(map(len, reversed(tokens))))
    return [len(whole) - length for length in reversed(lengths)]


def read_pieces(content: bytes) -> list[tuple[int, bytes]]:
    """The tokens of a text, each with its id and bytes, as llama.cpp's `/tokenize` gives them."""
    try:
        pieces = [(token["id"], token["piece"]) for token in json.loads(content)["tokens"]]
        return [(int(number), piece.encode() if isinstance(piece, str) else bytes(piece)) for number, piece in pieces]
    except _BROKEN as error:
        raise Refused("the server does not say which tokens a text has") from error


def _text(message: Mapping[str, Any], aside: bytes) -> str:
    """A message's text: a string, a list of parts, or a refusal. What it thought before is no part of the answer."""
    content = message.get("content")
    if isinstance(content, list):
        content = "".join(_part_text(part) for part in content)
    if not content and message.get("tool_calls"):
        raise Refused(
            "the model called a tool instead of answering: none was offered, so switch tools off at the server",
            maybe_billed=True,
            aside=aside,
        )
    text = content or message.get("refusal") or ""
    if not isinstance(text, str):
        raise TypeError(text)
    return text


def _part_text(part: Any) -> str:
    """The text of one part of a message; nothing where it is no part of the answer."""
    if isinstance(part, str):
        return part
    text: str = part.get("text", "")
    return text if part.get("type") in (None, "text", "output_text") else ""


def _first_choices(events: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """What the events of a stream say of the first answer."""
    for event in events:
        yield from (c for c in event.get("choices") or [] if c.get("index") in (0, None))


def _stream(content: bytes) -> dict[str, Any]:
    """A stream of server-sent events as the reply that it spells out."""
    text: list[str] = []
    scored: list[Any] = []
    calls: list[Any] = []
    finish, usage, served = "", None, None
    events = list(_stream_events(content))
    for event in events:
        usage, served = event.get("usage") or usage, served or event.get("model")
    for choice in _first_choices(events):
        delta = choice.get("delta") or choice
        text.append(_text({"content": delta.get("text", delta.get("content"))}, b""))
        calls += delta.get("tool_calls") or []
        scored += (choice.get("logprobs") or {}).get("content") or []
        finish = choice.get("finish_reason") or finish
    if not finish:
        raise ValueError("the stream was cut off")
    answer = "".join(text)
    message = {"content": answer, "tool_calls": calls}
    logprobs = {"content": scored} if scored else None
    return {
        "choices": [{"text": answer, "message": message, "finish_reason": finish, "logprobs": logprobs}],
        "usage": usage,
        "model": served,
    }


def _stream_events(content: bytes) -> Iterator[dict[str, Any]]:
    for line in re.split(r"\r\n?|\n", content.decode("utf-8", "replace")):  # a text may hold other ends of lines
        data = line.removeprefix("data:").strip()
        if not line.startswith("data:") or data in ("", "[DONE]"):
            continue
        event = json.loads(data)
        if event.get("error"):
            raise ValueError(event["error"])
        yield event


def _logprobs(block: Any) -> tuple[tuple[str, ...], tuple[float, ...]]:
    """Tokens and their log-probabilities from the chat form, or the older completions form."""
    if not block:
        return (), ()
    if block.get("content"):
        return tuple(str(t["token"]) for t in block["content"]), tuple(t["logprob"] for t in block["content"])
    if block.get("token_logprobs"):
        pairs = [(t, p) for t, p in zip(block["tokens"], block["token_logprobs"], strict=True) if p is not None]
        return tuple(str(t) for t, _ in pairs), tuple(p for _, p in pairs)
    return (), ()


def _llama_cpp_block(body: Mapping[str, Any]) -> dict[str, Any] | None:
    """What llama.cpp's own completions say of tokens, in the chat form; the older ones give probabilities."""
    rows = body.get("completion_probabilities") or body.get("probs")
    if not rows:
        return None
    content = []
    for row in rows:
        listed = row.get("top_logprobs") or row.get("top_probs") or row.get("probs") or []
        tops = [{"token": _token_text(one), "logprob": _log_probability(one)} for one in listed]
        token = _token_text(row)
        own = [top["logprob"] for top in tops if top["token"] == token]
        value = _log_probability(row) if "logprob" in row or "prob" in row else (own or [None])[0]
        content.append({"token": token, "logprob": value, "top_logprobs": tops})
    return {"content": content}


def _token_text(row: Mapping[str, Any]) -> str:
    return str(next(row[name] for name in ("token", "tok_str", "content") if name in row))


def _log_probability(row: Mapping[str, Any]) -> float:
    if "logprob" in row:
        value: float = row["logprob"]
        return value
    return math.log(row["prob"]) if row["prob"] > 0 else -math.inf


def _alternatives(block: Any) -> tuple[tuple[tuple[str, float], ...], ...]:
    """The tokens that a model may have written at each place, the one that it wrote included, in the chat form or the
    older completions form; nothing where a server lists none."""
    if not block:
        return ()
    pairs = _listed_in_chat(block["content"]) if block.get("content") else _listed_in_completion(block)
    if not any(len(each) > 1 for each in pairs):
        return ()
    return tuple(tuple((t, float(p)) for t, p in each if isinstance(p, int | float)) for each in pairs)


def _listed_in_chat(rows: Any) -> list[list[tuple[str, Any]]]:
    return [[(str(one["token"]), one["logprob"]) for one in (row, *(row.get("top_logprobs") or ()))] for row in rows]


def _listed_in_completion(block: Mapping[str, Any]) -> list[list[tuple[str, Any]]]:
    columns = (block.get(name) or () for name in ("tokens", "token_logprobs", "top_logprobs"))
    return [[(str(t), p), *(tops or {}).items()] for t, p, tops in zip(*columns, strict=False) if p is not None]


def error_message(content: bytes) -> str:
    """What a server says of an error, from JSON or plain text."""
    text = content[:2000].decode("utf-8", "replace").strip()
    try:
        body = json.loads(content)
        error = body.get("error", body)
        if isinstance(error, dict):
            return " ".join(str(error[k]) for k in ("code", "message") if error.get(k)) or text
        return str(error)
    except _BROKEN:
        return text or "no message"


def refused_parameter(content: bytes) -> str:
    """The words in which a server may name a parameter that it refuses: the field for it, or else the message."""
    try:
        return str(json.loads(content)["error"]["param"] or error_message(content))
    except _BROKEN:
        return error_message(content)


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Seconds from a Retry-After header: a number, or a date by the server's own clock."""
    value = headers.get("Retry-After", "")
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = _when(value) - (_when(headers["Date"]) if "Date" in headers else time.time())
        except (ValueError, TypeError, OverflowError):
            return None
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _when(text: str) -> float:
    return email.utils.parsedate_to_datetime(text).timestamp()
