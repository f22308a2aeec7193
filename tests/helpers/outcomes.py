"""Outcomes from arrays, for tests."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from richter.claims import METRICS, Outcomes


def outcomes(values: ArrayLike, metric: str = "accuracy", **more: Any) -> Outcomes:
    """Items x conditions (x draws); NaN where there is no answer."""
    table = np.asarray(values, dtype=np.float64)
    table = table[:, :, None] if table.ndim == 2 else table
    item, condition, draw = (index.ravel() for index in np.indices(table.shape))
    known = ~np.isnan(table.ravel())
    given: dict[str, Any] = {
        "metric": METRICS[metric],
        "items": tuple(f"q{k}" for k in range(table.shape[0])),
        "conditions": tuple("abcdefghijklmnopqrstu"[: table.shape[1]]),
    }
    return Outcomes(
        item=item[known],
        condition=condition[known],
        draw=draw[known],
        value=table.ravel()[known],
        **(given | more),
    )
