import json
from pathlib import Path

import polars as pl
import pytest

from richter.cli import main


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main(["calibration", *arguments])
    out, err = capsys.readouterr()
    return int(stop.value.code or 0), out, err


@pytest.fixture
def grades(tmp_path: Path) -> Path:
    path = tmp_path / "grades.csv"
    rows = [f"{i},m,{int(i % 10 < 7)},{0.5 + (i % 5) / 10}" for i in range(200)]
    path.write_text("item,condition,correct,confidence\n" + "\n".join(rows))
    return path


@pytest.fixture
def draws(tmp_path: Path) -> Path:
    path = tmp_path / "draws.jsonl"
    rows = [
        {
            "item": f"q{i}",
            "condition": "m",
            "draw": k,
            "answer": "Paris" if (i + k) % 4 else "Rome",
            "reference": "Paris",
            "confidence": 0.8 if k else None,
        }
        for i in range(40)
        for k in range(10)
    ]
    pl.DataFrame(rows).write_ndjson(path)
    return path


def test_grades_have_the_names_relied_on(grades: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, str(grades), "--json", "-")
    row = json.loads(out)["conditions"]["m"]
    assert code == 0
    assert set(row) >= {"n", "accuracy", "ece", "null", "debiased", "interval", "brier", "auroc"}
    assert set(row["interval"]) == {"low", "high", "level", "method"}
    assert row["n"] == 200


def test_draws_have_the_names_relied_on(draws: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, str(draws), "--json", "-")
    row = json.loads(out)["conditions"]["m"]
    names = {"questions", "draws", "accuracy", "sem1", "sem2", "verbalised", "gap", "regimes"}
    assert set(row) >= names
    for source in ("sem1", "sem2", "verbalised"):
        assert set(row[source]) >= {"ece", "null", "debiased", "interval", "mean_confidence"}
    assert set(row["regimes"]) >= {"large", "low", "jensen"}
    assert (row["questions"], row["draws"]) == (40, 10)
    assert row["verbalised"]["parse_rate"] == pytest.approx(0.9)


def test_questions_are_written_hardest_first(draws: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "questions.csv"
    assert run(capsys, str(draws), "--questions", str(target))[0] == 0
    frame = pl.read_csv(target)
    assert frame.height == 40
    assert frame["gap"].is_sorted(descending=True)
    # counts 8 and 2 or 7 and 3 of ten: margin 0.6 or 0.4, mass 1
    assert set(frame["margin"].round(9)) == {0.6, 0.4}
    assert frame["classes"].unique().to_list() == [2]


def test_questions_need_draws(grades: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, str(grades), "--questions", str(tmp_path / "q.csv"))
    assert code == 1
    assert "no margins" in err


def test_the_sentence_comes_first(grades: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, str(grades))
    assert out.startswith("m: confidence is ")
    assert max(len(line) for line in out.splitlines()) <= 120


def test_percentages_are_recognised_and_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "g.csv"
    path.write_text("item,condition,correct,confidence\n1,m,1,90\n2,m,0,40\n1,n,1,0.9\n2,n,0,0.4\n")
    code, out, _ = run(capsys, str(path), "--json", "-")
    rows = json.loads(out)["conditions"]
    assert code == 0
    (note,) = json.loads(out)["notes"]  # a condition's unit is its own
    assert note.startswith("m: Confidence runs up to 90: read as percentages")
    assert rows["m"]["ece"] == pytest.approx(rows["n"]["ece"])
    assert "read as percentages" in run(capsys, str(path))[1]


def test_constant_confidence_is_a_base_rate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "g.csv"
    path.write_text("item,condition,correct,confidence\n1,m,1,0.9\n2,m,0,0.9\n")
    assert "base rate" in run(capsys, str(path))[1].replace("\n", " ")


def test_unlabelled_is_untestable(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "g.csv"
    path.write_text("item,condition,correct,confidence\n1,m,,0.9\n2,m,,0.8\n")
    code, out, _ = run(capsys, str(path), "--json", "-")
    row = json.loads(out)["conditions"]["m"]
    assert code == 0
    assert row["verdict"] == "untestable"
    assert "verification tax" in row["reason"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("item,condition,correct,confidence\n1,m,1,1.3\n", "neither a probability"),
        ("item,condition,correct,confidence\n1,m,1,-0.2\n", "neither a probability"),
        ("item,condition,correct\n1,m,1\n", "No answer has a confidence"),
    ],
)
def test_bad_input_is_one_line(tmp_path: Path, text: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "g.csv"
    path.write_text(text)
    code, _, err = run(capsys, str(path))
    assert code == 1
    assert message in err
    assert len(err.strip().splitlines()) == 1


def test_a_draws_table_without_reference_is_untestable(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "d.csv"
    path.write_text("item,condition,draw,answer\n1,m,0,Paris\n1,m,1,Rome\n")
    _, out, _ = run(capsys, str(path), "--json", "-")
    row = json.loads(out)["conditions"]["m"]
    assert row["verdict"] == "untestable"
    assert row["sem1"] is None


def test_missing_references_and_single_draws_are_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "d.csv"
    rows = ["1,m,0,Paris,Paris", "1,m,1,Paris,Paris", "2,m,0,Oslo,Oslo", "3,m,0,Rome,"]
    path.write_text("item,condition,draw,answer,reference\n" + "\n".join(rows))
    _, out, _ = run(capsys, str(path), "--json", "-")
    row = json.loads(out)["conditions"]["m"]
    said = " ".join(row["notes"])
    assert "1 of 4 draws have no reference" in said
    assert "1 of 3 questions have no grade" in said
    assert "2 of 3 questions have one draw" in said
    assert row["draws"] == [1, 2]
    assert row["sem2"]["n"] == 1
    assert row["gap"]["low_margin_ece"] is None


def test_one_draw_each_has_no_sem2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "d.csv"
    path.write_text("item,condition,draw,answer,reference\n1,m,0,Paris,Paris\n2,m,0,Oslo,Rome\n")
    code, out, _ = run(capsys, str(path), "--json", "-")
    row = json.loads(out)["conditions"]["m"]
    assert code == 0
    assert row["sem2"] is None
    assert row["gap"] is None
    assert run(capsys, str(path))[0] == 0
