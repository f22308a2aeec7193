"""How often `richter watch` says "got worse" without a loss, and how soon with one.

Whole series through `watch_series`, looked at after every entry. Worlds without a loss: steady answers of the same
items, and of items of their own; days that vary slowly (AR(1)); weekends that differ; another model that is equally
good (8% of the items flip). With a loss: good weeks or days, then a jump; good days, then a steady drift over 20 days
that stays.
"""

import numpy as np
import polars as pl
from driver import Cell, run_study

from richter.audit import Day, watch_series


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


def trial(cell: Cell, rng: np.random.Generator) -> dict[str, float]:
    """Whether a change is detected, and told as worse or better; of losses whether soon."""
    lead = watch_series("bot", WORLDS[cell["world"]](cell, rng)).series[0]
    found = {"detected %": lead.detected is not None, "worse %": lead.worse is True, "better %": lead.worse is False}
    if "good" not in cell:
        return found
    told = lead.days.index(lead.alarm) + 1 if lead.alarm else 10**6
    return found | {"told in time %": bool(lead.worse and cell["good"] < told <= cell["good"] + cell["within"])}


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
    run_study(__file__, CELLS, trial, trials=500)
