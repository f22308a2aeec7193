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


def test_whose_ratings_count_travels_with_a_run(capsys: pytest.CaptureFixture[str]) -> None:
    """Simulated ratings: a judge of every answer, people of every other one."""
    rng = np.random.default_rng(4)
    rows = []
    for i, m in ((i, m) for i in range(60) for m in "ab"):
        severity = float(max(rng.integers(-3, 5), 0))
        rows.append({"item": i, "condition": m, "rater": "gpt", "kind": "judge", "severity": severity})
        rows += [{**rows[-1], "rater": "anna", "kind": "human", "severity": 0.0}] if i % 2 else []
    write("ratings.csv", rows)
    assert run(capsys, "import ratings.csv --ratings human -o run1")[0] == 0
    assert "severities by people" in run(capsys, "compare run1")[1]
    assert "severities by judges" in run(capsys, "compare run1 --ratings judge")[1]
    assert run(capsys, "import ratings.csv -o run2")[0] == 0
    assert "severities by judges" in run(capsys, "compare run2")[1]


def test_raters_in_columns_of_their_own_are_no_repeats(capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(5)
    rows = [
        {"question_id": i, "model": m, **{f"rater{k}": int((rng.random() < 0.9) == (rng.random() < p)) for k in (1, 2)}}
        for i in range(60)
        for m, p in (("old", 0.5), ("new", 0.55))
    ]
    write("wide.csv", rows)
    for line in ("compare wide.csv --yes --verbose", "size wide.csv --yes", "report wide.csv --yes -o page.html"):
        code, said = run(capsys, line)
        assert code == 0
        assert "2 raters per answer" in said
        assert not {"repeat", "repeats"} & {word.strip(".,:;") for word in said.split()}
        assert "run each one several times" not in said
    assert "(120 answers)" in said
    long = [
        {"id": r["question_id"], "model": r["model"], "annotator": k, "correct": r[f"rater{k}"]}
        for r in rows
        for k in (1, 2)
    ]
    write("long.csv", long)
    both = [run(capsys, f"compare {name}.csv --yes")[1].split("Note")[0] for name in ("wide", "long")]
    assert both[0] == both[1]


def test_a_column_that_is_not_used_plays_no_part_in_the_reading(capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)
    votes = ["x", "y", "tie"]
    write("votes.csv", [
        {"id": i, "annotator": who, "model_a": "x", "model_b": "y", "preference": votes[rng.integers(3)]}
        for i in range(40) for who in ("r1", "r2", "r3")
    ])  # fmt: skip
    assert "rater" not in run(capsys, "compare votes.csv")[1]
    assert "Columns not used: annotator." in run(capsys, "compare votes.csv --yes")[1]


@pytest.mark.parametrize("line", ["compare {}", "compare {} --on mean_severity", "compare {} --on money", "severity {}",
                                  "report {} -o page.html", "compare three.csv"])  # fmt: skip
def test_headlines_of_different_questions_say_so(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(2)
    rows = [
        {"id": f"{m}{i}", "model": m, "severity": float(max(rng.integers(-3, 5), 0)), "cost_usd": float(rng.random())}
        for m in "abc" for i in range(60)
    ]  # fmt: skip
    write("three.csv", rows)
    write("apart.csv", [row for row in rows if row["model"] != "c"])
    write("shared.csv", [{**row, "id": row["id"][1:]} for row in rows if row["model"] != "c"])
    assert "are compared as on different questions" in run(capsys, line.format("apart.csv"))[1]
    if "{}" in line:
        assert "different questions" not in run(capsys, line.format("shared.csv"))[1]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_lines_that_end_as_on_old_macs_are_read(encoding: str, capsys: pytest.CaptureFixture[str]) -> None:
    write("results.csv", graded(60, a=0.6, b=0.8))
    plain = run(capsys, "compare results.csv")
    text = Path("results.csv").read_text()
    Path("results.csv").write_bytes(text.replace("\n", "\r").encode(encoding))
    assert run(capsys, "compare results.csv") == plain
    assert plain[0] == 0


def test_the_worst_case_of_a_calibration_does_not_contradict_what_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """A miscalibration of 0.12 is shown where the worst case of 400 labels is larger."""
    rng = np.random.default_rng(3)
    sure = rng.integers(50, 101, 400) / 100
    write("sure.csv", [{"id": i, "correct": int(rng.random() < s - 0.12), "confidence": s} for i, s in enumerate(sure)])
    code, said = run(capsys, "calibration sure.csv")
    assert code == 0
    assert "confidence is miscalibrated" in said
    assert "can't be seen" not in said
    assert "escape every method (a rough worst case); the interval above is of the error that was measured" in said


def test_who_gives_no_rating_does_not_rate_worst(capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(1)
    words = ["1", "2", "3", "4", "5", "6", "7", "don't know"]
    rows = [{"item": i, "system": s, "rating": words[rng.integers(8)]} for i in range(80) for s in ("s1", "s2")]
    write("likert.csv", rows)
    code, said = run(capsys, "compare likert.csv")
    assert code == 0
    assert "on a scale of 1 to 7" in said
    assert 'graded "don\'t know" have no grade' in said
    write(
        "graded.csv",
        [{**row, "rating": {"don't know": "don't know", "1": "0"}.get(row["rating"], "1")} for row in rows],
    )
    assert "count as not right" in run(capsys, "compare graded.csv")[1]
