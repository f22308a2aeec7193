"""False discoveries and power of the four counts of `discriminate`, beside the paper's recipe.

21 simulated models on 10,000 simulated items; items differ in difficulty, so that models err on the same ones more
often than chance. Error severities are drawn from each model's law. Prints, per scenario, the mean number of pairs
each rule finds, the false-discovery rate, the share of studies with any false pair, and the power where laws differ.

    python studies/severity_gates.py [studies per scenario] [scenario ...]
"""

import sys
import time

import numpy as np
from numpy.typing import NDArray

from richter.records import Verdict
from richter.severity import Discrimination, discriminate

MODELS, ITEMS, ERROR_RATE = 21, 10_000, 0.25


def geometric(b: float) -> NDArray[np.float64]:
    p = 10 ** (-b * 0.5 * np.arange(8))
    return p / p.sum()


def shaped(b: float, factors: list[float]) -> NDArray[np.float64]:
    p = geometric(b) * np.array(factors)
    return p / p.sum()


ROLL_OFF = [0.4, 0.75, 1, 1, 1, 1, 1, 1]
# judges avoid half steps and pile up at 2.0: the law holds above no level
PILE_UP = [0.4, 1, 0.4, 4.0, 0.4, 1, 0.4, 1]
THREE = [0.5] * 7 + [0.65] * 7 + [0.8] * 7

SCENARIOS = {
    "identical, b = 0.6": [geometric(0.6)] * MODELS,
    "identical, roll-off below 1.5": [shaped(0.6, ROLL_OFF)] * MODELS,
    "identical, pile-up at 2.0": [shaped(0.6, PILE_UP)] * MODELS,
    "mixed, b = 0.5, 0.65, 0.8": [geometric(b) for b in THREE],
    "mixed, roll-off below 1.5": [shaped(b, ROLL_OFF) for b in THREE],
    # the same slope above 1.5 with and without a roll-off below it: a call across the two halves is false
    "equal tails, unlike bulks": [geometric(0.6)] * 10 + [shaped(0.6, ROLL_OFF)] * 11,
}
SAME_SLOPE = {"equal tails, unlike bulks"}


def simulate(laws: list[NDArray[np.float64]], rng: np.random.Generator) -> dict[str, NDArray[np.float64]]:
    hard = rng.random(ITEMS) < 0.5
    chance = np.where(hard, 1.6, 0.4) * ERROR_RATE
    out = {}
    for i, law in enumerate(laws):
        wrong = rng.random(ITEMS) < chance
        severity = np.zeros(ITEMS)
        severity[wrong] = rng.choice(8, size=int(wrong.sum()), p=law) / 2 + 0.5
        out[f"m{i}"] = severity
    return out


def called(found: Discrimination) -> dict[str, NDArray[np.bool_]]:
    pairs = found.pairs
    return {
        "paper": np.array([bool(p.disjoint) for p in pairs]),
        "paper, gap > 0.15": np.array([bool(p.disjoint) and abs(p.paper_delta_b or 0) > 0.15 for p in pairs]),
        "difference test": np.array([p.q is not None and p.q <= 0.05 for p in pairs]),
        "gated": np.array([p.finding.verdict is Verdict.VERIFIED for p in pairs]),
    }


def main() -> None:
    studies = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    wanted = sys.argv[2:] or list(SCENARIOS)
    for name in wanted:
        laws = SCENARIOS[name]
        rng = np.random.default_rng(11)
        # a fine p-value is needed by few pairs of identical models and by most of a mixed study
        n_resamples = 1000 if name.startswith("mixed") else 200
        start = time.process_time()
        totals: dict[str, list[tuple[float, float, float, float]]] = {}
        p_null = []
        for _ in range(studies):
            found = discriminate(simulate(laws, rng), n_resamples=n_resamples, rng=rng, mapper=map)
            same = np.array(
                [name in SAME_SLOPE or np.array_equal(laws[int(p.a[1:])], laws[int(p.b[1:])]) for p in found.pairs],
                dtype=np.bool_,
            )
            p_null += [p.p for p, s in zip(found.pairs, same, strict=True) if s and p.p is not None]
            for rule, hit in called(found).items():
                false = int(np.sum(hit & same))
                power = float(np.mean(hit[~same])) if (~same).any() else np.nan
                totals.setdefault(rule, []).append((hit.sum(), false / max(int(hit.sum()), 1), false > 0, power))
        seconds = time.process_time() - start
        print(f"\n{name}: {studies} studies of {MODELS} models, {seconds:.0f} s of CPU")
        print(
            f"size of the paired permutation test at 5%: {np.mean(np.array(p_null) <= 0.05):.4f} ({len(p_null)} pairs)"
        )
        for rule, rows in totals.items():
            found_pairs, fdr, any_false, power = np.array(rows, dtype=np.float64).T
            shown = "" if np.isnan(power).all() else f"   power {power.mean():.3f}"
            print(
                f"  {rule:18s} pairs {found_pairs.mean():6.2f}   false-discovery rate {fdr.mean():.4f}   "
                f"studies with a false pair {any_false.mean():.3f}{shown}",
                flush=True,
            )


if __name__ == "__main__":
    main()
