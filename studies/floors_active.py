"""Active against random labelling on public grades: mean squared error, and cover of the intervals.

Truth is the pool's own value with every label known. Random labelling uses the same number of labels, drawn uniformly,
with the plain mean and the plug-in and debiased ECE. An unparseable answer counts as wrong. The grades are
mcq_arc_14models.csv and mcq_truthfulqa_14models.csv of the public data (RICHTER_SHARED_DATA).
"""

import functools
import os
import sys
from pathlib import Path

import numpy as np
import polars as pl
from driver import ROOT, Cell, run_study

from richter.floors import active_estimate, next_batch, start_active
from richter.stats import bin_gaps, ece, ece_interval

DATA = Path(os.environ.get("RICHTER_SHARED_DATA", ROOT.parent / "shared" / "data"))
BUDGET = 300


@functools.cache
def grades(name: str) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Confidence and correctness by model."""
    frame = pl.read_csv(DATA / f"mcq_{name}_14models.csv").with_columns(right=(pl.col("grade") == "Correct") * 1.0)
    parts = frame.partition_by("model", as_dict=True)
    return {str(key[0]): (part["confidence"].to_numpy(), part["right"].to_numpy()) for key, part in parts.items()}


def trial(cell: Cell, rng: np.random.Generator) -> dict[str, float]:
    """Squared errors of the error rate and of both ECEs by 300 labels, chosen and at random."""
    c, a = grades(cell["pool"])[cell["model"]]
    truth = np.array([1 - a.mean(), (true_ece := ece(c, a).ece), true_ece])
    state = start_active(c, budget=BUDGET, seed=int(rng.integers(2**31)))
    while len(batch := next_batch(state)):
        state = state.with_labels(batch, a[batch])
    result = active_estimate(state)
    pick = rng.choice(len(c), BUDGET, replace=False)
    gaps = bin_gaps(c[pick], a[pick])
    plain = 1 - a[pick].mean(), np.abs(gaps.gap).sum(), ece_interval(gaps.gap, gaps.standard_error)[0]
    found = {
        "cover of the rate %": truth[0] in result.error_interval,
        "cover of the ECE %": truth[1] in result.ece_interval,
    }
    for how, values in (("active", (result.error_rate, result.ece, result.ece_debiased)), ("random", plain)):
        for name, error in zip(("rate", "ECE", "debiased"), np.array(values) - truth, strict=True):
            found[f"{name}, {how}"] = float(error) ** 2
    return found


if __name__ == "__main__":
    if not DATA.exists():
        sys.exit(print("The public grades are not here."))
    pools = ("arc", "truthfulqa")
    run_study(__file__, [{"pool": pool, "model": m} for pool in pools for m in grades(pool)], trial, trials=200)
