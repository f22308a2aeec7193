"""Active against random labelling on public grades: mean squared error, labels saved, and cover of the intervals.

Usage: python studies/floors_active.py FOLDER [runs]; FOLDER has mcq_arc_14models.csv and mcq_truthfulqa_14models.csv.

Truth is the pool's own value with every label known. Random labelling uses the same number of labels, drawn
uniformly, with the plain mean and the plug-in and debiased ECE. An unparseable answer counts as wrong.
"""

import sys
from pathlib import Path

import numpy as np
import polars as pl

from richter.floors import active_estimate, next_batch, start_active
from richter.stats import bin_gaps, ece, ece_interval

BUDGET = 300


def random_estimate(c: np.ndarray, a: np.ndarray, rng: np.random.Generator) -> tuple[float, float, float]:
    pick = rng.choice(len(c), BUDGET, replace=False)
    gaps = bin_gaps(c[pick], a[pick])
    return float(1 - a[pick].mean()), float(np.abs(gaps.gap).sum()), ece_interval(gaps.gap, gaps.standard_error)[0]


def main() -> None:
    folder, runs = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 200
    for name in ("arc", "truthfulqa"):
        frame = pl.read_csv(folder / f"mcq_{name}_14models.csv")
        table = []
        for (model,), part in frame.group_by("model", maintain_order=True):
            c, a = part["confidence"].to_numpy(), (part["grade"] == "Correct").to_numpy().astype(float)
            rate, truth = 1 - a.mean(), ece(c, a).ece
            active, plain, cover = [], [], np.zeros(2)
            for seed in range(runs):
                rng = np.random.default_rng([seed, 1])
                state = start_active(c, budget=BUDGET, seed=seed)
                while len(batch := next_batch(state)):
                    state = state.with_labels(batch, a[batch])
                result = active_estimate(state)
                active.append((result.error_rate, result.ece, result.ece_debiased))
                cover += (rate in result.error_interval, truth in result.ece_interval)
                plain.append(random_estimate(c, a, rng))
            target = np.array([rate, truth, truth])
            ratio = np.mean((np.array(active) - target) ** 2, axis=0) / np.mean((np.array(plain) - target) ** 2, axis=0)
            table.append((model, rate, *ratio, *(cover / runs)))
            print(
                f"{name:11} {model:14} error {rate:.2f}  MSE ratio: rate {ratio[0]:.2f}, ECE {ratio[1]:.2f}, "
                f"debiased {ratio[2]:.2f}   cover: rate {cover[0] / runs:.3f}, ECE {cover[1] / runs:.3f}",
                flush=True,
            )
        values = np.array([row[1:] for row in table])
        print(
            f"{name}: median MSE ratio rate {np.median(values[:, 1]):.2f}, ECE {np.median(values[:, 2]):.2f}, "
            f"debiased {np.median(values[:, 3]):.2f}; cover rate {values[:, 4].min():.3f}..{values[:, 4].max():.3f}, "
            f"ECE {values[:, 5].min():.3f}..{values[:, 5].max():.3f}"
        )


if __name__ == "__main__":
    main()
