"""Which column, row or number plays which part, where a quick look is wrong: every figure by hand."""

import itertools
import json
from pathlib import Path

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


def test_a_word_that_all_rows_share_is_no_total_by_hand() -> None:
    frame = crossed(20, metricName=lambda i, c: "Accuracy", score=lambda i, c: (i % 4 > 0) if c == "a" else i % 2)
    tables = read_tables(frame.select("metricName", "item", "model", "score").cast({"score": pl.Float64}))
    assert means(tables) == pytest.approx({"a": 0.75, "b": 0.5})
    assert not any("totals" in note for note in tables.notes)


def test_a_constant_label_is_no_grade_beside_what_was_accepted_by_hand() -> None:
    said = {"a": "accept reject accept accept ignore", "b": "reject accept reject reject accept"}
    frame = crossed(20, label=lambda i, c: "CORRECT", answer=lambda i, c: said[c].split()[i % 5])
    assert means(read_tables(frame)) == pytest.approx({"a": 0.75, "b": 0.4})


def test_a_fault_is_not_the_first_score_of_names_that_end_alike_by_hand() -> None:
    named = {"toxicity/v1/score": lambda i, c: 0.01 * i, "grade_level/v1/score": lambda i, c: 5.5 + i,
             "answer_correctness/v1/score": lambda i, c: 4 if c == "a" else 2 + i % 2}  # fmt: skip
    tables = read_tables(crossed(20, **named))
    assert means(tables) == pytest.approx({"a": 4.0, "b": 2.5})
    assert any("grade_level" in note for note in tables.notes)


def test_of_one_condition_the_question_names_the_item_not_the_reason() -> None:
    why = [f"because number {k} was found in the text that stands beside the question" for k in range(30)]
    frame = pl.DataFrame({"inputs": [f"what is {k}?" for k in range(30)], "score": [0, 1] * 15, "why": why})
    assert set(read_tables(frame).item_ids) == set(frame["inputs"])


def test_a_column_beyond_the_scale_of_the_others_is_no_condition() -> None:
    ages = [18 + 2 * k for k in range(25)]
    frame = pl.DataFrame({"id": range(25), "old": [k % 7 + 1 for k in range(25)], "new": [7 - k % 7 for k in range(25)],
                          "years": ages, "done": [100] * 25})  # fmt: skip
    tables = read_tables(frame)
    assert tables.conditions == ("old", "new")
    assert any("years" in note and "done" in note for note in tables.notes)
    low = pl.DataFrame(
        {"id": range(25), "x": [8, 9, 10, 9, 8] * 5, "y": [7, 8, 9, 10, 8] * 5, "z": [1, 2, 3, 2, 1] * 5}
    )
    assert read_tables(low).conditions == ("x", "y", "z")  # a bad model is one


def test_two_codes_for_no_grade_are_asked_about_and_the_advice_works_by_hand() -> None:
    frame = crossed(40, empathy=lambda i, c: {7: 99, 9: -9}.get(i, 1 + i % 5))
    with pytest.raises(InputError, match=r"are -9 and .* are 99, the others 1 to 5: codes") as told:
        read_tables(frame)
    assert "--grade -9=missing --grade 99=missing" in told.value.remedy
    kept = [1 + i % 5 for i in range(40) if i not in (7, 9)]
    tables = read_tables(frame, options=ReadOptions(grade={"-9": None, "99": None}))
    assert means(tables)["a"] == pytest.approx(sum(kept) / 38)


@pytest.mark.parametrize("codes", [(98, 99), (-99,), (77, 88)])
def test_codes_of_surveys_are_asked_about_beside_broken_numbers_too(codes: tuple[int, ...]) -> None:
    frame = crossed(40, rating=lambda i, c: float(codes[i % len(codes)]) if i < 4 else 1.5 + i % 3)
    with pytest.raises(InputError, match="for no grade, it seems"):
        read_tables(frame)


def test_columns_that_explain_their_scale_are_called_without_it_and_know_its_good_end() -> None:
    marks = {
        f"Bot {c} (1 = sehr gut, 6 = ungenügend)": [1 + (k * i) % 6 for i in range(30)] for c, k in (("A", 1), ("B", 5))
    }
    tables = read_tables(pl.DataFrame({"Nr": range(30), **marks}))
    assert tables.conditions == ("Bot A", "Bot B")
    assert set(tables.scores["better"]) == {"lower"}


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


def test_of_measures_below_each_other_the_one_that_is_read_says_its_direction() -> None:
    rows = [{"segment": i, "system": c, "metric": m, "value": (60.5 if m == "TER" else 30.5) + i}
            for i in range(20) for c in TWO for m in ("TER", "BLEU")]  # fmt: skip
    tables = read_tables(pl.DataFrame(rows))
    assert means(tables) == pytest.approx({"a": 40.0, "b": 40.0})
    only = pl.DataFrame(rows).with_columns(pl.col("metric").replace("BLEU", "WER"))
    assert set(read_tables(only).scores["better"]) == {"lower"}


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


def test_ids_that_begin_again_in_a_document_of_a_course_are_named_by_all() -> None:
    rows = [{"course": k, "document": d, "question": q, "llm": c, "grade": (k + d + q) % 2 == (c == "a")}
            for k in range(3) for d in range(4) for q in range(5) for c in TWO]  # fmt: skip
    tables = read_tables(pl.DataFrame(rows))
    assert len(tables.item_ids) == 60
    assert tables.answers["group"].n_unique() == 12
    assert tables.answers["draw"].max() == 0


@pytest.mark.parametrize(
    "names", ["chapter", "year", "module lesson", "exam section", "language", "kurs kapitel lektion"]
)
def test_ids_begin_again_in_the_parts_of_a_whole_by_hand(names: str) -> None:
    parts = names.split()
    rows = [dict(zip(parts, own, strict=True)) | {"nr": q, "model": c, "correct": (sum(own) + q) % 2}
            for own in itertools.product(range(3), repeat=len(parts)) for q in range(8) for c in TWO]  # fmt: skip
    tables = read_tables(pl.DataFrame(rows))
    assert len(tables.item_ids) == 8 * 3 ** len(parts)
    assert any("begin again" in note for note in tables.notes)
    drawn = pl.DataFrame([{"sample": k, "nr": q, "model": c, "correct": (k + q) % 2}
                          for k in range(3) for q in range(8) for c in TWO])  # fmt: skip
    assert len(read_tables(drawn).item_ids) == 8


def test_ids_begin_again_in_every_split() -> None:
    rows = [{"split": s, "example_id": i, "model": c, "score": i % 2} for s, n in (("dev", 10), ("test", 20))
            for i in range(n) for c in TWO]  # fmt: skip
    assert len(read_tables(pl.DataFrame(rows)).item_ids) == 30


def test_ratings_by_one_or_two_people_are_averaged_by_hand(tmp_path: Path) -> None:
    rated = {"a": [4, 2], "b": [5, 5]}
    records = [{"id": f"{c}-{i}", "fields": {"instruction": f"Do {i}", "generation": f"text {c} {i}"},
                "metadata": {"model": c},
                "responses": {"quality": [{"value": v, "user_id": f"u{(i + k) % 4}"}
                                          for k, v in enumerate(rated[c][: 1 + (i % 2)])]}}
               for c in TWO for i in range(20)]  # fmt: skip
    (tmp_path / "records.json").write_text(json.dumps(records))
    tables = read_tables(tmp_path / "records.json")
    assert len(tables.item_ids) == 20
    assert means(tables) == pytest.approx({"a": 3.5, "b": 5.0})


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


def test_a_tests_outcome_is_read_and_not_the_summary_beside_it_by_hand(tmp_path: Path) -> None:
    ends = {"old": "passed failed passed skipped", "new": "passed passed passed skipped"}
    for name, told in ends.items():
        tests = [{"nodeid": f"test[{i}]", "outcome": told.split()[i % 4], "call": {"outcome": "passed"}}
                 for i in range(20)]  # fmt: skip
        summary = {"passed": 10 + 5 * (name == "new"), "total": 20}
        (tmp_path / f"{name}.json").write_text(json.dumps({"summary": summary, "tests": tests}))
    assert means(read_tables(tmp_path)) == pytest.approx({"old": 2 / 3, "new": 1.0})


def test_a_file_with_a_name_is_one_condition_and_its_columns_are_measures_by_hand(tmp_path: Path) -> None:
    for name, right in (("old", 3), ("new", 4)):
        rows = [{"task_id": f"t{i}", "base_status": "pass" if i % 5 < right else "fail",
                 "plus_status": "pass" if i % 5 == 0 else "fail"} for i in range(20)]  # fmt: skip
        pl.DataFrame(rows).write_csv(tmp_path / f"{name}.csv")
    tables = read_tables(*(f"{n}={tmp_path / n}.csv" for n in ("old", "new")))
    assert means(tables) == pytest.approx({"old": 0.6, "new": 0.8})
    assert any("--map score=plus_status" in note for note in tables.notes)
    assert read_tables(tmp_path / "old.csv").conditions == ("base_status", "plus_status")  # nobody said otherwise


def test_a_preference_over_one_other_is_of_both_unless_several_files_have_it_by_hand(tmp_path: Path) -> None:
    for name, preferred in (("mine", 1.75), ("yours", 1.25)):
        rows = [{"instruction": f"Do {i}", "generator_1": "base", "generator_2": name,
                 "preference": preferred + 0.125 * (-1) ** i} for i in range(20)]  # fmt: skip
        (tmp_path / f"{name}.json").write_text(json.dumps(rows))
    assert means(read_tables(tmp_path / "mine.json")) == pytest.approx({"base": 0.25, "mine": 0.75})
    tables = read_tables(tmp_path / "mine.json", tmp_path / "yours.json")
    assert means(tables) == pytest.approx({"mine": 0.75, "yours": 0.25})
    assert any("base" in note and "left out" in note for note in tables.notes)


def test_a_header_of_two_rows_with_blanks_in_each_is_one(tmp_path: Path) -> None:
    lines = [
        "Marks of class 9b,,,,,",
        ",,,,,",
        "Task,Topic,GPT,,Llama,",
        ",,Points (max. 10),Remark,Points (max. 10),Remark",
    ]
    lines += [f'{i + 1},topic {i},"{6 + i % 2},5",good,"{3 + i % 3},0",short' for i in range(24)]
    (tmp_path / "marks.csv").write_text("\n".join(lines))
    tables = read_tables(tmp_path / "marks.csv")
    assert means(tables) == pytest.approx({"GPT": 7.0, "Llama": 4.0})
    assert set(tables.scores["high"]) == {10.0}


def test_a_statement_over_the_systems_names_its_columns(tmp_path: Path) -> None:
    words = ["Strongly disagree", "Disagree", "Agree", "Strongly agree"]
    lines = ["Respondent ID,The answer helped.,", ",System A,System B"]
    lines += [f"{900 + i},{words[i % 4]},{words[3 - i % 2]}" for i in range(20)]
    (tmp_path / "survey.csv").write_text("\n".join(lines))
    assert means(read_tables(tmp_path / "survey.csv")) == pytest.approx({"System A": 3.0, "System B": 4.5})


def test_a_last_row_that_adds_up_the_others_is_no_item_in_any_language() -> None:
    marks = {"X": "○×○○", "Y": "××○×"}
    columns = {c: [m[i % 4] for i in range(20)] + [str(5 * m.count("○"))] for c, m in marks.items()}
    frame = pl.DataFrame({"設問": [f"問{i}" for i in range(20)] + ["正答数"], **columns})
    assert means(read_tables(frame)) == pytest.approx({"X": 0.75, "Y": 0.25})
    frame = pl.DataFrame({"id": range(21), "x": [*range(20), 7], "y": [*range(1, 21), 9]})
    assert len(read_tables(frame).item_ids) == 21


def test_doctors_as_columns_are_raters_by_hand() -> None:
    frame = crossed(20, **{"Dr. Meyer": lambda i, c: 1 + i % 5, "Dr. Koch": lambda i, c: 5 if c == "a" else 1})
    assert means(read_tables(frame)) == pytest.approx({"a": 4.0, "b": 2.0})


def test_several_measures_with_a_stated_range_are_one_read_and_others_named() -> None:
    frame = crossed(20, **{"adecuación (1-5)": lambda i, c: 1 + i % 5, "fluidez (1-5)": lambda i, c: 5 - i % 4})
    tables = read_tables(frame)
    assert means(tables)["a"] == pytest.approx(3.0)
    assert any("fluidez" in note for note in tables.notes)


def test_partly_is_half_by_hand() -> None:
    words = ["Conforme", "Partiellement conforme", "Non conforme", "Conforme"]
    frame = pl.DataFrame(
        {"N° clause": range(1, 21), "A": [words[i % 4] for i in range(20)], "B": words[:1] * 10 + words[2:] * 5}
    )
    tables = read_tables(frame)
    assert means(tables) == pytest.approx({"A": 0.625, "B": 0.75})
    assert len(tables.item_ids) == 20


def test_rag_and_no_rag_are_names_of_conditions() -> None:
    frame = crossed(20, hallucinated=lambda i, c: int(i % 4 == 0 if c == "a" else i % 2))
    tables = read_tables(
        frame.rename({"model": "system"}).with_columns(pl.col("system").replace({"a": "rag", "b": "no_rag"}))
    )
    assert means(tables) == pytest.approx({"rag": 0.75, "no_rag": 0.5})


def test_what_people_say_is_the_grade_where_nothing_else_is_by_hand() -> None:
    said = {"a": [1, 1, 0, 1], "b": [0, 1, 0, 1]}
    frame = crossed(20, response=lambda i, c: f"{c} says {i}", human_grade=lambda i, c: said[c][i % 4])
    assert means(read_tables(frame)) == pytest.approx({"a": 0.75, "b": 0.5})


def test_a_template_is_the_condition_where_the_model_is_one() -> None:
    frame = crossed(
        20, template=lambda i, c: "terse" if c == "a" else "cot", correct=lambda i, c: i % 2 if c == "a" else 1
    )
    assert means(read_tables(frame.with_columns(pl.lit("gpt").alias("model")))) == pytest.approx(
        {"terse": 0.5, "cot": 1.0}
    )


def test_numbers_within_documents_are_no_conditions_beside_models_of_their_own() -> None:
    rows = [{"Document": f"d{d}", "Q#": q + 1, "Question": f"what is {d} of {q}?", "Harvey": (d + q) % 2, "GPT": 1}
            for d in range(6) for q in range(5)]  # fmt: skip
    tables = read_tables(pl.DataFrame(rows))
    assert tables.conditions == ("Harvey", "GPT")
    assert len(tables.item_ids) == 30


def test_a_question_that_speaks_of_assistants_is_no_condition() -> None:
    asked = "How good was the answer of Assistant {}? (1 = very bad, 5 = very good)"
    marks = {asked.format(c): [1 + (k * i * i) % 5 for i in range(30)] for c, k in (("A", 1), ("B", 2))}
    frame = pl.DataFrame({"Email Address": [f"u{i}@x.org" for i in range(30)], **marks,
                          "How often do you use such assistants?": ["daily", "never", "never"] * 10})  # fmt: skip
    tables = read_tables(frame)
    assert len(tables.conditions) == 2
    assert set(tables.scores["high"]) == {5.0}


def test_other_people_on_each_side_name_the_items() -> None:
    rows = [{"user": f"{c}{i}", "variant": c, "nps": 7 * i % 10} for c in TWO for i in range(22)]
    assert len(read_tables(pl.DataFrame(rows)).item_ids) == 44


def test_right_and_wrong_coded_as_1_and_2_is_asked_about_and_the_advice_works_by_hand() -> None:
    frame = crossed(20, correct=lambda i, c: 1 + (i % 4 == 0 if c == "a" else i % 2))
    with pytest.raises(InputError, match="holds 1 and 2") as told:
        read_tables(frame)
    assert "--grade 1=right --grade 2=wrong" in told.value.remedy
    assert means(read_tables(frame, options=ReadOptions(grade={"1": 1.0, "2": 0.0}))) == pytest.approx(
        {"a": 0.75, "b": 0.5}
    )
    assert means(read_tables(frame, options=ReadOptions(scale=(1, 2))))["a"] == pytest.approx(1.25)


def test_what_goes_back_to_people_is_a_fault_by_hand() -> None:
    frame = crossed(20, escalated=lambda i, c: int(i % 4 == 0 if c == "a" else i % 2))
    assert means(read_tables(frame)) == pytest.approx({"a": 0.75, "b": 0.5})
