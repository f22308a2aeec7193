"""False differences between two alike conditions where raters differ in leniency and in what they rated.

Worlds: severities and severe answers of alike conditions on 300 shared items that differ in difficulty; two raters, the
second ten points (of the scale) harsher. Designs: shares of 90/10 against 10/90 and 75/25 against 25/75, all rated by
both, and a rater for each condition. For each: how often a difference is shown (5% at most) or blocked, and how often
one of ten points is.
"""

import numpy as np
import polars as pl
from driver import Cell, run_study

from richter.claims import Blocked, Question
from richter.evidence import evidence
from richter.tables import read_tables

N = 300


def ratings(cell: Cell, rng: np.random.Generator) -> pl.DataFrame:
    """Single ratings of two conditions."""
    hard, rows = rng.normal(0, 0.5, N), []
    for k, condition in enumerate(("old", "new")):
        share, dealt = cell["shares"][k], rng.random(N)
        for rater in (0, 1):
            chosen = np.ones(N, dtype=bool) if share is None else (dealt < share) == (rater == 1)
            true = 0.8 + hard + rng.exponential(0.8, N) - 0.8 + cell["gap"] * k * 4
            level = np.clip(np.round(2 * (true + 0.4 * rater + 0.3 * rng.standard_normal(N))) / 2, 0, 4)
            rows += [(f"q{i}", condition, f"rater {rater}", "judge", float(level[i])) for i in np.flatnonzero(chosen)]
    names = ["item", "condition", "rater", "kind", "severity"]
    return pl.DataFrame(rows, schema=names, orient="row")


DESIGNS = ((0.1, 0.9), (0.25, 0.75), (0.4, 0.6), (None, None), (0.0, 1.0))
CELLS = [{"shares": list(shares), "gap": gap} for shares in DESIGNS for gap in (0.0, 0.1)]


def trial(cell: Cell, rng: np.random.Generator) -> dict[str, float]:
    """Whether a difference of mean severity is shown, or blocked."""
    question = Question(measure="mean_severity", conditions=("old", "new"))
    found = evidence(read_tables(ratings(cell, rng)), question).evidence
    if isinstance(found, Blocked):
        return {"shown %": 0.0, "blocked %": found.gate == "raters"}
    return {"shown %": 0 not in found.interval(0.95), "blocked %": 0.0}


if __name__ == "__main__":
    run_study(__file__, CELLS, trial, trials=1000)
