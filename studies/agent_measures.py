"""Do intervals for pass^k hold at 40 tasks with five runs each?

Simulated agents: a task has a difficulty that both share and a lift of each; a run succeeds with the chance of its
task. `alone`: one agent's value; `pair`: the difference of two. All at 95%, about tasks like these.

    python studies/agent_measures.py [OUT.txt] [tables]
"""

import sys
from pathlib import Path

import numpy as np
from cells import Cell, go_on
from memory_tables import memory_tables

from richter.claims import Blocked, Question
from richter.evidence import evidence

NAMES = ("old", "new")
TASKS, RUNS = 40, 5
MEASURES = ("pass^2", "pass^3", "pass^5")
# logits of the two agents on an easy-to-hard scale, and the spread of tasks
WORLDS = {
    "alike": {"level": (0.5, 0.5), "spread": 1.5},
    "better": {"level": (0.0, 0.8), "spread": 1.5},
    "hard tasks": {"level": (-1.2, -0.8), "spread": 1.5},
    "sure agents": {"level": (1.5, 2.0), "spread": 3.0},
}


def draw(world, tasks, runs, rng):
    """Successes, tasks x agents x runs, and the chances of success."""
    ease = rng.normal(scale=world["spread"], size=(tasks, 1))
    own = rng.normal(scale=0.5, size=(tasks, 2))
    chance = 1 / (1 + np.exp(-(ease + own + np.array(world["level"]))))
    return rng.random((tasks, 2, runs)) < chance[:, :, None], chance


def play(cell: Cell, runs: int, rng: np.random.Generator) -> dict[str, float]:
    """How often intervals of one world hold the truth (that of a million tasks), for one agent and for two."""
    world, measure = WORLDS[cell["world"]], cell["measure"]
    true = (draw(world, 1_000_000, 1, rng)[1] ** int(measure[-1])).mean(axis=0)
    held, blocked, width = {"alone": 0, "pair": 0}, 0, 0.0
    for _ in range(runs):
        right, _ = draw(world, TASKS, RUNS, rng)
        tables = memory_tables({"accuracy": right.astype(float)}, conditions=NAMES)
        for conditions, value in ((NAMES[:1], true[0]), (NAMES, true[1] - true[0])):
            found = evidence(tables, Question(measure=measure, conditions=conditions)).evidence
            if isinstance(found, Blocked):
                blocked += 1
                continue
            span = found.interval(0.95)
            held["pair" if len(conditions) == 2 else "alone"] += span.low <= value <= span.high
            width += (span.high - span.low) / runs if len(conditions) == 2 else 0.0
    return {name: n / runs for name, n in held.items()} | {"blocked": blocked / runs, "width": width}


if __name__ == "__main__":
    arguments = sys.argv[1:]
    out = Path(arguments[0]) if arguments else Path("soak") / "agent_measures.txt"
    cells: list[Cell] = [{"world": w, "measure": m} for m in reversed(MEASURES) for w in WORLDS]
    go_on(out, [(cell, play) for cell in cells], int(arguments[1]) if len(arguments) > 1 else 2000)
