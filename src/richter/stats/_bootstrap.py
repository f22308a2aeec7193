"""What every bootstrap shares: its result, percentile limits and seeds."""

import dataclasses

import numpy as np

from richter.records import Interval, Shown
from richter.stats._arrays import Floats

__all__ = ["BootstrapResult", "percentiles"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class BootstrapResult(Shown):
    """A statistic's value, its bootstrap standard error and interval, and the resampled values."""

    estimate: float
    standard_error: float
    interval: Interval
    resampled: Floats
    n: int
    n_resamples: int


def percentiles(values: Floats, *, level: float, method: str = "bootstrap percentile") -> Interval:
    """The interval between the quantiles at (1 - level) / 2 and (1 + level) / 2."""
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return Interval(low=float(low), high=float(high), level=level, method=method)


def stream_seed(rng: np.random.Generator) -> np.uint64:
    """A seed for `index_pair`."""
    return np.uint64(rng.integers(0, 2**64, dtype=np.uint64))
