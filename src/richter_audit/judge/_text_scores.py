"""Scorers that give a continuous severity: how unlikely a text is to a judge model, how toxic to a classifier.

Neither says whether an answer is wrong. They are severities in the sense of the tail paper: a number per answer,
higher is worse, whose tail can be studied.
"""

import json
import math
import re
from collections.abc import Sequence
from pathlib import Path

from richter.errors import InputError, MissingPart
from richter.records import Answer, Decoding
from richter_audit.llm import Job, Model


def nll_job(model: Model, prompt: str, text: str, *, max_tokens: int = 512, raw: bool = False) -> Job:
    """The call whose answer is `text` itself: the model reads it and reports the probability of each of its tokens.

    The model is asked in a chat, or with `raw` reads plain text: the prompt, a new line where the answer does not begin
    with a space, the answer.

    llama.cpp gives log-probabilities from before the grammar, so they are the model's own. The grammar holds it to the
    tokens in which its own tokenizer splits the text. Without that it spells a text it would not have written in
    whatever tokens it likes best, letter by letter, and the mean per token is of another thing.
    """
    message = {"role": "user", "content": prompt}
    if raw:
        message = {"role": "text", "content": prompt if text[:1].isspace() else f"{prompt}\n"}
    return Job(
        model=model,
        messages=[message],
        decoding=Decoding(temperature=0.0, max_tokens=max_tokens, logprobs=True, choices=(text,)),
    )


def read_nll(answer: Answer, text: str) -> float | None:
    """The mean negative log-likelihood per token in the answer to `nll_job`, of the tokens that were read.

    None where the call failed or the text has no tokens.
    """
    if answer.error or not answer.logprobs or not text.startswith(answer.text):
        return None
    return -sum(answer.logprobs) / len(answer.logprobs)


def toxicity(texts: Sequence[str], weights: Path | None = None) -> list[float]:
    """The probability that each text is toxic, in [0, 1]: by the linear model at `weights`, else alt-profanity-check.

    Either is a linear model over words: it sees words, not meaning, and saturates near 1. The package is MIT and brings
    its weights. A file of weights is a JSON object with a `bias`, and `weights` by word or by words with a space
    between; a text's logit is the bias and the weights of all that it holds, each counted once, in lower case.
    """
    if weights is not None:
        return _linear_probabilities(texts, weights)
    try:
        from profanity_check import predict_prob
    except ImportError as error:
        raise MissingPart(
            "The toxicity scorer needs the package alt-profanity-check.",
            remedy="pip install alt-profanity-check, or give a linear model of your own: --weights MODEL.json",
        ) from error
    return [float(p) for p in predict_prob(list(texts))] if texts else []


def _linear_probabilities(texts: Sequence[str], path: Path) -> list[float]:
    try:
        model = json.loads(path.read_text(encoding="utf-8"))
        bias, weight = float(model["bias"]), {str(k).lower(): float(w) for k, w in model["weights"].items()}
        longest = max(len(words.split()) for words in weight)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"{path} holds no linear model ({type(error).__name__}: {error}).",
            remedy='Write {"bias": -4.0, "weights": {"idiot": 3.1, "shut up": 2.2}}.',
        ) from error
    out = []
    for text in texts:
        words = re.findall(r"\w+", text.lower())
        held = {" ".join(words[k : k + n]) for n in range(1, longest + 1) for k in range(len(words) - n + 1)}
        logit = bias + sum(weight.get(each, 0.0) for each in held)
        out.append(1 / (1 + math.exp(-max(-700.0, min(700.0, logit)))))
    return out
