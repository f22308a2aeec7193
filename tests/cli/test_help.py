"""Help that teaches: commands by question, words by meaning, one source for all of them."""

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from richter.cli._compare_command import compare

from richter.cli import main
from richter.cli._main import COMMANDS, GROUPS, _root
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
    assert "richter help" in said
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


def every_command(
    command: click.Command, path: tuple[str, ...] = ("richter",)
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        with click.Context(command) as ctx:
            for name in command.list_commands(ctx):
                inner = command.get_command(ctx, name)
                assert inner is not None
                yield from every_command(inner, (*path, name))


def test_every_command_opens_with_a_sentence_and_has_two_examples_that_parse() -> None:
    for path, command in every_command(_root):
        words = " ".join(path)
        text = f"{command.help or ''}\n\n{command.epilog or ''}"
        first = text.strip().split("\n\n")[0].replace("\n", " ")
        assert re.match(r"[A-Z].*[.?!]( |$)", first), words
        assert len(first.split("\b")[0]) < 160, words
        shown = [
            line.strip() for line in text.splitlines() if line.strip().startswith(f"richter {' '.join(path[1:2])}")
        ]
        assert len(shown) >= 2, f"{words}: {shown}"
        for line in shown:
            options = {o for p in _named(line).params for o in (*p.opts, *p.secondary_opts)} | {"--help"}
            given = {w.split("=")[0] for w in line.split("   ")[0].split() if re.fullmatch(r"--[a-z][a-z-]*(=\S+)?", w)}
            assert given <= options, f"{line}: {given - options}"


def _named(line: str) -> click.Command:
    """The command that a line of help names."""
    command: click.Command = _root
    for word in line.split()[1:]:
        found = command.get_command(click.Context(command), word) if isinstance(command, click.Group) else None
        if found is None:
            break
        command = found
    return compare if command is _root else command


def test_no_line_of_help_is_cut(capsys: pytest.CaptureFixture[str]) -> None:
    """Commands of a group ended in "and what may be..."; the first heading in "go out?:"."""
    for name in ("run", "bench", "tail", "calibration", "size", "plan", "kb", "search", "floors"):
        with pytest.raises(SystemExit):
            main([name, "--help"])
        assert "...\n" not in capsys.readouterr().out.partition("\n")[2], name
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "?:" not in capsys.readouterr().out
