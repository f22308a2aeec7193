"""The relation graph of a search: which source led to which paragraph, cumulative error, and pruning."""

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["Trail", "Trails", "cumulative_errors", "follow"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Trail:
    """The sources after a step: those still followed, and those that the step pruned."""

    step: int
    sources: tuple[int, ...]
    pruned: tuple[int, ...]


class Trails:
    """Lines 8 to 11 of algorithm 1, step by step: a step costs by what it adds, not by what went before.

    A paragraph of a step whose error exceeds xi becomes a source; then every source whose cumulative error lies below
    gamma is pruned and stays so. A source without evaluated descendants has no cumulative error and is kept.
    `gamma=None` leaves pruning out. Sources are a function of picks, edges and errors alone, so none is stored.

    The cumulative error of a paragraph, eq. (5), is the mean error of **all** evaluated paragraphs that can be reached
    from it, erring or not: with erring ones alone, as the paper's figure suggests, each error exceeds xi and pruning at
    gamma = xi could never fire. A descendant whose questions all failed has no error and does not count.
    """

    def __init__(self, *, xi: float = 0.5, gamma: float | None = 0.5) -> None:
        self._xi, self._gamma = xi, gamma
        self._place: dict[int, int] = {}
        self._above: list[NDArray[np.int64]] = []  # of each paragraph all that lead to it
        self._total, self._count = np.zeros(64), np.zeros(64)
        self._sources: dict[int, None] = {}
        self.steps = 0

    def add(self, batch: Sequence[int], edges: Iterable[tuple[int, int]], error: Mapping[int, float]) -> Trail:
        """Take in a step: its paragraphs, the edges that lead to them, and their errors."""
        parents: dict[int, list[int]] = {}
        for source, target in edges:
            parents.setdefault(target, []).append(source)
        for paragraph in batch:
            self._add(paragraph, parents.get(paragraph, ()), error.get(paragraph, math.nan))
        self._sources.update(dict.fromkeys(p for p in batch if error.get(p, np.nan) > self._xi))  # line 8
        pruned: list[int] = []
        if self._gamma is not None:
            pi = self.cumulative(self._sources)
            pruned = [p for p in self._sources if pi.get(p, np.inf) < round(self._gamma, 12)]  # line 11
            for p in pruned:
                del self._sources[p]
        self.steps += 1
        return Trail(step=self.steps, sources=tuple(self._sources), pruned=tuple(pruned))

    def _add(self, paragraph: int, sources: Sequence[int], error: float) -> None:
        for source in sources:
            if source not in self._place:
                raise ValueError(f"the edge {source} -> {paragraph} runs backwards")
        places = [self._place[source] for source in sources]
        above = np.unique(np.concatenate([*(self._above[p] for p in places), np.array(places, dtype=np.int64)]))
        above = above.astype(np.int64)
        self._place[paragraph] = len(self._above)
        self._above.append(above)
        if len(self._above) > len(self._total):
            self._total, self._count = (np.concatenate([x, np.zeros_like(x)]) for x in (self._total, self._count))
        if not math.isnan(error):
            self._total[above] += error
            self._count[above] += 1

    def cumulative(self, paragraphs: Iterable[int]) -> dict[int, float]:
        """The cumulative error of those of some paragraphs that have evaluated descendants, eq. (5).

        To 12 digits: errors are shares of a few answers, so a mean that ties with gamma as a fraction ties here too.
        """
        places = ((p, self._place[p]) for p in paragraphs)
        return {p: round(float(self._total[i] / self._count[i]), 12) for p, i in places if self._count[i]}


def cumulative_errors(
    picks: Sequence[int], edges: Sequence[tuple[int, int]], error: Mapping[int, float]
) -> dict[int, float]:
    """The cumulative error of every paragraph that has descendants; `picks` are in the order they were chosen."""
    place = {paragraph: i for i, paragraph in enumerate(picks)}
    for source, target in edges:
        if place[source] >= place[target]:
            raise ValueError(f"the edge {source} -> {target} runs backwards")
    trails = Trails(gamma=None)
    trails.add(picks, edges, error)
    return trails.cumulative(picks)


def follow(
    steps: Sequence[Sequence[int]],
    edges: Sequence[tuple[int, int]],
    error: Mapping[int, float],
    *,
    xi: float = 0.5,
    gamma: float | None = 0.5,
) -> list[Trail]:
    """The sources after each step of a whole search; see `Trails`."""
    into: dict[int, list[tuple[int, int]]] = {}
    for edge in edges:
        into.setdefault(edge[1], []).append(edge)
    trails = Trails(xi=xi, gamma=gamma)
    return [trails.add(batch, [e for p in batch for e in into.get(p, ())], error) for batch in steps]
