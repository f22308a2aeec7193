"""Confidence as given: probabilities, percentages, or neither."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from richter.errors import InputError

__all__ = ["as_probability"]


def as_probability(confidence: ArrayLike) -> tuple[NDArray[np.float64], str]:
    """Confidences on [0, 1], and a sentence when percentages were recognised (else an empty one).

    Values are percentages when all lie in [0, 100], at least one exceeds 1 and none of those is below 2: nobody
    states 1.3%. NaN (no confidence) is kept.
    """
    values = np.asarray(confidence, dtype=np.float64)
    given = values[~np.isnan(values)]
    over = given[given > 1]
    if len(over) == 0 and (given >= 0).all():
        return values, ""
    if (given >= 0).all() and (given <= 100).all() and (over >= 2).all():
        return values / 100, f"Confidence runs up to {given.max():g}: read as percentages and divided by 100."
    bad = given[(given < 0) | (given > 100)]
    worst = float(bad[0] if len(bad) else over[0])
    raise InputError(
        f"A confidence of {worst:g} is neither a probability in [0, 1] nor a percentage in [0, 100].",
        remedy="Write confidence as a number from 0 to 1.",
    )
