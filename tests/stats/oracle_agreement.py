"""Writes oracle_agreement.json: agreement of seeded random tables by pingouin, statsmodels and krippendorff.

Needs an environment with pingouin 0.7, statsmodels 0.15, krippendorff 0.9 (they bring pandas, so they are not part
of the test environment): `python tests/stats/oracle_agreement.py > tests/stats/oracle_agreement.json`.
"""

import json

import krippendorff
import numpy as np
import pandas as pd
import pingouin
from statsmodels.stats.inter_rater import aggregate_raters, cohens_kappa, fleiss_kappa


def random_table(seed: int, n: int, k: int) -> np.ndarray:
    """Half-step ratings 0..4 of n items by k raters who share part of what they see (every level occurs)."""
    rng = np.random.default_rng(seed)
    shared = rng.normal(2.0, 1.2, size=(n, 1))
    seen = shared + rng.normal(0, 0.8, size=(n, k)) + rng.normal(0, 0.3, size=(1, k))
    return np.clip(np.round(seen * 2) / 2, 0, 4)


def main() -> None:
    """Print every oracle's figures for each table."""
    pingouin.options["round.column.CI95"] = None  # its intervals come rounded to two digits otherwise
    rows = []
    for seed, n, k in ((1, 40, 3), (2, 200, 2), (3, 60, 5), (4, 500, 4)):
        table = random_table(seed, n, k)
        row = {"seed": seed, "n": n, "k": k}
        long = pd.DataFrame(
            {"item": np.repeat(np.arange(n), k), "rater": np.tile(np.arange(k), n), "score": table.ravel()}
        )
        found = pingouin.intraclass_corr(long, targets="item", raters="rater", ratings="score").set_index("Type")
        names = {t.replace(" ", ""): t for t in found.index}
        ci = next(c for c in found.columns if c.startswith("CI95"))
        for ours, theirs in (("single", ("ICC2", "ICC(A,1)")), ("average", ("ICC2k", "ICC(A,k)"))):
            name = next(names[t] for t in theirs if t in names)
            row[ours] = float(found.loc[name, "ICC"])
            row[ours + "_interval"] = [float(v) for v in found.loc[name, ci]]
        grid = np.arange(9) / 2
        joint = np.zeros((9, 9))
        np.add.at(joint, (np.searchsorted(grid, table[:, 0]), np.searchsorted(grid, table[:, 1])), 1)
        for weights in (None, "linear", "quadratic"):
            kappa = cohens_kappa(joint, wt=weights)
            row[f"kappa_{weights or 'none'}"] = [float(kappa.kappa), float(kappa.std_kappa)]
        row["fleiss"] = float(fleiss_kappa(aggregate_raters(table)[0]))
        holes = table.copy()
        holes[np.random.default_rng(seed + 100).random((n, k)) < 0.2] = np.nan
        for metric in ("nominal", "ordinal", "interval"):
            row[f"alpha_{metric}"] = float(krippendorff.alpha(table.T, level_of_measurement=metric))
            row[f"alpha_{metric}_holes"] = float(krippendorff.alpha(holes.T, level_of_measurement=metric))
        rows.append(row)
    print(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
