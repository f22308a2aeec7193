"""Help that teaches: commands by question, words by meaning, one source for all of them."""

from pathlib import Path

import pytest

from richter.cli import main
from richter.cli._main import COMMANDS, GROUPS
from richter.records import GLOSSARY, explain

ROOT = Path(__file__).parents[2]


def run(*args: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(list(args))
    return int(stop.value.code or 0)


def test_every_command_is_in_one_group() -> None:
    grouped = [name for names in GROUPS.values() for name in names]
    assert sorted(grouped) == sorted(COMMANDS)


def test_the_first_view_is_short_and_names_the_columns(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--help") == 0
    said = capsys.readouterr().out
    assert "item, condition, correct or score" in said
    assert "richter help all" in said
    assert "  kb " not in said
    assert len(said.splitlines()) < 40


def test_words_and_commands_are_explained(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("help", "condition") == 0
    assert capsys.readouterr().out == f"condition: {GLOSSARY['condition']}\n"
    assert run("help", "gate") == 0  # a word and a command
    said = capsys.readouterr().out
    assert said.startswith("gate: ")
    assert "Usage: richter gate" in said
    assert run("help", "conditon") == 1
    assert "Did you mean condition" in capsys.readouterr().err


def test_words_are_found_however_written() -> None:
    assert explain("ece") == GLOSSARY["ECE"]
    assert explain("M MIN") == GLOSSARY["m_min"]
    assert explain("nothing of the kind") is None


def test_the_page_of_words_is_the_glossary() -> None:
    page = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    assert [f"| **{term}** | {text} |" for term, text in GLOSSARY.items()] == page.splitlines()[6:]
