"""Files on which a quick reading is wrong: what was read is right, or asked about with an option that works."""

import json
import shlex
from pathlib import Path

import polars as pl
import pytest

from helpers.confirmed import read_tables
from richter.errors import InputError
from richter.tables import Dataset, ReadOptions

TWO = ("a", "b")


def means(tables: Dataset) -> dict[str, float]:
    each = tables.scores.drop_nulls("value").group_by("condition", "item").agg(pl.col("value").mean())
    return dict(each.group_by("condition").agg(pl.col("value").mean()).rows())


def table(n: int, **columns: object) -> pl.DataFrame:
    """n items under a and b; a column is a function of the item's number and the condition."""
    return pl.DataFrame([{k: f(i, c) for k, f in columns.items()} for c in TWO for i in range(n)])  # type: ignore[operator]


def told(error: InputError) -> dict[str, str]:
    """The options of a remedy up to the first that is an alternative, as --map and --grade have them."""
    words = shlex.split(error.remedy.partition(", or ")[0].partition(";")[0].rstrip("."))
    return dict(words[k + 1].split("=") for k, word in enumerate(words) if word in ("--map", "--grade"))


def test_a_nine_beside_right_and_wrong_is_asked_about_and_the_advice_works_by_hand() -> None:
    frame = table(
        40, item=lambda i, c: i, model=lambda i, c: c, correct=lambda i, c: 9 if i % 10 == 3 else int(i % 2 or c == "a")
    )
    with pytest.raises(InputError, match="8 of 80 scores are 9, the others 0 to 1") as error:
        read_tables(frame)
    assert "--grade 9=missing" in error.value.remedy
    read = means(read_tables(frame, options=ReadOptions(grade={"9": None})))
    assert read == pytest.approx({"a": 1.0, "b": 16 / 36})


def test_a_mark_or_nothing_is_asked_about_and_both_answers_work_by_hand() -> None:
    frame = table(20, item=lambda i, c: i, model=lambda i, c: c, correct=lambda i, c: "✓" if i % 4 or c == "a" else "")
    with pytest.raises(InputError, match="5 cells are empty") as error:
        read_tables(frame)
    assert "--grade empty=wrong, or --grade empty=missing" in error.value.remedy
    assert means(read_tables(frame, options=ReadOptions(grade={"empty": 0.0}))) == pytest.approx({"a": 1.0, "b": 0.75})
    assert means(read_tables(frame, options=ReadOptions(grade={"empty": None}))) == pytest.approx({"a": 1.0, "b": 1.0})


def test_the_remedy_names_the_column_of_two_values_not_the_first_number_by_hand() -> None:
    frame = table(
        10, qid=lambda i, c: i, arm=lambda i, c: c, fold=lambda i, c: i % 5, xyz=lambda i, c: i % 2,
        secs=lambda i, c: 0.5 * i, uvw=lambda i, c: i // 5,
    )  # fmt: skip
    with pytest.raises(InputError) as error:
        read_tables(frame)
    assert "--map score=xyz" in error.value.remedy
    assert means(read_tables(frame, options=ReadOptions(map={"score": "xyz"}))) == {"a": 0.5, "b": 0.5}


def test_of_words_the_remedy_names_what_grades_not_what_names_the_rows_by_hand() -> None:
    frame = table(
        12, note_id=lambda i, c: f"N{i}", place=lambda i, c: c * 3, verdict=lambda i, c: "fine" if i % 3 else "poorly",
    )  # fmt: skip
    with pytest.raises(InputError) as error:
        read_tables(frame)
    assert "score=verdict" in error.value.remedy
    assert "score=place" not in error.value.remedy


def test_rows_that_a_column_of_words_tells_apart_are_asked_about_and_both_answers_work() -> None:
    rows = [(i, m, p, (i + len(m + p)) % 2) for i in range(12) for m in ("one", "three") for p in ("pre", "post")]
    frame = pl.DataFrame(rows, schema=["item", "model", "phase", "correct"], orient="row")
    with pytest.raises(InputError, match=r"2 rows under 'one', which phase tells apart \(pre, post\)") as error:
        read_tables(frame)
    assert told(error.value) == {"draw": "phase"}
    assert "--map domain=phase" in error.value.remedy
    assert len(read_tables(frame, options=ReadOptions(map={"draw": "phase"})).item_ids) == 12
    assert len(read_tables(frame, options=ReadOptions(map={"domain": "phase"})).item_ids) == 24


def test_predictions_beside_a_key_and_the_text_that_was_classed_are_held_against_the_key_by_hand() -> None:
    gold = [k % 2 for k in range(40)]
    frame = pl.DataFrame({"id": range(40), "text": [f"said {k}" for k in range(40)], "gold": gold,
                          "bert": [g if k % 4 else 1 - g for k, g in enumerate(gold)],
                          "llama": [g if k % 2 else 1 - g for k, g in enumerate(gold)]})  # fmt: skip
    assert means(read_tables(frame)) == pytest.approx({"bert": 0.75, "llama": 0.5})


def test_subtotals_between_the_rows_are_no_items_by_hand() -> None:
    rows = [(f"{k + 1}.{i}", i % 3, i % 2) for k in range(3) for i in range(1, 9)]
    body = [*rows[:8], ("Subtotal chapter 1", 9, 4), *rows[8:16], ("Subtotal chapter 2", 9, 4), *rows[16:],
            ("Subtotal chapter 3", 9, 4), ("Grand total", 27, 12)]  # fmt: skip
    frame = pl.DataFrame(body, schema=["exercise", "a", "b"], orient="row")
    tables = read_tables(frame)
    assert len(tables.item_ids) == 24
    assert means(tables) == pytest.approx({"a": 9 / 8, "b": 0.5})


def test_a_word_that_grades_goes_before_the_number_of_its_class_by_hand(tmp_path: Path) -> None:
    for name, every in (("a", 2), ("b", 4)):
        rows = [{"question-id": i, "check": int(i % every == 0), "meta": {"class-name": "Incorrect" if i % every == 0
                 else "Correct"}} for i in range(20)]  # fmt: skip
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    read = read_tables(f"a={tmp_path / 'a.jsonl'}", f"b={tmp_path / 'b.jsonl'}")
    assert means(read) == pytest.approx({"a": 0.5, "b": 0.75})


def _csv(path: Path, rows: list[dict[str, object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pl.DataFrame(rows).write_csv(path)


def test_one_file_an_answer_is_an_item_by_the_rest_of_its_path_by_hand(tmp_path: Path) -> None:
    for model in ("small", "large"):
        for suite in ("bank", "mail"):
            for k in range(5):
                path = tmp_path / model / suite / f"task_{k}" / "none.json"
                path.parent.mkdir(parents=True)
                path.write_text(json.dumps({"task": f"task_{k}", "utility": k > 1 or model == "large", "seconds": 1.5}))
    tables = read_tables(tmp_path)
    assert len(tables.item_ids) == 10
    assert means(tables) == pytest.approx({"small": 0.6, "large": 1.0})


def test_a_korean_code_page_is_read_by_hand(tmp_path: Path) -> None:
    cells = [f"{i},{m},①②③④,{'O' if i % 4 else 'X'}" for m in ("하이퍼", "클로바") for i in range(1, 9)]
    (tmp_path / "k.csv").write_bytes("\n".join(["문항번호,모델,답안,정답여부", *cells]).encode("cp949"))
    assert means(read_tables(tmp_path / "k.csv")) == pytest.approx({"하이퍼": 0.75, "클로바": 0.75})


@pytest.mark.parametrize("words", ["rätt fel", "oikein väärin", "správně špatně", "نعم لا", "benar salah", "כן לא"])
def test_words_for_right_and_wrong_of_more_languages_by_hand(words: str) -> None:
    right, wrong = words.split()
    frame = table(8, item=lambda i, c: i, model=lambda i, c: c, correct=lambda i, c: right if i % 4 else wrong)
    assert means(read_tables(frame)) == pytest.approx({"a": 0.75, "b": 0.75})


def test_versions_in_names_are_conditions_and_no_runs(tmp_path: Path) -> None:
    names = ("gpt-3", "gpt-4", "claude-3", "claude-4")
    for k, name in enumerate(names):
        _csv(tmp_path / f"{name}.csv", [{"id": i, "ok": int(i > k)} for i in range(8)])
    assert means(read_tables(tmp_path)) == pytest.approx({name: (7 - k) / 8 for k, name in enumerate(names)})


def test_fields_of_an_object_called_results_are_no_conditions_by_hand(tmp_path: Path) -> None:
    cases = {m: [{"name": f"q{i}", "status": "passed" if i % n else "failed", "ms": 7 * i} for i in range(12)]
             for m, n in (("a", 2), ("b", 4))}  # fmt: skip
    (tmp_path / "r.json").write_text(json.dumps({"results": [{"model": m, "cases": own} for m, own in cases.items()]}))
    assert means(read_tables(tmp_path / "r.json")) == pytest.approx({"a": 0.5, "b": 0.75})


def test_the_criteria_of_a_grade_are_no_answers_of_their_own_by_hand(tmp_path: Path) -> None:
    for name, n in (("a", 2), ("b", 4)):
        rubric = [{"criterion": c, "points": p, "met": p > 1} for p, c in enumerate("xyz")]
        rows = [{"prompt_id": f"p{i}", "rubric": rubric, "score": float(i % n > 0)} for i in range(12)]
        (tmp_path / f"{name}.json").write_text(json.dumps({"score": 0.6, "metadata": {"examples": rows}}))
    read = read_tables(f"a={tmp_path / 'a.json'}", f"b={tmp_path / 'b.json'}")
    assert means(read) == pytest.approx({"a": 0.5, "b": 0.75})


def test_a_time_is_not_advised_where_words_may_grade_by_hand() -> None:
    frame = table(
        12, test=lambda i, c: f"t{i}", build=lambda i, c: c, state=lambda i, c: "fine" if i % 3 else "off",
        duration=lambda i, c: 1.5 * i,
    )  # fmt: skip
    with pytest.raises(InputError) as error:
        read_tables(frame)
    assert "score=state" in error.value.remedy
    assert "duration" not in error.value.remedy


@pytest.mark.parametrize("name", ["arm", "model"])
def test_conditions_called_x_and_y_are_no_grades_by_hand(name: str) -> None:
    rows = [
        (f"q{i}", c, fold, int(i % n == fold)) for i in range(12) for c, n in (("x", 3), ("y", 2)) for fold in (1, 2)
    ]
    read = read_tables(pl.DataFrame(rows, schema=["qid", name, "fold", "flagged"], orient="row"))
    assert means(read) == pytest.approx({"x": 1 - 8 / 24, "y": 1 - 6 / 24})


def test_two_grades_of_a_file_with_a_name_are_asked_about_and_the_advice_works_by_hand(tmp_path: Path) -> None:
    for name, k in (("a", 2), ("b", 4)):
        _csv(tmp_path / f"{name}.csv", [{"id": i, "x": int(i % k > 0), "y": int(i % 3 > 0)} for i in range(12)])
    named = [f"{name}={tmp_path / name}.csv" for name in TWO]
    with pytest.raises(InputError, match="x, y are measures of one answer, and a file with a name is one") as error:
        read_tables(*named)
    assert "--map score=x" in error.value.remedy
    assert means(read_tables(*named, options=ReadOptions(map={"score": "x"}))) == pytest.approx({"a": 0.5, "b": 0.75})


def test_a_column_called_candidate_of_which_half_is_right_is_a_condition_s_own_by_hand() -> None:
    rows = [(f"q{i}", int(i % 3 > 0), i % 2) for i in range(24)]
    read = read_tables(pl.DataFrame(rows, schema=["id", "baseline", "candidate"], orient="row"))
    assert means(read) == pytest.approx({"baseline": 2 / 3, "candidate": 0.5})
