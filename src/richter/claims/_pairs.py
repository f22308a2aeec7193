"""Pairs of conditions: which are compared, what they share, and the sets that cannot be told apart."""

import dataclasses
import itertools
import math
from collections.abc import Mapping, Sequence

import numpy as np

from richter.claims._measures import Metric
from richter.claims._units import Sample
from richter.errors import InputError
from richter.records import Claim, Verdict
from richter.stats import Bools
from richter.words._check_words import describe_few_shared

__all__ = ["Shared", "maximal_sets", "pairs_of", "rank_spans", "shared_items", "tiers_of", "too_few_shared"]

MAX_PAIRS = 200_000  # some minutes; more are a column that holds no conditions


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """What two conditions have in common: items of both, of the first alone and of the second alone."""

    conditions: tuple[str, str]
    both: int
    first_only: int
    second_only: int

    @property
    def sides(self) -> tuple[int, int]:
        """All items of each."""
        return self.both + self.first_only, self.both + self.second_only


def pairs_of(conditions: Sequence[str], *, control: str | None = None) -> list[tuple[str, str]]:
    """Which pairs are compared, first and second: all, or all others against a control."""
    if control is None and (number := math.comb(len(conditions), 2)) > MAX_PAIRS:
        raise InputError(
            f"{len(conditions):,} conditions make {number:,} pairs; at most {MAX_PAIRS:,} are compared.",
            remedy="Name those to compare, or one to compare the others with (--control). If that column holds no "
            "conditions, say which does: --map condition=COLUMN.",
        )
    if control is None:
        return list(itertools.combinations(conditions, 2))
    if control not in conditions:
        raise InputError(f"No condition is named {control}.", remedy=f"There are {', '.join(conditions)}.")
    return [(control, name) for name in conditions if name != control]


def shared_items(sample: Sample, first: str, second: str) -> Shared:
    """How many items two conditions have values for, together and alone."""
    i, j, shared = sample.place(first), sample.place(second), sample.shared
    both = int(shared[i, j])
    return Shared(
        conditions=(first, second),
        both=both,
        first_only=int(shared[i, i]) - both,
        second_only=int(shared[j, j]) - both,
    )


def too_few_shared(sample: Sample, shared: Shared, *, min_shared: float, of_first: bool = False) -> str:
    """Why two conditions share too few items to be compared; empty where they share enough.

    The share is that of all items that either has, or of the first condition's alone (`of_first`).
    """
    either = shared.sides[0] + (0 if of_first else shared.second_only)
    if shared.both >= 1 and shared.both >= min_shared * either:
        return ""
    examples = () if shared.both else _own_items(sample, *shared.conditions)
    return describe_few_shared(shared.both, either, least=min_shared, examples=examples)


def _own_items(sample: Sample, first: str, second: str) -> tuple[str, ...]:
    """An item of each, where they share none."""
    places = (sample.place(name) for name in (first, second))
    return tuple(sample.outcomes.items[int(np.flatnonzero(~np.isnan(sample.mean[:, k]))[0])] for k in places)


def tiers_of(claims: Sequence[Claim], values: Mapping[str, float], metric: Metric) -> tuple[tuple[str, ...], ...]:
    """Maximal sets of conditions of which no pair is told apart, members and sets best first; they may overlap.

    `values` are the conditions' own means; one that has none is ranked by what its claims say of it. A blocked pair is
    never alike, nor does it tell apart.
    """
    main = [c for c in claims if c.measure == metric.name and len(c.conditions) == 2 and c.estimate is not None]
    ranked = _ranked_conditions(main, values, metric)
    place = {name: k for k, name in enumerate(ranked)}
    alike = np.zeros((len(ranked), len(ranked)), dtype=bool)
    compared = set[str]()
    for claim in main:
        compared |= set(claim.conditions)
        i, j = (place[name] for name in claim.conditions)
        alike[i, j] = alike[j, i] = claim.verdict in (Verdict.UNDECIDED, Verdict.EQUIVALENT)
    sets = (tuple(ranked[k] for k in members) for members in maximal_sets(alike))
    return tuple(members for members in sets if compared.issuperset(members))


def rank_spans(claims: Sequence[Claim], conditions: Sequence[str], metric: Metric) -> dict[str, tuple[int, int]]:
    """The best and the worst rank that each condition may have, 1 being the best, from the decided claims of all pairs.

    The best is one more than the number of conditions that are shown to be better, the worst the number of conditions
    less those that are shown to be worse. All spans hold together at the level of the claims' family, since they say
    nothing that a claim does not say; a pair that is blocked or not compared widens them.
    """
    better, worse = dict.fromkeys(conditions, 0), dict.fromkeys(conditions, 0)
    for claim in claims:
        if claim.measure != metric.name or len(claim.conditions) != 2 or claim.estimate is None:
            continue
        if claim.verdict in (Verdict.VERIFIED, Verdict.REFUTED):
            first, second = claim.conditions
            is_second = (claim.estimate > 0) == (metric.better == "higher")
            winner, loser = (second, first) if is_second else (first, second)
            better[loser] += 1
            worse[winner] += 1
    return {name: (1 + better[name], len(conditions) - worse[name]) for name in conditions}


def _ranked_conditions(main: Sequence[Claim], values: Mapping[str, float], metric: Metric) -> list[str]:
    """The conditions of claims, the best first, by their own means or else by what the claims say of them."""
    known = dict.fromkeys((name for claim in main for name in claim.conditions), 0.0)
    known |= {n: v for c in main for n, v in zip(c.conditions, c.values, strict=False) if v is not None}
    known |= values
    return sorted(known, key=lambda name: known[name], reverse=metric.better == "higher")


def maximal_sets(alike: Bools) -> list[list[int]]:
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
