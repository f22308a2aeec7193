"""Messages that a Python user meets speak Python: `map={"score": "quality"}`, never `--map` or `richter compare`."""

import ast
import contextlib
import dataclasses
import inspect
import json
import pickle
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import richter
from helpers.wiring_facts import base, blank, facts, rated, wrong_of_new
from richter.cli._main import COMMANDS as LISTED
from richter.notebook import Run
from richter.notebook._python_words import COMMANDS, FUNCTIONS, METHODS, OPTIONS, READING, in_python
from richter.records import Note, plain
from richter.tables import Dataset, ReadOptions

SHELL = re.compile(rf"(?<![\w-])--[A-Za-z]|\brichter (?:{'|'.join(COMMANDS)})\b")
LOOKS = ("__str__", "__repr__", "summary", "headline", "_repr_html_")


def texts(value: Any, seen: set[int]) -> Iterator[str]:
    """Every string that is reachable from a result: fields, properties, and what it shows. Documents are not it."""
    if isinstance(value, str):
        yield value
        return
    if id(value) in seen or isinstance(value, Dataset | ReadOptions | Run | pl.DataFrame | np.ndarray | type):
        return
    seen.add(id(value))
    if isinstance(value, Mapping):
        value = [*value.keys(), *value.values()]
    if isinstance(value, list | tuple | set):
        for each in value:
            yield from texts(each, seen)
    elif dataclasses.is_dataclass(value):
        for name in dir(value):
            with contextlib.suppress(AssertionError):  # what is known of a blocked question is not asked
                if not name.startswith("_") and not callable(getattr(value, name)):
                    yield from texts(getattr(value, name), seen)
        for name in LOOKS:
            if callable(look := getattr(value, name, None)) and type(value).__module__.startswith("richter"):
                yield look()


def shell_words(value: Any) -> list[str]:
    return [text for text in texts(value, set()) if SHELL.search(text)]


def found(call: Callable[[], Any]) -> Any:
    """What a call gives, or the state of the error that it raises."""
    try:
        return call()
    except richter.RichterError as error:
        return [str(error), repr(error), *vars(error).values()]


def questions(data: Run) -> dict[str, Callable[[], Any]]:
    """Everything that can be asked of opened data."""
    first = {name: lambda name=name: getattr(data, name)() for name in ("compare", "calibration", "floors", "tail")}
    return first | {
        "severity": lambda: data.severity(n_resamples=50),
        "unpaired": lambda: data.compare(unpaired=True),
        "shared": lambda: data.compare(missing="shared", trust_ids=True, trust_raters=True, trust_labels=True),
        "by": lambda: data.compare(by="domain"),
        "gate": lambda: data.gate(margin="2pt", conditions=data.conditions[:2]),
        "size": lambda: richter.size(data, margin="5pt", conditions=data.conditions[:2]),
        "measure": lambda: data.measure(n_resamples=50),
        "watch": data.watch,
    }


DATASETS = (
    "complete", "rows absent", "failed calls", "two groupings", "three groupings", "few groups", "draws", "weights",
    "human labels", "labels by stratum, labelled rows only", "disjoint raters", "unbalanced raters",
    "unpaired items", "percentages", "less is better", "unused look-alikes", "references beside judges",
    "unchecked judge",
)  # fmt: skip
ON_PAGES = ("rows absent", "unpaired items", "unchecked judge")  # of which all sections are measured too


@pytest.mark.parametrize("name", DATASETS)
def test_no_result_of_a_dataset_speaks_shell(name: str, tmp_path: Path) -> None:
    (fact,) = (each for each in facts() if each.name == name)
    data = richter.open(fact.write(tmp_path), options=ReadOptions(**fact.reading))
    for question, ask in questions(data).items():
        if question != "measure" or name in ON_PAGES:
            assert shell_words(found(ask)) == [], question


def one(tmp_path: Path) -> Path:
    path = tmp_path / "one.csv"
    base(conditions=("only",)).write_csv(path)
    return path


def odd(tmp_path: Path) -> Path:
    path = tmp_path / "odd.csv"
    rows = [f"f{i},{name},{int(i % k > 0)}" for i in range(60) for k, name in ((2, "slow"), (3, "fast"))]
    path.write_text("sheet,flavour,thumb\n" + "\n".join(rows))
    return path


def coded(tmp_path: Path) -> Path:
    path = tmp_path / "coded.csv"
    path.write_text("item,condition,correct\n" + "\n".join(f"q{i},{c},{1 + i % 2}" for i in range(50) for c in "ab"))
    return path


def rows(head: str, cell: Callable[[int], Any]) -> str:
    """A table of two conditions on 40 questions."""
    return f"item,condition,{head}\n" + "\n".join(f"q{i},{name},{cell(i)}" for i in range(40) for name in "ab")


HARD_FILES = {
    "empty": "item,condition,score\n",
    "no score": "item,condition\nq1,a\nq1,b\n",
    "words": rows("grade", lambda i: "ok" if i % 3 else "meh"),
    "averages": "model,accuracy\na,0.8\nb,0.7\n",
    "wide": "question,gpt,llama\n" + "\n".join(f"q{i},{i % 2},{i % 3}" for i in range(40)),
    "status": rows("correct", lambda i: "ERROR" if i % 7 == 0 else i % 2),
}


@pytest.mark.parametrize("name", HARD_FILES)
@pytest.mark.parametrize("confirm", [False, True])
@pytest.mark.filterwarnings("ignore::richter.errors.UnconfirmedReading")
def test_no_refused_file_speaks_shell(name: str, confirm: bool, tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text(HARD_FILES[name])
    assert shell_words(found(lambda: richter.compare(path, confirm=confirm))) == []


def test_one_condition_an_inferred_reading_and_codes_speak_python(tmp_path: Path) -> None:
    alone = found(lambda: richter.compare(one(tmp_path)))
    assert 'richter.open(FILE).report("page.html")' in alone[0]
    proposed = found(lambda: richter.compare(odd(tmp_path)))
    assert any("map={" in text for text in texts(proposed, set()))
    codes = found(lambda: richter.compare(coded(tmp_path)))
    assert 'grade={"1": 1, "2": 0}' in codes[0]
    for error in (alone, proposed, codes):
        assert shell_words(error) == []


def blocked_data(gate: str) -> pl.DataFrame:
    if gate == "missing":
        table = rated(base(n=200))
        return blank(table, wrong_of_new(table, 30), "correct", "severity")
    (fact,) = (
        fact for fact in facts() if fact.block == gate and fact.name in DATASETS and "unbalanced" not in fact.name
    )
    return fact.table


@pytest.mark.parametrize("gate", ["missing", "raters", "labels"])
def test_the_override_of_a_block_is_an_argument_that_lifts_it(gate: str) -> None:
    """It was `--trust-raters`; whoever evaluates it and passes it on gets the claim."""
    data = richter.open(blocked_data(gate))
    blocked = next(claim for claim in data.compare().claims if claim.blocked_by == gate)
    options = eval(f"dict({blocked.override})", {})
    assert options
    again = next(c for c in data.compare(**options).claims if c.measure == blocked.measure)
    assert again.blocked_by != gate


def test_documents_keep_the_words_of_the_command_line() -> None:
    result = richter.compare(blocked_data("raters"))
    claim = next(claim for claim in result.claims if claim.blocked_by)
    assert isinstance(claim.override, Note)
    assert claim.override == "trust_raters=True"
    written = [row["override"] for row in json.loads(result.to_json())["claims"] if row["override"]]
    assert {claim.to_dict()["override"], *written} == {"--trust-raters"}
    assert plain(pickle.loads(pickle.dumps(claim.override))) == "--trust-raters"
    assert result.verify().exit_code == 0


@pytest.mark.parametrize(
    ("shell", "python"),
    [
        ("--map score=quality", 'map={"score": "quality"}'),
        ("--grade ok=right --grade meh=wrong", 'grade={"ok": 1, "meh": 0}'),
        ("--scale=-1:5", "scale=(-1, 5)"),
        ("--as-severity RIGHT:WORST, as 5:1.", "as_severity=(RIGHT, WORST), as 5:1."),
        ("--wide 'a b,c'", 'wide=["a b", "c"]'),
        ("--margin mean_severity=0.2 or --margin 2pt", 'margin={"mean_severity": 0.2} or margin="2pt"'),
        ("Then add --tried 4.", "Then add tried=4."),
        ("--yes", "confirm=True"),
        ("a--b and x --- y", "a--b and x --- y"),
        ("richter compare FILE A B", 'richter.compare(FILE, conditions=("A", "B"))'),
        ("richter compare a.csv --wide x,y", 'richter.compare(richter.open("a.csv", wide=["x", "y"]))'),
        ("richter size --accuracy 0.8 0.84", "richter.size(accuracy=(0.8, 0.84))"),
        ("richter gate a=x.csv b=y.csv --margin 2pt", 'richter.gate({"a": "x.csv", "b": "y.csv"}, margin="2pt")'),
        ("richter gate plan.toml FILE", 'richter.gate(FILE, plan="plan.toml")'),
        ("richter report a.csv --yes -o p.html   see", 'richter.open("a.csv", confirm=True).report("p.html")   see'),
        ("`richter audit --only judge` or `richter label` first", "the command `audit` or the command `label` first"),
    ],
)  # fmt: skip
def test_options_and_commands_in_python_by_hand(shell: str, python: str) -> None:
    assert in_python(shell) == python


def literals(path: Path) -> Iterator[str]:
    """The strings of a source file that are not docstrings; of an f-string what stands in it, a word for values."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    inner = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(p.value) if isinstance(p, ast.Constant) else "w1" for p in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inner | docstrings:
            yield node.value


def test_every_message_of_the_core_can_be_said_in_python() -> None:
    """An option or command that is written into a message, in whatever file, has a Python spelling."""
    root = Path(richter.__file__).parent
    files = [path for path in root.rglob("*.py") if not {"cli", "plugins"} & {*path.relative_to(root).parts}]
    messages = [text for path in files for text in literals(path) if SHELL.search(text) and "var(--" not in text]
    assert len(messages) > 150
    assert [text for text in messages if SHELL.search(in_python(text))] == []


def test_options_that_messages_name_are_those_of_python_and_of_the_command_line() -> None:
    functions = (richter.open, richter.compare, richter.gate, richter.size, Run.calibration, Run.watch, Run.severity)
    keywords = {name for function in functions for name in inspect.signature(function).parameters}
    named = {"confirm" if name == "yes" else name.replace("-", "_") for name in OPTIONS}
    assert named - keywords <= {"q"}  # of `tail`, which takes further fields
    assert set(READING) <= {*inspect.signature(richter.open).parameters}
    assert {name.partition(" ")[0] for name in LISTED} == set(COMMANDS)
    assert all(hasattr(richter, name) for name in FUNCTIONS)
    assert all(hasattr(Run, name) for name in METHODS.values())
