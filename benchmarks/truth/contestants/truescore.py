"""truescore: McNemar's mid-p of right answers, else a sign-flip test; with labels its prediction-powered comparison."""

import numpy as np
from play import claim, sides, versus
from truescore.compare import mcnemar, paired_permutation, ppi_compare

requires = "truescore==0.7.4"


def answer(world, table, way):
    found = sides(world, table)
    if found is None or world.get("measure") == "severity_given_error":
        return None
    if any(x is not None for x in table.get("human", ())):
        return [_by_labels(table)]
    first, claims = next(iter(found.values())), []
    for name, second in versus(found):
        shared = [item for item in first if item in second]
        a, b = (np.array([np.mean(side[item]) for item in shared]) for side in (first, second))
        test = mcnemar(b, a) if set(np.unique([a, b])) <= {0.0, 1.0} else paired_permutation(b, a, n_resamples=2000)
        claims.append(claim(test.p_value < 0.05, test.difference, (test.low, test.high), name=name))
    return claims


def _by_labels(table):
    n = len(table["item"]) // 2
    judge, human = np.array(table["correct"], float).reshape(2, n), np.array(table["human"], float).reshape(2, n)
    both = np.flatnonzero(~np.isnan(human).any(axis=0))
    test = ppi_compare(judge[1], judge[0], human[1, both], human[0, both], both)
    return claim(test.p_value < 0.05, test.difference, (test.low, test.high))
