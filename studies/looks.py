"""What the log of looks costs, as a share of a whole command's processor time, by how many looks it holds.

    python studies/looks.py [--items 2000]

Printed for docs/preregister.md. A state folder is filled with looks at as many sets of outcomes as said (two models
each, all on one set of questions, which is the most to compare), then `richter compare` and `richter gate` with a
locked plan run as processes of their own; the time in the log is taken in them, around all that touches it. The hash of
the data, which results have, is not of the log.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl

from richter.audit import lock_plan, new_plan
from richter.tables import _looks, read_tables

TIMED = """
import sys, time
import richter.audit._plan as plan, richter.tables._looks as looks
spent, deep = 0.0, 0
def timed(work):
    def done(*given, **named):
        global spent, deep
        if work.__name__ == "log_use":
            given[1].data_hash
        deep += 1
        start = time.process_time()
        try:
            return work(*given, **named)
        finally:
            deep -= 1
            spent += (time.process_time() - start) * (deep == 0)
    return done
import importlib, pkgutil, richter.tables, richter.tables._read, richter.cli._compare, richter.cli._gate
for name in ("attempts", "log_use", "looks_at", "read_log", "record_look"):
    one = timed(getattr(looks, name))
    for module in [m for m in sys.modules.values() if getattr(m, "__name__", "").startswith("richter")]:
        if module.__dict__.get(name) is getattr(looks, name) and module is not looks:
            setattr(module, name, one)
from richter.cli import main
try:
    main(sys.argv[1:])
except SystemExit:
    pass
print(f"~{spent} {time.process_time()}", file=sys.stderr)
"""


def fill(state: Path, looks: int, sets: int, items: int) -> None:
    """A log of so many looks, in turn at each of the sets."""
    os.environ["RICHTER_STATE"] = str(state)
    for k in range(sets):
        read_tables(grades(k, items))
    path = state / "looks.jsonl"
    body = [row[:-74] for row in path.read_bytes().splitlines()]
    before = b""
    with path.open("wb") as file:
        for k in range(looks):
            before = _looks._chained(before, body[k % len(body)])
            file.write(body[k % len(body)] + _looks._MARK + before + b'"}\n')


def grades(seed: int, items: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    parts = [
        pl.DataFrame(
            {"item": [f"q{k}" for k in range(items)], "condition": name, "correct": rng.binomial(1, 0.7, items)}
        )
        for name in ("old", "new")
    ]
    return pl.concat(parts)


def cost(*arguments: str) -> tuple[float, float]:
    """Seconds of processor time in the log and in all, the least of three."""
    found = []
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", TIMED, *arguments], capture_output=True, text=True, check=True)
        spent, whole = done.stderr.rpartition("~")[2].split()
        found.append((float(spent), float(whole)))
    return min(f[0] for f in found), min(f[1] for f in found)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=2000)
    parser.add_argument("--looks", type=int, nargs="*", default=[100, 1000, 10_000, 100_000])
    parser.add_argument("--sets", type=int, nargs="*", default=[30, 300, 1000])
    given = parser.parse_args()
    rules = [{"metric": "accuracy", "rule": "no_worse", "limit": 0.2}]
    for sets in given.sets:
        for looks in given.looks:
            if looks < sets:
                continue
            with tempfile.TemporaryDirectory() as folder:
                here = Path(folder)
                fill(here / "state", looks, sets, given.items)
                grades(0, given.items).write_csv(here / "t.csv")
                plan = here / "plan.toml"
                plan.write_text(new_plan("gate", {"candidate": "new", "baseline": "old", "require": rules}))
                lock_plan(plan)
                commands = {"compare": ["compare", f"{here}/t.csv"], "gate": ["gate", str(plan), f"{here}/t.csv"]}
                for name, arguments in commands.items():
                    spent, whole = cost(*arguments)
                    row = {"command": name, "looks": looks, "sets": sets, "ms": round(1000 * spent, 1)}
                    row |= {"whole_ms": round(1000 * whole), "share": round(spent / whole, 4)}
                    print(json.dumps(row), flush=True)
