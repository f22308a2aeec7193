"""Coverage and width of the human-label correction: 2,000 simulated audits a row, with a biased judge.

Run `python studies/stats_ppi.py`. The human severity, the judge and the labels are all simulated.
"""

import sys

import numpy as np

from richter.stats import clopper_pearson, ppi_mean, ppi_rate

GRID = np.arange(9) / 2


def simulated_severity(n: int, rate: float, rng: np.random.Generator) -> np.ndarray:
    """Human severity with P(S >= 3) = rate: 55% correct, the rest falling geometrically."""
    middle = np.array([0.5, 0.3, 0.2, 0.12, 0.08])
    p = np.concatenate([[0.55], middle / middle.sum() * (0.45 - rate), np.array([0.6, 0.25, 0.15]) * rate])
    return GRID[rng.choice(9, size=n, p=p)]


def simulated_judge(truth: np.ndarray, noise: float, bias: float, rng: np.random.Generator) -> np.ndarray:
    """A judge that overcalls by `bias` and scatters by `noise`, on the half-step grid."""
    return np.clip(np.round((truth + bias + noise * rng.standard_normal(len(truth))) * 2) / 2, 0, 4)


def draw_labels(design: str, judge: np.ndarray, n: int, threshold: float, rng: np.random.Generator) -> np.ndarray:
    """Positions labelled by people: at random, or half from the answers the judge flags."""
    if design == "random":
        return rng.choice(len(judge), n, replace=False)
    flagged = np.flatnonzero(judge >= threshold)
    half = min(n // 2, len(flagged))
    rest = np.flatnonzero(judge < threshold)
    return np.concatenate([rng.choice(flagged, half, replace=False), rng.choice(rest, n - half, replace=False)])


def rate_row(design: str, rate: float, noise: float, bias: float, *, n: int, N: int, runs: int, seed: int) -> str:
    """One line of the table of exceedance rates at severity 3."""
    rng = np.random.default_rng(seed)
    covered, width, alone, method = [], [], [], []
    for _ in range(runs):
        truth = simulated_severity(N, rate, rng)
        judge = simulated_judge(truth, noise, bias, rng)
        picked = draw_labels(design, judge, n, 3.0, rng)
        human = np.full(N, np.nan)
        human[picked] = truth[picked]
        strata = (judge >= 3.0).astype(int) if design == "half flagged" else None
        result = ppi_rate(human, judge, 3.0, strata=strata)
        covered.append(rate in result.interval)
        width.append(2 * result.interval.half_width)
        alone.append(2 * clopper_pearson(rng.binomial(n, rate), n).half_width)
        method.append(result.interval.method == "ppi++")
    return (
        f"{design:13s} rate {rate:5.3f} noise {noise:4.2f} bias {bias:3.1f}  coverage {np.mean(covered):.3f}  "
        f"width / exact labels-only {np.mean(width) / np.mean(alone):.2f}  ppi++ used {np.mean(method):.2f}"
    )


def mean_row(rho: float, *, n: int, N: int, runs: int, seed: int) -> str:
    """One line of the table of means: judge and human correlate rho, the judge is off by 0.7."""
    rng = np.random.default_rng(seed)
    covered, width, alone = [], [], []
    for _ in range(runs):
        truth = 1.5 + rng.standard_normal(N)
        judge = 0.7 + 0.8 * (1.5 + rho * (truth - 1.5) + np.sqrt(1 - rho**2) * rng.standard_normal(N))
        human = np.full(N, np.nan)
        picked = rng.choice(N, n, replace=False)
        human[picked] = truth[picked]
        result = ppi_mean(human, judge)
        covered.append(1.5 in result.interval)
        width.append(result.interval.half_width)
        alone.append(result.labels_only_interval.half_width)
    narrower = np.mean(np.array(width) <= np.array(alone))
    return (
        f"mean, correlation {rho:.1f}, {n} labels of {N}: coverage {np.mean(covered):.3f}  "
        f"width / labels-only {np.mean(width) / np.mean(alone):.3f}  no wider in {narrower:.3f}"
    )


def main(runs: int = 2000) -> None:
    """Print both tables."""
    for rho in (0.0, 0.5, 0.9):
        print(mean_row(rho, n=300, N=10_000, runs=runs, seed=1))
    for design in ("random", "half flagged"):
        for rate in (0.005, 0.01, 0.02, 0.05, 0.10, 0.20):
            for noise, bias in ((0.5, 0.3), (0.25, 0.5), (1.0, 0.3)):
                print(rate_row(design, rate, noise, bias, n=300, N=10_000, runs=runs, seed=2), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
