"""Tables whose cells can be read in two ways: what was read is right, or refused, or said; each by hand."""

import itertools
import json
import re
import shlex
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


FAULTS = ["failed", "wrong", "incorrect", "hallucinated", "is_toxic", "violation", "unsafe", "attack_success",
          "jailbreak_success", "refused_wrongly", "over_refusal", "pii_leak", "bugs", "harm", "error",
          "timeouts", "flagged", "edits_needed", "corrections", "escalated", "complaints", "refusal_rate",
          "Beschwerden", "correcciones"]  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_a_column_that_counts_faults_is_turned_over_and_said_by_hand(name: str) -> None:
    tables = read_tables(long(name, [1] * 3 + [0] * 27, [1] * 12 + [0] * 18))
    assert (mean(tables, "a"), mean(tables, "b")) == pytest.approx((0.9, 0.6))
    assert any("1 counts as wrong" in note and "--better higher" in note for note in tables.notes)
    stated = read_tables(long(name, [1] * 3 + [0] * 27, [1] * 12 + [0] * 18), options=ReadOptions(better="higher"))
    assert mean(stated, "a") == pytest.approx(0.1)


GOOD = ["error_free", "no_errors", "non_toxic", "pass_fail", "attack_blocked", "error_handling", "bugs_fixed",
        "toxicity_accuracy", "harmful_request_refused", "error_correction", "flagged_correctly"]  # fmt: skip


@pytest.mark.parametrize("name", GOOD)
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


@pytest.mark.parametrize("name", ["latency", "cost", "rank", "perplexity", "loss", "edit_distance", "time"])
def test_less_is_better_by_a_columns_name_for_each_model(name: str) -> None:
    frame = pl.DataFrame({"id": ITEMS, f"gpt_{name}": [1.5, 2.5] * 15, f"claude_{name}": [2.5, 0.5] * 15})
    tables = read_tables(frame)
    assert tables.conditions == ("gpt", "claude")
    assert "lower is better" in tables.understood


def test_a_time_is_never_advised_as_the_score() -> None:
    frame = long("latency", [1.5, 2.5] * 15, [2.5, 0.5] * 15)
    with pytest.raises(InputError) as error:
        read_tables(frame)
    assert "score=latency" not in error.value.remedy
    assert set(read_tables(frame, options=ReadOptions(map={"score": "latency"})).scores["better"]) == {"lower"}


def test_two_files_of_which_one_counts_faults_are_one_measure_or_refused(tmp_path: Path) -> None:
    for name, column, values in (("a", "failed", [1, 0, 0, 0]), ("b", "passed", [1, 0, 0, 0])):
        lines = [f"q{k},{value}" for k, value in enumerate(values * 5)]
        (tmp_path / f"{name}.csv").write_text("\n".join([f"item,{column}", *lines]))
    tables = read_tables(str(tmp_path / "a.csv"), str(tmp_path / "b.csv"))
    assert (mean(tables, "a"), mean(tables, "b")) == (0.75, 0.25)
    (tmp_path / "a.csv").write_text("\n".join(["item,errors", *(f"q{k},{k % 4}" for k in range(20))]))
    with pytest.raises(InputError, match="they are not one measure"):
        read_tables(str(tmp_path / "a.csv"), str(tmp_path / "b.csv"))


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


@pytest.mark.parametrize("name", ["how hard (1-5)", "complexity", "hops", "priority", "year", "grade_level"])
def test_what_is_said_of_an_item_is_no_condition_on_the_same_scale(name: str) -> None:
    frame = pl.DataFrame({"id": ITEMS, name: [1, 5, 3] * 10, "gpt": [1, 2, 5] * 10, "claude": [3, 4, 5] * 10})
    tables = read_tables(frame)
    assert tables.conditions == ("gpt", "claude")
    assert any(note.startswith(f"{name}: taken for no condition") for note in tables.notes)


def test_partial_credit_of_one_model_stays_beside_right_and_wrong_of_others() -> None:
    frame = pl.DataFrame({"id": ITEMS, "a": [0, 1] * 15, "b": [1, 0] * 15, "c": [0.5, 1.0] * 15})
    assert read_tables(frame).conditions == ("a", "b", "c")


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


def test_a_number_that_may_be_a_score_is_no_code() -> None:
    assert not any("code" in note for note in read_tables(long("rating", [1, 2, 3] * 10, [5, 9, 8] * 10)).notes)
    duels = long("preference score", [-1, 0, 1, 1, 1] * 6, [0, 0, 1, 1, -1] * 6)  # losses, or no grades: asked
    with pytest.raises(InputError, match="12 of 60 scores are -1"):
        read_tables(duels)
    assert mean(read_tables(duels, options=ReadOptions(scale=(-1.0, 1.0))), "a") == pytest.approx(0.4)


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


RATINGS = {"1": [1, 2, 5] * 10, "2": [3, 4, 5] * 10}


@pytest.mark.parametrize(
    "names", ["rater_{}", "Annotator {}", "judge_{}", "reviewer{}_score", "score_rater{}", "{}st reviewer"]
)
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


@pytest.mark.parametrize("names", ["LLM {}", "model_{}", "Assistant {}", "system {}", "prompt {}"])
def test_columns_of_models_are_no_raters(names: str) -> None:
    columns = {names.format(k): values for k, values in RATINGS.items()}
    assert read_tables(pl.DataFrame({"id": ITEMS, **columns})).conditions == tuple(columns)


@pytest.mark.parametrize("names", ["{model}_rater_{k}", "rater{k}_{model}", "{model} (annotator {k})"])
def test_raters_of_each_model_are_its_draws_by_hand(names: str) -> None:
    columns = {
        names.format(model=model, k=k): [v - lower for v in values]
        for model, lower in (("gpt", 0), ("claude", 1)) for k, values in RATINGS.items()
    }  # fmt: skip
    tables = read_tables(pl.DataFrame({"id": ITEMS, **columns}))
    assert {c: mean(tables, c) for c in tables.conditions} == pytest.approx({"gpt": 20 / 6, "claude": 14 / 6})


def test_rows_of_raters_who_did_not_all_rate_everything_are_read_by_hand() -> None:
    frame = pl.DataFrame(
        {"item": ["a", "a", "b"], "model": ["m"] * 3, "annotator": ["x", "y", "x"], "correct": [1, 0, 1]}
    )
    tables = read_tables(frame)
    assert tables.scores.group_by("item").agg(pl.col("value").mean()).sort("item")["value"].to_list() == [0.5, 1.0]
    assert any("annotator tells several ratings" in note for note in tables.notes)


def test_people_beside_a_judge_check_it_and_are_no_condition() -> None:
    frame = pl.DataFrame({"id": ITEMS, "human_score": [1, 0, 1] * 10, "judge_score": [1, 1, 1] * 10})
    tables = read_tables(frame)
    assert (tables.conditions, mean(tables, "frame")) == (("frame",), 1.0)
    assert tables.answers["human"].mean() == pytest.approx(2 / 3)
    assert any("human_score is what people say" in note for note in tables.notes)
    rated = read_tables(pl.DataFrame({"id": ITEMS, "human_score": [1, 4, 5] * 10, "judge_score": [2, 4, 5] * 10}))
    assert mean(rated, "frame") == pytest.approx(10 / 3)
    assert any("--map score=judge_score" in note for note in rated.notes)


def test_people_beside_two_models_are_a_condition_and_label_neither() -> None:
    frame = pl.DataFrame({"id": ITEMS, "human": [1] * 30, "gpt": [1, 0] * 15, "claude": [0, 1, 1] * 10})
    tables = read_tables(frame)
    assert tables.conditions == ("human", "gpt", "claude")
    assert tables.answers["human"].null_count() == 90


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


def test_counts_in_json_are_no_items(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    for outer, inner in ((("gpt", "claude"), AREAS), (AREAS, ("gpt", "claude"))):
        path.write_text(json.dumps({a: {b: {"correct": 12, "total": 20} for b in inner} for a in outer}))
        with pytest.raises(InputError, match="an average of many answers"):
            read_tables(str(path))
    path.write_text(json.dumps({c: {"correct": 30, "wrong": 8, "refused": 2} for c in ("gpt", "claude")}))
    with pytest.raises(InputError, match="correct and wrong are counts of answers"):
        read_tables(str(path))


def test_points_beside_the_points_possible_are_a_share_by_hand() -> None:
    frame = long("passed", [3, 5] * 15, [1, 2] * 15).with_columns(total=pl.Series([5, 5, 4, 5] * 15))
    tables = read_tables(frame)
    assert (mean(tables, "a"), mean(tables, "b")) == pytest.approx(
        ((3 / 5 * 8 + 3 / 4 * 7 + 15) / 30, (0.25 * 8 + 0.2 * 7 + 6) / 30)
    )
    assert any("passed of total is read as a share" in note for note in tables.notes)


@pytest.mark.parametrize("form", ["struct", "cell", "rows"])
def test_settings_name_a_condition_by_what_differs(form: str, tmp_path: Path) -> None:
    rows = [{"id": k, "config": {"model": "gpt", "temperature": t, "max_tokens": 100}, "correct": (k + t) % 2}
            for t in (0, 1) for k in range(21)]  # fmt: skip
    if form == "rows":
        (tmp_path / "t.json").write_text(json.dumps(rows))
        tables = read_tables(str(tmp_path / "t.json"))
    else:
        cells = [row | {"config": json.dumps(row["config"])} for row in rows]
        tables = read_tables(pl.DataFrame(rows if form == "struct" else cells))
    assert tables.conditions == ("temperature 0", "temperature 1")
    assert [mean(tables, c) for c in tables.conditions] == pytest.approx([10 / 21, 11 / 21])


def test_ids_that_begin_again_are_no_grades(tmp_path: Path) -> None:
    lines = [line for c in ("old", "new") for line in (f"{c},,", *(f"{k},Why {k}?,{0.05 * k:.2f}" for k in range(15)))]
    (tmp_path / "t.csv").write_text("\n".join(["example,Question,label", *lines]))
    tables = read_tables(str(tmp_path / "t.csv"))
    assert [mean(tables, c) for c in ("old", "new")] == pytest.approx([0.35, 0.35])


def test_what_is_one_value_a_condition_is_no_grade() -> None:
    frame = long("x", [0.1, 0.3] * 15, [0.2, 0.4] * 15).with_columns(params=pl.Series([0.5] * 30 + [0.9] * 30))
    assert mean(read_tables(frame.select("item", "model", "params", "x")), "a") == pytest.approx(0.2)


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


def test_none_beside_numbers_is_said_to_be_no_rating() -> None:
    tables = read_tables(long("severity", ["None"] * 20 + ["3"] * 10, ["None"] * 20 + ["2"] * 10))
    assert any("severity is empty in 40 of 60 rows" in note for note in tables.notes)


def test_an_empty_severity_is_not_rated_where_some_right_answers_are_rated() -> None:
    frame = long("severity", [""] * 20 + ["0"] * 8 + ["1", "3"], [""] * 20 + ["0"] * 8 + ["2", "2"])
    tables = read_tables(frame.with_columns(pl.Series("correct", ([1] * 28 + [0] * 2) * 2)))
    assert severities_of(tables, "a") == [0.0] * 8 + [1.0, 3.0]


def test_a_remedy_quotes_names_of_columns_for_a_shell(tmp_path: Path) -> None:
    pl.DataFrame({"my bot": ["x", "y"] * 15, "how long (s)": ["5", "7"] * 15}).write_csv(tmp_path / "a.csv")
    with pytest.raises(InputError) as refused:
        read_tables(tmp_path / "a.csv")
    options = shlex.split(refused.value.remedy.partition(", or")[0].partition(": ")[2])
    assert all(o == "--map" or o.partition("=")[2] in ("my bot", "how long (s)", "order") for o in options)


def test_an_average_that_no_option_named_is_refused_as_one() -> None:
    with pytest.raises(InputError, match="one number for each model: an average"):
        read_tables(long("overall_accuracy", [0.5667] * 30, [0.4667] * 30))


@pytest.mark.parametrize("name", ["urgent missed (0/1)", "false_alarm", "fabricated source", "adverse event"])
def test_what_is_missed_or_does_harm_is_wrong_by_hand(name: str) -> None:
    tables = read_tables(long(name, [1] * 3 + [0] * 27, [1] * 12 + [0] * 18))
    assert (mean(tables, "a"), mean(tables, "b")) == pytest.approx((0.9, 0.6))
    assert mean(read_tables(long("true/false", [1] * 27 + [0] * 3, [1] * 18 + [0] * 12)), "a") == pytest.approx(0.9)


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


def test_a_reference_that_cannot_be_used_is_said() -> None:
    frame = pl.DataFrame({"id": ITEMS, "topic": ["x", "y"] * 15, "a": [1] * 20 + [0] * 10, "b": [1] * 10 + [0] * 20})
    tables = read_tables(frame, options=ReadOptions(map={"reference": "topic"}, wide=("a", "b")))
    assert mean(tables, "a") == pytest.approx(2 / 3)
    assert any("the reference topic is not used" in note for note in tables.notes)


RANGES = [("score (0-20)", (0, 20)), ("Punkte von 20", (0, 20)), ("rating [1 to 6]", (1, 6)),
          ("score out of 8", (0, 8)), ("points (max 25)", (0, 25))]  # fmt: skip


@pytest.mark.parametrize(("name", "ends"), RANGES)
def test_a_name_that_states_a_range_gives_the_scale(name: str, ends: tuple[float, float]) -> None:
    tables = read_tables(long(name, [3, 4] * 15, [4, 5] * 15))
    assert tables.scores.select("low", "high").row(0) == ends
    assert any("as its name says" in note for note in tables.notes)
    off = read_tables(long(name, [3, 40] * 15, [4, 5] * 15))
    assert off.scores["high"][0] == 100
    assert any("15 of 60 scores lie outside" in note for note in off.notes)


@pytest.mark.parametrize("name", ["von", "max_points", "out of", "possible"])
def test_points_of_so_many_are_a_share_by_hand(name: str) -> None:
    frame = long("Punkte", [2, 6] * 15, [1, 3] * 15).with_columns(pl.Series(name, [4, 6] * 30))
    assert (mean(read_tables(frame), "a"), mean(read_tables(frame), "b")) == (0.75, 0.375)


def test_costs_and_times_have_units_and_stop_nothing_by_hand() -> None:
    frame = long("correct", [1, 0] * 15, [1, 1] * 15).with_columns(
        pl.Series("cost", ["$0.02", "0.04 $", "1,204.50", "5 ct", "", "free"] * 10),
        pl.Series("latency", ["1.5s", "250 ms", "2 min", "0,5", "n/a", "7"] * 10),
    )
    tables = read_tables(frame)
    rows = tables.answers.filter(condition="a").sort(pl.col("item").str.slice(1).cast(pl.Int64)).head(6)
    assert rows["money_usd"].to_list() == [0.02, 0.04, 1204.5, 0.05, None, None]
    assert rows["latency_s"].to_list() == [1.5, 0.25, 120.0, 0.5, None, 7.0]
    assert any("cost is not a number in 10 rows ('free' in data row 6" in note for note in tables.notes)


def test_confidences_in_words_and_on_a_stated_range() -> None:
    frame = long("correct", [1, 0] * 15, [1, 1] * 15)
    worded = read_tables(frame.with_columns(pl.Series("confidence", ["high", "low"] * 30)))
    with pytest.raises(InputError, match=re.escape("confidence holds words (high, low)")):
        measure_calibration(worded, rng=np.random.default_rng(0))
    tables = read_tables(frame.with_columns(pl.Series("confidence (0-10)", [7, 10] * 30)))
    assert set(tables.scores["confidence"]) == {0.7, 1.0}


def test_a_row_of_data_that_are_names_of_columns_is_no_header(tmp_path: Path) -> None:
    rows = [f"{f'q{k}' if c == 'baseline' else ''},{c},{'corretto' if k % 3 else 'errato'}"
            for k in range(12) for c in ("baseline", "candidate", "finetuned")]  # fmt: skip
    (tmp_path / "t.csv").write_text("\n".join(["ID domanda,Sistema,Esito", *rows]))
    tables = read_tables(str(tmp_path / "t.csv"))
    assert len(tables.item_ids) == 12
    assert [mean(tables, c) for c in ("baseline", "candidate", "finetuned")] == pytest.approx([2 / 3] * 3)


def test_columns_of_right_and_wrong_that_happen_to_cross_are_no_items() -> None:
    frame = {"Ticket": [f"Eval/{k}" for k in range(20)], "Question": [f"Why {k}?" for k in range(20)]}
    tables = read_tables(pl.DataFrame({**frame, "o1": [0, 1] * 10, "o3": [1] * 20, "nano": [0, 0, 1, 1] * 5}))
    assert {c: mean(tables, c) for c in tables.conditions} == {"o1": 0.5, "o3": 1.0, "nano": 0.5}


def test_points_of_points_by_model_and_item(tmp_path: Path) -> None:
    found = {m: {f"SUP-{k}": f"{k % 6}/5" for k in range(12)} for m in ("v1", "v2")}
    (tmp_path / "t.json").write_text(json.dumps(found))
    tables = read_tables(str(tmp_path / "t.json"))
    assert {c: mean(tables, c) for c in tables.conditions} == pytest.approx({"v1": 0.5, "v2": 0.5})


def test_an_average_of_the_whole_is_no_grade_of_each_item(tmp_path: Path) -> None:
    trials = [
        {"task_id": f"t{k}", "is_resolved": k % 3 > 0, "tests": {"a": "passed", "b": "failed"}} for k in range(12)
    ]
    (tmp_path / "run.json").write_text(json.dumps({"id": "r-1", "results": trials, "accuracy": 2 / 3}))
    tables = read_tables(str(tmp_path / "run.json"))
    assert len(tables.item_ids) == 12
    assert (tables.metric, mean(tables, "run")) == ("accuracy", pytest.approx(2 / 3))
    rows = [{"task_id": f"t{k}", "accuracy": 0.62, "tag": "abc"} for k in range(12)]
    with pytest.raises(InputError, match="all 12 items of frame have the score"):
        read_tables(pl.DataFrame(rows))


def test_items_listed_by_their_end_are_right_and_wrong(tmp_path: Path) -> None:
    names = [f"t{k}" for k in range(12)]
    ends = {"accuracy": 0.25, "successful_tasks": names[:3], "failed_tasks": names[3:]}
    (tmp_path / "run.json").write_text(json.dumps({"config": {"agent": "a", "model_name": "x"}, "results": ends}))
    assert mean(read_tables(str(tmp_path / "run.json")), "run") == 0.25


def test_statistics_at_the_foot_and_at_the_right_are_no_items(tmp_path: Path) -> None:
    lines = [f"Task {k},{0.1 * (k % 5):.1f},0.5,{0.05 * (k % 5) + 0.25:.2f}" for k in range(20)]
    foot = ["Média,0.2,0.5,", "STDEV,0.14,0,", "N,20,20,"]
    (tmp_path / "t.csv").write_text("\n".join([",A,B,mean", *lines, ",,,", *foot]))
    tables = read_tables(str(tmp_path / "t.csv"))
    assert (len(tables.item_ids), tables.conditions) == (20, ("A", "B"))
    points = [f"P{k}" for k in range(1, 9)]
    rows = [[name, *[k] * 8, 8 * k, 4 - k] for k, name in enumerate(("x", "y", "z"))]
    (tmp_path / "u.csv").write_text(
        "\n".join(",".join(map(str, row)) for row in [["Model", *points, "Total", "Rank"], *rows])
    )
    tables = read_tables(str(tmp_path / "u.csv"))
    assert len(tables.item_ids) == 8
    assert any("Total, Rank for none" in note for note in tables.notes)


def test_a_grade_that_was_settled_after_raters_is_read() -> None:
    votes = {"auto_correct": [1, 0, 1] * 10, "annotator_correct": [0, 0, 1] * 10, "final_correct": [1, 1, 1] * 10}
    tables = read_tables(pl.DataFrame({"qid": ITEMS, "model": ["m"] * 30, **votes}))
    assert (tables.conditions, mean(tables, "m")) == (("m",), 1.0)
    assert any("final_correct is read" in note for note in tables.notes)


def test_lists_beside_a_grade_of_the_whole_are_no_draws(tmp_path: Path) -> None:
    for model, wrong in (("a", 2), ("b", 3)):
        rows = [{"follow_all": k % wrong > 0, "follow_list": [True, k % wrong > 0], "id_list": ["comma", "words"],
                 "prompt": f"Do {k}.", "response": "text"} for k in range(12)]  # fmt: skip
        (tmp_path / model).mkdir()
        (tmp_path / model / "strict.jsonl").write_text("\n".join(map(json.dumps, rows)))
    tables = read_tables(str(tmp_path))
    assert {c: mean(tables, c) for c in tables.conditions} == pytest.approx({"a": 0.5, "b": 2 / 3})


def test_files_of_one_folder_with_different_items_are_one_condition(tmp_path: Path) -> None:
    for model, right in (("acme-1.5", 2), ("acme-2.0", 3)):
        (tmp_path / model).mkdir()
        for part, ids in (("law", range(10)), ("art", range(10, 25))):
            lines = [f"{k},{int(k % right > 0)}" for k in ids]
            (tmp_path / model / f"{part}.csv").write_text("\n".join(["item,correct", *lines]))
    tables = read_tables(str(tmp_path))
    assert {c: mean(tables, c) for c in tables.conditions} == pytest.approx({"acme-1.5": 12 / 25, "acme-2.0": 16 / 25})
    assert any("each folder is one condition" in note for note in tables.notes)


def test_a_total_beside_results_is_not_read_as_an_item(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("\n".join(json.dumps({"doc_id": k, "exact_match": k % 2}) for k in range(10)))
    (tmp_path / "metrics.json").write_text(
        json.dumps({"task_name": "gsm", "model": "a", "metrics": {"exact_match": 0.5}})
    )
    tables = read_tables(str(tmp_path))
    assert len(tables.item_ids) == 10
    assert any("metrics.json is not read: it holds one row" in note for note in tables.notes)


def test_a_setting_is_the_condition_and_a_seed_the_run() -> None:
    rows = [
        (k, t, 0.95, seed, int((k + 2 * t + seed) % 3 > 0)) for t in (0.0, 0.7) for k in range(15) for seed in (1, 2)
    ]
    tables = read_tables(
        pl.DataFrame(rows, schema=["problem_id", "temperature", "top_p", "seed", "grade"], orient="row")
    )
    assert tables.conditions == ("temperature 0.0", "temperature 0.7")
    assert len(tables.item_ids) == 15


def test_what_was_predicted_is_held_against_the_answer(tmp_path: Path) -> None:
    rows = [{"question_id": k, "question": f"Why {k}?", "answer": "ABCD"[k % 4], "answer_index": k % 4,
             "pred": "ABCD"[k % 4] if k % 5 else "A", "model_outputs": "so"} for k in range(20)]  # fmt: skip
    (tmp_path / "t.json").write_text(json.dumps(rows))
    assert mean(read_tables(str(tmp_path / "t.json")), "t") == pytest.approx(17 / 20)


def test_an_error_that_is_not_there_is_no_failed_call() -> None:
    frame = long("score", [3, 4, 5] * 10, [1, 2, 5] * 10).with_columns(pl.lit("N/A").alias("error"))
    assert read_tables(frame).scores["value"].null_count() == 0


@pytest.mark.parametrize("name", ["latency", "cost_usd", "output_tokens", "response time (s)", "duration"])
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


def test_a_preference_that_is_a_grade_is_one() -> None:
    tables = read_tables(long("preferred", ["yes"] * 20 + ["no"] * 10, ["yes"] * 10 + ["no"] * 20))
    assert mean(tables, "a") == pytest.approx(2 / 3)


def test_letter_grades_are_points_and_options_are_not_by_hand() -> None:
    tables = read_tables(long("letter grade", ["A", "B+", "C-"] * 10, ["A-", "B", "D"] * 10))
    assert mean(tables, "a") == pytest.approx((4 + 3.33 + 1.67) / 3)
    assert mean(tables, "b") == pytest.approx((3.67 + 3 + 1) / 3)
    with pytest.raises(InputError):
        read_tables(long("grade", ["A", "B", "C"] * 10, ["A", "A", "B"] * 10))  # correct, incorrect, not attempted


def test_in_order_and_not_in_order_by_hand() -> None:
    frame = pl.DataFrame({"Fall": ITEMS, "alt": ["i.O."] * 20 + ["n.i.O."] * 10, "neu": ["i.O."] * 25 + ["n.i.O."] * 5})
    tables = read_tables(frame)
    assert (mean(tables, "alt"), mean(tables, "neu")) == pytest.approx((20 / 30, 25 / 30))


def test_dates_are_conditions_and_runs_beside_a_model_never_items() -> None:
    days = [f"2025-{month:02}-{day:02}" for month in (1, 2, 3) for day in range(1, 21)]
    rows = [(day, f"q{k}", int((k + len(day)) % 3 > 0)) for day in days for k in range(10)]
    tables = read_tables(pl.DataFrame(rows, schema=["date", "question", "correct"], orient="row"))
    assert (len(tables.conditions), len(tables.item_ids)) == (60, 10)
    rows = [(day, m, f"q{k}", int((k + j) % 3 > 0)) for j, day in enumerate(days) for m in "ab" for k in range(10)]
    tables = read_tables(pl.DataFrame(rows, schema=["date", "model", "question", "correct"], orient="row"))
    assert (tables.conditions, len(tables.item_ids)) == (("a", "b"), 10)
    assert tables.answers["run"].n_unique() == 60


def test_a_long_name_in_advice_is_whole_and_can_be_pasted() -> None:
    name = "How would you rate the overall correctness of this answer (be strict)?"
    frame = long("is it correct", ["pass", "fail"] * 15, ["pass"] * 30)
    frame = frame.with_columns(pl.Series(name, ["right", "right", "wrong"] * 20))
    noted = next(note for note in read_tables(frame).notes if note.startswith("there are other grades"))
    field, _, column = shlex.split(noted.partition("--map ")[2])[0].partition("=")
    assert column == name
    assert mean(read_tables(frame, options=ReadOptions(map={field: column})), "a") == pytest.approx(2 / 3)


def test_empty_severities_that_nothing_explains_are_said() -> None:
    tables = read_tables(long("severity", [""] * 20 + ["minor"] * 10, [""] * 25 + ["major"] * 5))
    assert any("severity is empty in 45 of 60 rows and nowhere 0" in note for note in tables.notes)


def test_a_name_in_per_cent_gives_the_scale() -> None:
    tables = read_tables(long("accuracy (%)", [40, 5] * 15, [30, 7] * 15))
    assert tables.scores.select("low", "high").row(0) == (0, 100)
    frame = long("correct", [1, 0] * 15, [1, 1] * 15).with_columns(pl.Series("confidence [%]", [7, 9] * 30))
    assert set(read_tables(frame).scores["confidence"]) == {0.07, 0.09}


CUTS = ["was it right_{}", "{} score", "score/{}", "{}.final_score", "{}_final_score", "score {}"]


@pytest.mark.parametrize("names", CUTS)
@pytest.mark.parametrize("own", [("zero-shot", "few-shot"), ("gpt_4", "gpt_5")])
def test_names_of_conditions_are_cut_from_the_score_where_they_end(names: str, own: tuple[str, str]) -> None:
    frame = pl.DataFrame({"id": ITEMS, names.format(own[0]): [1, 0] * 15, names.format(own[1]): [1, 1, 0] * 10})
    assert read_tables(frame).conditions == own


def test_rows_of_an_array_with_a_name_each_are_no_lists_of_grades(tmp_path: Path) -> None:
    rows = [{"case": f"S-{k}", **{f"v{m}_{d}": "yes" if (k + m) % 3 else "no" for m in (1, 2) for d in (1, 2, 3)}}
            for k in range(12)]  # fmt: skip
    (tmp_path / "t.json").write_text(json.dumps(rows))
    tables = read_tables(str(tmp_path / "t.json"))
    assert (tables.conditions, len(tables.item_ids)) == (("v1", "v2"), 12)


def test_words_that_mean_other_things_elsewhere_are_not_overread() -> None:
    frame = long("score", [1, 2, 5] * 10, [3, 4, 5] * 10).with_columns(total=pl.Series([50, 70, 90] * 20))
    assert mean(read_tables(frame), "b") == 4.0  # tokens, perhaps: not what the score is out of
    role = pl.DataFrame({"id": ITEMS, "role": ["user"] * 15 + ["assistant"] * 15, "correct": [1, 0] * 15})
    assert len(read_tables(role).item_ids) == 30
    people = pl.DataFrame({"question": ITEMS, "Human": [1, 2, 5] * 10, "GPT": [3, 4, 5] * 10})
    assert read_tables(people).conditions == ("Human", "GPT")


def pasted(remedy: str) -> ReadOptions:
    """The options of a remedy, as a shell and the command take them."""
    words = shlex.split(remedy[remedy.index("--") :])
    options = [word.rpartition("=")[::2] for flag, word in itertools.pairwise(words) if flag == "--grade"]
    mapped = [word.split("=", 1) for flag, word in itertools.pairwise(words) if flag == "--map"]
    return ReadOptions(map=dict(mapped), grade={word: float(value == "right") for word, value in options})


def test_advice_on_words_that_nobody_knows_works_when_pasted() -> None:
    one = long("how it went", ["top notch"] * 20 + ["so la la"] * 10, ["top notch"] * 10 + ["so la la"] * 20)
    wide = pl.DataFrame({"id": ITEMS, "a": ["top notch", "so la la"] * 15, "b": ["so la la"] * 29 + ["top notch"]})
    for frame, means in ((one, (1 / 3, 2 / 3)), (wide, (0.5, 29 / 30))):
        with pytest.raises(InputError) as refused:
            read_tables(frame)
        tables = read_tables(frame, options=pasted(refused.value.remedy))
        assert (mean(tables, "a"), mean(tables, "b")) == pytest.approx(means)


def test_fractions_that_became_dates_are_told_as_such() -> None:
    with pytest.raises(InputError, match="A spreadsheet has turned them into dates"):
        read_tables(long("checks passed", ["01-Apr", "0/4", "02-Apr"] * 10, ["03-Apr", "0/4", "04-Apr"] * 10))


def test_letters_that_mean_something_else_are_all_asked_for() -> None:
    frame = long("grade", ["A", "B", "C"] * 10, ["A", "A", "B"] * 10)
    for told in ({}, {"A": 1.0, "B": 0.0}):
        with pytest.raises(InputError, match="--grade C=wrong"):
            read_tables(frame, options=ReadOptions(grade=told))
    tables = read_tables(frame, options=ReadOptions(grade={"A": 1.0, "B": 0.0, "C": 0.0}))
    assert mean(tables, "a") == pytest.approx(1 / 3)
    read_tables(long("grade", ["C", "I", "P"] * 10, ["C"] * 30))  # correct, incorrect, partial


def test_none_is_the_lowest_of_low_and_high_under_any_name() -> None:
    tables = read_tables(long("use", ["None"] * 10 + ["Low"] * 10 + ["High"] * 10, ["None"] * 30))
    assert (mean(tables, "a"), mean(tables, "b")) == pytest.approx((4 / 3, 0))
    assert severities_of(read_tables(long("risk", ["None"] * 29 + ["High"], ["None"] * 30)), "a") == [0.0] * 29 + [3.0]


@pytest.mark.parametrize("cells", [["A"] * 15 + ["B"] * 15, ["A is much better", "B is slightly better"] * 15])
@pytest.mark.parametrize("name", ["Preferred draft", "Which was better?"])
def test_a_preference_without_the_models_beside_it_is_not_read_at_once(name: str, cells: list[str]) -> None:
    with pytest.raises((InputError, ReadingProposed)):
        richter.tables.read_tables(pl.DataFrame({"Clause": ITEMS, name: cells}))
