"""A whole judging run: rules and a panel behind a real HTTP server, resumed, audited, aggregated and written out."""

import json
import re
import shutil
from pathlib import Path

import pytest

from helpers.server import FakeApi
from richter.cli import main
from richter.errors import BudgetExhausted, InputError
from richter.records import Decoding, Item
from richter.store import Ledger, open_ledger
from richter.tables import ReadOptions, read_tables, scores_table
from richter_audit.llm import Budget
from richter_audit.stages import ask_run, estimate_judging, judge_run, name_conditions

GOLDEN = Path(__file__).parent


def items(count: int = 12) -> list[Item]:
    rows = [json.loads(line) for line in (GOLDEN / "golden.jsonl").read_text(encoding="utf-8").splitlines()]
    return [Item.from_dict(row["item"]) for row in rows[:count]]


def judge_reply(prompt: str) -> str:
    """A scripted judge: 2.0 or 3.5 by the length of the data; useless on one answer in three."""
    size = len(re.search(r"\{.*\}", prompt).group())
    if size % 3 == 0:
        return "I would rather not say."
    return json.dumps({"reason": "scripted", "mechanism": "retrieval", "severity": 2.0 if size % 2 else 3.5})


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    with FakeApi() as api:
        ask_run(folder, items(), name_conditions([api.model], decoding=Decoding(max_tokens=8)))
    shutil.copy(GOLDEN / "golden.gazetteer.json.gz", folder / "facts.gazetteer.json.gz")
    return folder


def panel(*apis: FakeApi) -> list:
    return name_conditions([f"{api.url}#judge-{i}" for i, api in enumerate(apis)], decoding=Decoding())


def test_rules_and_panel(run: Path) -> None:
    with FakeApi(reply=judge_reply) as one, FakeApi(reply=judge_reply) as two, FakeApi(reply=judge_reply) as three:
        judges = panel(one, two, three)
        result = judge_run(run, judges=judges, rules=True)
        asked = sum(sum(api.requests.values()) for api in (one, two, three))
        again = judge_run(run, judges=judges, rules=True)
        assert sum(sum(api.requests.values()) for api in (one, two, three)) == asked  # nothing is paid for twice
    assert result.n_rule == 12
    assert result.self_judging.n_self == 0
    assert result.judges.reference == "rule"
    assert result.n_missing > 0  # the judges' useless replies are missing, not 0
    assert again.n_judge == result.n_judge
    with open_ledger(run) as ledger:
        judged = ledger.ratings(kind="judge")
        assert len({r.rater for r in judged}) == 3  # dealt round robin
        assert all(r.severity is None or r.reason == "scripted" for r in judged)
        assert len(ledger.answered_draws(ledger.conditions()[0].name)) == 12  # a judge's reply is no answer of the run
    rows = scores_table(read_tables(run, options=ReadOptions(ratings="judge")))
    assert set(rows["severity"]) <= {2.0, 2.75, 3.5}
    assert len(rows) < 12  # answers on which every judge failed have no score


def test_ratings_are_kept_together_and_when_the_budget_ends(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two judges rate each answer: five whole pairs fit into a budget of 11 calls, and are there when it ends."""
    writes = []
    add = Ledger.add_ratings
    monkeypatch.setattr(Ledger, "add_ratings", lambda self, own: writes.append(len(own)) or add(self, own))

    def reply(prompt: str) -> str:
        return json.dumps({"reason": "scripted", "mechanism": "retrieval", "severity": 2.0})

    with FakeApi(reply=reply) as one, FakeApi(reply=reply) as two:
        judges = panel(one, two)
        with pytest.raises(BudgetExhausted):
            judge_run(run, judges=judges, budget=Budget(calls=12 + 11), concurrency=1)
        with open_ledger(run) as ledger:
            assert len(ledger.ratings(kind="judge")) == 10
        judge_run(run, judges=judges)
        assert sum(sum(api.requests.values()) for api in (one, two)) == 24
    with open_ledger(run) as ledger:
        assert len(ledger.ratings(kind="judge")) == 24
    assert len(writes) == 2


def test_the_audited_model_never_judges_itself(run: Path) -> None:
    with open_ledger(run) as ledger:
        audited = ledger.conditions()[0].model
    same = name_conditions([audited])
    with pytest.raises(InputError, match="No judge is left"):
        judge_run(run, judges=same)
    other_name = name_conditions([audited.replace("#fake", "#FAKE-2026-01-01")])
    with pytest.raises(InputError, match="No judge is left"):
        judge_run(run, judges=other_name)


def test_limit_and_estimate(run: Path) -> None:
    with FakeApi(reply=judge_reply) as one, FakeApi(reply=judge_reply) as two:
        judges = panel(one, two)
        estimate = estimate_judging(run, judges=judges, limit=4)
        assert (estimate.n_answers, estimate.calls_least, estimate.calls_most) == (4, 8, 8)
        assert estimate.money_usd_most is None  # no price is known: not 0
        judge_run(run, judges=judges, limit=4)
        assert sum(one.requests.values()) + sum(two.requests.values()) == 8


def test_a_panel_that_says_nothing_has_no_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bench = tmp_path / "qa.jsonl"
    rows = ({"id": f"i{n}", "prompt": f"question {n}", "reference": f"right {n}"} for n in range(12))
    bench.write_text("".join(json.dumps(row) + "\n" for row in rows))

    def call(*arguments: object) -> int:
        with pytest.raises(SystemExit) as ended:
            main([str(a) for a in arguments])
        return int(ended.value.code or 0)

    with FakeApi(reply=lambda _: "no verdict of mine") as judge, FakeApi(reply=lambda _: "right 1") as model:
        options = ("--bench", bench, "--model", model.model, "--judges", judge.model, "--allow-self", "--draws", "0")
        assert call("audit", tmp_path / "run", *options, "--json", tmp_path / "r.json") == 1
        document = json.loads((tmp_path / "r.json").read_text())
        check = next(c for c in document["checks"] if c["name"] == "judge replies read")
        assert check["passed"] is False
        assert "12 of 12 judge replies gave no score" in check["text"]
        assert "no verdict of mine" in check["text"]
        capsys.readouterr()
        out = tmp_path / "scores.csv"
        assert (
            call("audit", "--only", "judge", tmp_path / "run", "--judges", judge.model, "--allow-self", "-o", out) == 1
        )
        said = capsys.readouterr()
        assert "12 of 12 judge replies gave no score" in said.out
        assert "no answer has a verdict" in said.err
        assert not out.exists()
