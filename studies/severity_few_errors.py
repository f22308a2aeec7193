"""Size, power and cover of the mean severity of few errors, by permutation. Figures: docs/estimators/matched-pairs.md.

    python studies/severity_few_errors.py [--runs 2000]    again goes on where it stopped

200 questions, two conditions with 25, 37 or 50 errors each; errors of hard questions are shared (`hard`: the spread of
log difficulty). Severities from 0.5 to 4 about a mean of 1.7, the second's 0 or 0.5 above it.
"""

import argparse
from pathlib import Path

import numpy as np
from cells import Cell, go_on, records

from richter.severity import severity_given_error

OUT = Path(__file__).parents[1] / "soak" / "severity_few_errors.txt"
QUESTIONS = 200


def severities(cell: Cell, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Both conditions' severities, 0 where an answer is right."""
    log = cell["hard"] * rng.normal(size=QUESTIONS)
    chance = np.clip(cell["errors"] / QUESTIONS * np.exp(log - cell["hard"] ** 2 / 2), 0, 1)
    columns = []
    for more in (0.0, cell["shift"]):
        severity = np.clip(np.round(2 * (1.7 + more + 0.9 * rng.normal(size=QUESTIONS))) / 2, 0.5, 4.0)
        columns.append(np.where(rng.random(QUESTIONS) < chance, severity, 0.0))
    return columns[0], columns[1]


def run(cell: Cell, runs: int, rng: np.random.Generator) -> dict[str, float]:
    """How often a difference is shown at 5%."""
    shown = []
    for _ in range(runs):
        evidence = severity_given_error(*severities(cell, rng))
        assert evidence.p is not None
        shown.append(evidence.p(0.0) <= 0.05)
    return {"shown": float(np.mean(shown))}


CELLS: list[Cell] = [
    {"errors": errors, "shift": shift, "hard": hard}
    for errors in (25, 37, 48)
    for shift, hard in ((0.0, 0.0), (0.0, 1.0), (0.5, 1.0))
]

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=2000)
    go_on(OUT, [(cell, run) for cell in CELLS], parser.parse_args().runs)
    for cell, found in records(OUT):
        print(cell, found)
