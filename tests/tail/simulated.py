"""Samples with known tails for the tests, and what chance allows a count of them."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv
from scipy.stats import binom


def gpd(n: int, xi: float, sigma: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """A GPD sample by inversion, written without the room's own code."""
    e = rng.exponential(size=n)
    return sigma * e if abs(xi) < 1e-12 else sigma * np.expm1(xi * e) / xi


def mixture_quantiles(n: int, xi: float) -> NDArray[np.float64]:
    """The law of `draw_severities` without chance: its n quantiles at (i - 1/2) / n, ascending.

    A tenth of GPD(xi, 1 - xi) above 3, over a bulk 3 Beta(2, 3): equal mean and TVaR_0.9 for every xi.
    """
    p = (np.arange(n) + 0.5) / n
    e = -np.log((1 - p[p > 0.9]) / 0.1)
    tail = e if xi == 0 else (1 - xi) * np.expm1(xi * e) / xi
    return np.concatenate([3 * betaincinv(2, 3, p[p <= 0.9] / 0.9), 3 + tail])


def at_least(count: int, trials: int, rate: float) -> bool:
    """Whether so few would be seen more often than once in 10,000 if the rate is at least this."""
    return bool(binom.cdf(count, trials, rate) > 1e-4)


def at_most(count: int, trials: int, rate: float) -> bool:
    """Whether so many would be seen more often than once in 10,000 if the rate is at most this."""
    return bool(binom.sf(count - 1, trials, rate) > 1e-4)
