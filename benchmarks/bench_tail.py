"""Tail shape against scipy's own paths, in one run: CPU time, so that a busy machine does not change the ratio much."""

import resource
import sys
import time
from pathlib import Path

import numpy as np
from scipy import stats

from richter.tail import TailPlan, compare_conditions, fit_gpd, gpd_gof, stability_scan

sys.path.insert(0, str(Path(__file__).parents[1] / "papers"))  # what is run but not shipped; hence the import after it

from tail_generators import draw_gpd, draw_severities

N_EXC = 1570


def cpu(work, *args, **kwargs) -> float:
    started = time.process_time()
    work(*args, **kwargs)
    return time.process_time() - started


def bootstrap(rng: np.random.Generator) -> None:
    x = draw_gpd(N_EXC, 0.1, 1.0, rng=rng)
    fit_gpd(x, interval="percentile", rng=rng, n_resamples=10)  # compile
    ours = cpu(fit_gpd, x, interval="percentile", rng=rng, n_resamples=10_000)
    samples = [rng.choice(x, N_EXC) for _ in range(40)]
    theirs = cpu(lambda: [stats.genpareto.fit(s, floc=0) for s in samples]) * 10_000 / 40
    print(f"GPD bootstrap 10,000 x 1,570: {ours:.2f} s; scipy {theirs:.0f} s (from 40 fits): {theirs / ours:.0f}x")


def goodness_of_fit(rng: np.random.Generator) -> None:
    x = draw_gpd(N_EXC, 0.1, 1.0, rng=rng)
    gpd_gof(x, method="bootstrap", rng=rng, n_resamples=10)
    ours = cpu(gpd_gof, x, method="bootstrap", rng=rng, n_resamples=9_999)
    theirs = (
        cpu(
            stats.goodness_of_fit,
            stats.genpareto,
            x,
            known_params={"loc": 0},
            statistic="ad",
            n_mc_samples=40,
            rng=rng,
        )
        * 9_999
        / 40
    )
    print(f"Anderson-Darling bootstrap 9,999: {ours:.2f} s; scipy {theirs:.0f} s (from 40): {theirs / ours:.0f}x")
    eigen = cpu(gpd_gof, x)
    print(f"Anderson-Darling by eigenvalues: {1000 * eigen:.0f} ms")


def study(rng: np.random.Generator) -> None:
    data = {name: draw_severities(30_000, xi, rng=rng) for name, xi in zip("abcd", (0.0, 0.1, 0.2, 0.1), strict=True)}
    plan = TailPlan(tolerance_mean=0.1, tolerance_tvar=0.2, n_resamples=10_000)
    compare_conditions(data, TailPlan(tolerance_mean=0.1, tolerance_tvar=0.2, n_resamples=200), rng=rng)
    wall, spent = time.perf_counter(), time.process_time()
    result = compare_conditions(data, plan, rng=rng)
    for values in data.values():
        stability_scan(values)
    wall, spent = time.perf_counter() - wall, time.process_time() - spent
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(
        f"the paper's study (4 x 30,000, {len(result.band)} thresholds, {len(result.claims)} pairs, 10,000 resamples, "
        f"60-threshold scans): {wall:.1f} s ({spent:.1f} s of CPU), peak {memory:.2f} GB"
    )


def main() -> None:
    rng = np.random.default_rng(1)
    bootstrap(rng)
    goodness_of_fit(rng)
    study(rng)


if __name__ == "__main__":
    main()
