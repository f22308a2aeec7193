"""Equal means with unlike tails: scores of which few are very low, and bills of a law without a variance.

Usage: python studies/rare_scores.py [OUT.jsonl] [tables]   (again with the same OUT goes on from there)

"better" and "worse" are claims of `difference_evidence` (95%) on equal means, "by t" those of Student's t; "power" is
that at a gain of three standard errors; "noted" the tables whose note names the few values, "none seen" those without
any very low score. Of bills: "cheaper", and how many of these claims have the note on the tail.
"""

import dataclasses
import sys
from pathlib import Path

import numpy as np
from cells import Cell, Run, go_on
from cost_totals import outcomes_of
from scipy.special import stdtrit

from richter.claims import as_sample, difference_evidence, measure_words, total_evidence

POINTS = measure_words("points")


def losses(rng: np.random.Generator, n: int, *, rate: float, loss: float) -> np.ndarray:
    """Right or wrong; some of the second's answers cost `loss`, and the others are right so much more often."""
    right = rng.random((n, 2)) < [0.6, (0.6 + rate * loss) / (1 - rate)]
    return np.where([[False, True]] & (rng.random((n, 1)) < rate), -loss, right)


def partial(rng: np.random.Generator, n: int, *, rate: float, loss: float) -> np.ndarray:
    """Partial credit; some of the second's answers lose `loss`, and the others are better by as much on average."""
    base = np.clip(rng.beta(6, 2, (n, 1)) * 0.9 + rng.normal(0, 0.05, (n, 2)), 0, 1)
    return base - [0.0, loss] * (rng.random((n, 1)) < rate) + [0.0, loss * rate]


def run_scores(cell: Cell, runs: int, rng: np.random.Generator) -> dict[str, float]:
    """Rates in per cent over tables of one world."""
    n, (rate, loss) = cell["items"], cell["low"]
    draw = losses if cell["world"] == "right or wrong" else partial
    gain = 3 * float(np.std(np.diff(draw(rng, 200_000, rate=rate, loss=loss)))) / np.sqrt(n)
    count = dict.fromkeys(("better", "worse", "better by t", "power", "power by t", "noted", "none seen"), 0)
    for _ in range(runs):
        x = draw(rng, n, rate=rate, loss=loss)
        d = np.diff(x)[:, 0]
        found = difference_evidence(dataclasses.replace(outcomes_of(x, "accuracy", {}), metric=POINTS), "a", "b")
        limits, low = found.interval(0.95), d.mean() - stdtrit(n - 1, 0.975) * d.std(ddof=1) / np.sqrt(n)
        count["better"] += limits.low > 0
        count["worse"] += limits.high < 0
        count["better by t"] += low > 0
        count["power"] += limits.low > -gain
        count["power by t"] += low > -gain
        count["noted"] += any("half of the spread" in note for note in found.notes)
        count["none seen"] += d.min() > d.mean() - loss / 2 - 0.5 * (loss > 1)
    return {name: 100 * number / runs for name, number in count.items()}


def run_bills(cell: Cell, runs: int, rng: np.random.Generator) -> dict[str, float]:
    """How often a bill of Pareto amounts falsely seems cheaper than one of lognormal amounts, and is named."""
    n, index, cheaper, noted = cell["items"], cell["index"], 0, 0
    for _ in range(runs):
        x = np.stack(
            [np.exp(0.7 * rng.normal(size=n) - 0.245), (1 + rng.pareto(index, n)) * (index - 1) / index], axis=1
        )
        found = total_evidence(as_sample(outcomes_of(x, "money", {})), ("a", "b"))
        is_cheaper = found.interval(0.95).high < 0
        cheaper += is_cheaper
        noted += is_cheaper and any("tail index" in note for note in found.notes)
    return {"cheaper": 100 * cheaper / runs, "of these noted": 100 * noted / max(cheaper, 1)}


if __name__ == "__main__":
    rare = (("right or wrong", (0.04, 5.0)), ("right or wrong", (0.02, 10.0)), ("partial credit", (0.02, 0.7)))
    jobs: list[tuple[Cell, Run]] = [
        ({"world": world, "low": list(low), "items": n}, run_scores) for world, low in rare for n in (60, 150, 400)
    ]
    jobs += [({"index": index, "items": n}, run_bills) for index in (1.5, 1.8) for n in (100, 300)]
    out = Path(sys.argv[1] if len(sys.argv) > 1 else "soak/rare_scores.jsonl")
    go_on(out, jobs, int(sys.argv[2]) if len(sys.argv) > 2 else 2000)
