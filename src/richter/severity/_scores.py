"""One study's scores as arrays: items by conditions."""

import dataclasses
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from richter.severity._grid import snap

__all__ = ["Scores"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """Severities of `items` (rows) under `conditions` (columns), NaN where not rated, with what is known of each.

    `domain`, `tier` and `groups` (codes; items of a group are not independent) are per item; `judges` holds the judges'
    own scores (judges x items x conditions, NaN where one gave none) and `judge_names` who they were; `length` is the
    answer's length in any unit.
    """

    items: tuple[str, ...]
    conditions: tuple[str, ...]
    severity: NDArray[np.float64]
    domain: NDArray[np.str_] | None = None
    tier: NDArray[np.int64] | None = None
    judges: NDArray[np.float64] | None = None
    judge_names: NDArray[np.str_] | None = None
    length: NDArray[np.float64] | None = None
    groups: NDArray[np.intp] | None = None

    def columns(self) -> dict[str, NDArray[np.float64]]:
        """Each condition's severities."""
        return {name: self.severity[:, i] for i, name in enumerate(self.conditions)}

    def counts(self, keep: NDArray[np.bool_] | None = None) -> dict[str, NDArray[np.int64]]:
        """Each condition's counts at the nine levels, on the items to keep."""
        levels = snap(self.severity if keep is None else self.severity[keep])
        return {name: np.bincount(x[x >= 0], minlength=9) for name, x in zip(self.conditions, levels.T, strict=True)}

    def by_domain(self) -> Iterator[tuple[str, NDArray[np.bool_]]]:
        """Each domain with the mask of its items; none where domains are not given."""
        if self.domain is not None:
            for name in np.unique(self.domain):
                if name:
                    yield str(name), self.domain == name
