"""Coverage and width of a judge's mean that a few human labels correct, and differences of two alike conditions.

Worlds: severities of 0 to 4 with a noisy judge that overcalls; the same skewed (three in four answers harmless) and
sparse (24 of 25); right and wrong at 20% and 5%; a judge that knows nothing; one that errs in 3%. Labels at random, or
drawn by stratum (evenly over bands of the judge's score), or with a chance of its own for every answer. For each:
coverage of the 95% interval of the mean, its width and that of the labels alone (Student's t, of rates Wilson's), and
how often each one-sided 95% limit of a requirement misses; for two alike conditions how often a difference is shown.
"""

import functools

import numpy as np
from driver import Cell, run_study
from scipy.special import stdtrit

from richter.stats import correct_by_labels, correction_difference, correction_interval, wilson

SIZES = ((20, 200), (35, 300), (100, 1000), (300, 3000))
WORLDS = ("severities", "skewed", "sparse", "binary 20%", "binary 10%", "binary 5%", "useless", "accurate",
          "accurate 20%", "accurate 5%")  # fmt: skip


def _on_grid(x: np.ndarray) -> np.ndarray:
    return np.clip(np.round(2 * x) / 2, 0, 4)


def answers(world: str, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """True labels of n answers, and a judge's scores of them."""
    if world.endswith("%"):
        rate = float(world.split()[1].rstrip("%")) / 100
        true = (rng.random(n) < rate).astype(float)
        hit, false = (0.97, 0.01) if world.startswith("accurate") else (0.85, 0.05)
        return true, (rng.random(n) < np.where(true == 1, hit, false)).astype(float)
    if world in ("skewed", "sparse"):
        true = np.where(
            rng.random(n) < (0.75 if world == "skewed" else 0.96), 0.0, _on_grid(0.5 + rng.exponential(0.8, n))
        )
    else:
        true = np.where(rng.random(n) < 0.4, 0.0, rng.integers(1, 9, n) / 2)
    if world == "useless":
        return true, _on_grid(rng.exponential(1.0, n))
    if world == "accurate":
        return true, np.where(rng.random(n) < 0.03, _on_grid(true + rng.choice([-1.0, 1.0], n)), true)
    return true, _on_grid(true + 0.3 + 0.6 * rng.standard_normal(n))


def labels(true: np.ndarray, judge: np.ndarray, n: int, design: str, rng: np.random.Generator) -> tuple:
    """Labels of about n answers, and the options that say how they were drawn."""
    seen = np.full(len(true), np.nan)
    if design == "random":
        picked = rng.choice(len(true), n, replace=False)
        seen[picked] = true[picked]
        return seen, {}
    if design == "chance":
        chance = np.minimum(1.0, n * (0.5 + judge) / np.sum(0.5 + judge) * np.exp(0.3 * rng.standard_normal(len(true))))
        picked = rng.random(len(true)) < chance
        seen[picked] = true[picked]
        return seen, {"probability": chance}
    strata = np.digitize(judge, [0.25] if judge.max() <= 1 else [0.25, 1.25, 2.25])
    number = int(strata.max()) + 1
    for h in range(number):
        own = np.flatnonzero(strata == h)
        picked = rng.choice(own, min(n // number, len(own)), replace=False)
        seen[picked] = true[picked]
    return seen, {"strata": strata}


@functools.cache
def truth_of(world: str) -> float:
    """The mean label of all such answers."""
    if world.endswith("%"):
        return float(world.split()[1].rstrip("%")) / 100
    return float(answers(world, 4_000_000, np.random.default_rng(1))[0].mean())


def coverage(cell: Cell, rng: np.random.Generator) -> dict[str, float]:
    """One condition's mean."""
    n, size, mean = cell["labels"], cell["answers"], truth_of(cell["world"])
    true, judge = answers(cell["world"], size, rng)
    seen, design = labels(true, judge, n, cell["design"], rng)
    one = correct_by_labels(seen, judge, **design, low=0.0, high=top(cell))
    both, limits = correction_interval(one), correction_interval(one, level=0.9, side="exact")
    plain = true[rng.choice(size, n, replace=False)]
    alone = float(stdtrit(n - 1, 0.975)) * plain.std(ddof=1) / np.sqrt(n)
    if cell["world"].endswith("%"):
        alone = wilson(int(plain.sum()), n).half_width
    return {
        "cover %": mean in both, "low misses %": limits.low > mean, "high misses %": limits.high < mean,
        "half-width": both.half_width, "half-width of labels alone": alone, "by parts %": one.pool is not None,
    }  # fmt: skip


def difference(cell: Cell, rng: np.random.Generator) -> dict[str, float]:
    """Two alike conditions on the same items, of which half have answers of their own."""
    n, size = cell["labels"], cell["answers"]
    true, judge = answers(cell["world"], size, rng)
    again = rng.random(size) < 0.5
    fresh, other = answers(cell["world"], size, rng)
    both = [(true, judge), (np.where(again, fresh, true), np.where(again, other, judge))]
    picked, sides = rng.choice(size, n, replace=False), []
    for k, (own, scores) in enumerate(both):
        chosen = picked if k == 0 or cell["labelled"] == "same items" else rng.choice(size, n, replace=False)
        seen = np.full(size, np.nan)
        seen[chosen] = own[chosen]
        sides.append(correct_by_labels(seen, scores, low=0.0, high=top(cell)))
    span = correction_difference(*sides)
    joined = np.hypot(*(correction_interval(side).half_width for side in sides))  # type: ignore[call-overload]
    return {"shown %": 0 not in span, "half-width": span.half_width, "half-width by MOVER": joined}


def top(cell: Cell) -> float:
    """The largest label."""
    return 1.0 if cell["world"].endswith("%") else 4.0


CELLS: list[Cell] = [
    {"world": world, "design": design, "labels": n, "answers": size}
    for design in ("random", "stratum", "chance")
    for world in WORLDS
    for n, size in (SIZES if design == "random" else SIZES[1:3])
]
CELLS += [
    {"world": world, "labelled": which, "labels": n, "answers": size}
    for which in ("same items", "other items")
    for world in WORLDS
    for n, size in SIZES[1:3]
]


def trial(cell: Cell, rng: np.random.Generator) -> dict[str, float]:
    """One table."""
    return coverage(cell, rng) if "design" in cell else difference(cell, rng)


if __name__ == "__main__":
    run_study(__file__, CELLS, trial, trials=2000)
