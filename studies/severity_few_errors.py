"""Size and power of the mean severity of few errors, by permutation.

200 questions, two conditions with 25, 37 or 50 errors each; errors of hard questions are shared (`hard`: the spread of
log difficulty). Severities from 0.5 to 4 about a mean of 1.7, the second's 0 or 0.5 above it.
"""

import numpy as np
from driver import Cell, run_study

from richter.severity import severity_given_error

QUESTIONS = 200
CELLS = [
    {"errors": errors, "shift": shift, "hard": hard}
    for errors in (25, 37, 48)
    for shift, hard in ((0.0, 0.0), (0.0, 1.0), (0.5, 1.0))
]


def trial(cell: Cell, rng: np.random.Generator) -> dict[str, float]:
    """Whether a difference is shown at 5%."""
    log = cell["hard"] * rng.normal(size=QUESTIONS)
    chance = np.clip(cell["errors"] / QUESTIONS * np.exp(log - cell["hard"] ** 2 / 2), 0, 1)
    sides = []
    for more in (0.0, cell["shift"]):
        severity = np.clip(np.round(2 * (1.7 + more + 0.9 * rng.normal(size=QUESTIONS))) / 2, 0.5, 4.0)
        sides.append(np.where(rng.random(QUESTIONS) < chance, severity, 0.0))
    evidence = severity_given_error(*sides)
    assert evidence.p is not None
    return {"shown %": evidence.p(0.0) <= 0.05}


if __name__ == "__main__":
    run_study(__file__, CELLS, trial, trials=2000)
