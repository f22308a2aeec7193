"""`richter audit` from the command line: what it prints, prices, writes, and its exit status."""

import json
import shutil
from pathlib import Path

import pytest

from helpers.server import FakeApi
from richter.audit import lock_plan, new_plan
from richter.cli import main
from richter.words import SECTION_LACKS
from richter_audit.cli._audit_output import exit_status

GAZETTEER = Path(__file__).parents[1] / "judge" / "golden.gazetteer.json.gz"


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    rows = ({"id": f"i{n}", "prompt": f"question {n}", "reference": f"right {n}", "domain": "d"} for n in range(60))
    path = tmp_path / "facts.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    shutil.copy(GAZETTEER, tmp_path / "facts.gazetteer.json.gz")
    return path


def reply(prompt: str) -> str:
    """Right in nine of ten."""
    number = prompt.removeprefix("question ")
    return f"right {number}" if int(number) % 10 else "something else"


def call(*arguments: object) -> int:
    with pytest.raises(SystemExit) as ended:
        main([str(a) for a in arguments])
    return int(ended.value.code or 0)


def test_a_run_ends_with_the_summary_and_the_document(
    tmp_path: Path, bench: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with FakeApi(reply=reply) as api:
        options = [
            "--bench",
            bench,
            "--model",
            api.model,
            "--draws",
            "2",
            "--drawn",
            "4",
            "--json",
            tmp_path / "r.json",
        ]
        assert call("audit", tmp_path / "run", *options) == 0
        first = capsys.readouterr()
        total = api.requests.total()
        assert total == 60 + 8
        assert call("audit", tmp_path / "run", *options) == 0
        assert api.requests.total() == total
        assert capsys.readouterr().out == first.out
    assert first.out.startswith("fake is right in 90.0% of 60 questions (95% CI 79.9 to 95.3).")  # Wilson, 54 of 60
    assert "90% (80 to 95)" in first.out
    assert "asking: 60/60" in first.err
    assert "measuring severity" in first.err
    assert (tmp_path / "run" / "report.html").stat().st_size > 10_000
    document = json.loads((tmp_path / "r.json").read_text())
    assert document["schema"] == "richter/results"


def test_a_dry_run_prices_every_stage_and_asks_nothing(
    tmp_path: Path, bench: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with FakeApi(reply=reply) as api:
        assert call("audit", tmp_path / "run", "--bench", bench, "--model", api.model, "--dry-run", "--json", "-") == 0
        assert api.requests.total() == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["calls"] == 60 + 60 * 20
    assert "tokens, price unknown." in said.err
    assert "$0" not in said.err.split("\n")[0]
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("limit", "status", "sentence"),
    [
        (0.5, 0, " error rate of fake is below 50% (one-sided 95%: at most "),
        (0.01, 3, " error rate of fake is above 1%: 10.0% (one-sided 95%: at least "),
        (0.12, 4, " Can't rule out that error rate of fake is above 12% (one-sided 95%: at most "),
    ],
)
def test_exit_status_by_the_plans_requirements(
    tmp_path: Path, bench: Path, limit: float, status: int, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Six of 60 are wrong: surely below 0.5, surely not below 0.01, not known of 0.12."""
    plan = tmp_path / "plan.toml"
    rule = {"metric": "error_rate", "rule": "below", "limit": limit}
    plan.write_text(new_plan("gate", {"candidate": "fake", "require": [rule]}))
    lock_plan(plan)
    with FakeApi(reply=reply) as api:
        options = ["--bench", bench, "--model", api.model, "--draws", "0", "--plan", plan]
        assert call("audit", tmp_path / "run", *options) == status
    assert sentence in " ".join(capsys.readouterr().out.split())


def test_an_unlocked_plan_is_said_before(tmp_path: Path, bench: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = tmp_path / "plan.toml"
    rule = {"metric": "error_rate", "rule": "below", "limit": 0.5}
    plan.write_text(new_plan("gate", {"candidate": "fake", "require": [rule], "on_undecided": "warn"}))
    with FakeApi(reply=reply) as api:
        call("audit", tmp_path / "run", "--bench", bench, "--model", api.model, "--draws", "0", "--plan", plan)
    assert "the plan is not locked; every finding will be exploratory" in capsys.readouterr().err


def test_stops_when_decided(tmp_path: Path, bench: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with FakeApi(reply=lambda prompt: "something else") as api:
        options = ["--bench", bench, "--model", api.model, "--draws", "0", "--stop-when", "error_rate < 0.05"]
        assert call("audit", tmp_path / "run", *options) == 0
        assert api.requests.total() == 25  # one batch: all of it wrong
    said = " ".join(capsys.readouterr().out.split())
    assert "error_rate < 0.05: refuted" in said
    assert "Asked 25 of 60 items." in said
    assert "✗ number of items fixed before" in said


def test_a_budget_that_ends_is_measured_and_said(
    tmp_path: Path, bench: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with FakeApi(reply=reply) as api:
        options = ["--bench", bench, "--model", api.model, "--draws", "0", "--budget", "30calls"]
        assert call("audit", tmp_path / "run", *options) == 1
    said = capsys.readouterr()
    assert "is used up" in said.err
    assert "30 of 60" in said.out or "every item answered" in said.out


def test_an_undecided_requirement_may_only_warn() -> None:
    rule = {"section": "requirements", "measure": "accuracy"}
    document = {"claims": [{**rule, "verdict": "undecided"}], "methods": {"plan": None}, "checks": []}
    assert exit_status(document) == 4
    document["methods"] = {"plan": {"fields": {"on_undecided": "warn"}}}
    assert exit_status(document) == 0
    document["claims"].append({**rule, "verdict": "refuted"})
    assert exit_status(document) == 3


def test_own_questions_with_references_need_no_judge(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "qa.csv"
    rows = "".join(f"question {n},right {n}\n" for n in range(1, 58))
    table.write_text(f'question,answer\n{rows}question 58,\nquestion 59,"1,000"\n')
    with FakeApi(reply=reply) as api:
        options = ["--bench", table, "--model", api.model, "--draws", "0"]
        assert call("audit", tmp_path / "run", *options, "--json", tmp_path / "r.json") == 0
        said = capsys.readouterr()
        assert "says for 57 items, number for 1 item; 1 without a reference are not graded" in said.err
        assert "52 of 58 right" in said.err  # 10, 20 .. 50 of those with a text, and the number
        document = json.loads((tmp_path / "r.json").read_text())
        [condition] = document["conditions"]
        assert document["run"]["ratings"] == "grader"
        assert condition["how_often"]["n"] == 58
        assert condition["how_often"]["estimate"] == pytest.approx(6 / 58)
        assert condition["how_badly"] is None
        assert document["sections"]["severity"]["missing"]["reason"] == SECTION_LACKS["severity"]
        assert call("audit", tmp_path / "run", *options, "--grader", "exact") == 0
        assert "As grader:says grades 57 of 57" in capsys.readouterr().err


def test_a_claim_is_decided_on_grades_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "qa.csv"
    table.write_text("question,answer\n" + "".join(f"question {n},right {n}\n" for n in range(400)))
    with FakeApi(reply=reply) as api:
        options = ["--bench", table, "--model", api.model, "--draws", "0", "--stop-when", "error_rate < 0.5"]
        assert call("audit", tmp_path / "run", *options) == 0
        assert api.requests.total() < 400
