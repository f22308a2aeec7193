"""The border between the core and the package that asks models, and what crosses it by entry points."""

import re
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import click
import pytest

from richter.audit import results_schema
from richter.cli import main
from richter.cli._main import COMMANDS
from richter.errors import EXTRAS

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
REGISTERED = PROJECT["entry-points"]["richter.commands"]
# runs the command line without one package, and says on stderr what of the rest was loaded
CHILD = """
import sys
absent, *words = sys.argv[1:]
if absent:
    sys.modules[absent] = None
from richter.cli import main
try:
    main(words)
finally:
    watched = ("richter_audit", "aiohttp", "jinja2")
    print("loaded:", *[name for name in watched if sys.modules.get(name)], file=sys.stderr)
"""


def call(*words: object, without: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", CHILD, without, *map(str, words)], capture_output=True, text=True)


@pytest.fixture
def grades(tmp_path: Path) -> Path:
    rows = [f"q{i},{c},{int(i % k > 0)}" for k, c in ((3, "old"), (5, "new")) for i in range(200)]
    (tmp_path / "grades.csv").write_text("\n".join(["item,condition,correct", *rows]) + "\n")
    return tmp_path / "grades.csv"


@pytest.mark.parametrize("words", [("--help",), ("help",), ("compare", "FILE"), ("gate", "--help")])
def test_the_core_loads_nothing_of_the_other_package(words: tuple[str, ...], grades: Path) -> None:
    done = call(*(grades if word == "FILE" else word for word in words))
    assert done.returncode == 0
    assert done.stderr.splitlines()[-1] == "loaded:"


@pytest.mark.parametrize(
    "words", [("compare", "FILE"), ("report", "FILE", "-o", "PAGE"), ("doctor",), ("audit", "--only", "ask", "--help")]
)
def test_what_asks_nobody_needs_no_extra(words: tuple[str, ...], grades: Path) -> None:
    paths = {"FILE": grades, "PAGE": grades.with_name("page.html")}
    assert call(*(paths.get(word, word) for word in words), without="aiohttp").returncode == 0


@pytest.mark.parametrize(
    "words", [("view", "FILE"), ("audit", "--only", "ask", "RUN", "--bench", "ITEMS", "--model", "openai/gpt-4o")]
)
def test_a_command_whose_extra_is_missing_names_the_line_that_installs_it(
    words: tuple[str, ...], grades: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    items = grades.with_name("items.jsonl")
    items.write_text('{"id": "a", "prompt": "1 + 1?", "reference": "2"}\n')
    paths = {"FILE": grades, "RUN": grades.with_name("run"), "ITEMS": items}
    done = call(*(paths.get(word, word) for word in words), without="aiohttp")
    assert done.returncode == 1
    assert "pip install 'richter[audit]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_extras_that_errors_name_are_defined() -> None:
    sources = [path.read_text() for path in (ROOT / "src").rglob("*.py")]
    named = {extra for text in sources for extra in re.findall(r"richter\[(\w+)\]", text)} | set(EXTRAS.values())
    assert named <= set(PROJECT["optional-dependencies"])


def test_every_command_without_a_module_is_registered_and_every_registered_one_is_a_command() -> None:
    added = {name.replace(" ", ".") for name, (place, _) in COMMANDS.items() if not place}
    assert set(REGISTERED) == added
    for target in REGISTERED.values():
        module, _, attribute = target.partition(":")
        assert isinstance(getattr(import_module(module), attribute), click.Command)


def test_a_third_package_adds_a_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "third.py").write_text("import click\n@click.command()\ndef hello(): click.echo('hello')\n")
    about = tmp_path / "third-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: third\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[richter.commands]\nhello = third:hello\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(SystemExit) as end:
        main(["hello"])
    assert end.value.code == 0


def test_the_section_on_searches_has_its_fields_in_the_schema() -> None:
    schema = results_schema()
    searches = schema["$defs"]["Sections"]["properties"]["search"]["anyOf"]
    kind = next(option["items"]["$ref"] for option in searches if option.get("type") == "array")
    assert {"name", "clusters", "failing", "n_failing"} <= set(schema["$defs"][kind.rpartition("/")[2]]["properties"])
