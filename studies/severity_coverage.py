"""Bias and coverage of b: with m_min reselected in every resample, chosen once, and by the paper's recipe.

Laws that hold above some level, 300 to 2,500 errors. Prints a row per law and size: bias and coverage of the 95%
interval under each recipe, and how often goodness of fit rejects at 5%.

    python studies/severity_coverage.py [trials]
"""

import sys

import numpy as np
from numpy.typing import NDArray

from richter.severity import DEFAULT, PAPER, Recipe, b_from_counts


def law(b: float, factors: tuple[float, ...] = ()) -> NDArray[np.float64]:
    p = 10 ** (-b * 0.5 * np.arange(8))
    p[: len(factors)] *= factors
    return p / p.sum()


LAWS = {
    "b = 0.3": (0.3, law(0.3)),
    "b = 0.6": (0.6, law(0.6)),
    "b = 1.0": (1.0, law(1.0)),
    "b = 1.3": (1.3, law(1.3)),
    "0.6 above 1.0": (0.6, law(0.6, (0.7,))),
    "0.6 above 1.5": (0.6, law(0.6, (0.4, 0.75))),
    "1.0 above 1.5": (1.0, law(1.0, (0.3, 0.6))),
    "0.6 above 2.0": (0.6, law(0.6, (0.5, 0.7, 0.85))),
    "0.6 above 2.5, pile-up at 2.0": (0.6, law(0.6, (1, 1, 1, 2.5))),
}
RECIPES = {"reselected": DEFAULT, "chosen once": Recipe(reselect=False), "paper": PAPER}


def main() -> None:
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    rng = np.random.default_rng(5)
    print(f"{trials} trials a row; binomial error of a coverage of 0.95: {np.sqrt(0.95 * 0.05 / trials):.4f}")
    print(f"{'law':31s} errors " + "".join(f"{f'{n}: bias, coverage':>32s}" for n in RECIPES) + "   fit rejected")
    for name, (b, p) in LAWS.items():
        for n in (300, 1000, 2500):
            found: dict[str, list[tuple[float, bool]]] = {r: [] for r in RECIPES}
            rejected = 0
            for _ in range(trials):
                counts = np.concatenate([[0], rng.multinomial(n, p)])
                for rule, recipe in RECIPES.items():
                    fit = b_from_counts(
                        counts, recipe=recipe, n_resamples=500, goodness_of_fit=rule == "reselected", rng=rng
                    )
                    found[rule].append((fit.b - b, b in fit.interval))
                    rejected += rule == "reselected" and fit.gof_p <= 0.05
            cells = ""
            for rows in found.values():
                bias, hit = np.array(rows, dtype=np.float64).T
                cells += f"{bias.mean():+20.3f}, {hit.mean():10.3f}"
            print(f"{name:31s} {n:6d} {cells}   {rejected / trials:12.3f}", flush=True)


if __name__ == "__main__":
    main()
