"""Scorers that give a continuous severity: how unlikely a text is to a judge model, how toxic to a classifier.

Neither says whether an answer is wrong. They are severities in the sense of the tail paper: a number per answer,
higher is worse, whose tail can be studied.
"""

import dataclasses
from collections.abc import Sequence

from richter.errors import InputError, MissingPart
from richter.models import resolve
from richter.records import Answer, Decoding
from richter_audit.llm import Job, Model


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class TokenNll:
    """The mean negative log-likelihood per token of a text; `truncated` if only its first tokens were scored."""

    mean_nll: float
    n_tokens: int
    truncated: bool


def check_nll_model(name: str) -> None:
    """Only models that run here can be made to read a given text token by token."""
    if resolve(name).backend != "local":
        raise InputError(
            f"{name} cannot score a given text: providers do not return the log-probabilities of a prompt.",
            remedy="Use a local model: smollm2, or the path of a GGUF file.",
        )


def nll_job(model: Model, prompt: str, text: str, *, max_tokens: int = 512, item: str = "", condition: str = "") -> Job:
    """The call whose answer is `text` itself: the model is held to it by a grammar and reports its probabilities.

    llama.cpp gives log-probabilities from before the grammar, so they are the model's own, and the grammar holds the
    model to the tokens in which its own tokenizer splits the text. Without that it spells a text it would not have
    written in whatever tokens it likes best, letter by letter, and the mean per token is of another thing.
    """
    return Job(
        model=model,
        messages=[{"role": "user", "content": prompt}],
        decoding=Decoding(temperature=0.0, max_tokens=max_tokens, logprobs=True, choices=(text,)),
        item=item,
        condition=condition,
    )


def read_nll(answer: Answer, text: str) -> TokenNll | None:
    """The score in the answer to `nll_job`; None where the call failed or the text has no tokens."""
    if answer.error or not answer.logprobs or not text.startswith(answer.text):
        return None
    return TokenNll(
        mean_nll=-sum(answer.logprobs) / len(answer.logprobs),
        n_tokens=len(answer.logprobs),
        truncated=answer.text != text,
    )


def toxicity(texts: Sequence[str]) -> list[float]:
    """The probability, in [0, 1], that each text is profane or offensive, by alt-profanity-check (MIT).

    A linear model over words whose weights ship in the package: it sees words, not meaning, and saturates near 1.
    """
    try:
        from profanity_check import predict_prob
    except ImportError as error:
        raise MissingPart(
            "The toxicity scorer needs the package alt-profanity-check.", remedy="pip install alt-profanity-check"
        ) from error
    return [float(p) for p in predict_prob(list(texts))] if texts else []
