"""Tables whose cells can be read in two ways: what was read is right, or refused, or said; each by hand."""

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import richter
from helpers.confirmed import read_tables
from richter.audit import measure_calibration
from richter.calibration import as_probability
from richter.errors import InputError, ReadingProposed
from richter.tables import Dataset, ReadOptions, severity_of

ITEMS = [f"q{k}" for k in range(30)]


def long(column: str, a: list[object], b: list[object]) -> pl.DataFrame:
    """30 items under `a` and `b`."""
    names = ["a"] * 30 + ["b"] * 30
    return pl.DataFrame({"item": ITEMS * 2, "model": names, column: [*a, *b]}, strict=False)


def mean(tables: Dataset, condition: str) -> float:
    return float(tables.scores.filter(pl.col("condition") == condition)["value"].mean())  # type: ignore[arg-type]


FAULTS = ["failed", "is_toxic", "attack_success", "refusal_rate", "Beschwerden"]


@pytest.mark.parametrize("name", FAULTS)
def test_a_column_that_counts_faults_is_turned_over_and_said_by_hand(name: str) -> None:
    tables = read_tables(long(name, [1] * 3 + [0] * 27, [1] * 12 + [0] * 18))
    assert (mean(tables, "a"), mean(tables, "b")) == pytest.approx((0.9, 0.6))
    assert any("1 counts as wrong" in note and "--better higher" in note for note in tables.notes)
    stated = read_tables(long(name, [1] * 3 + [0] * 27, [1] * 12 + [0] * 18), options=ReadOptions(better="higher"))
    assert mean(stated, "a") == pytest.approx(0.1)


GOOD = ["no_errors", "attack_blocked", "harmful_request_refused", "error_correction"]


@pytest.mark.parametrize("name", GOOD)
def test_a_column_that_says_a_fault_is_absent_is_not_turned_over(name: str) -> None:
    assert mean(read_tables(long(name, [1] * 27 + [0] * 3, [1] * 18 + [0] * 12)), "a") == pytest.approx(0.9)


def test_words_for_right_and_wrong_mean_the_same_under_any_name() -> None:
    tables = read_tables(long("failed", ["pass"] * 27 + ["fail"] * 3, ["pass"] * 18 + ["fail"] * 12))
    assert mean(tables, "a") == pytest.approx(0.9)
    tables = read_tables(long("failed", ["no"] * 27 + ["yes"] * 3, ["no"] * 18 + ["yes"] * 12))
    assert mean(tables, "a") == pytest.approx(0.9)


def test_two_files_of_which_one_counts_faults_are_one_measure_or_refused(tmp_path: Path) -> None:
    for name, column, values in (("a", "failed", [1, 0, 0, 0]), ("b", "passed", [1, 0, 0, 0])):
        lines = [f"q{k},{value}" for k, value in enumerate(values * 5)]
        (tmp_path / f"{name}.csv").write_text("\n".join([f"item,{column}", *lines]))
    tables = read_tables(str(tmp_path / "a.csv"), str(tmp_path / "b.csv"))
    assert (mean(tables, "a"), mean(tables, "b")) == (0.75, 0.25)
    (tmp_path / "a.csv").write_text("\n".join(["item,errors", *(f"q{k},{k % 4}" for k in range(20))]))
    with pytest.raises(InputError, match="they are not one measure"):
        read_tables(str(tmp_path / "a.csv"), str(tmp_path / "b.csv"))


def test_measures_of_one_answer_are_no_conditions() -> None:
    frame = pl.DataFrame({"question": ITEMS, "answer": ["x"] * 30, "bleu": [0.2, 0.3] * 15, "rouge": [0.5, 0.6] * 15})
    tables = read_tables(frame)
    assert len(tables.conditions) == 1
    assert tables.scores["metric"].unique(maintain_order=True).to_list() == ["mean_score", "rouge"]
    two = pl.DataFrame({"id": ITEMS, "gpt quality": [0.2, 0.3] * 15, "claude quality": [0.5, 0.6] * 15})
    assert len(read_tables(two).conditions) == 2


@pytest.mark.parametrize(("code", "rest"), [(-1, [0, 1]), (9, [1, 2, 3, 4, 5]), (99, [1, 2, 3, 4, 5])])
def test_a_code_for_no_grade_is_refused_until_it_is_said_what_it_is(code: int, rest: list[int]) -> None:
    frame = long("rating", [code] * 4 + (rest * 15)[:26], (rest * 15)[:30])
    with pytest.raises(InputError, match=f"4 of 60 scores are {code}.*--grade {code}=missing") as refused:
        read_tables(frame)
    low, high = re.findall(r"--scale=(\S+):(\S+)", str(refused.value))[0]
    assert read_tables(frame, options=ReadOptions(scale=(float(low), float(high)))).scores["value"].null_count() == 0
    for table in (frame, frame.cast(pl.String)):
        tables = read_tables(table, options=ReadOptions(grade={str(code): None}))
        assert tables.scores["value"].null_count() == 4
        assert mean(tables, "a") == pytest.approx(np.mean((rest * 15)[:26]))


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


@pytest.mark.parametrize("words", [(0, 1), ("A", "B")])
def test_answers_beside_their_key_are_no_grades(words: tuple[object, object]) -> None:
    no, yes = words
    frame = {"id": range(20), "expected": [no, yes] * 10, "gpt": [no, no] * 10, "claude": [no, yes] * 9 + [yes, yes]}
    tables = read_tables(pl.DataFrame(frame))
    assert tables.conditions == ("gpt", "claude")
    assert (mean(tables, "gpt"), mean(tables, "claude")) == (0.5, 0.95)
    empty = read_tables(pl.DataFrame({**frame, "note": [None] * 20, "remark": [None] * 20}))
    assert empty.conditions == ("gpt", "claude")


RATINGS = {"1": [1, 2, 5] * 10, "2": [3, 4, 5] * 10}


@pytest.mark.parametrize("names", ["rater_{}", "judge_{}", "{}st reviewer"])
def test_columns_of_raters_are_no_conditions_by_hand(names: str) -> None:
    columns = {names.format(k).replace("2st", "2nd"): values for k, values in RATINGS.items()}
    tables = read_tables(pl.DataFrame({"id": ITEMS, **columns}))
    assert tables.conditions == ("frame",)
    assert mean(tables, "frame") == pytest.approx(20 / 6)
    assert any("rate the same answers" in note and "--wide" in note for note in tables.notes)
    both = {"id": ITEMS * 2, "model": ["a"] * 30 + ["b"] * 30}
    long = read_tables(pl.DataFrame({**both, **{c: [*values, *[5] * 30] for c, values in columns.items()}}))
    assert (mean(long, "a"), mean(long, "b")) == pytest.approx((20 / 6, 5))
    stated = read_tables(pl.DataFrame({"id": ITEMS, **columns}), options=ReadOptions(wide=tuple(columns)))
    assert len(stated.conditions) == 2


def test_people_beside_a_judge_check_it_and_are_no_condition() -> None:
    frame = pl.DataFrame({"id": ITEMS, "human_score": [1, 0, 1] * 10, "judge_score": [1, 1, 1] * 10})
    tables = read_tables(frame)
    assert (tables.conditions, mean(tables, "frame")) == (("frame",), 1.0)
    assert tables.answers["human"].mean() == pytest.approx(2 / 3)
    assert any("human_score is what people say" in note for note in tables.notes)
    rated = read_tables(pl.DataFrame({"id": ITEMS, "human_score": [1, 4, 5] * 10, "judge_score": [2, 4, 5] * 10}))
    assert mean(rated, "frame") == pytest.approx(10 / 3)
    assert any("--map score=judge_score" in note for note in rated.notes)


def test_a_summary_of_the_conditions_is_none_of_them_by_hand() -> None:
    a, b = [1, 0, 1] * 10, [0, 0, 1] * 10
    rows = {"item": ITEMS * 3, "model": ["a"] * 30 + ["b"] * 30 + ["average"] * 30}
    tables = read_tables(
        pl.DataFrame({**rows, "score": [*a, *b, *((x + y) / 2 for x, y in zip(a, b, strict=True))]}, strict=False)
    )
    assert tables.conditions == ("a", "b")
    assert any("'average' is the mean or sum of the other conditions" in note for note in tables.notes)
    own = read_tables(pl.DataFrame({**rows, "score": [*a, *b, *[1] * 30]}))
    assert own.conditions == ("a", "b", "average")
    assert any("a condition is called 'average'" in note for note in own.notes)


AREAS = ["math", "law", "code", "art"]


@pytest.mark.parametrize("counted", ["n", "num_questions", "total"])
def test_averages_by_category_are_no_items(counted: str) -> None:
    rows = {"category": AREAS * 2, "model": ["a"] * 4 + ["b"] * 4, counted: [100, 50, 80, 20] * 2}
    for scores in ({"accuracy": [0.71, 0.64, 0.55, 0.8] * 2}, {"correct": [71, 32, 44, 16] * 2}):
        with pytest.raises(InputError, match=f"an average of many answers .{counted} says.*--map item=category"):
            read_tables(pl.DataFrame({**rows, **scores}))
    wide = pl.DataFrame({"category": AREAS, counted: [100, 50, 80, 20], "gpt": [0.5] * 4, "claude": [0.6] * 4})
    with pytest.raises(InputError, match="an average of many answers"):
        read_tables(wide)
    tables = read_tables(wide.drop(counted))
    assert any("each of 4 values of category counts as one item" in note for note in tables.notes)


def test_an_average_beside_every_item_is_no_result_of_items() -> None:
    for name in ("overall_accuracy", "accuracy"):
        frame = long(name, [0.5667] * 30, [0.4667] * 30)
        with pytest.raises(InputError, match="average"):
            read_tables(frame, options=ReadOptions(map={"score": name}))
    files = [long("score", [0.5667] * 30, [0.4667] * 30).filter(model=m).drop("model") for m in "ab"]
    with pytest.raises(InputError, match="all 30 items"):
        read_tables(*files)
    by_domain = long("score", [0.25] * 15 + [0.5] * 15, [0.75] * 15 + [0.5] * 15)
    with pytest.raises(InputError, match="average"):
        read_tables(by_domain.with_columns(domain=pl.Series((["x"] * 15 + ["y"] * 15) * 2)))
    with pytest.raises(InputError, match="the score 57"):
        read_tables(long("score", [57] * 30, [47] * 30))
    assert any("is it an average?" in note for note in read_tables(long("score", [4] * 30, [5] * 30)).notes)
    assert not read_tables(long("score", [1.0] * 30, [0.0] * 30)).notes  # all right, all wrong
    read_tables(long("score", [0.5, *[0.25] * 29], [0.25] * 30))  # one differs


def severities_of(tables: Dataset, condition: str) -> list[float]:
    return sorted(severity_of(tables).filter(condition=condition)["severity"].to_list())


def test_the_word_none_is_a_severity_of_0_by_hand() -> None:
    words = ["None"] * 24 + ["Low"] * 3 + ["High"] * 2 + ["Critical"]
    for name in ("severity", "harm level"):
        tables = read_tables(long(name, words, ["None"] * 30))
        assert severities_of(tables, "a") == [0.0] * 24 + [1.0] * 3 + [3.0] * 2 + [4.0]
        assert severities_of(tables, "b") == [0.0] * 30
        assert mean(tables, "a") == pytest.approx(0.8)
    with pytest.raises(InputError, match="'odd'"):
        read_tables(long("severity", [*words[:-1], "odd"], words))


def test_an_empty_severity_is_not_rated_where_some_right_answers_are_rated() -> None:
    frame = long("severity", [""] * 20 + ["0"] * 8 + ["1", "3"], [""] * 20 + ["0"] * 8 + ["2", "2"])
    tables = read_tables(frame.with_columns(pl.Series("correct", ([1] * 28 + [0] * 2) * 2)))
    assert severities_of(tables, "a") == [0.0] * 8 + [1.0, 3.0]


def classes(seed: int, right: float, size: int = 5) -> tuple[np.ndarray, np.ndarray]:
    """150 classes, and answers that are right with this chance."""
    rng = np.random.default_rng(seed)
    key = np.random.default_rng(0).integers(1, size + 1, 150)
    return key, np.where(rng.random(150) < right, key, 1 + (key + rng.integers(1, size, 150) - 1) % size)


@pytest.mark.parametrize("size", [5, 100])
def test_a_reference_is_used_beside_numbers_by_hand(size: int) -> None:
    key, one = classes(1, 0.9, size)
    _, two = classes(2, 0.6, size)
    frame = pl.DataFrame({"id": np.arange(150), "what it is": key, "big model": one, "small model": two})
    asked = (
        (frame.rename({"what it is": "reference"}), ReadOptions()),
        (frame.rename({"what it is": "reference"}), ReadOptions(wide=("big model", "small model"))),
        (frame, ReadOptions(map={"reference": "what it is"}, wide=("big model", "small model"))),
        (frame, ReadOptions(map={"reference": "what it is"})),
    )
    for table, options in asked:
        tables = read_tables(table, options=options)
        assert tables.conditions == ("big model", "small model")
        assert mean(tables, "big model") == pytest.approx((key == one).mean())
        assert mean(tables, "small model") == pytest.approx((key == two).mean())
    alone = read_tables(frame.drop("small model").rename({"what it is": "reference"}))
    assert alone.scores["value"].mean() == pytest.approx((key == one).mean())


RANGES = [("score (0-20)", (0, 20)), ("Punkte von 20", (0, 20)), ("points (max 25)", (0, 25))]


@pytest.mark.parametrize(("name", "ends"), RANGES)
def test_a_name_that_states_a_range_gives_the_scale(name: str, ends: tuple[float, float]) -> None:
    tables = read_tables(long(name, [3, 4] * 15, [4, 5] * 15))
    assert tables.scores.select("low", "high").row(0) == ends
    assert any("as its name says" in note for note in tables.notes)
    off = read_tables(long(name, [3, 40] * 15, [4, 5] * 15))
    assert off.scores["high"][0] == 100
    assert any("15 of 60 scores lie outside" in note for note in off.notes)


def test_confidences_in_words_and_on_a_stated_range() -> None:
    frame = long("correct", [1, 0] * 15, [1, 1] * 15)
    worded = read_tables(frame.with_columns(pl.Series("confidence", ["high", "low"] * 30)))
    with pytest.raises(InputError, match=re.escape("confidence holds words (high, low)")):
        measure_calibration(worded, rng=np.random.default_rng(0))
    tables = read_tables(frame.with_columns(pl.Series("confidence (0-10)", [7, 10] * 30)))
    assert set(tables.scores["confidence"]) == {0.7, 1.0}


@pytest.mark.parametrize("name", ["latency", "cost_usd", "output_tokens"])
def test_an_amount_has_no_usual_scale(name: str) -> None:
    """Seconds, dollars and tokens up to 90 were read as a score from 0 to 100, and their limits ended there."""
    tables = read_tables(long(name, [2, 40, 90] * 10, [1, 30, 80] * 10), options=ReadOptions(map={"score": name}))
    assert tables.scores.select("kind", "better").row(0) == ("real", "lower")
    assert any("no known ends (1 to 90 were seen), lower is better" in note for note in tables.notes)
    given = ReadOptions(map={"score": f"{name} score"})
    scaled = read_tables(long(f"{name} score", [2, 40, 90] * 10, [1, 30, 80] * 10), options=given)
    assert scaled.scores["kind"][0] == "bounded"
    fast = read_tables(long("tokens per second", [2, 9] * 15, [1, 8] * 15), options=ReadOptions(
        map={"score": "tokens per second"}))  # fmt: skip
    assert fast.scores["better"][0] == "higher"


def test_empty_severities_that_nothing_explains_are_said() -> None:
    tables = read_tables(long("severity", [""] * 20 + ["minor"] * 10, [""] * 25 + ["major"] * 5))
    assert any("severity is empty in 45 of 60 rows and nowhere 0" in note for note in tables.notes)


def test_letters_that_mean_something_else_are_all_asked_for() -> None:
    frame = long("grade", ["A", "B", "C"] * 10, ["A", "A", "B"] * 10)
    for told in ({}, {"A": 1.0, "B": 0.0}):
        with pytest.raises(InputError, match="--grade C=wrong"):
            read_tables(frame, options=ReadOptions(grade=told))
    tables = read_tables(frame, options=ReadOptions(grade={"A": 1.0, "B": 0.0, "C": 0.0}))
    assert mean(tables, "a") == pytest.approx(1 / 3)
    read_tables(long("grade", ["C", "I", "P"] * 10, ["C"] * 30))  # correct, incorrect, partial


@pytest.mark.parametrize("cells", [["A"] * 15 + ["B"] * 15, ["A is much better", "B is slightly better"] * 15])
@pytest.mark.parametrize("name", ["Preferred draft", "Which was better?"])
def test_a_preference_without_the_models_beside_it_is_not_read_at_once(name: str, cells: list[str]) -> None:
    with pytest.raises((InputError, ReadingProposed)):
        richter.tables.read_tables(pl.DataFrame({"Clause": ITEMS, name: cells}))
