"""What the calibration room promises, cell by cell: sizes, powers, thresholds, gains, sequences.

Usage: python studies/calibration_campaign.py [OUT.jsonl] [runs]   (again with the same OUT goes on where it stopped)

OUT is soak/calibration.jsonl where none is named; rates of each cell.
"""

import functools
import sys
from pathlib import Path

import numpy as np
from cells import go_on
from scipy.special import expit, logit, ndtr

from richter.calibration import ece, miscalibration, safe_threshold
from richter.floors import ece_sequence

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


def omnibus(rng, law, wrong, n, tables=499):
    c = LAWS[law](rng, n)
    a = rng.random(n) < np.clip(WRONG[wrong](c), 1e-3, 1 - 1e-3)
    found = miscalibration(c, a, rng=rng, n_resamples=tables)
    names = {"omnibus": found.p, "large": found.p_large, "cox": found.p_cox, "largest bin": found.p_bins}
    return {key: p <= 0.05 for key, p in names.items()} | {"ece interval": ece(c, a).interval.low > 0}


def units(rng, law, cell, rho, tables=199):
    items, draws, groups = UNITS[cell]
    item = np.repeat(np.arange(items), draws)
    unit = item % groups if groups else item
    shared = rng.normal(size=unit.max() + 1)[unit]
    c = LAWS[law](rng, len(item))
    a = ndtr(np.sqrt(rho) * shared + np.sqrt(1 - rho) * rng.normal(size=len(item))) < np.clip(c, 1e-3, 1 - 1e-3)
    return {
        "omnibus by unit": miscalibration(c, a, rng=rng, unit=unit, n_resamples=tables).p <= 0.05,
        "rows as units": miscalibration(c, a, rng=rng, n_resamples=tables).p <= 0.05,
    }


@functools.cache
def errors_above(power):
    grid = np.sort(np.random.default_rng(0).beta(3, 0.6, 200_000))
    return grid, 1 - np.cumsum((grid**power)[::-1])[::-1] / np.arange(len(grid), 0, -1)


def threshold(rng, target, n, power):
    grid, errors = errors_above(power)
    c = rng.beta(3, 0.6, n)
    found = safe_threshold(c, rng.random(n) < c**power, target=target, rng=rng)
    if found.threshold is None:
        return {"given": False, "broken": False}
    place = min(int(np.searchsorted(grid, found.threshold)), len(grid) - 1)
    return {"given": True, "broken": bool(errors[place] > target)}


def weighted_threshold(rng, target, n):
    """Three in ten answers count three times, and err twice as often."""

    def made(size):
        c, heavy = rng.beta(3, 0.6, size), rng.random(size) < 0.3
        wrong = np.clip((1 - c**0.8) * np.where(heavy, 1.6, 0.8), 0, 1)
        return c, np.where(heavy, 3.0, 1.0), wrong

    c, w, wrong = made(n)
    found = safe_threshold(c, rng.random(n) >= wrong, target=target, rng=rng, weight=w)
    if found.threshold is None:
        return {"given": False, "broken": False}
    c, w, wrong = made(200_000)
    kept = c >= found.threshold
    return {"given": True, "broken": bool(np.average(wrong[kept], weights=w[kept]) > target)}


def binned(c, p):
    index = np.minimum((c * 10).astype(int), 9)
    return float(np.sum(np.abs(np.bincount(index, weights=c - p)))) / len(c)


@functools.cache
def true_ece(law, wrong):
    grid = LAWS[law](np.random.default_rng(0), 400_000)
    return binned(grid, WRONG[wrong](grid))


def sequence(rng, law, wrong, n):
    c = LAWS[law](rng, n)
    a = (rng.random(n) < WRONG[wrong](c)).astype(float)
    truth = true_ece(law, wrong)
    found = ece_sequence(c, a)
    return {"ever wrong": bool(((found.low > truth) | (found.high < truth)).any())}


def cells():
    for law in LAWS:
        for n in (100, 400, 4000):
            yield omnibus, {"law": law, "wrong": "none", "n": n}
    for law in LAWS:
        for wrong in list(WRONG)[1:]:
            yield omnibus, {"law": law, "wrong": wrong, "n": 400}
    for cell in UNITS:
        for law in ("uniform", "above 0.4", "sure"):
            for rho in (0.2, 0.7):
                yield units, {"law": law, "cell": cell, "rho": rho}
    for target, power in ((0.02, 0.4), (0.05, 0.8), (0.1, 1.5)):
        for n in (400, 1500):
            yield threshold, {"target": target, "n": n, "power": power}
    for target in (0.05, 0.1):
        for n in (400, 1500):
            yield weighted_threshold, {"target": target, "n": n}
    for law in LAWS:
        for wrong in WRONG:
            yield sequence, {"law": law, "wrong": wrong, "n": 3000}


def rates(what, cell, runs, rng):
    asked = {key: value for key, value in cell.items() if key != "part"}
    rows = [what(rng, **asked) for _ in range(runs)]
    return {key: round(float(np.mean([row[key] for row in rows])), 4) for key in rows[0]}


def main() -> None:
    out = Path(sys.argv[1]) if sys.argv[1:] else Path(__file__).parents[1] / "soak" / "calibration.jsonl"
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    go_on(out, (({"part": what.__name__, **cell}, functools.partial(rates, what)) for what, cell in cells()), runs)


if __name__ == "__main__":
    main()
