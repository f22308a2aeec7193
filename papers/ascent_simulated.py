"""Searches of a simulated testee with a known error field: errors found against the oracle's, and coverage.

The testee is simulated: its chance of error is a smooth function of the paragraph's vector. Prints two tables.

    python papers/ascent_simulated.py [SIZE [SEEDS [RUNS]]]
"""

import sys
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))
from helpers.simulated_search import simulate_search
from richter_audit.ascent import SearchSettings
from richter_audit.knowledge import find_similar

DIM, DOCUMENTS, QUESTIONS = 32, 500, 3


def base(size, rng):
    """Unit vectors around document centres that lie around category centres; categories by number."""
    categories = rng.normal(size=(50, DIM))
    of = np.arange(DOCUMENTS) % 50
    centres = categories[of] + 0.7 * rng.normal(size=(DOCUMENTS, DIM))
    document = np.sort(rng.integers(DOCUMENTS, size=size))
    vectors = (centres[document] + 0.7 * rng.normal(size=(size, DIM))).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    first = np.searchsorted(document, np.arange(DOCUMENTS + 1))
    abstracts = (centres / np.linalg.norm(centres, axis=1, keepdims=True)).astype(np.float32)
    return vectors, of[document], abstracts, first


def field(vectors, rate, rng):
    """A smooth chance of error: bumps of weakness on the sphere, shifted to the wanted mean by bisection."""
    bumps = vectors[rng.choice(len(vectors), 12, replace=False)]
    height = np.exp((vectors @ bumps.T - 1) / 0.25).max(axis=1)
    low, high = -15.0, 15.0
    for _ in range(50):
        shift = (low + high) / 2
        chance = 1 / (1 + np.exp(-(shift + 8 * height)))
        low, high = (shift, high) if chance.mean() < rate else (low, shift)
    return chance


def search(vectors, codes, abstracts, first, chance, strategy, seed, paragraphs, **options):
    rng = np.random.default_rng([seed, 99])
    truth = rng.binomial(QUESTIONS, chance) / QUESTIONS  # the answers of this testee to this base, fixed beforehand

    def find(rows, k, used):
        if abstracts is None:
            return find_similar(vectors[rows], vectors, k, exclude=used)
        return find_similar(vectors[rows], vectors, k, abstracts=abstracts, first_rows=first, exclude=used)

    settings = SearchSettings(strategy=strategy, seed=seed, **options)
    found = simulate_search(vectors, codes, find, lambda rows: truth[rows], settings, paragraphs=paragraphs)
    return found, truth


def main(words):
    """Print what each strategy finds, and how often the interval of the base's rate holds the truth."""
    size, seeds, runs = [int(word) for word in words] + [1_000_000, 3, 2000][len(words) :]
    vectors, codes, abstracts, first = base(size, np.random.default_rng(1))
    rates = (0.03, 0.1, 0.26, 0.6)
    print(f"simulated testee, {size:,} paragraphs, 640 asked about, uniform share 20%: mean error found")
    print("base rate |  random  topics     sea   bayes | oracle | categories of failing paragraphs: sea, bayes")
    for rate in rates:
        chance = field(vectors, rate, np.random.default_rng(2))
        oracle = np.sort(chance)[-640:].mean()
        row, spread = [], []
        for strategy in ("random", "topics", "sea", "bayes"):
            found = [search(vectors, codes, abstracts, first, chance, strategy, seed, 640)[0] for seed in range(seeds)]
            row.append(np.mean([f.rate for f in found]))
            spread.append(np.mean([len({codes[r] for r, e in f.errors.items() if e > 0.5}) for f in found]))
        cells = " ".join(f"{v:7.3f}" for v in row)
        print(f"{rate:9.2f} | {cells} | {oracle:6.3f} | {spread[2]:.0f}, {spread[3]:.0f}", flush=True)
    print(f"\ncoverage of the 95% population interval, {runs} searches each")
    print("(10,000 paragraphs, 320 asked about, 64 of them drawn)")
    vectors, codes, _, _ = base(10_000, np.random.default_rng(3))
    for rate in rates:
        chance = field(vectors, rate, np.random.default_rng(4))
        hits = 0
        for seed in range(runs):
            found, truth = search(vectors, codes, None, None, chance, "sea", seed, 320)
            hits += truth.mean() in found.population.interval
        print(f"rate {rate:.2f}, sea: {hits / runs:.3f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
