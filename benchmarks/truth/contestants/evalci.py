"""evalci: its paired permutation test with the bootstrap interval that it prints; Holm over several comparisons."""

import evalci
import numpy as np
from play import claim, sides, versus

requires = "evalci==0.1.0"


def answer(world, table, way):
    found = sides(world, table)
    if found is None or world.get("measure") == "severity_given_error":
        return None
    first, tests = next(iter(found.values())), {}
    for name, second in versus(found):
        shared = [item for item in first if item in second]
        a, b = ([np.mean(side[item]) for item in shared] for side in (first, second))
        tests[name] = evalci.compare(b, a, n_resamples=2000, random_state=0)
    order, still = sorted(tests, key=lambda name: tests[name].p_value), True
    claims = []
    for k, name in enumerate(order):
        still = still and tests[name].p_value * (len(order) - k) < 0.05
        claims.append(claim(still, tests[name].delta, tests[name].ci, name=name))
    return claims
