"""Names that look alike are written apart, and no others are touched."""

import itertools
from pathlib import Path

import polars as pl
import pytest

from richter.records import odd_characters, tell_apart
from richter.tables import read_tables

ALIKE = {
    "modèle": ("mode\u0300le", "mode\\u0300le"),
    "GPT": ("G\u0420T", "G\\u0420T"),
    "gpt": ("gpt ", "gpt\\x20"),
    "gpt  5": ("gpt 5", "gpt\\x205"),
    "gpt-4": ("gpt\u20114", "gpt\\u20114"),
    "x": ("x\u200b", "x\\u200b"),
    "Å": ("\u212b", "\\u212b"),
    "mini": ("m\u0131ni", "m\\u0131ni"),
}


@pytest.mark.parametrize(("name", "other", "shown"), [(k, *v) for k, v in ALIKE.items()], ids=ascii)
def test_a_look_alike_is_written_with_an_escape(name: str, other: str, shown: str) -> None:
    odd = name if name == "gpt  5" else other
    assert tell_apart([name, other]) == {odd: "gpt \\x205" if name == "gpt  5" else shown}
    assert odd_characters(odd)


def test_every_name_is_different_afterwards() -> None:
    names = [
        "".join(letters) for letters in itertools.product("a\u0430", "e\u0435", ("o", "\u043e", "\u03bf"), ("", " "))
    ]
    apart = tell_apart(names)
    assert len({apart.get(name, name) for name in names}) == len(names)
    assert [name for name in names if name not in apart] == ["aeo"]


@pytest.mark.parametrize("names", [("gpt", "GPT"), ("x2", "x²"), ("сова", "сокол"), ("v1", "vl"), ("a ", "b")])
def test_names_that_people_see_apart_stay(names: tuple[str, ...]) -> None:
    assert tell_apart(names) == {}


def test_a_comparison_names_both_and_says_what_differs() -> None:
    rows = [
        {"item": f"q{k}", "condition": name, "correct": int(k % 5 < right)}
        for name, right in (("modèle", 2), ("mode\u0300le", 4))
        for k in range(100)
    ]
    tables = read_tables(pl.DataFrame(rows))
    assert tables.conditions == ("modèle", "mode\\u0300le")
    assert [note.kind for note in tables.notes if "looks like" in note] == ["look-alike"]


def test_names_that_differ_in_spaces_around_them_are_one_and_a_note_says_so(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    rows = [f'q{k},"{name}",{k % 2}' for k in range(20) for name in ("old", "new " if k < 10 else "new")]
    path.write_text("\n".join(["item,condition,correct", *rows]) + "\n")
    tables = read_tables(path)
    assert tables.conditions == ("old", "new")
    assert [note.kind for note in tables.notes if "one name" in note] == ["look-alike"]
