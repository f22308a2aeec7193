"""Ever-miss rates of the confidence sequences, and labels to a verdict against a fixed number of labels.

Usage: python studies/floors_sequences.py [runs] [FOLDER with the public grades]
"""

import sys
from pathlib import Path

import numpy as np

from richter.claims import unit_means
from richter.floors import (
    difference_sequence,
    ece_sequence,
    mean_sequence,
    paired_gap_labels,
    rate_sequence,
)
from richter.floors._sizing import _exact_test_labels
from richter.tables import outcomes, read_tables

LOOKS = 5000


def share(draw, truth: float, runs: int) -> float:
    missed = 0
    for seed in range(runs):
        s = draw(np.random.default_rng(seed))
        missed += bool((s.low > truth).any() or (s.high < truth).any())
    return missed / runs


def first(hit: np.ndarray) -> int:
    return int(np.argmax(hit)) + 1 if hit.any() else len(hit)


def draw_rate(p: float):
    return lambda r: rate_sequence((r.random(LOOKS) < p) * 1.0)


def draw_difference(plus: float, minus: float):
    def draw(r: np.random.Generator):
        x = r.choice([-1, 0, 1], p=[minus, 1 - plus - minus, plus], size=LOOKS)
        return difference_sequence((x < 0) * 1.0, (x > 0) * 1.0)

    return draw


def draw_severity(levels: np.ndarray, weights: np.ndarray):
    return lambda r: mean_sequence(r.choice(levels, p=weights, size=LOOKS), high=4.0)


def draw_ece(gap: float):
    def draw(r: np.random.Generator):
        c = r.uniform(0.5, 0.9, LOOKS)
        sign = np.where((c * 10 + 1e-9).astype(int) % 2 == 0, 1, -1)
        return ece_sequence(c, (r.random(LOOKS) < c - gap * sign) * 1.0)

    return draw


def ever_miss(runs: int) -> None:
    for p in (0.01, 0.05, 0.3):
        print(f"rate {p:4}: ever-miss over {LOOKS} looks {share(draw_rate(p), p, runs):.4f}", flush=True)
    for plus, minus in ((0.05, 0.05), (0.12, 0.04)):
        missed = share(draw_difference(plus, minus), plus - minus, runs)
        print(f"difference {plus - minus:+.2f}: ever-miss {missed:.4f}", flush=True)
    levels, weights = np.array([0, 0.5, 1, 2, 4]), np.array([0.6, 0.15, 0.1, 0.1, 0.05])
    missed = share(draw_severity(levels, weights), float(levels @ weights), runs)
    print(f"mean severity: ever-miss {missed:.4f}", flush=True)
    for gap in (0.0, 0.02, 0.08):
        missed = share(draw_ece(gap), gap, runs)
        print(f"ECE {gap:.2f}: ever-miss {missed:.4f}", flush=True)


def labels(runs: int) -> None:
    print("labels to a verdict (mean, 90th percentile), and the fixed number with 80% (95%) power at the same rates")
    for limit, p in ((0.05, 0.01), (0.05, 0.03), (0.05, 0.10), (0.10, 0.05), (0.10, 0.20)):
        stops = []
        for seed in range(runs):
            s = rate_sequence((np.random.default_rng(seed).random(20_000) < p) * 1.0)
            stops.append(first(s.high <= limit) if p < limit else first(s.low >= limit))
        fixed = [_two_point(limit, p, power) for power in (0.8, 0.95)]
        print(
            f"error_rate < {limit} at {p}: {np.mean(stops):.0f}, {np.quantile(stops, 0.9):.0f}; fixed {fixed[0]}, "
            f"{fixed[1]}"
        )
    for plus, minus in ((0.10, 0.04), (0.08, 0.05)):
        stops = []
        for seed in range(runs):
            x = np.random.default_rng(seed).choice([-1, 0, 1], p=[minus, 1 - plus - minus, plus], size=40_000)
            stops.append(first(difference_sequence((x < 0) * 1.0, (x > 0) * 1.0).low >= 0))
        fixed = [paired_gap_labels(plus - minus, plus + minus, power=power) for power in (0.8, 0.95)]
        print(
            f"A better than B at {plus - minus:+.2f}, discordance {plus + minus:.2f}: {np.mean(stops):.0f}, "
            f"{np.quantile(stops, 0.9):.0f}; fixed {fixed[0]}, {fixed[1]}"
        )
    for gap, limit in ((0.08, 0.02), (0.02, 0.08)):
        stops = []
        for seed in range(max(runs // 10, 20)):
            r = np.random.default_rng(seed)
            c = r.uniform(0.5, 1, 20_000)
            s = ece_sequence(c, (r.random(20_000) < c - gap) * 1.0)
            stops.append(first(s.low >= limit) if gap > limit else first(s.high <= limit))
        print(f"ECE {'>' if gap > limit else '<'} {limit} at {gap}: median {np.median(stops):.0f}")


def _two_point(limit: float, p: float, power: float) -> int:
    """Labels of a fixed exact test of `limit` that decides at the true rate p with this power."""
    if p > limit:
        return _exact_test_labels(limit, p - limit, alpha=0.05, power=power)
    return _exact_test_labels(1 - limit, limit - p, alpha=0.05, power=power)


def public(folder: Path, runs: int) -> None:
    import polars as pl

    print("public grades: share of the items asked before each pair of models is decided (mean over orders)")
    for name in ("arc", "truthfulqa"):
        frame = pl.read_csv(folder / f"mcq_{name}_14models.csv").rename({"model": "condition"})
        frame = frame.with_columns(
            correct=(pl.col("grade") == "Correct").cast(pl.Float64), item=pl.col("item").cast(pl.String)
        )
        grades = unit_means(outcomes(read_tables(frame), "accuracy")).mean
        n, k = grades.shape
        used, decided = [], 0
        for i in range(k):
            for j in range(i):
                for seed in range(runs):
                    order = np.random.default_rng(seed).permutation(n)
                    s = difference_sequence(grades[order, i], grades[order, j])
                    hit = (s.low >= 0) | (s.high <= 0)
                    decided += bool(hit.any())
                    used.append(first(hit) / n)
        print(
            f"{name}: {n} items, {decided / len(used):.2f} of pairs decided, items asked: mean {np.mean(used):.2f}, "
            f"median {np.median(used):.2f}"
        )


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    ever_miss(runs)
    labels(max(runs // 4, 50))
    if len(sys.argv) > 2:
        public(Path(sys.argv[2]), 10)


if __name__ == "__main__":
    main()
