"""Sem2's variants against the oracle, Theorem 5.6 over n and third classes, and what early stopping saves.

Simulated questions: class shares from a Dirichlet law over six classes, 20 draws, correctness independent of the class
chosen. Run: python studies/calibration_sem2.py
"""

import numpy as np

from richter.calibration import (
    answer_pool,
    ece,
    ece_gap_constant,
    held_out_confidence,
    mode_is_certain,
)


def simulated(rng: np.random.Generator, questions: int, draws: int, spread: float):
    share = -np.sort(-rng.dirichlet(np.full(6, spread), questions), axis=1)
    labels = np.minimum((rng.random((questions, draws, 1)) > np.cumsum(share, axis=1)[:, None]).sum(axis=2), 5)
    return labels, share[:, 0]


def settled(labels):
    """The mode of a question's draws when it is certain, and after how many of them."""
    for n in range(3, len(labels) + 1):
        counts = np.bincount(labels[:n])
        if mode_is_certain(counts, left=len(labels) - n):
            return counts.argmax(), n
    return np.bincount(labels).argmax(), len(labels)


def main() -> None:
    rng = np.random.default_rng(0)
    labels, truth = simulated(rng, 20_000, 20, 0.5)
    right = (rng.random(20_000) < 0.9 * truth).astype(float)
    pool = answer_pool(labels, right)
    oracle = ece(truth, right).ece
    print(f"20 draws, 20,000 questions; oracle ECE {oracle:.4f}")
    print(f"{'estimator':24} {'RMSE':>7} {'mean error':>11} {'binned ECE':>11}")
    variants = {
        "Sem1": pool.counts.max(axis=1) / 20,
        "Sem2, all halves": held_out_confidence(pool),
        "Sem2, R = 10": held_out_confidence(pool, splits=10, rng=rng),
        "Sem2, R = 200": held_out_confidence(pool, splits=200, rng=rng),
        "Sem2, leave one out": held_out_confidence(pool, select=np.full(20_000, 19)),
    }
    for name, c in variants.items():
        error = c - truth
        print(f"{name:24} {np.sqrt(np.mean(error**2)):7.4f} {np.mean(error):+11.4f} {ece(c, right).ece:11.4f}")
    print("\nTheorem 5.6, observed over predicted gap (400,000 simulated questions, random ties)")
    for law in ((0.52, 0.48), (0.45, 0.40, 0.15), (0.40, 0.35, 0.25), (0.36, 0.34, 0.30)):
        cells = []
        for n in (25, 50, 100, 400):
            counts = rng.multinomial(n, law, size=400_000)
            tied = counts == counts.max(axis=1, keepdims=True)
            gap = np.mean(counts.max(axis=1) / n - (tied * np.array(law)).sum(axis=1) / tied.sum(axis=1))
            scale = np.sqrt((law[0] + law[1]) / n)
            cells.append(f"n={n}: {gap / (scale * float(ece_gap_constant((law[0] - law[1]) / scale / 2))):.3f}")
        print(f"  {law}: " + ", ".join(cells))
    print("\nEarly stopping at 5%, 50 draws planned")
    for spread in (0.05, 0.1, 0.2, 0.5):
        labels, truth = simulated(rng, 4000, 50, spread)
        stopped = np.array([settled(row) for row in labels])
        of_all = np.mean([np.bincount(row).argmax() == 0 for row in labels])
        print(
            f"  Dirichlet({spread}), mean c* {truth.mean():.2f}: {stopped[:, 1].sum() / labels.size:.0%} of the draws, "
            f"true mode deployed {np.mean(stopped[:, 0] == 0):.4f} against {of_all:.4f} with all"
        )


if __name__ == "__main__":
    main()
