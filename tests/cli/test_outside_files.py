"""Files as people keep them, read from other folders, over time, by several raters: what the commands say of them."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from helpers.commands import run


def write(name: str, rows: Sequence[dict[str, Any]]) -> None:
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    pl.DataFrame(rows).write_csv(name)


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def graded(n: int, seed: int = 0, **accuracy: float) -> list[dict[str, Any]]:
    """Simulated grades of `n` questions by model."""
    rng = np.random.default_rng(seed)
    return [{"id": i, "model": m, "correct": int(rng.random() < p)} for i in range(n) for m, p in accuracy.items()]


@pytest.mark.parametrize("source", ["'../other/our results.csv'", "'old=../other/our results.csv'"])
@pytest.mark.parametrize("line", ["{}", "report {} -o page.html"])
def test_a_command_that_is_shown_works_when_it_is_pasted(
    source: str, line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    write("other/our results.csv", [{k: v for k, v in row.items() if k != "model"} for row in graded(60, old=0.6)])
    monkeypatch.chdir(tmp_path / "here")
    write("OTHER.csv", [{k: v for k, v in row.items() if k != "model"} for row in graded(60, seed=1, new=0.7)])
    run_lines = lines_of(capsys, line.format(source))
    command = next(text.strip() for text in run_lines if "richter compare" in text)
    assert command.startswith("richter compare ")
    assert run(capsys, command.removeprefix("richter "))[0] == 0


def lines_of(capsys: pytest.CaptureFixture[str], line: str) -> list[str]:
    """What a command prints, line by line."""
    from richter.cli import main

    with pytest.raises(SystemExit):
        main(shlex.split(line))
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("n_dates", [10, 45])
def test_a_table_of_several_dates_is_sent_to_watch_first(n_dates: int, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        {"timestamp": f"2026-{1 + day // 28:02}-{1 + day % 28:02}T03:00:00", **row}
        for day in range(n_dates)
        for row in graded(30, seed=day, m=0.8)
    ]
    write("days.csv", rows)
    for line in ("compare days.csv", "days.csv"):
        code, said = run(capsys, line)
        assert code != 0
        assert said.index("richter watch days.csv --date timestamp") < said.index("--map ")
    assert run(capsys, "watch days.csv --date timestamp")[0] in (0, 4)


def test_times_of_one_day_are_no_series(capsys: pytest.CaptureFixture[str]) -> None:
    rows = graded(40, a=0.6, b=0.7)
    write("day.csv", [{"timestamp": f"2026-01-01T10:{k // 60:02}:{k % 60:02}", **row} for k, row in enumerate(rows)])
    assert run(capsys, "compare day.csv")[0] == 0
