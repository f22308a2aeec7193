"""How often a difference of the size that `severity` says it can detect is shown: 80% is promised.

    python studies/severity_sizes.py [--runs 500]    again goes on where it stopped

Each run draws two conditions whose errors are of one law and takes the size from their table; then two more of which
the second's errors are that much more severe (the law with weights exp(t s)), and asks for the claim. Errors of hard
questions are shared.
"""

import argparse
from pathlib import Path

import numpy as np
from cells import Cell, go_on, records

from richter.claims import METRICS, min_detectable_difference
from richter.severity import severity_given_error
from richter.stats import find_root

OUT = Path(__file__).parents[1] / "soak" / "severity_sizes.txt"
ALPHA = 0.05
SHARED = 0.3  # of the questions whether both err is one event
LAWS = {
    "even": {1.0: 0.4, 2.0: 0.3, 3.0: 0.2, 4.0: 0.1},
    "two levels": {1.0: 0.53, 3.0: 0.41, 4.0: 0.06},
    "half steps": dict(zip(np.arange(0.5, 4.1, 0.5), (0.25, 0.2, 0.15, 0.12, 0.1, 0.08, 0.06, 0.04), strict=True)),
    "mostly slight": {1.0: 0.8, 2.0: 0.1, 3.0: 0.06, 4.0: 0.04},
}


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


def run(cell: Cell, runs: int, rng: np.random.Generator) -> dict[str, float]:
    """The share of differences of the size said that are shown, in how many tables there was one, and its median."""
    law = LAWS[cell["law"]]
    level, share = np.array([*law]), np.array([*law.values()])
    shown, sizes = [], []
    for _ in range(runs):
        evidence = severity_given_error(*draw(cell, share, rng))
        size = min_detectable_difference(evidence, METRICS["severity_given_error"], tail=ALPHA / 2)
        moved = None if size is None else more_severe(level, share, size)
        if moved is not None:
            sizes.append(size)
            again = severity_given_error(*draw(cell, moved, rng))
            shown.append(again.interval(1 - ALPHA).low > 0)
    return {"shown": float(np.mean(shown)), "tables": len(shown), "size": float(np.median(sizes))}


CELLS: list[Cell] = [
    {"law": law, "questions": questions, "rate": rate}
    for law in LAWS
    for questions, rate in ((100, 0.15), (200, 0.13), (200, 0.26), (400, 0.25), (1000, 0.2))
]

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=500)
    go_on(OUT, [(cell, run) for cell in CELLS], parser.parse_args().runs)
    for cell, found in records(OUT):
        print(cell, found)
