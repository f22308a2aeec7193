"""Cover of the interval for the difference of two ECEs on the same items, and how often equal ones are told apart.

Usage: python studies/calibration_ece_gap.py [runs]

Two simulated conditions answer the same items; confidences and errors correlate over items (Gaussian copula, 0.5).
Truth is the binned ECE of the law itself (quadrature). Beside ours: the percentile bootstrap of the plug-in difference,
and the swap test, which exchanges the two conditions of an item at random.
"""

import sys

import numpy as np
from scipy.special import ndtr

from richter.claims import ece_difference, ece_side, p_value

BINS = 10
# items, draws of each, groups: where rows taken as independent tell identical conditions apart in 9 to 21%
UNITS = {"40 passages x 10": (400, 1, 40), "100 x 10 epochs": (100, 10, 0), "30 x 30 epochs": (30, 30, 0)}


def gap_shift(c: np.ndarray) -> np.ndarray:
    return 0.08 * np.ones_like(c)


def gap_none(c: np.ndarray) -> np.ndarray:
    return np.zeros_like(c)


def gap_alternating(c: np.ndarray) -> np.ndarray:
    return 0.08 * np.where(np.minimum((c * 10).astype(int), 9) % 2 == 0, 1.0, -1.0)


def gap_one_bin(c: np.ndarray) -> np.ndarray:
    return np.where(c >= 0.9, 0.3, 0.0)


GAPS = {"none": gap_none, "shift": gap_shift, "alternating": gap_alternating, "one bin": gap_one_bin}


def truth(gap) -> float:
    c = np.linspace(0.5, 1, 400_001)[:-1] + 0.5 / 800_000
    p = np.clip(c - gap(c), 0, 1)
    index = np.minimum((c * BINS).astype(int), BINS - 1)
    return float(np.sum(np.abs(np.bincount(index, weights=c - p)))) / len(c)


def draw(gaps: tuple, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    def correlated() -> np.ndarray:
        return ndtr(np.sqrt(0.5) * rng.normal(size=(n, 1)) + np.sqrt(0.5) * rng.normal(size=(n, 2)))

    c, u = 0.5 + 0.5 * correlated(), correlated()
    p = np.stack([np.clip(c[:, k] - gaps[k](c[:, k]), 0, 1) for k in (0, 1)], axis=1)
    return c, (u < p).astype(float)


def bootstrap(c: np.ndarray, a: np.ndarray, rng: np.random.Generator, draws: int = 300) -> tuple[float, float]:
    index = np.minimum((c * BINS).astype(int), BINS - 1)
    weights = rng.multinomial(len(c), np.full(len(c), 1 / len(c)), size=draws).astype(float)
    total = np.zeros((draws, 2))
    for k in (0, 1):
        for b in range(BINS):
            total[:, k] += np.abs(weights @ ((c[:, k] - a[:, k]) * (index[:, k] == b))) / len(c)
    low, high = np.quantile(total[:, 1] - total[:, 0], [0.025, 0.975])
    return float(low), float(high)


def swap_p(c: np.ndarray, a: np.ndarray, rng: np.random.Generator, draws: int = 200) -> float:
    """The p-value of the plug-in difference where either condition of an item may be the first."""
    rows, index = np.arange(len(c)), np.minimum((c * BINS).astype(int), BINS - 1)
    parts = np.zeros((2, len(c), BINS))
    for k in (0, 1):
        parts[k, rows, index[:, k]] = c[:, k] - a[:, k]
    one, two = parts.sum(axis=1)
    moved = (rng.random((draws, len(c))) < 0.5) @ (parts[1] - parts[0])
    swapped = np.abs(two - moved).sum(axis=1) - np.abs(one + moved).sum(axis=1)
    seen = abs(np.abs(two).sum() - np.abs(one).sum())
    return float(1 + np.sum(np.abs(swapped) >= seen - 1e-9)) / (draws + 1)


def draw_units(items: int, draws: int, groups: int, gap, rng: np.random.Generator) -> tuple:
    """Two identical conditions: difficulty is shared within a group and an item, and by both conditions."""
    group = np.arange(items) % groups if groups else None
    level = rng.normal(size=items)
    if group is not None:
        level = np.sqrt(0.6) * rng.normal(size=groups)[group] + np.sqrt(0.4) * level
    item = np.repeat(np.arange(items), draws)
    sides = []
    for _ in range(2):
        own = np.sqrt(0.5) * (level + rng.normal(size=items))
        u = ndtr(np.sqrt(0.7) * own[item] + np.sqrt(0.3) * rng.normal(size=len(item)))
        sure = np.sqrt(0.7) * rng.normal(size=items)[item] + np.sqrt(0.3) * rng.normal(size=len(item))
        c = 0.5 + 0.5 * ndtr(sure)
        sides.append((c, (u < np.clip(c - gap(c), 0, 1)).astype(float)))
    return item, group, sides


def units(runs: int, rng: np.random.Generator) -> None:
    for cell, (items, draws, groups) in UNITS.items():
        for name, gap in GAPS.items():
            apart = plain = 0
            for _ in range(runs):
                item, group, sides = draw_units(items, draws, groups, gap, rng)
                apart += p_value(ece_difference(*(ece_side(c, a, item, group=group) for c, a in sides)), 0.0) <= 0.05
                plain += p_value(ece_difference(*(ece_side(c, a) for c, a in sides)), 0.0) <= 0.05
            print(
                f"{cell:17} {name:11} identical conditions told apart {apart / runs:.3f}  rows as units "
                f"{plain / runs:.3f}",
                flush=True,
            )


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    rng = np.random.default_rng(0)
    units(runs, rng)
    pairs = [
        ("none", "none"),
        ("none", "shift"),
        ("shift", "shift"),
        ("alternating", "shift"),
        ("none", "one bin"),
        ("alternating", "alternating"),
    ]
    for n in (500, 2000):
        for first, second in pairs:
            gaps = (GAPS[first], GAPS[second])
            target = truth(gaps[1]) - truth(gaps[0])
            cover, apart, width, plain, swap = 0, 0, [], 0, 0
            for run in range(runs):
                c, a = draw(gaps, n, rng)
                found = ece_difference(*(ece_side(c[:, k], a[:, k]) for k in (0, 1)))
                interval = found.interval(0.95)
                cover += target in interval
                apart += p_value(found, 0.0) <= 0.05
                width.append(interval.half_width)
                if run % 4 == 0:
                    low, high = bootstrap(c, a, rng)
                    plain += low <= target <= high
                    swap += swap_p(c, a, rng) <= 0.05
            print(
                f"n {n:5} {first:11} {second:11} true {target:+.4f}  cover {cover / runs:.3f}  told apart "
                f"{apart / runs:.3f}  by swapping {swap / (runs / 4):.3f}  half-width {np.mean(width):.4f}  "
                f"bootstrap cover {plain / (runs / 4):.3f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
