"""The difference of severities that data would show, from the limits that decide and how errors would then vary."""

import dataclasses
import math
from collections.abc import Callable

import numpy as np

from richter._special import stdtrit
from richter.stats import Floats, find_root

N_STEPS = 8  # towards the difference at which its own spread is taken


class SpreadGrowth:
    """How much wider a difference spreads where it is there: errors of the second are then of other severities.

    Those are the pooled errors with weights exp(t f) that move their mean up; half an error more at the end of the
    scale, which need not have been seen.
    """

    def __init__(self, values: Floats, worst: float, share: float) -> None:
        level, count = np.unique(np.r_[values, max(worst, float(values.max()))], return_counts=True)
        self.level, self.log_share, self.first = level, np.log(np.r_[count[:-1], count[-1] - 0.5]), share

    def at(self, difference: float) -> float:
        """The standard error at a true difference over that at none, 1 or more; infinite where none can be so large."""
        mean, variance = self._moments(0.0)
        if mean + difference >= self.level[-1] or variance == 0:
            return math.inf
        top = 1.0
        while self._moments(top)[0] < mean + difference:
            top *= 2
        moved = self._moments(find_root(lambda t: self._moments(t)[0] - mean - difference, 0.0, top))[1]
        return max(math.sqrt(self.first * moved / variance + 1 - self.first), 1.0)

    def _moments(self, tilt: float) -> tuple[float, float]:
        log = self.log_share + tilt * (self.level - self.level[-1])
        share = np.exp(log - log.max())
        share /= share.sum()
        mean = float(share @ self.level)
        return mean, float(share @ (self.level - mean) ** 2)


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
