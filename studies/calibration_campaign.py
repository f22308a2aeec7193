"""What the calibration room promises, cell by cell: sizes and powers of the omnibus test, and safe thresholds."""

import functools

import numpy as np
from driver import Cell, run_study
from scipy.special import expit, logit, ndtr

from richter.calibration import ece, miscalibration, safe_threshold

LAWS = {
    "uniform": lambda rng, n: rng.uniform(0.02, 0.98, n),
    "above 0.4": lambda rng, n: rng.uniform(0.4, 0.99, n),
    "sure": lambda rng, n: rng.beta(5, 0.6, n),
    "stated": lambda rng, n: rng.choice([0.5, 0.7, 0.8, 0.9, 0.95, 1.0], n, p=[0.05, 0.1, 0.15, 0.3, 0.25, 0.15]),
}
WRONG = {
    "none": lambda c: c,
    "5 points too sure": lambda c: np.clip(c - 0.05, 0, 1),
    "temperature 1.5": lambda c: expit(logit(np.clip(c, 1e-3, 1 - 1e-3)) / 1.5),
    "one bin, 25 points": lambda c: np.where((c >= 0.7) & (c < 0.8), c - 0.25, c),
}
UNITS = {"40 groups x 10": (400, 1, 40), "100 x 10 draws": (100, 10, 0), "30 x 30 draws": (30, 30, 0)}
CELLS: list[Cell] = [{"law": law, "wrong": "none", "n": n} for law in LAWS for n in (100, 400, 4000)]
CELLS += [{"law": law, "wrong": wrong, "n": 400} for law in LAWS for wrong in list(WRONG)[1:]]
CELLS += [{"law": law, "units": unit, "rho": rho} for unit in UNITS for law in list(LAWS)[:3] for rho in (0.2, 0.7)]
CELLS += [
    {"target": target, "n": n, "power": power}
    for target, power in ((0.02, 0.4), (0.05, 0.8), (0.1, 1.5))
    for n in (400, 1500)
]
CELLS += [{"target": target, "n": n, "weights": True} for target in (0.05, 0.1) for n in (400, 1500)]


def omnibus(cell: Cell, rng: np.random.Generator) -> dict[str, float]:
    """What is shown at 5%."""
    c = LAWS[cell["law"]](rng, cell["n"])
    a = rng.random(cell["n"]) < np.clip(WRONG[cell["wrong"]](c), 1e-3, 1 - 1e-3)
    found = miscalibration(c, a, rng=rng, n_resamples=499)
    ps = {"omnibus": found.p, "in the large": found.p_large, "Cox": found.p_cox, "largest bin": found.p_bins}
    return {f"{name} %": p <= 0.05 for name, p in ps.items()} | {"ECE above 0 %": ece(c, a).interval.low > 0}


def by_unit(cell: Cell, rng: np.random.Generator) -> dict[str, float]:
    """What is shown falsely where answers of a unit share their luck."""
    items, draws, groups = UNITS[cell["units"]]
    item = np.repeat(np.arange(items), draws)
    unit = item % groups if groups else item
    shared = rng.normal(size=unit.max() + 1)[unit]
    c = LAWS[cell["law"]](rng, len(item))
    luck = ndtr(np.sqrt(cell["rho"]) * shared + np.sqrt(1 - cell["rho"]) * rng.normal(size=len(item)))
    a = luck < np.clip(c, 1e-3, 1 - 1e-3)
    return {
        "omnibus by unit %": miscalibration(c, a, rng=rng, unit=unit, n_resamples=199).p <= 0.05,
        "rows as units %": miscalibration(c, a, rng=rng, n_resamples=199).p <= 0.05,
    }


@functools.cache
def errors_above(power: float) -> tuple[np.ndarray, np.ndarray]:
    """Confidences, and the true rate of errors at or above each."""
    grid = np.sort(np.random.default_rng(0).beta(3, 0.6, 200_000))
    return grid, 1 - np.cumsum((grid**power)[::-1])[::-1] / np.arange(len(grid), 0, -1)


def threshold(cell: Cell, rng: np.random.Generator) -> dict[str, float]:
    """Whether a threshold is given, and whether the true error above it exceeds the target."""
    c = rng.beta(3, 0.6, cell["n"])
    found = safe_threshold(c, rng.random(cell["n"]) < c ** cell["power"], target=cell["target"], rng=rng)
    if found.threshold is None:
        return {"given %": 0.0, "broken %": 0.0}
    grid, errors = errors_above(cell["power"])
    place = min(int(np.searchsorted(grid, found.threshold)), len(grid) - 1)
    return {"given %": 1.0, "broken %": errors[place] > cell["target"]}


def weighted_threshold(cell: Cell, rng: np.random.Generator) -> dict[str, float]:
    """The same where three in ten answers count three times, and err twice as often."""

    def made(size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        c, heavy = rng.beta(3, 0.6, size), rng.random(size) < 0.3
        return c, np.where(heavy, 3.0, 1.0), np.clip((1 - c**0.8) * np.where(heavy, 1.6, 0.8), 0, 1)

    c, w, wrong = made(cell["n"])
    found = safe_threshold(c, rng.random(cell["n"]) >= wrong, target=cell["target"], rng=rng, weight=w)
    if found.threshold is None:
        return {"given %": 0.0, "broken %": 0.0}
    c, w, wrong = made(200_000)
    kept = c >= found.threshold
    return {"given %": 1.0, "broken %": np.average(wrong[kept], weights=w[kept]) > cell["target"]}


def trial(cell: Cell, rng: np.random.Generator) -> dict[str, float]:
    """One table of whichever kind."""
    if "law" in cell:
        return by_unit(cell, rng) if "units" in cell else omnibus(cell, rng)
    return weighted_threshold(cell, rng) if "weights" in cell else threshold(cell, rng)


if __name__ == "__main__":
    run_study(__file__, CELLS, trial, trials=200)
