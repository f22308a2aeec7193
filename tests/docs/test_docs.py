"""The documentation cannot drift: its code runs, and no command or error goes undocumented."""

import inspect
import re
import shlex
from pathlib import Path

import pytest

import richter
import richter.errors
from helpers.spelling import unknown_options
from richter.cli import main
from richter.cli._main import COMMANDS

ROOT = Path(__file__).parents[2]
PAGES = [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md"]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.M | re.S)


def test_every_command_has_a_page() -> None:
    missing = [name for name in COMMANDS if not (ROOT / "docs" / "commands" / f"{name.split()[0]}.md").is_file()]
    assert not missing


def test_every_error_is_documented() -> None:
    text = (ROOT / "docs" / "reference" / "errors.md").read_text()
    names = [n for n, value in vars(richter.errors).items() if inspect.isclass(value) and issubclass(value, Exception)]
    assert not [name for name in names if f"`{name}`" not in text]


@pytest.mark.parametrize("page", [p for p in PAGES if BLOCK.search(p.read_text())], ids=lambda p: p.stem)
def test_code_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The blocks of a page run one after another in one namespace, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "__docs__"}
    for block in BLOCK.findall(page.read_text()):
        exec(compile(block, str(page), "exec"), namespace)


def test_commands_in_examples_exist() -> None:
    """Every `$ richter ...` line of the documentation names a command and options; `test_commands` looks at others."""
    texts = [page.read_text() for page in PAGES]
    lines = [line for text in texts for line in re.findall(r"^\s*(?:\$ )?(richter [a-z].*)$", text, re.M)]
    assert len(lines) > 60
    for line in lines:
        for part in re.split(r"\s(?:&&|\|)\s", line.partition(" #")[0].rstrip("\\ ")):
            try:
                words = shlex.split(part)
            except ValueError:  # prose, or an example that goes on in the next line
                continue
            if words[0] == "richter" and "." not in words[1]:  # `richter results.csv` needs no command
                assert not unknown_options([w for w in words[1:] if w not in ("...", "…")]), line


def test_links_lead_somewhere() -> None:
    links = [(page, target) for page in PAGES for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text())]
    local = [(page, target) for page, target in links if not target.startswith(("http:", "https:", "mailto:"))]
    assert not [f"{page.name}: {target}" for page, target in local if not (page.parent / target).exists()]


@pytest.mark.parametrize(
    ("page", "command"),
    [
        ("README.md", "old.csv new.csv"),
        ("docs/tutorial.md", "old.csv new.csv"),
        ("docs/tutorial.md", "prompts.csv"),
    ],
)
def test_commands_print_what_the_pages_show(
    page: str, command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It showed lines that the command did not print, and under them another interval than the command's."""
    monkeypatch.chdir(ROOT / "docs" / "examples")
    monkeypatch.setenv("COLUMNS", "120")
    text = (ROOT / page).read_text(encoding="utf-8")
    shown = text.partition(f"$ richter {command}\n")[2].partition("  ...\n")[0].splitlines()
    with pytest.raises(SystemExit):
        main(command.split())
    printed = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert len(shown) >= 5
    assert printed[: len(shown)] == shown
