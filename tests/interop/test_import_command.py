"""From logs to verdicts: the commands that take a log or an imported run."""

import json
from pathlib import Path

import pytest

import richter
from helpers.foreign_logs import inspect_header, inspect_sample, lm_eval_choice, write_inspect, write_lm_eval
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


def test_logs_of_one_model_are_compared_under_what_differs(
    logs: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    expected = "mockllm/small (system Think.) is better than mockllm/small (system not set)"
    for given in ([str(logs[0].parent)], [str(log) for log in logs]):
        code, out, _ = run(capsys, "compare", *given)
        assert code == 0
        assert out.startswith(expected)


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


def test_gate_on_a_folder_of_logs(tmp_path: Path, logs: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    plan = tmp_path / "plan.toml"
    names = ("mockllm/small (system not set)", "mockllm/small (system Think.)")
    rule = '[{metric="accuracy", rule="no_worse", limit=0.02}]'
    made = ["--set", f"candidate={names[1]}", "--set", f"baseline={names[0]}", "--set", f"require={rule}"]
    assert run(capsys, "plan", "new", "gate", "-o", str(plan), *made)[0] == 0
    assert run(capsys, "plan", "lock", str(plan))[0] == 0
    code, out, _ = run(capsys, "gate", str(plan), str(logs[0].parent))
    assert code == 0
    assert "PASS: " in out
    turned = [f"{names[0]}={logs[1]}", f"{names[1]}={logs[0]}"]  # the worse one as the candidate
    assert run(capsys, "gate", str(plan), *turned)[0] == 3


def test_calibration_of_a_run_of_likelihoods(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [lm_eval_choice(i, i % 2, [-1.0 - i / 40, -2.0, -3.0]) for i in range(60)]
    write_lm_eval(tmp_path / "out", "trees", rows)
    assert run(capsys, "import", str(tmp_path / "out"), "-o", str(tmp_path / "run"))[0] == 0
    code, out, _ = run(capsys, "calibration", str(tmp_path / "run"), "--json", "-")
    assert code == 0
    assert json.loads(out)["conditions"]["org/tiny"]["n"] == 60
    told = json.loads(out)
    own = richter.open(tmp_path / "run").calibration().to_dict()
    assert {k: v for k, v in own.items() if k != "notes"} == {k: v for k, v in told.items() if k != "notes"}


@pytest.mark.slow
def test_severity_of_a_run_with_a_scale(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    samples = [inspect_sample(f"q{i}", 10 - 9 * ((i % 9) / 8)) for i in range(300)]
    path = write_inspect(tmp_path / "a.eval", samples)
    assert run(capsys, "import", str(path), "-o", str(tmp_path / "run"), "--as-severity", "10:1")[0] == 0
    code, out, _ = run(capsys, "severity", str(tmp_path / "run"), "--resamples", "200", "--json", "-")
    assert code == 0
    found = json.loads(out)["conditions"]["mockllm/small"]
    assert found["n"] == 300
    assert run(capsys, "severity", str(path))[0] == 1  # without a scale there are none
