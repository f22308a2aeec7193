"""Samples with known tails for the tests."""

import numpy as np
from numpy.typing import NDArray


def gpd(n: int, xi: float, sigma: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """A GPD sample by inversion, written without the room's own code."""
    e = rng.exponential(size=n)
    return sigma * e if xi == 0 else sigma * np.expm1(xi * e) / xi
