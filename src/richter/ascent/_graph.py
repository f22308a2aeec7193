"""The relation graph of a search: which source led to which paragraph, cumulative error, and pruning."""

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["Trail", "cumulative_errors", "follow"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Trail:
    """The sources after a step: those still followed, and those that the step pruned."""

    step: int
    sources: tuple[int, ...]
    pruned: tuple[int, ...]


def cumulative_errors(
    picks: Sequence[int], edges: Sequence[tuple[int, int]], error: Mapping[int, float]
) -> dict[int, float]:
    """The cumulative error of every paragraph that has descendants, eq. (5): the mean error of all its descendants.

    `picks` are in the order they were chosen and every edge runs from an earlier pick to a later one, so the graph
    has no loop; an edge that does not is a fault in the data. Descendants are **all** evaluated paragraphs that can
    be reached, erring or not: with erring ones alone, as the paper's figure suggests, each error exceeds xi and
    pruning at gamma = xi could never fire. A descendant whose questions all failed has no error and does not count.
    """
    place = {paragraph: i for i, paragraph in enumerate(picks)}
    children: dict[int, list[int]] = {}
    for source, target in edges:
        if place[source] >= place[target]:
            raise ValueError(f"the edge {source} -> {target} runs backwards")
        children.setdefault(place[source], []).append(place[target])
    errors = np.array([error.get(p, np.nan) for p in picks], dtype=np.float64)
    known = ~np.isnan(errors)
    reached: dict[int, NDArray[np.bool_]] = {}
    found = {}
    for source in sorted(children, reverse=True):  # later ones first: what a child reaches is known by then
        row = np.zeros(len(picks), dtype=np.bool_)
        for target in children[source]:
            row[target] = True
            if target in reached:
                row |= reached[target]
        reached[source] = row
        if (row & known).any():
            found[picks[source]] = float(errors[row & known].mean())  # eq. (5)
    return found


def follow(
    steps: Sequence[Sequence[int]],
    edges: Sequence[tuple[int, int]],
    error: Mapping[int, float],
    *,
    xi: float = 0.5,
    gamma: float | None = 0.5,
) -> list[Trail]:
    """The sources after each step, lines 8 to 11 of algorithm 1.

    A paragraph of the step whose error exceeds xi becomes a source; then every source whose cumulative error lies
    below gamma is pruned and stays so. A source without evaluated descendants has no cumulative error and is kept.
    `gamma=None` leaves pruning out. Sources are a function of picks, edges and errors alone, so none is stored.
    """
    position = {paragraph: t for t, batch in enumerate(steps) for paragraph in batch}
    picks: list[int] = []
    sources: dict[int, None] = {}
    trails = []
    for t, batch in enumerate(steps):
        picks.extend(batch)
        sources.update(dict.fromkeys(p for p in batch if error.get(p, np.nan) > xi))  # line 8
        pruned: list[int] = []
        if gamma is not None:
            pi = cumulative_errors(picks, [e for e in edges if position[e[1]] <= t], error)
            pruned = [p for p in sources if pi.get(p, np.inf) < gamma]  # line 11
            for p in pruned:
                del sources[p]
        trails.append(Trail(step=t + 1, sources=tuple(sources), pruned=tuple(pruned)))
    return trails
