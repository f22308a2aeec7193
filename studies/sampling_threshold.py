"""How the offline clusterer's threshold was chosen: NQ-open samples with pairwise equivalence verdicts.

Chosen by pairwise F1 on one half of the questions and judged on the other. The verdicts are a model's own.
Run: python studies/sampling_threshold.py ../shared/data/nq_open_250_samples.json
"""

import json
import sys
from pathlib import Path

import numpy as np

from richter.texts import THRESHOLD, answer_trees, pair_quality

GRID = np.arange(0.1, 0.7, 0.025).round(3).tolist()


def choose_threshold(trees, pairs):
    """The threshold at which classes agree best (F1) with labelled pairs, and their quality there."""
    found = [(at, pair_quality([tree.cut(at) for tree in trees], pairs)) for at in GRID]
    return max(found, key=lambda one: one[1].f1)


def main() -> None:
    rows = json.loads(Path(sys.argv[1]).read_text())
    answers = [r["generated_answer"][:1] + r["self_evaluations"] + r["perb_evaluations"] for r in rows]
    questions = [" ".join([r["question"], *r["question_perturb"]]) for r in rows]
    pairs = [
        (i, 0, k, verdict.startswith("Guess: Yes"))
        for i, r in enumerate(rows)
        for k, verdict in enumerate(r["self_SC"] + r["perb_SC"], start=1)
    ]
    trees = answer_trees(answers, questions)
    for half in (0, 1):
        chosen, there = choose_threshold(trees, [p for p in pairs if p[0] % 2 == half])
        held_out = pair_quality([t.cut(chosen) for t in trees], [p for p in pairs if p[0] % 2 != half])
        print(f"half {half}: threshold {chosen}, F1 there {there.f1:.4f}, on the other half {held_out.f1:.4f}")
    print(f"default {THRESHOLD}:", pair_quality([t.cut(THRESHOLD) for t in trees], pairs))


if __name__ == "__main__":
    main()
