"""Coverage and width of the ECE interval against the percentile bootstrap's, over shapes of miscalibration.

Confidence is drawn from a law on [0, 1], the answer is correct with probability c - shape(c), and the true binned
ECE is computed on a grid of two million quantiles of the same law.
"""

import functools
from collections.abc import Callable

import numpy as np
from driver import Cell, run_study
from scipy.stats import beta

from richter.stats import bin_gaps, bootstrap_ece, ece_interval

LAWS = {"uniform": (1.0, 1.0), "Beta(5, 1.5)": (5.0, 1.5), "Beta(0.5, 0.5)": (0.5, 0.5)}
SHAPES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "shift": lambda c: np.ones_like(c),
    "sine": lambda c: np.sin(2 * np.pi * c),
    "one bin": lambda c: ((c >= 0.7) & (c < 0.8)).astype(float),
    "alternating": lambda c: np.where(np.floor(c * 10) % 2 == 0, 1.0, -1.0),
}
CELLS = [
    {"law": law, "shape": shape, "true": target, "n": n}
    for law in LAWS
    for shape in SHAPES
    for target in (0.0, 0.02, 0.08)
    if target or shape == "shift"
    if (shape, target, law) not in {("one bin", 0.08, "uniform"), ("one bin", 0.08, "Beta(0.5, 0.5)")}  # out of reach
    for n in (500, 14_042)
]


def accuracy(c: np.ndarray, shape: str, scale: float) -> np.ndarray:
    """The chance of a right answer."""
    return np.clip(c - scale * SHAPES[shape](c), 0.0, 1.0)


@functools.cache
def scale_for(law: str, shape: str, target: float) -> float:
    """The amplitude that gives the wanted true ECE."""
    c = beta(*LAWS[law]).ppf((np.arange(2_000_000) + 0.5) / 2_000_000)
    place = np.minimum((c * 10).astype(int), 9)
    low, high = 0.0, 4.0 if target else 0.0
    for _ in range(25):
        middle = (low + high) / 2
        ece = np.sum(np.abs(np.bincount(place, weights=c - accuracy(c, shape, middle)))) / len(c)
        low, high = (middle, high) if ece < target else (low, middle)
    return (low + high) / 2


def trial(cell: Cell, rng: np.random.Generator) -> dict[str, float]:
    """Both intervals of one sample."""
    target = cell["true"]
    c = rng.beta(*LAWS[cell["law"]], size=cell["n"])
    chance = accuracy(c, cell["shape"], scale_for(cell["law"], cell["shape"], target))
    a = (rng.random(cell["n"]) < chance).astype(float)
    gaps = bin_gaps(c, a)
    debiased, interval = ece_interval(gaps.gap, gaps.standard_error)
    boot = bootstrap_ece(c, a, rng=rng, n_resamples=400).interval
    return {
        "ours %": target in interval if target else interval.low == 0,
        "bootstrap %": target in boot,
        "width": interval.high - interval.low,
        "bootstrap's width": boot.high - boot.low,
        "bias": debiased - target,
    }


if __name__ == "__main__":
    run_study(__file__, CELLS, trial, trials=500)
