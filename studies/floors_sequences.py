"""Ever-miss rates of the confidence sequences, and labels to a verdict against a fixed number of labels."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from driver import Cell, run_study

from richter.floors import difference_sequence, ece_sequence, mean_sequence, paired_gap_labels, rate_sequence
from richter.floors._sizing import _exact_test_labels

LOOKS = 5000
LEVELS, SHARES = np.array([0, 0.5, 1, 2, 4]), np.array([0.6, 0.15, 0.1, 0.1, 0.05])
Draw = Callable[[np.random.Generator, int], Any]


def draw_rate(p: float) -> Draw:
    """Right and wrong answers."""
    return lambda rng, n: rate_sequence((rng.random(n) < p) * 1.0)


def draw_difference(plus: float, minus: float) -> Draw:
    """Pairs of which the second is better, or worse, this often."""

    def draw(rng: np.random.Generator, n: int) -> Any:
        x = rng.choice([-1, 0, 1], p=[minus, 1 - plus - minus, plus], size=n)
        return difference_sequence((x < 0) * 1.0, (x > 0) * 1.0)

    return draw


def draw_ece(gap: float, *, alternating: bool = True) -> Draw:
    """Confidences that are off by as much, in turn either way or always too sure."""

    def draw(rng: np.random.Generator, n: int) -> Any:
        c = rng.uniform(0.5, 0.9 if alternating else 1.0, n)
        sign = np.where((c * 10 + 1e-9).astype(int) % 2 == 0, 1, -1) if alternating else 1
        return ece_sequence(c, (rng.random(n) < c - gap * sign) * 1.0)

    return draw


# what is drawn, and the truth
EVER: dict[str, tuple[Draw, float]] = {f"rate {p}": (draw_rate(p), p) for p in (0.01, 0.05, 0.3)}
EVER |= {f"difference {a - b:+.2f}": (draw_difference(a, b), a - b) for a, b in ((0.05, 0.05), (0.12, 0.04))}
EVER["mean severity"] = (lambda rng, n: mean_sequence(rng.choice(LEVELS, p=SHARES, size=n), high=4.0),
                         float(LEVELS @ SHARES))  # fmt: skip
EVER |= {f"ECE {gap}": (draw_ece(gap), gap) for gap in (0.0, 0.02, 0.08)}
# what is drawn, whether the limit lies below the truth, the limit, how many looks, labels of a fixed test at a power
Fixed = Callable[[float], float]
VERDICTS: dict[str, tuple[Draw, bool, float, int, Fixed | None]] = {}


def two_point(limit: float, p: float, power: float) -> float:
    """Labels of a fixed exact test of `limit` that decides at the true rate p with this power."""
    at, gap = (limit, p - limit) if p > limit else (1 - limit, limit - p)
    return _exact_test_labels(at, gap, alpha=0.05, power=power)


for limit, p in ((0.05, 0.01), (0.05, 0.03), (0.05, 0.10), (0.10, 0.05), (0.10, 0.20)):
    VERDICTS[f"error_rate < {limit} at {p}"] = (
        draw_rate(p), p > limit, limit, 20_000, functools.partial(two_point, limit, p),
    )  # fmt: skip
for plus, minus in ((0.10, 0.04), (0.08, 0.05)):
    VERDICTS[f"A better than B at {plus - minus:+.2f}, discordance {plus + minus:.2f}"] = (
        draw_difference(plus, minus), True, 0.0, 40_000,
        lambda power, gap=plus - minus, both=plus + minus: paired_gap_labels(gap, both, power=power),
    )  # fmt: skip
for gap, limit in ((0.08, 0.02), (0.02, 0.08)):
    name = f"ECE {'>' if gap > limit else '<'} {limit} at {gap}"
    VERDICTS[name] = (draw_ece(gap, alternating=False), gap > limit, limit, 20_000, None)


def trial(cell: Cell, rng: np.random.Generator) -> dict[str, float]:
    """Whether a sequence ever misses the truth, or after how many labels it decides."""
    if "ever" in cell:
        draw, truth = EVER[cell["ever"]]
        found = draw(rng, LOOKS)
        return {"ever missed %": bool((found.low > truth).any() or (found.high < truth).any())}
    draw, is_above, limit, looks, fixed = VERDICTS[cell["claim"]]
    found = draw(rng, looks)
    hit = found.low >= limit if is_above else found.high <= limit
    labels = {"labels": float(np.argmax(hit) + 1 if hit.any() else looks)}
    return labels | ({} if fixed is None else {f"fixed, {power:.0%} power": fixed(power) for power in (0.8, 0.95)})


if __name__ == "__main__":
    run_study(__file__, [{"ever": name} for name in EVER] + [{"claim": name} for name in VERDICTS], trial, trials=500)
