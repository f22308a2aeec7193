"""Coverage of b: at a planned m_min behind its gate, and as the paper chooses m_min.

Five laws (exact, an excess of minor slips, a mild one, a deficit, a pile-up at 2.0). Of each: how often the interval
holds the true b, how often there is none (too few errors), how often the gate passes, and the coverage where it does.
"""

import math

import numpy as np
from driver import Cell, run_study

from richter.errors import TooFewErrors
from richter.severity import DEFAULT, Recipe, b_from_counts

SHAPES = {
    "exact": (),
    "excess x2 at 0.5, x1.5 at 1.0": (2.0, 1.5),
    "mild excess x1.3, x1.15": (1.3, 1.15),
    "deficit x0.5, x0.7": (0.5, 0.7),
    "pile-up x2.5 at 2.0": (1.0, 1.0, 1.0, 2.5),
}
RECIPES = {"planned 1.5": DEFAULT, "ks": Recipe(m_min="ks")}
CELLS = [
    {"shape": shape, "b": b, "errors": errors, "m_min": recipe}
    for errors in (1000, 2500)
    for b in (0.8, 1.0)
    for shape in SHAPES
    for recipe in RECIPES
]


def trial(cell: Cell, rng: np.random.Generator) -> dict[str, float]:
    """One table of counts."""
    law, factors = 10 ** (-cell["b"] * 0.5 * np.arange(8)), SHAPES[cell["shape"]]
    law[: len(factors)] *= factors
    counts = np.concatenate([[0], rng.multinomial(cell["errors"], law / law.sum())])
    try:
        found = b_from_counts(counts, recipe=RECIPES[cell["m_min"]], n_resamples=800, rng=rng)
    except TooFewErrors:
        return {"covers %": math.nan, "none %": 1.0, "gate passes %": 0.0, "covers there %": math.nan}
    hit = float(cell["b"] in found.interval)
    return {
        "covers %": hit, "none %": 0.0, "gate passes %": found.adequate,
        "covers there %": hit if found.adequate else math.nan,
    }  # fmt: skip


if __name__ == "__main__":
    run_study(__file__, CELLS, trial, trials=1000)
