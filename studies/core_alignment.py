"""Which conditions in another order are found, and which aligned ones are refused.

Shuffled: a model's grades of ARC and TruthfulQA (the public data, RICHTER_SHARED_DATA) in another order, or half of
them. Aligned: random subsets of models and items, and two options with habits of position; nothing may be refused.
"""

import functools
import os
import sys
from pathlib import Path

import numpy as np
import polars as pl
from driver import ROOT, Cell, run_study

from richter.claims import METRICS, Alignment, Outcomes, check_alignment

DATA = Path(os.environ.get("RICHTER_SHARED_DATA", ROOT.parent / "shared" / "data"))


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


@functools.cache
def real(name: str) -> tuple[list[str], np.ndarray]:
    frame = pl.read_csv(DATA / f"mcq_{name}_14models.csv").with_columns((pl.col("grade") == "Correct").alias("right"))
    wide = frame.pivot("model", index="item", values="right", maintain_order=True).sort("item")
    return wide.columns[1:], wide.select(wide.columns[1:]).to_numpy().astype(float)


def two_options(rng: np.random.Generator, n: int, number: int, habit: float, spread: float) -> np.ndarray:
    place = rng.choice([-1.0, 1.0], size=(n, 1))
    able = np.maximum(rng.normal(1.0, 0.7, size=(1, number)), 0)
    logit = able - rng.normal(0, spread, size=(n, 1)) + place * rng.normal(0, habit, size=(1, number))
    return (rng.random((n, number)) < 1 / (1 + np.exp(-logit))).astype(float)


def shuffled(cell: Cell, rng: np.random.Generator) -> dict[str, float]:
    """One model's grades in another order: all of them, and a half in a row."""
    names, x = real(cell["file"])
    k, n = names.index(cell["shuffled"]), len(x)
    whole, half, start = x.copy(), x.copy(), int(rng.integers(0, n - n // 2 + 1))
    whole[:, k] = rng.permutation(x[:, k])
    half[start : start + n // 2, k] = rng.permutation(x[start : start + n // 2, k])
    first, second = (check_alignment(outcomes(y, names)) for y in (whole, half))
    return {
        "accuracy": x[:, k].mean(), "whole found %": cell["shuffled"] in refused(first),
        "unchecked %": cell["shuffled"] in first.unchecked, "half found %": cell["shuffled"] in refused(second),
        "another refused %": bool((refused(first) | refused(second)) - {cell["shuffled"]}),
    }  # fmt: skip


def aligned(cell: Cell, rng: np.random.Generator) -> dict[str, float]:
    """A random subset of models and items, in order of the file, at random, or by difficulty."""
    names, x = real(cell["file"])
    n = min(len(x), int(rng.choice([60, 250, 800, 2590])))
    columns = np.sort(rng.choice(14, int(rng.integers(3, 12)), replace=False))
    rows = rng.choice(len(x), n, replace=False)
    if cell["order"] == "as filed":
        rows = np.sort(rows)
    elif cell["order"] == "by difficulty":  # seen from the models that are left out
        rest = np.setdiff1d(np.arange(14), columns)
        rows = rows[np.argsort(x[rows][:, rest].mean(axis=1), kind="stable")]
    return {"false %": bool(refused(check_alignment(outcomes(x[np.ix_(rows, columns)], [names[k] for k in columns]))))}


def habits(cell: Cell, rng: np.random.Generator) -> dict[str, float]:
    """Two options, of which conditions prefer a place by habit."""
    number = int(rng.integers(3, 15))
    x = two_options(rng, cell["items"], number, cell["habit"], cell["spread"])
    return {"false %": bool(refused(check_alignment(outcomes(x, [f"m{k}" for k in range(number)]))))}


def cells() -> list[Cell]:
    """What is shuffled, and what is aligned."""
    files = ("arc", "truthfulqa")
    found: list[Cell] = [{"file": file, "shuffled": model} for file in files for model in real(file)[0]]
    found += [{"file": file, "order": order} for file in files for order in ("as filed", "random", "by difficulty")]
    return found + [
        {"items": n, "habit": habit, "spread": spread}
        for n in (250, 817, 3000, 6000)
        for habit in (0.5, 1.5, 3.0)
        for spread in (0.3, 1.0)
    ]


def trial(cell: Cell, rng: np.random.Generator) -> dict[str, float]:
    """One file."""
    kind = shuffled if "shuffled" in cell else aligned if "order" in cell else habits
    return kind(cell, rng)


if __name__ == "__main__":
    if not DATA.exists():
        sys.exit(print("The public grades are not here."))
    run_study(__file__, cells(), trial, trials=100)
