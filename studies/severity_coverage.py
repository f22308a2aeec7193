"""Coverage of b: at a planned m_min behind its gate, and as the paper chooses m_min.

Five laws (exact, an excess of minor slips, a mild one, a deficit, a pile-up at 2.0), b of 0.8 and 1.0, 1,000 and 2,500
errors. Of each: the share of intervals that hold the true b, how often there is none (too few errors to start from),
how often the gate passes, and the coverage where it does. Cells are kept in a file as they are done; started again, the
study goes on with what is missing.

    python studies/severity_coverage.py [trials] [file] [recipe ..]
"""

import json
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from richter.errors import TooFewErrors
from richter.severity import DEFAULT, Recipe, b_from_counts

SHAPES = {
    "exact": (),
    "excess x2 at 0.5, x1.5 at 1.0": (2.0, 1.5),
    "mild excess x1.3, x1.15": (1.3, 1.15),
    "deficit x0.5, x0.7": (0.5, 0.7),
    "pile-up x2.5 at 2.0": (1.0, 1.0, 1.0, 2.5),
}
RECIPES = {"planned 1.5": DEFAULT, "ks": Recipe(m_min="ks")}


def law(b: float, factors: tuple[float, ...]) -> NDArray[np.float64]:
    p = 10 ** (-b * 0.5 * np.arange(8))
    p[: len(factors)] *= factors
    return p / p.sum()


def cell(shape: str, b: float, errors: int, recipe: str, trials: int) -> dict[str, float]:
    rng = np.random.default_rng([17, list(SHAPES).index(shape), round(10 * b), errors, 2 * list(RECIPES).index(recipe)])
    hits, gated, none = [], [], 0
    for _ in range(trials):
        counts = np.concatenate([[0], rng.multinomial(errors, law(b, SHAPES[shape]))])
        try:
            found = b_from_counts(counts, recipe=RECIPES[recipe], n_resamples=800, rng=rng)
        except TooFewErrors:
            none += 1
            continue
        hits.append(b in found.interval)
        gated.append(found.adequate)
    hit, gate = np.array(hits, dtype=bool), np.array(gated, dtype=bool)
    return {
        "covers": float(hit.mean()) if len(hit) else float("nan"),
        "none": none / trials,
        "passes": float(gate.sum() / trials),
        "covers where it passes": float(hit[gate].mean()) if gate.any() else float("nan"),
    }


def main() -> None:
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    file = Path(sys.argv[2] if len(sys.argv) > 2 else "severity_coverage.jsonl")
    done = {}
    if file.exists():
        done = {row["key"]: row for row in map(json.loads, file.read_text().splitlines())}
    print(f"{trials} trials a cell; binomial error of a coverage of 0.95: {np.sqrt(0.95 * 0.05 / trials):.4f}")
    for errors in (1000, 2500):
        for b in (0.8, 1.0):
            for shape in SHAPES:
                for recipe in sys.argv[3:] or RECIPES:
                    key = f"{shape} | b = {b} | {errors} errors | {recipe} | {trials}"
                    if key not in done:
                        done[key] = {"key": key, **cell(shape, b, errors, recipe, trials)}
                        with file.open("a") as out:
                            out.write(json.dumps(done[key]) + "\n")
                    row = done[key]
                    print(
                        f"{shape:31s} b {b:.1f} {errors:5d} errors {recipe:12s} covers {row['covers']:.3f}, none "
                        f"{row['none']:.3f}, gate passes {row['passes']:.3f}, covers there "
                        f"{row['covers where it passes']:.3f}",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
