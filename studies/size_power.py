"""Whether `richter size` keeps its promise: the power of studies of the size that it says, in ten worlds.

Each world has a pilot of two alike conditions in a file, from which `richter size` says how many items show a true gap
of the margin with 80% power. Then studies of that size with this gap are decided as `compare` decides them.
"""

import functools
import json
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
from click.testing import CliRunner
from driver import Cell, run_study

from richter.claims import Metric, Outcomes, as_sample, difference_evidence, total_evidence
from richter.cli._main import _root
from richter.evidence import metric_of
from richter.tables import read_tables

PILOT = 3000
World = Callable[[np.random.Generator, int, float], tuple[np.ndarray, dict[str, np.ndarray]]]


def rates(*chances: float, gap: float, draws: int = 1, size: int = 0, spread: float = 1.0) -> tuple[World, float]:
    """Right and wrong answers; difficulty is an item's own, and a group's where groups have a size."""

    def draw(rng: np.random.Generator, n: int, step: float) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        group = np.arange(n) // size if size else np.arange(n)
        u = rng.random((n, 1, 1))
        if size:  # half of a group's items share their luck, in each condition anew
            shared = rng.random((int(group.max()) + 1, 2))[group]
            u = np.where(rng.random((n, 1)) < spread, shared, rng.random((n, 2)))[:, :, None]
        own = np.where(rng.random((n, 2, draws)) < 0.5, u, rng.random((n, 2, draws)))
        chance = chances[0] + np.array([-step / 2, step / 2])[None, :, None]
        return (own < chance).astype(float), {"group": group} if size else {}

    return draw, gap


def scores(gap: float, *, size: int = 0, weight: bool = False) -> tuple[World, float]:
    """Scores from 0 to 1 in steps."""

    def draw(rng: np.random.Generator, n: int, step: float) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        more: dict[str, np.ndarray] = {}
        base = rng.normal(0.5, 0.12, (n, 1)) + rng.normal(0, 0.1, (n, 2))
        if size:
            group = np.repeat(np.arange(n), 1 + rng.geometric(1 / size, n))[:n]
            base = base + rng.normal(0, 0.08, (n, 2))[group]
            more["group"] = group
        if weight:
            more["weight"] = rng.choice([1.0, 2.0, 5.0], n)
        return np.round(np.clip(base + np.array([0.0, step]), 0, 1), 2)[:, :, None], more

    return draw, gap


def bills(*spread: float, gap: float) -> tuple[World, float]:
    """Lognormal amounts with these spreads of logarithms."""

    def draw(rng: np.random.Generator, n: int, step: float) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        s = np.array(spread)
        z = np.sqrt(0.5) * rng.standard_normal((n, 1)) + np.sqrt(0.5) * rng.standard_normal((n, 2))
        return (np.exp(s * z - s**2 / 2) * np.array([1.0, 1 + step]))[:, :, None], {}

    return draw, gap


WORLDS: dict[str, tuple[str, World, float]] = {
    "accuracy 70%": ("correct", *rates(0.7, gap=0.04)),
    "accuracy 95%": ("correct", *rates(0.95, gap=0.02)),
    "accuracy, 3 draws": ("correct", *rates(0.6, gap=0.04, draws=3)),
    "accuracy in groups of 8": ("correct", *rates(0.7, gap=0.06, size=8, spread=0.5)),
    "accuracy, 40%": ("correct", *rates(0.4, gap=0.08)),
    "scores": ("score", *scores(0.02)),
    "scores, weights": ("score", *scores(0.02, weight=True)),
    "scores in uneven groups": ("score", *scores(0.03, size=4)),
    "money, spreads 0.7 and 0.7": ("cost", *bills(0.7, 0.7, gap=0.15)),
    "money, spreads 0.6 and 1.0": ("cost", *bills(0.6, 1.0, gap=0.25)),
}


def write_pilot(folder: Path, kind: str, values: np.ndarray, more: dict[str, np.ndarray]) -> Path:
    """Two conditions' values in a file."""
    item, condition, draw = np.indices(values.shape).reshape(3, -1)
    table = {"item": [f"q{i}" for i in item], "condition": np.array(["old", "new"])[condition], "draw": draw}
    table |= {name: column[item] for name, column in more.items()}
    cells = values.ravel()
    table |= {"cost": cells, "correct": np.tile([1, 0, 1, 1], len(cells))[: len(cells)]} if kind == "cost" else {}
    table |= {kind: cells.astype(int) if kind == "correct" else cells} if kind != "cost" else {}
    path = folder / "pilot.csv"
    pl.DataFrame(table).write_csv(path)
    return path


@functools.cache
def size_of(name: str) -> tuple[int, Metric]:
    """The items that `richter size` asks for from a pilot, and the measure as it reads it."""
    kind, world, gap = WORLDS[name]
    with tempfile.TemporaryDirectory() as folder:
        path = write_pilot(Path(folder), kind, *world(np.random.default_rng(list(name.encode())), PILOT, 0.0))
        target = Path(folder) / "size.json"
        measure = {"correct": "accuracy", "score": "mean_score", "cost": "money"}[kind]
        result = CliRunner().invoke(
            _root, ["size", str(path), "old", "new", "--on", measure, "--margin", str(gap), "--json", str(target)],
            catch_exceptions=False,
        )  # fmt: skip
        assert result.exit_code == 0, result.output
        return int(json.loads(target.read_text())["to_show_the_gap"]), metric_of(read_tables(path), measure)


def trial(cell: Cell, rng: np.random.Generator) -> dict[str, float]:
    """Whether a study of that size shows the gap; of bills that are higher, and lower, by the same factor."""
    kind, world, gap = WORLDS[cell["world"]]
    n, metric = size_of(cell["world"])
    found = {"items": n, "power %": is_shown(*world(rng, n, gap), metric, rises=True)}
    if kind == "cost":
        found["power of a lower bill %"] = is_shown(*world(rng, n, 1 / (1 + gap) - 1), metric, rises=False)
    return found


def is_shown(values: np.ndarray, more: dict[str, np.ndarray], metric: Metric, *, rises: bool) -> bool:
    """Whether a study shows the gap at 95%, in its direction."""
    item, condition, draw = np.indices(values.shape).reshape(3, -1)
    sample = as_sample(Outcomes(
        metric=metric, items=tuple(map(str, range(len(values)))), conditions=("a", "b"), item=item,
        condition=condition, draw=draw if values.shape[2] > 1 else None, value=values.ravel(), **more,  # type: ignore[arg-type]
    ))  # fmt: skip
    if metric.is_cost:
        interval = total_evidence(sample, ("a", "b")).interval(0.95)
    else:
        interval = difference_evidence(sample, "a", "b").interval(0.95)
    return interval.low > 0 if rises else interval.high < 0


if __name__ == "__main__":
    run_study(__file__, [{"world": name} for name in WORLDS], trial, trials=2000)
