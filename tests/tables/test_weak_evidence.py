"""Files on which a quick reading is wrong: what was read is right, or asked about with an option that works."""

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


def test_rows_that_a_column_of_words_tells_apart_are_asked_about_and_both_answers_work() -> None:
    rows = [(i, m, p, (i + len(m + p)) % 2) for i in range(12) for m in ("one", "three") for p in ("pre", "post")]
    frame = pl.DataFrame(rows, schema=["item", "model", "phase", "correct"], orient="row")
    with pytest.raises(InputError, match=r"2 rows under 'one', which phase tells apart \(pre, post\)") as error:
        read_tables(frame)
    assert told(error.value) == {"draw": "phase"}
    assert "--map domain=phase" in error.value.remedy
    assert len(read_tables(frame, options=ReadOptions(map={"draw": "phase"})).item_ids) == 12
    assert len(read_tables(frame, options=ReadOptions(map={"domain": "phase"})).item_ids) == 24


def test_subtotals_between_the_rows_are_no_items_by_hand() -> None:
    rows = [(f"{k + 1}.{i}", i % 3, i % 2) for k in range(3) for i in range(1, 9)]
    body = [*rows[:8], ("Subtotal chapter 1", 9, 4), *rows[8:16], ("Subtotal chapter 2", 9, 4), *rows[16:],
            ("Subtotal chapter 3", 9, 4), ("Grand total", 27, 12)]  # fmt: skip
    frame = pl.DataFrame(body, schema=["exercise", "a", "b"], orient="row")
    tables = read_tables(frame)
    assert len(tables.item_ids) == 24
    assert means(tables) == pytest.approx({"a": 9 / 8, "b": 0.5})


def _csv(path: Path, rows: list[dict[str, object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pl.DataFrame(rows).write_csv(path)


def test_two_grades_of_a_file_with_a_name_are_asked_about_and_the_advice_works_by_hand(tmp_path: Path) -> None:
    for name, k in (("a", 2), ("b", 4)):
        _csv(tmp_path / f"{name}.csv", [{"id": i, "x": int(i % k > 0), "y": int(i % 3 > 0)} for i in range(12)])
    named = [f"{name}={tmp_path / name}.csv" for name in TWO]
    with pytest.raises(InputError, match="x, y are measures of one answer, and a file with a name is one") as error:
        read_tables(*named)
    assert "--map score=x" in error.value.remedy
    assert means(read_tables(*named, options=ReadOptions(map={"score": "x"}))) == pytest.approx({"a": 0.5, "b": 0.75})
