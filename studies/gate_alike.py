"""How often `richter gate old= new= --margin` blocks a change that changes nothing, and one that costs just the margin.

    python studies/gate_alike.py [OUT] [replicates]

Two conditions on the same items, each item with a chance of its own (Beta(2, 1), mean 2/3) and answers drawn
independently, so that about a quarter of the items differ by chance alone. A/A: the same chances. At the limit: the
second loses just the margin on average, and a pass is false. Goes on where OUT ends; the table is printed at the end.
"""

import sys
from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
from cells import Cell, go_on, records

from richter.audit import margin_plan, run_gate
from richter.stats import clopper_pearson
from richter.tables import read_tables


def outcome(rng: np.random.Generator, n: int, margin: float, loss: float) -> str:
    chance = rng.beta(2, 1, n)
    right = [rng.random(n) < chance, rng.random(n) < chance * (1 - loss / (2 / 3))]
    frame = pl.DataFrame(
        {
            "item": [str(i) for i in range(n)] * 2,
            "condition": ["old"] * n + ["new"] * n,
            "correct": np.concatenate(right).astype(float),
        }
    )
    tables = read_tables(frame)
    return str(run_gate(margin_plan(tables, margin), tables).outcome)


def play(cell: Cell, runs: int, rng: np.random.Generator) -> dict[str, float]:
    """How often it passed, was violated and was not shown."""
    got = Counter(outcome(rng, cell["items"], cell["margin"], cell["loss"]) for _ in range(runs))
    return {word: got[word] for word in ("verified", "refuted", "undecided")}


def show(out: Path) -> None:
    false_passes, trials = 0, 0
    for cell, got in records(out):
        runs = got["runs"]
        wrong = got["verified" if cell["loss"] else "refuted"]
        false_passes, trials = (false_passes + wrong, trials + runs) if cell["loss"] else (false_passes, trials)
        ends = clopper_pearson(int(wrong), int(runs))
        said = ", ".join(f"{word} {got[word] / runs:.4f}" for word in ("verified", "refuted", "undecided"))
        print(f"{cell}: {said}; wrong {wrong / runs:.4f} [{ends.low:.4f}, {ends.high:.4f}]")
    if trials:
        ends = clopper_pearson(int(false_passes), int(trials))
        print(f"false passes {false_passes / trials:.4f} of {trials:,.0f} [{ends.low:.4f}, {ends.high:.4f}]")


def main() -> None:
    out = Path(sys.argv[1] if len(sys.argv) > 1 else "soak/gate_alike.jsonl")
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 2_000
    cells = [
        {"margin": margin, "items": items, "loss": loss}
        for margin in (0.02, 0.05, 0.10)
        for items in (100, 400, 1600)
        for loss in (0.0, margin)
    ]
    go_on(out, [(cell, play) for cell in cells], runs)
    show(out)


if __name__ == "__main__":
    main()
