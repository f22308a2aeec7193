"""False "verified" and cover of the core: units, kinds of data, different items, and rare errors in groups.

Parts: cells (two alike conditions, and a true difference, over groups x draws x kinds x items), unpaired (different
items), rare (rates in groups of which few have an error: what the limits do on each side of the truth). Conditions that
are alike have effects on items and groups of their own, from one law: neither is better on average.
"""

import dataclasses
import functools
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
from driver import Cell, run_study
from scipy.special import expit, ndtr

from richter.claims import (
    METRICS,
    Asked,
    Evidence,
    Outcomes,
    Question,
    Sample,
    as_sample,
    decide,
    difference_evidence,
    total_evidence,
    unpaired_evidence,
)
from richter.records import Verdict
from richter.stats import find_root, unit_rate

KINDS = {
    "binary": "accuracy",
    "rare": "catastrophic_rate",
    "three levels": "mean_severity",
    "bounded": "mean_score",
    "heavy": "money",
}
NOISE = 0.7  # of a draw, on the scale of difficulties
SHIFT = {"binary": 0.25, "rare": 0.4, "three levels": 0.3, "bounded": 0.2, "heavy": 0.3}


BOUNDED = dataclasses.replace(METRICS["mean_score"], low=0.0, high=1.0)


def latent(rng: np.random.Generator, n: int, groups: int | None, conditions: int) -> np.ndarray:
    """Items x conditions: difficulty, and each condition's own effects on items and on groups."""
    u = rng.normal(0, 0.7, size=(n, 1)) + rng.normal(0, 0.4, size=(n, conditions))
    if groups is not None:
        place = np.arange(n) * groups // n
        u = u + rng.normal(0, 0.5, size=(groups, 1))[place] + rng.normal(0, 0.4, size=(groups, conditions))[place]
    return u


def means_of(rng: np.random.Generator, kind: str, u: np.ndarray, draws: int) -> np.ndarray:
    """The mean over draws, items x conditions; by counts where values have few levels."""
    if kind in ("binary", "rare"):
        return rng.binomial(draws, ndtr(u + (0.4 if kind == "binary" else -2.4))) / draws
    if kind == "three levels":
        low, high = (ndtr((u - at) / NOISE) for at in (0.5, 1.3))
        twos = rng.binomial(draws, high)
        return (rng.binomial(draws - twos, (low - high) / (1 - high)) + 2 * twos) / draws
    x = rng.standard_normal((draws, *u.shape), dtype=np.float32)
    x *= NOISE
    x += u.astype(np.float32)
    if kind == "bounded":
        x *= 0.6
        x += 0.5
        np.clip(x, 0, 1, out=x)
    else:
        np.exp(x, out=x)
    return np.mean(x, axis=0, dtype=np.float64)


@functools.cache
def truth(kind: str, shift: float, groups: int | None) -> float:
    """The true difference, by the law itself (heavy: of geometric means, as a ratio minus 1)."""
    if shift == 0:
        return 0.0
    if kind == "heavy":
        return float(np.expm1(shift))
    rng = np.random.default_rng(1)
    spread = 0.7**2 + 0.4**2 + (0.0 if groups is None else 0.5**2 + 0.4**2)
    u = rng.normal(0, np.sqrt(spread), size=(1_000_000, 1))
    means = [float(means_of(rng, kind, u + s, 1).mean()) for s in (0.0, shift)]
    if kind in ("binary", "rare"):
        at = 0.4 if kind == "binary" else -2.4
        means = [float(ndtr((at + s) / np.sqrt(1 + spread))) for s in (0.0, shift)]
    return float(means[1] - means[0])


@functools.cache
def names(prefix: str, number: int) -> tuple[str, ...]:
    return tuple(f"{prefix}{k}" for k in range(number))


def sample_of(metric: str, mean: np.ndarray, draws: int = 1, group: np.ndarray | None = None) -> Sample:
    n, conditions = mean.shape
    empty = np.zeros(0, dtype=np.intp)
    outcomes = Outcomes(
        metric=METRICS[metric] if metric != "mean_score" else BOUNDED,
        items=names("", n),
        conditions=names("m", conditions),
        item=empty,
        condition=empty,
        value=np.zeros(0),
        group=group,
    )
    return Sample(outcomes=outcomes, mean=mean, draws=np.full(mean.shape, draws), within=np.zeros(mean.shape))


def difference_of(sample: Sample, first: str, second: str) -> Evidence:
    """The evidence that claims are decided by: of amounts that are paid that of totals."""
    if sample.metric.is_cost:
        return total_evidence(sample, (first, second))
    return difference_evidence(sample, first, second)


def cells() -> Iterator[Cell]:
    for kind, groups, draws, items in itertools.product(KINDS, (None, 15, 40, 200), (1, 4, 30), (20, 60, 400, 6000)):
        if groups is None or items >= 2 * groups:
            yield {"part": "cells", "kind": kind, "groups": groups, "draws": draws, "items": items}
    for kind in ("binary", "rare"):  # what was measured before
        yield {"part": "cells", "kind": kind, "groups": None, "draws": 10, "items": 100}
        yield {"part": "cells", "kind": kind, "groups": None, "draws": 30, "items": 30}
        yield {"part": "cells", "kind": kind, "groups": 40, "draws": 1, "items": 400}


def run_cell(cell: Cell, rng: np.random.Generator) -> dict[str, float]:
    """Whether a difference is shown of alike conditions, and whether a true one is covered."""
    kind, groups, n = cell["kind"], cell["groups"], cell["items"]
    group = None if groups is None else np.arange(n) * groups // n
    u = latent(rng, n, groups, 2)
    spans = []
    for shift in (0.0, SHIFT[kind]):
        mean = means_of(rng, kind, u + np.array([0.0, shift]), cell["draws"])
        spans.append(difference_of(sample_of(KINDS[kind], mean, cell["draws"], group), "m0", "m1").interval(0.95))
    return {
        "false %": 0.0 not in spans[0],
        "cover of a difference %": truth(kind, SHIFT[kind], groups) in spans[1],
        "few differ %": "gamma" in spans[0].method or "range x" in spans[0].method,
    }


WORLDS = {
    "rate 50%": lambda rng, n: rng.random(n) < 0.5,
    "rate 90%": lambda rng, n: rng.random(n) < 0.9,
    "rate 98%": lambda rng, n: rng.random(n) < 0.98,
    "even scores": lambda rng, n: np.clip(rng.normal(0.5, 0.1, n), 0, 1),
    "skewed scores": lambda rng, n: rng.beta(0.5, 4, n),
    "scores at both ends": lambda rng, n: np.where(rng.random(n) < 0.7, 1.0, rng.integers(2, size=n) * rng.random(n)),
    "a tenth below 1": lambda rng, n: np.where(rng.random(n) < 0.9, 1.0, rng.random(n)),
    "dollars": lambda rng, n: rng.lognormal(0, 1, n),
    "rate 50% in groups": lambda rng, n: rng.beta(2, 2, n),
    "rate 90% in groups": lambda rng, n: rng.beta(3.6, 0.4, n),
    "skewed scores in groups": lambda rng, n: rng.beta(0.5, 3, n),
}


def unpaired() -> Iterator[Cell]:
    for world, sizes in itertools.product(WORLDS, ((20, 20), (20, 200), (60, 60), (30, 1000), (200, 200))):
        yield {"part": "unpaired", "world": world, "items": sum(sizes), "units": list(sizes)}


def run_unpaired(cell: Cell, rng: np.random.Generator) -> dict[str, float]:
    """Two conditions of one law on different items; in groups of five on average, a value a group and one an item."""
    grouped = cell["world"].endswith("groups")
    name = next((m for word, m in (("rate", "accuracy"), ("dollars", "money")) if word in cell["world"]), "mean_score")
    metric, values, codes = BOUNDED if name == "mean_score" else METRICS[name], [], []
    for n in cell["units"]:
        size = 1 + rng.poisson(4, n) if grouped else np.ones(n, dtype=int)
        own = np.repeat(WORLDS[cell["world"]](rng, n).astype(float), size)
        if grouped and name == "accuracy":
            own = (rng.random(len(own)) < own).astype(float)
        elif grouped:
            own = own + (1 - own) * rng.beta(0.5, 4, len(own))
        values.append(own)
        codes.append(np.repeat(np.arange(n), size) + (codes[0].max() + 1 if codes else 0))
    value, group = np.concatenate(values), np.concatenate(codes)
    outcomes = Outcomes(
        metric=metric, items=names("", len(value)), conditions=("m0", "m1"), item=np.arange(len(value)),
        condition=np.repeat([0, 1], [len(v) for v in values]), value=value, group=group if grouped else None,
    )  # fmt: skip
    if metric.is_cost:
        interval = total_evidence(as_sample(outcomes), ("m0", "m1"), unpaired=True).interval(0.95)
    else:
        interval = unpaired_evidence(outcomes, "m0", "m1").interval(0.95)
    return {"false %": 0.0 not in interval, "half-width": interval.half_width}


RARE = {  # groups x size, both rates in %, how alike a group's answers are (log-normal: the spread of log-odds)
    "beta": "20 10 .5 3 .3, 60 10 .1 2 .6, 40 50 .1 2 .6, 40 50 .1 2 .1, 60 10 1 1 0, 60 10 1 3 .05, 30 5 .2 2 .3, "
    "100 5 1 2 .2, 40 10 .5 .5 .3, 200 5 .1 1 .6, 200 20 .1 1 .6, 100 20 .2 2 .3, 100 50 .1 1 .6, 40 20 1 5 .3, "
    "20 50 1 5 .3, 20 50 .5 3 .6, 200 10 .1 .1 .3, 100 10 .5 .5 .6, 40 50 .2 .2 0, 40 50 .5 .5 .1, 200 5 .2 2 0, "
    "30 20 2 2 .6, 200 50 .1 .5 .6, 60 50 .1 2 .3, 200 30 .5 2 .6, 100 10 .2 1 .6",
    "beta, uneven": "60 10 .1 2 .6, 40 50 .1 2 .6, 40 20 1 1 .1, 100 10 .5 2 .3, 60 20 .5 .5 .05, 200 10 .1 1 .6",
    "whole groups": "40 50 .1 2 0, 100 10 .5 2 0, 200 10 .5 .5 0, 40 20 1 5 0",
    "whole groups, uneven": "60 10 .5 3 0, 100 10 1 1 0",
    "log-normal odds": "40 50 .1 2 3, 60 10 .2 2 3, 100 10 .5 2 2, 40 20 .5 .5 3, 40 50 .2 2 1, 200 10 .1 1 3, "
    "100 50 .1 1 3, 200 50 .1 .5 4",
    "half whole, half alone": "40 50 .1 2 0, 100 10 .5 2 0, 100 20 .2 1 0, 200 10 .2 1 0, 60 10 2 2 0, 40 20 .5 .5 0",
}


def rare() -> Iterator[Cell]:
    for law, worlds in RARE.items():
        for world in worlds.split(", "):
            groups, size, first, second, alike = map(float, world.split())
            cell = {"part": "rare", "law": law, "groups": int(groups), "size": int(size), "items": int(groups * size)}
            yield cell | {"first": first / 100, "second": second / 100, "alike": alike}


def group_rates(rng: np.random.Generator, cell: dict[str, Any], rate: float) -> np.ndarray:
    """Each group's own rate, of mean `rate`."""
    law, n, alike = cell["law"], cell["groups"], cell["alike"]
    if law == "half whole, half alone":
        return np.where(rng.random(n) < rate / 2, 1.0, rate / 2)
    if law.startswith("whole groups"):
        return (rng.random(n) < rate).astype(float)
    if law == "log-normal odds":
        return expit(_centre(rate, alike) + alike * rng.normal(size=n))
    return np.full(n, rate) if alike == 0 else rng.beta(rate * (1 / alike - 1), (1 - rate) * (1 / alike - 1), n)


@functools.cache
def _centre(rate: float, spread: float) -> float:
    """The log-odds about which normal ones of this spread have this mean rate."""
    z, weight = np.polynomial.hermite_e.hermegauss(200)
    return find_root(lambda at: float(weight @ expit(at + spread * z) / np.sum(weight)) - rate, -60.0, 0.0)


def run_rare(cell: Cell, rng: np.random.Generator) -> dict[str, float]:
    """Misses of each limit, and what is shown: by `decide` with the true difference (0: 2 and 5 points) as the margin.

    "passed" is a requirement at its limit, "rate above" the second's true rate above the one-sided 95% limit of
    `unit_rate`.
    """
    real, n = cell["second"] - cell["first"], cell["groups"]
    size = np.full(n, cell["size"])
    if "uneven" in cell["law"]:
        size = np.maximum(np.round(cell["size"] * rng.lognormal(-0.5, 1.0, n)), 1).astype(int)
    group = np.repeat(np.arange(n), size)
    rates = np.column_stack([group_rates(rng, cell, cell[side]) for side in ("first", "second")])
    wrong = (rng.random((len(group), 2)) < rates[group]).astype(float)
    made = sample_of("error_rate", wrong, 1, group)
    evidence = difference_evidence(made, "m0", "m1")
    wide, narrow = evidence.interval(0.95), evidence.interval(0.90)
    gate = difference_evidence(made, "m0", "m1", exact=True).interval(0.90)
    found = {
        "below %": real < wide.low, "above %": real > wide.high, "shown %": 0.0 not in wide,
        "passed %": gate.high < real, "rate above %": cell["second"] > unit_rate(wrong[:, 1], group, side="upper").high,
    }  # fmt: skip
    for name, margin in {"its size": real}.items() if real else (("2 points", 0.02), ("5 points", 0.05)):
        question = Question(measure="error_rate", conditions=("m0", "m1"), margin=margin)
        asked = Asked(question=question, metric=METRICS["error_rate"], evidence=evidence)
        within = -margin < narrow.low and narrow.high < margin  # where not, nothing shows it
        found[f"within {name} %"] = within and decide([asked])[0].verdict is Verdict.EQUIVALENT
    return found


RUNS = {"cells": run_cell, "unpaired": run_unpaired, "rare": run_rare}


def trial(cell: Cell, rng: np.random.Generator) -> dict[str, float]:
    """One table of the cell's part."""
    return RUNS[cell["part"]](cell, rng)


if __name__ == "__main__":
    in_order = sorted(cells(), key=lambda cell: cell["items"] * cell["draws"])
    run_study(__file__, [*in_order, *unpaired(), *rare()], trial, trials=2000)
