"""Does a test notice when a rule of a verdict is changed? Each rule below is changed in a copy, and its tests are run.

A mutant is killed when a test fails. Prints one line a mutant and the survivors; exit status 1 where one survives.
`--fast` runs the first of each file, for continuous integration; `--named` those of the wiring that a review found
unguarded. `--whole N` takes, in each module that decides verdicts, N changes at random of all that can be made to its
operators, numbers and conditions (0: all), kept in a file as they are done; only quick tests that reach the change
count there. `--seed S` before it draws other changes: a recount after tests were written for the survivors of seed 0.

    python tools/mutants.py [--fast | --named] [word in the name]
    python tools/mutants.py [--seed S] --whole 25 [file [word in a module's path]..]
"""

import ast
import copy as copying
import hashlib
import json
import math
import os
import random
import resource
import signal
import sys
import time
import types
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from importlib import import_module
from importlib.machinery import SourceFileLoader
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
FORK = get_context("fork")  # a child has all that is loaded here, and none of ours, which it loads with the change
for heavy in ("numba", "scipy.stats", "scipy.optimize", "polars", "rich.console", "aiohttp", "jinja2"):
    import_module(heavy)
TESTS = "tests/claims/test_"
DECIDE = ("claims/_decide.py", f"{TESTS}decide.py {TESTS}require.py tests/words/test_claim_sentences.py")
SIZES = ("claims/_sizes.py", f"{TESTS}decide.py {TESTS}require.py")
SIZING = ("floors/_sizing.py", "tests/floors/test_sizing.py")
LIMITS = ("claims/_decide.py", f"tests/floors/test_sequences.py {TESTS}equivalence.py")
LABELS = ("stats/_label_correction.py", f"{TESTS}labels.py tests/stats/test_ppi.py")
PAIRS = ("claims/_pairs.py", f"{TESTS}pairs.py tests/evidence/test_checks.py tests/audit/test_compare_options.py")
UNITS = ("claims/_units.py", f"{TESTS}runs.py {TESTS}units.py")
CHECKS = ("evidence/_checks.py", "tests/evidence/test_checks.py")
FACTS = (
    "evidence/_facts.py",
    "tests/evidence/test_facts.py tests/evidence/test_missing.py tests/wiring/test_removal.py",
)
ANSWERS = (
    "evidence/_estimators.py",
    f"{TESTS}control.py tests/evidence/test_checks.py tests/audit/test_page_claims.py",
)
MISSING = ("claims/_missing.py", "tests/evidence/test_missing.py")
GATE_LIMITS = ("claims/_gate_limits.py", f"{TESTS}gate_limits.py")
CHECKS_MISSING = ("evidence/_checks.py", "tests/evidence/test_missing.py")
ESTIMATORS = ("evidence/_estimators.py", "tests/evidence/test_missing.py tests/audit/test_gate.py")
COMPARE = ("audit/_comparison.py", "tests/audit/test_page_claims.py tests/audit/test_compare_options.py")
GATE = ("audit/_gate_check.py", "tests/audit/test_gate.py tests/audit/test_page_claims.py")
WATCH = ("audit/_watch.py", "tests/audit/test_watch.py")


# modules that decide verdicts or hand on what they rest on, whole, and the quick tests that must notice
DECIDING = " ".join(
    f"{TESTS}{name}.py"
    for name in (
        "control",
        "decide",
        "equivalence",
        "evidence",
        "measures",
        "pairs",
        "passes",
        "require",
        "subgroups",
        "totals",
        "verdict_rules",
    )
)
SENTENCES = "tests/words/test_claim_sentences.py tests/words/test_headline.py"
PAGES = "tests/evidence tests/wiring/test_one_rule.py " + " ".join(
    f"tests/audit/test_{name}.py"
    for name in ("page_claims", "page_figures", "compare_options", "gate", "gate_baseline")
)
SURFACES = f"{DECIDING} {PAGES}"
WEIGHED = f"{SURFACES} tests/severity/test_severity_wiring.py"
WHOLE = {
    "evidence/_calibration_evidence.py": f"{TESTS}ece.py {SURFACES}",
    "evidence/_estimators.py": SURFACES,
    "evidence/_facts.py": SURFACES,
    "evidence/_checks.py": SURFACES,
    "evidence/_severity_evidence.py": WEIGHED,
    "audit/_comparison.py": SURFACES,
    "audit/_gate_check.py": SURFACES,
    "audit/_plan_gate.py": SURFACES,
    "audit/_severity_requirements.py": "tests/severity/test_severity_wiring.py tests/audit/test_severity_req",
    "audit/_measure.py": "tests/audit/test_measure",
    "audit/_measure_claims.py": "tests/audit/test_measure",
    "audit/_watch.py": "tests/audit/test_watch",
    "claims/_decide.py": f"{DECIDING} {SENTENCES} {TESTS}labels.py",
    "claims/_equivalence.py": DECIDING,
    "claims/_question.py": f"{SURFACES} {SENTENCES}",
    "claims/_measures.py": f"{SURFACES} {SENTENCES}",
    "claims/_missing.py": PAGES,
    "claims/_pairs.py": SURFACES,
    "claims/_sizes.py": f"{DECIDING} {SENTENCES}",
    "claims/_subgroups.py": f"{TESTS}subgroups.py {PAGES}",
    "claims/_control.py": f"{TESTS}control.py",
    "claims/_labels.py": f"{TESTS}labels.py",
    "claims/_gate_limits.py": f"{TESTS}gate_limits.py",
    "words/_headline.py": "tests/words/test_headline.py",
    "tail/_gates.py": "tests/tail/test_gates.py",
    "severity/_requirement.py": "tests/severity/test_deployment.py",
    "floors/_sizing.py": "tests/floors/test_sizing.py tests/floors/test_rates.py",
    "floors/_stopping.py": "tests/floors/test_seq tests/audit/test_sequential.py tests/wiring/test_one_rule.py",
}
# changes that no input can tell from the rule: by module, what is changed, and words of its line
SAME = {
    ("claims/_gate_limits.py", "constant 10000", "N_WEIGHTINGS"): "one more weighting",
    ("claims/_gate_limits.py", "constant 20000000", "MAX_STORED_WEIGHTS"): "one more stored weight",
    ("claims/_gate_limits.py", "constant 20261117", "SEED"): "other weights, which the tests' band allows for",
    ("claims/_gate_limits.py", "constant 2000", "N_WEIGHTINGS, MAX_STORED"): "one more weighting of very many units",
    ("claims/_gate_limits.py", "operator Div", "tiny ="): "a bound on rounding",
    ("claims/_gate_limits.py", "comparison Gt", "departs ="): "a departure as large as the bound on rounding",
    ("claims/_gate_limits.py", "comparison Lt", "departs ="): "a departure as large as the bound on rounding",
    ("claims/_gate_limits.py", "comparison LtE", "np.max(self.least"): "a difference as large as the bound on rounding",
    ("claims/_gate_limits.py", "comparison Lt", "LEAST_FREEDOM"): "degrees of freedom as near as the bound on rounding",
    ("claims/_gate_limits.py", "comparison GtE", "if chance >= 1"): "a chance of 1 has a limit of infinity, too",
    ("claims/_gate_limits.py", "comparison Lt", "if quantile < 0"): "a quantile of 0 takes no error",
    ("claims/_gate_limits.py", "constant 1", "if chance >= 1"): "what is no number is never the smallest limit",
    ("claims/_gate_limits.py", "constant True", "counted = difference"): "Tango's limits are the same for gates",
    ("audit/_gate_check.py", "comparison Gt", "if abs(right - round(right))"): "a departure as large as the bound",
    ("audit/_measure_claims.py", "comparison Eq", "key = (section =="): "what is told apart is the same",
    ("audit/_comparison.py", "comparison LtE", "sample.draws.max() <= 1"): "one draw an item has no share of draws",
    ("audit/_comparison.py", "constant 2000", "n_resamples: int = 2000"): "one more resample",
    ("audit/_comparison.py", "constant 1000", "n_resamples: int = 1000"): "one more resample",
    ("audit/_comparison.py", "constant 0", "abs(shift[0])"): "all of a constant shift are alike",
    ("audit/_comparison.py", "operator Or", "if fixed or broken"): "what is counted anew is the same",
    ("audit/_comparison.py", "operator And", "if p.fixed is not None and"): "where one is known, both are",
    ("audit/_comparison.py", "constant True", "maintain_order"): "they go by their names",
    ("audit/_comparison.py", "constant 1", "most_common(1)"): "the first of more is the first",
    ("audit/_comparison.py", "comparison LtE", "wilson(times, n"): "a limit is never one and a half shares itself",
    ("audit/_measure.py", "constant 2000", "n_resamples: int = 2000"): "one more resample",
    ("audit/_watch.py", "comparison Gt", "lead.detectable > LARGE"): "what could be told is never the limit itself",
    ("audit/_watch.py", "comparison Gt", 'fields["worse"] ='): "a difference that is shown is not 0",
    ("audit/_watch.py", "constant 700.0", "math.expm1(min(reach"): "no amount is as large",
    ("claims/_labels.py", "constant 1.0", "weight = (1.0 if"): "weights are divided by their sum",
    ("claims/_measures.py", "constant 9", "round(v * self.scale, 9)"): "rounding noise is smaller still",
    ("claims/_measures.py", "constant 9", "round(stated * self.scale, 9)"): "rounding noise is smaller still",
    ("claims/_control.py", "constant 1000", "BATCHES"): "one more batch",
    ("claims/_control.py", "comparison Gt", "units > BATCHES"): "as many batches as units are the units",
    ("claims/_control.py", "constant 10000", "n_resamples: int = 10_000"): "one more resample",
    ("claims/_control.py", "constant 1", "reshape(size, -1)"): "numpy takes any negative number",
    ("claims/_control.py", "constant 1", "freedom = max(units - 1, 1)"): "one unit decides nothing",
    ("claims/_sizes.py", "constant 4", "N_STEPS"): "one more step towards a size that stands",
    ("claims/_subgroups.py", "constant 700", "if logs.high < 700"): "either is a number; the bound is at 709",
    ("claims/_pairs.py", "constant 0.0", "known = dict.fromkeys("): "where one condition has no value, none has",
    ("claims/_pairs.py", "constant 200000", "MAX_PAIRS"): "no number of conditions has as many pairs",
    ("claims/_pairs.py", "comparison Gt", "> MAX_PAIRS"): "no number of conditions has as many pairs",
    ("evidence/_severity_evidence.py", "constant 1", "int(run.max()) + 1"): "codes that are further apart",
    ("evidence/_severity_evidence.py", "constant 1", "int(number.max()) + 1"): "codes that are further apart",
    ("evidence/_severity_evidence.py", "constant False", "rows = severity_rows"): "an item's draws in another order",
    ("evidence/_facts.py", "comparison GtE", "CONFLICT_SIZE"): "rounding keeps an estimate off the limit",
    ("evidence/_estimators.py", "constant 0", "main[0]."): "claims of the main family are of one measure",
    ("evidence/_checks.py", "comparison Gt", "independence_p > RATER_P"): "a p-value is never the limit itself",
    ("claims/_question.py", "constant 1.0", "or -1.0"): "any negative number says that an end is inside",
    ("claims/_question.py", "comparison Gt", "if distance_outside(high) > 0"): "the distance is never 0",
    ("claims/_question.py", "comparison Gt", "self.known.estimate >"): "what equals the value is never shown to differ",
    ("claims/_missing.py", "constant 1", "reshape(2, -1)"): "numpy takes any negative number",
    ("claims/_missing.py", "operator USub", '"draw"'): "the number of a draw that is missing is not used",
    ("claims/_missing.py", "constant 1", '"draw"'): "the number of a draw that is missing is not used",
    ("words/_headline.py", "comparison Gt", "above = claim.estimate"): "what equals the value is never shown to differ",
    ("words/_headline.py", "constant 1.0", "reach = max("): "0 over any number is 0",
    ("floors/_stopping.py", "constant 12", "np.round(np.bincount(unit"): "rounding noise is smaller still",
    ("floors/_sizing.py", "constant 2", "ahead ="): "a look further than needed",
    ("floors/_sizing.py", "constant 20000", "ahead ="): "one more size where the look is cut short",
    ("floors/_sizing.py", "condition", "ahead ="): "a look that is cut short elsewhere",
}
LONGEST_S = 12.0  # of CPU of the tests that a change is tried with: those that reach it, the quickest first
SWAPS: dict[type, Any] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult, ast.USub: ast.UAdd,
}  # fmt: skip


class Mutant(NamedTuple):
    """What is changed, where, from what to what, and the tests that must notice."""

    name: str
    file: str
    tests: str
    old: str
    new: str


# the wiring that a review found unguarded: each must be killed
NAMED = (
    Mutant("gate ignoring what was tried", *GATE, 'tried = values.get("tried", 1)', "tried = 1"),
    Mutant("gate passed by a changed plan", GATE[0], "tests/audit/test_plan_lock.py tests/audit/test_gate.py",
           "filter(None, [describe_changed_plan(plan.path, status)])", "filter(None, [])"),
    Mutant("gate limits that fall short", *ESTIMATORS,
           "difference_evidence(sample, first, second, exact=policy.is_gate",
           "difference_evidence(sample, first, second"),
    Mutant("gate limits that fall short on separate items", *ESTIMATORS,
           "unpaired_evidence(sample, first, second, exact=policy.is_gate",
           "unpaired_evidence(sample, first, second"),
    Mutant("watch's metrics not divided", *WATCH, "limit = len(watched) / alpha",
           "limit = 1 / alpha"),
    Mutant("refused alignment compared", *CHECKS, "if frozenset(question.conditions) not in aligned.apart:",
           "if True:"),
    Mutant("severity margin taken from the margin", *COMPARE, "margin=margins.get(measure)",
           "margin=margins.get(measure, margins.get(str(dataset.metric)))"),
    Mutant("subgroup p not multiplied", "claims/_decide.py", f"{TESTS}subgroups.py", "np.minimum(holm(tested) * tried",
           "np.minimum(np.asarray(tested) * tried"),
    Mutant("label design effect below 1", *LABELS, "max(float(effect), 1.0)", "float(effect)"),
    Mutant("one more degree of freedom for labels", *LABELS, "freedom=freedom - (slope != 0.0)",
           "freedom=freedom + 1"),
    Mutant("runs crossed by number", *UNITS, "np.array_equal(first[0], last[0])",
           "len(first[0]) == len(last[0])"),
    Mutant("no room for an unseen group", *UNITS, "whole=whole, unseen=unseen), near)",
           "whole=whole, unseen=0.0), near)"),
    Mutant("stop rule decided by an empty sequence", *LIMITS, "is None or interval.low > interval.high or",
           "is None or"),
    Mutant("share boundary >= to >", *PAIRS, "shared.both >= min_shared * either", "shared.both > min_shared * either"),
    Mutant("missing without Bonferroni", *MISSING,  # both ways must agree: what took the place of the corrected test
           "return max(p_value(ignoring, value), p_value(as_worst, value))",
           "return min(p_value(ignoring, value), p_value(as_worst, value))"),
    Mutant("equivalents not in one tier", *PAIRS, "in (Verdict.UNDECIDED, Verdict.EQUIVALENT)",
           "in (Verdict.UNDECIDED,)"),
    Mutant("dominance refuted at twice its level", *DECIDE, "evidence.p_refuted <= differs.alpha",
           "evidence.p_refuted <= 2 * differs.alpha"),
    Mutant("slopes before their turn", *COMPARE, 'if measure == main else "other"',
           'if measure in (main, "b") else "other"'),
    Mutant("joint law used with labels", *ANSWERS, "if values.label is None and values.group_2", "if values.group_2"),
)  # fmt: skip
MUTANTS = (
    *NAMED,
    Mutant("no family", *DECIDE, "level = alpha / (len(places) - gone[min(number, stop)])", "level = alpha"),
    Mutant("a pair leaves at its first test", *DECIDE, "number for number, test in enumerate(order)}",
           "number for number, test in reversed([*enumerate(order)])}"),
    Mutant("direction turned", *DECIDE, '("below" if asked.is_rising else "above")',
           '("above" if asked.is_rising else "below")'),
    Mutant("tried ignored", *DECIDE, "alpha = (1 - level) / tried", "alpha = 1 - level"),
    Mutant("gate met on the point estimate", *DECIDE, "VERIFIED if is_met(evidence) else",
           "VERIFIED if (evidence.estimate > question.value) == (question.relation == 'above') else"),
    Mutant("gate violated on the point estimate", *DECIDE, "if float(p_holm) <= alpha:", "if True:"),
    Mutant("gate without multiplicity", *DECIDE, "p_violated = holm(p_other_side)", "p_violated = p_other_side"),
    Mutant("gate's sign", *DECIDE,
           'above=question.relation == "above", alpha=alpha)', 'above=question.relation == "below", alpha=alpha)'),
    Mutant("gate's level", *DECIDE, "interval = evidence.interval(one_sided_level(alpha))\n    return",
           "interval = evidence.interval(one_sided_level(4 * alpha))\n    return"),
    Mutant("equivalence at 20%", "claims/_equivalence.py", f"{TESTS}decide.py {TESTS}evidence.py", "TAIL = 1.0",
           "TAIL = 4.0"),
    Mutant("missing grades one way", *MISSING,
           "return max(p_value(ignoring, value), p_value(as_worst, value))", "return p_value(ignoring, value)"),
    Mutant("missing grades narrow the interval", *MISSING,
           "low, high = min(ignoring.low, as_worst.low), max(ignoring.high, as_worst.high)",
           "low, high = ignoring.low, ignoring.high"),
    Mutant("missing grades at the better end", *MISSING, 'outcomes.metric.worst if end == "worst"',
           'outcomes.metric.best if end == "worst"'),
    Mutant("gate limit at the better end", *ESTIMATORS, '= ("worst", "best")', '= ("best", "best")'),
    Mutant("gate counts the baseline's missing as wrong", *ESTIMATORS, "lacking[:, others] = 0",
           "lacking[:, others] += 0"),
    Mutant("gate limit without an added unit", *GATE_LIMITS, "added = float(np.sum(fills.share**2))", "added = 0.0"),
    Mutant("few groups as good as many", *GATE_LIMITS, "if few.are_groups:", "if False:"),
    Mutant("rare departures not seen", *GATE_LIMITS, "fills.worst if fills.may_depart_rarely() else",
           "fills.worst if False else"),
    Mutant("standard error at the worse end", *GATE_LIMITS, "np.abs(self.most - shares.min(axis=0))",
           "np.abs(self.least - shares.min(axis=0))"),
    Mutant("gate limit on the other side", *GATE_LIMITS, 'sign = 1.0 if metric.better == "higher" else -1.0',
           "sign = 1.0"),
    Mutant("stop rule with a limit of its own on missing grades", "claims/_missing.py", "tests/wiring/test_one_rule.py",
           "MAX_UNBOUNDED_MISSING = 0.01", "MAX_UNBOUNDED_MISSING = 0.02"),
    Mutant("candidate without shared items compared", *CHECKS_MISSING, "if policy.unpaired or policy.is_gate:",
           "if policy.unpaired:"),
    Mutant("attempts not counted between subgroups", "claims/_decide.py", f"{TESTS}subgroups.py",
           "holm(tested) * tried", "holm(tested)"),
    Mutant("whole draws dropped unseen", *FACTS, "if strict and not unpaired else asked[columns]",
           "if False else asked[columns]"),
    Mutant("raters not checked", *CHECKS, "    check_raters,\n", ""),
    Mutant("labels not checked", *CHECKS, "    check_labels,\n", ""),
    Mutant("missing not checked", *CHECKS, "    check_missing,\n", ""),
    Mutant("reading not checked", *CHECKS, "    check_reading,\n", ""),
    Mutant("sized one-sided", *SIZES, "units_needed(way, aim, tail=alpha / 2,", "units_needed(way, aim, tail=alpha,"),
    Mutant("units by the first power", *SIZES,
           "n = math.ceil(variance * (reach_of(math.inf, tail, power) / distance) ** 2)",
           "n = math.ceil(variance * (reach_of(math.inf, tail, power) / distance) ** 1)"),
    Mutant("gate's needed", *SIZES, "units_needed(evidence, distance, tail=alpha)",
           "units_needed(evidence, distance, tail=alpha / 2)"),
    Mutant("band satisfied by one threshold", "tail/_tail_study.py", "tests/tail/test_compare.py",
           "if n_same_sign == len(usable):", "if n_same_sign >= 1:"),
    Mutant("tail gate P2", "tail/_gates.py", "tests/tail/test_gates.py",
           "passed=abs(difference) > plan.delta if known", "passed=abs(difference) > 0 if known"),
    Mutant("tail verdict without gates", "tail/_gates.py", "tests/tail/test_gates.py",
           "decide_by_gates(gates[:5], gates[5:])", "decide_by_gates(gates[:4], gates[4:])"),
    Mutant("gated verdict decided on too little data", "claims/_decide.py", f"{TESTS}verdict_rules.py",
           "if blocked is None and any(gate.passed is None for gate in (*admitting, *passing)):", "if False:"),
    Mutant("gate passed by an unchecked judge", "claims/_decide.py", f"{TESTS}verdict_rules.py",
           "is_judge_only = by_data is Verdict.VERIFIED and not accept_judge and", "is_judge_only = False and"),
    Mutant("change shown in one way of two", "claims/_decide.py", f"{TESTS}verdict_rules.py",
           "all(way.at is not None for way in ways)", "any(way.at is not None for way in ways)"),
    Mutant("severity violated by its upper limit", "severity/_requirement.py",
           "tests/severity/test_deployment.py", "low, high = sides.lower * covered",
           "low, high = sides.upper * covered"),
    Mutant("law's gate", "severity/_discriminate.py", "tests/severity/test_discriminate.py",
           "passed=all(side.adequate for side in sides)", "passed=True"),
    Mutant("estimation's exponent", *SIZING, "error_rate / delta**3", "error_rate / delta**2"),
    Mutant("detection's exponent", *SIZING, "error_rate / delta**2", "error_rate / delta"),
    Mutant("paired size", *SIZING, "math.sqrt(d - gap**2)\n    return math.ceil((reach / gap) ** 2)",
           "math.sqrt(d - gap**2)\n    return math.ceil(reach / gap)"),
    Mutant("half width's size", *SIZING, "/ half_width**2", "/ half_width"),
    Mutant("floor's exponent", "floors/_rates.py", "tests/floors/test_rates.py",
           "(lipschitz * error_rate / n) ** (1 / 3)", "(lipschitz * error_rate / n) ** (1 / 2)"),
    Mutant("Neyman without shrinkage", "floors/_active_labels.py", "tests/floors/test_active.py",
           "size * (sigma + np.mean(sigma)) / 2", "size * sigma"),
    Mutant("side of a claim", "words/_headline.py", "tests/words/test_headline.py",
           'return "better" if above ==', 'return "worse" if above =='),
)  # fmt: skip


class Change(NamedTuple):
    """One operator, number or condition changed: where, what, and the module's text with it."""

    line: int
    what: str
    text: str
    at: int | None  # the line of its statement; None where it is not in a function
    key: str  # its function's text and its place in it: the same while these are


def changes(text: str) -> list[Change]:
    """Every copy of a module with one thing changed."""
    tree = ast.parse(text)
    quiet = {id(part) for node in ast.walk(tree) for part in _unspoken(node)}
    starts = [0]
    for row in text.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(row))
    statements, whole = _statements(tree), ast.unparse(tree)
    found: list[Change] = []
    seen: dict[str, int] = {}
    for node in ast.walk(tree):
        if id(node) in quiet or not (change := _changed(node)):
            continue
        what, at, new = change
        line, around = statements.get(id(node), (None, whole))
        digest = hashlib.sha256(around.encode()).hexdigest()[:12]
        seen[digest] = seen.get(digest, -1) + 1
        begin, end = starts[at.lineno - 1] + at.col_offset, starts[(at.end_lineno or 0) - 1] + (at.end_col_offset or 0)
        raw = text.encode()
        copy = (raw[:begin] + f"({ast.unparse(new)})".encode() + raw[end:]).decode()
        found.append(Change(at.lineno, what, copy, line, f"{digest}.{seen[digest]}"))
    return found


def _statements(tree: ast.Module) -> dict[int, tuple[int, str]]:
    """Of every node in a function, by its id: the line of its innermost statement, and the text of the function."""
    places: dict[int, tuple[int, str]] = {}
    outer = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    for function in outer:
        if id(function) in places:  # a function in a function
            continue
        text = ast.unparse(function)
        for statement in ast.walk(function):  # from the outside to the inside
            if isinstance(statement, ast.stmt) and statement is not function:
                for node in ast.walk(statement):
                    places[id(node)] = (statement.lineno, text)
    return places


def _unspoken(node: ast.AST) -> list[ast.AST]:
    """What no test of verdicts can notice: annotations, assertions of types, words, and refusals of wrong calls."""
    parts = [getattr(node, "annotation", None), getattr(node, "returns", None)]
    if isinstance(node, ast.Raise | ast.JoinedStr | ast.Assert):
        parts.append(node)
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        parts.append(node)
    if isinstance(node, ast.keyword) and node.arg == "strict":
        parts.append(node.value)
    parts += getattr(node, "decorator_list", [])
    return [inner for part in parts if part is not None for inner in ast.walk(part)]


def _changed(node: ast.AST) -> tuple[str, ast.expr, ast.expr] | None:
    """What is changed, the part of the text it stands in, and what comes there."""
    other = copying.copy(node)  # its parts stay the node's own: one of them is replaced
    if isinstance(other, ast.Compare) and len(other.ops) == 1 and type(other.ops[0]) in SWAPS:
        what = f"comparison {type(other.ops[0]).__name__}"
        other.ops = [SWAPS[type(other.ops[0])]()]
    elif isinstance(other, ast.BinOp | ast.BoolOp | ast.UnaryOp) and type(other.op) in SWAPS:
        what = f"operator {type(other.op).__name__}"
        other.op = SWAPS[type(other.op)]()
    elif isinstance(other, ast.Constant) and isinstance(other.value, bool | int | float):
        what = f"constant {other.value}"
        other.value = not other.value if isinstance(other.value, bool) else other.value + 1
    elif isinstance(node, ast.If | ast.IfExp):
        return "condition", node.test, ast.UnaryOp(op=ast.Not(), operand=node.test)
    else:
        return None
    assert isinstance(node, ast.expr)
    assert isinstance(other, ast.expr)
    return what, node, other


def whole(number: int, file: Path, words: list[str], seed: int = 0) -> None:
    """Try changes at random in each module of `WHOLE` whose name has one of the words; skip those in the file."""
    chosen = list(dict.fromkeys(name for word in words or ("",) for name in WHOLE if word in name))
    texts = {name: (ROOT / "src" / "richter" / name).read_text(encoding="utf-8") for name in chosen}
    possible = {name: list(changes(text)) for name, text in texts.items()}
    print(f"{sum(map(len, possible.values()))} changes can be made", flush=True)
    for of_module in possible.values():
        random.Random(seed).shuffle(of_module)
    todo = [(name, change) for name, of_module in possible.items() for change in of_module[: number or None]]
    done = _read_rows(file)
    todo = [(name, change) for name, change in todo if (name, change.key) not in done]
    if todo:
        child = FORK.Process(target=_try_all, args=(texts, todo, file))
        child.start()
        child.join()
        if child.exitcode:
            raise SystemExit(f"the tests fail on what the modules are: {file.with_suffix('.failed.txt')}")
    keys = {(name, change.key): change.line for name, text in texts.items() for change in changes(text)}
    _print_rows([row | {"line": keys[key]} for key, row in _read_rows(file).items() if key in keys])


def _read_rows(file: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """What was tried, by module and change."""
    rows = map(json.loads, file.read_text().splitlines()) if file.exists() else ()
    return {(row["file"], row["key"]): row for row in rows}


def _print_rows(rows: list[dict[str, Any]]) -> None:
    """Print the survivors with the reasons of those that cannot be killed, and the counts by module and over all."""
    counts: dict[str, list[int]] = {}
    for row in sorted(rows, key=lambda r: (r["file"], r["line"])):
        reasons = [
            why
            for (of, what, words), why in SAME.items()
            if of == row["file"] and what == row["what"] and words in row["text"]
        ]
        is_same = bool(reasons) and not row["killed"]
        tally = counts.setdefault(row["file"], [0, 0, 0])
        for k, counted in enumerate((row["killed"], True, is_same)):
            tally[k] += counted
        if not row["killed"]:
            seen = f"{row['tests']} tests"
            outcome = "same" if is_same else "SURVIVED"
            print(f"{outcome} {row['file']}:{row['line']} {row['what']}: {row['text']} ({seen}) {reasons or ''}")
    counts["in all"] = [sum(column) for column in zip(*counts.values(), strict=True)] or [0, 0, 0]
    for name, (killed_, tried, same) in counts.items():
        print(f"{name}: {killed_} of {tried} killed ({killed_ / max(tried - same, 1):.1%} of what can be), {same} same")


class Trying:
    """A pytest session that collects once and runs, in a fork for each change, the tests that reach it, quickest first.

    The tests are first run on copies of the modules that note which statements each test reaches.
    """

    def __init__(self, texts: dict[str, str], todo: list[tuple[str, Change]], file: Path) -> None:
        self.texts, self.todo, self.file = texts, todo, file
        self.durations: dict[str, float] = {}  # seconds of CPU, which a busy machine does not change
        self.started = 0.0
        self.reached: dict[str, list[tuple[str, int]]] = {}
        self.hits: set[tuple[str, int]] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """The first that fails is enough."""
        if report.failed:
            self.file.with_suffix(".failed.txt").write_text(f"{report.nodeid}\n{report.longreprtext}\n")
            os._exit(1)
        if report.when == "teardown":
            now = time.process_time()
            self.durations[report.nodeid], self.started = now - self.started, now
            self.reached[report.nodeid] = sorted(self.hits)
            self.hits.clear()

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run all tests as the modules are, then for each change those that reach it."""
        notes = self.file.with_suffix(f".{self._state(session.items)}.json")  # kept: a run in pieces notes it once
        if not notes.exists() and _forked(lambda: self._run_noting(session.items, notes), 3600):
            os._exit(2)
        durations, reached = json.loads(notes.read_text())
        tests = {nodeid: {(name, line) for name, line in lines} for nodeid, lines in reached.items()}
        order = sorted(session.items, key=lambda item: durations[item.nodeid])
        for name, change in self.todo:
            items, total = [], 0.0
            for item in order:
                is_reached = change.at is None or (name, change.at) in tests[item.nodeid]
                if is_reached and total + durations[item.nodeid] < LONGEST_S:
                    items.append(item)
                    total += durations[item.nodeid]
            failed = bool(items) and _forked(
                lambda items=items, name=name, text=change.text: self._run(items, name, text),  # type: ignore[misc]
                20 + 10 * total,
            )
            row = {"file": name, "key": change.key, "what": change.what, "tests": len(items), "killed": failed}
            row["text"] = self.texts[name].splitlines()[change.line - 1].strip()
            with self.file.open("a") as out:
                out.write(json.dumps(row) + "\n")
        return True

    def _state(self, items: list[pytest.Item]) -> str:
        """A name for the code, the tests and the modules that are noted, as they are now."""
        files = [*sorted((ROOT / "src").rglob("*.py")), *sorted({item.path for item in items})]
        parts = [*self.texts, *(file.read_text(encoding="utf-8") for file in files)]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]

    def _run_noting(self, items: list[pytest.Item], notes: Path) -> None:
        for name, text in self.texts.items():
            _swap(name, _noting(text, name), hits=self.hits)
        self.started = time.process_time()
        self._run(items)
        notes.write_text(json.dumps([self.durations, self.reached]))

    def _run(self, items: list[pytest.Item], name: str = "", text: str = "") -> None:
        if name:
            _swap(name, text)
        for item, after in zip(items, [*items[1:], None], strict=True):
            item.ihook.pytest_runtest_protocol(item=item, nextitem=after)


def _noting(text: str, name: str) -> str:
    """A module whose functions note each statement that they reach, by its line in the module as it is."""
    tree = ast.parse(text)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    blocks = {id(inner): inner for function in functions for inner in ast.walk(function)}
    for block in blocks.values():
        for field in ("body", "orelse", "finalbody"):
            if isinstance(statements := getattr(block, field, None), list):
                notes = [ast.parse(f"_hits_.add(({name!r}, {one.lineno}))").body[0] for one in statements]
                setattr(block, field, [both for pair in zip(notes, statements, strict=True) for both in pair])
    return ast.unparse(ast.fix_missing_locations(tree))


def _try_all(texts: dict[str, str], todo: list[tuple[str, Change]], file: Path) -> None:
    os.chdir(ROOT)
    guards = tuple(test for name in texts for test in WHOLE[name].split())
    files = sorted(str(file.relative_to(ROOT)) for file in ROOT.glob("tests/*/test_*.py"))
    tests = [file for file in files if file.startswith(guards)]
    with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
        options = ["-q", "-n0", "-p", "no:cacheprovider", "-m", "not slow", *tests]
        code = pytest.main(options, plugins=[Trying(texts, todo, file)])
    os._exit(int(code))


def _forked(work: Callable[[], None], most_s: float = 600) -> bool:
    """Whether work fails in a fork of this process; a loop without end is a failure too.

    It may take `most_s` seconds of CPU, and ten times as long on a busy machine.
    """
    pid = os.fork()
    if not pid:
        try:
            resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(most_s), resource.RLIM_INFINITY))
            work()
        except BaseException:
            os._exit(1)
        os._exit(0)
    until = time.monotonic() + 10 * most_s
    while time.monotonic() < until:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            return status != 0
        time.sleep(0.02)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return True


def _swap(name: str, text: str, hits: set[tuple[str, int]] | None = None) -> None:
    """Give a loaded module the code, the defaults and the numbers that it has in another text of it.

    Its classes stay the same objects, so that what is made of them before and after is of one type.
    """
    module = f"richter.{name[:-3].replace('/', '.')}"
    old, new, classes = import_module(module), types.ModuleType(module), types.ModuleType(module)
    tree = ast.parse(text)
    own = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    for copy in (new, classes):
        copy.__dict__.update(__package__=old.__package__, __file__=old.__file__, _hits_=hits)
    vars(old)["_hits_"] = hits
    new.__dict__.update({node.name: vars(old)[node.name] for node in own})
    exec(compile(text, module, "exec"), classes.__dict__)
    tree.body = [node for node in tree.body if node not in own]
    exec(compile(tree, module, "exec"), new.__dict__)
    for node in own:
        for key, inner in vars(vars(classes)[node.name]).items():
            _retrain(vars(vars(old)[node.name]).get(key), inner)
    for key, value in vars(new).items():
        mine = vars(old).get(key)
        if value is mine:
            continue
        if isinstance(value, dict) and isinstance(mine, dict) and not key.startswith("__"):
            mine.clear()  # the same table: other modules have it by its name
            mine.update(value)
        elif isinstance(value, bool | int | float | tuple) and not key.startswith("__"):
            setattr(old, key, value)
        elif getattr(value, "__module__", "") == module and not isinstance(value, type):
            _retrain(mine, value)


def _retrain(old: Any, new: Any) -> None:
    """Give a function, and the one that it wraps, another's code and defaults."""
    if isinstance(old, types.FunctionType) and isinstance(new, types.FunctionType):
        old.__code__, old.__defaults__, old.__kwdefaults__ = new.__code__, new.__defaults__, new.__kwdefaults__
    for wrapper in ("fget", "func", "__func__", "__wrapped__"):
        inner, other = getattr(old, wrapper, None), getattr(new, wrapper, None)
        if inner is not None and other is not None:
            _retrain(inner, other)


def killed(mutant: Mutant) -> bool:
    """Whether a test fails on the changed copy."""
    text = (ROOT / "src" / "richter" / mutant.file).read_text(encoding="utf-8")
    return _fails(mutant.file, text.replace(mutant.old, mutant.new, 1), mutant.tests)


def _fails(name: str, text: str, named: str, *more: str) -> bool:
    """Whether a test fails with this text in the place of a module; a loop without end is noticed too."""
    tests = [test for test in named.split() if (ROOT / test).exists()]
    child = FORK.Process(target=_try, args=(f"richter.{name[:-3].replace('/', '.')}", text, [*more, *tests]))
    child.start()
    child.join(600)
    if child.is_alive():
        child.kill()
        child.join()
    return child.exitcode not in (0, 5)


def _try(module: str, text: str, arguments: list[str]) -> None:
    """Run tests in this process, where a module has another text than its file."""
    read = SourceFileLoader.get_code

    def get_code(self: SourceFileLoader, fullname: str) -> types.CodeType | None:
        return compile(text, self.path, "exec") if fullname == module else read(self, fullname)

    SourceFileLoader.get_code = get_code  # type: ignore[assignment, method-assign]
    os.chdir(ROOT)
    with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
        # plain assertions: else pytest loads our modules itself, as those of a plugin of its own, and not the change
        code = pytest.main(["-q", "-x", "-n0", "-p", "no:cacheprovider", "--assert=plain", *arguments])
    os._exit(int(code))


def main() -> None:
    """Try the mutants that are asked for; exit status 1 where one survives."""
    if "--help" in sys.argv:
        print(__doc__)
        return
    if "--whole" in sys.argv:
        rest = sys.argv[sys.argv.index("--whole") + 1 :]
        seed = int(sys.argv[sys.argv.index("--seed") + 1]) if "--seed" in sys.argv else 0
        whole(int(rest[0]) if rest else 0, Path(rest[1] if len(rest) > 1 else "mutants.jsonl"), rest[2:], seed)
        return
    lost = [m.name for m in MUTANTS if m.old not in (ROOT / "src" / "richter" / m.file).read_text(encoding="utf-8")]
    if lost:
        sys.exit(f"the code no longer has what these change: {', '.join(lost)}")
    chosen = list(NAMED if "--named" in sys.argv else MUTANTS)
    if "--fast" in sys.argv:
        chosen = list({m.file: m for m in reversed(MUTANTS)}.values())
    words = [w for w in sys.argv[1:] if not w.startswith("--")]
    chosen = [m for m in chosen if all(w in m.name for w in words)]
    survivors = []
    for mutant in chosen:
        found = killed(mutant)
        print(f"{'killed' if found else 'SURVIVED':<10} {mutant.file}: {mutant.name}", flush=True)
        if not found:
            survivors.append(mutant.name)
    print(
        f"{len(chosen) - len(survivors)} of {len(chosen)} killed"
        + (f"; left: {', '.join(survivors)}" if survivors else "")
    )
    sys.exit(bool(survivors))


if __name__ == "__main__":
    main()
