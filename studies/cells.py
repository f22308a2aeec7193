"""The loop of a campaign: cell after cell, each with a seed of its own, going on where the last run stopped."""

import json
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

Cell = dict[str, Any]
Run = Callable[[Cell, int, np.random.Generator], dict[str, float]]


def go_on(out: Path, jobs: Iterable[tuple[Cell, Run]], runs: int) -> None:
    """Run what `out` does not hold yet: a line a cell, its name as JSON, a bar, and what was found as JSON."""
    out.parent.mkdir(parents=True, exist_ok=True)
    done = {line.split("|")[0] for line in out.read_text().splitlines()} if out.exists() else set()
    for cell, run in jobs:
        name = json.dumps(cell)
        if name in done:
            continue
        done.add(name)
        start = time.process_time()
        found = run(cell, runs, np.random.default_rng(list(name.encode())))
        with out.open("a") as file:
            file.write(f"{name}|{json.dumps(found | {'runs': runs})}\n")
        print(name, found, f"{time.process_time() - start:.1f} s", flush=True)


def records(out: Path) -> list[tuple[Cell, dict[str, float]]]:
    """What a campaign has found so far."""
    lines = (line.split("|") for line in out.read_text().splitlines())
    return [(json.loads(cell), json.loads(found)) for cell, found in lines]
