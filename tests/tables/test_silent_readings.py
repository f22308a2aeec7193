"""Tables whose cells can be read in two ways: what was read is right, or refused, or said; each by hand."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from richter.audit import measure_calibration
from richter.calibration import as_probability
from richter.errors import InputError
from richter.tables import Tables, read_tables

ITEMS = [f"q{k}" for k in range(30)]


def long(column: str, a: list[object], b: list[object]) -> pl.DataFrame:
    """30 items under `a` and `b`."""
    names = ["a"] * 30 + ["b"] * 30
    return pl.DataFrame({"item": ITEMS * 2, "model": names, column: [*a, *b]}, strict=False)


def mean(tables: Tables, condition: str) -> float:
    return float(tables.scores.filter(pl.col("condition") == condition)["value"].mean())  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["failed", "wrong", "incorrect", "hallucinated", "is_toxic", "violation", "unsafe"])
def test_a_column_that_counts_faults_is_turned_over_and_said_by_hand(name: str) -> None:
    tables = read_tables(long(name, [1] * 3 + [0] * 27, [1] * 12 + [0] * 18))
    assert (mean(tables, "a"), mean(tables, "b")) == pytest.approx((0.9, 0.6))
    assert any("1 counts as wrong" in note for note in tables.notes)


@pytest.mark.parametrize("name", ["error_free", "no_errors", "non_toxic", "pass_fail"])
def test_a_column_that_says_a_fault_is_absent_is_not_turned_over(name: str) -> None:
    assert mean(read_tables(long(name, [1] * 27 + [0] * 3, [1] * 18 + [0] * 12)), "a") == pytest.approx(0.9)


def test_words_for_right_and_wrong_mean_the_same_under_any_name() -> None:
    tables = read_tables(long("failed", ["pass"] * 27 + ["fail"] * 3, ["pass"] * 18 + ["fail"] * 12))
    assert mean(tables, "a") == pytest.approx(0.9)
    tables = read_tables(long("failed", ["no"] * 27 + ["yes"] * 3, ["no"] * 18 + ["yes"] * 12))
    assert mean(tables, "a") == pytest.approx(0.9)


def test_less_of_a_bounded_fault_is_better() -> None:
    tables = read_tables(long("hallucination_score", [0.1, 0.3] * 15, [0.2, 0.4] * 15))
    assert set(tables.scores["better"]) == {"lower"}
    assert "lower is better" in tables.understood


@pytest.mark.parametrize(
    ("name", "values"), [("difficulty_rating", [1, 2, 3, 4, 5] * 6), ("average", [0.5] * 30), ("diff", [-1, 0, 1] * 10)]
)
def test_what_is_no_condition_beside_columns_of_right_and_wrong_is_left_out_and_named(
    name: str, values: list[float]
) -> None:
    frame = pl.DataFrame({"id": ITEMS, name: values, "gpt": [1] * 24 + [0] * 6, "claude": [1] * 21 + [0] * 9})
    tables = read_tables(frame)
    assert tables.conditions == ("gpt", "claude")
    assert tables.metric == "accuracy"
    assert any(note.startswith(f"{name}: taken for no condition") for note in tables.notes)


def test_partial_credit_of_one_model_stays_beside_right_and_wrong_of_others() -> None:
    frame = pl.DataFrame({"id": ITEMS, "a": [0, 1] * 15, "b": [1, 0] * 15, "c": [0.5, 1.0] * 15})
    assert read_tables(frame).conditions == ("a", "b", "c")


def test_measures_of_one_answer_are_no_conditions() -> None:
    frame = pl.DataFrame({"question": ITEMS, "answer": ["x"] * 30, "bleu": [0.2, 0.3] * 15, "rouge": [0.5, 0.6] * 15})
    with pytest.raises(InputError, match="bleu, rouge are measures of one answer"):
        read_tables(frame)
    two = pl.DataFrame({"id": ITEMS, "gpt quality": [0.2, 0.3] * 15, "claude quality": [0.5, 0.6] * 15})
    assert len(read_tables(two).conditions) == 2


@pytest.mark.parametrize(("code", "rest"), [(-1, [0, 1]), (9, [1, 2, 3, 4, 5]), (99, [1, 2, 3, 4, 5])])
def test_a_code_for_no_grade_is_doubted(code: int, rest: list[int]) -> None:
    scores = [code] * 4 + (rest * 15)[:26]
    notes = read_tables(long("rating", scores, (rest * 15)[:30])).notes
    assert any(f"4 of 60 scores are {code}" in note and "a code for no grade?" in note for note in notes)
    assert not any("code" in note for note in read_tables(long("rating", [1, 2, 3] * 10, [5, 9, 8] * 10)).notes)


def test_confidences_on_a_scale_are_no_percentages() -> None:
    with pytest.raises(InputError, match="run up to 5: a scale, or percentages"):
        as_probability([1, 2, 3, 4, 5])
    with pytest.raises(InputError, match="2 of 4 lie between 0 and 1"):
        as_probability([0.9, 0.8, 85, 90])
    values, note = as_probability([85, 100, 0, 1])
    assert values.tolist() == [0.85, 1.0, 0.0, 0.01]
    assert "percentages" in note
    frame = long("correct", [0, 1] * 15, [1, 0] * 15).with_columns(pl.Series("confidence", [1, 3, 5] * 20))
    tables = read_tables(frame)  # a rater's own, perhaps: nothing but calibration needs it
    assert tables.rows["confidence"].null_count() == 60
    assert any("They are left out" in note for note in tables.notes)
    with pytest.raises(InputError, match="a scale, or percentages"):
        measure_calibration(tables, rng=np.random.default_rng(0))


def test_scored_passages_of_a_graded_answer_are_no_conditions(tmp_path: Path) -> None:
    passages = [{"doc_id": k, "score": 0.1 * k} for k in range(5)]
    row = {"question": "why?", "answer": "so", "documents": passages}
    rows = [{"id": k, **row, "correct": k % 4 > 0} for k in range(8)]
    (tmp_path / "rag.json").write_text(json.dumps(rows))
    tables = read_tables(str(tmp_path / "rag.json"))
    assert tables.conditions == ("rag",)
    assert len(tables.scores) == 8
    assert mean(tables, "rag") == 0.75


def test_an_item_of_which_a_file_holds_nothing_is_an_item_without_a_grade(tmp_path: Path) -> None:
    found = {f"q{k}": {"gpt": k % 2, "claude": 1} for k in range(8)}
    (tmp_path / "by_item.json").write_text(json.dumps({**found, "q8": None}))
    tables = read_tables(str(tmp_path / "by_item.json"))
    assert len(tables.item_ids) == 9
    assert tables.scores["value"].null_count() == 2


@pytest.mark.parametrize("column", ["score", "confidence", "latency", "quality"])
def test_empty_cells_of_what_is_measured_are_not_those_above_them(column: str, tmp_path: Path) -> None:
    """Of two models in turn only one is graded: the other had its grades."""
    lines = [f"q{k},{m},{k % 2},{0.3 + 0.02 * k if m == 'a' else ''}" for k in range(20) for m in "ab"]
    (tmp_path / "t.csv").write_text("\n".join([f"item,model,correct,{column}", *lines]))
    tables = read_tables(str(tmp_path / "t.csv"))
    assert not any("merged" in note for note in tables.notes)


def test_empty_cells_of_names_are_those_above_them(tmp_path: Path) -> None:
    lines = [f"{f'q{k}' if m == 'a' else ''},{m},{k % 2}" for k in range(20) for m in "ab"]
    (tmp_path / "t.csv").write_text("\n".join(["item,model,correct", *lines]))
    assert len(read_tables(str(tmp_path / "t.csv")).item_ids) == 20


def test_counts_with_a_comma_are_thousands(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text('item,model,correct,tokens_out\nq1,a,1,"1,234"\nq2,a,0,980\n')
    assert read_tables(str(tmp_path / "t.csv")).answers["tokens_out"].to_list() == [1234, 980]


def test_a_column_of_faults_for_each_model_is_turned_over() -> None:
    tables = read_tables(pl.DataFrame({"id": ITEMS, "gpt_failed": [1] * 3 + [0] * 27, "claude_failed": [1, 0] * 15}))
    assert [mean(tables, c) for c in tables.conditions] == pytest.approx([0.9, 0.5])
    tables = read_tables(pl.DataFrame({"id": ITEMS, "errors_a": [0, 1, 3] * 10, "errors_b": [1, 2, 4] * 10}))
    assert set(tables.scores["better"]) == {"lower"}


@pytest.mark.parametrize("words", [(0, 1), ("A", "B")])
def test_answers_beside_their_key_are_no_grades(words: tuple[object, object]) -> None:
    no, yes = words
    frame = {"id": range(20), "expected": [no, yes] * 10, "gpt": [no, no] * 10, "claude": [no, yes] * 9 + [yes, yes]}
    tables = read_tables(pl.DataFrame(frame))
    assert tables.conditions == ("gpt", "claude")
    assert (mean(tables, "gpt"), mean(tables, "claude")) == (0.5, 0.95)
    empty = read_tables(pl.DataFrame({**frame, "note": [None] * 20, "remark": [None] * 20}))
    assert empty.conditions == ("gpt", "claude")


def test_domains_and_tiers_of_one_named_condition_are_no_conditions_and_items() -> None:
    """A benchmark balanced over domains and tiers, asked of one model: domain and tier cross, and are neither key."""
    ids = [f"q{k}" for k in range(40)]
    rows = {"item": ids, "condition": "m", "correct": [k % 3 > 0 for k in range(40)]}
    spread = {"domain": ["abcd"[k % 4] for k in range(40)], "tier": [1 + k % 5 for k in range(40)]}
    tables = read_tables(pl.DataFrame(rows | spread))
    assert (tables.conditions, tables.item_ids, tables.notes) == (("m",), tuple(sorted(ids)), ())
