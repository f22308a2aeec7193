"""lm-eval's stderr with the usual z test: two scores, two standard errors, no pairing.

The formulas are lm-eval's (`mean_stderr`: sample standard deviation over the root of n; of repeats the first is taken,
its default filter); the package itself brings a model stack that the two lines do not need.
"""

from math import sqrt
from statistics import NormalDist, fmean, stdev

from play import claim, sides, versus

requires = "pip"
Z = NormalDist().inv_cdf(0.975)


def answer(world, table, way):
    found = sides(world, table)
    if found is None:
        return None
    first = [values[0] for values in next(iter(found.values())).values()]
    claims = []
    for name, items in versus(found):
        second = [values[0] for values in items.values()]
        gap = fmean(second) - fmean(first)
        half = Z * sqrt(stdev(first) ** 2 / len(first) + stdev(second) ** 2 / len(second))
        claims.append(claim(abs(gap) > half, gap, (gap - half, gap + half), name=name))
    return claims
