"""Planted bad keys: how many of them the readers of keys notice, and what share of the keys that they pass is bad."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import binom

from richter.records import Interval, Paragraph, Question
from richter.stats import clopper_pearson
from richter_audit.ascent._question_prompts import replace_right_option
from richter_audit.bench import order_by_hash

__all__ = ["PlantedKeys", "estimate_bad_keys", "plant_bad_keys"]

PLANTED = 30  # questions without a right option that are read, at most


class PlantedKeys(NamedTuple):
    """How many questions without a right option were read, and of how many of them a reader said so."""

    planted: int
    noticed: int


class BadKeys(NamedTuple):
    """The expected share of bad keys with its interval; None where no reading can say."""

    share: float | None
    interval: Interval | None


def plant_bad_keys(questions: Sequence[tuple[Paragraph, Question]]) -> list[tuple[Paragraph, Question]]:
    """Up to 30 of these questions, each with its key replaced by that of another, which does not stand in its text."""
    by_wording = {question.wordings[0]: (paragraph, question) for paragraph, question in questions}
    order = order_by_hash(by_wording, "planted")
    planted = []
    for at, wording in enumerate(order):
        paragraph, question = by_wording[wording]
        others = [by_wording[other][1].answer for other in order[at + 1 :] + order[:at]]
        changed = replace_right_option(question, paragraph, others)
        if changed is not None:
            planted.append((paragraph, changed))
    return planted[:PLANTED]


def estimate_bad_keys(flagged: int, *, survived: int, planted: PlantedKeys, level: float = 0.95) -> BadKeys:
    """The expected share of bad keys among `survived` ones, from planted bad keys, and its interval.

    `flagged` keys were called bad by any reader. With s the share of planted keys that are noticed, bad keys that all
    readers miss are flagged (1 - s) / s (Rogan and Gladen). The upper limit of them is N - flagged: N is the largest
    number of bad keys of which as few as `flagged` are seen with a chance above (1 - level) / 2, where each is seen
    with a chance of the lower Clopper-Pearson limit of s, which is exceeded by it with a chance of (1 - level) / 2. The
    lower limit is 0, since flags may be of good keys; such flags only raise the upper limit. None where nothing was
    planted or nothing survived.
    """
    if not planted.planted or not survived:
        return BadKeys(None, None)
    risk, sensitivity = (1 - level) / 2, planted.noticed / planted.planted
    least = clopper_pearson(planted.noticed, planted.planted, level=level).low
    high = _most_missed(flagged, least, risk, survived) / survived
    interval = Interval(low=0.0, high=high, level=level, method="planted bad keys")
    share = min(1.0, flagged * (1 - sensitivity) / sensitivity / survived) if sensitivity else None
    return BadKeys(share, interval)


def _most_missed(flagged: int, sensitivity: float, risk: float, survived: int) -> int:
    """The most keys that can be missed, of `survived` ones, where `flagged` are seen, but for the risk."""
    bad = flagged + np.arange(1, survived + 1)
    return int((binom.cdf(flagged, bad, sensitivity) > risk).sum())
