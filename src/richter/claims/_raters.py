"""A difference within raters: each rater's own two means, so that nobody's leniency is part of it."""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from richter._special import stdtr, stdtrit
from richter.claims._measures import Codes, Floats, Metric
from richter.claims._question import Evidence
from richter.errors import InputError
from richter.records import Interval, Unit, counted
from richter.stats import Bools

__all__ = ["MIN_RATED", "RatedPair", "within_rater_difference"]

MIN_RATED = 20  # answers of each condition that a rater has rated, to be compared within
MIN_EVENTS = 10  # ratings off either end of the scale, of each condition: below, Student's t misses too often
LEAST_FREEDOM = 4.0


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RatedPair:
    """Single ratings of two conditions: value, rater, side (0 or 1) and what varies independently."""

    value: Floats
    rater: Codes
    side: Codes
    unit: Codes
    unit_name: Unit
    raters: Sequence[str]


def within_rater_difference(metric: Metric, rated: RatedPair, *, n: int) -> Evidence:
    """The second condition's mean minus the first's within each rater, averaged.

    A rater counts who rated at least 20 answers of each. With n_1 and n_2 ratings a rater weighs
    n_1 n_2 / (n_1 + n_2), which is best where ratings vary alike. The error is the sum over units of squared
    influences, so that one item rated under both conditions counts as a pair; Student's t with Satterthwaite's degrees
    of freedom over raters and conditions. `n` are the items of both conditions.
    """
    raters, sides = len(rated.raters), 2
    cell = rated.rater * sides + rated.side
    count = np.bincount(cell, minlength=sides * raters).reshape(raters, sides)
    counts: Bools = np.asarray((count >= MIN_RATED).all(axis=1))
    if not counts.any():
        raise InputError("No rater rated 20 answers of both conditions.", remedy="Let the same raters rate both.")
    use = counts[rated.rater]
    _check_events(metric, rated, use)
    weight = np.where(counts, count.prod(axis=1) / np.maximum(count.sum(axis=1), 1), 0.0)
    weight = weight / weight.sum()
    total = np.bincount(cell, weights=rated.value, minlength=sides * raters).reshape(raters, sides)
    mean = total / np.maximum(count, 1)
    own = count[rated.rater, rated.side]
    influence = weight[rated.rater] * (rated.value - mean[rated.rater, rated.side]) / np.sqrt(own * (own - 1.0) + ~use)
    influence = np.where(use, influence * (2 * rated.side - 1), 0.0)
    variance = float(np.sum(np.bincount(rated.unit, weights=influence) ** 2))
    parts = np.bincount(cell, weights=influence**2, minlength=sides * raters)
    freedom = float(parts.sum() ** 2 / np.sum(parts**2 / np.maximum(count.ravel() - 1, 1))) if parts.any() else 0.0
    units = len(np.unique(rated.unit[use]))
    if rated.unit_name == "group":
        freedom = min(freedom, units - 1.0)
    values = tuple(float(weight @ mean[:, k]) for k in range(sides))
    estimate, error = values[1] - values[0], math.sqrt(variance)
    span = (metric.high or 0.0) - (metric.low or 0.0)

    def interval(level: float) -> Interval:
        reach = span if freedom < LEAST_FREEDOM else float(stdtrit(freedom, 0.5 + level / 2)) * error
        low, high = max(estimate - reach, -span), min(estimate + reach, span)
        return Interval(low=low, high=high, level=level, method="t, within raters")

    def p(value: float) -> float:
        is_known = freedom >= LEAST_FREEDOM and error > 0
        return 2 * float(stdtr(freedom, -abs(estimate - value) / error)) if is_known else 1.0

    shares = ", ".join(f"{name} {100 * w:.0f}%" for name, w in zip(rated.raters, weight, strict=True) if w > 0)
    return Evidence(
        estimate=estimate, interval=interval, p=p, values=values, n=n, units=units, unit=rated.unit_name,
        standard_error=error, freedom=freedom,
        notes=(
            f"averaged within {counted(int(counts.sum()), 'rater')} of both, by weight: {shares}",
            "a model's own rate on this page is another figure: the vote of all who rated it",
        ),
    )  # fmt: skip


def _check_events(metric: Metric, rated: RatedPair, use: Bools) -> None:
    """Refuse ratings that lie too rarely off an end of the scale for Student's t."""
    for end in (metric.low, metric.high):
        off = np.bincount(rated.side[use & (rated.value != end)], minlength=2)
        if int(off.min()) < MIN_EVENTS:
            raise InputError(
                f"Fewer than {MIN_EVENTS} ratings differ from {end:g}: too few to compare within raters.",
                remedy="Let the same raters rate both conditions in full.",
            )
