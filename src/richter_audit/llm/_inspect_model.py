"""Whatever Inspect's `get_model` reaches, for providers that have no OpenAI-compatible endpoint."""

import time
from collections.abc import Sequence
from typing import Any

from richter.errors import MissingPart, ModelError
from richter.models._prices import Price
from richter.models._providers import ModelSpec
from richter.records import Answer, Decoding, printable
from richter_audit.llm._model import Message, TryAgain, draw_seed


class InspectModel:
    """A model by Inspect's own name (`inspect/anthropic/...`).

    Inspect's cache stays off: the ledger is the only store, so that twenty draws are twenty calls. Retries are ours.
    """

    remote = True

    def __init__(self, spec: ModelSpec, *, price: Price | None, timeout_s: float) -> None:
        try:
            from inspect_ai.model import get_model
        except ImportError as error:
            raise MissingPart(f"{spec.name} needs Inspect.", remedy="pip install 'richter[inspect]'") from error
        self.name = spec.name
        self._price = price
        self._timeout_s = timeout_s
        try:
            self._model: Any = get_model(spec.model, memoize=False)
        except Exception as error:  # Inspect raises many kinds, a missing key among them
            raise ModelError(
                f"Inspect cannot open {spec.model}: {printable(str(error), limit=300)}",
                remedy="Check the name, the provider's package and its key in the environment.",
            ) from error

    async def ask(self, messages: Sequence[Message], decoding: Decoding, draw: int) -> Answer:
        """One attempt. See `Model`."""
        from inspect_ai.model import ChatMessageSystem, ChatMessageUser, GenerateConfig

        if messages[0]["role"] == "text" or decoding.choices:
            raise ModelError(f"{self.name} takes chat messages only.", remedy="Use --style chat.")
        config = GenerateConfig(
            temperature=decoding.temperature,
            top_p=decoding.top_p,
            max_tokens=decoding.max_tokens,
            seed=None if decoding.seed is None else draw_seed(decoding, draw),
            logprobs=decoding.logprobs or None,
            top_logprobs=decoding.top_logprobs or None,
            response_schema=_schema(decoding),
            max_retries=0,
            timeout=int(self._timeout_s),
        )
        kinds = {"system": ChatMessageSystem, "user": ChatMessageUser}
        started = time.perf_counter()
        try:
            output = await self._model.generate(
                [kinds[m["role"]](content=m["content"]) for m in messages], config=config, cache=False
            )
        except Exception as error:  # whatever the provider's package raises
            raise TryAgain(f"{type(error).__name__}: {printable(str(error), limit=200)}", maybe_billed=True) from error
        if output.error or not output.choices:
            raise TryAgain(printable(output.error or "no choices", limit=200), maybe_billed=True)
        choice = output.choices[0]
        scored = choice.logprobs.content if choice.logprobs else []
        tokens_in = output.usage.input_tokens if output.usage else None
        tokens_out = output.usage.output_tokens if output.usage else None
        money = None
        if self._price is not None and tokens_in is not None and tokens_out is not None:
            money = self._price.cost(tokens_in, tokens_out)
        return Answer(
            text=choice.message.text,
            finish=choice.stop_reason,
            tokens=tuple(t.token for t in scored),
            logprobs=tuple(t.logprob for t in scored),
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            money_usd=money,
            latency_s=time.perf_counter() - started,
            alternatives=tuple(
                tuple((top.token, top.logprob) for top in (t, *(t.top_logprobs or ())))
                for t in scored
                if decoding.top_logprobs
            ),
        )

    async def aclose(self) -> None:
        """Close Inspect's client."""
        await self._model.__aexit__(None, None, None)


def _schema(decoding: Decoding) -> Any:
    if decoding.json_schema is None:
        return None
    from inspect_ai.model import ResponseSchema
    from inspect_ai.util import JSONSchema

    return ResponseSchema(name="answer", json_schema=JSONSchema.model_validate(dict(decoding.json_schema)))
