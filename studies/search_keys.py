"""How often the stated share of bad keys covers the truth, by simulated readers of known quality.

Failing questions of which some have bad keys are read by a tested model, a checker or none, and the writer, who passed
every key once and misses half of what it missed again. Readers flag 3% of good keys. A part of the bad keys is hard:
seen 0.55 times as often as planted ones. In each cell how often the 95% interval holds the share of bad keys among
those that survive, and its mean upper limit.
"""

import math

import numpy as np
from driver import Cell, run_study

from richter_audit.ascent import PlantedKeys, estimate_bad_keys

READERS = {
    "good, checker": (0.85, 0.95),
    "middling, checker": (0.6, 0.8),
    "weak, checker": (0.3, 0.5),
    "good": (0.85,),
    "middling": (0.6,),
    "weak": (0.3,),
}
WRITER, FALSE, HARDER, PLANTED = 0.85, 0.03, 0.55, 30
CELLS = [
    {"hard": hard, "readers": readers, "keys": keys, "bad": bad}
    for hard in (0.0, 0.2, 0.5, 1.0)
    for readers in READERS
    for keys in (40, 100, 300)
    for bad in (0.02, 0.1, 0.3)
]


def trial(cell: Cell, rng: np.random.Generator) -> dict[str, float]:
    """Whether the interval of one export covers, and its upper limit; neither where no key survives."""
    n, readers = cell["keys"], np.array(READERS[cell["readers"]])
    is_bad = rng.random(n) < cell["bad"]
    ease = np.where(rng.random(n) < cell["hard"], HARDER, 1.0)
    flags = rng.random((n, len(readers))) < np.where(is_bad[:, None], ease[:, None] * readers, FALSE)
    by_writer = rng.random(n) < np.where(is_bad, ease * WRITER / 2, FALSE)
    survives = ~(flags.any(axis=1) | by_writer)
    survived = int(survives.sum())
    if not survived:
        return {"covers %": math.nan, "upper limit %": math.nan}
    noticed = (rng.random((min(PLANTED, n), len(readers))) < readers).any(axis=1)
    planted = PlantedKeys(len(noticed), int(noticed.sum()))
    _, interval = estimate_bad_keys(n - survived, survived=survived, planted=planted)
    share = (is_bad & survives).sum() / survived
    return {"covers %": share <= interval.high + 1e-12, "upper limit %": interval.high}


if __name__ == "__main__":
    run_study(__file__, CELLS, trial, trials=500)
