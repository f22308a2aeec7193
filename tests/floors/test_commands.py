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


def test_floors_json_has_the_names_relied_on(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(
        capsys, "size", "calibration", "--n", "14042", "--error-rate", "0.16", "--lipschitz", "1.4", "--json", "-"
    )
    row = json.loads(out)
    assert code == 0
    assert row["passive"] == pytest.approx(0.02517, abs=1e-5)
    assert row["active_rate"]["proved"] is False
    assert row["accuracy"] == pytest.approx(0.006187, abs=1e-6)
    assert row["accuracy_gap"] == pytest.approx(row["accuracy"] * 2**0.5)
    assert row["bins"] == 55
    assert row["labels_needed"]["estimation"] == 28_000
    assert "constant 1" in row["note"]


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["size", "calibration", "--n", "817", "--error-rate", "0.25"], "rate, constant 1"),
        (["size", "calibration", "--n", "1", "--error-rate", "0.99"], "least detectable excess error none"),
        (["size", "calibration", "--pipeline", "2,2", "--n", "1000000"], "L at most 5"),
        (["size", "calibration", "--pipeline", "2,inf"], "can't verify this pipeline end to end"),
        (["size", "calibration", "--preset", "all"], "1,250,000"),
        (["size", "--below", "0.01"], "299 questions"),
        (["size", "--rate", "0.5", "--half-width", "3pt"], "1,068 questions"),
        (["size", "calibration", "--delta", "0.01", "--error-rate", "0.05"], "50,000 labels"),
        (["size", "--margin", "5pt", "--discordance", "0.2"], "626 show a difference"),
        (["size", "--margin", "5pt", "--accuracy", "0.8", "0.85", "--phi", "0"], "right on 29.0%"),
        (["size", "calibration", "--preset", "fda-samd"], "3,200,000 labels"),
    ],
)
def test_floors_in_words(capsys: pytest.CaptureFixture[str], args: list[str], words: str) -> None:
    code, out, _ = run(capsys, *args)
    assert code == 0
    assert words in " ".join(out.split())


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


def test_errors_are_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "size", "calibration", "--n", "100", "--error-rate", "16")
    assert code == 2
    assert "'16' is not below 100 points" in err


def test_compare_json_has_the_names_relied_on(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, rng: np.random.Generator
) -> None:
    path = write_grades(tmp_path, rng, small=0.0, large=1.0, other=1.0)
    code, out, _ = run(capsys, "compare", str(path), "--json", "-")
    row = json.loads(out)
    assert code == 0
    assert set(row["conditions"]) == {"small", "large", "other"}
    assert [p["conditions"] for p in row["pairs"]] == [["small", "large"], ["small", "other"], ["large", "other"]]
    first, _, third = (c for c in row["claims"] if c["measure"] == "accuracy")
    assert {
        "measure", "conditions", "estimate", "interval", "plain_interval", "verdict", "n", "units", "needed",
        "needed_for", "basis", "primary", "blocked_by", "gates", "hypothesis", "margin", "better", "family", "plan",
        "data_hash", "seed", "id", "sentence",
    } <= first.keys()  # fmt: skip
    assert first["verdict"] == "verified"
    assert (third["verdict"], third["needed_for"]) == ("undecided", 0.02)
    assert third["needed"] > 300
    assert third["interval"].keys() == {"low", "high", "level", "method"}
    assert first["family"] == {"method": "holm", "size": 3, "name": "main"}
    assert row["schema"] == "richter/compare"
    assert {"large", "other"} in [set(g) for g in row["groups"]]
    assert row["refused"] == []


def test_compare_two_conditions_says_the_sentence_first(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, rng: np.random.Generator
) -> None:
    path = write_grades(tmp_path, rng, old=0.0, new=1.0, third=0.5)
    code, out, _ = run(capsys, "compare", str(path), "old", "new", "--margin", "2pt", "--md", str(tmp_path / "pr.md"))
    assert code == 0
    assert out.startswith("new is better than old: +")
    assert "**better** new is more accurate than old" in (tmp_path / "pr.md").read_text()
    back = run(capsys, "compare", str(path), "new", "old")[1]
    assert back.startswith("old is worse than new: -")


def test_compare_two_named_files(capsys: pytest.CaptureFixture[str], tmp_path: Path, rng: np.random.Generator) -> None:
    frame = pl.read_csv(write_grades(tmp_path, rng, old=0.0, new=1.0))
    for name in ("old", "new"):
        frame.filter(pl.col("condition") == name).with_columns(condition=pl.lit("same model")).write_csv(
            tmp_path / f"{name}.csv"
        )
    code, out, _ = run(capsys, "compare", f"old={tmp_path}/old.csv", f"new={tmp_path}/new.csv", "--tried", "12")
    assert code == 0
    assert out.startswith("new is better than old")
    assert "best of 12 attempts" in " ".join(out.split())
    code, _, err = run(capsys, "compare", f"x={tmp_path}/grades.csv", f"new={tmp_path}/new.csv")
    assert code == 1
    assert "holds 2 conditions" in err


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


def test_compare_refuses_one_condition_and_unknown_names(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, rng: np.random.Generator
) -> None:
    path = write_grades(tmp_path, rng, only=0.5)
    assert "a comparison needs two" in run(capsys, "compare", str(path))[2]
    assert "No condition is named ghost" in run(capsys, "compare", str(path), "only", "ghost")[2]


def test_scores_are_compared_by_severity(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, rng: np.random.Generator
) -> None:
    wrong = rng.random((400, 2)) < [0.2, 0.4]
    severity = np.where(wrong, rng.integers(1, 9, size=(400, 2)) / 2, 0.0)
    rows = [
        {"item": i, "condition": name, "severity": severity[i, k]}
        for k, name in enumerate(("mild", "grave"))
        for i in range(400)
    ]
    pl.DataFrame(rows).write_csv(tmp_path / "scores.csv")
    row = json.loads(run(capsys, "compare", str(tmp_path / "scores.csv"), "mild", "grave", "--json", "-")[1])
    claims = claims_of(row)
    assert claims["accuracy"]["estimate"] == pytest.approx(float(wrong[:, 0].mean() - wrong[:, 1].mean()))
    assert claims["mean_severity"]["estimate"] == pytest.approx(float(severity[:, 1].mean() - severity[:, 0].mean()))
    assert claims["mean_severity"]["verdict"] == "refuted"
    assert claims["catastrophic_rate"]["values"][1] == pytest.approx(float((severity[:, 1] >= 3).mean()))
    assert "grave is more severe" in claims["mean_severity"]["sentence"]
    assert claims["b"]["verdict"] == "blocked"  # severities drawn at random follow no law
    assert any("tail plan" in note for note in row["notes"])


def test_slopes_and_tails_stand_beside_the_rest(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, rng: np.random.Generator
) -> None:
    wrong = rng.normal(size=(3000, 1)) + rng.normal(size=(3000, 2)) > 0.36  # 40% wrong, hard items shared
    grid = np.arange(1, 9) / 2
    steep, flat = 10 ** (-1.2 * grid), 10 ** (-0.2 * grid)
    drawn = np.stack([rng.choice(grid, 3000, p=w / w.sum()) for w in (steep, flat)], axis=1)
    severity = np.where(wrong, drawn, 0.0)
    rows = [
        {"item": i, "condition": name, "severity": severity[i, k]}
        for k, name in enumerate(("steep", "flat"))
        for i in range(3000)
    ]
    pl.DataFrame(rows).write_csv(tmp_path / "scores.csv")
    plan = tmp_path / "tail.toml"
    run(
        capsys,
        "plan",
        "new",
        "tail",
        "-o",
        str(plan),
        "--set=tolerance_mean=0.1",
        "--set=tolerance_tvar=0.2",
        "--set=n_resamples=200",
    )
    code, out, _ = run(
        capsys,
        "compare",
        str(tmp_path / "scores.csv"),
        "steep",
        "flat",
        "--tail-plan",
        str(plan),
        "--json",
        "-",
        "--resamples",
        "400",
    )
    claims = claims_of(json.loads(out))
    assert code == 0
    assert claims["b"]["gates"]  # whatever its verdict, every gate is shown
    assert claims["xi"]["verdict"] in ("blocked", "untestable")  # nine levels carry no claim on a tail's shape
    assert claims["xi"]["sentence"]


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


def test_floors_data_measures(capsys: pytest.CaptureFixture[str], tmp_path: Path, rng: np.random.Generator) -> None:
    frame = pl.read_csv(write_grades(tmp_path, rng, n=1500, a=0.2, b=0.4))
    frame.with_columns(subject=pl.col("item") % 5).write_csv(tmp_path / "subjects.csv")
    code, out, _ = run(capsys, "size", "calibration", str(tmp_path / "subjects.csv"))
    assert code == 0
    assert "a is wrong in" in out
    assert "By subject" in out
    row = json.loads(run(capsys, "size", "calibration", str(tmp_path / "subjects.csv"), "--json", "-")[1])
    assert row["conditions"]["a"]["self_evaluation"]["bins"] == 20
    assert 0 <= row["subjects"]["share_undecided"] <= 1


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


def test_a_run_folder_is_compared_by_its_ratings(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    from richter.records import Item, Rating
    from richter.store import open_ledger

    with open_ledger(tmp_path / "run1", mode="write") as ledger:
        ledger.add_items([Item(id=f"q{i}", prompt="?", reference="!") for i in range(60)])
        ledger.add_ratings(
            Rating(item=f"q{i}", condition=c, rater="rules", kind="rule", severity=2.0 if i % step == 0 else 0.0)
            for c, step in (("large", 10), ("small", 2))
            for i in range(60)
        )
        ledger.add_ratings([Rating(item="q1", condition="large", rater="anna", kind="human", severity=4.0)])
    run1 = str(tmp_path / "run1")
    for more in ((), ("--ratings", "rule")):  # the kind that rated most counts where none is named
        code, out, _ = run(capsys, "compare", run1, "small", "large", *more)
        assert code == 0
        assert out.startswith("large is better than small: +40.0 points")
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "holds no run" in run(capsys, "compare", str(empty))[2]


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


def test_severities_off_the_scale_are_read_as_the_message_says(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, rng: np.random.Generator
) -> None:
    rows = [{"item": i, "condition": c, "severity": float(rng.integers(0, 26))} for c in "ab" for i in range(50)]
    pl.DataFrame(rows).write_csv(tmp_path / "mqm.csv")
    code, _, error = run(capsys, "compare", str(tmp_path / "mqm.csv"))
    assert code == 1
    assert "--as-severity 0:25" in error
    code, out, _ = run(capsys, "compare", str(tmp_path / "mqm.csv"), "--as-severity", "0:25", "--json", "-")
    assert code == 0
    assert "mean_severity" in claims_of(json.loads(out))


def test_a_floor_is_never_zero(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pl.DataFrame({"item": range(50), "condition": "a", "correct": 1}).write_csv(tmp_path / "all.csv")
    row = json.loads(run(capsys, "size", "calibration", str(tmp_path / "all.csv"), "--json", "-")[1])
    assert row["conditions"]["a"]["accuracy_floor"] > 0
