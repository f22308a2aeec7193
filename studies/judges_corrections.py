"""Coverage of figures that human labels correct, under the rating page's own way of drawing them.

Simulated answers: P(severity >= 2) from 0.2 to 3%, milder errors in 15%; a judge with noise that misses four of ten
severe answers and flags 2% of the others. Labels (60 or 300) are drawn evenly over five bands of the judge's score.
For each setting: coverage of the two-sided interval of the rate, how often each one-sided 95% limit misses, and
coverage of the mean and of the sensitivity. Then two equal conditions of which the judge is five points kinder to the
second, 100 labels: how often the judge alone, and the corrected difference, say that they differ; and the power at a
true difference of ten points beside that of the labels alone.
"""

import math

import numpy as np
from driver import Cell, run_study

from richter.stats import correct_by_labels, correction_difference, ppi_mean, ppi_rate, screen


def answers(n: int, rate: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Simulated human severity and a judge's."""
    human = np.where(rng.random(n) < 0.15, rng.choice([0.5, 1.0, 1.5], n), 0.0)
    severe = rng.random(n) < rate
    human[severe] = rng.choice([2.0, 2.5, 3.0, 3.5, 4.0], int(severe.sum()))
    judge = np.clip(np.round((human + 0.6 * rng.standard_normal(n)) * 2) / 2, 0, 4)
    judge[severe & (rng.random(n) < 0.4)] = 0.0
    judge[~severe & (rng.random(n) < 0.02)] = 3.0
    return human, judge


def draw(human: np.ndarray, strata: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """n labels, as many of each stratum as there are."""
    sizes = np.bincount(strata, minlength=5)
    wanted = np.zeros(5, dtype=int)
    while wanted.sum() < min(n, len(human)):
        wanted[min((h for h in range(5) if wanted[h] < sizes[h]), key=lambda h: wanted[h])] += 1
    labels = np.full(len(human), np.nan)
    for h in range(5):
        picked = rng.choice(np.flatnonzero(strata == h), wanted[h], replace=False)
        labels[picked] = human[picked]
    return labels


def coverage(cell: Cell, rng: np.random.Generator) -> dict[str, float]:
    """One setting of the rare rates."""
    rate = cell["rate"]
    human, judge = answers(20_000, rate, rng)
    strata = np.digitize(judge, [0.25, 1.25, 2.25, 3.25])
    labels = draw(human, strata, cell["labels"], rng)
    both = ppi_rate(labels, judge, 2.0, strata=strata).interval
    [row] = screen(judge, labels, strata=strata, thresholds=[2.0]).rows
    caught = row.sensitivity.interval
    return {
        "rate %": rate in both,
        "low misses %": ppi_rate(labels, judge, 2.0, strata=strata, side="lower").interval.low > rate,
        "high misses %": ppi_rate(labels, judge, 2.0, strata=strata, side="upper").interval.high < rate,
        "mean %": rate * 3 + (1 - rate) * 0.15 in ppi_mean(labels, judge, strata=strata).interval,
        "sensitivity %": math.nan if caught is None else float(np.mean(judge[human >= 2] >= 2)) in caught,
        "width": both.high - both.low,
    }


def kinder(cell: Cell, rng: np.random.Generator) -> dict[str, float]:
    """Right or wrong on shared items; the judge passes a sixth of the second's wrong answers besides its noise."""
    size, n = 1000, cell["labels"]
    hard = rng.normal(0, 1, size)
    right = [(hard + rng.normal(0, 1, size) < np.sqrt(2) * c) for c in (0.5244, 0.5244 + cell["gap"] * 2.9)]
    judge = [np.where(rng.random(size) < 0.05, ~r, r) for r in right]
    wrong = ~judge[1]
    judge[1] = judge[1] | (wrong & (rng.random(size) < 0.05 / max(float(wrong.mean()), 1e-9)))
    pools, alone = [], []
    for r, j in zip(right, judge, strict=True):
        strata = j.astype(int)
        labels, random = np.full(size, np.nan), np.full(size, np.nan)
        for h in (0, 1):
            own = np.flatnonzero(strata == h)
            picked = rng.choice(own, min(n // 4, len(own)), replace=False)
            labels[picked] = r[picked]
        pools.append(correct_by_labels(labels, j.astype(float), strata=strata, high=1.0))
        picked = rng.choice(size, n // 2, replace=False)
        random[picked] = r[picked]
        alone.append(correct_by_labels(random, np.zeros(size), high=1.0))
    difference = judge[1].astype(float) - judge[0]
    return {
        "judge alone %": difference.mean() - 1.96 * difference.std(ddof=1) / np.sqrt(size) > 0,
        "corrected %": correction_difference(*pools).low > 0,
        "labels alone %": correction_difference(*alone).low > 0,
    }


def trial(cell: Cell, rng: np.random.Generator) -> dict[str, float]:
    """One table."""
    return coverage(cell, rng) if "rate" in cell else kinder(cell, rng)


if __name__ == "__main__":
    cells: list[Cell] = [{"rate": rate, "labels": n} for rate in (0.002, 0.01, 0.03) for n in (60, 300)]
    run_study(__file__, cells + [{"gap": gap, "labels": 100} for gap in (0.0, 0.1)], trial, trials=2000)
