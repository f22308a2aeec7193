"""How often a difference of the size that `severity` says it can detect is shown: 80% is promised.

Each trial draws two conditions whose errors are of one law and takes the size from their table; then two more of which
the second's errors are that much more severe (the law with weights exp(t s)), and asks for the claim. Errors of hard
questions are shared.
"""

import math

import numpy as np
from driver import Cell, run_study

from richter.claims import METRICS, min_detectable_difference
from richter.severity import severity_given_error
from richter.stats import find_root

ALPHA = 0.05
SHARED = 0.3  # of the questions whether both err is one event
LAWS = {
    "even": {1.0: 0.4, 2.0: 0.3, 3.0: 0.2, 4.0: 0.1},
    "two levels": {1.0: 0.53, 3.0: 0.41, 4.0: 0.06},
    "half steps": dict(zip(np.arange(0.5, 4.1, 0.5), (0.25, 0.2, 0.15, 0.12, 0.1, 0.08, 0.06, 0.04), strict=True)),
    "mostly slight": {1.0: 0.8, 2.0: 0.1, 3.0: 0.06, 4.0: 0.04},
}
CELLS = [
    {"law": law, "questions": questions, "rate": rate}
    for law in LAWS
    for questions, rate in ((100, 0.15), (200, 0.13), (200, 0.26), (400, 0.25), (1000, 0.2))
]


def more_severe(level: np.ndarray, share: np.ndarray, by: float) -> np.ndarray | None:
    """The shares of a law whose mean is higher; None where none is."""

    def moved(tilt: float) -> np.ndarray:
        weight = share * np.exp(tilt * (level - level[-1]))
        return np.asarray(weight / weight.sum())

    aim = share @ level + by
    if aim > level[-1] - 0.02:
        return None
    return moved(find_root(lambda tilt: moved(tilt) @ level - aim, 0.0, 60.0))


def draw(cell: Cell, share: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Both conditions' severities, 0 where an answer is right; the second's errors have these shares."""
    law, n = LAWS[cell["law"]], cell["questions"]
    level, luck = np.array([*law]), rng.random(n)
    wrong = luck < cell["rate"], np.where(rng.random(n) < SHARED, luck, rng.random(n)) < cell["rate"]
    shares = np.array([*law.values()]), share
    first, second = (np.where(w, rng.choice(level, n, p=s), 0.0) for w, s in zip(wrong, shares, strict=True))
    return first, second


def trial(cell: Cell, rng: np.random.Generator) -> dict[str, float]:
    """Whether the table says a size, what it is, and whether a difference of that size is shown."""
    law = LAWS[cell["law"]]
    level, share = np.array([*law]), np.array([*law.values()])
    evidence = severity_given_error(*draw(cell, share, rng))
    size = min_detectable_difference(evidence, METRICS["severity_given_error"], tail=ALPHA / 2)
    moved = None if size is None else more_severe(level, share, size)
    if size is None or moved is None:
        return {"has size %": 0.0, "size": math.nan, "shown %": math.nan}
    again = severity_given_error(*draw(cell, moved, rng))
    return {"has size %": 1.0, "size": size, "shown %": again.interval(1 - ALPHA).low > 0}


if __name__ == "__main__":
    run_study(__file__, CELLS, trial, trials=500)
