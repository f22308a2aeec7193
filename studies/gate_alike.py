"""How often `richter gate old= new= --margin` blocks a change that changes nothing, and one that costs just the margin.

    python studies/gate_alike.py [replicates]

Two conditions on the same items, each item with a chance of its own (Beta(2, 1), mean 2/3) and answers drawn
independently, so that about a quarter of the items differ by chance alone. A/A: the same chances. At the limit: the
second loses just the margin on average, and a pass is false. Blocked is an exit status other than 0.
"""

import sys
from collections import Counter

import numpy as np
import polars as pl

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


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    for margin in (0.02, 0.05, 0.10):
        for n in (100, 400, 1600):
            for loss in (0.0, margin):
                rng = np.random.default_rng(round(1e6 * margin) + n + round(1e8 * loss))
                got = Counter(outcome(rng, n, margin, loss) for _ in range(runs))
                wrong = got["refuted"] if loss == 0 else got["verified"]
                ends = clopper_pearson(wrong, runs)
                print(
                    f"margin {margin:.2f}, {n} items, loss {loss:.2f}: passes {got['verified'] / runs:.3f}, violated "
                    f"{got['refuted'] / runs:.3f}, not shown {got['undecided'] / runs:.3f}; wrong {wrong / runs:.3f} "
                    f"[{ends.low:.3f}, {ends.high:.3f}]",
                    flush=True,
                )


if __name__ == "__main__":
    main()
