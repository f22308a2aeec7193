"""Is one condition worse at every severity? Exact tests of stochastic dominance at the levels that were reached."""

import dataclasses
import math
from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from richter._special import bdtrc, betaincinv
from richter.claims import Evidence, p_value
from richter.records import Interval
from richter.severity._given_error import Paired, align_pair, severe_rate
from richter.severity._grid import LEVELS, TOP, snap
from richter.stats import Floats, unit_rate

__all__ = ["Dominance", "compare_dominance"]

MAX_LEVELS_TESTED = 12


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Dominance:
    """Evidence that the second is worse (or better) at every severity reached, level by level.

    `evidence` is about the difference in the share of answers at or above a severity that is nearest to 0 over all
    `levels`, 0 where signs differ: its interval excludes 0 exactly where every level's own does. `difference` and `p`
    (two-sided) are by level. `unseen` is the highest level that anybody reached where the scale goes on above it, and
    `bound` the upper limit, per million, of what either has there (exact; of groups, by group). `crossing` is the p of
    "neither is worse at every severity": each is shown worse at some level (the larger of the two smallest one-sided p,
    times the levels).
    """

    evidence: Evidence
    levels: tuple[float, ...]
    difference: tuple[float, ...]
    p: tuple[float, ...]
    crossing: float
    unseen: float | None
    bound: float | None


def compare_dominance(
    first: ArrayLike,
    second: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    level: float = 0.95,
) -> Dominance:
    """First-order stochastic dominance of two conditions' severities on the same items, correct answers included.

    The second is worse at every severity if P(second >= s) > P(first >= s) for all s: then everybody for whom graver
    errors cost more prefers the first. At each level that either reached: the exact sign test on the items where only
    one of the two is that grave (groups or weights: the linearised difference by unit). All must show the same sign,
    which is an intersection-union test and needs no correction over levels. A level that nobody reached is
    named, with the exact limit on what may lie there. On a scale of more than 12 values the levels are the eighths of
    all errors.

    >>> from richter.severity import compare_dominance
    >>> import numpy as np
    >>> worse = np.tile([0, 0, 2, 4], 100)
    >>> compare_dominance(worse, np.zeros(400)).difference
    (-0.5, -0.25)
    """
    data = align_pair(first, second, groups=groups, weights=weights)
    a, b, levels = _levels_to_test(data)
    own = [_evidence_at(data, a, b, s) for s in levels]
    estimates = np.array([e.estimate for e in own])
    same = bool(len(own)) and ((estimates > 0).all() or (estimates < 0).all())
    nearest = float(estimates[np.argmin(np.abs(estimates))]) if same else 0.0
    p = tuple(p_value(e, 0.0) for e in own)

    one_sided = [np.where(estimates > 0, np.array(p) / 2, 1.0), np.where(estimates < 0, np.array(p) / 2, 1.0)]
    crossing = min(1.0, max(float(x.min(initial=1.0)) for x in one_sided) * len(levels))
    highest = levels[-1] if levels else 0.0
    unseen = highest if _on_grid(data) and highest < TOP else None
    n = len(data.first)
    nobody = unit_rate(np.zeros(n), data.unit, level=level, side="upper")
    return Dominance(
        evidence=Evidence(
            estimate=nearest, interval=partial(_nearest_interval, own, nearest),
            p=lambda value: max(p) if value == 0 and same else 1.0,
            values=_error_rates(data), n=n, units=data.n_units, unit=data.kind,
        ),
        levels=levels,
        difference=tuple(float(e) for e in estimates),
        p=p,
        crossing=crossing,
        unseen=unseen,
        bound=None if unseen is None else nobody.high * 1e6,
    )  # fmt: skip


def _nearest_interval(own: Sequence[Evidence], nearest: float, level: float) -> Interval:
    """The interval of the difference nearest to 0, whose far end does not matter to it."""
    intervals = [e.interval(level) for e in own]
    low, high = min((i.low for i in intervals), default=-1.0), max((i.high for i in intervals), default=1.0)
    if nearest > 0:
        high = max(nearest, min(i.high for i in intervals))
    elif nearest < 0:
        low = min(nearest, max(i.low for i in intervals))
    return Interval(low=low, high=high, level=level, method="exact sign test at every level")


def _error_rates(data: Paired) -> tuple[float, float]:
    first, second = (float(np.average(x > 0, weights=data.weight)) for x in (data.first, data.second))
    return first, second


def _on_grid(data: Paired) -> bool:
    return bool(max(np.nanmax(data.first, initial=0.0), np.nanmax(data.second, initial=0.0)) <= TOP)


def _levels_to_test(data: Paired) -> tuple[Floats, Floats, tuple[float, ...]]:
    """Both conditions' severities and the levels to test: of the grid, of the scale as it stands, or eighths."""
    both = ~np.isnan(data.first) & ~np.isnan(data.second)
    a, b = data.first, data.second
    if _on_grid(data):
        a, b = (np.where(np.isnan(x), np.nan, LEVELS[np.maximum(snap(x), 0)]) for x in (a, b))
    errors = np.concatenate([x[both & (x > 0)] for x in (a, b)])
    levels = np.unique(errors)
    if len(levels) > MAX_LEVELS_TESTED:
        levels = np.unique(np.quantile(errors, np.arange(8) / 8, method="inverted_cdf"))
    return a, b, tuple(float(s) for s in levels)


def _evidence_at(data: Paired, a: Floats, b: Floats, level: float) -> Evidence:
    if data.kind == "group" or data.weight is not None:
        return severe_rate(a, b, at=level, groups=data.unit, weights=data.weight)
    both = ~np.isnan(a) & ~np.isnan(b)
    only_a, only_b = int(np.sum((a >= level) & (b < level) & both)), int(np.sum((b >= level) & (a < level) & both))
    n, discordant = int(both.sum()), only_a + only_b

    def interval(at: float) -> Interval:
        """Clopper-Pearson's limits on the share of the second among discordant items, as a difference."""
        tail = (1 - at) / 2
        low = 0.0 if only_b == 0 else float(betaincinv(only_b, only_a + 1, tail))
        high = 1.0 if only_a == 0 else float(betaincinv(only_b + 1, only_a, 1 - tail))
        scale = discordant / n
        return Interval(low=(2 * low - 1) * scale, high=(2 * high - 1) * scale, level=at, method="exact sign test")

    most = max(only_a, only_b)
    p = 1.0 if most == min(only_a, only_b) else min(1.0, 2 * float(bdtrc(most - 1, discordant, 0.5)))
    return Evidence(
        estimate=(only_b - only_a) / n, interval=interval, p=lambda value: p if value == 0 else math.nan, n=n, units=n
    )
