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


def test_questions_are_written_hardest_first(draws: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "questions.csv"
    assert run(capsys, str(draws), "--questions", str(target))[0] == 0
    frame = pl.read_csv(target)
    assert frame.height == 40
    assert frame["gap"].is_sorted(descending=True)
    # counts 8 and 2 or 7 and 3 of ten: margin 0.6 or 0.4, mass 1
    assert set(frame["margin"].round(9)) == {0.6, 0.4}
    assert frame["classes"].unique().to_list() == [2]


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


def test_unlabelled_is_untestable(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "g.csv"
    path.write_text("item,condition,correct,confidence\n1,m,,0.9\n2,m,,0.8\n")
    code, out, _ = run(capsys, str(path), "--json", "-")
    row = json.loads(out)["conditions"]["m"]
    assert code == 0
    assert row["claim"]["verdict"] == "untestable"
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
    assert row["claim"]["verdict"] == "untestable"
    assert row["sem1"] is None


def test_one_draw_each_says_nothing_of_agreement(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One answer always agrees with itself: that it is then wrong in half of the cases shows no miscalibration."""
    path = tmp_path / "d.csv"
    rows = [f"{k},m,0,{'Paris' if k % 2 else 'Oslo'},Paris" for k in range(100)]
    path.write_text("item,condition,draw,answer,reference\n" + "\n".join(rows))
    code, out, _ = run(capsys, str(path), "--json", "-")
    row = json.loads(out)["conditions"]["m"]
    assert code == 0
    assert row["claim"]["verdict"] == "untestable"
    assert "one draw" in row["claim"]["sentence"]
    assert (row["sem1"], row["sem2"], row["gap"]) == (None, None, None)
    assert run(capsys, str(path))[0] == 0


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([(1, 90), (0, 80)] * 30, "read as percentages"),
        ([(1, 0.9), (0, 0.9)] * 30, "base rate"),
        ([(1, 1.0)] * 55 + [(0, 1.0)] * 5, "too sure"),
        ([(1, 0.5 + k / 200) for k in range(60)], "all answers are right"),
        ([(0, 0.5 + k / 200) for k in range(60)], "all answers are right, or all wrong"),
        ([(k % 2, k / 20) for k in range(20)], "held-out answers are too few"),
        ([(1, 0.9), (0, 0.4)], "too few"),
    ],
    ids=["percent", "constant", "ties at one", "all right", "all wrong", "twenty", "two"],
)
def test_poor_input_gives_a_figure_or_says_why_not(
    tmp_path: Path, rows: list[tuple[int, float]], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "g.csv"
    text = "\n".join(f"{k},m,{a},{c}" for k, (a, c) in enumerate(rows))
    path.write_text("item,condition,correct,confidence\n" + text)
    code, out, _ = run(capsys, str(path))
    assert code == 0
    assert said in out
    assert "nan" not in out
    code, out, _ = run(capsys, str(path), "--json", "-")
    row = json.loads(out)["conditions"]["m"]
    assert row["claim"]["verdict"] in ("verified", "undecided")
    for name in ("auroc", "aurc", "brier", "log"):
        score = row["scores"][name]
        assert score["value"] is not None or score["reason"]
    assert row["safe"]["threshold"] is not None or row["safe"]["reason"]


def test_refusals_are_a_class_of_their_own_and_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # 40 questions answered rightly by all draws, 20 declined and 10 left empty by all: confident wrong answers, or none
    path = tmp_path / "d.jsonl"
    rows = [
        {"item": f"q{i}", "condition": "m", "draw": k, "reference": "Paris",
         "answer": "Paris" if i < 40 else "I cannot answer that." if i < 60 else " "}
        for i in range(70) for k in range(4)
    ]  # fmt: skip
    pl.DataFrame(rows).write_ndjson(path)
    _, out, _ = run(capsys, str(path), "--json", "-")
    row = json.loads(out)["conditions"]["m"]["refusals"]
    assert (row["refused"], row["empty"], row["of"], row["used"]) == (20, 10, 70, "kept")
    assert row["kept"]["ece"] == pytest.approx(30 / 70)
    assert row["left_out"]["ece"] == 0
    _, out, _ = run(capsys, str(path))
    assert "20 of 70 answers decline and 10 are empty" in out
    _, out, _ = run(capsys, str(path), "--refusals", "leave-out")
    assert "Inconclusive: repeats of m agree as often as they are right" in out


def test_refusals_and_empty_answers_are_not_one_class(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "d.jsonl"
    rows = [
        {"item": f"q{i}", "condition": "m", "draw": k, "reference": "Paris", "answer": "I cannot say." if k % 2 else ""}
        for i in range(10)
        for k in range(4)
    ]
    pl.DataFrame(rows).write_ndjson(path)
    target = tmp_path / "q.csv"
    assert run(capsys, str(path), "--questions", str(target))[0] == 0
    assert pl.read_csv(target)["classes"].unique().to_list() == [2]


def test_a_group_column_is_the_unit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "g.csv"
    rows = [f"{i},m,{int(i % 10 < 7)},{0.5 + (i % 5) / 10},{i // 20}" for i in range(200)]
    path.write_text("item,condition,correct,confidence,group\n" + "\n".join(rows))
    _, out, _ = run(capsys, str(path), "--json", "-")
    claim = json.loads(out)["conditions"]["m"]["claim"]
    assert (claim["unit"], claim["units"], claim["n"]) == ("group", 10, 200)
