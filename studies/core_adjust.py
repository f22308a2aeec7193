"""What adjustment for difficulty saves: ratios of variances on the 14-model files, and power where truth is known.

Usage: python studies/core_adjust.py OUT.jsonl [runs]   (again with the same OUT goes on where it stopped)
"""

import itertools
import json
import sys
from pathlib import Path

import numpy as np
import polars as pl

from richter.claims import METRICS, Outcomes, adjusted_difference, as_sample, difference_evidence

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


def outcomes(x: np.ndarray) -> Outcomes:
    item, condition = np.indices(x.shape).reshape(2, -1)
    return Outcomes(
        metric=METRICS["accuracy"],
        items=tuple(str(k) for k in range(len(x))),
        conditions=tuple(f"m{k}" for k in range(x.shape[1])),
        item=item,
        condition=condition,
        value=x.ravel(),
    )


def ratios(name: str) -> dict[str, float]:
    frame = pl.read_csv(DATA / f"mcq_{name}_14models.csv").with_columns((pl.col("grade") == "Correct").alias("right"))
    wide = frame.pivot("model", index="item", values="right", maintain_order=True)
    sample = as_sample(outcomes(wide.select(wide.columns[1:]).to_numpy().astype(float)))
    found = [
        adjusted_difference(sample, a, b).variance_ratio
        for a, b in itertools.combinations(sample.outcomes.conditions, 2)
    ]
    low, middle, high = np.quantile(found, [0.1, 0.5, 0.9])
    return {"median": middle, "p10": low, "p90": high, "least": min(found), "most": max(found)}


def power(spread: float, slope: float, gain: float, runs: int) -> dict[str, float]:
    """Items of fixed difficulty; the second is better by `gain` on average and falls `slope` times as fast."""
    rng = np.random.default_rng(round(100 * (spread + 10 * slope + 100 * gain)))
    hard = rng.normal(0, spread, size=400)
    base = 1 / (1 + np.exp(hard - 0.8))
    steep = 1 / (1 + np.exp(slope * hard - 0.8))
    second = np.clip(steep - steep.mean() + base.mean() + gain, 0, 1)
    second += base.mean() + gain - second.mean()
    chance = np.stack([base, second, *([base] * 6)], axis=1)
    row = {"plain": 0.0, "adjusted": 0.0, "covers": 0.0, "ratio": 0.0}
    truth = float(second.mean() - base.mean())
    for _ in range(runs):
        sample = as_sample(outcomes((rng.random(chance.shape) < chance).astype(float)))
        row["plain"] += (0 not in difference_evidence(sample, "m0", "m1").interval(0.95)) / runs
        found = adjusted_difference(sample, "m0", "m1", rng=rng)
        row["adjusted"] += (0 not in found.evidence.interval(0.95)) / runs
        row["covers"] += (truth in found.evidence.interval(0.95)) / runs
        row["ratio"] += found.variance_ratio / runs
    return row


def main() -> None:
    out, runs = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 2000
    done = {json.loads(line)["cell"] for line in out.read_text().splitlines()} if out.exists() else set()
    cells = {f"ratios {name}": (ratios, name) for name in ("arc", "truthfulqa")}
    cells |= {
        f"spread {spread} slope {slope} gain {gain}": (power, spread, slope, gain, runs)
        for spread in (0.0, 1.0, 2.0)
        for slope in (1.0, 0.4)
        for gain in (0.0, 0.06)
    }
    for cell, (run, *given) in cells.items():
        if cell not in done:
            row = {"cell": cell, **run(*given)}
            print(row, flush=True)
            with out.open("a") as file:
                file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
