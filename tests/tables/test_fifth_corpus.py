"""What an outsider's fifth corpus of 60 files found: wrong, refused falsely, or said falsely."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from helpers.confirmed import read_tables
from richter.audit import compare_tables
from richter.errors import InputError, ReadingProposed
from richter.tables import ReadOptions
from richter.tables import read_tables as read_at_once


def proposal_of(frame: pl.DataFrame) -> ReadingProposed:
    with pytest.raises(ReadingProposed) as caught:
        read_at_once(frame)
    return caught.value


def test_a_column_that_names_the_measure_says_which_end_is_good(rng: np.random.Generator) -> None:
    values = rng.integers(0, 24, 200)
    frame = pl.DataFrame(
        {"sample": np.repeat([f"s{i}" for i in range(100)], 2), "system": ["ocr-v1", "ocr-v2"] * 100,
         "metric": "edit_distance", "value": values}
    )  # fmt: skip
    assert proposal_of(frame).options.better == "lower"
    assert read_at_once(frame, confirm=True).scores["better"].unique().to_list() == ["lower"]
    named = frame.with_columns(metric=pl.lit("fluency"))
    assert read_at_once(named, confirm=True).scores["better"].unique().to_list() == ["higher"]


def test_a_proposal_says_which_end_of_a_score_is_taken_for_the_good_one(rng: np.random.Generator) -> None:
    keys = {"Aufsatz": np.repeat([f"Aufsatz {i}" for i in range(85)], 2), "Modell": ["GPT-4o", "Claude"] * 85}
    marks = pl.DataFrame(keys | {"Note": rng.integers(1, 7, 170)})
    (score,) = (line for line in proposal_of(marks).lines if line.split()[0] == "score")
    assert score.endswith("more is better")
    binary = marks.with_columns(Note=pl.Series(rng.integers(0, 2, 170)))
    assert not any(line.endswith("is better") for line in proposal_of(binary).lines)


@pytest.mark.parametrize("codes", [5, 25])
def test_minus_one_beside_right_and_wrong_is_asked_about_however_many(codes: int) -> None:
    rows = [{"id": i, "model": m, "score": -1 if i < codes else i % 2} for i in range(100) for m in ("one", "two")]
    with pytest.raises(InputError) as caught:
        read_tables(pl.DataFrame(rows))
    assert "--grade -1=missing" in caught.value.remedy
    assert "--scale=-1:1" in caught.value.remedy
    assert read_tables(pl.DataFrame(rows), options=ReadOptions(scale=(-1.0, 1.0))).metric == "mean_score"


def test_promptfoos_table_of_two_prompts_has_a_grade_and_a_score_for_each(tmp_path: Path) -> None:
    own = "Status,Score,Named Scores,Grader Reason,Comment"
    heads = f"Description,idx,question,[m] terse,{own},[m] steps,{own}"
    lines = [
        f"add {i},{i},What is {i}?,x,{'PASS' if i % 3 else 'FAIL'},0.{i % 10},,ok,,y,PASS,0.9,,ok," for i in range(30)
    ]
    path = tmp_path / "out.csv"
    path.write_text("\n".join([heads, *lines]), encoding="utf-8")
    found = read_tables(path)
    means = found.scores.group_by("condition", "metric").agg(pl.col("value").mean())
    by = {(c.split("prompt ")[1].rstrip(")"), m): v for c, m, v in means.iter_rows()}
    assert by["terse", "accuracy"] == pytest.approx(2 / 3)
    assert by["steps", "accuracy"] == 1
    assert by["terse", "score"] == pytest.approx(0.45)


def test_a_person_who_grades_is_no_judge_model() -> None:
    rows = [{"item": f"q{i}", "model": m, "score": i % 5, "grader": "Kim"} for i in range(20) for m in ("a", "b")]
    assert read_tables(pl.DataFrame(rows)).graded_by == ()
    for model in ("gpt-4o", "Claude", "smol"):
        assert read_tables(pl.DataFrame(rows).with_columns(grader=pl.lit(model))).graded_by == (model,)


def test_conditions_with_scores_have_their_number_of_questions() -> None:
    rows = [{"item": f"q{i}", "model": m, "score": i % 5 + k} for i in range(40) for k, m in enumerate("ab")]
    found = compare_tables(read_tables(pl.DataFrame(rows)))
    assert [c.n for c in found.conditions.values()] == [40, 40]


def test_calls_that_ended_without_a_grade_are_all_counted() -> None:
    rows = [
        {"item": f"q{i}", "model": m, "passed": None if i < 5 else i % 2, "status": "timeout" if i < 5 else "done"}
        for i in range(40)
        for m in ("a", "b")
    ]
    assert any(note.startswith("10 with status") for note in read_tables(pl.DataFrame(rows)).notes)
