"""Cover of the interval for the difference of two ECEs on the same items, and how often equal ones are told apart.

Two simulated conditions answer the same items; confidences and errors correlate over items (Gaussian copula, 0.5).
Truth is the binned ECE of the law itself (quadrature). With units two identical conditions share the difficulty of
groups and of items with several draws; "rows as units" is what is said where that is not known.
"""

import functools

import numpy as np
from driver import Cell, run_study
from scipy.special import ndtr

from richter.claims import ece_difference, ece_side, p_value

GAPS = {
    "none": lambda c: np.zeros_like(c),
    "shift": lambda c: 0.08 * np.ones_like(c),
    "alternating": lambda c: 0.08 * np.where(np.minimum((c * 10).astype(int), 9) % 2 == 0, 1.0, -1.0),
    "one bin": lambda c: np.where(c >= 0.9, 0.3, 0.0),
}
# items, draws of each, groups
UNITS = {"40 passages x 10": (400, 1, 40), "100 x 10 epochs": (100, 10, 0), "30 x 30 epochs": (30, 30, 0)}
PAIRS = (("none", "none"), ("none", "shift"), ("shift", "shift"), ("alternating", "shift"), ("none", "one bin"),
         ("alternating", "alternating"))  # fmt: skip
CELLS: list[Cell] = [{"n": n, "first": first, "second": second} for n in (500, 2000) for first, second in PAIRS]
CELLS += [{"units": units, "gap": gap} for units in UNITS for gap in GAPS]


@functools.cache
def truth(gap: str) -> float:
    """The binned ECE of the law."""
    c = np.linspace(0.5, 1, 400_001)[:-1] + 0.5 / 800_000
    p = np.clip(c - GAPS[gap](c), 0, 1)
    index = np.minimum((c * 10).astype(int), 9)
    return float(np.sum(np.abs(np.bincount(index, weights=c - p)))) / len(c)


def trial(cell: Cell, rng: np.random.Generator) -> dict[str, float]:
    """One table of either kind."""
    if "units" in cell:
        item, group, sides = draw_units(*UNITS[cell["units"]], cell["gap"], rng)
        apart = ece_difference(*(ece_side(c, a, item, group=group) for c, a in sides))
        plain = ece_difference(*(ece_side(c, a) for c, a in sides))
        return {"told apart %": p_value(apart, 0.0) <= 0.05, "rows as units %": p_value(plain, 0.0) <= 0.05}

    def correlated() -> np.ndarray:
        return ndtr(np.sqrt(0.5) * rng.normal(size=(cell["n"], 1)) + np.sqrt(0.5) * rng.normal(size=(cell["n"], 2)))

    names = (cell["first"], cell["second"])
    c, u = 0.5 + 0.5 * correlated(), correlated()
    sides = [(c[:, k], (u[:, k] < np.clip(c[:, k] - GAPS[name](c[:, k]), 0, 1)) * 1.0) for k, name in enumerate(names)]
    found, target = ece_difference(*(ece_side(*side) for side in sides)), truth(names[1]) - truth(names[0])
    interval = found.interval(0.95)
    return {
        "true": target, "told apart %": p_value(found, 0.0) <= 0.05, "cover %": target in interval,
        "half-width": interval.half_width,
    }  # fmt: skip


def draw_units(items: int, draws: int, groups: int, gap: str, rng: np.random.Generator) -> tuple:
    """Two identical conditions: difficulty is shared within a group and an item, and by both conditions."""
    group = np.arange(items) % groups if groups else None
    level = rng.normal(size=items)
    if group is not None:
        level = np.sqrt(0.6) * rng.normal(size=groups)[group] + np.sqrt(0.4) * level
    item = np.repeat(np.arange(items), draws)
    sides = []
    for _ in range(2):
        own = np.sqrt(0.5) * (level + rng.normal(size=items))
        u = ndtr(np.sqrt(0.7) * own[item] + np.sqrt(0.3) * rng.normal(size=len(item)))
        sure = np.sqrt(0.7) * rng.normal(size=items)[item] + np.sqrt(0.3) * rng.normal(size=len(item))
        c = 0.5 + 0.5 * ndtr(sure)
        sides.append((c, (u < np.clip(c - GAPS[gap](c), 0, 1)).astype(float)))
    return item, group, sides


if __name__ == "__main__":
    run_study(__file__, CELLS, trial, trials=1000)
