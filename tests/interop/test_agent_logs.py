"""Logs of two simulated agents that Inspect really wrote with its mock model and real tools, faults planted in them.

`studies/agent_faults.py` plants them. 40 tasks with five runs each: docs/validation/agents.md.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from richter.cli import main
from richter.tables import read_tables

pytestmark = pytest.mark.slow  # Inspect runs forty tasks

TASKS, RUNS = 10, 2
AGENTS = ("careful", "hasty")


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the log of each agent, and `planted.json`: agent, task, run, fault."""
    pytest.importorskip("inspect_ai")
    folder = tmp_path_factory.mktemp("agents")
    writer = Path(__file__).parents[2] / "studies" / "agent_faults.py"
    more = ["--words", "later", "--seed", "13", "--tasks", str(TASKS), "--epochs", str(RUNS)]
    command = [sys.executable, str(writer), "--write", str(folder), *more]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return folder


def planted(logs: Path) -> set[tuple[str, str, int, str]]:
    return {tuple(row) for row in json.loads((logs / "planted.json").read_text())}  # type: ignore[misc]


def sources(logs: Path) -> list[str]:
    return [f"{agent}={logs / agent}.json" for agent in AGENTS]


def compare(logs: Path, *more: str) -> dict[str, Any]:
    out = logs / "compare.json"
    with pytest.raises(SystemExit) as end:
        main(["compare", *sources(logs), *more, "--json", str(out)])
    assert end.value.code == 0
    found: dict[str, Any] = json.loads(out.read_text())
    return found


def test_rules_find_planted_faults_and_little_else(logs: Path) -> None:
    tables = read_tables(*sources(logs))
    assert tables.faults is not None
    rows = tables.faults.select("condition", "item", "draw", "rule").iter_rows()
    found = {(condition, item, draw + 1, rule) for condition, item, draw, rule in rows}
    wanted = planted(logs)
    assert len(wanted) >= 10
    assert len({fault for *_, fault in wanted}) >= 5
    assert len(found & wanted) >= 0.8 * len(wanted)  # 92% of all 400 runs: docs/validation/agents.md
    assert len(found & wanted) >= 0.9 * len(found)


def test_the_steps_are_those_that_the_agents_took(logs: Path) -> None:
    """By the writer's own script: every run calls a tool or refuses, and real tools answered."""
    tables = read_tables(*sources(logs))
    assert tables.answers.height == len(AGENTS) * TASKS * RUNS
    assert tables.answers["steps"].null_count() == 0
    refused = {row[:3] for row in planted(logs) if row[3] == "refusal"}
    assert tables.steps is not None
    steps = tables.steps.partition_by("condition", "item", "draw", as_dict=True)
    assert len(steps) == tables.answers.height
    for (condition, item, draw), run in steps.items():
        calls = [step for step in run.to_dicts() if step["role"] == "tool"]
        assert calls or (condition, item, draw + 1) in refused
        assert {step["tool"] for step in calls} <= {
            "bash",
            "search",
            "open_page",
            "write_file",
            "job_status",
            "fetch_record",
        }
        assert all(step["seconds"] is not None for step in calls if not step["error"])
    searched = tables.steps.filter(tables.steps["tool"] == "search")["arguments"][0]
    assert json.loads(searched).keys() == {"query", "limit"}


def test_compare_counts_faults_by_condition_and_names_an_example(logs: Path) -> None:
    found = compare(logs, "--irreversible", "write_file")
    table = found["went_wrong"]
    assert table["runs"] == dict.fromkeys(AGENTS, TASKS * RUNS)
    by_rule = {row["rule"]: row for row in table["rules"]}
    for rule, row in by_rule.items():
        for agent in AGENTS:
            runs = {r[:3] for r in planted(logs) if r[0] == agent and r[3] == rule}
            assert row["runs"][agent] == pytest.approx(len(runs), abs=1)
    severities = [row["severity"] for row in table["rules"]]
    assert severities == sorted(severities, reverse=True)
    example = table["rules"][0]["example"]
    assert (example["condition"], example["item"], example["run"], table["rules"][0]["rule"]) in planted(logs)
    measures = {claim["measure"] for claim in found["claims"]}
    assert measures >= {"accuracy", "steps", "failed_calls", "first_fault", "worst_step", "irreversible"}


def test_the_page_shows_the_table_and_opens_examples(logs: Path) -> None:
    page = logs / "page.html"
    with pytest.raises(SystemExit):
        main(["report", *sources(logs), "-o", str(page)])
    text = page.read_text()
    assert 'id="went-wrong"' in text
    assert "data-show-item" in text
    with pytest.raises(SystemExit):
        main(["report", *sources(logs), "-o", str(page), "--redact"])
    assert "page_0" not in page.read_text()
