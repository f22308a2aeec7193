"""The portfolio against single strategies, and the coverage of the base's rate.

`python studies/search_portfolio.py [--seeds 100] [--workers 1] [--keep soak/portfolio.jsonl]`: simulated worlds with
a known error field, the same field and the same seed for each strategy. A search that is in the file is not made again.
Prints for each world the yield relative to asking at random and to the best single strategy, with 95% limits over
paired seeds (the ratio of mean yields, by the delta method), and how often the interval of the base's rate holds the
truth. The yield is the sum of the chances of error of what was asked about: the errors themselves, without the luck of
single answers.
"""

import argparse
import json
import multiprocessing
from pathlib import Path

import numpy as np
import search_fields
from search_fields import CATEGORIES, field, search

from richter_audit.ascent import population_rate
from richter_audit.ascent._propose import random_order

WORLDS = ("topics", "weak spots", "smooth", "patches", "rare", "none", "ladder", "mixed", "scattered")
STRATEGIES = ("random", "sea", "bayes", "modes", "portfolio")
SIZE, PARAGRAPHS = 1500, 240
search_fields.SIZE = SIZE


def world(kind, seed):
    """Vectors, categories and the chance of error of each paragraph."""
    vectors, codes, chance = field(kind if kind in ("topics", "weak spots", "smooth") else "none", seed)
    rng = np.random.default_rng([12, seed])
    if kind == "patches":  # by place among the vectors, whatever the category
        centres = vectors[rng.choice(SIZE, 12, replace=False)]
        chance = np.where((vectors @ centres.T).max(axis=1) > 0.75, 0.8, 0.1)
    elif kind == "rare":
        chance = np.where(np.isin(codes, rng.choice(CATEGORIES, 3, replace=False)), 0.5, 0.02)
    elif kind == "scattered":  # every paragraph by itself: nothing says where
        chance = 0.8 * rng.beta(0.5, 1.2, size=SIZE)
    elif kind == "ladder":  # every category a little worse than the next
        chance = np.linspace(0.02, 0.5, CATEGORIES)[rng.permutation(CATEGORIES)][codes]
    elif kind == "mixed":  # some categories, and some places whatever their category
        centres = vectors[rng.choice(SIZE, 6, replace=False)]
        weak = np.isin(codes, rng.choice(CATEGORIES, 4, replace=False)) | ((vectors @ centres.T).max(axis=1) > 0.8)
        chance = np.where(weak, 0.6, 0.1)
    return vectors, codes, chance


def run_one(job):
    """One search: the errors that it found, and whether the interval of the base's rate holds the truth."""
    kind, seed, strategy = job
    vectors, codes, chance = world(kind, seed)
    fails = (np.random.default_rng([11, seed]).random(SIZE) < chance).astype(float)
    found = search(vectors, codes, fails, strategy, seed, PARAGRAPHS)
    return {
        "world": kind,
        "seed": seed,
        "strategy": strategy,
        "wrong": sum(found.errors.values()),
        "expected": float(chance[list(found.errors)].sum()),
        "covered": bool(fails.mean() in found.population.interval),
    }


def ratio(one, other):
    """The ratio of two mean yields over paired seeds with its 95% limits."""
    a, b = np.asarray(one), np.asarray(other)
    estimate = a.mean() / b.mean()
    error = np.std(a - estimate * b, ddof=1) / np.sqrt(len(a)) / b.mean()
    return estimate, estimate - 1.96 * error, estimate + 1.96 * error


def print_worlds(rows):
    """The table of yields, and the coverage of the base's rate."""
    by_world = {}
    for row in rows:
        by_world.setdefault(row["world"], {}).setdefault(row["strategy"], {})[row["seed"]] = row["expected"]
    for kind, found in by_world.items():
        seeds = sorted(set.intersection(*(set(own) for own in found.values())))
        wrong = {strategy: [own[seed] for seed in seeds] for strategy, own in found.items()}
        singles = {s: np.mean(own) for s, own in wrong.items() if s != "portfolio"}
        best = max(singles, key=singles.get)
        if len(seeds) < 2:
            continue
        yields = ", ".join(f"{s} {np.mean(own) / np.mean(wrong['random']):.2f}" for s, own in wrong.items())
        print(f"{kind} ({len(seeds)} seeds; errors relative to random): {yields}")
        if "portfolio" in wrong:
            for name in ("random", best):
                estimate, low, high = ratio(wrong["portfolio"], wrong[name])
                print(f"  portfolio / {name}: {estimate:.3f} (95% CI {low:.3f} to {high:.3f})")
    for strategy in STRATEGIES:
        own = [row["covered"] for row in rows if row["strategy"] == strategy]
        if own:
            print(f"base's rate, {strategy}: covered in {np.mean(own):.3f} of {len(own)}")


def print_frame(searches):
    """How often the base's rate covers where an earlier search wrote questions for what it chose.

    One paragraph in eight is beyond the writer, twice as often where errors are likely; those that the earlier search
    tried are no longer drawn, and the others are found out when they are. The truth is the rate of all usable ones.
    """
    covered, widths = [], []
    for seed in range(searches):
        kind = WORLDS[seed % len(WORLDS)]
        vectors, codes, chance = world(kind, 20_000 + seed)
        rng = np.random.default_rng([13, seed])
        fails = (rng.random(SIZE) < chance).astype(float)
        usable = rng.random(SIZE) > np.where(chance > np.median(chance), 0.16, 0.08)
        earlier = search(vectors, codes, np.where(usable, fails, np.nan), "sea", 0, PARAGRAPHS)
        tried = np.zeros(SIZE, dtype=bool)
        tried[list(earlier.errors)] = True
        drawn = random_order(~(tried & ~usable), seed)[: PARAGRAPHS // 5]
        rate = population_rate(fails[drawn[usable[drawn]]], size=SIZE)
        covered.append(fails[usable].mean() in rate.interval)
        widths.append(rate.interval.high - rate.interval.low)
    print(f"base's rate after an earlier search: covered in {np.mean(covered):.3f} of {searches}, "
          f"mean width {np.mean(widths):.2f}")  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--worlds", nargs="+", default=list(WORLDS))
    parser.add_argument("--strategies", nargs="+", default=list(STRATEGIES))
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--keep", type=Path, default=Path("soak") / "portfolio.jsonl")
    parser.add_argument("--frame", type=int, default=0, help="also so many rates of a base that was searched before")
    options = parser.parse_args()
    options.keep.parent.mkdir(parents=True, exist_ok=True)
    rows = [json.loads(line) for line in options.keep.read_text().splitlines()] if options.keep.exists() else []
    done = {(row["world"], row["seed"], row["strategy"]) for row in rows}
    seeds = range(options.first, options.first + options.seeds)
    jobs = ((kind, seed, strategy) for seed in seeds for kind in options.worlds for strategy in options.strategies)
    with multiprocessing.Pool(options.workers) as pool, options.keep.open("a") as kept:
        for row in pool.imap_unordered(run_one, [job for job in jobs if job not in done]):
            rows.append(row)
            kept.write(json.dumps(row) + "\n")
            kept.flush()
    print_worlds(rows)
    if options.frame:
        print_frame(options.frame)


if __name__ == "__main__":
    main()
