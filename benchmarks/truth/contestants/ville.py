"""ville: its betting confidence sequence of the items' differences, valid at every look."""

import numpy as np
from play import claim, sides, versus
from ville import BettingCS

requires = "ville==0.1.0"
sequential = ("default",)


def answer(world, table, way):
    found = sides(world, table)
    bounded = "correct" in table and world.get("measure") is None
    if found is None or not bounded:
        return None
    first, claims = next(iter(found.values())), []
    for name, second in versus(found):
        shared = [item for item in first if item in second]
        gap = np.array([np.mean(second[item]) - np.mean(first[item]) for item in shared])
        running = BettingCS(bounds=(-1.0, 1.0)).fit(gap)
        low, high = float(np.ravel(running.lower_)[-1]), float(np.ravel(running.upper_)[-1])
        claims.append(claim(low > 0 or high < 0, gap.mean(), (low, high), name=name))
    return claims
