"""How often a planted bias of a judge is found without labels, and how often one is found that is not there.

    python studies/judges_biases.py [--runs 1000] [--out soak/judges_biases.txt]

500 questions under two conditions; a judge that errs in 6% beside a reference that is right, or a second judge that
errs in 10%. Planted: 5 points for the longer half of the answers, or for the answers of the judge's own family (one of
the two conditions); and none. Right answers are as long as wrong ones, or a little longer; those of one condition are
a little longer than the other's. A line of the file is a cell.
"""

import argparse
from pathlib import Path

import numpy as np
from cells import Cell, go_on

from richter.stats import grade_dependence

N = 500


def world(cell: Cell, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Grades by a judge and a reference, log lengths, whether of the judge's family, and items."""
    item = np.tile(np.arange(N), 2)
    own = np.repeat([0.0, 1.0], N)
    hard = np.tile(rng.normal(0, 1, N), 2)
    right = hard + rng.normal(0, 1, 2 * N) < 0.9
    length = np.tile(rng.normal(0, 0.5, N), 2) + rng.normal(0, 0.5, 2 * N) + cell["longer"] * right + 0.3 * own
    judge = np.where(rng.random(2 * N) < 0.06, ~right, right)
    planted = {"none": 0.0, "length": 0.05 * (length > np.median(length)), "family": 0.05 * own}[cell["bias"]]
    share = np.clip(planted / max(1 - float(judge.mean()), 1e-9), 0, 1)
    judge = judge | (~judge & (rng.random(2 * N) < share))
    reference = np.where(rng.random(2 * N) < cell["reference errs"], ~right, right)
    return judge.astype(float), reference.astype(float), length, own, item


def run(cell: Cell, runs: int, rng: np.random.Generator) -> dict[str, float]:
    """How often each bias is shown."""
    found = {"length": 0, "family": 0}
    for _ in range(runs):
        judge, reference, length, own, item = world(cell, rng)
        quantities = {"length": length > np.median(length), "family": own}
        slopes = grade_dependence(judge, reference, quantities, unit=item, is_true=cell["reference errs"] == 0)
        for name, slope in slopes.items():
            found[name] += 0 not in slope.interval(0.95)
    return {name: number / runs for name, number in found.items()}


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--out", type=Path, default=Path("soak/judges_biases.txt"))
    given = parser.parse_args()
    cells = [
        {"bias": bias, "reference errs": errs, "longer": longer}
        for bias in ("none", "length", "family")
        for errs in (0.0, 0.1)
        for longer in (0.0, 0.3)
    ]
    go_on(given.out, ((cell, run) for cell in cells), given.runs)
