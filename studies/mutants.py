"""Does a test notice when a rule of a verdict is changed? Each rule below is changed in a copy, and its tests are run.

A mutant is killed when a test fails. Prints one line a mutant and the survivors; exit status 1 where one survives.
`--fast` runs the first of each file, for continuous integration; `--named` those of the wiring that a review found
unguarded. `--whole N` takes N changes at random of all that can
be made to operators, numbers and conditions in the modules that decide verdicts (0: all), kept in a file as they are
done; only quick tests count there.

    python studies/mutants.py [--fast | --named] [word in the name]
    python studies/mutants.py --whole 200 [file]
"""

import ast
import copy as copying
import json
import os
import random
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
DECIDE = ("claims/_decide.py", f"{TESTS}decide.py {TESTS}require.py {TESTS}sentences.py")
SIZES = ("claims/_sizes.py", f"{TESTS}decide.py {TESTS}require.py")
SIZING = ("floors/_sizing.py", "tests/floors/test_sizing.py")
SUITE = ("claims/_suite.py", f"{TESTS}suite.py")
LABELS = ("claims/_labels.py", f"{TESTS}labels.py")
PAIRS = ("claims/_pairs.py", f"{TESTS}pairs.py tests/evidence/test_checks.py tests/audit/test_compare_options.py")
UNITS = ("claims/_units.py", f"{TESTS}about.py {TESTS}units.py")
CHECKS = ("evidence/_checks.py", "tests/evidence/test_checks.py")
FACTS = (
    "evidence/_facts.py",
    "tests/evidence/test_facts.py tests/evidence/test_missing.py tests/wiring/test_removal.py",
)
ANSWERS = (
    "evidence/_answer_questions.py",
    f"{TESTS}control.py tests/evidence/test_checks.py tests/audit/test_page_claims.py",
)
MISSING = ("claims/_missing.py", "tests/evidence/test_missing.py")
GATE_LIMITS = ("claims/_gate_limits.py", f"{TESTS}gate_limits.py")
CHECKS_MISSING = ("evidence/_checks.py", "tests/evidence/test_missing.py")
ESTIMATORS = ("evidence/_estimators.py", "tests/evidence/test_missing.py tests/audit/test_gate.py")
COMPARE = ("audit/_comparison.py", "tests/audit/test_page_claims.py tests/audit/test_compare_options.py")
GATE = ("audit/_gate_check.py", "tests/audit/test_gate.py tests/audit/test_page_claims.py")
WATCH = ("audit/_watch.py", "tests/audit/test_watch.py")


# modules that decide verdicts or hand on what they rest on, whole, and the tests that must notice
CLAIMS = " ".join(f"{TESTS}{name}.py" for name in ("decide", "sentences", "require"))
WIRED = "tests/evidence/test_checks.py tests/evidence/test_facts.py tests/evidence/test_missing.py"
PAGES = f"{WIRED} tests/audit/test_page_claims.py tests/audit/test_compare_options.py tests/audit/test_gate.py"
WHOLE = {
    "claims/_decide.py": " ".join(
        [CLAIMS, *(f"{TESTS}{name}.py" for name in ("answer", "control", "evidence", "labels"))]
    ),
    "claims/_suite.py": f"{TESTS}suite.py",
    "claims/_gate_limits.py": f"{TESTS}gate_limits.py",
    "claims/_missing.py": f"{WIRED} tests/wiring/test_one_rule.py",
    "claims/_pairs.py": f"{TESTS}pairs.py {TESTS}decide.py {PAGES}",
    "claims/_answer.py": f"{TESTS}answer.py",
    "evidence/_answer_questions.py": PAGES,
    "evidence/_checks.py": PAGES,
    "evidence/_calibration_evidence.py": f"{TESTS}ece.py {PAGES}",
    "evidence/_estimators.py": PAGES,
    "evidence/_facts.py": f"{PAGES} tests/wiring/test_removal.py",
    "evidence/_severity_evidence.py": f"{PAGES} tests/cli/test_severity.py",
    "audit/_comparison.py": PAGES,
    "audit/_gate_check.py": PAGES,
    "audit/_measure.py": "tests/audit/test_measure.py tests/audit/test_page_claims.py",
    "audit/_measure_claims.py": "tests/audit/test_measure.py tests/audit/test_page_claims.py",
    "audit/_watch.py": "tests/audit/test_watch.py",
    "tail/_gates.py": "tests/tail/test_gates.py",
    "severity/_requirement.py": "tests/severity/test_deployment.py",
    "floors/_sizing.py": "tests/floors/test_sizing.py tests/floors/test_rates.py",
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
    ("claims/_gate_limits.py", "constant True", "counted = difference"): "Tango's limits are the same for gates",
    ("claims/_missing.py", "operator USub", '"draw"'): "the number of a draw that is missing is not used",
    ("claims/_missing.py", "constant 1", '"draw"'): "the number of a draw that is missing is not used",
    ("claims/_answer.py", "comparison Gt", "above = claim.estimate"): "what equals the value is never shown to differ",
    ("claims/_answer.py", "constant 1.0", "reach = max("): "0 over any number is 0",
    ("floors/_sizing.py", "constant 2", "ahead ="): "a look further than needed",
    ("floors/_sizing.py", "constant 20000", "ahead ="): "one more size where the look is cut short",
    ("floors/_sizing.py", "condition", "ahead ="): "a look that is cut short elsewhere",
    ("floors/_sizing.py", "constant 60", "range(60)"): "one more halving changes nothing to see",
}
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
    Mutant("gate ignoring attempts", *GATE, 'tried = values.get("tried", 1) or known or 1', "tried = 1"),
    Mutant("gate limits that fall short", *ESTIMATORS, "exact=policy.is_gate, ratio=ratio", "ratio=ratio"),
    Mutant("watch's metrics not divided", *WATCH, "limit = len(watched) / alpha if watched else 1 / alpha",
           "limit = 1 / alpha"),
    Mutant("refused alignment compared", *CHECKS, "if frozenset(question.conditions) not in aligned.apart:",
           "if True:"),
    Mutant("severity margin taken from the margin", *COMPARE, "margin=margins.get(measure)",
           "margin=margins.get(measure, margins.get(str(dataset.metric)))"),
    Mutant("trade refuted at twice its level", *SUITE, "_most_gain(t.quality.interval(1 - alpha)",
           "_most_gain(t.quality.interval(1 - 2 * alpha)"),
    Mutant("trade list always one step on", *SUITE, "left -= still_rejecting", "left -= 1"),
    Mutant("subgroup p not multiplied", "claims/_decide.py", f"{TESTS}subgroups.py", "np.minimum(holm(tested) * tried",
           "np.minimum(np.asarray(tested) * tried"),
    Mutant("label design effect below 1", *LABELS, "deff = max(1.0, (total - between) / alone) if",
           "deff = (total - between) / alone if"),
    Mutant("one more degree of freedom for labels", *LABELS, "freedom=effective_n - 1)", "freedom=effective_n)"),
    Mutant("runs crossed by number", *UNITS, "np.array_equal(tables[0][0], tables[1][0])",
           "len(tables[0][0]) == len(tables[1][0])"),
    Mutant("no room for an unseen group", *UNITS, "whole=whole, unseen=unseen), near)",
           "whole=whole, unseen=0.0), near)"),
    Mutant("stop rule decided by an empty sequence", "floors/_stopping.py",
           "tests/floors/test_sequences.py tests/audit/test_sequential.py", "if above != under and not is_empty:",
           "if above or under:"),
    Mutant("share boundary >= to >", *PAIRS, "shared.both >= min_shared * either", "shared.both > min_shared * either"),
    Mutant("missing without Bonferroni", *MISSING,  # both ways must agree: what took the place of the corrected test
           "return max(p_value(ignoring, value), p_value(as_worst, value))",
           "return min(p_value(ignoring, value), p_value(as_worst, value))"),
    Mutant("equivalents not in one tier", *PAIRS, "in (Verdict.UNDECIDED, Verdict.EQUIVALENT)",
           "in (Verdict.UNDECIDED,)"),
    Mutant("dominance refuted at twice its level", *DECIDE, "evidence.p_refuted <= differs.alpha",
           "evidence.p_refuted <= 2 * differs.alpha"),
    Mutant("slopes before their turn", *COMPARE, 'if measure == main and not trades else "other"',
           'if measure in (main, "b") and not trades else "other"'),
    Mutant("joint law used with labels", *ANSWERS, "if values.label is not None or values.group_2",
           "if values.group_2"),
)  # fmt: skip
MUTANTS = (
    *NAMED,
    Mutant("no family", *DECIDE, "level = alpha / (len(places) - gone[min(number, stop)])", "level = alpha"),
    Mutant("a pair leaves at its first test", *DECIDE, "number for number, test in enumerate(order)}",
           "number for number, test in reversed([*enumerate(order)])}"),
    Mutant("direction turned", *DECIDE, '("below" if asked.is_rising else "above")',
           '("above" if asked.is_rising else "below")'),
    Mutant("tried ignored", *DECIDE, "alpha = (1 - level) / tried", "alpha = 1 - level"),
    Mutant("one family of all", *DECIDE, "is_page = one_family and", "is_page ="),
    Mutant("gate met on the point estimate", *DECIDE, "VERIFIED if is_met(evidence) else",
           "VERIFIED if (evidence.estimate > question.value) == (question.relation == 'above') else"),
    Mutant("gate violated on the point estimate", *DECIDE, "if float(p_holm) <= alpha:", "if True:"),
    Mutant("gate without multiplicity", *DECIDE, "p_violated = holm(p_other_side)", "p_violated = p_other_side"),
    Mutant("gate's sign", *DECIDE,
           'above=question.relation == "above", alpha=alpha)', 'above=question.relation == "below", alpha=alpha)'),
    Mutant("gate's level", *DECIDE, "interval = evidence.interval(1 - 2 * alpha)\n    return",
           "interval = evidence.interval(1 - 8 * alpha)\n    return"),
    Mutant("equivalence at 20%", "claims/_evidence.py", f"{TESTS}decide.py {TESTS}evidence.py",
           "found = evidence.interval(1 - 2 * alpha)", "found = evidence.interval(1 - 8 * alpha)"),
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
    Mutant("few groups as good as many", *GATE_LIMITS, "groups < MIN_GROUPS", "groups < 0"),
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
    Mutant("whole draws dropped unseen", *FACTS, "if strict and not unpaired:", "if False:"),
    Mutant("raters not checked", *CHECKS, "    check_raters,\n", ""),
    Mutant("labels not checked", *CHECKS, "    check_labels,\n", ""),
    Mutant("missing not checked", *CHECKS, "    check_missing,\n", ""),
    Mutant("reading not checked", *CHECKS, "    check_reading,\n", ""),
    Mutant("sized one-sided", *SIZES, "tests = [(alpha / 2, POWER)]", "tests = [(alpha, POWER)]"),
    Mutant("units by the first power", *SIZES,
           "n = math.ceil(variance * (reach_of(math.inf, tail, power) / distance) ** 2)",
           "n = math.ceil(variance * (reach_of(math.inf, tail, power) / distance) ** 1)"),
    Mutant("gate's needed", *SIZES, "units_needed(evidence, distance, tail=alpha)",
           "units_needed(evidence, distance, tail=alpha / 2)"),
    Mutant("band satisfied by one threshold", "tail/_tail_study.py", "tests/tail/test_compare.py",
           "if kept == len(usable):", "if kept >= 1:"),
    Mutant("tail gate P2", "tail/_gates.py", "tests/tail/test_gates.py",
           "passed=abs(difference) > plan.delta if known", "passed=abs(difference) > 0 if known"),
    Mutant("tail verdict without gates", "tail/_gates.py", "tests/tail/test_gates.py",
           "blocked = first_failed(gates[:5])\n", "blocked = first_failed(gates[:4])\n"),
    Mutant("severity violated by its upper limit", "severity/_requirement.py",
           "tests/severity/test_deployment.py", "low, high = sides.lower * covered",
           "low, high = sides.upper * covered"),
    Mutant("law's gate", "severity/_discriminate.py", "tests/severity/test_discriminate.py",
           "passed=all(side.adequate for side in sides)", "passed=True"),
    Mutant("estimation's exponent", *SIZING, "error_rate / delta**3", "error_rate / delta**2"),
    Mutant("detection's exponent", *SIZING, "error_rate / delta**2", "error_rate / delta"),
    Mutant("paired size", *SIZING, "(2 * gap)) ** 2", "(2 * gap)) ** 1"),
    Mutant("half width's size", *SIZING, "/ half_width**2", "/ half_width"),
    Mutant("floor's exponent", "floors/_rates.py", "tests/floors/test_rates.py",
           "(lipschitz * error_rate / n) ** (1 / 3)", "(lipschitz * error_rate / n) ** (1 / 2)"),
    Mutant("Neyman without shrinkage", "floors/_active_labels.py", "tests/floors/test_active.py",
           "size * (sigma + np.mean(sigma)) / 2", "size * sigma"),
    Mutant("side of a claim", "claims/_answer.py", "tests/claims/test_answer.py",
           'return "better" if above ==', 'return "worse" if above =='),
)  # fmt: skip


class Change(NamedTuple):
    """One operator, number or condition changed: where, what, and the module's text with it."""

    line: int
    what: str
    text: str


def changes(text: str) -> list[Change]:
    """Every copy of a module with one thing changed."""
    tree = ast.parse(text)
    quiet = {id(part) for node in ast.walk(tree) for part in _unspoken(node)}
    starts = [0]
    for row in text.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(row))
    found = []
    for node in ast.walk(tree):
        if id(node) in quiet or not (change := _changed(node)):
            continue
        what, at, new = change
        begin, end = starts[at.lineno - 1] + at.col_offset, starts[(at.end_lineno or 0) - 1] + (at.end_col_offset or 0)
        raw = text.encode()
        copy = (raw[:begin] + f"({ast.unparse(new)})".encode() + raw[end:]).decode()
        found.append(Change(at.lineno, what, copy))
    return found


def _unspoken(node: ast.AST) -> list[ast.AST]:
    """What no test of verdicts can notice: annotations, words, and whether a wrong call is refused."""
    parts = [getattr(node, "annotation", None), getattr(node, "returns", None)]
    if isinstance(node, ast.Raise | ast.JoinedStr):
        parts.append(node)
    parts += getattr(node, "decorator_list", [])
    return [inner for part in parts if part is not None for inner in ast.walk(part)]


def _changed(node: ast.AST) -> tuple[str, ast.expr, ast.expr] | None:
    """What is changed, the part of the text it stands in, and what comes there."""
    other = copying.deepcopy(node)
    if isinstance(other, ast.Compare) and len(other.ops) == 1 and type(other.ops[0]) in SWAPS:
        what = f"comparison {type(other.ops[0]).__name__}"
        other.ops[0] = SWAPS[type(other.ops[0])]()
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


def whole(number: int, file: Path) -> None:
    """Changes at random over the modules of `WHOLE`; what is in the file is not tried again."""
    texts = {name: (ROOT / "src" / "richter" / name).read_text(encoding="utf-8") for name in WHOLE}
    todo = [(name, k, change) for name, text in texts.items() for k, change in enumerate(changes(text))]
    print(f"{len(todo)} changes can be made", flush=True)
    random.Random(0).shuffle(todo)
    done = {}
    if file.exists():
        done = {(r["file"], r["number"]): r for r in map(json.loads, file.read_text().splitlines())}
    chosen = [(name, k, change) for name, k, change in todo[: number or None] if (name, k) not in done]
    for name, text in texts.items():
        own = [(k, change) for of, k, change in chosen if of == name]
        if own:
            child = FORK.Process(target=_try_all, args=(name, text, own, file))
            child.start()
            child.join()
            if child.exitcode:
                raise SystemExit(f"the tests of {name} fail on what it is")
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    left = [r for r in rows if not r["killed"]]
    known = 0
    for row in sorted(left, key=lambda r: (r["file"], r["line"])):
        reasons = [
            why
            for (of, what, words), why in SAME.items()
            if of == row["file"] and what == row["what"] and words in row["text"]
        ]
        known += bool(reasons)
        said = "same" if reasons else "SURVIVED"
        print(f"{said} {row['file']}:{row['line']} {row['what']}: {row['text']} {reasons or ''}")
    print(f"{len(rows) - len(left)} of {len(rows)} killed ({1 - len(left) / max(len(rows), 1):.1%}), {known} cannot be")


def _keep(file: Path, name: str, text: str, number: int, change: Change, failed: bool) -> None:
    row = {"file": name, "number": number, "line": change.line, "what": change.what}
    row["text"] = text.splitlines()[change.line - 1].strip()
    with file.open("a") as out:
        out.write(json.dumps(row | {"killed": failed}) + "\n")


class Trying:
    """A pytest session that collects once and runs its tests in a fork for each change, the quickest first."""

    def __init__(self, name: str, text: str, todo: list[tuple[int, Change]], file: Path) -> None:
        self.name, self.text, self.todo, self.file = name, text, todo, file
        self.took: dict[str, float] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """The first that fails is enough."""
        if report.failed:
            os._exit(1)
        self.took[report.nodeid] = self.took.get(report.nodeid, 0.0) + report.duration

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run all tests as the module is, then for each change."""
        source, sink = os.pipe()
        if _forked(lambda: self._run(session.items, sink)):
            os._exit(2)
        with os.fdopen(source) as reader:
            took = json.loads(reader.readline())
        items = sorted(session.items, key=lambda item: took[item.nodeid])
        most = 20 + 10 * sum(took.values())
        for k, change in self.todo:
            failed = _forked(lambda text=change.text: self._run(items, None, text), most)  # type: ignore[misc]
            _keep(self.file, self.name, self.text, k, change, failed)
        return True

    def _run(self, items: list[pytest.Item], sink: int | None, text: str = "") -> None:
        if text:
            _swap(f"richter.{self.name[:-3].replace('/', '.')}", text)
        for item, after in zip(items, [*items[1:], None], strict=True):
            item.ihook.pytest_runtest_protocol(item=item, nextitem=after)
        if sink is not None:
            os.write(sink, json.dumps(self.took).encode() + b"\n")


def _try_all(name: str, text: str, todo: list[tuple[int, Change]], file: Path) -> None:
    os.chdir(ROOT)
    tests = [test for test in WHOLE[name].split() if (ROOT / test).exists()]
    with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
        options = ["-q", "-n0", "-p", "no:cacheprovider", "-m", "not slow", *tests]
        code = pytest.main(options, plugins=[Trying(name, text, todo, file)])
    os._exit(int(code))


def _forked(work: Callable[[], None], most_s: float = 600) -> bool:
    """Whether work fails in a fork of this process; a loop without end is a failure too."""
    pid = os.fork()
    if not pid:
        try:
            work()
        except BaseException:
            os._exit(1)
        os._exit(0)
    until = time.monotonic() + most_s
    while time.monotonic() < until:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            return status != 0
        time.sleep(0.02)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return True


def _swap(module: str, text: str) -> None:
    """Give a loaded module the code, the defaults and the numbers that it has in another text of it."""
    old, new = sys.modules[module], types.ModuleType(module)
    new.__dict__.update(__package__=old.__package__, __file__=old.__file__)
    exec(compile(text, module, "exec"), new.__dict__)
    for name, value in vars(new).items():
        mine = vars(old).get(name)
        if isinstance(value, bool | int | float | tuple | dict) and not name.startswith("__"):
            setattr(old, name, value)
        elif isinstance(value, type) and value.__module__ == module and isinstance(mine, type):
            for key, inner in vars(value).items():
                _retrain(vars(mine).get(key), inner)
        elif getattr(value, "__module__", "") == module:
            _retrain(mine, value)


def _retrain(old: Any, new: Any) -> None:
    for wrapper in ("fget", "func", "__func__", "__wrapped__"):
        old, new = getattr(old, wrapper, None) or old, getattr(new, wrapper, None) or new
    if isinstance(old, types.FunctionType) and isinstance(new, types.FunctionType):
        old.__code__, old.__defaults__, old.__kwdefaults__ = new.__code__, new.__defaults__, new.__kwdefaults__


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
    if "--whole" in sys.argv:
        rest = sys.argv[sys.argv.index("--whole") + 1 :]
        whole(int(rest[0]) if rest else 0, Path(rest[1] if len(rest) > 1 else "mutants.jsonl"))
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
