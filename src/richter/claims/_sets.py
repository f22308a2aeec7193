"""Leaderboards as sets: who cannot be told apart from whom."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["maximal_sets"]


def maximal_sets(alike: NDArray[np.bool_]) -> list[list[int]]:
    """All maximal sets of members of which every two are `alike` (a symmetric matrix), by Bron and Kerbosch.

    Sets may overlap: with a ~ b and b ~ c but a and c told apart, {a, b} and {b, c} come out, never {a, b, c}. They
    are ordered by their first member, and members keep their order.
    """
    number = len(alike)
    near = [{j for j in range(number) if j != i and alike[i, j]} for i in range(number)]
    found: list[list[int]] = []

    def grow(members: set[int], candidates: set[int], done: set[int]) -> None:
        if not candidates and not done:
            found.append(sorted(members))
            return
        pivot = max(candidates | done, key=lambda v: len(near[v] & candidates))
        for vertex in sorted(candidates - near[pivot]):
            grow(members | {vertex}, candidates & near[vertex], done & near[vertex])
            candidates = candidates - {vertex}
            done = done | {vertex}

    if number:
        grow(set(), set(range(number)), set())
    return sorted(found)
