"""Do the ranks of a board hold together? Boards of 10 conditions, 20 tasks and 100 questions a task, with ties.

`fixed`: the tasks are those of the board and weigh the same; `sample`: other tasks could have been taken, so
that tasks are the groups of questions. A board misses where the span of one condition lacks one of its true ranks: of
conditions with the same truth each has all ranks of the tie. `width` is the mean number of ranks a span, `bonferroni`
that of spans from pairs tested each at 5% over the number of pairs.

    python studies/board_ranks.py [OUT.txt] [boards]
"""

import itertools
import sys
from pathlib import Path

import numpy as np
from cells import Cell, go_on
from memory_tables import memory_tables

from richter.audit import page_questions
from richter.claims import METRICS, decide, p_value, rank_spans
from richter.evidence import evidence

NAMES = tuple("abcdefghij")
TASKS, QUESTIONS = 20, 100
# a condition's share of right answers beyond the board's; equal numbers are ties
WORLDS = {
    "all equal": (0.0,) * 10,
    "two tiers": (0.0,) * 5 + (0.05,) * 5,
    "steps with ties": (-0.08, -0.08, -0.04, -0.04, 0.0, 0.0, 0.0, 0.04, 0.04, 0.1),
    "a ladder": tuple(0.015 * k for k in range(10)),
}


def true_spans(truth: np.ndarray) -> list[tuple[int, int]]:
    """The ranks that each condition truly has, ties all of theirs."""
    return [(1 + int(np.sum(truth > t + 1e-12)), int(np.sum(truth >= t - 1e-12))) for t in truth]


def play(cell: Cell, runs: int, rng: np.random.Generator) -> dict[str, float]:
    """Boards of one world: how many miss, and how wide spans are."""
    shift, is_fixed = np.array(WORLDS[cell["world"]]), cell["tasks"] == "fixed"
    wanted = true_spans(shift)
    task = np.repeat(np.arange(TASKS), QUESTIONS)
    misses, width, plain_width = 0, 0.0, 0.0
    for _ in range(runs):
        own = rng.normal(scale=0.04, size=(len(NAMES), TASKS))  # how well a task suits a condition
        own -= own.mean(axis=1, keepdims=True) if is_fixed else 0.0
        level = 0.55 + rng.uniform(-0.15, 0.15, TASKS)
        chance = np.clip(level[task][:, None] + shift + own.T[task] + rng.normal(scale=0.08, size=(len(task), 1)), 0, 1)
        right = (rng.random(chance.shape) < chance).astype(float)
        tables = memory_tables({"accuracy": right}, conditions=NAMES, **{"domain" if is_fixed else "group": task})
        asked = [evidence(tables, q) for q in page_questions(tables, on=("accuracy",)).questions]
        spans = rank_spans(decide(asked), NAMES, METRICS["accuracy"])
        misses += any(low > a or high < b for (low, high), (a, b) in zip(spans.values(), wanted, strict=True))
        width += np.mean([high - low + 1 for low, high in spans.values()])
        alpha = 0.05 / len(list(itertools.combinations(NAMES, 2)))
        told = sum(p_value(one.known, 0.0) <= alpha for one in asked)
        plain_width += len(NAMES) - 2 * told / len(NAMES)
    return {"missed": misses / runs, "width": width / runs, "bonferroni": plain_width / runs}


if __name__ == "__main__":
    arguments = sys.argv[1:]
    out = Path(arguments[0]) if arguments else Path("soak") / "board_ranks.txt"
    cells: list[Cell] = [{"world": w, "tasks": t} for w in WORLDS for t in ("fixed", "sample")]
    go_on(out, [(cell, play) for cell in cells], int(arguments[1]) if len(arguments) > 1 else 2000)
