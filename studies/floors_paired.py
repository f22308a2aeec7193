"""Cover of the paired intervals, and false claims over whole leaderboards.

Usage: python studies/floors_paired.py [runs]
"""

import sys

import numpy as np
from scipy.stats import multinomial

from richter.floors import PairedCounts, clustered_test, compare, tango
from richter.records import Verdict


def exact_cover(n: int, only_a: float, delta: float) -> float:
    """Tango's cover, summed over every table of n items."""
    covered = 0.0
    law = multinomial(n, [only_a, only_a + delta, 1 - 2 * only_a - delta])
    for a in range(n + 1):
        for b in range(n + 1 - a):
            p = float(law.pmf([a, b, n - a - b]))
            if p > 1e-7:
                covered += p * (delta in tango(PairedCounts(both=n - a - b, only_a=a, only_b=b, neither=0)))
    return covered


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    for n in (30, 100, 200):
        for only_a, delta in ((0.02, 0.0), (0.1, 0.0), (0.05, 0.05), (0.02, 0.15)):
            print(f"tango n {n:4} P(only a) {only_a:.2f} delta {delta:.2f}: cover {exact_cover(n, only_a, delta):.4f}")
    rng = np.random.default_rng(0)
    for groups, size in ((10, 20), (30, 10), (100, 6)):
        place = np.repeat(np.arange(groups), size)
        hit = 0
        for _ in range(runs):
            shared = rng.normal(size=(groups, 2))[place]
            right = (shared + rng.normal(size=(groups * size, 2)) > -0.8).astype(float)
            hit += 0 in clustered_test(right[:, 1] - right[:, 0], place).interval
        print(f"clustered t, {groups} groups of {size}: cover {hit / runs:.4f}", flush=True)
    false = 0
    for _ in range(runs):
        right = (rng.normal(size=(150, 8)) + 0.7 > rng.normal(size=(150, 1))).astype(float)
        pairs = compare(right, rng=rng, n_resamples=100).pairs
        false += any(p.accuracy.verdict is Verdict.VERIFIED for p in pairs)
    print(f"eight equal conditions, 28 pairs, 150 items: any false claim in {false / runs:.4f} of {runs} leaderboards")


if __name__ == "__main__":
    main()
