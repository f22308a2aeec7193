"""Every command on the pages about the papers is one that can be run as it is written."""

import re
import shlex
from pathlib import Path

import click
import pytest

from richter.audit import check_plan
from richter.cli import _main, main

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


def test_commands_for_plans_run_as_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [f"q{i},{name},{((i * step) % 97) / 10}" for name, step in (("old", 31), ("new", 37)) for i in range(97)]
    Path("scores.csv").write_text("\n".join(["item,condition,severity", *rows]) + "\n")  # simulated
    plans = [line for line in COMMANDS if line.startswith("richter plan ")]
    uses = [line for line in COMMANDS if "--plan " in line and line.startswith("richter severity tail ")]
    assert [len(plans), len(uses)] == [2, 1]
    for line in plans + uses:
        with pytest.raises(SystemExit) as stop:
            main(shlex.split(line)[1:])
        assert not stop.value.code, line
    assert check_plan("plan.toml").state == "locked"
    assert check_plan("plan.toml").uses == 1


def test_pages_name_commands() -> None:
    assert len(COMMANDS) > 30


def test_scripts_on_the_pages_are_there() -> None:
    pages = [(ROOT / "docs" / "validation" / f"{page}.md").read_text("utf-8") for page in PAGES]
    scripts = {name for text in pages for name in re.findall(r"(?<!tests/)\b(?:papers|studies)/\w+\.py", text)}
    assert scripts
    assert [name for name in scripts if not (ROOT / name).exists()] == []
