"""Paths without a command, and what a project's richter.toml settles."""

import json
from pathlib import Path

import pytest

from richter.cli import main
from richter.cli._io import money

ROWS = "id,model,quality\n" + "".join(
    f"q{i},{m},{1 + (i * k) % 5}\n" for m, k in (("old", 2), ("new", 3)) for i in range(30)
)
GRADES = "item,condition,correct\n" + "".join(
    f"q{i},{c},{int(i % k > 0)}\n" for c, k in (("old", 3), ("new", 5)) for i in range(60)
)


def run(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main(list(args))
    out, err = capsys.readouterr()
    return int(stop.value.code or 0), out, err


def test_paths_alone_are_compared_and_the_page_is_offered(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("grades.csv").write_text(GRADES)
    code, out, _ = run(capsys, "grades.csv")
    assert code == 0
    assert "60 questions x 2 (old, new), right or wrong from column correct" in out
    assert "Next: " in out
    code, alone, _ = run(capsys, "compare", "grades.csv")
    assert alone.splitlines()[0] in out
    code, out, _ = run(capsys, "grades.csv", "old")
    assert code == 0
    assert "67%" in out  # 40 of 60 are right


def test_a_command_wins_over_a_path_and_a_typo_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("doctor").write_text(GRADES)
    assert "questions x" not in run(capsys, "doctor")[1]
    assert "60 questions x" in run(capsys, "./doctor")[1]
    code, _, err = run(capsys, "comapre")
    assert code == 2
    assert "No such command 'comapre'. Did you mean compare?" in err


def test_a_project_settles_its_defaults_and_results_name_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("scores.csv").write_text(ROWS)
    Path("richter.toml").write_text('as_severity = "5:1"\nlevel = 0.9\n\n[map]\nscore = "quality"\n')
    code, out, err = run(capsys, "compare", "scores.csv", "--json", "-")
    assert code == 0, err
    found = json.loads(out)
    assert found["defaults"] == {"as_severity": "5:1", "level": 0.9, "map": ["score=quality"]}
    assert "mean_severity" in out
    assert run(capsys, "compare", "scores.csv", "--as-severity", "4:1")[0] == 1  # what is typed wins
    Path("richter.toml").write_text("margins = 2\n")
    code, _, err = run(capsys, "compare", "scores.csv")
    assert code == 1
    assert "there is no setting 'margins'" in err


def test_an_unknown_price_is_never_no_money() -> None:
    assert [money(*of) for of in ((0.0,), (0.0, 3), (0.00001,), (0.00001, 3), (0.12345, 1200))] == [
        "$0",
        "price unknown",
        "under $0.0001",
        "under $0.0001 + 3 calls of unknown price",
        "$0.1235 + 1,200 calls of unknown price",
    ]
