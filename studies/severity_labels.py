"""False claims of `richter severity` where human labels were drawn by stratum, of one condition more of hard items.

Both conditions have the same true severities. The judge calls every error 2.0; people call those of hard items 3.5 and
of easy ones 1.5. Labels of `old` are drawn alike, those of `new` ten times as often of hard items. Prints the share of
worlds in which a claim on the main measure is shown, with the strata and without them.

    python studies/severity_labels.py [worlds]
"""

import sys

import numpy as np
import polars as pl

from richter.audit import weigh_scores
from richter.records import Verdict

ITEMS = 1000
SHOWN = (Verdict.VERIFIED, Verdict.REFUTED)


def simulate(rng: np.random.Generator) -> pl.DataFrame:
    """One world: a judge's ratings of all answers, people's of some, and every answer's stratum."""
    rows = []
    for name, chance in (("old", (0.15, 0.15)), ("new", (0.04, 0.4))):
        hard = np.arange(ITEMS) % 10 < 3
        wrong = rng.random(ITEMS) < 0.5
        true = np.where(wrong, np.where(hard, 3.5, 1.5) + 0.5 * rng.integers(-1, 2, ITEMS), 0.0)
        chosen = rng.random(ITEMS) < np.array(chance)[hard.astype(int)]
        for i in range(ITEMS):
            stratum = f"{name} {'hard' if hard[i] else 'easy'}"
            rows.append((f"q{i}", name, "gpt", "judge", 2.0 * wrong[i], stratum))
            if chosen[i]:
                rows.append((f"q{i}", name, "anna", "human", true[i], stratum))
    return pl.DataFrame(rows, schema=["item", "condition", "rater", "kind", "severity", "stratum"], orient="row")


def main() -> None:
    """Count worlds with a false claim."""
    worlds = int(sys.argv[1]) if len(sys.argv) > 1 else 120
    rng, false = np.random.default_rng(7), {"with strata": 0, "without": 0}
    for _ in range(worlds):
        frame = simulate(rng)
        for how, data in (("with strata", frame), ("without", frame.drop("stratum"))):
            claims = weigh_scores(data, n_resamples=200).claims
            false[how] += any(c.primary and c.verdict in SHOWN for c in claims)
    for how, number in false.items():
        print(f"{how}: a false claim on the main measure in {number} of {worlds} worlds")


if __name__ == "__main__":
    main()
