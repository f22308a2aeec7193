"""SmolLM2 on the facts base: errors per question and effective categories of each strategy, over seeds, replayed.

`python studies/ascent_smollm2.py facts.kb scores.npz [--questions 2000] [--seeds 5]`, with the scores of
`studies/cloze_scores.py`: the model is deterministic, so that all it would answer is known beforehand, and every search
is replayed from that. An answer is wrong as asked where the likeliest option is wrong, corrected where the option of
the highest likelihood against that without the subject is, and wrong in both is what a search counts. Finished ones are
kept and not done again; `--most` ends after so many new ones.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from simulated_search import simulate_search

from richter_audit.ascent import SearchSettings, rate_ratio
from richter_audit.knowledge import find_similar, open_base

WAYS = ("both", "asked", "corrected")


def errors_of(scores, size):
    """Whether each paragraph is answered wrongly, in three ways of asking; nan where it has no question."""
    first, prior, right = scores["first"], scores["prior"], scores["right"]
    asked, corrected = first.argmax(1) != right, (first - prior).argmax(1) != right
    found = {}
    for way, wrong in (("asked", asked), ("corrected", corrected), ("both", asked & corrected)):
        found[way] = np.full(size, np.nan)
        found[way][scores["row"]] = wrong
    return found


def undone(scores, wrong, corrected):
    """The share of wrong answers that are right with the right option's article added or left out, and how many."""
    rows, new = scores["chosen"], scores["reworded"]
    first, prior, right = scores["first"][rows].copy(), scores["prior"][rows].copy(), scores["right"][rows]
    able = ~np.isnan(new[:, 0])
    at = np.flatnonzero(able)
    first[at, right[at]], prior[at, right[at]] = new[at, 0], new[at, 1]
    fixed = able & ((first.argmax(1) == right) | (corrected & ((first - prior).argmax(1) == right)))
    own = wrong[scores["row"][rows]] == 1
    return float((fixed & own).sum() / own.sum()), int(own.sum())


def interval(values):
    """The mean with a 95% interval over seeds (Student's t)."""
    from scipy.stats import t

    half = t.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return f"{np.mean(values):.3g} ({np.mean(values) - half:.3g} to {np.mean(values) + half:.3g})"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("base")
    parser.add_argument("scores", type=Path)
    parser.add_argument("--keep", type=Path, default=Path("soak") / "ascent_smollm2.jsonl")
    parser.add_argument("--questions", type=int, default=2000)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--most", type=int, default=1000)
    parser.add_argument("--ways", nargs="+", default=WAYS)
    parser.add_argument("--strategies", nargs="+", default=["random", "sea", "bayes", "modes"])
    options = parser.parse_args()
    options.keep.parent.mkdir(parents=True, exist_ok=True)
    done = {}
    if options.keep.exists():
        done = {tuple(row[:3]): row[3:] for row in map(json.loads, options.keep.read_text().splitlines())}
    base = open_base(options.base)
    names, codes = base.categories
    scores = dict(np.load(options.scores))
    errors = errors_of(scores, len(base))
    asked = np.flatnonzero(~np.isnan(errors["both"]))
    vectors = np.asarray(base.vectors[asked], dtype=np.float32)
    own_codes = np.unique(codes[asked], return_inverse=True)[1]
    documents = np.searchsorted(base.first_rows, asked, side="right") - 1
    kept, first_rows = np.unique(documents, return_index=True)
    abstracts, first_rows = base.abstracts[kept], np.append(first_rows, len(asked))
    for seed in range(options.seeds):
        for way in options.ways:
            wrong = errors[way][asked]
            for strategy in options.strategies:
                if (way, strategy, seed) in done:
                    continue
                if options.most == 0:
                    return
                options.most -= 1
                found = simulate_search(
                    vectors,
                    own_codes,
                    lambda rows, k, used: find_similar(
                        vectors[rows], vectors, k, abstracts=abstracts, first_rows=first_rows, exclude=used
                    ),
                    lambda rows, wrong=wrong: wrong[rows],
                    SearchSettings(strategy=strategy, seed=seed, start="random"),
                    paragraphs=options.questions,
                )
                counts = np.bincount(own_codes[[row for row, error in found.errors.items() if error > 0.5]])
                effective = counts.sum() ** 2 / np.square(counts.astype(float)).sum()
                largest = names[codes[asked[np.flatnonzero(own_codes == counts.argmax())[0]]]]
                row = [
                    found.rate,
                    float(effective),
                    int((counts > 0).sum()),
                    largest,
                    float(counts.max() / counts.sum()),
                ]
                done[way, strategy, seed] = row
                with options.keep.open("a") as file:
                    file.write(json.dumps([way, strategy, seed, *row]) + "\n")
                print(way, strategy, seed, *row, flush=True)
    for way in options.ways:
        share, n = undone(scores, errors[way], way != "asked")
        print(f"\n{way}: {np.nanmean(errors[way]):.3f} of the base wrong; an article undoes {share:.3f} of {n:,}")
        table = {s: np.array([done[way, s, k][:2] for k in range(options.seeds)]) for s in options.strategies}
        for strategy, own in table.items():
            line = f"{strategy:7} wrong per question {interval(own[:, 0])}, effective categories {interval(own[:, 1])}"
            if strategy != "random" and "random" in table and options.seeds > 1:
                ratio = rate_ratio(own[:, 0], table["random"][:, 0])
                line += f", {ratio.ratio:.2f} x random ({ratio.interval.low:.2f} to {ratio.interval.high:.2f})"
            print(line)


if __name__ == "__main__":
    main()
