"""A small random stream for compiled loops: seeded from a Generator, the same bits on every machine."""

import numba
import numpy as np


def stream_seed(rng: np.random.Generator) -> np.uint64:
    """A seed for `index_pair`."""
    return np.uint64(rng.integers(0, 2**64, dtype=np.uint64))


@numba.njit(cache=True)
def index_pair(state: np.uint64, size: np.uint64) -> tuple[np.uint64, np.uint64, np.uint64]:
    """The next state and two indices below `size`.

    SplitMix64 gives 64 bits a step; each half is scaled to an index by a product and a shift (bias below
    size / 2^32).
    """
    state = state + np.uint64(0x9E3779B97F4A7C15)
    x = state
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    x = x ^ (x >> np.uint64(31))
    low = ((x & np.uint64(0xFFFFFFFF)) * size) >> np.uint64(32)
    high = ((x >> np.uint64(32)) * size) >> np.uint64(32)
    return state, low, high
