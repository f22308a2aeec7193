"""The graders reproduce the grades in logs that other harnesses really wrote."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from richter.interop import read_logs, write_run
from richter_audit.stages import grade_run

WRITER = Path(__file__).with_name("write_graded_logs.py")


def write(harness: str, folder: Path) -> Path:
    subprocess.run([sys.executable, str(WRITER), harness, str(folder)], check=True, capture_output=True, timeout=300)
    return folder


def reproduced(log: Path, grader: str, run: Path) -> dict[str, tuple[int, int]]:
    write_run(read_logs([log]), run)
    return dict(grade_run(run, grader=grader).others)


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("inspect_ai") is None, reason="Inspect is not installed")
def test_match_includes_and_choice_against_inspect(tmp_path: Path) -> None:
    folder = write("inspect", tmp_path / "logs")
    for scorer, grader in (("match", "ends"), ("includes", "includes"), ("choice", "choice")):
        found = reproduced(folder / scorer, grader, tmp_path / scorer)
        assert found == {scorer: (200, 200)}


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("lm_eval") is None, reason="lm-eval is a heavy oracle")
def test_exact_match_against_lm_eval(tmp_path: Path) -> None:
    folder = write("lm_eval", tmp_path / "logs")
    assert reproduced(folder / "out", "exact", tmp_path / "run") == {"exact_match": (400, 400)}


@pytest.mark.slow
@pytest.mark.skipif("PROMPTFOO" not in os.environ, reason="PROMPTFOO names no promptfoo command")
def test_equals_against_promptfoo(tmp_path: Path) -> None:
    folder = write("promptfoo", tmp_path / "logs")
    found = reproduced(folder / "results.json", "exact", tmp_path / "run")
    assert found["pass/1 equals"] == (400, 400)
