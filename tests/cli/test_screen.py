"""The terminal summary: its size at every shape, its requirements, and that nothing in it can do harm."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from helpers.simulated import simulated_run
from richter.audit import SECTIONS, measure_run
from richter.cli._screen import LEAST, WIDTH, summarise
from richter.records import Condition
from richter.store import open_ledger

pytestmark = pytest.mark.xdist_group("screen")  # the documents are made once
LINES = 40  # of a usual terminal


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> dict[int, dict[str, Any]]:
    """Documents of 1, 2, 6 and 21 simulated conditions."""
    found = {}
    for count in (1, 2, 6, 21):
        folder = tmp_path_factory.mktemp("runs") / "simulated"
        simulated_run(folder, conditions=count, items=60, judged=20, drawn=8, draws=6)
        found[count] = measure_run(folder, n_resamples=100).to_dict()
    return found


def fits(lines: list[str], width: int = WIDTH) -> bool:
    return len(lines) <= LINES and all(cell_len(line) <= width for line in lines)


@pytest.mark.parametrize("count", [1, 2, 6, 21])
@pytest.mark.parametrize(("ascii_only", "width"), [(False, WIDTH), (True, WIDTH), (False, LEAST)])
def test_fits_at_every_shape(documents: dict[int, dict[str, Any]], count: int, ascii_only: bool, width: int) -> None:
    document = documents[count]
    lines = summarise(document, ascii_only=ascii_only, after=["report  run/report.html"], width=width)
    text = "\n".join(lines)
    assert fits(lines, width)
    assert " ".join(lines[:3]).startswith(document["answer"][:60])
    assert lines[-1] == "report  run/report.html"
    shown = [c["name"] for c in document["conditions"] if c["name"] in text]
    assert len(shown) >= min(count, 10)
    assert "Checks:" in text
    assert "Next:" in text
    if ascii_only:
        assert text.replace("±", "").isascii()
    if count == 21:
        assert "10 of 21" in text


@pytest.mark.parametrize("missing", SECTIONS)
def test_a_missing_section_is_no_fault(documents: dict[int, dict[str, Any]], missing: str) -> None:
    document = copy.deepcopy(documents[2])
    document["sections"][missing] = {"missing": {"reason": "no data", "remedy": "richter audit --only ask"}}
    document["claims"] = [f for f in document["claims"] if f["section"] != missing]
    for row in document["conditions"]:
        row["knows"] = None
        row["where"] = []
    assert fits(summarise(document))


def test_columns_without_a_value_are_left_out(documents: dict[int, dict[str, Any]]) -> None:
    """Of grades alone four columns of dashes stood there, with what they mean."""
    document = copy.deepcopy(documents[2])
    assert "ECE: how far confidence is off" in "\n".join(summarise(document))
    for row in document["conditions"]:
        row |= {"how_badly": None, "knows": None, "where": []}
    text = "\n".join(summarise(document))
    assert "ECE" not in text.partition("Checks:")[0]
    assert "severe:" not in text
    assert "  -" not in text.partition("Checks:")[0]


def test_an_empty_run_says_so(tmp_path: Path) -> None:
    with open_ledger(tmp_path, mode="write") as ledger:
        ledger.add_conditions([Condition(name="a", model="simulated/a")])
    lines = summarise(measure_run(tmp_path).to_dict())
    assert fits(lines)
    assert "the run is empty" in "\n".join(lines)
    assert "no answers, none graded: no error rate" in "\n".join(lines)


@pytest.mark.parametrize(
    "hostile",
    [
        "\x1b[31mred\x1b[0m\x1b]0;title\x07",
        "a\u202eb" * 20,
        "名前" * 40,
        "x" * 1_000_000,
        "[bold]markup[/bold] {template} <script>",
        "one\ntwo\r\nthree\0four",
    ],
    ids=["controls", "right-to-left", "wide", "long", "markup", "lines"],
)
def test_untrusted_text_is_inert_and_cut(documents: dict[int, dict[str, Any]], hostile: str) -> None:
    changed = json.loads(json.dumps(documents[2]).replace("simulated 01", "NAME"))

    def put(value: Any) -> Any:
        if isinstance(value, str):
            return value.replace("NAME", hostile)
        if isinstance(value, list):
            return [put(v) for v in value]
        return {k: put(v) for k, v in value.items()} if isinstance(value, dict) else value

    lines = summarise(put(changed))
    assert fits(lines)
    assert not any(ord(ch) < 32 or ch in "\u202e\x7f" for line in lines for ch in line)


def test_requirements_are_shown_with_what_came_of_them(documents: dict[int, dict[str, Any]]) -> None:
    document = copy.deepcopy(documents[2])
    claim = next(c for c in document["claims"] if c["estimate"] is not None)
    document["claims"] = [
        claim | {"section": "requirements", "verdict": v, "side": ""} for v in ("blocked", "undecided")
    ]
    text = "\n".join(summarise(document))
    assert text.index("\nnot compared") < text.index("\ninconclusive") < text.index("Checks:")
    document["claims"] *= 5
    assert "2 more requirements in the report" in "\n".join(summarise(document))
