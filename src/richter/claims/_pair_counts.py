"""How often two conditions were right and wrong on the items that both have: counts of all pairs, made at once."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from richter.stats import Floats

__all__: list[str] = []

Counts = NDArray[np.int64]
MOST_EXACT = 2**24  # counts up to which sums of 32-bit floats are exact


class RightCounts(NamedTuple):
    """Of every pair of conditions, on the items that both have: those that the first, and only the second, got right.

    `right[i, j]` is about i, `gained[i, j]` counts what j got right and i did not.
    """

    right: Counts
    gained: Counts


def count_shared(mean: Floats) -> Counts:
    """The items that two conditions both have a value for; on the diagonal those of each."""
    known = _as_sums(~np.isnan(mean))
    return (known.T @ known).astype(np.int64)


def count_right(mean: Floats) -> RightCounts | None:
    """The counts of grades 0 and 1; None where there are other values."""
    known = ~np.isnan(mean)
    if not np.isin(mean[known], (0.0, 1.0)).all():
        return None
    right, wrong = _as_sums(mean == 1), _as_sums(mean == 0)
    gained = (wrong.T @ right).astype(np.int64)
    return RightCounts(right=(right.T @ right).astype(np.int64) + gained.T, gained=gained)


def _as_sums(of: NDArray[np.bool_]) -> Floats:
    """As floats that are summed without an error."""
    return of.astype(np.float32 if len(of) < MOST_EXACT else np.float64)
