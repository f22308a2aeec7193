"""False claims and power of `discriminate`: without a law, by b behind its gate, and by the paper's rule.

Studies of simulated models on simulated items; items differ in difficulty, so that models err on the same ones more
often than chance. Per scenario the share of studies with a false claim, the mean number of pairs that each rule calls
different, and where models differ the power.
"""

import math

import numpy as np
from driver import Cell, run_study
from numpy.typing import NDArray

from richter.records import Verdict
from richter.severity import PAPER, count_levels, discriminate
from richter.severity._disjoint_intervals import fit_slopes

Law = NDArray[np.float64]


def shaped(b: float, factors: tuple[float, ...] = ()) -> Law:
    p = 10 ** (-b * 0.5 * np.arange(8))
    p[: len(factors)] *= factors
    return p / p.sum()


def moved(law: Law, mean: float) -> Law:
    """The law tilted until the mean severity of an error is this."""
    levels = np.arange(1, 9) / 2
    low, high = -5.0, 5.0
    for _ in range(60):
        tilt = (low + high) / 2
        p = law * np.exp(tilt * levels)
        p /= p.sum()
        low, high = (tilt, high) if p @ levels < mean else (low, tilt)
    return p


SLIPS = (1.0, 1.3, 1.6, 2.0, 2.5, 3.0)
BASE = shaped(0.6)
MEAN = float(BASE @ (np.arange(1, 9) / 2))


def six(b: float) -> list[Law]:
    """Equal slopes from 1.5 up, more and more minor slips below."""
    return [shaped(b, (f, 1 + (f - 1) / 2)) for f in SLIPS]


# laws, items, error rate, items a group (1: none), the measure decided first
SCENARIOS: dict[str, tuple[list[Law], int, float, int, str]] = {
    "six equal slopes, b = 0.8": (six(0.8), 10_000, 0.4, 1, "b"),
    "six equal slopes, b = 1.0": (six(1.0), 10_000, 0.4, 1, "b"),
    "six equal slopes, b = 1.2, 20,000 items": (six(1.2), 20_000, 0.4, 1, "b"),
    "six identical": ([BASE] * 6, 2_500, 0.25, 1, "severity_given_error"),
    "six identical, groups of 25": ([BASE] * 6, 2_500, 0.25, 25, "severity_given_error"),
    "21 identical": ([BASE] * 21, 2_500, 0.25, 1, "severity_given_error"),
    "21 models, ten 0.1 below the rest": (
        [BASE] * 10 + [moved(BASE, MEAN + 0.1)] * 11,
        2_500,
        0.25,
        1,
        "severity_given_error",
    ),
}
SAME_SLOPE = "six equal"


def simulate(laws: list[Law], n: int, rate: float, size: int, rng: np.random.Generator) -> dict[str, Law]:
    group = np.arange(n) // size
    chance = np.where(rng.random(n)[group] < 0.5, 1.6, 0.4) * rate
    taste = rng.normal(0, 0.5, (group.max() + 1, len(laws))) if size > 1 else None
    out = {}
    for i, law in enumerate(laws):
        wrong = rng.random(n) < chance
        level = rng.choice(8, size=n, p=law)
        if taste is not None:  # errors of a group are alike in gravity, in each model its own way
            level = np.clip(np.round(level + taste[group, i] * 2), 0, 7)
        out[f"m{i:02d}"] = np.where(wrong, level / 2 + 0.5, 0.0)
    return out


def trial(cell: Cell, rng: np.random.Generator) -> dict[str, float]:
    """One study."""
    name = cell["scenario"]
    laws, n, rate, size, primary = SCENARIOS[name]
    data = simulate(laws, n, rate, size, rng)
    groups = None if size == 1 else np.arange(n) // size
    found = discriminate(data, groups=groups, primary=primary, n_resamples=400, rng=rng, mapper=map)
    first, place = [c for c in found.claims if c.primary], {c: k for k, c in enumerate(data)}
    # with slopes as the primary measure every pair is false; otherwise pairs of the same law
    same = np.array(
        [name.startswith(SAME_SLOPE) or laws[place[c.conditions[0]]] is laws[place[c.conditions[1]]] for c in first]
    )
    hit = np.array([c.verdict is Verdict.VERIFIED for c in first])
    table = np.array([count_levels(x) for x in data.values()], dtype=np.float64)
    paper = fit_slopes(table, recipe=PAPER, n_resamples=400, rng=rng)
    i, j = np.triu_indices(len(laws), 1)
    apart = (paper.low[i] > paper.high[j]) | (paper.low[j] > paper.high[i])
    differ = np.array([laws[a] is not laws[b] for a, b in zip(i, j, strict=True)])
    return {
        "any false %": (hit & same).any(),
        "power %": hit[~same].mean() if not same.all() else math.nan,
        "pairs": len(first),
        "shown": hit.sum(),
        "paper's rule, pairs": found.counts.paper,
        "with its gap": found.counts.paper_min_gap,
        "paper's power %": apart[differ].mean() if differ.any() and not same.all() else math.nan,
        "paper's false %": apart[~differ].any() if (~differ).any() else math.nan,
        "screened by the mean": found.counts.screened["severity_given_error"],
    }


if __name__ == "__main__":
    run_study(__file__, [{"scenario": name} for name in SCENARIOS], trial, trials=1000)
