"""What is read at once because names, words and layout are known, and what close to it is proposed instead."""

from pathlib import Path

import polars as pl
import pytest

from helpers.confirmed import read_tables
from richter.errors import InputError, ReadingProposed
from richter.records import of_kind
from richter.tables import Dataset, ReadOptions
from richter.tables import read_tables as read_at_once

N = 20
OLD, NEW = [k % 2 for k in range(N)], [int(k % 4 > 0) for k in range(N)]
MEANS = {"old": 0.5, "new": 0.75}


def write(folder: Path, text: str, name: str = "results.csv") -> Path:
    path = folder / name
    path.write_text(text, "utf-8")
    return path


def means(tables: Dataset) -> dict[str, float]:
    rows = tables.scores.drop_nulls("value")
    return {str(c): float(rows.filter(condition=c)["value"].mean()) for c in tables.conditions}  # type: ignore[arg-type]


def wide(right: str, wrong: str, *, head: str = "Nr,Frage,old,new,Bemerkung") -> str:
    words = {1: right, 0: wrong}
    rows = (f"{k},Was ist {k}?,{words[a]},{words[b]},gut {k}" for k, (a, b) in enumerate(zip(OLD, NEW, strict=True)))
    return "\n".join([head, *rows])


@pytest.mark.parametrize(("right", "wrong"), [("1", "0"), ("richtig", "falsch"), ("✓", "✗"), ("○", "×"),
                                              ("correct", "incorrect"), ("TRUE", "FALSE")])  # fmt: skip
def test_a_wide_table_of_grades_beside_texts_is_read_at_once(right: str, wrong: str, tmp_path: Path) -> None:
    tables = read_at_once(write(tmp_path, wide(right, wrong)))
    assert tables.is_confirmed
    assert means(tables) == MEANS


@pytest.mark.parametrize("text", [
    wide("ja", "nein"),  # they may be answers
    wide("1", "0").replace(",new,", ",perplexity,"), wide("1", "0").replace(",new,", ",All,"),
    wide("1", "0").replace("old,new", "old / de,old / fr"), wide("1", "0").replace("gut 3", "1"),
    wide("1", "0") + "\nGesamt,,0.5,0.75,",
], ids=["answers", "measure", "margin", "two headers", "graded comment", "total"])  # fmt: skip
def test_what_leaves_open_which_columns_are_models_is_proposed(text: str, tmp_path: Path) -> None:
    with pytest.raises(ReadingProposed):
        read_at_once(write(tmp_path, text))


def test_columns_without_ids_that_hold_0_and_1_have_a_question_in_each_row(tmp_path: Path) -> None:
    text = "old,new\n" + "\n".join(f"{a},{b}" for a, b in zip(OLD, NEW, strict=True))
    assert means(read_at_once(write(tmp_path, text))) == MEANS
    with pytest.raises((ReadingProposed, InputError)):  # what was predicted beside what is true
        read_at_once(write(tmp_path, text.replace("old,new", "y_true,y_pred")))


def long(item: str, condition: str, score: str, right: str = "1", wrong: str = "0") -> str:
    words = {1: right, 0: wrong}
    rows = [f"q{k},old,{words[a]}\nq{k},new,{words[b]}" for k, (a, b) in enumerate(zip(OLD, NEW, strict=True))]
    return "\n".join([f"{item},{condition},{score}", *rows])


@pytest.mark.parametrize("names", [("Frage-ID", "Modell", "Richtig"), ("test_id", "build", "passed"),
                                   ("id_pregunta", "modelo", "correcto"), ("質問ID", "モデル", "正誤"),
                                   ("Nº", "Sistema", "Punktzahl"), ("case", "prompt_version", "ok")])  # fmt: skip
def test_listed_names_of_several_languages_are_read_at_once(names: tuple[str, str, str], tmp_path: Path) -> None:
    tables = read_at_once(write(tmp_path, long(*names)))
    assert tables.is_confirmed
    assert means(tables) == MEANS


@pytest.mark.parametrize("name", ["verdict", "result", "outcome", "status"])
def test_a_result_in_words_is_known_and_one_in_numbers_is_asked_for(name: str, tmp_path: Path) -> None:
    assert means(read_at_once(write(tmp_path, long("id", "model", name, "pass", "fail")))) == MEANS
    with pytest.raises(ReadingProposed):  # of an exit code 0 is good
        read_at_once(write(tmp_path, long("id", "model", name)))


def test_a_column_of_one_value_that_may_name_a_condition_does_not(tmp_path: Path) -> None:
    files = [write(tmp_path, f"id,release,correct\n{rows}", f"{name}.csv") for name, rows in (
        ("old", "\n".join(f"q{k},1.0,{a}" for k, a in enumerate(OLD))),
        ("new", "\n".join(f"q{k},1.0,{b}" for k, b in enumerate(NEW))))]  # fmt: skip
    assert means(read_at_once(*files)) == MEANS


def test_files_that_name_the_same_model_are_proposed_as_conditions(tmp_path: Path) -> None:
    rows = {name: "\n".join(f"q{k},gpt,{v}" for k, v in enumerate(own)) for name, own in (("old", OLD), ("new", NEW))}
    files = [write(tmp_path, f"id,model,correct\n{own}", f"{name}.csv") for name, own in rows.items()]
    with pytest.raises(ReadingProposed) as proposed:
        read_at_once(*files)
    assert proposed.value.options.layout == ("file-names",)
    assert means(read_at_once(*files, options=proposed.value.options)) == MEANS


def test_spellings_of_a_model_are_proposed_as_one(tmp_path: Path) -> None:
    text = long("id", "model", "correct").replace("q1,old", "q1,Old").replace("q2,old", "q2,OLD ")
    path = write(tmp_path, text.replace("old", "gpt-4o").replace("Old", "GPT 4o").replace("OLD ", "GPT\u20114o"))
    with pytest.raises(ReadingProposed) as proposed:
        read_at_once(path)
    assert proposed.value.options.layout == ("spellings",)
    assert means(read_tables(path)) == {"gpt-4o": 0.5, "new": 0.75}
    apart = read_at_once(path, options=ReadOptions(map={"condition": "model"}))
    assert len(apart.conditions) == 4


def test_unknown_words_among_grades_are_proposed_as_no_grade(tmp_path: Path) -> None:
    text = long("id", "model", "verdict", "Correct", "Incorrect").replace("q3,old,Correct", "q3,old,Cannot judge")
    with pytest.raises(ReadingProposed) as proposed:
        read_at_once(write(tmp_path, text))
    assert proposed.value.options.grade == {"Cannot judge": None}
    rows = read_tables(tmp_path / "results.csv").scores
    assert rows.filter(condition="old")["value"].null_count() == 1


def test_a_margin_is_no_model_by_hand() -> None:
    frame = pl.DataFrame({"item": [f"q{k}" for k in range(N)], "a": OLD, "b": NEW, "c": OLD[::-1]})
    frame = frame.with_columns(pl.mean_horizontal("a", "b", "c").round(2).alias("All"))
    assert read_tables(frame).conditions == ("a", "b", "c")
    assert read_tables(frame.rename({"All": "zusammen"})).conditions == ("a", "b", "c")


def test_points_between_thousands_by_hand(tmp_path: Path) -> None:
    head = "id;model;Punkte\n"
    rows = "".join(f"q{k};old;{k + 100},5\nq{k};new;1.{k + 100}\n" for k in range(N))
    tables = read_tables(write(tmp_path, head + rows + "q99;old;1.234,5\nq99;new;2.000"))
    assert means(tables)["new"] == pytest.approx((sum(1100 + k for k in range(N)) + 2000) / (N + 1))
    with pytest.raises(InputError, match=r"1\.100"):
        read_tables(write(tmp_path, head + rows.replace(",5", "")))


def test_objects_one_below_the_other_are_rows(tmp_path: Path) -> None:
    rows = [f'{{\n  "id": "q{k}",\n  "model": "{m}",\n  "correct": {v}\n}}' for m, own in (("old", OLD), ("new", NEW))
            for k, v in enumerate(own)]  # fmt: skip
    assert means(read_at_once(write(tmp_path, "\n".join(rows), "log.json"))) == MEANS


def test_runs_in_words_beside_one_model_are_not_pooled(tmp_path: Path) -> None:
    rows = [f"gpt,{run},{1790000000 + 7 * k},q{k},{v}" for run, own in (("old", OLD), ("new", NEW))
            for k, v in enumerate(own)]  # fmt: skip
    path = write(tmp_path, "\n".join(["model,run,epoch,item,correct", *rows]))
    with pytest.raises(ReadingProposed) as proposed:
        read_at_once(path)
    assert proposed.value.options.map["condition"] == "run"


@pytest.mark.parametrize(("name", "seconds"), [("latency_ms", 0.25), ("duration", 250.0)])
def test_times_in_milliseconds_are_seconds_and_costs_are_named_with_their_option(name: str, seconds: float) -> None:
    rows = [{"item": f"q{i}", "model": m, "correct": i % 2, name: 250, "cost": 0.01} for i in range(12) for m in "ab"]
    found = read_tables(pl.DataFrame(rows))
    assert found.answers["latency_s"].unique().to_list() == [seconds]
    assert all(option in of_kind(found.notes, "costs")[0] for option in ("--on latency", "--on money"))


def test_the_first_criterion_of_the_file_is_the_main_score(tmp_path: Path) -> None:
    rows = [{"id": i, "model": m, "helpfulness": 1 + (i + k) % 5, "faithfulness": 1 + i % 4}
            for i in range(40) for k, m in enumerate(("old", "new"))]  # fmt: skip
    for first, other in (("helpfulness", "faithfulness"), ("faithfulness", "helpfulness")):
        pl.DataFrame(rows).select("id", "model", first, other).write_csv(tmp_path / "scores.csv")
        assert read_tables(tmp_path / "scores.csv").scored_by == (f"column {first}",)
