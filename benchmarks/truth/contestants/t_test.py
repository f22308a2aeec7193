"""A plain t test (scipy): on rows as they stand; and, as is usually advised, on means of items or passages."""

import numpy as np
from play import claim, group_of, sides, versus
from scipy import stats

requires = "scipy==1.17.1"
ways = ("rows", "means of units")


def answer(world, table, way):
    if way != "rows" and not {"epoch", "passage"} & set(table):
        return "same"
    if world["question"] == "miscalibrated":
        gap = np.subtract(table["confidence"], table["correct"])
        test = stats.ttest_1samp(gap, 0)
        return [claim(test.pvalue < 0.05, gap.mean(), test.confidence_interval())]
    found = sides(world, table)
    if found is None:
        return None
    first, claims = next(iter(found.values())), []
    for name, second in versus(found):
        if world.get("measure") == "severity_given_error":
            a, b = np.concatenate(list(first.values())), np.concatenate(list(second.values()))
            test = stats.ttest_ind(b, a, equal_var=False)
            claims.append(claim(test.pvalue < 0.05, b.mean() - a.mean(), test.confidence_interval(), name=name))
            continue
        shared = [item for item in first if item in second]
        gaps = [np.subtract(second[item], first[item]) for item in shared]
        if way == "rows":
            gap = np.concatenate(gaps)
        else:
            passage, units = group_of(table) or {}, {}
            for item, own in zip(shared, gaps, strict=True):
                units.setdefault(passage.get(item, item), []).append(own.mean())
            gap = np.array([np.mean(unit) for unit in units.values()])
        test = stats.ttest_1samp(gap, 0)
        claims.append(claim(test.pvalue < 0.05, gap.mean(), test.confidence_interval(), name=name))
    return claims
