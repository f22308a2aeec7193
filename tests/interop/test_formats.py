"""Every other format, in files made here by `helpers.foreign_logs`, which says what each was held against."""

import json
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import richter
from helpers.foreign_logs import (
    lm_eval_choice,
    lm_eval_generation,
    openai_evals_rows,
    promptfoo_row,
    write_deepeval,
    write_helm,
    write_json,
    write_lines,
    write_lm_eval,
)
from richter.interop import LogOptions, Logs, problems, read_logs
from richter.tables import read_tables, write_tables


def grades(logs: Logs) -> dict[str, bool | None]:
    return {row.item: row.correct for row in logs.rows}


def test_lm_eval_likelihoods_become_confidences_by_hand(tmp_path: Path) -> None:
    rows = [lm_eval_choice(0, 0, [-1.0, -2.0, -3.0]), lm_eval_choice(1, 1, [-1.0, -2.0, -3.0])]
    logs = read_logs([write_lm_eval(tmp_path, "trees", rows)])
    assert logs.readings[0].format == "lm-evaluation-harness samples"
    assert dict(logs.conditions)["org/tiny"].settings == (("n-shot", "5"), ("pretrained", "org/tiny"))
    assert grades(logs) == {"0": True, "1": False}
    sure = math.exp(-1) / (math.exp(-1) + math.exp(-2) + math.exp(-3))
    assert logs.rows[0].sample.confidences == {"options": pytest.approx(sure)}
    assert [r.sample.answer for r in logs.rows] == ["ash", "ash"]
    assert (logs.items["1"].reference, logs.items["1"].options) == ("birch", ("ash", "birch", "cedar"))
    assert logs.items["0"].domain == "trees"


def test_lm_eval_rows_of_several_filters_are_one_answer(tmp_path: Path) -> None:
    rows = [lm_eval_generation(n, "strict", "42", 1.0) for n in range(3)]
    rows += [lm_eval_generation(n, "loose", "41", 0.0) for n in range(3)]
    path = write_lm_eval(tmp_path, "sums", rows)
    logs = read_logs([path])
    assert grades(logs) == {"0": True, "1": True, "2": True}
    said = " ".join(problems(logs))
    assert all(word in said for word in ("filter strict", "loose", "--filter"))
    assert logs.unread == {"repeat: it has no grade of its own": 3}
    assert set(grades(read_logs([path], options=LogOptions(filter="loose"))).values()) == {False}


def test_helm(tmp_path: Path) -> None:
    logs = read_logs([write_helm(tmp_path / "run")])
    assert logs.readings[0].format == "HELM run"
    assert grades(logs) == {"id1": True, "id2": False, "id3": None, "id4": True}
    by_item = {r.item: r.sample for r in logs.rows}
    assert by_item["id1"].answer == "Paris"
    assert by_item["id3"].error == "HTTP 500"
    assert by_item["id4"].confidences == {"options": pytest.approx(1 / (1 + math.exp(-1) + math.exp(-2)))}
    assert (by_item["id2"].logprobs, by_item["id2"].latency_s) == ((-0.7,), 0.5)
    assert logs.items["id1"].reference == "Paris"
    assert "num_prompt_tokens" not in by_item["id1"].scores


def promptfoo_rows() -> list[dict[str, Any]]:
    prompts = ("Answer: {{q}}", "Be brief. {{q}}")
    return [
        promptfoo_row(question, "mock-a", prompt, reason)
        for prompt in prompts
        for question, reason in (("Q1", 0), ("Q1", 0), ("Q2", 1), ("Q3", 2))
    ]


@pytest.mark.parametrize("lines", [True, False])
def test_promptfoo_tells_a_failed_assertion_from_a_failed_call(tmp_path: Path, lines: bool) -> None:
    rows = promptfoo_rows()
    document = {"evalId": "eval-1", "results": {"version": 3, "results": rows, "stats": {}}, "config": {}}
    path = write_lines(tmp_path / "out", rows) if lines else write_json(tmp_path / "out", document)
    logs = read_logs([path])
    assert list(logs.conditions) == ["mock-a (prompt Answer: {{q}})", "mock-a (prompt Be brief. {{q}})"]
    assert len(logs.items) == 3
    first = [r for r in logs.rows if r.condition.endswith("Answer: {{q}})")]
    assert [(r.sample.draw, r.correct, r.sample.error) for r in first] == [
        (0, True, ""),
        (1, True, ""),  # a repeat is a draw
        (0, False, ""),  # a failed assertion: wrong, not failed
        (0, None, "503 overloaded"),
    ]
    assert (first[0].sample.money_usd, first[0].sample.latency_s, first[0].sample.tokens_in) == (0.002, 0.03, 12)


def test_deepeval(tmp_path: Path) -> None:
    logs = read_logs([write_deepeval(tmp_path / "test_run.json")])
    assert grades(logs) == {"case0": True, "case1": False, "case2": None}
    assert list(logs.conditions) == ["gpt-4o"]
    assert logs.rows[0].sample.votes == {"Correctness/gpt-x": 0.8, "Style/gpt-x": 0.4}
    assert logs.unread == {"case: a conversation, which has no single answer": 1}
    style = read_logs([tmp_path / "test_run.json"], options=LogOptions(scorer="Style"))
    assert set(grades(style).values()) == {False}


def test_lighteval(tmp_path: Path) -> None:
    folder = tmp_path / "details" / "org" / "tiny" / "2026-11-15T07-27-18"
    folder.mkdir(parents=True)
    rows = [
        {
            "doc": {
                "query": f"Which, {k}?",
                "choices": ["ash", "elm"],
                "gold_index": [k],
                "task_name": "trees|5",
                "id": str(k),
            },
            "model_response": {"text": ["ash"], "logprobs": [-1.0, -2.0]},
            "metric": {"acc": float(k == 0)},
        }
        for k in (0, 1)
    ]
    path = folder / "details_trees_2026-11-15T07-27-18.parquet"
    pl.DataFrame(rows).write_parquet(path)
    logs = read_logs([path])
    assert (list(logs.conditions), grades(logs)) == (["org/tiny"], {"0": True, "1": False})
    assert logs.rows[0].sample.confidences["options"] == pytest.approx(1 / (1 + math.exp(-1)))
    assert (logs.items["1"].reference, logs.rows[0].sample.task) == ("elm", "trees")


def test_openai_evals(tmp_path: Path) -> None:
    logs = read_logs([write_lines(tmp_path / "log.jsonl", openai_evals_rows())])
    assert list(logs.conditions) == ["gpt-4"]
    assert grades(logs) == {"trees.1": True, "trees.2": False, "trees.3": None, "trees.4": True}
    by_item = {r.item: r.sample for r in logs.rows}
    assert (by_item["trees.1"].answer, logs.items["trees.1"].prompt) == ("yes", "Ash?")
    assert by_item["trees.3"].error == "slow down"
    assert by_item["trees.4"].confidences["options"] == pytest.approx(1 / (1 + math.exp(-2)))
    assert logs.items["trees.2"].aliases == ("never",)
    assert logs.unread == {"event: of type raw_sample": 1}
    cut = write_lines(tmp_path / "cut.jsonl", openai_evals_rows()[:-1])
    assert "no final report" in " ".join(problems(read_logs([cut])))


@pytest.mark.slow
def test_files_really_written_by_lm_eval(tmp_path: Path) -> None:
    """lm-eval with its dummy model on a local task; the mean of our grades is the accuracy it reports itself."""
    python = tool("lm_eval", "RICHTER_LM_EVAL_PYTHON")
    rows = [{"question": f"Q{i}?", "choices": ["aa", "bb", "cc"], "answer": i % 3} for i in range(30)]
    write_lines(tmp_path / "mc.jsonl", rows)
    (tmp_path / "mc.yaml").write_text(
        f"task: mini\ndataset_path: json\ndataset_kwargs: {{data_files: {{test: {tmp_path / 'mc.jsonl'}}}}}\n"
        'test_split: test\noutput_type: multiple_choice\ndoc_to_text: "{{question}}"\ndoc_to_choice: "{{choices}}"\n'
        'doc_to_target: "{{answer}}"\nmetric_list:\n  - metric: acc\n'
    )
    command = [python, "-m", "lm_eval", "--model", "dummy", "--tasks", "mini", "--include_path", str(tmp_path)]
    command += ["--output_path", str(tmp_path / "out"), "--log_samples"]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "hf")}
    subprocess.run(command, check=True, capture_output=True, env=environment)
    [results] = (tmp_path / "out").rglob("results_*.json")
    reported = json.loads(results.read_text())["results"]["mini"]["acc,none"]
    logs = read_logs([tmp_path / "out"])
    assert len(logs.rows) == 30
    assert sum(r.correct is True for r in logs.rows) / 30 == pytest.approx(reported)


@pytest.mark.slow
def test_a_file_really_written_by_promptfoo(tmp_path: Path) -> None:
    command = os.environ.get("RICHTER_PROMPTFOO") or shutil.which("promptfoo")
    if command is None:
        pytest.skip("promptfoo is not installed (npm install promptfoo; RICHTER_PROMPTFOO names it)")
    (tmp_path / "provider.js").write_text(
        "module.exports = class { id() { return 'mock:a' } async callApi(p) { "
        "return p.includes('Q3') ? {error: '503'} : {output: p.includes('Q1') ? 'Paris' : 'Rome'} } };\n"
    )
    tests = [{"vars": {"q": f"Q{k}"}, "assert": [{"type": "equals", "value": "Paris"}]} for k in (1, 2, 3)]
    config = {"prompts": ["{{q}}"], "providers": ["file://provider.js"], "tests": tests}
    write_json(tmp_path / "promptfooconfig.json", config)
    environment = {**os.environ, "PROMPTFOO_DISABLE_TELEMETRY": "1", "PROMPTFOO_CONFIG_DIR": str(tmp_path / "home")}
    arguments = ["eval", "-c", "promptfooconfig.json", "-o", "out.json", "--no-cache"]
    subprocess.run([command, *arguments], cwd=tmp_path, capture_output=True, env=environment, check=False)
    logs = read_logs([tmp_path / "out.json"])
    assert [(r.correct, bool(r.sample.error)) for r in logs.rows] == [(True, False), (False, False), (None, True)]


@pytest.mark.slow
def test_a_file_really_written_by_deepeval(tmp_path: Path) -> None:
    python = tool("deepeval", "RICHTER_DEEPEVAL_PYTHON")
    script = Path(__file__).with_name("write_deepeval_run.py")
    subprocess.run([python, script, tmp_path / "out"], check=True, capture_output=True, cwd=tmp_path)
    logs = read_logs([tmp_path / "out"])
    assert logs.readings[0].format == "DeepEval test run"
    assert [r.correct for r in logs.rows] == [False, True, False, True, None, True]


def tool(module: str, variable: str) -> str:
    """A Python that has the tool: one named by the environment, or this one; else the test is skipped."""
    python = os.environ.get(variable, sys.executable)
    if subprocess.run([python, "-c", f"import {module}"], capture_output=True, check=False).returncode:
        pytest.skip(f"{module} is not installed ({variable} names a Python that has it)")
    return python


def test_a_run_made_of_a_table_keeps_groups_weights_and_tiers(tmp_path: Path, rng: np.random.Generator) -> None:
    n = 120
    frame = pl.DataFrame(
        {
            "item": np.repeat([f"q{i}" for i in range(n)], 2),
            "condition": ["a", "b"] * n,
            "correct": (rng.random(2 * n) < np.repeat(rng.random(n // 6), 12)).astype(int),
            "group": np.repeat([f"passage {g}" for g in range(n // 6)], 12),
            "weight": np.repeat(rng.choice([0.5, 1.0, 2.0], n), 2),
            "tier": np.repeat(rng.integers(1, 6, n), 2),
        }
    )
    tables = read_tables(frame)
    write_tables(tables, tmp_path / "run")
    again = richter.open(tmp_path / "run").compare().claims[0]
    first = richter.open(frame).compare().claims[0]
    assert (again.unit, again.units) == (first.unit, first.units) == ("group", n // 6)
    assert (again.estimate, again.interval) == (first.estimate, first.interval)
    kept = read_tables(tmp_path / "run").answers
    assert (
        kept.sort("item", "condition")["tier"].to_list() == tables.answers.sort("item", "condition")["tier"].to_list()
    )
