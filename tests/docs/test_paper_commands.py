"""Every command on the pages about the papers is one that can be run as it is written."""

import re
import shlex
from pathlib import Path

import click
import pytest

from richter.cli import _main

ROOT = Path(__file__).parents[2]
PAGES = ("papers", "reproduction", "tail-protocol", "floors", "sem-ece")
COMMANDS = {
    line: page
    for page in PAGES
    for line in re.findall(r"`(richter [^`]+)`", (ROOT / "docs" / "validation" / f"{page}.md").read_text("utf-8"))
}


@pytest.mark.audit
@pytest.mark.parametrize("line", COMMANDS)
def test_command_takes_all_that_it_needs_and_nothing_else(line: str) -> None:
    (table,) = (value for value in vars(_main).values() if isinstance(value, click.Group))
    with table.make_context("richter", shlex.split(line)[1:]) as context:
        name, command, words = table.resolve_command(context, shlex.split(line)[1:])
        command.make_context(name, list(words), parent=context)  # raises where the command would refuse


def test_pages_name_commands() -> None:
    assert len(COMMANDS) > 30


def test_scripts_on_the_pages_are_there() -> None:
    pages = [(ROOT / "docs" / "validation" / f"{page}.md").read_text("utf-8") for page in PAGES]
    scripts = {name for text in pages for name in re.findall(r"(?:papers|studies)/\w+\.py", text)}
    assert scripts
    assert [name for name in scripts if not (ROOT / name).exists()] == []
