"""SmolLM2 on a base: errors per query of each strategy at equal budgets, against random, over seeds.

`python studies/ascent_smollm2.py facts.kb runs/ [--budget 2000] [--seeds 5] [--strategies sea random bayes topics]`.
Runs are kept and resume; the table is computed from them. Each paragraph gets one question in three wordings, by cloze.
For the human questions of SQuAD, which have one wording: `richter kb ingest squad_wiki48.jsonl -o squad.kb`, then
`... squad.kb runs/ --budget 150 --seeds 3 --phrasings 1 --batch 15 --strategies random sea`.
"""

import argparse
from pathlib import Path

import numpy as np

from richter.ascent import SearchSettings, rate_ratio, run_search
from richter.knowledge import open_base
from richter.llm import parse_budget
from richter.records import Condition, Decoding


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("base")
    parser.add_argument("runs", type=Path)
    parser.add_argument("--budget", type=int, default=2000)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--questions", type=int, default=1)
    parser.add_argument("--phrasings", type=int, default=3)
    parser.add_argument("--batch", type=int, default=40)
    parser.add_argument("--no-prune", action="store_true")
    parser.add_argument("--strategies", nargs="+", default=["random", "sea", "bayes", "topics"])
    options = parser.parse_args()
    base = open_base(options.base)
    condition = Condition(name="smollm2 cloze", model="local/smollm2", decoding=Decoding(max_tokens=64), style="cloze")
    rates, categories = {}, {}
    for seed in range(options.seeds):
        for strategy in options.strategies:
            settings = SearchSettings(
                strategy=strategy,
                seed=seed,
                questions=options.questions,
                phrasings=options.phrasings,
                batch=options.batch,
                gamma=None if options.no_prune else 0.5,
                start="random",
            )
            budget = parse_budget(f"{options.budget}calls")
            found = run_search(options.runs / f"{strategy}-{seed}", base, condition, settings, budget=budget)
            rates.setdefault(strategy, []).append(found.errors_found / found.answers)
            categories.setdefault(strategy, []).append(found.distinct_categories)
            print(
                f"{strategy:7} seed {seed}: {found.errors_found} wrong of {found.answers} ({rates[strategy][-1]:.3f}), "
                f"{found.sources_found} sources, {found.distinct_categories} categories, "
                f"base {found.population.error_rate:.3f}",
                flush=True,
            )
    baseline = np.asarray(rates.get("random", []))
    for strategy, values in rates.items():
        line = f"{strategy:7} errors per query {np.mean(values):.3f}, categories {np.mean(categories[strategy]):.0f}"
        if strategy != "random" and len(baseline) > 1:
            found = rate_ratio(values, baseline)
            limits = f"{found.interval.low:.2f} to {found.interval.high:.2f}"
            line += f", {found.ratio:.2f} x random (95% over seeds: {limits})"
        print(line)


if __name__ == "__main__":
    main()
