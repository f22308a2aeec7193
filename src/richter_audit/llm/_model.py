"""The protocol every backend speaks: one attempt at one answer."""

import dataclasses
from collections.abc import Sequence
from typing import Any, Protocol

from richter.errors import RichterError
from richter.records import Answer, Decoding

__all__ = ["Message", "Model"]

# {"role": "system" | "user" | "assistant", "content": ...}; a single message of role "text" is a raw text to be
# continued (no chat template), as cloze questions need it.
Message = dict[str, str]


class Model(Protocol):
    """A model that can be asked. `ask` makes one attempt.

    It raises `TryAgain` for what may pass, `Refused` (or `CallFailed`, where nothing can have been billed) for what
    will not pass for this question, and a `ModelError` for what will not pass for any question.
    """

    name: str

    async def ask(self, messages: Sequence[Message], decoding: Decoding, draw: int) -> Answer:
        """One attempt at an answer; `draw` tells repeated answers to one question apart."""

    async def aclose(self) -> None:
        """Free connections, threads and memory."""


@dataclasses.dataclass(eq=False)
class AttemptFailed(Exception):
    """An attempt brought no answer."""

    reason: str
    _: dataclasses.KW_ONLY
    maybe_billed: bool = False  # the request may have been worked on, and charged for
    aside: bytes = b""  # what came instead of an answer

    def __str__(self) -> str:
        return self.reason

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (type(self), dict(self.__dict__))  # a worker on another machine may have made the attempt


@dataclasses.dataclass(eq=False, kw_only=True)
class TryAgain(AttemptFailed):
    """An attempt failed in a way that may pass."""

    retry_after_s: float | None = None
    slow_down: bool = False  # the server asks for fewer calls at a time
    connected: bool = True  # something answered at the address
    changed: bool = False  # the next attempt will be another: people are told so, and it need not wait


@dataclasses.dataclass(eq=False, kw_only=True)
class Refused(AttemptFailed):
    """An attempt failed in a way that will not pass for this question.

    `if_all` is what is wrong where no question passes.
    """

    if_all: RichterError | None = None


def _again(kind: type[AttemptFailed], fields: dict[str, Any]) -> AttemptFailed:
    return kind(fields.pop("reason"), **fields)


def draw_seed(decoding: Decoding, draw: int) -> int:
    """A sampling seed for a draw: distinct for distinct draws of one seed, within 31 bits."""
    return ((decoding.seed or 0) * 1_000_003 + draw) % (2**31 - 1)
