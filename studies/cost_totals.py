"""False claims and cover of bills: money, tokens and time by totals, in worlds of known bills.

Each table holds the amounts of two conditions. "cheaper" and "more expensive" count the claims of `compare` (95%) at an
equal bill; "gate" the passes of "within 10%" where the bill is 10% higher; "cover" that of the interval; "power" the
claims "cheaper" at a saving of 20%; "undecided" the tables of which one item is above a fifth of a bill.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from driver import Cell, run_study

from richter.claims import METRICS, Asked, Evidence, Outcomes, Question, as_sample, decide, total_evidence
from richter.records import Verdict

Floats = np.ndarray
World = Callable[[np.random.Generator, int], tuple[Floats, dict[str, Any]]]


def lognormal(*spread: float, shared: float = 0.5) -> World:
    """Amounts with these spreads of logarithms, mean 1, and this correlation of logarithms."""

    def draw(rng: np.random.Generator, n: int) -> tuple[Floats, dict[str, Any]]:
        common, own = rng.standard_normal((n, 1)), rng.standard_normal((n, 2))
        z = np.sqrt(shared) * common + np.sqrt(1 - shared) * own
        s = np.array(spread)
        return np.exp(s * z - s**2 / 2), {}

    return draw


def free_item(rng: np.random.Generator, n: int) -> tuple[Floats, dict[str, Any]]:
    """Equal means with unlike tails, and one item that costs the first condition nothing."""
    x, more = lognormal(0.5, 1.2, shared=0.0)(rng, n)
    x[0, 0] = 0.0
    return x * [n / (n - 1), 1.0], more


def long_answers(rng: np.random.Generator, n: int) -> tuple[Floats, dict[str, Any]]:
    """One answer of the second condition in ten is eight times as long."""
    x, more = lognormal(0.4, 0.4)(rng, n)
    longer = np.where(rng.random(n) < 0.1, 8.0, 1.0) / 1.7
    return x * np.stack([np.ones(n), longer], axis=1), more


def few_differ(rng: np.random.Generator, n: int) -> tuple[Floats, dict[str, Any]]:
    """The same answers but for 4% of the items, which cost twice as much or nothing."""
    x, more = lognormal(0.5, 0.5)(rng, n)
    u = rng.random(n)
    return x[:, [0, 0]] * np.stack([np.ones(n), np.where(u < 0.02, 2.0, np.where(u < 0.04, 0.0, 1.0))], axis=1), more


def grouped(size: int, spread: float = 0.5) -> World:
    """Groups of items that share a length in each condition."""

    def draw(rng: np.random.Generator, n: int) -> tuple[Floats, dict[str, Any]]:
        groups = n // size
        both, own = rng.normal(0, 0.6, (groups, 1, 1)), rng.normal(0, spread, (groups, 1, 2))
        x = np.exp(both + own + rng.normal(0, 0.4, (groups, size, 2)))
        return x.reshape(-1, 2), {"group": np.repeat(np.arange(groups), size)}

    return draw


def uneven_groups(rng: np.random.Generator, n: int) -> tuple[Floats, dict[str, Any]]:
    """Groups of one to many items."""
    sizes = 1 + rng.geometric(0.2, n)
    group = np.repeat(np.arange(n), sizes)[:n]
    own = np.exp(rng.normal(0, 0.5, (n, 2)))[group]
    return own * np.exp(rng.normal(0, 0.4, (n, 2))), {"group": group}


def drawn(rng: np.random.Generator, n: int) -> tuple[Floats, dict[str, Any]]:
    """Five draws of each item."""
    x, more = lognormal(0.7, 0.7)(rng, n)
    return x[:, :, None] * np.exp(rng.normal(-0.18, 0.6, (n, 2, 5))), more


WORLDS: dict[str, World] = {
    "spreads 0.7 and 0.7": lognormal(0.7, 0.7),
    "spreads 1.2 and 1.2": lognormal(1.2, 1.2),
    "spreads 0.7 and 1.0": lognormal(0.7, 1.0),
    "spreads 0.5 and 1.5": lognormal(0.5, 1.5),
    "unlike tails, one free item": free_item,
    "one answer in ten is 8 times as long": long_answers,
    "few items differ": few_differ,
    "groups of 10": grouped(10),
    "uneven groups": uneven_groups,
    "five draws": drawn,
}
CELLS = [{"world": name, "items": n, "unpaired": False} for name in WORLDS for n in (50, 100, 300, 1000)]
CELLS += [
    {"world": name, "items": n, "unpaired": True}
    for name in ("spreads 0.7 and 0.7", "spreads 0.5 and 1.5")
    for n in (100, 300)
]


def bill_of(values: Floats, more: dict[str, Any], *, unpaired: bool = False) -> Evidence:
    """The evidence on the ratio of totals of values, items x conditions x draws."""
    values = values if values.ndim == 3 else values[:, :, None]
    item, condition, draw = np.indices(values.shape).reshape(3, -1)
    outcomes = Outcomes(
        metric=METRICS["money"], items=tuple(map(str, range(len(values)))), conditions=("a", "b"), item=item,
        condition=condition, draw=draw if values.shape[2] > 1 else None, value=values.ravel(), **more,
    )  # fmt: skip
    return total_evidence(as_sample(outcomes), ("a", "b"), unpaired=unpaired)


def passes_gate(found: Evidence, limit: float) -> bool:
    """Whether a gate finds the second condition at most so much more expensive."""
    question = Question(measure="money", conditions=("a", "b"), relation="below", value=limit, family="requirement")
    return decide([Asked(question=question, metric=METRICS["money"], evidence=found)])[0].verdict is Verdict.VERIFIED


def trial(cell: Cell, rng: np.random.Generator) -> dict[str, float]:
    """One table of a world."""
    x, more = WORLDS[cell["world"]](rng, cell["items"])
    if cell["unpaired"]:
        x[:, 1] = rng.permutation(x[:, 1])  # independent samples
    found = bill_of(x, more, unpaired=cell["unpaired"])
    limits = found.interval(0.95)
    factor = np.array([1.0, 1.1]).reshape(1, 2, *[1] * (x.ndim - 2))
    return {
        "cheaper %": limits.high < 0,
        "more expensive %": limits.low > 0,
        "gate at its limit %": passes_gate(bill_of(x * factor, more, unpaired=cell["unpaired"]), 0.1),
        "cover %": 0.0 in limits,
        "power %": (1 + limits.high) * 0.8 < 1,
        "undecided %": found.standard_error is None,
    }


if __name__ == "__main__":
    run_study(__file__, CELLS, trial, trials=2000)
