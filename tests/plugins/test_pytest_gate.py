"""The pytest plugin, in pytest runs of its own."""

import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

# pytester forgets what a run inside it imported, and numpy cannot be loaded twice: what a gate uses is loaded here
from richter.audit import apply_gate_plan, read_plan, run_gate
from richter.cli import main
from richter.tables import read_tables

pytest_plugins = ["pytester"]

LOADED = (apply_gate_plan, read_plan, read_tables, run_gate)
PLUGIN = "richter.plugins.pytest_gate"
SOURCE = Path(__file__).parents[2] / "src"


def run_cli(*arguments: str) -> None:
    with pytest.raises(SystemExit) as stop:
        main(list(arguments))
    assert stop.value.code == 0


def project(pytester: pytest.Pytester, new_right: int, *, on_undecided: str = "fail", n: int = 400) -> None:
    """Two files of grades and a locked plan: the new one may not lose more than five points of accuracy."""
    for name, right in (("old", n * 3 // 4), ("new", new_right)):
        rows = [f"q{i},{name},{int(i < right)}" for i in range(n)]
        (pytester.path / f"{name}.csv").write_text("\n".join(["item,condition,correct", *rows]) + "\n")
    run_cli(
        *("plan", "new", "gate", "-o", str(pytester.path / "plan.toml"), "--set", "candidate=new"),
        *("--set", "baseline=old", "--set", f"on_undecided={on_undecided}"),
        *("--set", 'require=[{metric="accuracy", rule="no_worse", limit=0.05}]'),
    )
    run_cli("plan", "lock", str(pytester.path / "plan.toml"))


def run(pytester: pytest.Pytester, test: str, *options: str) -> pytest.RunResult:
    pytester.makepyfile(test)
    pytester.makeini("[pytest]\naddopts = --strict-markers\n")
    installed = any(e.value == PLUGIN for e in metadata.entry_points(group="pytest11"))  # then it loads by itself
    return pytester.runpytest_inprocess(*([] if installed else ["-p", PLUGIN]), "-p", "no:cacheprovider", *options)


FIXTURE = """
def test_gate(richter_gate):
    report = richter_gate("plan.toml", "old=old.csv", "new=new.csv")
    assert report.outcome.value == "verified"
"""
MARKER = """
import pytest

@pytest.mark.richter_gate("plan.toml", "old=old.csv", "new=new.csv")
def test_gate():
    pass
"""


@pytest.mark.parametrize("test", [FIXTURE, MARKER], ids=["fixture", "marker"])
def test_met_passes_and_tells_junit(pytester: pytest.Pytester, test: str) -> None:
    project(pytester, 300)
    run(pytester, test, "--junitxml=out.xml").assert_outcomes(passed=1)
    assert 'value="verified"' in (pytester.path / "out.xml").read_text()


@pytest.mark.parametrize("test", [FIXTURE, MARKER], ids=["fixture", "marker"])
def test_violated_fails_with_the_sentence_and_no_traceback(pytester: pytest.Pytester, test: str) -> None:
    project(pytester, 200)
    result = run(pytester, test)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*FAIL: new is more than 5 points worse than old*"])
    assert "pytest_gate.py" not in result.stdout.str()


def test_undecided_fails_or_warns_as_the_plan_says(pytester: pytest.Pytester) -> None:
    project(pytester, 29, n=40)
    run(pytester, MARKER).assert_outcomes(failed=1)


@pytest.mark.slow
def test_undecided_warns(pytester: pytest.Pytester) -> None:
    project(pytester, 29, n=40, on_undecided="warn")
    result = run(pytester, MARKER, "-W", "default")
    result.assert_outcomes(passed=1, warnings=1)
    result.stdout.fnmatch_lines(["*GateUndecided*INCONCLUSIVE*"])


@pytest.mark.slow
def test_a_gate_that_cannot_be_checked_fails_in_one_line(pytester: pytest.Pytester) -> None:
    project(pytester, 300)
    (pytester.path / "new.csv").unlink()
    result = run(pytester, FIXTURE)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*The gate cannot be checked.*no such file*"])
    run(pytester, FIXTURE.replace(', "old=old.csv", "new=new.csv"', "")).assert_outcomes(failed=1)


@pytest.mark.slow
def test_a_frame_is_judged_too(pytester: pytest.Pytester) -> None:
    project(pytester, 300)
    code = """
    import polars as pl

    def test_gate(richter_gate):
        frame = pl.concat([pl.read_csv("old.csv"), pl.read_csv("new.csv")])
        assert richter_gate("plan.toml", frame).confirmatory  # known by its outcomes, as a file is
    """
    run(pytester, code).assert_outcomes(passed=1)


def test_those_who_do_not_use_it_load_nothing() -> None:
    heavy = ("numpy", "polars", "click", "richter.audit", "richter.records", "richter.errors")
    code = f"import pytest, sys; import {PLUGIN}; print([m for m in {heavy} if m in sys.modules])"
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={"PYTHONPATH": str(SOURCE)})
    assert made.stdout.strip() == "[]", made.stderr
