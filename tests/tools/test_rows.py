"""The net under the papers' figures: which rows are said to differ."""

import json

import pytest

import rows
from rows import StoredRow, command_changes, differences, make_rows


def row(figure: str, command: str = "`richter a`") -> StoredRow:
    return StoredRow(figure=figure, command=command, seconds=1.0)


def test_a_figure_differs_by_one_character() -> None:
    stored = {"P: a": row("0.574 to 1.309"), "P: b": row("1")}
    assert differences(stored, stored, stored) == []
    (line,) = differences(stored, {"P: a": row("0.574 to 1.31")}, stored)
    assert line == "DIFFERS P: a\n  stored: 0.574 to 1.309\n  now:    0.574 to 1.31"


def test_a_row_that_is_gone_or_that_fails_is_told() -> None:
    stored = {"P: a": row("1"), "P: b": row("skipped: needs people")}
    assert differences(stored, {"P: a": row("1")}, ["P: a"]) == ["VANISHED P: b: skipped: needs people"]
    assert len(differences(stored, {"P: a": row("failed: KeyError: 'b'")}, stored)) == 1
    assert differences({}, {"P: c": row("2")}, ["P: c"]) == ["NOT STORED P: c: 2"]


def test_another_command_is_no_difference() -> None:
    stored, now = {"P: a": row("1")}, {"P: a": row("1", "`richter b`")}
    assert differences(stored, now, stored) == []
    assert command_changes(stored, {"P: a": "`richter b`"}) == [
        "command of P: a\n  stored: `richter a`\n  now:    `richter b`"
    ]


def test_rows_that_count_our_own_pages_are_compared_without_their_numbers() -> None:
    name = rows.COUNTS_OF_OUR_DOCS[0]
    stored = {name: row("107 documents, 1,337 paragraphs")}
    assert differences(stored, {name: row("98 documents, 290 paragraphs")}, stored) == []
    assert len(differences(stored, {name: row("98 documents")}, stored)) == 1


def test_a_row_says_why_it_made_nothing() -> None:
    class Skipped(Exception):
        pass

    class Row:
        paper, command = "P", "`richter a`"

        def __init__(self, name: str, error: Exception) -> None:
            self.name, self.error = name, error

        def run(self) -> str:
            raise self.error

    made = dict(make_rows([Row("a", Skipped("needs people")), Row("b", KeyError("x"))], Skipped))
    assert {name: r["figure"] for name, r in made.items()} == {
        "P: a": "skipped: needs people",
        "P: b": "failed: KeyError: 'x'",
    }


@pytest.mark.audit  # rows run written benchmarks and searches
def test_every_row_of_the_papers_is_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(rows.ROOT / "papers"))
    import reproduction

    assert {f"{r.paper}: {r.name}" for r in reproduction.ROWS} == set(json.loads(rows.STORE.read_text()))
