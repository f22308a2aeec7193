"""multivon-eval: `compare_reports` of two saved reports, its McNemar p; recommended: `benjamini_hochberg` over several.

It tests passes and failures; an item of several draws passes where most of them do, and ungraded ones are errors.
Grades from elsewhere carry no trials of its own, so that its documented `allow_legacy_identity` is set.
"""

from statistics import fmean

from multivon_eval import CaseResult, EvalReport, EvalResult, benjamini_hochberg
from multivon_eval.compare import compare_reports
from play import Refused, claim, sides, versus

requires = "multivon-eval==0.20.0"
ways = ("default", "recommended")


def answer(world, table, way):
    if "correct" not in table or world["question"] == "miscalibrated":
        return None
    if way == "recommended" and world["question"] != "some-better":
        return "same"
    found = sides(world, table)
    items = list(dict.fromkeys(table["item"]))

    def case(item, values):
        rate = fmean(values) if values else 0.0
        told = [EvalResult(evaluator="grade", score=rate, passed=rate >= 0.5)] if values else []
        error = None if values else "no grade"
        return CaseResult(case_input=item, actual_output="", results=told, model_error=error)

    def report(name):
        return EvalReport(suite_name=name, case_results=[case(i, found[name].get(i)) for i in items])

    base = next(iter(found))
    names = [name for name, _ in versus(found)]
    diffs = [compare_reports(report(base), report(name), allow_legacy_identity=True) for name in names]
    p = [d.mcnemar_p for d in diffs]
    if any(x is None for x in p):
        raise Refused("; ".join(diffs[0].identity_issues) or "no pairs")
    if way == "recommended":
        p = benjamini_hochberg(p)
    return [claim(x < 0.05, d.pass_rate_delta, name=n) for n, d, x in zip(names, diffs, p, strict=True)]
