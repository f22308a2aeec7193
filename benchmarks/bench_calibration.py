"""Calibration against its peers, in one run: CPU seconds and ratios.

Peers that are not installed are named as missing. Run: python benchmarks/bench_calibration.py
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from richter.calibration import answer_pool, regimes, sem_ece, sem_gap
from richter.texts import cluster_questions


def cpu_s(function: Callable[[], Any]) -> float:
    start = time.process_time()
    function()
    return time.process_time() - start


def main() -> None:
    rng = np.random.default_rng(0)
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
