"""Coverage and width of the ECE interval against the percentile bootstrap's, over shapes of miscalibration.

Confidence is drawn from a law on [0, 1], the answer is correct with probability c - shape(c), and the true binned
ECE is computed on a grid of two million quantiles of the same law. Run: python studies/calibration_ece_interval.py
"""

import argparse
from collections.abc import Callable

import numpy as np
from scipy.stats import beta

from richter.stats import bin_gaps, bootstrap_ece, ece_interval

Shape = Callable[[np.ndarray], np.ndarray]
LAWS = {"uniform": (1.0, 1.0), "confident": (5.0, 1.5), "U-shaped": (0.5, 0.5)}
SHAPES: dict[str, Shape] = {
    "shift": lambda c: np.ones_like(c),
    "sine": lambda c: np.sin(2 * np.pi * c),
    "one bin": lambda c: ((c >= 0.7) & (c < 0.8)).astype(float),
    "alternating": lambda c: np.where(np.floor(c * 10) % 2 == 0, 1.0, -1.0),
}


def truth(law: tuple[float, float], shape: Shape, scale: float) -> float:
    """The binned ECE of the population, on quantiles of the law."""
    c = beta(*law).ppf((np.arange(2_000_000) + 0.5) / 2_000_000)
    gap = c - accuracy(c, shape, scale)
    return float(np.sum(np.abs(np.bincount(np.minimum((c * 10).astype(int), 9), weights=gap))) / len(c))


def accuracy(c: np.ndarray, shape: Shape, scale: float) -> np.ndarray:
    return np.clip(c - scale * shape(c), 0.0, 1.0)


def scale_for(law: tuple[float, float], shape: Shape, target: float) -> float | None:
    """The amplitude that gives the wanted true ECE; None where clipping keeps it out of reach."""
    if target == 0:
        return 0.0
    low, high = 0.0, 4.0
    if truth(law, shape, high) < target:
        return None
    for _ in range(25):
        middle = (low + high) / 2
        low, high = (middle, high) if truth(law, shape, middle) < target else (low, middle)
    return (low + high) / 2


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--resamples", type=int, default=400)
    parser.add_argument("--laws", nargs="*", default=list(LAWS))
    arguments = parser.parse_args()
    rng = np.random.default_rng(1)
    print(f"{'law':10} {'shape':12} {'n':>6} {'true':>6}  {'ours':>6} {'boot':>6} {'width ratio':>12}  {'bias':>8}")
    for name in arguments.laws:
        law = LAWS[name]
        for shape_name, shape in SHAPES.items():
            for target in (0.0, 0.02, 0.08):
                if target == 0 and shape_name != "shift":
                    continue
                scale = scale_for(law, shape, target)
                if scale is None:
                    print(f"{name:10} {shape_name:12} a true ECE of {target} is out of reach")
                    continue
                for n in (500, 14_042):
                    runs = arguments.runs if n < 1000 else max(arguments.runs // 4, 1)
                    hit = boot_hit = 0
                    width = boot_width = bias = 0.0
                    for _ in range(runs):
                        c = rng.beta(*law, size=n)
                        a = (rng.random(n) < accuracy(c, shape, scale)).astype(float)
                        gaps = bin_gaps(c, a)
                        debiased, interval = ece_interval(gaps.gap, gaps.standard_error)
                        boot = bootstrap_ece(c, a, rng=rng, n_resamples=arguments.resamples).interval
                        hit += target in interval if target else interval.low == 0
                        boot_hit += target in boot
                        width += interval.high - interval.low
                        boot_width += boot.high - boot.low
                        bias += debiased - target
                    print(
                        f"{name:10} {shape_name:12} {n:6} {target:6.2f}  {hit / runs:6.3f} {boot_hit / runs:6.3f} "
                        f"{width / boot_width:12.2f}  {bias / runs:+8.4f}",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
