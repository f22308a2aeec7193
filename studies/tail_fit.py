"""Is any GPD fit worse than the best that can be found? 100,000 samples over xi from -0.4 to 0.8.

Each fit is held against the profile likelihood on a dense grid (numpy, no code in common), and every thousandth and
every fit at xi = -1 against scipy's best of three starts. Prints how many fits are worse by more than 1e-6.

    python studies/tail_fit.py [samples]
"""

import math
import sys

import numpy as np
from numpy.typing import NDArray
from scipy.stats import genpareto

from richter.tail import fit_gpd

GRID = np.geomspace(1e-9, 0.999999, 250)


def best_on_grid(x: NDArray[np.float64]) -> float:
    top, n = x.max(), len(x)
    tau = np.concatenate([-(1 - GRID) / top, np.geomspace(1e-6, 60, 250) / np.median(x)])
    a = np.log1p(tau[:, None] * x).mean(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        value = np.where(a > -1, -n * (np.log(a / tau) + a + 1), -math.inf)
    return float(max(np.nanmax(value), -n * (math.log(x.mean()) + 1), -n * math.log(top)))


def best_of_scipy(x: NDArray[np.float64]) -> float:
    fits = [genpareto.fit(x, c, floc=0) for c in (-0.2, 0.0, 0.2)]
    found = [float(genpareto.logpdf(x, c, scale=s).sum()) for c, _, s in fits if c >= -1]  # below is no maximum
    return max(found, default=-math.inf)


def main() -> None:
    samples = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    worse = cornered = compared = 0
    largest = -math.inf
    for k in range(samples):
        rng = np.random.default_rng([3, k])
        xi, n = (0.0 if k % 4 == 0 else rng.uniform(-0.4, 0.8)), int(rng.choice([50, 100, 500]))
        x = genpareto.rvs(xi, size=n, random_state=rng)
        fit = fit_gpd(x)
        best = best_on_grid(x)
        if k % 1000 == 0 or fit.at_bound:
            best, compared = max(best, best_of_scipy(x)), compared + 1
        cornered += fit.at_bound
        worse += best - fit.loglik > 1e-6
        largest = max(largest, best - fit.loglik)
    print(f"{samples:,} samples: {worse} fits worse by more than 1e-6 (largest {largest:.2g}); {cornered} at xi = -1; ")
    print(f"{compared:,} compared with scipy's best of three starts too")


if __name__ == "__main__":
    main()
