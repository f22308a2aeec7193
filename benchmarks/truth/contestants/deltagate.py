"""deltagate: `evaluate_comparison` on scores by id; recommended: `clusters` of `paired_delta`, `n_trials` for the best.

Draws of an item are averaged before; it compares one score an item.
"""

from statistics import fmean

import deltagate
from play import Refused, claim, group_of, sides, versus

requires = "deltagate==0.1.1"
ways = ("default", "recommended")


def answer(world, table, way):
    found, passage = sides(world, table), group_of(table)
    if way == "recommended" and passage is None and world["question"] != "some-better":
        return "same"
    if found is None:
        return None
    scores = {name: {i: fmean(v) for i, v in items.items()} for name, items in found.items()}
    first = next(iter(scores.values()))
    try:
        if passage is not None and way == "recommended":
            told = deltagate.paired_delta(
                *deltagate.align_paired(scores["second"], first), clusters=[passage[i] for i in sorted(first)]
            )
            return [claim(told["p_value"] < 0.05, told["delta"], (told["lower"], told["upper"]))]
        if world["question"] == "some-better" and way == "recommended":
            pairs = {name: deltagate.align_paired(scores[name], first) for name, _ in versus(found)}
            tried = {name: deltagate.standardized_delta(*pair) for name, pair in pairs.items()}
            best = max(tried, key=lambda name: tried[name])
            report = deltagate.evaluate_comparison(
                *pairs[best], name=best, n_trials=len(tried), trial_deltas=list(tried.values())
            )
            return [_claim(report, report.significant)]
        return [
            _claim(c, c.significant)
            for c in (deltagate.evaluate_comparison(scores[n], first, name=n) for n, _ in versus(found))
        ]
    except ValueError as error:  # unequal sets of ids
        raise Refused(str(error)) from error


def _claim(report, yes):
    return claim(yes, report.delta, (report.paired["lower"], report.paired["upper"]), name=report.name)
