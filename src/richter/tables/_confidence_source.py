"""How sure a model was of each answer: one source for all answers of a condition."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import polars as pl

from richter.tables._part import ROW
from richter.tables._tables import KEY

Key = tuple[str, str, int]
Texts = tuple[Key, str, Sequence[str], Sequence[float]]


def confidences(given: Mapping[Key, tuple[str, float]], answers: Iterable[Texts]) -> pl.DataFrame:
    """A confidence for each answer that has one: what the source gives for the condition, else what answers state
    where half of them do, else the probability of their tokens."""
    having = {condition for _, condition, _ in given}
    rest = [entry for entry in answers if entry[0][1] not in having]
    answered = Counter(key[1] for key, *_ in rest)
    stated, token = _from_texts(rest)
    said_by, probable = Counter(key[1] for key in stated), {key[1] for key in token}
    states = {name for name, n in answered.items() if said_by[name] >= n / 2 or name not in probable}
    rows = [(*key, source, value) for key, (source, value) in given.items()]
    rows += [(*key, "stated confidence", value) for key, value in stated.items() if key[1] in states]
    rows += [(*key, "token probability", value) for key, value in token.items() if key[1] not in states]
    return pl.DataFrame(rows, schema={k: ROW[k] for k in (*KEY, "confidence_source", "confidence")}, orient="row")


def _from_texts(answers: Iterable[Texts]) -> tuple[dict[Key, float], dict[Key, float]]:
    """The confidences that answers state, and the probabilities of their tokens."""
    from richter.texts import split_confidence, token_probability  # tables of files have no need of it

    stated: dict[Key, float] = {}
    token: dict[Key, float] = {}
    for key, text, tokens, logprobs in answers:
        if "onfidence" in text and (confidence := split_confidence(text)[1]) is not None:
            stated[key] = confidence
        if (probability := token_probability(text, tokens, logprobs)) is not None:
            token[key] = probability
    return stated, token
