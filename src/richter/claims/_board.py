"""Boards of many conditions: Holm's rule over all pairs at once from their counts, and claims for a few of them."""

import dataclasses
from typing import ClassVar, NamedTuple

import numpy as np

from richter.claims._measures import RightCounts
from richter.claims._units import Sample, binary_difference_p
from richter.stats import Bools, Floats, Indices

__all__ = ["Board", "SettledPair", "settle_board"]


class SettledPair(NamedTuple):
    """One pair of a board: whether its difference is shown, at which level, and its p-value adjusted for all pairs."""

    shown: bool
    alpha: float
    p_adjusted: float


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """All pairs of conditions as Holm's rule settles them: the claims of `decide`, without evidence for each.

    `ranked` are places in `conditions`, the best first; `wins[i, j]`: the i-th of these is shown better than the j-th.
    `alpha` and `p_adjusted` have one value a pair, in the order of `pairs_of`.
    """

    LARGE: ClassVar = 200  # conditions, beyond which a board is settled so
    MOST: ClassVar = 2000  # beyond, the column holds no conditions

    conditions: tuple[str, ...]
    ranked: Indices
    wins: Bools
    alpha: Floats
    p_adjusted: Floats

    @property
    def n_pairs(self) -> int:
        """How many pairs share the error risk."""
        return len(self.alpha)

    def pairs(self) -> list[tuple[str, str]]:
        """A pair for each condition but the best: with the best of those that are shown better, else with the best."""
        above = self.ranked[np.argmax(self.wins, axis=0)]  # the first that wins; 0, the best, where none does
        pairs = (sorted((int(a), int(b))) for a, b in zip(above[1:], self.ranked[1:], strict=True))
        return [(self.conditions[a], self.conditions[b]) for a, b in pairs]

    def settled(self, first: str, second: str) -> SettledPair:
        """How a pair came out."""
        i, j = sorted(self.conditions.index(name) for name in (first, second))
        a, b = (int(np.flatnonzero(self.ranked == k)[0]) for k in (i, j))
        place = i * len(self.conditions) - i * (i + 1) // 2 + j - i - 1
        shown = bool(self.wins[a, b] or self.wins[b, a])
        return SettledPair(shown, float(self.alpha[place]), float(self.p_adjusted[place]))

    def tiers(self) -> tuple[tuple[str, ...], ...]:
        """The ranking in steps: each tier goes down as far as no pair in it is told apart. Tiers do not overlap."""
        size = len(self.ranked)
        told = np.triu(self.wins | self.wins.T, 1)
        first = np.where(told.any(axis=1), np.argmax(told, axis=1), size)
        end = np.minimum.accumulate(first[::-1])[::-1]  # before it no pair from here on is told apart
        tiers, start = [], 0
        while start < size:
            tiers.append(tuple(self.conditions[k] for k in self.ranked[start : end[start]]))
            start = int(end[start])
        return tuple(tiers)

    def ranks(self) -> dict[str, tuple[int, int]]:
        """The best and the worst rank that each condition may have, as `rank_spans` counts them."""
        best, worst = 1 + self.wins.sum(axis=0), len(self.ranked) - self.wins.sum(axis=1)
        spans = {int(k): (int(a), int(b)) for k, a, b in zip(self.ranked, best, worst, strict=True)}
        return {name: spans[k] for k, name in enumerate(self.conditions)}


def settle_board(sample: Sample, counts: RightCounts, *, alpha: float) -> Board:
    """Holm's rule over all pairs of a sample whose conditions all have one right or wrong answer to every item.

    The p-value of a pair is that of its evidence (Tango's score test of no difference), which its two counts of
    discordant items give; pairs of equal p-values come in the order of `pairs_of`, as they do in `decide`.
    """
    size, n = len(sample.outcomes.conditions), len(sample.mean)
    first, second = np.triu_indices(size, 1)
    plus, minus = counts.gained[first, second], counts.gained[second, first]
    found, place = np.unique(plus * (n + 1) + minus, return_inverse=True)
    p = np.array([binary_difference_p(int(key) // (n + 1), int(key) % (n + 1), n) for key in found])[place]
    order, number = np.argsort(p, kind="stable"), np.arange(len(p))
    levels = alpha / (len(p) - number)
    stop = int(np.argmax(np.append(p[order] > levels, True)))
    levels[stop:] = levels[min(stop, len(p) - 1)]
    settled, adjusted = np.empty_like(p), np.empty_like(p)
    settled[order], adjusted[order] = levels, np.maximum.accumulate(p[order] * (len(p) - number))
    shown = order[:stop]
    sign = 1 if sample.metric.better == "higher" else -1
    is_gain = sign * (plus - minus)[shown] > 0
    wins = np.zeros((size, size), dtype=bool)
    wins[np.where(is_gain, second[shown], first[shown]), np.where(is_gain, first[shown], second[shown])] = True
    mean = sign * sample.mean.mean(axis=0)
    ranked = np.array(sorted(range(size), key=lambda k: -mean[k]), dtype=np.intp)
    return Board(
        conditions=sample.outcomes.conditions, ranked=ranked, wins=wins[np.ix_(ranked, ranked)], alpha=settled,
        p_adjusted=adjusted,
    )  # fmt: skip
