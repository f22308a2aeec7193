"""Calibration against its peers, in one run: CPU seconds and ratios.

Peers that are not installed are named as missing. Run: python benchmarks/bench_calibration.py
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from richter.calibration import answer_pool, bootstrap_ece, regimes, sem_ece, sem_gap
from richter.texts import cluster_questions


def cpu_s(function: Callable[[], Any]) -> float:
    start = time.process_time()
    function()
    return time.process_time() - start


def numpy_loop(c: np.ndarray, a: np.ndarray, resamples: int, rng: np.random.Generator) -> None:
    d, index, n = c - a, np.minimum((c * 10).astype(int), 9), len(c)
    for _ in range(resamples):
        rows = rng.integers(0, n, n)
        np.abs(np.bincount(index[rows], weights=d[rows], minlength=10)).sum() / n


def netcal_loop(c: np.ndarray, a: np.ndarray, resamples: int, rng: np.random.Generator) -> None:
    from netcal.metrics import ECE

    metric, n = ECE(bins=10), len(c)
    for _ in range(resamples):
        rows = rng.integers(0, n, n)
        metric.measure(c[rows], a[rows].astype(int))


def main() -> None:
    rng = np.random.default_rng(0)
    c = rng.random(14_042)
    a = (rng.random(14_042) < c).astype(float)
    bootstrap_ece(c, a, rng=rng, n_resamples=10)  # compile
    ours = cpu_s(lambda: bootstrap_ece(c, a, rng=rng, n_resamples=10_000))
    print(f"ECE bootstrap 10,000 x 14,042: {ours:.2f} s")
    plain = cpu_s(lambda: numpy_loop(c, a, 500, rng)) * 20
    print(f"  plain numpy loop: {plain:.1f} s, {plain / ours:.1f}x")
    try:
        peer = cpu_s(lambda: netcal_loop(c, a, 100, rng)) * 100
        print(f"  netcal in a loop: {peer:.0f} s, {peer / ours:.0f}x")
    except ImportError:
        print("  netcal: not installed")
    share = rng.dirichlet(np.full(8, 0.5), 4000)
    labels = [(rng.random((4000, 50, 1)) > np.cumsum(share, axis=1)[:, None]).sum(axis=2).clip(0, 7) for _ in range(5)]
    right = (rng.random(4000) < 0.3).astype(float)

    def five() -> None:
        for matrix in labels:
            pool = answer_pool(matrix, right)
            sem_gap(sem_ece(pool), regimes(pool), rng=rng)

    cold, warm = cpu_s(five), cpu_s(five)
    print(f"Sem1, Sem2, regimes, bootstrap, 5 x 4,000 x 50: {cold:.2f} s first, {warm:.2f} s compiled")
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    names = [" ".join("".join(word) for word in letters[rng.integers(0, 26, (2, 7))]) for _ in range(400)]
    answers = [[names[int(k)] for k in rng.integers(0, 400, 20)] for _ in range(1000)]
    cluster_questions(answers[:2])  # load the vectors
    print(f"offline classes, 1,000 x 20 answers, all different: {cpu_s(lambda: cluster_questions(answers)):.1f} s")


if __name__ == "__main__":
    main()
