import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from richter.cli import main


def run(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main(list(args))
    out, err = capsys.readouterr()
    return int(stop.value.code or 0), out, err


def claims_of(row: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The claims of the first pair, by measure."""
    first = row["pairs"][0]["conditions"]
    return {c["measure"]: c for c in row["claims"] if c["conditions"] == first}


def write_grades(folder: Path, rng: np.random.Generator, n: int = 300, **levels: float) -> Path:
    difficulty = rng.normal(size=n)
    rows = [
        {"item": i, "condition": name, "correct": int(rng.normal() + level > difficulty[i]), "confidence": rng.random()}
        for name, level in levels.items()
        for i in range(n)
    ]
    path = folder / "grades.csv"
    pl.DataFrame(rows).write_csv(path)
    return path


def test_labels_needed_of_items_in_clusters_are_as_many_more_by_hand(capsys: pytest.CaptureFixture[str]) -> None:
    """Ten alike are worth one: 6,250 labels of which each cluster has ten are 62,500; they were said to be 6,250."""
    words = ("size", "calibration", "--n", "1000", "--error-rate", "0.05", "--delta", "0.02", "--json", "-")
    alone, clustered = (
        json.loads(run(capsys, *words, *more)[1]) for more in ((), ("--cluster-size", "10", "--intraclass", "1"))
    )
    assert (alone["labels_needed"]["estimation"], clustered["labels_needed"]["estimation"]) == (6250, 62_500)
    assert clustered["n"] == 100


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("size calibration --n 1 --error-rate 0.99", "least detectable excess error none"),
        ("size calibration --pipeline 2,inf", "can't verify this pipeline end to end"),
        ("size calibration --preset fda-samd", "3,200,000 labels"),
        ("size --margin 5pt --discordance 0.2", "626 show a difference"),
    ],
)
def test_sizes_in_words(capsys: pytest.CaptureFixture[str], words: str, said: str) -> None:
    code, out, _ = run(capsys, *words.split())
    assert code == 0
    assert said in " ".join(out.split())


def test_published_scores_exit_4_when_undecided_and_stand_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    close = board(tmp_path, "x,A,0.864,14042", "x,B,0.868,14042")
    assert run(capsys, "size", "--published", close)[0] == 4
    for more in (["--margin", "2pt"], ["--macro", "benchmark"], ["other.csv"]):
        code, _, err = run(capsys, "size", *more, "--published", close)
        assert (code, "--published takes --level and --json only" in err) == (2, True)
    assert run(capsys, "size", "--published", board(tmp_path, "x,A,0.7,500", "x,B,0.9,500"))[0] == 0
    assert "need data" in run(capsys, "size", "--accuracy", "0.8", "0.84", "--macro", "subject")[2]


def board(folder: Path, *rows: str) -> str:
    (folder / "board.csv").write_text("\n".join(["benchmark,model,score,n", *rows]) + "\n")
    return str(folder / "board.csv")


@pytest.mark.parametrize("rows", [("x,A,0.864,500", "x,B,86.8,500"), ("x,A,0.864,500", "x,B,86.8%,500")])
def test_shares_beside_percentages_are_refused(
    rows: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """0.864 was read as 0.864%, and a difference of 86 points was shown."""
    code, _, err = run(capsys, "size", "--published", board(tmp_path, *rows))
    assert (code, "shares beside percentages: 0.864 of A" in err) == (1, True)


def test_every_benchmark_has_a_scale_of_its_own_by_hand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = ("x,A,86.4%,500", "x,B,80,500", "y,A,0.9,500", "y,B,0.5,500")
    row = json.loads(run(capsys, "size", "--published", board(tmp_path, *rows), "--json", "-")[1])
    assert [abs(c["estimate"]) for c in row["claims"]] == pytest.approx([0.064, 0.4])


def test_a_score_that_is_no_number_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "size", "--published", board(tmp_path, "x,A,high,500", "x,B,0.8,500"))
    assert (code, "Traceback" in err, "a score or n that is a number" in err) == (1, False, True)


def test_failed_rows_of_a_file_are_not_graded(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, rng: np.random.Generator
) -> None:
    frame = pl.read_csv(write_grades(tmp_path, rng, old=1.0, new=1.0))
    bad = (pl.col("condition") == "new") & (pl.col("item") < 60)
    frame = frame.with_columns(
        error=pl.when(bad).then(pl.lit("429 Too Many Requests")).otherwise(pl.lit("")),
        correct=pl.when(bad).then(0).otherwise(pl.col("correct")),
    )
    frame.write_csv(tmp_path / "failed.csv")
    row = json.loads(run(capsys, "compare", str(tmp_path / "failed.csv"), "--json", "-")[1])
    assert row["conditions"]["new"]["failed"] == 60
    assert row["pairs"][0]["n_paired"] == 240
    kept = frame.filter(pl.col("item") >= 60).group_by("condition").agg(pl.col("correct").mean())
    means = dict(kept.iter_rows())
    assert claims_of(row)["accuracy"]["estimate"] == pytest.approx(means["new"] - means["old"])
    assert any("60" in note and "grade" in note for note in row["notes"])


def test_names_from_files_are_harmless(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, rng: np.random.Generator
) -> None:
    path = write_grades(tmp_path, rng, **{"a\x1b[31m": 0.0, "<b>|x": 1.0})
    code, out, _ = run(capsys, "compare", str(path), "--md", str(tmp_path / "pr.md"))
    assert code == 0
    assert "\x1b" not in out
    assert "<b>" not in (tmp_path / "pr.md").read_text()


def test_answering_by_position_is_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, rng: np.random.Generator
) -> None:
    frame = pl.read_csv(write_grades(tmp_path, rng, fair=0.5, stuck=0.5))
    letters = rng.choice(list("ABCD"), size=len(frame))
    letters[300:] = np.where(rng.random(300) < 0.9, "A", letters[300:])
    frame.with_columns(answer=pl.Series(letters)).write_csv(tmp_path / "answers.csv")
    row = json.loads(run(capsys, "compare", str(tmp_path / "answers.csv"), "--json", "-")[1])
    assert any("answering by position" in w for w in row["conditions"]["stuck"]["warnings"])
    assert not any("position" in w for w in row["conditions"]["fair"]["warnings"])


def test_next_items_to_label_until_the_budget_is_spent(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, rng: np.random.Generator
) -> None:
    c = rng.beta(6, 1.2, size=1000)
    right = (rng.random(1000) < c).astype(int)
    judge = rng.random(1000)
    known: dict[int, int] = {}
    path = tmp_path / "pool.csv"
    for _ in range(20):
        pl.DataFrame(
            {
                "item": range(1000),
                "condition": "m",
                "confidence": c,
                "judge": judge,
                "correct": [known.get(i) for i in range(1000)],
            }
        ).write_csv(path)
        code, out, _ = run(capsys, "label", "next", str(path), "--budget", "120", "--size", "50", "--json", "-")
        row = json.loads(out)
        assert code == 0
        if not row["items"]:
            break
        known |= {int(i): int(right[int(i)]) for i in row["items"]}
    assert len(known) == row["labelled"] == 120
    interval = row["estimate"]["error_interval"]
    assert interval["low"] < row["estimate"]["error_rate"] < interval["high"]
    assert "The budget is spent" in run(capsys, "label", "next", str(path), "--budget", "120")[1]
    other = tmp_path / "other.csv"
    other.write_bytes(path.read_bytes())
    assert run(capsys, "label", "next", str(other), "--budget", "150", "--signal", "judge")[0] == 0
    assert "has no column 'ghost'" in run(capsys, "label", "next", str(path), "--budget", "150", "--signal", "ghost")[2]


def test_items_without_a_group_stand_alone(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    rows = [
        {
            "item": i,
            "condition": c,
            "correct": int(i % 3 > 0 and (k == 0 or i % 7 > 0)),
            "group": f"g{i // 4}" if i < 40 else None,
        }
        for k, c in enumerate("ab")
        for i in range(60)
    ]
    pl.DataFrame(rows).write_csv(tmp_path / "g.csv")
    row = json.loads(run(capsys, "compare", str(tmp_path / "g.csv"), "--json", "-")[1])
    claim = claims_of(row)["accuracy"]
    assert (claim["units"], claim["unit"]) == (10 + 20, "group")


def test_a_floor_is_never_zero(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pl.DataFrame({"item": range(50), "condition": "a", "correct": 1}).write_csv(tmp_path / "all.csv")
    row = json.loads(run(capsys, "size", "calibration", str(tmp_path / "all.csv"), "--json", "-")[1])
    assert row["conditions"]["a"]["accuracy_floor"] > 0


def test_compare_refuses_one_condition_and_unknown_names(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, rng: np.random.Generator
) -> None:
    path = write_grades(tmp_path, rng, only=0.5)
    assert "a comparison needs two" in run(capsys, "compare", str(path))[2]
    assert "No condition is named ghost" in run(capsys, "compare", str(path), "only", "ghost")[2]
