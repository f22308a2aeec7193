"""Unbiased means of a pool when items were drawn with unequal chances: LURE (Farquhar, Gal and Rainforth 2021)."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from richter.errors import InputError
from richter.stats import Floats, Indices

__all__ = ["LureDraw", "lure_draw", "lure_weights"]


class LureDraw(NamedTuple):
    """The items in the order drawn, and the chance that each had when it was."""

    items: Indices
    chances: Floats


def lure_draw(weight: ArrayLike, size: int, *, rng: np.random.Generator) -> LureDraw:
    """Draw `size` items one after the other, each with chance proportional to weight among those left.

    Gives the items in order and the chance each had when it was drawn; both are needed for the weights.
    """
    left = np.asarray(weight, dtype=np.float64).copy()
    if left.ndim != 1 or not (left > 0).all() or not 1 <= size <= len(left):
        raise InputError("Weights must be above 0, and no more items drawn than there are.", remedy="Check both.")
    items, chances = np.empty(size, dtype=np.intp), np.empty(size)
    for k in range(size):
        share = left / left.sum()
        items[k] = rng.choice(len(left), p=share)
        chances[k] = share[items[k]]
        left[items[k]] = 0.0
    return LureDraw(items, chances)


def lure_weights(chances: ArrayLike, pool: int) -> Floats:
    """Weights v_m with which the mean of v_m x_m over the drawn items is unbiased for the pool's mean of x.

    v_m = 1 + (N - M) / (N - m) (1 / ((N - m + 1) q_m) - 1) for the m-th of M draws from N, drawn with chance q_m. All
    are 1 when draws are uniform. Chances may depend on labels seen before.
    """
    q = np.asarray(chances, dtype=np.float64)
    drawn = len(q)
    if drawn == 0 or drawn > pool or not ((q > 0) & (q <= 1)).all():
        raise InputError(f"{drawn} chances do not fit a pool of {pool}.", remedy="Give each item's chance in (0, 1].")
    m = np.arange(1, drawn + 1)
    if drawn == pool:
        return np.ones(drawn)
    weights: Floats = 1 + (pool - drawn) / (pool - m) * (1 / ((pool - m + 1) * q) - 1)
    return weights
