"""Which conditions in another order are found, and which aligned ones are refused.

Usage: python studies/core_alignment.py OUT.jsonl [runs]   (again with the same OUT goes on where it stopped)
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from richter.claims import METRICS, Alignment, Outcomes, check_alignment

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


def outcomes(x: np.ndarray, names: list[str]) -> Outcomes:
    item, condition = np.nonzero(~np.isnan(x))
    return Outcomes(
        metric=METRICS["accuracy"],
        items=tuple(str(k) for k in range(len(x))),
        conditions=tuple(names),
        item=item,
        condition=condition,
        value=x[item, condition],
    )


def refused(found: Alignment) -> set[str]:
    return {name for r in found.refused for name in r.conditions}


def real(name: str) -> tuple[list[str], np.ndarray]:
    frame = pl.read_csv(DATA / f"mcq_{name}_14models.csv").with_columns((pl.col("grade") == "Correct").alias("right"))
    wide = frame.pivot("model", index="item", values="right", maintain_order=True).sort("item")
    return wide.columns[1:], wide.select(wide.columns[1:]).to_numpy().astype(float)


def two_options(rng: np.random.Generator, n: int, number: int, habit: float, spread: float) -> np.ndarray:
    place = rng.choice([-1.0, 1.0], size=(n, 1))
    able = np.maximum(rng.normal(1.0, 0.7, size=(1, number)), 0)
    logit = able - rng.normal(0, spread, size=(n, 1)) + place * rng.normal(0, habit, size=(1, number))
    return (rng.random((n, number)) < 1 / (1 + np.exp(-logit))).astype(float)


def shuffled(file: str, model: str, runs: int) -> dict[str, float]:
    names, x = real(file)
    k, n = names.index(model), len(x)
    rng = np.random.default_rng(k)
    row = {"accuracy": float(x[:, k].mean()), "whole": 0.0, "half": 0.0, "unchecked": 0.0, "others": 0.0}
    for _ in range(runs):
        y = x.copy()
        y[:, k] = rng.permutation(y[:, k])
        found = check_alignment(outcomes(y, names))
        row["whole"] += (model in refused(found)) / runs
        row["unchecked"] += (model in found.unchecked) / runs
        row["others"] += len(refused(found) - {model})
        y = x.copy()
        start = int(rng.integers(0, n - n // 2 + 1))
        y[start : start + n // 2, k] = rng.permutation(y[start : start + n // 2, k])
        found = check_alignment(outcomes(y, names))
        row["half"] += (model in refused(found)) / runs
        row["others"] += len(refused(found) - {model})
    return row


def aligned(file: str, order: str, runs: int) -> dict[str, float]:
    names, x = real(file)
    rng = np.random.default_rng(5)
    false = 0
    for _ in range(runs):
        n = min(len(x), int(rng.choice([60, 250, 800, 2590])))
        columns = np.sort(rng.choice(14, int(rng.integers(3, 12)), replace=False))
        rows = rng.choice(len(x), n, replace=False)
        if order == "as filed":
            rows = np.sort(rows)
        elif order == "by difficulty":  # seen from the models that are left out
            rest = np.setdiff1d(np.arange(14), columns)
            rows = rows[np.argsort(x[rows][:, rest].mean(axis=1), kind="stable")]
        false += bool(check_alignment(outcomes(x[np.ix_(rows, columns)], [names[k] for k in columns])).refused)
    return {"false": false, "runs": runs}


def habits(n: int, habit: float, spread: float, runs: int) -> dict[str, float]:
    rng = np.random.default_rng(n)
    false = 0
    for _ in range(runs):
        number = int(rng.integers(3, 15))
        x = two_options(rng, n, number, habit, spread)
        false += bool(check_alignment(outcomes(x, [f"m{k}" for k in range(number)])).refused)
    return {"false": false, "runs": runs}


def main() -> None:
    out, runs = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 100
    done = {json.loads(line)["cell"] for line in out.read_text().splitlines()} if out.exists() else set()
    cells: dict[str, tuple[Any, ...]] = {
        f"shuffled {f} {m}": (shuffled, f, m) for f in ("arc", "truthfulqa") for m in real(f)[0]
    }
    cells |= {
        f"aligned {f} {o}": (aligned, f, o)
        for f in ("arc", "truthfulqa")
        for o in ("as filed", "random", "by difficulty")
    }
    cells |= {
        f"habits {n} {h} {s}": (habits, n, h, s)
        for n in (250, 817, 3000, 6000)
        for h in (0.5, 1.5, 3.0)
        for s in (0.3, 1.0)
    }
    for cell, (run, *given) in cells.items():
        if cell not in done:
            row = {"cell": cell, **run(*given, runs)}
            print(row, flush=True)
            with out.open("a") as file:
                file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
