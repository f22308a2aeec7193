"""Sem2's variants against the oracle, and what early stopping saves.

Simulated questions: class shares from a Dirichlet law over six classes, 20 draws (50 where drawing stops early),
correctness independent of the class chosen.
"""

import numpy as np
from driver import Cell, run_study

from richter.calibration import answer_pool, ece, held_out_confidence, mode_is_certain

ESTIMATORS = {
    "oracle": lambda pool, truth, rng: truth,
    "Sem1": lambda pool, truth, rng: pool.counts.max(axis=1) / 20,
    "Sem2, all halves": lambda pool, truth, rng: held_out_confidence(pool),
    "Sem2, R = 10": lambda pool, truth, rng: held_out_confidence(pool, splits=10, rng=rng),
    "Sem2, R = 200": lambda pool, truth, rng: held_out_confidence(pool, splits=200, rng=rng),
    "Sem2, leave one out": lambda pool, truth, rng: held_out_confidence(pool, select=np.full(len(truth), 19)),
}
CELLS: list[Cell] = [{"estimator": name} for name in ESTIMATORS]
CELLS += [{"stopping, Dirichlet": spread} for spread in (0.05, 0.1, 0.2, 0.5)]


def simulated(rng: np.random.Generator, questions: int, draws: int, spread: float) -> tuple[np.ndarray, np.ndarray]:
    """The class of every draw, and the share of each question's likeliest class."""
    share = -np.sort(-rng.dirichlet(np.full(6, spread), questions), axis=1)
    labels = np.minimum((rng.random((questions, draws, 1)) > np.cumsum(share, axis=1)[:, None]).sum(axis=2), 5)
    return labels, share[:, 0]


def settled(labels: np.ndarray) -> tuple[int, int]:
    """The mode of a question's draws when it is certain, and after how many of them."""
    for n in range(3, len(labels) + 1):
        counts = np.bincount(labels[:n])
        if mode_is_certain(counts, left=len(labels) - n):
            return int(counts.argmax()), n
    return int(np.bincount(labels).argmax()), len(labels)


def trial(cell: Cell, rng: np.random.Generator) -> dict[str, float]:
    """20,000 questions by one estimator, or 4,000 whose draws stop early at 5%."""
    if "estimator" not in cell:
        labels, truth = simulated(rng, 4000, 50, cell["stopping, Dirichlet"])
        stopped = np.array([settled(row) for row in labels])
        return {
            "mean c*": float(truth.mean()),
            "draws %": stopped[:, 1].sum() / labels.size,
            "true mode %": float(np.mean(stopped[:, 0] == 0)),
            "true mode by all draws %": float(np.mean([np.bincount(row).argmax() == 0 for row in labels])),
        }
    labels, truth = simulated(rng, 20_000, 20, 0.5)
    right = (rng.random(20_000) < 0.9 * truth).astype(float)
    confidence = ESTIMATORS[cell["estimator"]](answer_pool(labels, right), truth, rng)
    error = confidence - truth
    return {"RMSE": np.sqrt(np.mean(error**2)), "mean error": error.mean(), "binned ECE": ece(confidence, right).ece}


if __name__ == "__main__":
    run_study(__file__, CELLS, trial, trials=3)
