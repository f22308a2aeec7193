"""What is read at once because names, words and layout are known, and what close to it is proposed instead."""

from pathlib import Path

import pytest

from helpers.confirmed import read_tables
from richter.errors import ReadingProposed
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


@pytest.mark.parametrize(("right", "wrong"), [("1", "0"), ("richtig", "falsch"), ("✓", "✗")])
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


def long(item: str, condition: str, score: str, right: str = "1", wrong: str = "0") -> str:
    words = {1: right, 0: wrong}
    rows = [f"q{k},old,{words[a]}\nq{k},new,{words[b]}" for k, (a, b) in enumerate(zip(OLD, NEW, strict=True))]
    return "\n".join([f"{item},{condition},{score}", *rows])


@pytest.mark.parametrize("name", ["verdict", "status"])
def test_a_result_in_words_is_known_and_one_in_numbers_is_asked_for(name: str, tmp_path: Path) -> None:
    assert means(read_at_once(write(tmp_path, long("id", "model", name, "pass", "fail")))) == MEANS
    with pytest.raises(ReadingProposed):  # of an exit code 0 is good
        read_at_once(write(tmp_path, long("id", "model", name)))


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
