"""The severity grid 0, 0.5, .. 4.0: snapping scores to it, and counting."""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from richter.errors import InputError
from richter.stats import Floats, Ints

__all__ = ["POSITIVE", "count_levels", "snap"]

DELTA = 0.5
TOP = 4.0
LEVELS: Floats = np.arange(9, dtype=np.float64) * DELTA
POSITIVE: Floats = LEVELS[1:]


def snap(severity: ArrayLike, *, name: str = "severity") -> NDArray[np.int8]:
    """The level of each score as an index 0..8 (0 is correct, 8 is 4.0); NaN (not rated) becomes -1.

    Judge means fall on quarter steps; the fits are on half steps. A positive score goes to its nearest level, halves
    going down, and never to "correct": 0.25 becomes 0.5.
    """
    scores = np.asarray(severity, dtype=np.float64)
    unrated = np.isnan(scores)
    off = ~unrated & ((scores < 0) | (scores > TOP))
    if off.any():
        rows = np.flatnonzero(off.ravel())
        shown = ", ".join(f"row {r + 1}: {scores.ravel()[r]:g}" for r in rows[:3]) + (", …" if len(rows) > 3 else "")
        raise InputError(
            f"{len(rows)} {name} score{'s' * (len(rows) > 1)} off the 0..4 scale ({shown}).",
            remedy="Severities run from 0 (correct) to 4; map another scale onto it first (--as-severity RIGHT:WORST).",
        )
    filled = np.where(unrated, 0.0, scores)
    # the slack keeps a mean of thirds or tenths that is a quarter step but for its last bit from moving up
    nearest = np.ceil(filled / DELTA - 0.5 - 1e-9)
    index = np.where(filled > 0, np.maximum(nearest, 1), 0)
    return np.where(unrated, -1, index).astype(np.int8)


def level_index(level: float) -> int:
    """The index of a positive grid level; anything else is refused."""
    index = round(level / DELTA) if math.isfinite(level) else 0
    if not 1 <= index <= 8 or abs(index * DELTA - level) > 1e-9:
        raise InputError(f"{level:g} is not a level of the grid.", remedy="Use one of 0.5, 1.0, .. 4.0.")
    return index


def count_levels(severity: ArrayLike) -> Ints:
    """How many scores fall on each of the nine levels; unrated ones are not counted."""
    index = snap(severity).ravel()
    return np.bincount(index[index >= 0], minlength=9)
