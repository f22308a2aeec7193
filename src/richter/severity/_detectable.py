"""The difference of severities that data would show, from the limits that decide and how errors would then vary."""

import dataclasses
import math
from collections.abc import Callable

import numpy as np

from richter._special import stdtrit
from richter.stats import Floats

N_STEPS = 8  # towards the difference at which its own spread is taken
TILTS = np.r_[0.0, np.geomspace(1e-3, 1e3, 200)]  # t times the width of the scale


class SpreadGrowth:
    """How much wider a difference spreads where it is there: errors of the second are then of other severities.

    Those are the pooled errors with weights exp(t f) that move their mean up, in a table over t; half an error more at
    the end of the scale, which need not have been seen.
    """

    def __init__(self, values: Floats, worst: float, share: float) -> None:
        level, count = np.unique(np.r_[values, max(worst, float(values.max()))], return_counts=True)
        below, span = level - level[-1], float(np.ptp(level)) or 1.0
        weight = np.r_[count[:-1], count[-1] - 0.5] * np.exp(np.outer(TILTS / span, below))
        weight /= weight.sum(axis=1, keepdims=True)
        mean = weight @ below
        self.mean, self.variance, self.first = mean, np.maximum(weight @ below**2 - mean**2, 0.0), share

    def at(self, difference: float) -> float:
        """The standard error at a true difference over that at none, 1 or more; infinite where none can be so large."""
        moved_to, variance = self.mean[0] + difference, self.variance[0]
        if moved_to >= 0 or variance == 0:
            return math.inf
        moved = float(np.interp(moved_to, self.mean, self.variance))
        return max(math.sqrt(self.first * moved / variance + 1 - self.first), 1.0)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Detectable:
    """The true difference of which the estimate lies beyond the limit that decides, with a power.

    `half(level, times, growth)` says how far the limits lie below and above an estimate of so many times as many units
    that vary so much more.
    """

    half: Callable[[float, float, float], tuple[float, float]]
    error: float
    freedom: float
    units: int
    growth: SpreadGrowth | None = None

    def __call__(self, units: float, tail: float, power: float) -> float:
        """The difference that so many units show at a tail, on the wider side; infinite where none is shown."""
        times = units / self.units
        spread = float(stdtrit(max(self.freedom * times, 1.0), power)) * self.error / math.sqrt(times)
        found, growth = 0.0, 1.0
        for _ in range(N_STEPS if self.growth else 1):
            found = max(self.half(1 - 2 * tail, times, growth)) + spread * growth
            growth = 1.0 if self.growth is None else self.growth.at(found)
        return found
