"""The portfolio against single strategies, the coverage of the base's rate, and clusters where there are none.

Worlds have a known error field; each strategy searches the same field with the same seed, 240 of 1,500 paragraphs. The
yield is the sum of the chances of error of what was asked about: the errors themselves, without the luck of single
answers. "Covers" is the 95% interval of the base's rate. After an earlier search by `sea` whose writer failed on one
paragraph in eight, twice as often where errors are likely, a later one draws at random from all that its writer has not
failed on; the truth is the rate of all usable ones. With errors at random a cluster is told in at most 5%.
"""

import numpy as np
from driver import Cell, run_study

from helpers.simulated_search import SimulatedSearch, simulate_search
from richter_audit.ascent import SearchSettings, find_failing_groups, population_rate
from richter_audit.ascent._propose import random_order
from richter_audit.knowledge import find_similar

WORLDS = ("topics", "weak spots", "smooth", "patches", "rare", "none", "ladder", "mixed", "scattered")
STRATEGIES = ("random", "sea", "bayes", "modes", "portfolio")
CATEGORIES, DIM, PARAGRAPHS = 60, 24, 240
CELLS: list[Cell] = [{"world": world} for world in WORLDS]
CELLS += [{"after an earlier search of": world} for world in WORLDS]
CELLS += [{"errors at random": strategy} for strategy in ("portfolio", "sea", "bayes", "modes")]


def field(kind: str, size: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Vectors around category centres, categories, and the chance of error of each paragraph."""
    centres = rng.normal(size=(CATEGORIES, DIM))
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    codes = np.sort(rng.integers(CATEGORIES, size=size))
    vectors = centres[codes] + 0.6 * rng.normal(size=(size, DIM)) / np.sqrt(DIM)
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)

    def is_near(number: int, cosine: float) -> np.ndarray:
        return (vectors @ vectors[rng.choice(size, number, replace=False)].T).max(axis=1) > cosine

    def is_of(number: int) -> np.ndarray:
        return np.isin(codes, rng.choice(CATEGORIES, number, replace=False))

    match kind:
        case "topics":
            chance = 0.8 * rng.beta(0.5, 1.2, size=CATEGORIES)[codes]
        case "weak spots":
            chance = np.where(is_of(6), 0.9, 0.12)
        case "smooth":
            axis = rng.normal(size=DIM)
            chance = 1 / (1 + np.exp(-6 * (vectors @ axis / np.linalg.norm(axis)) + 2))
        case "patches":  # by place among the vectors, whatever the category
            chance = np.where(is_near(12, 0.75), 0.8, 0.1)
        case "rare":
            chance = np.where(is_of(3), 0.5, 0.02)
        case "scattered":  # every paragraph by itself: nothing says where
            chance = 0.8 * rng.beta(0.5, 1.2, size=size)
        case "ladder":  # every category a little worse than the next
            chance = np.linspace(0.02, 0.5, CATEGORIES)[rng.permutation(CATEGORIES)][codes]
        case "mixed":  # some categories, and some places whatever their category
            chance = np.where(is_of(4) | is_near(6, 0.8), 0.6, 0.1)
        case _:
            chance = np.full(size, 0.25)
    return vectors, codes, chance


def search(vectors: np.ndarray, codes: np.ndarray, fails: np.ndarray, strategy: str, seed: int) -> SimulatedSearch:
    """A search of a testee that fails where it is said."""

    def find(rows: np.ndarray, k: int, used: np.ndarray) -> object:
        return find_similar(vectors[rows], vectors, k, exclude=used)

    settings = SearchSettings(strategy=strategy, seed=seed)
    return simulate_search(vectors, codes, find, lambda rows: fails[rows], settings, paragraphs=PARAGRAPHS)


def trial(cell: Cell, rng: np.random.Generator) -> dict[str, float]:
    """One field, searched by every strategy, again after a search, or with errors at random."""
    seed, size = int(rng.integers(2**31)), 4000 if "errors at random" in cell else 1500
    kind = cell.get("world") or cell.get("after an earlier search of") or "none"
    vectors, codes, chance = field(kind, size, rng)
    fails = (rng.random(size) < chance).astype(float)
    if "errors at random" in cell:
        found = search(vectors, codes, fails, cell["errors at random"], seed)
        rows = np.array([row for batch in found.batches for row in batch])
        places = [{str(code)} for code in codes[rows]]
        told = len(find_failing_groups(fails[rows] > 0, places=places, vectors=vectors[rows]).groups)
        return {"a cluster is told %": told > 0, "several %": told > 1}
    if "world" in cell:
        found_by = {name: search(vectors, codes, fails, name, seed) for name in STRATEGIES}
        yields = {name: float(chance[list(one.errors)].sum()) for name, one in found_by.items()}
        return yields | {"covers %": np.mean([fails.mean() in one.population.interval for one in found_by.values()])}
    usable = rng.random(size) > np.where(chance > np.median(chance), 0.16, 0.08)
    earlier = search(vectors, codes, np.where(usable, fails, np.nan), "sea", 0)
    tried = np.zeros(size, dtype=bool)
    tried[list(earlier.errors)] = True
    drawn = random_order(~(tried & ~usable), seed)[: PARAGRAPHS // 5]
    interval = population_rate(fails[drawn[usable[drawn]]], size=size).interval
    return {"covers %": fails[usable].mean() in interval, "width": interval.high - interval.low}


if __name__ == "__main__":
    run_study(__file__, CELLS, trial, trials=100)
