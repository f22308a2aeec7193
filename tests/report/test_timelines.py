"""The steps of agents' runs beside their answers: in the page, in the app, and in a real Chromium."""

import base64
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from helpers.browser import Browser, open_browser
from richter.audit import measure_run
from richter.cli import main
from richter.report import read_evidence, write_report
from richter.report._index import EvidenceIndex, first_items
from richter.report._runs_app import _one_item
from richter.report._timelines import MAX_SHOWN_STEPS, MAX_STEPS_SENT
from richter.tables import read_tables

HOSTILE = "<img src=x onerror='window.hit=1'>\u202e\x1b[31m</script><script>window.hit=2</script>"
LOOK = {"tool": "search", "arguments": {"q": "Oslo"}, "result": "709037 people"}
FAIL = {"tool": "bash", "arguments": {"cmd": HOSTILE}, "error": HOSTILE}
SAY = {"role": "assistant", "text": "709037"}


def run(agent: str, task: int, steps: list[dict[str, Any]]) -> dict[str, Any]:
    return {"task": f"t{task}", "agent": agent, "success": task % 2 == 0, "answer": "709037", "steps": steps}


def written(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("\n".join(map(json.dumps, rows)) + "\n")
    return path


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two agents, 20 tasks, two runs each: `new` fails two calls in its second."""
    rows = []
    for task in range(20):
        rows += [run("old", task, [LOOK, SAY]), run("old", task, [LOOK, SAY])]
        rows += [run("new", task, [LOOK, SAY]), run("new", task, [LOOK, FAIL, FAIL, SAY])]
    return written(tmp_path_factory.mktemp("steps") / "runs.jsonl", rows)


@pytest.fixture(scope="module")
def kept(lines: Path) -> str:
    """The same as a run."""
    with pytest.raises(SystemExit) as end:
        main(["import", str(lines), "-o", str(lines.parent / "run")])
    assert not end.value.code
    return str(lines.parent / "run")


def packed_rows(path: Path) -> list[dict[str, Any]]:
    table = json.loads(gzip.decompress(base64.b64decode(read_evidence(read_tables(path)).packed)))
    rows: list[dict[str, Any]] = table["rows"]
    return rows


def check_runs(row: dict[str, Any]) -> None:
    """The runs of t3, worked by hand."""
    old, new = row["answers"]
    assert [(r["run"], r["state"], r["n"], r.get("first")) for r in old["runs"]] == [
        (1, "wrong", 2, None), (2, "wrong", 2, None)]  # fmt: skip
    assert [(r["run"], r["state"], r["n"], r.get("first")) for r in new["runs"]] == [
        (1, "wrong", 2, None), (2, "wrong", 4, 2)]  # fmt: skip
    faulty = json.loads(json.dumps(new["runs"][1]))
    assert faulty["faults"] == {"2": ["failed call"], "3": ["failed call"]}
    assert [step[0] for step in faulty["steps"]] == [1, 2, 3, 4]
    assert faulty["steps"][0][2:] == ['{"q": "Oslo"}', "709037 people"]
    assert "<img src=x" in faulty["steps"][1][3]  # it is put in as text
    assert not {"\u202e", "\x1b"} & set(json.dumps(faulty, ensure_ascii=False))


def test_the_page_packs_every_run_with_its_first_fault_by_hand(lines: Path) -> None:
    check_runs(next(row for row in packed_rows(lines) if row["item"] == "t3"))


def test_the_app_shows_the_same_runs_before_and_after_it_has_read_all(kept: str) -> None:
    index = EvidenceIndex(kept)
    try:
        (row,) = index.find({"item": "t3", "show": "all"})["rows"]
    finally:
        index.close()
    check_runs(row)
    check_runs(next(row for row in first_items(kept, {"limit": "20"})["rows"] if row["item"] == "t3"))


def test_one_question_in_the_app_has_the_whole_steps(kept: str) -> None:
    answers = {(a["condition"], a["draw"]): a for a in _one_item(kept, "t3")["answers"]}
    (faulty,) = answers["new", 1]["runs"]
    assert (faulty["run"], faulty["first"], len(faulty["steps"])) == (2, 2, 4)
    (sound,) = answers["old", 0]["runs"]
    assert "first" not in sound


def test_a_long_run_shows_its_beginning_and_what_surrounds_its_faults(tmp_path: Path) -> None:
    looks = [{"tool": "search", "arguments": {"q": k}, "result": f"709037 {'x' * 5_000}"} for k in range(300)]
    rows = [run(agent, task, [*looks[:280], FAIL, *looks[280:]]) for agent in ("old", "new") for task in range(4)]
    (found,) = packed_rows(written(tmp_path / "long.jsonl", rows))[0]["answers"][0]["runs"]
    places = [step[0] for step in found["steps"]]
    assert found["n"] == 301
    assert len(places) == MAX_SHOWN_STEPS
    assert {278, 279, 280, 281, 282} <= set(places)
    assert max(len(text) for step in found["steps"] for text in step[2:]) <= 300


def test_steps_beyond_the_page_are_counted_and_not_packed(tmp_path: Path) -> None:
    rows = [run(agent, task, [LOOK] * 39 + [SAY]) for agent in ("old", "new") for task in range(100)]
    cells = [cell for row in packed_rows(written(tmp_path / "many.jsonl", rows)) for cell in row["answers"]]
    runs = [run for cell in cells for run in cell["runs"]]
    assert len(runs) == 200
    assert all(run["n"] == 40 for run in runs)
    assert sum(len(run.get("steps", ())) for run in runs) == MAX_STEPS_SENT


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with open_browser(tmp_path_factory.mktemp("browser")) as browser:
        yield browser


@pytest.mark.browser
@pytest.mark.xdist_group("browser")
def test_an_example_opens_its_question_at_the_first_fault_and_nothing_runs(
    driver: Browser, lines: Path, tmp_path: Path
) -> None:
    results = measure_run(lines)
    page = write_report(results.to_dict(), results.tables, tmp_path / "report.html", built_at="2026-01-01")
    driver.size(390, 844)
    driver.go(page.as_uri())
    driver.wait("window.RICHTER_REPORT")
    driver.logged()
    driver.script("document.querySelector('[data-show-item]').click()")
    driver.wait("document.querySelector('.timeline[open] details[open] li.first')")
    assert driver.script("return [...document.querySelectorAll('.items article')].map((n) => n.dataset.item)") == ["t0"]
    first = driver.script("""const n = document.querySelector('.timeline li.first');
        return [n.value, n.closest('.side').dataset.condition, n.closest('details').dataset.run,
                n.querySelectorAll('pre').length]""")
    assert first == [2, "new", "2", 2]
    assert driver.script("return document.querySelectorAll('.timeline img, .timeline script').length") == 0
    assert driver.script("return window.hit") is None
    assert driver.script("return document.documentElement.scrollWidth") <= 390
    assert driver.logged() == []
