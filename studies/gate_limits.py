"""How often a gate passes falsely, and its power, with groups, draws and weights.

Each world is drawn twice over: with a true loss of just the margin, where a pass is false, and with none, where it is
power.
"""

import dataclasses
from typing import Literal

import numpy as np
from driver import Cell, run_study
from numpy.typing import NDArray

from richter.claims import (
    METRICS,
    Outcomes,
    as_sample,
    both_ways,
    difference_evidence,
    mean_evidence,
    with_gate_limit,
    with_missing_at,
)

Floats = NDArray[np.float64]
NAMES = ("old", "new")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Groups of as many items each, draws of each item, and how the loss comes: to all alike, or to whole groups."""

    units: int
    size: int = 1
    draws: int = 1
    margin: float = 0.05
    spread: float = 0.15  # of a group's or item's own effect on the difference
    loss: Literal["even", "whole groups"] = "even"
    weights: bool = False
    lost: float = 0.0  # share of the candidate's grades that is lost at random
    rate: float = 0.0  # above 0: the requirement is on the error rate alone, and this is its limit


WORLDS = {
    "150 items x 3 draws": World(units=150, draws=3),
    "600 items x 3 draws": World(units=600, draws=3),
    "600 items x 3 draws, 2% lost": World(units=600, draws=3, lost=0.02),
    "600 weighted items": World(units=600, weights=True),
    "600 weighted items, 2% lost": World(units=600, weights=True, lost=0.02),
    "8 groups of 50": World(units=8, size=50, margin=0.1),
    "8 groups of 50, whole groups fail": World(units=8, size=50, margin=0.1, loss="whole groups"),
    "20 groups of 20": World(units=20, size=20, margin=0.1),
    "20 groups of 20, whole groups fail": World(units=20, size=20, margin=0.1, loss="whole groups"),
    "40 groups of 20": World(units=40, size=20),
    "40 groups of 20, 1% lost": World(units=40, size=20, lost=0.01),
    "40 groups of 20, whole groups fail": World(units=40, size=20, margin=0.1, loss="whole groups"),
    "40 groups of 20 that do not vary, whole groups fail": World(units=40, size=20, spread=0.0, loss="whole groups"),
    "200 groups of 10": World(units=200, size=10),
    "200 groups of 10, 1% lost": World(units=200, size=10, lost=0.01),
    "200 groups of 10, whole groups fail": World(units=200, size=10, loss="whole groups"),
    "error rate 5%, 40 groups of 20": World(units=40, size=20, rate=0.05),
    "error rate 5%, 200 groups of 10": World(units=200, size=10, rate=0.05),
    "error rate 20%, 40 groups of 20": World(units=40, size=20, rate=0.2),
    "error rate 5%, 150 items x 10 draws": World(units=150, draws=10, rate=0.05),
}  # fmt: skip


def draw_chances(world: World, loss: float, rng: np.random.Generator) -> Floats:
    """The chance of a right answer, items x conditions, with a mean loss of the candidate of `loss`."""
    unit = np.repeat(np.arange(world.units), world.size)
    if world.rate:  # a condition alone: a unit's own error rate, of mean `rate` (or half of it: power)
        mean = world.rate if loss else world.rate / 2
        own = rng.beta(mean * 4, (1 - mean) * 4, world.units)  # correlation 0.2 within a unit
        return np.stack([1 - own[unit]] * 2, axis=1)
    hard = rng.beta(4, 1, len(unit))
    own = world.spread * rng.uniform(-1, 1, world.units)[unit]
    first, second = np.clip(hard - own / 2, 0.0, 1.0), np.clip(hard + own / 2, 0.0, 1.0)
    if world.loss == "even":
        second = second * (1 - loss / 0.8)  # 0.8 is the mean
    else:
        second = np.where((rng.random(world.units) < loss / 0.8)[unit], 0.0, second)
    return np.stack([first, second], axis=1)


def draw_outcomes(world: World, loss: float, rng: np.random.Generator) -> Outcomes:
    """Right and wrong answers of both conditions."""
    chance = draw_chances(world, loss, rng)
    right = (rng.random((*chance.shape, world.draws)) < chance[:, :, None]).astype(float)
    if world.spread == 0 and not world.rate:  # old and new are right on the same items, but for what fails
        right[:, 0] = right[:, 1] = (rng.random(right[:, 0].shape) < 0.8).astype(float)
        right[:, 1] *= (chance[:, 1] > 0)[:, None]
    item, condition, draw = np.indices(right.shape).reshape(3, -1)
    items = len(chance)
    return Outcomes(
        metric=METRICS["accuracy"], items=tuple(map(str, range(items))), conditions=NAMES, item=item,
        condition=condition, value=right.ravel(), draw=draw if world.draws > 1 else None,
        group=np.repeat(np.arange(world.units), world.size) if world.size > 1 else None,
        weight=1.0 + np.arange(items) % 4 if world.weights else None,
    )  # fmt: skip


def is_met(world: World, loss: float, rng: np.random.Generator) -> bool:
    """Whether the gate is met; where grades are lost, with them ignored and counted as wrong."""
    outcomes = draw_outcomes(world, loss, rng)
    lost = (rng.random(len(outcomes.value)) < world.lost) & (outcomes.condition == 1)
    lacking = np.zeros((len(outcomes.items), 2), dtype=np.intp)
    np.add.at(lacking, (outcomes.item[lost], outcomes.condition[lost]), 1)
    kept = {name: getattr(outcomes, name) for name in ("item", "condition", "value", "draw")}
    seen = dataclasses.replace(outcomes, **{k: None if v is None else v[~lost] for k, v in kept.items()})
    worst, best = (as_sample(with_missing_at(seen, lacking, end)) for end in ("worst", "best"))  # type: ignore[arg-type]
    if world.rate:
        (found, filled), names = (mean_evidence(s, "new", exact=True) for s in (as_sample(seen), worst)), ("new",)
        limit = 1 - world.rate
    else:
        both = (difference_evidence(s, *NAMES, exact=True) for s in (as_sample(seen), worst))
        (found, filled), names, limit = both, NAMES, -world.margin  # type: ignore[assignment]
    found = both_ways(found, filled, missing={}) if lost.any() else found
    return with_gate_limit(found, worst, best, conditions=names).interval(0.9).low > limit


def trial(cell: Cell, rng: np.random.Generator) -> dict[str, float]:
    """Whether a gate passes at a loss of its margin, and without a loss."""
    world = WORLDS[cell["world"]]
    return {"false passes %": is_met(world, world.margin, rng), "power %": is_met(world, 0.0, rng)}


if __name__ == "__main__":
    run_study(__file__, [{"world": name} for name in WORLDS], trial, trials=2000)
