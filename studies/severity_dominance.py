"""How often "worse at every severity" is claimed falsely: a top level hardly ever seen, equal top levels, all pairs.

python studies/severity_dominance.py [replicates]
"""

import sys
from itertools import combinations

import numpy as np

from richter.claims import METRICS, Asked, Question, decide
from richter.records import Verdict
from richter.severity import compare_dominance

# shares of the levels 0, 0.5, ... 4.0
RARE = ([0.70, 0, 0.2498, 0, 0.05, 0, 0, 0, 0.0002], [0.60, 0, 0.30, 0, 0.1, 0, 0, 0, 0.0])  # 4.0 is reversed
EQUAL = ([0.70, 0, 0.20, 0, 0.06, 0, 0.03, 0, 0.01], [0.50, 0, 0.28, 0, 0.14, 0, 0.07, 0, 0.01])  # 4.0 is alike
SIX = [[0.70 - 0.06 * k, 0, 0.20 + 0.02 * k, 0, 0.06 + 0.02 * k, 0, 0.03 + 0.02 * k, 0, 0.01] for k in range(6)]


def main() -> None:
    replicates = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    rng = np.random.default_rng(11)
    shown = top = 0
    for _ in range(replicates):
        found = compare_dominance(*(rng.choice(9, size=500, p=p) / 2 for p in RARE))
        hit = found.evidence.interval(0.95).low > 0
        shown, top = shown + hit, top + (hit and found.unseen is None)
    print(f"top level hardly seen, 500 items: shown {shown / replicates:.4f}, speaking of it {top / replicates:.4f}")
    false = 0
    for _ in range(replicates):
        found = compare_dominance(*(rng.choice(9, size=800, p=p) / 2 for p in EQUAL))
        false += found.evidence.interval(0.95).low > 0
    print(f"equal top level, 800 items: {false / replicates:.4f}")
    false = 0
    for _ in range(replicates):
        data = [rng.choice(9, size=2000, p=p) / 2 for p in SIX]
        asked = [
            Asked(
                question=Question(measure="dominance", conditions=(str(i), str(j))),
                metric=METRICS["dominance"],
                evidence=compare_dominance(data[i], data[j]).evidence,
            )
            for i, j in combinations(range(6), 2)
        ]
        false += any(claim.verdict is Verdict.VERIFIED for claim in decide(asked))
    print(f"six models, equal top level, 2,000 items, any of 15 pairs: {false / replicates:.4f}")


if __name__ == "__main__":
    main()
