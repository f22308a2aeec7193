"""ERRORQUAKE's rule: at error rates within 5 points, the 95% bootstrap intervals of b are disjoint.

b by Aki's formula with the half-step correction, m_min by least KS distance among levels with 30 events above, 2,000
resamples at that m_min. A lower b is the graver law, so the estimate is the first's b minus the second's.
"""

import numpy as np
from play import Refused, claim

requires = "numpy==2.4.6"
LEVELS = np.arange(0.5, 4.1, 0.5)


def _b(mean, least):
    return np.log10(np.e) / np.maximum(mean - least + 0.25, 1e-9)


def _interval(severity, rng):
    counts = np.array([(severity == level).sum() for level in LEVELS])
    best = (np.inf, 0)
    for k, least in enumerate(LEVELS):
        above = counts[k:]
        if above.sum() >= 30:
            b = _b((above * LEVELS[k:]).sum() / above.sum(), least)
            law = 1 - 10 ** (-b * (LEVELS[k:] + 0.5 - least))
            best = min(best, (np.abs(np.cumsum(above) / above.sum() - law).max(), k))
    if not np.isfinite(best[0]):
        raise Refused("fewer than 30 errors")
    tail, least = counts[best[1] :], LEVELS[best[1] :]
    drawn = rng.multinomial(tail.sum(), tail / tail.sum(), size=2000)
    spread = _b(drawn @ least / tail.sum(), least[0])
    return _b((tail * least).sum() / tail.sum(), least[0]), *np.quantile(spread, (0.025, 0.975))


def answer(world, table, way):
    if "severity" not in table:
        return None
    rng, severity, condition = np.random.default_rng(0), np.array(table["severity"]), np.array(table["condition"])
    first, second = (severity[condition == name] for name in ("first", "second"))
    if abs((first > 0).mean() - (second > 0).mean()) >= 0.05:
        raise Refused("error rates are not matched")
    (b, low, high), (other, least, most) = _interval(first, rng), _interval(second, rng)
    return [claim(high < least or most < low, b - other)]
