"""The reliability table: what a model's confidence was, and how often it was right, bin by bin."""

import dataclasses
from typing import Any

from numpy.typing import ArrayLike

from richter.records import Interval
from richter.stats import ece, wilson
from richter.stats._ece import Binning

__all__ = ["ReliabilityRow", "reliability"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ReliabilityRow:
    """The items whose confidence lies in [low, high): mean confidence and accuracy with Wilson's interval."""

    low: float
    high: float
    n: int
    confidence: float
    accuracy: float
    interval: Interval

    @property
    def gap(self) -> float:
        """Mean confidence minus accuracy: positive is overconfident."""
        return self.confidence - self.accuracy

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {**dataclasses.asdict(self), "interval": self.interval.to_dict(), "gap": self.gap}


def reliability(
    confidence: ArrayLike, correct: ArrayLike, *, bins: int = 10, binning: Binning = "width", level: float = 0.95
) -> tuple[ReliabilityRow, ...]:
    """Occupied bins of confidence with their accuracy. The interval is for the accuracy, bin by bin (not jointly)."""
    return tuple(
        ReliabilityRow(
            low=b.low,
            high=b.high,
            n=b.n,
            confidence=b.confidence,
            accuracy=b.accuracy,
            interval=wilson(round(b.accuracy * b.n), b.n, level=level),
        )
        for b in ece(confidence, correct, bins=bins, binning=binning, level=level).bins
    )
