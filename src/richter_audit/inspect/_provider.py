"""Local models as an Inspect provider: `richter/smollm2`, or `richter/PATH.gguf`."""

from __future__ import annotations

import atexit
import secrets
from collections import Counter
from typing import Any

from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessage,
    ChatMessageAssistant,
    GenerateConfig,
    Logprob,
    Logprobs,
    ModelAPI,
    ModelOutput,
    ModelUsage,
    modelapi,
)
from inspect_ai.tool import ToolChoice, ToolInfo

from richter.errors import InputError
from richter.records import Decoding
from richter_audit.inspect._names import in_namespace_richter
from richter_audit.llm import Message, open_local
from richter_audit.llm._local import LocalModel

__all__ = ["richter_provider"]

MAX_TOKENS = 256  # where the task sets none; a small model left alone repeats itself without end


class LocalApi(ModelAPI):
    """llama.cpp in this process. `-M slots=8 -M context_tokens=2048` say how much it does and holds at a time.

    Texts are greedy unless a temperature is set. The k-th time that a prompt is asked is its draw k, with a sampling
    seed of its own: the epochs of a sample differ, and with `--seed` the set of them is the same in every run.
    """

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig | None = None,
        slots: int = 8,
        context_tokens: int = 1024,
        **model_args: Any,
    ) -> None:
        super().__init__(model_name, base_url, api_key, [], config or GenerateConfig())
        if model_args:
            raise InputError(
                f"richter/{model_name} knows no argument {', '.join(sorted(model_args))}.",
                remedy="It takes slots and context_tokens.",
            )
        self._slots, self._context_tokens = int(slots), int(context_tokens)
        self._model: LocalModel | None = None
        self._asked: Counter[str] = Counter()
        self._seed = secrets.randbelow(2**31)

    async def generate(
        self, input: list[ChatMessage], tools: list[ToolInfo], tool_choice: ToolChoice, config: GenerateConfig
    ) -> ModelOutput:
        """One answer; tools are refused, since these models cannot use them."""
        if tools:
            raise InputError(f"richter/{self.model_name} cannot call tools.", remedy="Use a task without tools.")
        messages: list[Message] = [{"role": m.role, "content": m.text} for m in input]
        schema = config.response_schema
        decoding = Decoding(
            temperature=config.temperature or 0.0,
            top_p=config.top_p,
            max_tokens=config.max_tokens or MAX_TOKENS,
            seed=self._seed if config.seed is None else config.seed,
            logprobs=bool(config.logprobs),
            json_schema=None if schema is None else schema.json_schema.model_dump(exclude_none=True),
        )
        asked = repr(messages)
        draw, self._asked[asked] = self._asked[asked], self._asked[asked] + 1
        answer = await self._open().ask(messages, decoding, draw)
        scored = [Logprob(token=t, logprob=p) for t, p in zip(answer.tokens, answer.logprobs, strict=True)]
        tokens_in, tokens_out = answer.tokens_in or 0, answer.tokens_out or 0
        return ModelOutput(
            model=self.model_name,
            choices=[
                ChatCompletionChoice(
                    message=ChatMessageAssistant(content=answer.text, model=self.model_name, source="generate"),
                    stop_reason="max_tokens" if answer.finish == "length" else "stop",
                    logprobs=Logprobs(content=scored) if config.logprobs else None,
                )
            ],
            usage=ModelUsage(input_tokens=tokens_in, output_tokens=tokens_out, total_tokens=tokens_in + tokens_out),
            time=answer.latency_s,
        )

    def _open(self) -> LocalModel:
        if self._model is None:
            self._model = open_local(self.model_name, slots=self._slots, context_tokens=self._context_tokens)
            atexit.register(self._model.close)  # Inspect keeps models open to the end of the process
        return self._model

    def close(self) -> None:
        """Join the threads and free the weights."""
        if self._model is not None:
            atexit.unregister(self._model.close)
            self._model.close()
            self._model = None

    def max_connections(self) -> int:
        """As many as it works on at a time."""
        return self._slots


@modelapi(name="richter")
@in_namespace_richter
def richter_provider() -> type[ModelAPI]:
    """The provider `richter`."""
    return LocalApi
