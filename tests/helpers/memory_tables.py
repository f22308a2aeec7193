"""Tables made in memory from arrays, for studies and tests that need many of them quickly."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from richter.tables import Dataset
from richter.tables._tables import ANSWERS, RATINGS, SCORES

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


def memory_tables(
    scores: Mapping[str, Floats],
    *,
    conditions: tuple[str, ...],
    severity: Floats | None = None,
    refused: Bools | None = None,
    is_there: Bools | None = None,
    failed: Bools | None = None,
    draws: NDArray[np.intp] | None = None,
    group: NDArray[np.intp] | None = None,
    domain: NDArray[np.intp] | None = None,
    weight: Floats | None = None,
) -> Dataset:
    """A dataset of items x conditions (x draws), NaN being no grade; `is_there` leaves rows out, `failed` marks calls.

    `draws` are the numbers of the draws, else 0, 1, ... `group`, `domain` and `weight` are by item.
    """
    cube = {name: np.atleast_3d(value) for name, value in scores.items()}
    shape = next(iter(cube.values())).shape
    has_row = np.ones(shape, dtype=bool) if is_there is None else np.atleast_3d(is_there)
    item, condition, draw = np.nonzero(has_row)
    ids = pl.Series([f"q{k:05d}" for k in range(shape[0])])
    numbers = np.arange(shape[2]) if draws is None else draws
    key = {
        "item": ids.gather(item), "condition": pl.Series(conditions).gather(condition), "draw": numbers[draw],
    }  # fmt: skip
    own: dict[str, Any] = dict(key)
    if failed is not None:
        own["error"] = pl.Series(np.where(np.atleast_3d(failed)[has_row], "timeout", ""))
    if refused is not None:
        own["refused"] = np.atleast_3d(refused)[has_row]
    if group is not None:
        own["group"] = pl.Series(group[item]).cast(pl.String)
    if domain is not None:
        own["domain"] = pl.Series(domain[item]).cast(pl.String)
    if weight is not None:
        own["weight"] = weight[item]
    rows = pl.concat(
        [
            _frame(
                SCORES, key, metric=name, value=pl.Series(value[has_row]).fill_nan(None),
                kind="binary" if name == "accuracy" else "bounded", low=0.0, high=1.0, better="higher",
            )
            for name, value in cube.items()
        ]
    )  # fmt: skip
    rated = _frame(RATINGS, key).clear()
    if severity is not None:
        values = pl.Series(np.atleast_3d(severity)[has_row]).fill_nan(None)
        rated = _frame(RATINGS, key, rater="table", kind="given", severity=values)
    return Dataset(
        name="memory", answers=_frame(ANSWERS, own), scores=rows, ratings=rated, conditions=conditions,
        scored_by=("column correct",), counting=None if severity is None else "given",
    )  # fmt: skip


def _frame(schema: Mapping[str, Any], known: Mapping[str, Any], **more: Any) -> pl.DataFrame:
    """A frame of a schema; a column that is not given holds nulls, a single value holds for all rows."""
    given = {**known, **more}
    frame = pl.DataFrame({name: value for name, value in given.items() if not isinstance(value, str | float)})
    constants = [pl.lit(given.get(name)).cast(kind).alias(name) for name, kind in schema.items() if name not in frame]
    return frame.with_columns(constants).select(pl.col(name).cast(kind) for name, kind in schema.items())
