"""Arrays by what they hold, as signatures name them."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["Bools", "Floats", "Indices", "Ints"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Indices = NDArray[np.intp]
Bools = NDArray[np.bool_]
