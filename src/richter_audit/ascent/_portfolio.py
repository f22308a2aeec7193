"""Which strategy gets the places of a step: a bandit over what each has found lately."""

from collections.abc import Sequence

import numpy as np

from richter_audit.ascent._error_field import Field

__all__ = ["ARMS", "leading_arm"]

# each arm with how many times the rate of random paragraphs it is expected to find before it has been tried
ARMS = {"bayes": 2.0, "sea": 1.2, "modes": 1.1, "uniform": 1.0}
PRIOR, PRIOR_ERRORS = 24.0, 6.0  # answers' worth of that expectation, or as many as hold six errors at random
FADING = 0.7  # what an answer counts after one more step: neighbours are used up, and the surrogate learns
MOST = 0.95  # the highest rate that is expected
AT_RANDOM = ("uniform", "start")


def leading_arm(field: Field, arms: Sequence[str], step: int) -> str:
    """The arm that is expected to find most in a step, which gets its places.

    What an arm is expected to find is the mean error of its paragraphs of earlier steps, fading by step, with 24
    answers' worth of what is hoped for before it is tried, or more where errors are rare: as many as hold six errors at
    random, since fewer answers without an error say nothing. Hope fades where it is not borne out, so that the next arm
    gets its turn, and where nothing beats asking at random the places go there. The uniform share of every step is the
    record of asking at random.
    """
    rate = _random_rate(field)
    prior = max(PRIOR, PRIOR_ERRORS / rate)
    wrong = {arm: prior * min(ARMS[arm] * rate, MOST) for arm in arms}
    seen = dict.fromkeys(arms, prior)
    for row, (arm, then) in field.arms.items():
        error = field.errors.get(row, np.nan)
        if arm in wrong and not np.isnan(error):
            weight = FADING ** (step - 1 - then)
            wrong[arm] += weight * error
            seen[arm] += weight
    return max(arms, key=lambda arm: wrong[arm] / seen[arm])


def _random_rate(field: Field) -> float:
    """The error of the paragraphs that were drawn at random, with four answers' worth of a quarter."""
    rows = [row for row, (arm, _) in field.arms.items() if arm in AT_RANDOM]
    errors = [error for row in rows if not np.isnan(error := field.errors.get(row, np.nan))]
    return (sum(errors) + 1) / (len(errors) + 4)
