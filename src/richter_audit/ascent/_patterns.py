"""What failing paragraphs have in common: contrasts of attributes, tested with multiplicity control."""

import dataclasses
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from richter.records import Result
from richter.stats import benjamini_hochberg

__all__ = ["Pattern", "find_patterns"]

Value = tuple[tuple[str, str], ...]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Pattern(Result):
    """A group of paragraphs by one or two attributes, and its mean error against all the others'."""

    attributes: Mapping[str, str]
    paragraphs: int
    error: float
    others: int
    error_of_others: float
    p_value: float
    adjusted_p_value: float

    def __str__(self) -> str:
        name = ", ".join(f"{k} {v}" for k, v in self.attributes.items())
        return f"{name}: {self.error:.0%} wrong against {self.error_of_others:.0%}"


def find_patterns(
    errors: Sequence[float],
    attributes: Sequence[Mapping[str, Any]],
    *,
    smallest: int = 10,
    level: float = 0.95,
    n_resamples: int = 2000,
    rng: np.random.Generator,
) -> list[Pattern]:
    """Groups of paragraphs whose mean error differs from the rest, the highest error first.

    A group is a value of one attribute or of two together, with at least `smallest` paragraphs inside and outside;
    groups of the same paragraphs are kept once, under their shortest name. The p-value is that of a two-sided
    permutation of the errors over the paragraphs, with the group's mean error as statistic (paragraphs are the units:
    questions of one paragraph are not independent), p = (1 + at least as far) / (1 + permutations). All groups of a
    call are judged together: kept are those whose Benjamini-Hochberg adjusted p-value is at most 1 - level.

    On what a search chose the contrasts describe what was asked about, not the base: the search went where errors
    were. On the random sample they hold for the base.
    """
    values = np.asarray(errors, dtype=np.float64)
    groups = _groups(attributes, smallest)
    if not groups or values.min(initial=0) == values.max(initial=0):
        return []
    inside = np.array([member for member, _ in groups], dtype=np.float64)
    size = inside.sum(axis=1)
    centred = values - values.mean()
    seen = inside @ centred / size
    further = np.zeros(len(groups))
    for _ in range(n_resamples):
        further += np.abs(inside @ rng.permutation(centred) / size) >= np.abs(seen) - 1e-12
    p_values = (1 + further) / (1 + n_resamples)
    adjusted = np.asarray(benjamini_hochberg(p_values))
    patterns = []
    for (member, name), p, q in zip(groups, p_values, adjusted, strict=True):
        if q <= 1 - level:
            patterns.append(
                Pattern(
                    attributes=dict(name),
                    paragraphs=int(member.sum()),
                    error=float(values[member].mean()),
                    others=int((~member).sum()),
                    error_of_others=float(values[~member].mean()),
                    p_value=float(p),
                    adjusted_p_value=float(q),
                )
            )
    return sorted(patterns, key=lambda pattern: (-pattern.error, -pattern.paragraphs))


def _groups(attributes: Sequence[Mapping[str, Any]], smallest: int) -> list[tuple[np.ndarray[Any, Any], Value]]:
    rows: dict[Value, list[int]] = {}
    for i, row in enumerate(attributes):
        pairs = sorted((str(k), str(v)) for k, v in row.items())
        for name in (*((pair,) for pair in pairs), *combinations(pairs, 2)):
            rows.setdefault(name, []).append(i)
    groups: dict[bytes, tuple[np.ndarray[Any, Any], Value]] = {}
    for name in sorted(rows, key=lambda n: (len(n), n)):
        member = np.zeros(len(attributes), dtype=np.bool_)
        member[rows[name]] = True
        if smallest <= member.sum() <= len(attributes) - smallest:
            groups.setdefault(member.tobytes(), (member, name))
    return list(groups.values())
