"""Steps of agents' runs, rated by scripted judges behind a real server and by people on the page, then measured."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from helpers.browser import open_browser
from helpers.server import FakeApi
from judge.test_rating import page_of
from report.test_view import ENTER, app_of, served
from richter.audit import compare_tables, measure_agreement
from richter.cli import main
from richter.errors import InputError
from richter.ratings import step_agreement
from richter.records import Decoding, Rating, StepRating
from richter.report._timelines import runs_of_item
from richter.store import open_ledger
from richter.tables import ratings_of, read_tables
from richter_audit.judge import read_reply
from richter_audit.stages import judge_run, name_conditions

TASKS = 8
RNG = np.random.default_rng(0)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Two agents, four steps a run; step 2 is wrong and says so in every run of `new`, in every other one of `old`."""
    rows = []
    for task in range(TASKS):
        for agent in ("old", "new"):
            word = "WRONG" if agent == "new" or task % 2 else "fine"
            search = {"tool": "search", "result": f"{word} {agent} {task}"}
            first, last = ({"role": "assistant", "text": f"{what} {task}"} for what in ("plan", "answer"))
            steps = [first, search, {"tool": "bash", "result": "ok"}, last]
            rows.append({"task": f"t{task}", "agent": agent, "success": task % 3 > 0, "answer": "a", "steps": steps})
    path, folder = tmp_path / "agents.jsonl", tmp_path / "run"
    path.write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(SystemExit) as end:
        main(["import", str(path), "-o", str(folder)])
    assert not end.value.code
    return folder


def judge_reply(step: int) -> object:
    """A scripted judge that finds the wrong search and names the step as `step`."""

    def reply(prompt: str) -> str:
        data = json.loads(re.search(r"\{.*\}", prompt).group())  # type: ignore[union-attr]
        assert len(data["answer"]["steps"]) == 4
        wrong = "WRONG" in data["answer"]["steps"][1]["result"]
        own = [
            {"step": step, "severity": 3.0, "mechanism": "retrieval"},
            {"step": 99, "severity": 4.0, "mechanism": "x"},
        ]
        severity = 3.0 if wrong else 0.0
        return json.dumps(
            {"reason": "scripted", "mechanism": "retrieval", "severity": severity, "steps": own if wrong else []}
        )

    return reply


def test_judges_rate_steps_and_claims_are_made_on_the_first_decisive_error(run: Path) -> None:
    with FakeApi(reply=judge_reply(2)) as one, FakeApi(reply=judge_reply(2)) as two:
        apis = [f"{api.url}#judge-{k}" for k, api in enumerate((one, two))]
        judge_run(run, judges=name_conditions(apis, decoding=Decoding()))
    with open_ledger(run) as ledger:
        rated = ledger.step_ratings()
    assert {(r.step, r.severity, r.mechanism, r.kind) for r in rated} == {(2, 3.0, "retrieval", "judge")}
    assert len(rated) == 2 * (TASKS + TASKS // 2)
    tables = read_tables(run)
    (claim,) = compare_tables(tables, conditions=("old", "new"), n_resamples=100).of("first_decisive")
    assert claim.values == pytest.approx((0.625, 0.25))  # one of four steps before it, or all of them
    (pair,) = measure_agreement(ratings_of(tables), rng=RNG).steps
    assert (pair.runs, pair.steps, pair.same_first, pair.kappa) == (16, 64, 16, pytest.approx(1.0))
    shown = runs_of_item(tables, "t0")["new", 0]["runs"][0]["faults"][2]
    assert [mark for mark in shown if "judge" in mark] == [f"{r}: severity 3" for r in sorted({x.rater for x in rated})]


def test_people_label_steps_on_the_page_and_take_them_back(run: Path) -> None:
    with open_ledger(run, mode="write") as ledger:
        page = page_of(ledger, n=4)
        task = page.state()["task"]
        assert [words for words, *_ in task["steps"]] == [
            "The agent writes",
            "Calls search",
            "Calls bash",
            "The agent writes",
        ]
        page.rate({"task": task["number"], "severity": 2.5, "steps": {"2": 2.5, "3": 1}})
        assert {r.step: r.severity for r in ledger.step_ratings()} == {1: 0, 2: 2.5, 3: 1, 4: 0}
        again = page.undo()["task"]
        assert again["labels"] == {2: 2.5, 3: 1}
        page.rate({"task": task["number"], "severity": 0, "steps": {}})
        assert not any(r.severity for r in ledger.step_ratings())
        for bad in ({"5": 1}, {"0": 1}, {"2": 2.3}, {"2": True}, {"x": 1}, [1]):
            with pytest.raises(InputError):
                page.rate({"task": task["number"], "severity": 1, "steps": bad})


@pytest.mark.browser
@pytest.mark.xdist_group("browser")
@pytest.mark.slow
def test_a_label_of_a_step_is_chosen_in_a_browser(run: Path, tmp_path: Path) -> None:
    app = app_of(run)
    with served(app) as base, open_browser(tmp_path) as browser:
        browser.go(f"{base}/?token={app.guard.token}")
        browser.wait("document.querySelector('.card .run-name')")
        browser.script("document.querySelector('.card .run-name').click()")
        browser.wait("document.querySelector('#tabs a[href$=rate]')")
        browser.script("document.querySelector('#tabs a[href$=rate]').click()")
        browser.wait("document.querySelector('input[name=rater]')")
        browser.script("document.querySelector('input[name=rater]').value = 'simulated rater'")
        browser.script("document.querySelector('form').requestSubmit()")
        browser.wait("document.querySelectorAll('#steps select').length === 4")
        browser.script(
            "const choice = document.querySelectorAll('#steps select')[1]; choice.value = 3;"
            "choice.dispatchEvent(new Event('change', {bubbles: true}))"
        )
        browser.press("3" + ENTER)
        browser.wait("document.querySelector('#progress').textContent.startsWith('1 of')")
        assert browser.barriers() == []
    with open_ledger(run) as ledger:
        assert {r.step: r.severity for r in ledger.step_ratings()} == {1: 0, 2: 3, 3: 0, 4: 0}


def test_agreement_on_steps_by_hand() -> None:
    """Ten steps of two runs: 3 and 3, 0 and 2, else 0; D = 4/10, E from means .3, .5 and squares .9, 1.3."""
    found = []
    for rater, severities in (("a", {1: 3.0}), ("b", {1: 3.0, 7: 2.0})):
        for k in range(1, 11):
            run = Rating(item=f"t{k // 6}", condition="c", rater=rater, kind="human", severity=1.0)
            found.append(run.of_step(k, severities.get(k, 0.0)))
    (pair,) = step_agreement(found, rng=RNG)
    expected = 0.9 - 0.09 + 1.3 - 0.25 + 0.04
    assert pair.kappa == pytest.approx(1 - 0.4 / expected)
    assert (pair.runs, pair.steps, pair.same_first) == (2, 10, 1)
    assert all(isinstance(r, StepRating) for r in found)


def test_a_reply_with_spoilt_steps_keeps_what_can_be_read() -> None:
    steps = [{"step": 1, "severity": 2}, {"step": "2", "severity": 2}, {"step": 3, "severity": 9}, 7, {"step": True}]
    text = json.dumps({"reason": "r", "mechanism": "none", "severity": 2, "steps": steps})
    assert read_reply(text).steps == ((1, 2.0, ""),)
    assert read_reply(json.dumps({"reason": "r", "mechanism": "none", "severity": 2, "steps": "x"})).steps == ()
