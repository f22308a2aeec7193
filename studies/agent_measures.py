"""Do intervals for pass^k and for the cost per success hold at 40 tasks with five runs each?

Simulated agents: a task has a difficulty that both share and a lift of each; a run succeeds with the chance of its
task; its cost is lognormal with a part of the task and one of the run, and a failed run costs `failed` times as much.
`alone`: one agent's value; `pair`: the difference of two (of costs the ratio). All at 95%, about tasks like these.

    python studies/agent_measures.py [OUT.txt] [tables]
"""

import sys
from pathlib import Path

import numpy as np
import polars as pl
from cells import Cell, go_on
from memory_tables import memory_tables

from richter.claims import Blocked, Question
from richter.evidence import evidence

NAMES = ("old", "new")
TASKS, RUNS = 40, 5
MEASURES = ("pass^2", "pass^3", "pass^5", "cost_per_success")
# logits of the two agents on an easy-to-hard scale, the spread of tasks, spreads of costs by task and by run, and how
# much more a failed run costs
WORLDS = {
    "alike": {"level": (0.5, 0.5), "spread": 1.5, "task": 0.5, "run": 0.3, "failed": 1.0},
    "better": {"level": (0.0, 0.8), "spread": 1.5, "task": 0.5, "run": 0.3, "failed": 1.5},
    "hard tasks": {"level": (-1.2, -0.8), "spread": 1.5, "task": 0.5, "run": 0.3, "failed": 1.5},
    "long tails": {"level": (0.3, 0.6), "spread": 1.5, "task": 0.9, "run": 0.5, "failed": 2.0},
    "sure agents": {"level": (1.5, 2.0), "spread": 3.0, "task": 0.5, "run": 0.3, "failed": 1.0},
}


def draw(world, tasks, runs, rng):
    """Successes and costs, tasks x agents x runs, and the chances of success."""
    ease = rng.normal(scale=world["spread"], size=(tasks, 1))
    own = rng.normal(scale=0.5, size=(tasks, 2))
    chance = 1 / (1 + np.exp(-(ease + own + np.array(world["level"]))))
    right = rng.random((tasks, 2, runs)) < chance[:, :, None]
    price = rng.normal(scale=world["task"], size=(tasks, 1, 1)) - 0.3 * ease[:, :, None]
    paid = np.exp(price + rng.normal(scale=world["run"], size=right.shape)) * np.where(right, 1.0, world["failed"])
    return right, paid, chance


def truth(world, rng):
    """The true values of every measure for each agent, of a million tasks."""
    right, paid, chance = draw(world, 1_000_000, 1, rng)
    cost = paid.mean(axis=(0, 2)) / right.mean(axis=(0, 2))
    passes = {m: (chance ** int(m[-1])).mean(axis=0) for m in MEASURES if m.startswith("pass")}
    return passes | {m: cost for m in MEASURES if not m.startswith("pass")}


def play(cell: Cell, runs: int, rng: np.random.Generator) -> dict[str, float]:
    """How often intervals of one world hold the truth, for one agent and for two."""
    world, measure = WORLDS[cell["world"]], cell["measure"]
    true = truth(world, rng)[measure]
    is_ratio = not measure.startswith("pass")
    wanted = true[1] / true[0] - 1 if is_ratio else true[1] - true[0]
    held, blocked, width = {"alone": 0, "pair": 0}, 0, 0.0
    for _ in range(runs):
        right, paid, _ = draw(world, TASKS, RUNS, rng)
        tables = memory_tables({"accuracy": right.astype(float)}, conditions=NAMES)
        place = tables.answers.get_column_index("money_usd")
        tables.answers.replace_column(place, pl.Series("money_usd", paid.ravel()))
        for conditions, value in ((NAMES[:1], true[0]), (NAMES, wanted)):
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
