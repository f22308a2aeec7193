"""From logs to verdicts: the commands that take a log or an imported run."""

import json
from pathlib import Path

import pytest

from helpers.foreign_logs import inspect_header, inspect_sample, write_inspect
from richter.cli import main


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main(list(arguments))
    out, err = capsys.readouterr()
    return int(stop.value.code or 0), out, err


@pytest.fixture
def logs(tmp_path: Path) -> tuple[Path, Path]:
    """Two logs of one model on 200 items: right on 100 and, with a system prompt, on 160, the 100 among them."""
    folder = tmp_path / "logs"
    folder.mkdir()
    think = {"steps": [{"solver": "system_message", "params": {"template": "Think."}}, {"solver": "generate"}]}
    header = inspect_header(eval={"dataset": {"samples": 200}})
    prompted = inspect_header(eval={"dataset": {"samples": 200}}, plan=think)
    old = [inspect_sample(f"q{i}", "C" if i < 100 else "I") for i in range(200)]
    new = [inspect_sample(f"q{i}", "C" if i < 160 else "I") for i in range(200)]
    return write_inspect(folder / "a.eval", old, header), write_inspect(folder / "b.eval", new, prompted)


def test_compare_straight_from_two_logs_by_hand(
    tmp_path: Path, logs: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = logs
    arguments = [f"old={old}", f"new={new}", "--margin", "2pt", "--tried", "12", "--md", str(tmp_path / "pr.md")]
    code, out, _ = run(capsys, "compare", *arguments)
    assert code == 0
    assert out.startswith("new is better than old: +30.0 points (99.6% CI ")  # 1 - 0.05 / 12
    assert "60 fixed, 0 broken" in out
    assert "new is better than old: +30.0 points" in (tmp_path / "pr.md").read_text()


def test_an_imported_run_says_what_the_logs_said(
    tmp_path: Path, logs: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(tmp_path / "run")
    code, out, _ = run(capsys, "import", f"old={logs[0]}", f"new={logs[1]}", "-o", folder, "--json", "-")
    assert code == 0
    assert json.loads(out)["next"] == f"richter compare {folder} old new"
    from_run = json.loads(run(capsys, "compare", folder, "old", "new", "--json", "-")[1])
    direct = json.loads(run(capsys, "compare", f"old={logs[0]}", f"new={logs[1]}", "--json", "-")[1])
    assert from_run["pairs"] == direct["pairs"]
    assert json.loads(run(capsys, "size", "calibration", folder, "--json", "-")[1])
