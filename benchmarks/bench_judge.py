"""Agreement and rule judging: Richter against pingouin in one run, and its own times.

Needs pingouin for the ratio (it brings pandas, so it is not part of the development environment), and for the rule
judge the gazetteer of `richter bench facts` (give its path; the golden set's small one is used otherwise).
"""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from richter.stats import icc, krippendorff_alpha

FOLDER = Path(__file__).resolve().parents[1] / "tests" / "judge"


def seconds(act: Callable[[], object], repeats: int = 1) -> float:
    """The least CPU time of several runs."""
    best = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        act()
        best = min(best, time.process_time() - start)
    return best


def ratings(n: int, k: int, seed: int = 0) -> np.ndarray:
    """Simulated half-step ratings."""
    rng = np.random.default_rng(seed)
    return np.clip(np.round((rng.normal(1, 1.2, (n, 1)) + rng.normal(0, 0.9, (n, k))) * 2) / 2, 0, 4)


def main() -> None:
    """Print the ratios and times."""
    table = ratings(60_568, 2)
    ours = seconds(lambda: icc(table), repeats=3)
    print(f"ICC with interval, 60,568 x 2: {ours * 1000:.1f} ms of CPU")
    try:
        import pandas as pd
        import pingouin
    except ImportError:
        print("  pingouin is not installed here: no ratio")
    else:
        n, k = table.shape
        long = pd.DataFrame(
            {"item": np.repeat(np.arange(n), k), "rater": np.tile(np.arange(k), n), "score": table.ravel()}
        )
        theirs = seconds(lambda: pingouin.intraclass_corr(long, targets="item", raters="rater", ratings="score"))
        print(f"  pingouin {theirs:.2f} s of CPU: {theirs / ours:.0f} times as long")
    alpha = seconds(lambda: krippendorff_alpha(ratings(3000, 3), n_resamples=2000))
    print(f"ordinal alpha with bootstrap interval, 3,000 x 3, 2,000 resamples: {alpha:.3f} s of CPU")

    try:
        from richter.records import Item
        from richter_audit.bench import read_gazetteer
        from richter_audit.judge import RuleJudge
    except ImportError as error:
        print(f"rule judge: not measured here ({error})")
        return
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER / "golden.gazetteer.json.gz"
    judge = RuleJudge(read_gazetteer(path))
    rows = [json.loads(line) for line in (FOLDER / "golden.jsonl").read_text(encoding="utf-8").splitlines()]
    cases = [(Item.from_dict(row["item"]), row["answer"]) for row in rows]
    cases = (cases * (10_000 // len(cases) + 1))[:10_000]
    spent = seconds(lambda: [judge.score(item, answer) for item, answer in cases])
    print(f"10,000 rule judgements ({len(rows)} answers, again and again): {spent:.2f} s of CPU")


if __name__ == "__main__":
    main()
