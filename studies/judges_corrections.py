"""Coverage of figures that human labels correct, under the rating page's own way of drawing them.

    python studies/judges_corrections.py OUT.jsonl [--replicates 2000] [--answers 20000]

Simulated answers: P(severity >= 2) from 0.2 to 3%, milder errors in 15%; a judge with noise that misses four of ten
severe answers and flags 2% of the others. Labels (60 or 300) are drawn evenly over five bands of the judge's score.
For each setting: coverage of the two-sided interval of the rate, how often each one-sided 95% limit misses, coverage
of the mean and of the sensitivity, the narrowest interval. Then two equal conditions of which the judge is five
points kinder to the second, 100 labels: how often the judge alone, and the corrected difference, "verify" that they
differ; and the power at a true difference of ten points beside that of the labels alone. Each setting is a line of
OUT; those there are not redone.
"""

import argparse
import json
from pathlib import Path

import numpy as np

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


def coverage(rate: float, n: int, replicates: int, size: int, rng: np.random.Generator) -> dict:
    """One setting of the rare rates."""
    found = dict.fromkeys(("covered", "low", "high", "mean", "sensitivity", "defined"), 0)
    narrowest, mean = 9.0, rate * 3 + (1 - rate) * 0.15
    for _ in range(replicates):
        human, judge = answers(size, rate, rng)
        strata = np.digitize(judge, [0.25, 1.25, 2.25, 3.25])
        labels = draw(human, strata, n, rng)
        both = ppi_rate(labels, judge, 2.0, strata=strata).interval
        found["covered"] += rate in both
        narrowest = min(narrowest, both.high - both.low)
        found["low"] += ppi_rate(labels, judge, 2.0, strata=strata, side="lower").interval.low > rate
        found["high"] += ppi_rate(labels, judge, 2.0, strata=strata, side="upper").interval.high < rate
        found["mean"] += mean in ppi_mean(labels, judge, strata=strata).interval
        [row] = screen(judge, labels, strata=strata, thresholds=[2.0]).rows
        truth = float(np.mean(judge[human >= 2] >= 2)) if (human >= 2).any() else np.nan
        if row.sensitivity.interval is not None and not np.isnan(truth):
            found["defined"] += 1
            found["sensitivity"] += truth in row.sensitivity.interval
    shares = {k: v / replicates for k, v in found.items() if k not in ("sensitivity", "defined")}
    caught = found["sensitivity"] / found["defined"] if found["defined"] else None
    return shares | {"sensitivity": caught, "defined": found["defined"], "narrowest": narrowest}


def kinder(gap: float, n: int, replicates: int, size: int, rng: np.random.Generator) -> dict:
    """Right or wrong on shared items; the judge passes a sixth of the second's wrong answers besides its noise."""
    counts = dict.fromkeys(("judge", "corrected", "labels"), 0)
    for _ in range(replicates):
        hard = rng.normal(0, 1, size)
        right = [(hard + rng.normal(0, 1, size) < np.sqrt(2) * c) for c in (0.5244, 0.5244 + gap * 2.9)]
        judge = [np.where(rng.random(size) < 0.05, ~r, r) for r in right]
        wrong = ~judge[1]
        judge[1] = judge[1] | (wrong & (rng.random(size) < 0.05 / max(float(wrong.mean()), 1e-9)))
        pools, alone = [], []
        for r, j in zip(right, judge, strict=True):
            strata = j.astype(int)
            labels = np.full(size, np.nan)
            for h in (0, 1):
                own = np.flatnonzero(strata == h)
                picked = rng.choice(own, min(n // 4, len(own)), replace=False)
                labels[picked] = r[picked]
            pools.append(correct_by_labels(labels, j.astype(float), strata=strata, high=1.0))
            random = np.full(size, np.nan)
            picked = rng.choice(size, n // 2, replace=False)
            random[picked] = r[picked]
            alone.append(correct_by_labels(random, np.zeros(size), high=1.0))
        difference = judge[1].astype(float) - judge[0]
        se = difference.std(ddof=1) / np.sqrt(size)
        counts["judge"] += difference.mean() - 1.96 * se > 0
        counts["corrected"] += correction_difference(*pools).low > 0
        counts["labels"] += correction_difference(*alone).low > 0
    return {k: v / replicates for k, v in counts.items()}


def main() -> None:
    """Run what is missing."""
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--replicates", type=int, default=2000)
    parser.add_argument("--answers", type=int, default=20_000)
    options = parser.parse_args()
    done = set(options.out.read_text().splitlines()) if options.out.exists() else set()
    known = {json.dumps(json.loads(line)["setting"]) for line in done}
    settings = [["coverage", rate, n] for rate in (0.002, 0.01, 0.03) for n in (60, 300)]
    settings += [["kinder", gap, 100] for gap in (0.0, 0.1)]
    for setting in settings:
        if json.dumps(setting) in known:
            continue
        kind, value, n = setting
        rng = np.random.default_rng([int(1e6 * value), n, len(kind)])
        run = coverage if kind == "coverage" else kinder
        size = options.answers if kind == "coverage" else 1000
        row = {"setting": setting, "replicates": options.replicates, "answers": size}
        with options.out.open("a") as file:
            file.write(json.dumps(row | run(value, n, options.replicates, size, rng)) + "\n")


if __name__ == "__main__":
    main()
