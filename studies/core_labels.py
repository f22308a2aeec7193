"""Cover of claims corrected by human labels where items have draws, groups or weights, beside labels taken one by one.

A judge with errors of its own, in groups too (it misses more in some), grades every answer; people label a random
sample of answers, or one drawn evenly over conditions and verdicts. The truth is the law's own mean. `naive` is the
same estimate with its limits as if every answer were independent.
"""

import dataclasses
import itertools
from collections.abc import Iterator

import numpy as np
from driver import Cell, run_study
from scipy.special import ndtr, ndtri

from richter.claims import METRICS, Outcomes, as_sample, difference_evidence, mean_evidence
from richter.claims._labels import labelled
from richter.stats import correct_by_labels, correction_interval

GAP = 0.25


def cells() -> Iterator[Cell]:
    shapes = ((400, 1, 40), (400, 1, 15), (100, 10, None), (60, 4, None), (100, 4, 20))
    for (items, draws, groups), rate, labels, drawn in itertools.product(
        shapes, (0.3, 0.05), (60, 300), ("random", "strata")
    ):
        if labels < items * draws:
            yield {"items": items, "draws": draws, "groups": groups, "rate": rate, "labels": labels, "drawn": drawn}
    yield {"items": 400, "draws": 1, "groups": None, "rate": 0.3, "labels": 100, "drawn": "random", "weights": True}


def centre(cell: Cell) -> float:
    """Where the threshold lies so that the first condition errs at `rate`."""
    return float(ndtri(cell["rate"])) * np.sqrt(1 + spread(cell))


def spread(cell: Cell) -> float:
    return 0.8**2 + 0.3**2 + (0.0 if cell["groups"] is None else 0.6**2 + 0.3**2)


def made(cell: Cell, rng: np.random.Generator) -> tuple[Outcomes, list[float]]:
    n, draws, groups = cell["items"], cell["draws"], cell["groups"]
    u = rng.normal(0, 0.8, size=(n, 1)) + rng.normal(0, 0.3, size=(n, 2))
    miss = np.full((n, 1), 0.15)
    group = None
    if groups is not None:
        group = np.arange(n) * groups // n
        u = u + rng.normal(0, 0.6, size=(groups, 1))[group] + rng.normal(0, 0.3, size=(groups, 2))[group]
        miss = rng.beta(1.5, 8.5, size=(groups, 1))[group]
    weight = rng.choice([0.5, 1.0, 3.0], n) if cell.get("weights") else None
    shift = np.array([0.0, GAP])
    p = ndtr(u + centre(cell) + shift)
    wrong = rng.random((n, 2, draws)) < p[:, :, None]
    told = np.where(wrong, rng.random(wrong.shape) > miss[:, :, None], rng.random(wrong.shape) < 0.04)
    shape = (n, 2, draws)
    item, condition, draw = (np.broadcast_to(x, shape).ravel() for x in np.ogrid[:n, :2, :draws])
    value, truth = told.ravel().astype(float), wrong.ravel().astype(float)
    layer = (2 * condition + value).astype(np.intp)
    label = np.full(len(value), np.nan)
    pools = [np.flatnonzero(layer == h) for h in range(4)] if cell["drawn"] == "strata" else [np.arange(len(value))]
    for own in pools:
        picked = rng.choice(own, min(cell["labels"] // len(pools), len(own)), replace=False)
        label[picked] = truth[picked]
    outcomes = Outcomes(
        metric=METRICS["error_rate"],
        items=tuple(map(str, range(n))),
        conditions=("a", "b"),
        item=item,
        condition=condition,
        value=value,
        draw=draw if draws > 1 else None,
        group=group,
        weight=weight,
        label=label,
        layer=layer if cell["drawn"] == "strata" else None,
    )
    real = [float(ndtr((centre(cell) + s) / np.sqrt(1 + spread(cell)))) for s in shift]
    return outcomes, real


def trial(cell: Cell, rng: np.random.Generator) -> dict[str, float]:
    """Cover of a mean and of a difference, and whether alike conditions are told apart."""
    outcomes, (a, b) = made(cell, rng)
    sample = as_sample(outcomes)
    interval = difference_evidence(sample, "a", "b").interval(0.95)
    side = labelled(outcomes, 0, np.ones(cell["items"], dtype=bool))
    alone = correct_by_labels(side.label, side.value, strata=side.layer, weight=side.weight, high=1.0)
    swap = rng.random(cell["items"]) < 0.5  # conditions swapped item by item: alike by law
    if outcomes.group is not None:
        swap = (rng.random(int(outcomes.group.max()) + 1) < 0.5)[outcomes.group]
    turned = np.where(swap[outcomes.item], 1 - outcomes.condition, outcomes.condition)
    alike = as_sample(dataclasses.replace(outcomes, condition=turned))
    return {
        "mean %": a in mean_evidence(sample, "a").interval(0.95),
        "naive mean %": a in correction_interval(alone),
        "difference %": b - a in interval,
        "the whole range %": interval.method == "the whole range",
        "false %": 0.0 not in difference_evidence(alike, "a", "b").interval(0.95),
    }


if __name__ == "__main__":
    run_study(__file__, cells(), trial, trials=2000)
