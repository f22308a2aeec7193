"""The equivalence rule, in this one place: when two conditions are within a margin of each other.

Two one-sided tests, each at `TAIL` x alpha. Verdicts, p-values, printed intervals and sizes all follow from it.
"""

from typing import NamedTuple

from richter.claims._question import Evidence, one_sided, one_sided_level
from richter.records import Interval

__all__ = ["OneSidedTest", "equivalence_level", "equivalence_p", "equivalence_size", "is_inside", "is_within"]

TAIL = 1.0  # the level of each one-sided test, over that of the claim: both must reject, so none is divided


class OneSidedTest(NamedTuple):
    """The level of a one-sided test, and the power it is sized for."""

    tail: float
    power: float


def equivalence_level(alpha: float) -> float:
    """The level of the interval that must lie within the margin for a claim at `alpha`."""
    return one_sided_level(TAIL * alpha)


def is_inside(interval: Interval, margin: float, *, value: float = 0.0) -> bool:
    """Whether an interval lies within `margin` of `value`."""
    return value - margin < interval.low and interval.high < value + margin


def is_within(evidence: Evidence, margin: float, *, alpha: float, value: float = 0.0) -> bool:
    """Whether the quantity is shown, at `alpha`, to be within `margin` of `value`."""
    return is_inside(evidence.interval(equivalence_level(alpha)), margin, value=value)


def equivalence_p(evidence: Evidence, margin: float, *, value: float = 0.0) -> float:
    """The smallest alpha at which the quantity is shown to be within `margin` of `value`."""
    low, high = value - margin, value + margin
    return max(one_sided(evidence, low, above=True), one_sided(evidence, high, above=False)) / TAIL


def equivalence_size(alpha: float, power: float) -> OneSidedTest:
    """The level and the power of each one-sided test with which both show, with `power`, that there is no difference.

    Either may fail, and with no true difference both do so equally often: each misses half of what is allowed.
    """
    return OneSidedTest(tail=TAIL * alpha, power=(1 + power) / 2)
