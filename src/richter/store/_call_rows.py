"""A call to a model, and the rows of the tables that keep it."""

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from richter.errors import LedgerCorrupt
from richter.records import Answer
from richter.store._spending import Usage

__all__ = ["Call"]

T = TypeVar("T")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """An attempt to call a model as the ledger keeps it: who asked (item, condition, draw), what, and the answer.

    Where `answer.error` is set the attempt brought no answer; `given_up` then says that it was the last. `attempt` is
    the one that `hold` opened, which is settled at `cost`; a call made elsewhere has none, and costs what its answer
    says. `aside` is the reply as it came where it could not be kept as it is. `confidences` say, by source, how
    sure the answer is.
    """

    key: str
    model: str
    request: str
    answer: Answer
    given_up: bool = True
    attempt: str = ""
    cost: Usage | None = None
    aside: bytes = b""
    confidences: Mapping[str, float] = dataclasses.field(default_factory=dict)


def read_json(make: Callable[[Any], T], body: Any, what: str, where: str) -> T:
    """What a ledger holds as JSON; one that somebody else made may hold anything there."""
    try:
        return make(json.loads(body))
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise LedgerCorrupt(
            f"{where} is damaged or was not written by Richter: {what} in it cannot be read.",
            remedy="Restore it from a copy, or use a new run folder.",
        ) from error


def read_answer(item: str, condition: str, draw: int, row: Sequence[Any]) -> Answer:
    """The answer that a row of `calls` keeps."""
    text, finish, tokens, logprobs, tokens_in, tokens_out, money_usd, latency_s = row
    return Answer(
        text=text,
        item=item,
        condition=condition,
        draw=draw,
        finish=finish,
        tokens=read_json(tuple, tokens, "the tokens of an answer", "The ledger") if tokens else (),
        logprobs=read_json(tuple, logprobs, "the probabilities of an answer", "The ledger") if logprobs else (),
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        money_usd=money_usd,
        latency_s=latency_s,
    )


def call_cost(call: Call) -> Usage:
    """What a call counts against a budget."""
    if call.cost is not None:
        return call.cost
    given = call.answer
    return Usage(1, (given.tokens_in or 0) + (given.tokens_out or 0), given.money_usd or 0.0)


def call_row(call: Call) -> Sequence[Any]:
    """A call as a row of `calls`."""
    given = call.answer
    tokens = json.dumps(given.tokens, ensure_ascii=False) if given.tokens else None
    logprobs = json.dumps(given.logprobs) if given.logprobs else None
    counts = (given.tokens_in, given.tokens_out, given.money_usd, given.latency_s)
    return call.key, call.model, call.request, given.text, given.finish, tokens, logprobs, *counts


def failure_row(call: Call) -> Sequence[Any]:
    """A call without an answer as a row of `failures`."""
    asked, cost = call.answer, call.cost or Usage()
    whose = (asked.item, asked.condition, asked.draw)
    return call.key, call.model, *whose, asked.error, call.given_up, cost.tokens, cost.money_usd


def to_failure(call: Call, error: Exception) -> Call:
    """A call whose answer no table takes, as a failure that says so; the answer goes aside."""
    asked = call.answer
    reason = ascii(f"the answer cannot be stored: {error}")[1:300]
    answer = Answer(text="", item=asked.item, condition=asked.condition, draw=asked.draw, error=reason)
    cost = call.cost or Usage(calls=1)
    aside = call.aside or json.dumps(dataclasses.asdict(asked), default=repr).encode()
    return dataclasses.replace(call, answer=answer, cost=cost, aside=aside)
