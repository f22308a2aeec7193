"""Any file into the same tables: what is read is compared with what was written by hand."""

import json
from pathlib import Path

import polars as pl
import pytest

from helpers.confirmed import read_tables
from richter.errors import InputError
from richter.records import Answer, Condition, Item, Rating
from richter.store import Call, open_ledger
from richter.tables import ReadOptions, outcomes, severity_of, severity_scores

ROWS = "question_id,Model,is_correct\nq1,old,1\nq2,old,0\nq1,new,yes\nq2,new,TRUE\n"


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_long_table_by_hand(tmp_path: Path) -> None:
    tables = read_tables(write(tmp_path, "a.csv", ROWS))
    assert tables.conditions == ("old", "new")
    assert tables.metric == "accuracy"
    found = outcomes(tables, "accuracy")
    assert found.items == ("q1", "q2")
    assert found.value.tolist() == [1, 0, 1, 1]
    assert found.condition.tolist() == [0, 0, 1, 1]
    assert tables.understood == "2 questions x 2 (old, new), right or wrong from column is_correct"


def test_same_data_same_hash_whatever_the_order_or_the_form(tmp_path: Path) -> None:
    one = read_tables(write(tmp_path, "a.csv", ROWS))
    turned = read_tables(write(tmp_path, "b.csv", "id,condition,correct\nq2,new,1\nq1,new,1\nq2,old,0\nq1,old,1\n"))
    wide = read_tables(write(tmp_path, "c.csv", "item,old,new\nq1,1,1\nq2,0,1\n"))
    frame = read_tables(
        pl.DataFrame({"item": ["q1", "q2"] * 2, "model": ["old"] * 2 + ["new"] * 2, "acc": [1, 0, 1, 1]})
    )
    assert len({one.data_hash, turned.data_hash, wide.data_hash, frame.data_hash}) == 1
    other = read_tables(write(tmp_path, "d.csv", ROWS.replace("q2,old,0", "q2,old,1")))
    assert other.data_hash != one.data_hash


def test_partial_credit_and_scales_by_hand(tmp_path: Path) -> None:
    partial = read_tables(write(tmp_path, "p.csv", "item,model,score\na,x,0.5\nb,x,1\n"))
    assert partial.metric == "mean_score"
    stars = read_tables(write(tmp_path, "s.csv", "item,model,rating\na,x,5\nb,x,1\na,y,3\nb,y,2\n"))
    metric = outcomes(stars, "mean_score").metric
    assert (metric.low, metric.high, metric.better, metric.kind) == (1.0, 5.0, "higher", "bounded")
    assert "score 1-5 from column rating, higher is better" in stars.understood
    severe = read_tables(tmp_path / "s.csv", options=ReadOptions(as_severity=(5.0, 1.0)))
    assert outcomes(severe, "mean_severity").value.tolist() == [0.0, 4.0, 2.0, 3.0]
    assert outcomes(severe, "accuracy").value.tolist() == [1.0, 0.0, 0.0, 0.0]
    assert outcomes(severe, "catastrophic_rate").value.tolist() == [0.0, 1.0, 0.0, 1.0]


def test_conflicting_repeats_are_shown_and_the_remedy_works(tmp_path: Path) -> None:
    path = write(tmp_path, "r.csv", "item,model,correct\na,x,0\na,x,1\nb,x,1\nb,x,1\nc,x,1\n")
    with pytest.raises(
        InputError, match=r"'a' occurs more than once under 'x' and differs \(value 0.0 and value"
    ) as said:
        read_tables(path)
    assert "--map draw=order" in str(said.value.remedy)
    tables = read_tables(path, options=ReadOptions(map={"draw": "order"}))
    assert outcomes(tables, "accuracy").draw is not None
    assert tables.answers["draw"].to_list() == [0, 1, 0, 1, 0]
    even = write(tmp_path, "e.csv", "item,model,correct\na,x,0\na,x,1\nb,x,1\nb,x,1\n")  # as many rows of every item
    assert read_tables(even).answers["draw"].to_list() == [0, 1, 0, 1]
    metrics = write(tmp_path, "m.csv", "item,model,metric,score\na,x,em,0\na,x,f1,1\nb,x,em,1\nb,x,f1,1\n")
    with pytest.raises(InputError, match=r"2 rows, one for each measure in metric.* a column for each"):
        read_tables(metrics)
    unnamed = write(tmp_path, "u.csv", "item,correct\na,0\na,1\nb,1\nb,1\n")  # two models, perhaps, one below the other
    with pytest.raises(InputError, match="No column names the model"):
        read_tables(unnamed)


def run_of(folder: Path, ratings: list[Rating]) -> Path:
    with open_ledger(folder, mode="write") as ledger:
        ledger.add_items([Item(id=i, prompt=f"{i}?", reference="r", domain="d") for i in ("q1", "q2")])
        ledger.add_conditions([Condition(name=c, model="m") for c in ("old", "new")])
        ledger.add_calls([
            Call(key=f"{c}{i}", model="m", request="", answer=Answer(text="so", item=i, condition=c, tokens_out=7))
            for c in ("old", "new") for i in ("q1", "q2")
        ])  # fmt: skip
        ledger.add_ratings(ratings)
    return folder


def rating(item: str, condition: str, rater: str, severity: float, kind: str = "judge") -> Rating:
    return Rating(item=item, condition=condition, rater=rater, kind=kind, severity=severity)  # type: ignore[arg-type]


def test_severity_of_an_answer_is_the_median_of_the_kind_that_counts_by_hand(tmp_path: Path) -> None:
    run = run_of(tmp_path / "run", [
        rating("q1", "old", "a", 1), rating("q1", "old", "b", 2), rating("q1", "old", "c", 4),
        rating("q2", "old", "a", 1), rating("q2", "old", "b", 2), rating("q1", "new", "a", 0),
        rating("q1", "old", "p", 0, "human"),
    ])  # fmt: skip
    tables = read_tables(run)
    assert tables.counting == "judge"
    assert tables.basis == "severities by judges (3 raters)"
    found = {(i, c): s for i, c, _, s, _ in severity_of(tables).iter_rows()}
    assert found == {("q1", "old"): 2.0, ("q2", "old"): 1.5, ("q1", "new"): 0.0}
    people = read_tables(run, options=ReadOptions(ratings="human"))
    assert {(i, c): s for i, c, _, s, _ in severity_of(people).iter_rows()} == {("q1", "old"): 0.0}
    right = outcomes(tables, "accuracy")
    keys = zip(right.item.tolist(), right.condition.tolist(), strict=True)
    assert dict(zip(keys, right.value.tolist(), strict=True)) == {(0, 0): 0, (1, 0): 0, (0, 1): 1}
    assert outcomes(tables, "tokens").value.tolist() == [7.0] * 4


def test_of_equals_people_then_judges_count_by_hand(tmp_path: Path) -> None:
    run = run_of(tmp_path / "run", [rating("q1", "old", "r", 3, "rule"), rating("q1", "old", "j", 1),
                                    rating("q1", "old", "h", 2, "human")])  # fmt: skip
    assert read_tables(run).counting == "human"


def test_severity_scores_by_hand(tmp_path: Path) -> None:
    text = "item,condition,severity,domain,tier\na,x,1.5,law,2\nb,x,0,law,1\n"
    scores = severity_scores(read_tables(write(tmp_path, "s.csv", text)))
    assert scores.severity.tolist() == [[1.5], [0.0]]
    assert scores.domain is not None
    assert scores.domain.tolist() == ["law", "law"]
    assert scores.tier is not None
    assert scores.tier.tolist() == [2, 1]
    with pytest.raises(InputError, match="off the scale 0:4"):
        read_tables(write(tmp_path, "t.csv", "item,condition,severity\na,x,7\n"))


def test_words_for_no_answer_count_as_not_right_and_any_word_can_be_settled_by_hand(tmp_path: Path) -> None:
    text = "id,model,grade\n1,a,CORRECT\n2,a,NOT_ATTEMPTED\n3,a,Unparseable\n4,a,INCORRECT\n1,b,CORRECT\n2,b,CORRECT\n"
    tables = read_tables(write(tmp_path, "simple.csv", text))
    assert outcomes(tables, "accuracy").value.tolist() == [1, 0, 0, 1, 1]  # how a grader ended is no grade
    assert tables.answers["refused"].fill_null(value=False).to_list() == [False, True, False, False, False, False]
    said = "1 graded 'NOT_ATTEMPTED' count as not right (--grade NOT_ATTEMPTED=missing leaves them out)"
    assert said in tables.notes
    left_out = ReadOptions(grade={"not_attempted": None, "Unparseable": 0.5})
    found = read_tables(tmp_path / "simple.csv", options=left_out)
    values = dict(zip(found.scores["item"].to_list()[:4], found.scores["value"].to_list()[:4], strict=True))
    assert values == {"1": 1.0, "2": None, "3": 0.5, "4": 0.0}
    assert not found.answers["refused"].fill_null(value=False).any()


def test_answers_that_nobody_graded_are_graded_by_their_references_by_hand(tmp_path: Path) -> None:
    text = "id,model,question,reference,answer\n1,a,Capital?,Paris,Paris.\n2,a,Legs?,8,seven\n1,b,Capital?,Paris,Rome\n"
    tables = read_tables(write(tmp_path, "answers.csv", text))
    assert outcomes(tables, "accuracy").value.tolist() == [1, 0, 0]
    assert tables.basis == "grades from the references"
    assert any("nobody graded these answers" in note for note in tables.notes)
    graded = (
        text.replace("answer\n", "answer,correct\n").replace("Paris.\n", "Paris.,0\n").replace("seven\n", "seven,1\n")
    )
    own = read_tables(write(tmp_path, "graded.csv", graded.replace("Rome\n", "Rome,1\n")))
    assert outcomes(own, "accuracy").value.tolist() == [0, 1, 1]  # grades that are there count


def test_a_list_of_answers_is_draws_and_a_list_of_references_alternatives_by_hand(tmp_path: Path) -> None:
    rows = [
        {"id": "1", "question": "Who?", "right_answer": ["Ada", "Lovelace"], "samples": ["Lovelace", "Ada", "Bob"]},
        {"id": "2", "question": "Where?", "right_answer": ["Rome"], "samples": ["Rome", "Rome", "Oslo"]},
    ]
    path = write(tmp_path, "drawn.json", json.dumps(rows))
    right = outcomes(read_tables(path), "accuracy")
    assert right.value.tolist() == [1, 1, 0, 1, 1, 0]
    assert right.draw is not None
    assert right.draw.tolist() == [0, 1, 2, 0, 1, 2]
