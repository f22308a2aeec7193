"""Which column, row or number plays which part, where a quick look is wrong: every figure by hand."""

import itertools

import polars as pl
import pytest

from helpers.confirmed import read_tables
from richter.errors import InputError
from richter.interop import less_is_better, stated_range
from richter.tables import Dataset, ReadOptions

TWO = ("a", "b")


def means(tables: Dataset) -> dict[str, float]:
    """The mean over items of the mean over draws, for each condition."""
    main = tables.scores.filter(pl.col("metric") == tables.metric)
    each = main.group_by("item", "condition").agg(pl.col("value").mean())
    return dict(each.group_by("condition").agg(pl.col("value").mean()).sort("condition").iter_rows())


def crossed(n: int, **columns: object) -> pl.DataFrame:
    """n items under a and b; a column is a function of the item's number and the condition."""
    rows = itertools.product(range(n), TWO)
    return pl.DataFrame([{"item": f"q{i}", "model": c} | {k: f(i, c) for k, f in columns.items()} for i, c in rows])  # type: ignore[operator]


def test_two_codes_for_no_grade_are_asked_about_and_the_advice_works_by_hand() -> None:
    frame = crossed(40, empathy=lambda i, c: {7: 99, 9: -9}.get(i, 1 + i % 5))
    with pytest.raises(InputError, match=r"are -9 and .* are 99, the others 1 to 5: codes") as told:
        read_tables(frame)
    assert "--grade -9=missing --grade 99=missing" in told.value.remedy
    kept = [1 + i % 5 for i in range(40) if i not in (7, 9)]
    tables = read_tables(frame, options=ReadOptions(grade={"-9": None, "99": None}))
    assert means(tables)["a"] == pytest.approx(sum(kept) / 38)


@pytest.mark.parametrize(
    ("name", "less", "ends"),
    [("Note (1 = sehr gut, 6 = ungenügend)", True, (1, 6)), ("Rating (1 = very bad, 5 = very good)", False, (1, 5)),
     ("System P (1 = best)", True, None), ("harm (0: none, 3: severe)", True, (0, 3)),
     ("errors (0 = bad, 4 = good)", False, (0, 4)), ("points (0-20)", False, (0, 20))],
)  # fmt: skip
def test_what_a_name_explains_says_which_end_is_good(name: str, less: bool, ends: tuple[int, int] | None) -> None:
    assert (less_is_better(name), stated_range(name)) == (less, ends)


def test_an_order_of_the_conditions_in_every_row_is_of_ranks() -> None:
    orders = list(itertools.permutations((1, 2, 3)))
    rows = [orders[k % 6] for k in range(30)]
    frame = pl.DataFrame(rows, schema=["x", "y", "z"], orient="row").with_row_index("prompt_id")
    tables = read_tables(frame)
    assert set(tables.scores["better"]) == {"lower"}
    assert set(tables.scores["high"]) == {3.0}
    assert any("1 is the best" in note for note in tables.notes)
    long = frame.unpivot(index="prompt_id", variable_name="model", value_name="place taken")
    notes = read_tables(long).notes
    assert any("place taken) are the numbers 1 to 3" in note for note in notes)
    assert not any("more being better" in note for note in notes)
    assert set(read_tables(frame, options=ReadOptions(better="higher")).scores["better"]) == {"higher"}
    tied = frame.with_columns(pl.when(pl.col("prompt_id") == 3).then(1).otherwise("x").alias("x"))
    tied = tied.with_columns(pl.when(pl.col("prompt_id") == 3).then(1).otherwise("y").alias("y"))
    assert set(read_tables(tied).scores["better"]) == {"higher"}  # ratings may look like ranks in most rows


def test_what_was_skipped_did_not_fail_by_hand() -> None:
    frame = crossed(20, passed=lambda i, c: 5 <= i < (20 if c == "a" else 14), skipped=lambda i, c: i < 5)
    tables = read_tables(frame)
    assert means(tables) == pytest.approx({"a": 1.0, "b": 0.6})
    assert any("10 rows are marked as skipped by skipped" in note for note in tables.notes)
    status = pl.when(pl.col("skipped")).then(pl.lit("not run")).otherwise(pl.lit("done"))
    assert means(read_tables(frame.select("item", "model", "passed", status.alias("status"))))["b"] == pytest.approx(
        0.6
    )
    texts = frame.select("item", "model", "passed", status.replace("not run", "skip").alias("answer"))
    assert means(read_tables(texts))["b"] == pytest.approx(0.45)  # an answer may say "skip"


def test_ids_that_begin_again_are_asked_about_and_the_advice_works_by_hand() -> None:
    rows = [
        {"chapter": k, "nr": q, "model": c, "correct": (k + q) % 2} for k in range(3) for q in range(8) for c in TWO
    ]
    with pytest.raises(InputError, match="which chapter tells apart") as told:
        read_tables(pl.DataFrame(rows))
    assert "--map domain=chapter" in told.value.remedy
    assert len(read_tables(pl.DataFrame(rows), options=ReadOptions(map={"domain": "chapter"})).item_ids) == 24


def test_what_was_tried_again_after_failures_counts_by_its_first_try_by_hand() -> None:
    tries = {"a": [[1], [0, 1], [0, 0, 0], [0, 0, 1]], "b": [[1], [1], [0, 0, 0], [0, 1]]}
    rows = [{"task": i, "agent": c, "attempt": k + 1, "success": v}
            for c in TWO for i in range(20) for k, v in enumerate(tries[c][i % 4])]  # fmt: skip
    tables = read_tables(pl.DataFrame(rows))
    assert means(tables) == pytest.approx({"a": 0.25, "b": 0.5})
    assert any("only after a failure" in note for note in tables.notes)
    drawn = [
        {"task": i, "agent": c, "attempt": k, "success": (i + k) % 2} for c in TWO for i in range(9) for k in (1, 2)
    ]
    assert read_tables(pl.DataFrame(drawn)).answers["draw"].max() == 1  # draws, which all were made


def test_what_people_say_is_the_grade_where_nothing_else_is_by_hand() -> None:
    said = {"a": [1, 1, 0, 1], "b": [0, 1, 0, 1]}
    frame = crossed(20, response=lambda i, c: f"{c} says {i}", human_grade=lambda i, c: said[c][i % 4])
    assert means(read_tables(frame)) == pytest.approx({"a": 0.75, "b": 0.5})


def test_right_and_wrong_coded_as_1_and_2_is_asked_about_and_the_advice_works_by_hand() -> None:
    frame = crossed(20, correct=lambda i, c: 1 + (i % 4 == 0 if c == "a" else i % 2))
    with pytest.raises(InputError, match="holds 1 and 2") as told:
        read_tables(frame)
    assert "--grade 1=right --grade 2=wrong" in told.value.remedy
    assert means(read_tables(frame, options=ReadOptions(grade={"1": 1.0, "2": 0.0}))) == pytest.approx(
        {"a": 0.75, "b": 0.5}
    )
    assert means(read_tables(frame, options=ReadOptions(scale=(1, 2))))["a"] == pytest.approx(1.25)
