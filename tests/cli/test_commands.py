"""The table of commands: few, and quick to explain themselves."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from helpers.spelling import command_of, lines_in, unknown_options
from richter.cli import main
from richter.cli._io import _CONFIRMING, _POLICY
from richter.cli._io import READING as READ_BY
from richter.cli._main import COMMANDS, GROUPS, _root
from richter.cli._options import CONFIRMING, VOUCHING, WEIGHING, DataCommand, ScreenCommand

ROOT = Path(__file__).parents[2]
MOST_COMMANDS, MOST_OPTIONS, MOST_WITH_STAGES = 28, 300, 315
MOST_ON_A_SCREEN, TALLEST = 12, 80  # options and lines of one help screen: two screens of 40 lines
FIRST_SCREEN = ("compare", "report", "view", "gate", "size", "label", "audit", "import", "help")
STAGES = ("ask", "judge", "draw")
HEAVY = ("numpy", "polars", "scipy", "numba", "rich", "aiohttp", "jinja2")
# asks every command for its help in one process, and says what was loaded
HELP = """
import sys
from richter.cli import main
for words in sys.argv[1:]:
    try:
        main([*words.split(), "--help"])
    except SystemExit as end:
        assert not end.code, words
print(*[name for name in %r if name in sys.modules], file=sys.stderr)
"""


def test_commands_are_few_and_the_first_screen_has_nine() -> None:
    assert len(COMMANDS) <= MOST_COMMANDS
    assert next(iter(GROUPS.values())) == FIRST_SCREEN
    assert sorted(name for names in GROUPS.values() for name in names) == sorted(COMMANDS)


def screens() -> list[tuple[str, ScreenCommand]]:
    """Every command, and its stages, by their words, as a request for help finds them."""
    found = []
    for name in COMMANDS:
        command = _root.get_command(click.Context(_root), name)
        assert isinstance(command, ScreenCommand)
        stages = getattr(command, "stages", {})
        found += [(name, command), *((f"{name} --only {stage}", of) for stage, of in stages.items())]
    return found


def options_on(command: ScreenCommand, *, shown: bool) -> set[str]:
    """The options that stand on the help screen, or the others."""
    options = command.options(click.Context(command, help_option_names=["-h", "--help"]), shown=shown)
    return {max(option.opts, key=len) for option in options}


def test_options_are_few() -> None:
    """Those of every command, --help too; then also those that only a stage (--only) has."""
    every = {name: options_on(c, shown=True) | options_on(c, shown=False) for name, c in screens()}
    assert sum(len(options) for name, options in every.items() if name in COMMANDS) <= MOST_OPTIONS
    with_stages = {(name.partition(" --only")[0], o) for name, options in every.items() for o in options}
    assert len(with_stages) <= MOST_WITH_STAGES


@pytest.mark.parametrize("name", [name for name, _ in screens()])
def test_a_help_screen_is_small_and_names_the_other_options(name: str) -> None:
    command = dict(screens())[name]
    context = click.Context(command, info_name=name, help_option_names=["-h", "--help"], terminal_width=80)
    text = command.get_help(context)
    assert len(options_on(command, shown=True)) <= MOST_ON_A_SCREEN
    assert set(command.shown) <= {o.removeprefix("--") for o in options_on(command, shown=True)}
    assert len(text.splitlines()) <= TALLEST
    assert set(command.names_of_more(context)) <= set(text.split())


@pytest.mark.parametrize("topic", ["reading", "asking"])
def test_an_option_that_no_screen_has_is_explained_by_a_topic(topic: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Every option that a command accepts stands on its own screen or on the page that its screen names."""
    with pytest.raises(SystemExit):
        main(["help", topic])
    page = set(re.findall(r"^  (?:-\w, )?(--[a-z-]+)", capsys.readouterr().out, re.MULTILINE))
    for name, command in screens():
        if command.more_at == topic:
            own = options_on(command, shown=True)
            if isinstance(command, DataCommand):
                command.complete()
            accepted = {max(p.opts, key=len) for p in command.params if isinstance(p, click.Option)}
            assert accepted - own <= page, name


def test_help_loads_no_data_no_statistics_and_no_page() -> None:
    words = ["", "search", "plan", *COMMANDS, *(f"audit --only {stage}" for stage in STAGES)]
    done = subprocess.run([sys.executable, "-c", HELP % (HEAVY,), *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr.split() == []


def test_help_names_the_options_for_reading_that_there_are() -> None:
    assert tuple(READ_BY) == WEIGHING

    def bare() -> None: ...

    for option in (*_POLICY, *_CONFIRMING):
        option(bare)
    assert {p.name for p in vars(bare)["__click_params__"]} == {*VOUCHING, *CONFIRMING}


def printed() -> list[tuple[str, list[str]]]:
    """Every command line in the texts of the program and of the documentation, with where it stands."""
    found = []
    for path in sorted((ROOT / "src").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.JoinedStr):
                text = "".join(str(p.value) if isinstance(p, ast.Constant) else "X" for p in node.values)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                text = node.value
            else:
                continue
            found += [(path.name, words) for line in text.splitlines() for words in lines_in(line)]
    others = [
        p for kind in ("md", "html", "js", "toml", "yml") for p in ROOT.rglob(f"*.{kind}") if p.name != "CHANGELOG.md"
    ]
    for path in others:
        if not any(
            part.startswith(".") or part in ("build", "node_modules", "site", "demo", "soak")
            for part in path.relative_to(ROOT).parts
        ):
            text = path.read_text(encoding="utf-8")
            found += [(path.name, words) for line in text.splitlines() for words in lines_in(line)]
    return found


def test_every_printed_command_is_spelt_as_today() -> None:
    """A command line in a remedy, a next step, a page or the documentation: its command and its options exist."""
    first, wrong = {name.split()[0] for name in COMMANDS}, []
    for place, words in printed():
        if words[0] not in first or (len(words) == 1 and words[0] in first):
            continue  # prose ("what richter does"), or all commands of a first word
        if command_of(words) is None or unknown_options(words):
            wrong.append(f"{place}: richter {' '.join(words)}")
    assert not wrong, "\n".join(wrong)
