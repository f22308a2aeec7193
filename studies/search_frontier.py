"""Errors and effective categories in 1,000 calls of each strategy, on the fields of `search_folder.py` without HTTP.

`python studies/search_frontier.py FOLDER [--seeds 5]`: a base of the folder's documents, a simulated testee of known
chances of error by paragraph, and for each wrong answer the calls of its other wordings (2 before, 1 by default now).
Beside them what is possible: a search that knows every chance, and the categories that have an error at all.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np
from search_folder import FIELDS, chances

from richter_audit.ascent import SearchSettings
from richter_audit.ascent._error_field import Field
from richter_audit.ascent._propose import plan_step, random_order
from richter_audit.ascent._trails import Trails
from richter_audit.knowledge import find_similar, open_base, read_documents, write_base

WAYS = (("random", 2), ("sea", 2), ("bayes", 2), ("modes", 2), ("modes", 1))


def search(vectors, codes, fails, settings, calls, reworded):
    """How many paragraphs were asked about and how many failed, and how diverse those are, within so many calls."""
    free = np.ones(len(vectors), dtype=bool)
    order, trails, sources, sampled, step = random_order(free, settings.seed), Trails(xi=0.5, gamma=0.5), (), 0, 0
    field = Field(
        vectors=vectors,
        codes=codes,
        free=free,
        find=lambda rows, k, used: find_similar(vectors[rows], vectors, k, exclude=used),
    )
    while size := min(settings.batch, calls // (1 + reworded)):
        step += 1
        plan = plan_step(field, settings, step=step, order=order, sampled=sampled, sources=sources, size=size)
        rows = [row for row, _ in plan.picks]
        if not rows:
            break
        sampled += len(plan.sample)
        calls -= len(rows) + reworded * int(fails[rows].sum())
        field.errors.update(zip(rows, fails[rows].tolist(), strict=True))
        sources = trails.add(rows, plan.edges, field.errors).sources
    counts = np.bincount(codes[[row for row, error in field.errors.items() if error]]).astype(float)
    return len(field.errors), counts.sum(), counts.sum() ** 2 / np.square(counts).sum()


def knowing(codes, chance, fails, calls):
    """The same where every chance is known: the worst paragraph of the category with the fewest errors so far."""
    rng, found, asked = np.random.default_rng(0), np.zeros(codes.max() + 1), 0
    order = np.lexsort((rng.random(len(codes)), -chance))
    left = [[row for row in order if codes[row] == code][::-1] for code in range(len(found))]
    while calls > 1 and any(left):
        code = min((k for k in range(len(left)) if left[k]), key=lambda k: (found[k], -chance[left[k][-1]]))
        wrong = fails[left[code].pop()]
        found[code], calls, asked = found[code] + wrong, calls - 1 - wrong, asked + 1
    return asked, found.sum(), found.sum() ** 2 / np.square(found).sum()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        write_base(Path(place) / "kb", read_documents(options.folder), name="folder")
        base = open_base(Path(place) / "kb")
        vectors, codes = np.asarray(base.vectors, dtype=np.float32), base.categories[1]
        seeds = range(options.first, options.first + options.seeds)
        for kind in FIELDS:
            chance = {seed: chances(kind, base, seed) for seed in seeds}
            failing = {s: (np.random.default_rng([5, s]).random(len(vectors)) < chance[s]).astype(float) for s in seeds}
            known = np.mean([knowing(codes, chance[seed], failing[seed], 1000) for seed in seeds], axis=0)
            print(f"{kind:10} knowing every chance: {known[0]:.0f} asked, {known[1]:.0f} wrong, {known[2]:.1f}")
            most = np.mean([len(np.unique(codes[failing[seed] > 0])) for seed in seeds])
            print(f"{kind:10} categories with an error at all, which no effective number exceeds: {most:.1f}")
            for strategy, reworded in WAYS:
                found = []
                for seed in seeds:
                    settings = SearchSettings(strategy=strategy, seed=seed)
                    found.append(search(vectors, codes, failing[seed], settings, 1000, reworded))
                asked, wrong, effective = np.mean(found, axis=0)
                print(
                    f"{kind:10} {strategy:6} reworded {reworded}: {asked:.0f} asked, {wrong:.0f} wrong, {effective:.1f}"
                )


if __name__ == "__main__":
    main()
