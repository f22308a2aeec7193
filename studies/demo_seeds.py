"""Do the demo's verdicts hold on other questions? Other seeds of its benchmark, each asked under its three prompts.

Of each seed the claims of `richter compare` on right and wrong: examples against plain, expert against examples. It
goes on where it stopped; what was asked lies in `soak/demo-seeds`. Ten seeds are 9,000 answers, half an hour on two
cores.

Usage: python studies/demo_seeds.py [SEEDS]
"""

import json
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "src")]

import polars as pl  # noqa: E402

from richter.audit import compare_tables  # noqa: E402
from richter.store import open_ledger  # noqa: E402
from richter.tables import read_tables  # noqa: E402
from richter_audit.bench import World  # noqa: E402
from richter_audit.stages import DemoSize, ask_run, demo_facts, demo_prompts  # noqa: E402

FOLDER = Path("soak/demo-seeds")


def grades(seed: int, size: int, world: World) -> pl.DataFrame:
    """item, condition, correct of one seed's questions, asked now or before."""
    kept = FOLDER / f"{seed}-{size}.csv"
    if not kept.exists():
        items = demo_facts(size, seed=seed, world=world).items
        ask_run(FOLDER / f"run-{seed}", items, demo_prompts())
        right = {item.id: item.reference for item in items}
        with open_ledger(FOLDER / f"run-{seed}") as ledger:
            rows = [(a.item, a.condition, int(a.text.strip() == right[a.item])) for a in ledger.answers()]
        pl.DataFrame(rows, schema=["item", "condition", "correct"], orient="row").write_csv(kept)
    return pl.read_csv(kept)


def main(seeds: int) -> None:
    """Ask, and say how often the verdicts come out as in the demo."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    world, held = World(), Counter[bool]()
    for seed in range(1, seeds + 1):
        found = compare_tables(read_tables(grades(seed, DemoSize().items, world))).claims
        verdicts = {c.conditions: str(c.verdict) for c in found if c.measure == "accuracy"}
        holds = verdicts["plain", "examples"] == "verified" and verdicts["examples", "expert"] == "undecided"
        held[holds] += 1
        print(
            json.dumps({"seed": seed, "holds": holds, "verdicts": [[*k, v] for k, v in verdicts.items()]}), flush=True
        )
    print(f"as in the demo: {held[True]} of {seeds} seeds")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
