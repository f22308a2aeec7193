"""Judges' errors allowed for: coverage of the true rate, mean and slope behind two noisy simulated judges.

Two judges at an ICC of 0.45, 200 or 400 human labels on 5,000 answers, at random or half of them from answers judged 2
or more; the truth is known. Prints coverage of the rate at 3 and above, of the mean, of the mean given an error and of
b, how often b is blocked, and how far off the judges' own mean is. Cells are kept in a file as they are done.

    python studies/severity_noise.py [trials] [file]
"""

import json
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from richter.severity import severity_by_labels
from richter.stats import icc

LEVELS = np.arange(9) / 2
LAWS = ((0.4, 0.5), (0.6, 0.5), (0.5, 0.4), (0.8, 0.3))  # b and the error rate
CELLS = [(b, rate, labels, over) for b, rate in LAWS for labels in (200, 400) for over in (False, True)]
ANSWERS = 5000


def truth(b: float, rate: float) -> NDArray[np.float64]:
    law = 10 ** (-b * 0.5 * np.arange(8))
    return np.concatenate([[1 - rate], rate * law / law.sum()])


def judge(true: NDArray[np.float64], spread: float, rng: np.random.Generator) -> NDArray[np.float64]:
    return np.clip(np.round((true + rng.normal(0, spread, (2, len(true)))) * 2) / 2, 0, 4)


def spread_for(p: NDArray[np.float64], target: float) -> float:
    """The judges' error at which the ICC of a single score is the target."""
    rng = np.random.default_rng(1)
    true = rng.choice(9, size=40_000, p=p) / 2
    return next(s for s in np.arange(0.2, 3.0, 0.02) if icc(judge(true, s, rng).T).single <= target)


def cell(b: float, rate: float, size: int, over: bool, trials: int) -> dict[str, float]:
    p = truth(b, rate)
    spread = spread_for(p, 0.45)
    rng = np.random.default_rng([18, round(10 * b), size, over])
    n = ANSWERS
    given = float(p @ LEVELS / p[1:].sum())
    hits: dict[str, list[bool]] = {"rate": [], "mean": [], "given": [], "b": []}
    naive = []
    for _ in range(trials):
        true = rng.choice(9, size=n, p=p) / 2
        judged = judge(true, spread, rng).mean(axis=0)
        chosen = rng.choice(n, size, replace=False)
        if over:
            parts = np.flatnonzero(judged >= 2), np.flatnonzero(judged < 2)
            chosen = np.concatenate([rng.choice(part, min(size // 2, len(part)), replace=False) for part in parts])
        labels = np.full(n, np.nan)
        labels[chosen] = true[chosen]
        found = severity_by_labels(judged, labels, n_resamples=1500, rng=rng)
        hits["rate"].append(float(p[6:].sum()) in found.at_least["3.0"].interval)
        hits["mean"].append(float(p @ LEVELS) in found.mean.interval)
        hits["given"].append(given in found.given_error.interval)
        naive.append(judged.mean() - p @ LEVELS)
        if found.b is not None:
            hits["b"].append(b in found.b.interval)
    row = {name: float(np.mean(h)) if h else float("nan") for name, h in hits.items()}
    return row | {"b blocked": 1 - len(hits["b"]) / trials, "bias as judged": float(np.mean(naive))}


def main() -> None:
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    file = Path(sys.argv[2] if len(sys.argv) > 2 else "severity_noise.jsonl")
    done = {}
    if file.exists():
        done = {row["key"]: row for row in map(json.loads, file.read_text().splitlines())}
    for b, rate, size, over in CELLS:
        key = f"b {b}, error rate {rate}, {size} {'labels, half from flagged' if over else 'random labels'}, {trials}"
        if key not in done:
            done[key] = {"key": key, **cell(b, rate, size, over, trials)}
            with file.open("a") as out:
                out.write(json.dumps(done[key]) + "\n")
        print(key + ": " + ", ".join(f"{k} {v:.3f}" for k, v in done[key].items() if k != "key"), flush=True)


if __name__ == "__main__":
    main()
