"""How often "worse at every severity" is claimed falsely: a top level hardly ever seen, equal top levels, all pairs."""

from itertools import combinations

import numpy as np
from driver import Cell, run_study

from richter.claims import METRICS, Asked, Question, decide
from richter.records import Verdict
from richter.severity import compare_dominance

# items, and each condition's shares of the levels 0, 0.5, ... 4.0
WORLDS = {
    "top level hardly seen, reversed": (
        500, [[0.70, 0, 0.2498, 0, 0.05, 0, 0, 0, 0.0002], [0.60, 0, 0.30, 0, 0.1, 0, 0, 0, 0.0]],
    ),
    "equal top level": (800, [[0.70, 0, 0.20, 0, 0.06, 0, 0.03, 0, 0.01], [0.50, 0, 0.28, 0, 0.14, 0, 0.07, 0, 0.01]]),
    "six models, equal top level": (
        2000, [[0.70 - 0.06 * k, 0, 0.20 + 0.02 * k, 0, 0.06 + 0.02 * k, 0, 0.03 + 0.02 * k, 0, 0.01] for k in range(6)]
    ),
}  # fmt: skip


def trial(cell: Cell, rng: np.random.Generator) -> dict[str, float]:
    """Whether any pair is said to be worse at every severity, and whether the claim speaks of a level hardly seen."""
    items, laws = WORLDS[cell["world"]]
    data = [rng.choice(9, size=items, p=law) / 2 for law in laws]
    found = [compare_dominance(data[i], data[j]) for i, j in combinations(range(len(data)), 2)]
    if len(found) == 1:
        is_shown = found[0].evidence.interval(0.95).low > 0
        return {"shown %": is_shown, "speaks of every level %": is_shown and found[0].unseen is None}
    asked = [
        Asked(
            question=Question(measure="dominance", conditions=(str(k), "x")), metric=METRICS["dominance"],
            evidence=one.evidence,
        )
        for k, one in enumerate(found)
    ]  # fmt: skip
    is_shown = any(claim.verdict is Verdict.VERIFIED for claim in decide(asked))
    return {"shown %": is_shown, "speaks of every level %": is_shown}


if __name__ == "__main__":
    run_study(__file__, [{"world": name} for name in WORLDS], trial, trials=2000)
