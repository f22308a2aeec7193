"""Items in and out: what is refused, and how it is said."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from richter.errors import InputError, StorageError
from richter.records import Item
from richter_audit.bench import read_items, write_items

GOOD: dict[str, Any] = {"id": "a", "prompt": "In which country is Nantes?", "reference": "France"}


def lines(path: Path, *rows: Any) -> Path:
    path.write_text(
        "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows), encoding="utf-8"
    )
    return path


def test_round_trip_and_same_bytes(tmp_path: Path) -> None:
    items = [
        Item(
            id="a",
            prompt="Où?",
            reference="là",
            aliases=("ici",),
            tier=1,
            domain="d",
            truth={"kind": "city", "lat": 1.5},
        ),
        Item(id="b", prompt="p", reference="r", options=("q", "r"), stem="s", shots=("x y.", "z."), form="trap"),
    ]
    write_items(items, tmp_path / "one.jsonl")
    write_items(items, tmp_path / "two.jsonl")
    assert read_items(tmp_path / "one.jsonl") == items
    assert (tmp_path / "one.jsonl").read_bytes() == (tmp_path / "two.jsonl").read_bytes()
    assert [p.name for p in sorted(tmp_path.iterdir())] == ["one.jsonl", "two.jsonl"]


def test_csv_and_parquet_by_hand(tmp_path: Path) -> None:
    (tmp_path / "i.csv").write_text("id,prompt,reference,aliases,tier\n1,Six times seven?,42,forty-two|XLII,2\n")
    expected = Item(id="1", prompt="Six times seven?", reference="42", aliases=("forty-two", "XLII"), tier=2)
    assert read_items(tmp_path / "i.csv") == [expected]
    pl.DataFrame([{**GOOD, "options": ["France", "Spain"]}]).write_parquet(tmp_path / "i.parquet")
    assert read_items(tmp_path / "i.parquet")[0].options == ("France", "Spain")


def test_the_cells_of_a_csv_file_are_taken_as_they_are_written_by_hand(tmp_path: Path) -> None:
    text = "id,prompt,reference,aliases,domain,tier,weight\n007,Is it?,true,1.10,2024,2,0.5\n7,Which?,0033,33,2024,,2\n"
    (tmp_path / "i.csv").write_text(text)
    assert read_items(tmp_path / "i.csv") == [
        Item(id="007", prompt="Is it?", reference="true", aliases=("1.10",), domain="2024", tier=2, weight=0.5),
        Item(id="7", prompt="Which?", reference="0033", aliases=("33",), domain="2024", weight=2.0),
    ]
    for row, said in (("1,a,b,hard,1", "tier: 'hard' is not a tier"), ("1,a,b,1,-2", "weight: -2.0 is not a weight")):
        (tmp_path / "i.csv").write_text(f"id,prompt,reference,tier,weight\n{row}\n")
        with pytest.raises(InputError, match=said):
            read_items(tmp_path / "i.csv")


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ("{not json", r"line 2 is not valid JSON.*one JSON object a line"),
        ("[1, 2]", r"line 2 is not a JSON object"),
        ({**GOOD, "id": "a"}, r"line 2: the id 'a' was used before \(line 1\)"),
        ({**GOOD, "id": "b", "prompt": "  "}, r"line 2, field prompt: empty"),
        ({"id": "b", "reference": "r"}, r"line 2, field prompt: missing"),
        ({**GOOD, "id": 7}, r"line 2, field id: 7 is not text"),
        ({**GOOD, "id": "b", "aliases": "x"}, r"line 2, field aliases: 'x' is not a list"),
        ({**GOOD, "id": "b", "tier": 6}, r"line 2, field tier: 6 is not a tier.*1 \(easy\) to 5"),
        ({**GOOD, "id": "b", "tier": True}, r"line 2, field tier"),
        ({**GOOD, "id": "b", "form": "riddle"}, r"line 2, field form"),
        ({**GOOD, "id": "b", "truth": []}, r"line 2, field truth"),
        ({**GOOD, "id": "b", "options": ["Spain", "Italy"]}, r"line 2, field options"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, row: Any, expected: str) -> None:
    path = lines(tmp_path / "items.jsonl", GOOD, row)
    with pytest.raises(InputError, match=expected) as caught:
        read_items(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)
    assert caught.value.remedy


def test_missing_and_empty_files(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_items(tmp_path / "none.jsonl")
    (tmp_path / "empty.jsonl").touch()
    with pytest.raises(InputError, match="empty"):
        read_items(tmp_path / "empty.jsonl")
    (tmp_path / "latin.jsonl").write_bytes(b'{"id": "a", "prompt": "\xe9"}\n')
    with pytest.raises(InputError, match=r"line 1 is not UTF-8"):
        read_items(tmp_path / "latin.jsonl")
    (tmp_path / "c.csv").write_text("id,prompt\n1,p\n")
    with pytest.raises(InputError, match="reference"):
        read_items(tmp_path / "c.csv")


def test_an_unwritable_place_is_said(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="cannot be written"):
        write_items([], tmp_path / "no" / "where.jsonl")


@pytest.mark.parametrize("name", ["item", "question_id", "doc_id"])
def test_ids_have_the_names_that_tables_of_grades_give_them(tmp_path: Path, name: str) -> None:
    """They were row numbers, so that answers could not be joined with anything; of two spellings the first counts."""
    (tmp_path / "items.csv").write_text(f"{name},question,input,answer\ns7,1 + 1?,x,2\ns9,2 + 2?,y,4\n")
    assert [(i.id, i.prompt) for i in read_items(tmp_path / "items.csv")] == [("s7", "1 + 1?"), ("s9", "2 + 2?")]
