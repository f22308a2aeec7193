"""The reliability table: what a model's confidence was, and how often it was right, bin by bin."""

from numpy.typing import ArrayLike

from richter.stats import Bin, EceResult, bootstrap_ece, ece
from richter.stats._ece import Binning

__all__ = ["EceResult", "bootstrap_ece", "ece", "reliability"]


def reliability(
    confidence: ArrayLike, correct: ArrayLike, *, bins: int = 10, binning: Binning = "width", level: float = 0.95
) -> tuple[Bin, ...]:
    """Occupied bins of confidence with their accuracy. The interval is for the accuracy, bin by bin (not jointly)."""
    return ece(confidence, correct, bins=bins, binning=binning, level=level).bins
