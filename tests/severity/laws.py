"""Severity distributions with known truth, for the simulations."""

import numpy as np
from numpy.typing import NDArray


def geometric(b: float, *, start: int = 0) -> NDArray[np.float64]:
    """The Gutenberg-Richter law on the levels 0.5 .. 4.0 from index `start` on."""
    p = np.zeros(8)
    p[start:] = 10 ** (-b * 0.5 * np.arange(8 - start))
    return p / p.sum()


def shaped(b: float, factors: list[float]) -> NDArray[np.float64]:
    """The law with its lowest levels multiplied by `factors`: it holds only above them."""
    p = geometric(b)
    p[: len(factors)] *= factors
    return p / p.sum()


def scores_of(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Scores with these counts at the nine levels."""
    return np.repeat(np.arange(9) / 2, counts)


def expected_counts(p: NDArray[np.float64], n_errors: int, n: int) -> NDArray[np.int64]:
    """Counts as close to a law as whole numbers come."""
    positive = np.round(p * n_errors).astype(np.int64)
    return np.concatenate([[n - positive.sum()], positive])
