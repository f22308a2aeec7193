"""Errors and effective categories in 1,000 calls of each strategy, on the fields of `search_folder.py` without HTTP.

`python studies/search_frontier.py FOLDER [--seeds 5]`: a base of the folder's documents, a simulated testee of known
chances of error by paragraph, and for each wrong answer the calls of its other wordings (2 before, 1 by default now).
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np
from search_folder import FIELDS, chances

from richter.ascent import SearchSettings
from richter.ascent._field import Field
from richter.ascent._graph import Trails
from richter.ascent._propose import plan_step, random_order
from richter.knowledge import find_similar, open_base, read_documents, write_base

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


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        write_base(Path(place) / "kb", read_documents(options.folder), name="folder")
        base = open_base(Path(place) / "kb")
        vectors, codes = np.asarray(base.vectors, dtype=np.float32), base.categories[1]
        for kind in FIELDS:
            for strategy, reworded in WAYS:
                found = []
                for seed in range(options.seeds):
                    chance = chances(kind, base, seed)
                    fails = (np.random.default_rng([5, seed]).random(len(vectors)) < chance).astype(float)
                    settings = SearchSettings(strategy=strategy, seed=seed)
                    found.append(search(vectors, codes, fails, settings, 1000, reworded))
                asked, wrong, effective = np.mean(found, axis=0)
                print(
                    f"{kind:10} {strategy:6} reworded {reworded}: {asked:.0f} asked, {wrong:.0f} wrong, {effective:.1f}"
                )


if __name__ == "__main__":
    main()
