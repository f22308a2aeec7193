"""A reader that goes away changes neither the exit status of a command nor what it writes."""

import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """The new condition is much worse, so that the gate's status is 3."""
    rows = [{"item": i, "condition": c, "correct": int(c == "old" or i % 2)} for i in range(60) for c in ("old", "new")]
    pl.DataFrame(rows).write_csv(tmp_path / "t.csv")
    return tmp_path / "t.csv"


def status_unread(*command: str, both: bool) -> int:
    """The exit status of a command whose output nobody reads: the pipe's reading end is closed before it starts."""
    words = [sys.executable, "-m", "richter", *command]
    error = subprocess.STDOUT if both else subprocess.DEVNULL
    started = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=error)
    assert started.stdout is not None
    started.stdout.close()
    return started.wait(120)


@pytest.mark.parametrize("both", [False, True])
def test_a_gate_keeps_its_status_and_its_file_where_nobody_reads(table: Path, both: bool) -> None:
    out = table.parent / "gate.json"
    assert status_unread("gate", str(table), "old", "new", "--margin", "2pt", "--json", str(out), both=both) == 3
    assert json.loads(out.read_text())["schema"] == "richter/gate"


def test_an_error_keeps_its_status_where_nobody_reads(tmp_path: Path) -> None:
    assert status_unread("compare", str(tmp_path / "none.csv"), both=True) == 1
    assert status_unread("compare", "--no-such-option", both=True) == 2
