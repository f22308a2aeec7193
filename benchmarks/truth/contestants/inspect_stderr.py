"""Inspect: `mean` and `stderr()` of two logs with a z test; recommended: `stderr(cluster=)` where items have passages.

Epochs are reduced by their mean first, as Inspect does before it computes metrics.
"""

from math import hypot
from statistics import NormalDist, fmean

from inspect_ai.scorer import SampleScore, Score, mean, stderr
from play import claim, group_of, sides, versus

requires = "inspect-ai==0.3.285"
ways = ("default", "recommended")
Z = NormalDist().inv_cdf(0.975)


def answer(world, table, way):
    passage = group_of(table)
    if way == "recommended" and passage is None:
        return "same"
    found = sides(world, table)
    if found is None:
        return None
    error = stderr() if way == "default" else stderr(cluster="passage")

    def told(items):
        scores = [
            SampleScore(
                score=Score(value=fmean(values)), sample_metadata={"passage": passage[item]} if passage else None
            )
            for item, values in items.items()
        ]
        return mean()(scores), error(scores)

    value, own = told(next(iter(found.values())))
    claims = []
    for name, items in versus(found):
        other, others = told(items)
        gap, half = other - value, Z * hypot(own, others)
        claims.append(claim(abs(gap) > half, gap, (gap - half, gap + half), name=name))
    return claims
