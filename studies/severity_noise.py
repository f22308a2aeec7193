"""Judges' errors allowed for: coverage of the true rate, mean and slope behind two noisy simulated judges.

Two judges at an ICC of 0.45, 200 or 400 human labels on 5,000 answers, at random or half of them from answers judged 2
or more; the truth is known. Coverage of the rate at 3 and above, of the mean, of the mean given an error and of b, how
often b is blocked, and how far off the judges' own mean is.
"""

import functools
import math

import numpy as np
from driver import Cell, run_study
from numpy.typing import NDArray

from richter.severity import severity_by_labels
from richter.stats import icc

LEVELS = np.arange(9) / 2
ANSWERS = 5000
CELLS = [
    {"b": b, "error rate": rate, "labels": labels, "half from flagged": over}
    for b, rate in ((0.4, 0.5), (0.6, 0.5), (0.5, 0.4), (0.8, 0.3))
    for labels in (200, 400)
    for over in (False, True)
]


def truth(b: float, rate: float) -> NDArray[np.float64]:
    """The shares of the levels."""
    law = 10 ** (-b * 0.5 * np.arange(8))
    return np.concatenate([[1 - rate], rate * law / law.sum()])


def judge(true: NDArray[np.float64], spread: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Both judges' scores."""
    return np.clip(np.round((true + rng.normal(0, spread, (2, len(true)))) * 2) / 2, 0, 4)


@functools.cache
def spread_for(b: float, rate: float) -> float:
    """The judges' error at which the ICC of a single score is 0.45."""
    rng = np.random.default_rng(1)
    true = rng.choice(9, size=40_000, p=truth(b, rate)) / 2
    return float(next(s for s in np.arange(0.2, 3.0, 0.02) if icc(judge(true, s, rng).T).single <= 0.45))


def trial(cell: Cell, rng: np.random.Generator) -> dict[str, float]:
    """One sample of labels."""
    p = truth(cell["b"], cell["error rate"])
    true = rng.choice(9, size=ANSWERS, p=p) / 2
    judged = judge(true, spread_for(cell["b"], cell["error rate"]), rng).mean(axis=0)
    chosen = rng.choice(ANSWERS, cell["labels"], replace=False)
    if cell["half from flagged"]:
        parts = np.flatnonzero(judged >= 2), np.flatnonzero(judged < 2)
        half = cell["labels"] // 2
        chosen = np.concatenate([rng.choice(part, min(half, len(part)), replace=False) for part in parts])
    labels = np.full(ANSWERS, np.nan)
    labels[chosen] = true[chosen]
    found = severity_by_labels(judged, labels, n_resamples=1500, rng=rng)
    return {
        "rate %": float(p[6:].sum()) in found.at_least["3.0"].interval,
        "mean %": float(p @ LEVELS) in found.mean.interval,
        "given an error %": float(p @ LEVELS / p[1:].sum()) in found.given_error.interval,
        "b %": math.nan if found.b is None else cell["b"] in found.b.interval,
        "b blocked %": found.b is None,
        "bias as judged": float(judged.mean() - p @ LEVELS),
    }


if __name__ == "__main__":
    run_study(__file__, CELLS, trial, trials=1000)
