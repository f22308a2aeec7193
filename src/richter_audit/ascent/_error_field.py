"""What a strategy sees: vectors, categories, what is still free, and what has been learnt."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["Field"]

# (rows to start from, k, rows left out) -> rows found, -1 where there are fewer
Find = Callable[[NDArray[np.int64], int, NDArray[np.bool_]], NDArray[np.int64]]
KEEP = 4  # neighbours kept for later steps, as a multiple of k


@dataclasses.dataclass(slots=True, kw_only=True)
class Field:
    """The base as a search sees it. `free` marks paragraphs that have a question and were not chosen yet."""

    vectors: NDArray[np.floating]
    codes: NDArray[np.int64]  # each paragraph's category
    free: NDArray[np.bool_]
    find: Find
    errors: dict[int, float] = dataclasses.field(default_factory=dict)
    arms: dict[int, tuple[str, int]] = dataclasses.field(default_factory=dict)  # who chose a paragraph, in which step
    fitted: dict[int, tuple[float, float]] = dataclasses.field(default_factory=dict)  # by how many were seen
    _near: dict[int, NDArray[np.int64]] = dataclasses.field(default_factory=dict)

    def neighbours(self, sources: Sequence[int], k: int) -> Mapping[int, NDArray[np.int64]]:
        """The k free paragraphs nearest to each source.

        A source keeps 4k neighbours from its first retrieval; it is looked up again only when fewer than k of them
        are left, so that a step costs a retrieval for its new sources, not for all of them.
        """
        short = [s for s in sources if s not in self._near or self.free[self._near[s]].sum() < k]
        if short:
            near = self.find(np.asarray(short, dtype=np.int64), KEEP * k, ~self.free)
            self._near.update({s: row[row >= 0] for s, row in zip(short, near, strict=True)})
        return {s: self._near[s][self.free[self._near[s]]][:k] for s in sources}

    def take(self, rows: Sequence[int]) -> None:
        """Mark paragraphs as chosen: none is chosen twice."""
        self.free[np.asarray(rows, dtype=np.int64)] = False
