"""Counts of severities by condition, and jointly for two conditions, which the ERRORQUAKE analyses start from."""

import numpy as np
from numpy.typing import NDArray

from richter.severity import snap
from richter.stats import Floats, Ints


def counts_of(severity: Floats) -> Floats:
    """Counts at the nine levels, one row per column of an items x conditions table."""
    levels = snap(severity)
    return np.array([np.bincount(x[x >= 0], minlength=9) for x in levels.T], dtype=np.float64).reshape(-1, 9)


def count_joint(a: NDArray[np.int8], b: NDArray[np.int8]) -> Ints:
    """The 9 x 9 table of two conditions' levels (from `snap`) on the items that both have."""
    both = (a >= 0) & (b >= 0)
    return np.bincount(a[both].astype(np.int64) * 9 + b[both], minlength=81).reshape(9, 9)
