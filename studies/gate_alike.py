"""How often `richter gate old= new= --margin` blocks a change that changes nothing, and one that costs just the margin.

Two conditions on the same items, each item with a chance of its own (Beta(2, 1), mean 2/3) and answers drawn
independently, so that about a quarter of the items differ by chance alone. Without a loss the chances are the same; at
the limit the second loses just the margin on average, and a pass is false.
"""

import numpy as np
import polars as pl
from driver import Cell, run_study

from richter.audit import margin_plan, run_gate
from richter.records import Verdict
from richter.tables import read_tables

CELLS = [
    {"margin": margin, "items": items, "loss": loss}
    for margin in (0.02, 0.05, 0.10)
    for items in (100, 400, 1600)
    for loss in (0.0, margin)
]


def trial(cell: Cell, rng: np.random.Generator) -> dict[str, float]:
    """What one gate says."""
    n, chance = cell["items"], rng.beta(2, 1, cell["items"])
    right = [rng.random(n) < chance, rng.random(n) < chance * (1 - cell["loss"] / (2 / 3))]
    rows = {"item": [str(i) for i in range(n)] * 2, "condition": ["old"] * n + ["new"] * n}
    tables = read_tables(pl.DataFrame(rows | {"correct": np.concatenate(right).astype(float)}))
    outcome = run_gate(margin_plan(tables, cell["margin"]), tables).outcome
    return {
        "passes %": outcome is Verdict.VERIFIED, "violated %": outcome is Verdict.REFUTED,
        "not shown %": outcome is Verdict.UNDECIDED,
    }  # fmt: skip


if __name__ == "__main__":
    run_study(__file__, CELLS, trial, trials=2000)
