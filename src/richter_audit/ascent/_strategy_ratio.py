"""How many times the errors: the ratio of two strategies' errors per answer over several seeds."""

import dataclasses
import math

import numpy as np
from numpy.typing import ArrayLike

from richter._special import stdtrit
from richter.errors import TooFewErrors
from richter.records import Interval, Result

__all__ = ["RateRatio", "rate_ratio"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RateRatio(Result):
    """The ratio of two mean rates, with an interval over searches (seeds), which are the units."""

    ratio: float
    interval: Interval
    n: int
    n_baseline: int


def rate_ratio(rates: ArrayLike, baseline: ArrayLike, *, level: float = 0.95) -> RateRatio:
    """The ratio of the mean of `rates` to that of `baseline`, searches of one model and base that differ in their seed.

    The interval is exp(log ratio +- t sqrt(v)) with v = s_a^2 / (n_a m_a^2) + s_b^2 / (n_b m_b^2) (delta method) and t
    of Welch's and Satterthwaite's degrees of freedom. Answers of one search are not independent (wordings of a
    question, neighbours of a paragraph), so that nothing finer than a search can be a unit, and one search of each
    gives no interval. A percentile bootstrap over a handful of seeds is too narrow.
    """
    a, b = (np.asarray(values, dtype=np.float64) for values in (rates, baseline))
    if min(len(a), len(b)) < 2:
        fewest = min(len(a), len(b))
        raise TooFewErrors(f"{fewest} search of a strategy gives no interval.", n=fewest, needed=2)
    if a.mean() <= 0 or b.mean() <= 0:
        raise TooFewErrors("A strategy without a single error has no ratio.", n=0, needed=1)
    parts = [float(x.var(ddof=1)) / (len(x) * float(x.mean()) ** 2) for x in (a, b)]
    variance, ratio = sum(parts), float(a.mean() / b.mean())
    spread = 0.0
    if variance > 0:
        freedom = variance**2 / sum(part**2 / (len(x) - 1) for part, x in zip(parts, (a, b), strict=True))
        spread = float(stdtrit(freedom, 0.5 + level / 2)) * math.sqrt(variance)
    interval = Interval(
        low=ratio * math.exp(-spread), high=ratio * math.exp(spread), level=level, method="welch, log ratio"
    )
    return RateRatio(ratio=ratio, interval=interval, n=len(a), n_baseline=len(b))
