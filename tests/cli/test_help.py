"""Help that teaches: commands by question, words by meaning, one source for all of them."""

import re

import pytest

from helpers.spelling import command_of, options_of
from richter.cli import main
from richter.cli._main import COMMANDS
from richter.words import GLOSSARY, explain


def run(*args: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(list(args))
    return int(stop.value.code or 0)


def test_the_first_view_is_short_and_names_the_columns(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--help") == 0
    said = capsys.readouterr().out
    assert "item, condition, correct or score" in said
    assert "richter help" in said
    assert "  search " not in said
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


STAGES = tuple(f"audit --only {stage}" for stage in ("ask", "judge", "draw"))


@pytest.mark.parametrize("name", [*COMMANDS, *STAGES])
def test_every_command_opens_with_a_sentence_and_has_two_examples_that_parse(name: str) -> None:
    _, command = command_of(name.split()) or ("", None)
    assert command is not None
    text = command.help or ""
    first = text.strip().split("\n\n")[0].replace("\n", " ")
    assert re.match(r"[A-Z`].*[.?!]( |$)", first)
    assert len(first.split("\b")[0]) < 160
    shown = [line.strip() for line in text.splitlines() if line.strip().startswith(f"richter {name}")]
    assert len(shown) >= 2
    for line in shown:
        given = {w.split("=")[0] for w in line.split("   ")[0].split() if re.fullmatch(r"--[a-z][a-z-]*(=\S+)?", w)}
        _, named = command_of(line.split()[1:]) or ("", None)
        assert named is not None
        assert given <= options_of(named), f"{line}: {given - options_of(named)}"


def test_no_line_of_help_is_cut(capsys: pytest.CaptureFixture[str]) -> None:
    """Commands of a group ended in "and what may be..."; the first heading in "go out?:"."""
    for name in ("plan", "search", "help"):
        with pytest.raises(SystemExit):
            main([name, *([] if name == "help" else ["--help"])])
        assert "...\n" not in capsys.readouterr().out.partition("\n")[2], name
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "?:" not in capsys.readouterr().out
