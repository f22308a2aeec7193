"""The table of commands: few, and quick to explain themselves."""

import ast
import subprocess
import sys
from pathlib import Path

from helpers.spelling import command_of, lines_in, unknown_options
from richter.cli._io import _CONFIRMING, _POLICY
from richter.cli._io import READING as READ_BY
from richter.cli._main import COMMANDS, GROUPS
from richter.cli._options import CONFIRMING, READING, VOUCHING

ROOT = Path(__file__).parents[2]
MOST_COMMANDS = 36
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


def test_help_loads_no_data_no_statistics_and_no_page() -> None:
    words = ["", "search", "plan", *COMMANDS, *(f"audit --only {stage}" for stage in STAGES)]
    done = subprocess.run([sys.executable, "-c", HELP % (HEAVY,), *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr.split() == []


def test_help_names_the_options_for_reading_that_there_are() -> None:
    assert tuple(READ_BY) == READING

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
