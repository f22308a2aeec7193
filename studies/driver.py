"""Simulations of known worlds: trial after trial of every cell, going on where they were stopped; then a table.

    python studies/NAME.py [TRIALS] [WORD ..]    only cells whose name holds every word; TRIALS 0: only the table

A study gives its cells, and the figures of one trial of a cell. Each cell has a generator of its own. What the figures
add up to and the state of the generator lie in `soak/NAME.json`, so that no trial is made twice and more can be added
later. The table has the mean of each figure over the trials that have it (NaN: this one has not); a figure whose name
ends with % is printed in per cent.
"""

import json
import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "tests"))  # `helpers`

Cell = dict[str, Any]
Trial = Callable[[Cell, np.random.Generator], Mapping[str, float]]
Sums = dict[str, list[float]]  # of each figure the sum, and of how many trials
SAVED_EVERY_S = 30.0


def run_study(file: str, cells: Iterable[Cell], trial: Trial, *, trials: int) -> None:
    """Make what is missing of the trials of every cell that is asked for, and print the table."""
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
    words = [word for word in sys.argv[1:] if not word.isdigit()]
    trials = numbers[0] if numbers else trials
    named = {json.dumps(cell): cell for cell in cells}
    chosen = {name: cell for name, cell in named.items() if all(word in name for word in words)}
    out = ROOT / "soak" / f"{Path(file).stem}.json"
    out.parent.mkdir(exist_ok=True)
    kept = json.loads(out.read_text()) if out.exists() else {}
    for name, cell in chosen.items():
        row, rng = kept.setdefault(name, {"trials": 0, "sums": {}}), generator_of(cell)
        rng.bit_generator.state = row.get("state", rng.bit_generator.state)
        while row["trials"] < trials:
            row["trials"] += _add(row["sums"], cell, trial, rng, trials - row["trials"], SAVED_EVERY_S)
            row["state"] = rng.bit_generator.state
            part = out.with_suffix(".part")
            part.write_text(json.dumps(kept))
            part.replace(out)
        print(name, means_of(row["sums"]), file=sys.stderr, flush=True)
    print(*table((cell, kept[name]) for name, cell in chosen.items() if kept[name]["trials"]), sep="\n")


def mean_figures(cell: Cell, trial: Trial, trials: int, rng: np.random.Generator | None = None) -> dict[str, float]:
    """The mean of each figure over trials of one cell."""
    sums: Sums = {}
    _add(sums, cell, trial, generator_of(cell) if rng is None else rng, trials, math.inf)
    return means_of(sums)


def generator_of(cell: Cell) -> np.random.Generator:
    """The generator of a cell, by its name."""
    return np.random.default_rng(list(json.dumps(cell).encode()))


def _add(sums: Sums, cell: Cell, trial: Trial, rng: np.random.Generator, trials: int, limit_s: float) -> int:
    """Add trials to the sums, as many as there is time for; how many."""
    began = time.monotonic()
    for done in range(1, trials + 1):
        for name, value in trial(cell, rng).items():
            total, number = sums.get(name, (0.0, 0))
            sums[name] = [total, number] if math.isnan(value) else [total + float(value), number + 1]
        if time.monotonic() - began > limit_s:
            return done
    return trials


def means_of(sums: Sums) -> dict[str, float]:
    """The mean of each figure."""
    return {name: total / number if number else math.nan for name, (total, number) in sums.items()}


def table(rows: Iterable[tuple[Cell, Mapping[str, Any]]]) -> Iterator[str]:
    """The figures as Markdown, under a head for each kind of cells."""
    before: tuple[str, ...] = ()
    for cell, row in rows:
        figures = means_of(row["sums"])
        heads = (*cell, *figures, "trials")
        if heads != before:
            yield from ("", f"| {' | '.join(heads)} |", "|---" * len(heads) + "|")
        before = heads
        values = [f"{100 * value:.1f}" if name.endswith("%") else f"{value:.4g}" for name, value in figures.items()]
        yield f"| {' | '.join([*map(str, cell.values()), *values])} | {row['trials']:,} |".replace("nan", "–")
