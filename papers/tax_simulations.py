"""The verification tax's synthetic experiments with our estimators (appendix R): the truth is known.

    python papers/tax_simulations.py phase          the wall at n e ~ 1
    python papers/tax_simulations.py slope          the rate -1/3 and what it takes to see it
    python papers/tax_simulations.py active         chosen labels against random ones
    python papers/tax_simulations.py composition    the cost of depth
    python papers/tax_simulations.py pseudo         the control: a made-up classifier of ten classes
    python papers/tax_simulations.py active --runs 5000 --engine ray

Runs have seeds of their own: neither the engine nor the number of workers changes a digit.
"""

import argparse
import dataclasses
import functools
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from richter.floors import (
    active_estimate,
    bias_variance_bins,
    detection_power,
    next_batch,
    passive_floor,
    start_active,
)
from richter.records import Result
from richter.stats import Floats, Mapper, ece, run_tasks
from trials import open_mapper, run_trials

_QUADRATURE = 200_000
_BATCH = 100  # runs of a millisecond or less


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Simulation(Result):
    """A table of simulated figures, what it shows in a sentence, and what the paper has."""

    name: str
    sentence: str
    paper: str
    rows: tuple[Mapping[str, Any], ...]
    runs: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class _World:
    """Gap A sin(2 pi k p) with L = 2 pi k A, scores Beta((1 - e) / e, 1), labels Bernoulli(p + gap)."""

    error_rate: float
    crossings: float
    lipschitz: float

    def right(self, p: Floats) -> Floats:
        amplitude = self.lipschitz / (2 * math.pi * self.crossings)
        chance: Floats = np.clip(p + amplitude * np.sin(2 * math.pi * self.crossings * p), 0, 1)
        return chance

    def scores(self, u: Floats) -> Floats:
        power: Floats = u ** (self.error_rate / (1 - self.error_rate))  # Beta(a, 1) by inversion: u^(1 / a)
        return power

    @functools.cached_property
    def ece(self) -> float:
        p = self.scores((np.arange(_QUADRATURE) + 0.5) / _QUADRATURE)
        return float(np.mean(np.abs(self.right(p) - p)))

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        p = self.scores(rng.random(n))
        return p, (rng.random(n) < self.right(p)).astype(np.float64)


def _plug_in(p: Floats, right: Floats, bins: int) -> float:
    """Histogram estimate of ECE (Theorem 3)."""
    index = np.minimum((p * bins).astype(np.intp), bins - 1)
    return float(np.sum(np.abs(np.bincount(index, weights=p - right)))) / len(p)


def _deviation(setting: tuple[_World, int], rng: np.random.Generator) -> float:
    """|estimate - truth| of a histogram on n labels with the number of bins that Theorem 3 asks for."""
    world, n = setting
    bins = bias_variance_bins(n, world.error_rate, lipschitz=world.lipschitz)
    return abs(_plug_in(*world.draw(n, rng), bins) - world.ece)


def _log_slope(x: list[float], y: list[float]) -> float:
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def simulate_phase(*, rng: np.random.Generator, runs: int = 0, mapper: Mapper = map) -> Simulation:
    """Power to detect a gap as large as the error rate, against n e (Corollary 5, figure 2).

    Exact binomial sums: neither `rng` nor `runs` nor `mapper` is used.
    """
    expected = (0.1, 0.3, 1.0, 2.0, 3.0, 5.0, 10.0, 30.0)
    rates = (0.005, 0.01, 0.05, 0.10)
    rows = [
        {"n e": value} | {f"e={e:g}": float(detection_power(max(1, round(value / e)), e, e)) for e in rates}
        for value in expected
    ]
    # power is a saw-tooth in n: the transition is where it last was below one half
    sizes = {e: np.arange(1, round(40 / e)) for e in rates}
    half = [e * float(sizes[e][detection_power(sizes[e], e, e) < 0.5][-1]) for e in rates]
    return Simulation(
        name="phase",
        sentence=f"For every error rate the power to see a gap as large as the error rate passes one half for good at "
        f"n e = {min(half):.1f} to {max(half):.1f}, and at n e = 1 it is {rows[2]['e=0.01']:.2f}: the wall stands at a "
        "constant n e, a few times above 1 for an exact 5% test.",
        paper="a sharp transition at n e about 1 (figure 2)",
        rows=tuple(rows),
        runs=0,
    )


def simulate_slope(*, rng: np.random.Generator, runs: int = 60, mapper: Mapper = map) -> Simulation:
    """How fast the error of the histogram estimate falls with n, for more and more zero crossings (figures 12, 13).

    L is held at 2, so that more crossings mean smaller gaps: with few, large gaps the error falls faster than the
    minimax -1/3, which only the worst case reaches.
    """
    sizes = [500, 1000, 2000, 4000, 8000, 16_000, 32_000]
    worlds = [_World(error_rate=0.2, crossings=k, lipschitz=2.0) for k in (1, 4, 16, 64, 256)]
    settings = [(world, n) for world in worlds for n in sizes]
    errors = np.mean(run_trials(_deviation, settings, runs, rng=rng, mapper=mapper, batch=_BATCH), axis=1)
    rows = [
        {"crossings k": world.crossings, "ECE": world.ece}
        | {f"n={n}": float(e) for n, e in zip(sizes, found, strict=True)}
        | {"slope": _log_slope([float(n) for n in sizes], found.tolist())}
        for world, found in zip(worlds, errors.reshape(len(worlds), -1), strict=True)
    ]
    return Simulation(
        name="slope",
        sentence=f"The slope of log error on log n goes from {rows[0]['slope']:.2f} with {rows[0]['crossings k']} "
        f"crossing to {rows[-1]['slope']:.2f} with {rows[-1]['crossings k']} (minimax: -0.33).",
        paper="converges to -1/3 as crossings increase (figure 13)",
        rows=tuple(rows),
        runs=runs,
    )


def simulate_active(*, rng: np.random.Generator, runs: int = 120, mapper: Mapper = map) -> Simulation:
    """Labels chosen by `next_batch` on a pool of 20,000 against as many random ones, for growing L (figure 3).

    Both estimate the pool's ECE over ten bins, so that what is compared is the choice of labels alone.
    """
    worlds = [_World(error_rate=0.15, crossings=3, lipschitz=smooth) for smooth in (0.5, 1.0, 2.0, 4.0)]
    pools = [world.draw(20_000, rng) for world in worlds]
    rows = []
    for world, pool, found in zip(
        worlds, pools, run_trials(_two_choices, pools, runs, rng=rng, mapper=mapper), strict=True
    ):
        random, active = np.sqrt(np.mean(np.square(found), axis=0)).tolist()
        rows.append(
            {
                "L": world.lipschitz,
                "ECE": _plug_in(*pool, 10),
                "random": random,
                "active": active,
                "label ratio": (active / random) ** 2,
                "passive floor": passive_floor(1000, 0.15, lipschitz=world.lipschitz).value,
            }
        )
    ratios = [row["label ratio"] for row in rows]
    return Simulation(
        name="active",
        sentence=f"At equal error chosen labels take {100 * min(ratios):.0f}% to {100 * max(ratios):.0f}% of random "
        f"ones ({100 * ratios[0]:.0f}% at L = {rows[0]['L']:g}, {100 * ratios[-1]:.0f}% at L = {rows[-1]['L']:g}; root "
        f"mean square error at 1,000 of 20,000 labels; each good to about {200 / math.sqrt(runs):.0f}%).",
        paper="the gap between active and passive widens with L (figure 3, Appendix R)",
        rows=tuple(rows),
        runs=runs,
    )


def _two_choices(pool: tuple[Floats, Floats], rng: np.random.Generator) -> tuple[float, float]:
    """The errors of the pool's ECE from 1,000 labels, drawn at random and chosen."""
    p, right = pool
    truth = _plug_in(p, right, 10)
    pick = rng.choice(len(p), 1000, replace=False)
    state = start_active(p, budget=1000, seed=int(rng.integers(2**32)))
    while len(batch := next_batch(state)):
        state = state.with_labels(batch, right[batch])
    return _plug_in(p[pick], right[pick], 10) - truth, active_estimate(state).ece - truth


def simulate_composition(
    *, rng: np.random.Generator, runs: int = 40, lipschitz: float = 2.0, mapper: Mapper = map
) -> Simulation:
    """Labels to reach an error of 0.05 for a pipeline of K equal stages with L_sys = L^K + 1 (figure 4)."""
    target, rate = 0.05, 0.2
    depths = (1, 2, 3, 4, 5)
    totals = [lipschitz**depth + 1 for depth in depths]
    # amplitude 1 / (2 pi), more crossings
    worlds = [_World(error_rate=rate, crossings=total, lipschitz=total) for total in totals]
    labels = run_tasks(_labels_to, [(world, target, runs) for world in worlds], rng=rng, mapper=mapper)
    rows = [
        {"stages K": depth, "L_sys": total, "labels": found, "rate L e / d^3": math.ceil(total * rate / target**3)}
        for depth, total, found in zip(depths, totals, labels, strict=True)
    ]
    base = math.exp(float(np.polyfit([r["stages K"] for r in rows], np.log([r["labels"] for r in rows]), 1)[0]))
    return Simulation(
        name="composition",
        sentence=f"Labels to an error of {target:g} grow by a factor of {base:.2f} a stage at L = {lipschitz:g} "
        f"(L^K + 1 grows by {(rows[-1]['L_sys'] / rows[0]['L_sys']) ** 0.25:.2f}).",
        paper="exponential with base 1.73 (figure 4)",
        rows=tuple(rows),
        runs=runs,
    )


def _labels_to(setting: tuple[_World, float, int], rng: np.random.Generator) -> int:
    """Labels at which the histogram's mean error over `runs` reaches the target: doubled, then halved in log n."""
    world, target, runs = setting

    def misses(n: float) -> bool:
        return float(np.mean([_deviation((world, int(n)), rng) for _ in range(runs)])) > target

    low, high = 8.0, 16.0
    while misses(high) and high < 1e6:
        low, high = high, 2 * high
    for _ in range(5):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if misses(middle) else (low, middle)
    return round(math.sqrt(low * high))


def simulate_pseudo(*, rng: np.random.Generator, runs: int = 200, mapper: Mapper = map) -> Simulation:
    """The pseudo-classifier control (Appendix S, figures 14, 15): parts of 20,000 answers of a softmax of ten classes.

    Logits are standard normal, the right class's 2.99 higher, which makes one answer in ten wrong and, since nothing
    fits the scale of the logits to that, the confidence far too low (the paper: ECE about 0.31). A part of m labels
    estimates ECE in the bins of Theorem 3 (standard deviation against the floor with L = 1); it is seen where the
    honest interval excludes 0.
    """
    logits = rng.normal(size=(20_000, 10))
    logits[:, 0] += 2.99
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    p, right = odds.max(axis=1) / odds.sum(axis=1), (logits.argmax(axis=1) == 0).astype(np.float64)
    error_rate = 1 - float(right.mean())
    sizes = (5, 10, 20, 50, 100, 500, 2000, 10_000)
    settings = [(p, right, m, error_rate) for m in sizes]
    rows = []
    trials = run_trials(_pseudo_part, settings, runs, rng=rng, mapper=mapper, batch=_BATCH)
    for m, found in zip(sizes, trials, strict=True):
        estimates, seen = np.array(found).T
        rows.append(
            {
                "m": m,
                "m e": m * error_rate,
                "ECE": float(estimates.mean()),
                "std": float(estimates.std()),
                "floor": passive_floor(m, error_rate).value,
                "seen": float(seen.mean()),
            }
        )
    ratios = [row["std"] / row["floor"] for row in rows if row["m"] >= 50]
    near = min(rows, key=lambda row: abs(row["m e"] - 1))
    sure = next((row for row in rows if row["seen"] > 0.95), None)
    return Simulation(
        name="pseudo",
        sentence=f"From 50 to 10,000 labels the standard deviation of the estimate is {min(ratios):.2f} to "
        f"{max(ratios):.2f} of the floor and falls faster; a gap of {_plug_in(p, right, 10):.2f} is seen in "
        f"{near['seen']:.0%} of parts at m e = {near['m e']:.1f}"
        + (f" and in {sure['seen']:.0%} at {sure['m e']:.1f}." if sure else "."),
        paper="the floor tracks the standard deviation; the wall stands near m e = 1 (figures 14, 15)",
        rows=tuple(rows),
        runs=runs,
    )


def _pseudo_part(setting: tuple[Floats, Floats, int, float], rng: np.random.Generator) -> tuple[float, float]:
    """The ECE of a random part in the bins of Theorem 3, and whether its interval excludes 0."""
    p, right, m, error_rate = setting
    pick = rng.choice(len(p), m, replace=False)
    found = ece(p[pick], right[pick])
    return _plug_in(p[pick], right[pick], bias_variance_bins(m, error_rate)), float(found.interval.low > 0)


SIMULATIONS = {
    "active": simulate_active,
    "composition": simulate_composition,
    "phase": simulate_phase,
    "pseudo": simulate_pseudo,
    "slope": simulate_slope,
}


def main(words: Sequence[str] | None = None) -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("experiment", choices=sorted(SIMULATIONS))
    options.add_argument("--runs", type=int, help="simulated audits of a figure; the default takes seconds")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--engine", default="local")
    options.add_argument("--workers", type=int)
    options.add_argument("--json", help="write the figures here")
    given = options.parse_args(words)
    chosen = {} if given.runs is None else {"runs": given.runs}
    with open_mapper(given.engine, workers=given.workers) as mapper:
        result = SIMULATIONS[given.experiment](rng=np.random.default_rng(given.seed), mapper=mapper, **chosen)
    if given.json:
        Path(given.json).write_text(json.dumps(result.to_dict() | {"seed": given.seed}))
    print(result.sentence)
    print("  ".join(f"{name:>10}" for name in result.rows[0]))
    for row in result.rows:
        print("  ".join(f"{v:10.4g}" if isinstance(v, float) else f"{v:10,}" for v in row.values()))
    print(f"The paper: {result.paper}. Simulated data.")


if __name__ == "__main__":
    main()
