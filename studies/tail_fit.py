"""Is any GPD fit worse than the best that can be found? Samples over xi from -0.4 to 0.8.

Each fit is held against the profile likelihood on a dense grid (numpy, no code in common), and one in a thousand and
every fit at xi = -1 against scipy's best of three starts. A fit is worse where its log-likelihood is lower by more than
1e-6.
"""

import math

import numpy as np
from driver import Cell, run_study
from numpy.typing import NDArray
from scipy.stats import genpareto

from richter.tail import fit_gpd

GRID = np.geomspace(1e-9, 0.999999, 250)


def best_on_grid(x: NDArray[np.float64]) -> float:
    """The largest profile log-likelihood on a dense grid."""
    top, n = x.max(), len(x)
    tau = np.concatenate([-(1 - GRID) / top, np.geomspace(1e-6, 60, 250) / np.median(x)])
    a = np.log1p(tau[:, None] * x).mean(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        value = np.where(a > -1, -n * (np.log(a / tau) + a + 1), -math.inf)
    return float(max(np.nanmax(value), -n * (math.log(x.mean()) + 1), -n * math.log(top)))


def best_of_scipy(x: NDArray[np.float64]) -> float:
    """The largest log-likelihood from three starts."""
    fits = [genpareto.fit(x, c, floc=0) for c in (-0.2, 0.0, 0.2)]
    found = [float(genpareto.logpdf(x, c, scale=s).sum()) for c, _, s in fits if c >= -1]  # below is no maximum
    return max(found, default=-math.inf)


def trial(cell: Cell, rng: np.random.Generator) -> dict[str, float]:
    """One sample."""
    xi, n = (0.0 if rng.random() < 0.25 else rng.uniform(-0.4, 0.8)), int(rng.choice(cell["exceedances"]))
    x = genpareto.rvs(xi, size=n, random_state=rng)
    fit = fit_gpd(x)
    best, is_compared = best_on_grid(x), rng.random() < 0.001 or fit.at_bound
    if is_compared:
        best = max(best, best_of_scipy(x))
    return {"worse %": best - fit.loglik > 1e-6, "at xi = -1 %": fit.at_bound, "compared with scipy %": is_compared}


if __name__ == "__main__":
    run_study(__file__, [{"exceedances": [50, 100, 500]}], trial, trials=100_000)
