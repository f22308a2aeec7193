"""How often draws of a calibrated model are said to agree more or less often than they are right.

    python studies/calibration_agreement.py [--runs 1000]    again goes on where it stopped

100 questions of five classes; the truth is one more draw of the model's own law (temperature 1), or the model is
sharper than that (2). Refusals fall at random. Figures: docs/estimators/sem-ece.md.
"""

import argparse
from pathlib import Path

import numpy as np
from cells import Cell, go_on, records
from scipy.stats import ttest_1samp

from richter.calibration import agreement_gap

OUT = Path(__file__).parents[1] / "soak" / "calibration_agreement.txt"


def run(cell: Cell, runs: int, rng: np.random.Generator) -> dict[str, float]:
    """The share of tables in which a difference is shown at 5%."""
    shown = []
    for _ in range(runs):
        law = rng.dirichlet(np.full(5, 0.5), size=100)
        sharp = law ** cell["temperature"] / np.sum(law ** cell["temperature"], axis=1, keepdims=True)
        truth = (rng.random((100, 1)) > np.cumsum(law, axis=1)).sum(axis=1)
        drawn = (rng.random((100, cell["draws"], 1)) > np.cumsum(sharp, axis=1)[:, None]).sum(axis=2)
        labels = np.where(rng.random(drawn.shape) < cell["refused"], -1, drawn)
        found = agreement_gap(labels, np.where(labels < 0, np.nan, drawn == truth[:, None]))
        shown.append(ttest_1samp(found.agreement - found.right, 0.0).pvalue <= 0.05)
    return {"shown": float(np.mean(shown))}


CELLS: list[Cell] = [
    {"draws": draws, "temperature": temperature, "refused": refused}
    for draws in (5, 10, 20)
    for temperature, refused in ((1.0, 0.0), (1.0, 0.2), (2.0, 0.0))
]

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    go_on(OUT, [(cell, run) for cell in CELLS], parser.parse_args().runs)
    for cell, found in records(OUT):
        print(cell, found)
