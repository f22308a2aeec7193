"""How often `richter watch` says "got worse" without a loss, and how soon with one.

    python studies/watch_alarms.py [--runs 500]    again goes on where it stopped

Whole series through `watch_series`, looked at after every entry. Figures: docs/reference/watch.md. Worlds without a
loss: steady answers of the same items, and of items of their own; days that vary slowly (AR(1) of 0.9 a day, 2 points;
0.97, 4 points); weekends that differ; another model that is equally good (8% of the items flip); judges that drift with
50 canaries. With a loss: 7 good weeks, then 14 points worse; 60 good days, then 10 points worse; 40 good days, then a
steady drift over 20 days that stays.
"""

import argparse
from pathlib import Path

import numpy as np
import polars as pl
from cells import Cell, go_on, records

from richter.audit import Day, watch_series

OUT = Path(__file__).parents[1] / "soak" / "watch_alarms.jsonl"


def build_days(wrong: list[np.ndarray], *, step: int = 1, own: bool = False) -> list[Day]:
    """A day for each vector of wrong answers; `own`: each has items of its own."""
    days = []
    for k, values in enumerate(wrong):
        at = str(np.datetime64("2026-01-05") + step * k)
        names = [f"{k if own else 0}-{i}" for i in range(len(values))]
        frame = pl.DataFrame({"item": names, "weight": 1.0, "error_rate": values.astype(float)})
        days.append(Day(at=at, name=at, values=frame, judged=False, made={}))
    return days


def difficulties(items: int, rate: float, rng: np.random.Generator) -> np.ndarray:
    """The chance that an item is answered wrongly: most items nearly always alike, of this mean."""
    return rng.beta(0.4 * rate, 0.4 * (1 - rate), items)


def moving(items: int, shift: np.ndarray, rng: np.random.Generator, rate: float = 0.2) -> list[np.ndarray]:
    """Wrong answers of the same items where each day's error rate is shifted."""
    p = difficulties(items, rate, rng)
    return [(rng.random(items) < np.clip(p + s, 0, 1)) for s in shift]


def slow_variation(days: int, left: float, spread: float, rng: np.random.Generator) -> np.ndarray:
    """A stationary AR(1)."""
    x = np.empty(days)
    x[0] = rng.normal()
    for t in range(1, days):
        x[t] = left * x[t - 1] + np.sqrt(1 - left**2) * rng.normal()
    return spread * x


def steady(cell: Cell, rng: np.random.Generator) -> list[Day]:
    """Nothing changes."""
    if cell["own"]:
        return build_days([rng.random(cell["items"]) < 0.15 for _ in range(cell["days"])], own=True)
    return build_days(moving(cell["items"], np.zeros(cell["days"]), rng))


def slow(cell: Cell, rng: np.random.Generator) -> list[Day]:
    """Days vary slowly about one level."""
    return build_days(moving(cell["items"], slow_variation(cell["days"], cell["left"], cell["spread"], rng), rng))


def weekends(cell: Cell, rng: np.random.Generator) -> list[Day]:
    """Weekends are 5 points worse."""
    return build_days(moving(cell["items"], 0.05 * (np.arange(cell["days"]) % 7 >= 5), rng))


def replaced(cell: Cell, rng: np.random.Generator) -> list[Day]:
    """An equally good model from the middle on: 8% of items flip, as many either way in expectation."""
    wrong = rng.random(cell["items"]) < 0.15
    flips = rng.random(cell["items"]) < np.where(wrong, 0.04 / 0.15, 0.04 / 0.85)
    half = cell["days"] // 2
    noise = rng.random((cell["days"], cell["items"])) < cell["noise"]
    return build_days([(wrong ^ (flips & (t >= half))) ^ noise[t] for t in range(cell["days"])], step=cell["step"])


def jump(cell: Cell, rng: np.random.Generator) -> list[Day]:
    """A loss after some entries."""
    shift = np.where(np.arange(cell["days"]) >= cell["good"], cell["loss"], 0.0)
    p = rng.beta(1.0, 5.0, cell["items"])
    wrong = [rng.random(cell["items"]) < np.clip(p + s, 0, 1) for s in shift]
    return build_days(wrong, step=cell["step"])


def drift(cell: Cell, rng: np.random.Generator) -> list[Day]:
    """A loss that comes steadily over 20 days."""
    shift = cell["loss"] * np.clip((np.arange(cell["days"]) - cell["good"] + 1) / 20, 0, 1)
    p = rng.beta(1.0, 5.0, cell["items"])
    return build_days([rng.random(cell["items"]) < np.clip(p + s, 0, 1) for s in shift])


WORLDS = {"drift": drift, "steady": steady, "slow": slow, "weekends": weekends, "replaced": replaced, "jump": jump}


def run(cell: Cell, runs: int, rng: np.random.Generator) -> dict[str, float]:
    """Shares of series in which a change is detected, and told as worse or better; of jumps how soon."""
    rows = []
    for _ in range(runs):
        report = watch_series("bot", WORLDS[cell["world"]](cell, rng))
        lead = report.series[0]
        told = lead.days.index(lead.alarm) + 1 if lead.alarm else 10**6
        soon = lead.worse and cell.get("good", 0) < told <= cell.get("good", 0) + cell.get("within", 0)
        rows.append((lead.detected is not None, lead.worse is True, lead.worse is False, bool(soon), report.exit_code))
    detected, worse, better, soon, code = np.array(rows, dtype=float).T
    found = {"detected": detected.mean(), "worse": worse.mean(), "better": better.mean(), "exit 4": (code == 4).mean()}
    return found | ({"told in time": soon.mean()} if "good" in cell else {})


CELLS: list[Cell] = [
    {"world": "jump", "items": 100, "days": 9, "good": 7, "loss": 0.14, "step": 7, "within": 2},
    {"world": "jump", "items": 200, "days": 9, "good": 7, "loss": 0.14, "step": 7, "within": 2},
    {"world": "jump", "items": 400, "days": 9, "good": 7, "loss": 0.14, "step": 7, "within": 2},
    {"world": "replaced", "items": 200, "days": 20, "noise": 0.0, "step": 7},
    {"world": "drift", "items": 100, "days": 70, "good": 40, "loss": 0.10, "within": 30},
    {"world": "slow", "items": 200, "days": 60, "left": 0.9, "spread": 0.02},
    {"world": "drift", "items": 200, "days": 70, "good": 40, "loss": 0.05, "within": 30},
    {"world": "replaced", "items": 200, "days": 40, "noise": 0.01, "step": 1},
    {"world": "slow", "items": 200, "days": 100, "left": 0.97, "spread": 0.02},
    {"world": "steady", "items": 200, "days": 60, "own": False},
    {"world": "drift", "items": 200, "days": 70, "good": 40, "loss": 0.10, "within": 30},
    {"world": "slow", "items": 400, "days": 60, "left": 0.97, "spread": 0.04},
    {"world": "steady", "items": 100, "days": 60, "own": True},
    {"world": "weekends", "items": 200, "days": 60},
    {"world": "jump", "items": 200, "days": 67, "good": 60, "loss": 0.10, "step": 1, "within": 7},
]

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=500)
    go_on(OUT, [(cell, run) for cell in CELLS], parser.parse_args().runs)
    for cell, found in records(OUT):
        print(cell, {k: round(v, 3) for k, v in found.items()})
