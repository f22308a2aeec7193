"""Items, conditions, answers and ratings."""

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from richter.records._plain import Result

__all__ = [
    "LOST_END",
    "OPTIONS_SHARE_SOURCE",
    "OPTIONS_SOURCE",
    "SAMPLE_NOTE",
    "Answer",
    "Condition",
    "Confidence",
    "Decoding",
    "Grade",
    "Item",
    "Rating",
    "RatingKind",
    "Style",
    "call_key",
]

OPTIONS_SOURCE = "options"  # confidences that are the chosen option's share of the options' probability
OPTIONS_SHARE_SOURCE = "options: share of mass"  # beside them: the share of all probability that the options have
RatingKind = Literal["human", "judge", "rule"]
LOST_END = "lost end"  # the kind of the note that records of a run are missing, or may be
SAMPLE_NOTE = "rating sample"  # the ledger's note of which answers people rate, and of every answer's stratum


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Item(Result):
    """One question.

    `stem` is a cloze of the same question (a sentence that the reference completes) and `shots` two solved cloze
    sentences of the same relation; with `options` they let a small model choose by text. With `bare`, the stem without
    its subject, the choice is corrected for how likely each option is anyway. `truth` is the structured fact behind the
    reference, from which severity is graded by rule. `form` is `plain`, `compositional` (two facts
    chained) or `trap` (a false premise that a careful model rejects). Items of one `group` (questions on one passage)
    vary together; `weight` is what an item counts for, 1 where it has none.
    """

    always: ClassVar = ("id", "prompt", "reference", "form")

    id: str
    prompt: str
    reference: str
    aliases: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    stem: str = ""
    bare: str = ""
    shots: tuple[str, ...] = ()
    domain: str = ""
    tier: int | None = None
    group: str = ""
    weight: float | None = None
    form: Literal["plain", "compositional", "trap"] = "plain"
    source: str = ""
    truth: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> "Item":
        """The inverse of `to_dict`."""
        fields: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in row.items()}
        return cls(**fields)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Decoding(Result):
    """How a model is made to answer. `choices` restricts the answer to one of these texts (option scoring).

    With `prior`, a text in place of the prompt, the answer is the choice of the highest log P(choice | prompt) - log
    P(choice | prior); `tokens` and `logprobs` of the answer are the choices and those differences. With
    `top_logprobs` so many tokens are listed at each place with their log-probabilities.
    """

    always: ClassVar = ("temperature", "max_tokens")

    temperature: float = 0.0
    top_p: float | None = None
    max_tokens: int = 500
    seed: int | None = None
    logprobs: bool = False
    top_logprobs: int = 0
    choices: tuple[str, ...] = ()
    prior: str = ""
    json_schema: Mapping[str, Any] | None = None


Style = Literal["chat", "choice", "cloze", "raw"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Condition(Result):
    """What is audited: a model with its decoding settings, system prompt and way of being asked."""

    always: ClassVar = ("name", "model", "decoding")

    name: str
    model: str
    decoding: Decoding = dataclasses.field(default_factory=Decoding)
    system: str = ""
    style: Style = "chat"
    shots: int | None = None  # how many of an item's solved examples stand before a cloze; None: all

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> "Condition":
        """The inverse of `to_dict`."""
        decoding: dict[str, Any] = {k: tuple(v) if k == "choices" else v for k, v in row["decoding"].items()}
        return cls(**{**row, "decoding": Decoding(**decoding)})


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A condition's text for an item at a draw. `error` is set, and `text` empty, where the call failed for good.

    Known when the answer comes are `served`, the model that the server says it answered with, and `alternatives`, the
    tokens that it might have written at each place with their log-probabilities.
    """

    text: str
    item: str = ""
    condition: str = ""
    draw: int = 0
    finish: str = ""
    tokens: tuple[str, ...] = ()
    logprobs: tuple[float, ...] = ()
    tokens_in: int | None = None
    tokens_out: int | None = None
    money_usd: float | None = None  # None: the price is unknown, which is not 0
    latency_s: float | None = None
    error: str = ""
    served: str = ""
    alternatives: tuple[tuple[tuple[str, float], ...], ...] = ()

    @property
    def truncated(self) -> bool:
        """Whether it was cut off at the most tokens allowed, in the words of whoever served it."""
        return self.finish in ("length", "max_tokens", "model_length")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Rating:
    """One rater's severity (0..4 in half steps) for one answer; None where the rater failed to give one."""

    item: str
    condition: str
    rater: str
    kind: RatingKind
    severity: float | None
    draw: int = 0
    mechanism: str = ""
    reason: str = ""
    started_at: float | None = None
    ended_at: float | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Grade:
    """What one scorer of an imported log gave an answer: `value` as it stands there, None where it gave none.

    `correct` is None where the value says neither right nor wrong (another scale, or no value). `main` marks the one
    of an answer's scorers that grades it.
    """

    item: str
    condition: str
    scorer: str
    value: float | None
    correct: bool | None
    draw: int = 0
    main: bool = True


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Confidence:
    """How sure a model was of an answer, in [0, 1]; `source` says by what (stated, options, a scorer's name)."""

    item: str
    condition: str
    source: str
    value: float
    draw: int = 0


def call_key(model: str, messages: list[dict[str, str]], decoding: Decoding, draw: int) -> str:
    """The identity of a call: a hash of model, messages, decoding and draw."""
    text = json.dumps([model, messages, decoding.to_dict(), draw], sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()
