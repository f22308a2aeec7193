"""Answers that two people labelled differently, and the third label that settles each."""

import dataclasses
import math
from collections.abc import Iterable

import numpy as np

from richter.claims import METRICS, labelled_measures
from richter.ratings._sample import Key
from richter.records import Rating

__all__ = ["Disagreement", "find_disagreements", "rater_progress"]

MIN_GAP = 1.0  # levels of severity by which two labels differ in size


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Disagreement:
    """An answer with its first two labels, which differ, and the third one where somebody has given it.

    The label that counts is the median of the three, so a third one between the other two decides.
    """

    key: Key
    first: Rating
    second: Rating
    third: Rating | None = None

    @property
    def ends(self) -> tuple[float, float]:
        """The lower and the higher of the two labels."""
        low, high = sorted(float(r.severity or 0.0) for r in (self.first, self.second))
        return low, high

    @property
    def raters(self) -> tuple[str, str]:
        """Whose labels differ."""
        return self.first.rater, self.second.rater


def find_disagreements(ratings: Iterable[Rating], chosen: Iterable[Key]) -> list[Disagreement]:
    """The answers among `chosen` whose first two human labels differ, in their order.

    Two labels differ when they are a whole level apart, or when a measure that labels correct counts one and not the
    other: right against wrong, severe against not.
    """
    labels: dict[Key, list[Rating]] = {key: [] for key in chosen}
    for r in ratings:
        if r.kind == "human" and r.severity is not None and (r.item, r.condition, r.draw) in labels:
            labels[r.item, r.condition, r.draw].append(r)
    found = []
    for key, own in labels.items():
        own.sort(key=lambda r: (r.ended_at or 0.0, r.rater))
        if len(own) > 1 and _differ(float(own[0].severity or 0.0), float(own[1].severity or 0.0)):
            found.append(Disagreement(key=key, first=own[0], second=own[1], third=own[2] if len(own) > 2 else None))
    return found


def _differ(one: float, two: float) -> bool:
    """Whether two severities are a level apart, or some measure decides differently on them."""
    if math.fabs(one - two) >= MIN_GAP:
        return True
    measures = [METRICS[name] for name in labelled_measures()]
    deciding = [m for m in measures if m.source == "score" or m.at is not None]
    return any(len(np.unique(m.of_severity(np.array([one, two])))) > 1 for m in deciding)


def rater_progress(ratings: Iterable[Rating], chosen: Iterable[Key]) -> dict[str, int]:
    """How many of the chosen answers each person has labelled, by name."""
    wanted, counts = set(chosen), dict[str, int]()
    for r in ratings:
        if r.kind == "human" and r.severity is not None and (r.item, r.condition, r.draw) in wanted:
            counts[r.rater] = counts.get(r.rater, 0) + 1
    return dict(sorted(counts.items()))
