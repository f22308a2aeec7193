"""Intervals for a proportion."""

import math

from scipy.special import betaincinv, ndtri

from richter.errors import InputError
from richter.records import Interval

__all__ = ["clopper_pearson", "wilson"]


def _check(k: float, n: float, level: float) -> None:
    if not 0 <= k <= n or n < 1:
        raise InputError(f"A proportion of {k} out of {n} is not one.", remedy="Give 0 <= k <= n with n >= 1.")
    if not 0 < level < 1:
        raise InputError(f"A confidence level of {level} is not between 0 and 1.", remedy="Use 0.95 for 95%.")


def wilson(k: float, n: float, *, level: float = 0.95) -> Interval:
    """Wilson's score interval for k successes in n independent trials.

    Inverts the normal test of p with the variance p(1-p)/n taken at the hypothesised p, so that it never leaves
    [0, 1] and keeps about its level at small n and extreme p. An effective sample size need not be whole.
    """
    _check(k, n, level)
    z = float(ndtri(0.5 + level / 2))
    p = k / n
    centre = p + z * z / (2 * n)
    spread = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    low = 0.0 if k == 0 else (centre - spread) / scale
    high = 1.0 if k == n else (centre + spread) / scale
    return Interval(low=low, high=high, level=level, method="wilson")


def clopper_pearson(k: int, n: int, *, level: float = 0.95, side: str = "both") -> Interval:
    """The exact (conservative) binomial interval; `side="upper"` or `"lower"` puts all of 1 - level on one side.

    With k = 0 the one-sided upper 95% limit is 1 - 0.05^(1/n), about 3/n: zero seen is a bound, never 0.
    """
    _check(k, n, level)
    if side not in ("both", "upper", "lower"):
        raise InputError(f"side={side!r} is not known.", remedy="Use 'both', 'upper' or 'lower'.")
    tail = (1 - level) / 2 if side == "both" else 1 - level
    low = 0.0 if k == 0 or side == "upper" else float(betaincinv(k, n - k + 1, tail))
    high = 1.0 if k == n or side == "lower" else float(betaincinv(k + 1, n - k, 1 - tail))
    return Interval(low=low, high=high, level=level, method=f"clopper-pearson {side}")
