"""Tracing services' exports, in files written by hand in the shapes that `interop._tracing` names its sources for."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from helpers.foreign_logs import write_json, write_lines
from richter.interop import Logs, problems, read_logs


def grades(logs: Logs) -> dict[str, bool | None]:
    return {row.item: row.correct for row in logs.rows}


def test_langfuse(tmp_path: Path) -> None:
    def trace(name: str, value: Any, **generation: Any) -> dict[str, Any]:
        call = {"type": "GENERATION", "model": "gpt-4o", "modelParameters": {"temperature": 0.3}, **generation}
        return {
            "id": f"t-{name}",
            "input": {"question": f"Where is {name}?"},
            "output": "Here",
            "metadata": {"topic": "places"},
            "scores": [{"name": "correctness", "value": value}, {"name": "tone", "stringValue": "warm"}],
            "observations": [call | {"usageDetails": {"input": 7, "output": 2}, "calculatedTotalCost": 0.01}],
            "latency": 0.4,
            "totalCost": 0.01,
        }

    rows = [trace("Oslo", 1), trace("Ur", 0), trace("Rome", None, level="ERROR", statusMessage="timeout")]
    logs = read_logs([write_lines(tmp_path / "export.jsonl", rows)])
    assert grades(logs) == {"Where is Oslo?": True, "Where is Ur?": False, "Where is Rome?": None}
    sample = logs.rows[0].sample
    assert (sample.tokens_in, sample.money_usd, sample.latency_s) == (7, 0.01, 0.4)
    assert logs.rows[2].sample.error == "timeout"
    assert logs.unread["score: a score that is neither a number nor right or wrong"] == 3


def test_langsmith_nested_and_flat(tmp_path: Path) -> None:
    nested = [
        {
            "id": k,
            "run_type": "chain",
            "inputs": {"question": f"q{k}"},
            "outputs": {"answer": "a"},
            "feedback_stats": {"correctness": {"n": 1, "avg": float(k == 0)}},
            "reference_example_id": f"e{k}",
            "extra": {"metadata": {"ls_model_name": "claude"}},
            "error": None,
            "parent_run_id": None,
        }
        for k in (0, 1)
    ]
    nested.append(nested[0] | {"parent_run_id": "x"})
    logs = read_logs([write_lines(tmp_path / "runs.jsonl", nested)])
    assert (list(logs.conditions), grades(logs)) == (["claude"], {"e0": True, "e1": False})
    assert logs.unread == {"run: a step inside another": 1}
    flat = tmp_path / "experiment.csv"
    flat.write_text(
        "inputs.question,outputs.answer,reference.answer,feedback.correct,error,execution_time,example_id,id\n"
        "q0,a,a,1,,0.5,e0,r0\nq1,b,a,0,,0.5,e1,r1\nq2,,a,,boom,0.5,e2,r2\n"
    )
    logs = read_logs([flat])
    assert grades(logs) == {"e0": True, "e1": False, "e2": None}
    assert logs.items["e1"].reference == "a"
    assert logs.rows[2].sample.error == "boom"


def test_braintrust(tmp_path: Path) -> None:
    rows = [
        {
            "id": f"s{k}",
            "span_id": f"s{k}",
            "root_span_id": f"s{k}",
            "input": f"q{k}",
            "output": "a",
            "expected": "a",
            "scores": {"Factuality": score},
            "metadata": {"model": "m"},
            "metrics": {"start": 1.0, "end": 2.5, "prompt_tokens": 4},
            "experiment_id": "x",
        }
        for k, score in enumerate((1, 0.6, None))
    ]
    rows.append(rows[0] | {"span_id": "inner", "span_parents": ["s0"]})
    logs = read_logs([write_json(tmp_path / "rows.json", rows)])
    assert grades(logs) == {"q0": True, "q1": False, "q2": None}
    assert logs.rows[0].sample.latency_s == 1.5
    assert "score between 0 and 1 (Factuality)" in " ".join(problems(logs))


def observation(trace: str, name: str, kind: str, parent: str = "", **more: Any) -> dict[str, Any]:
    """A row of Langfuse's `observations_v2/`: texts that hold JSON, empty text for what is not set."""
    empty = dict.fromkeys(("input", "output", "provided_model_name", "model_parameters", "status_message"), "")
    return {
        "id": name,
        "trace_id": trace,
        "type": kind,
        "parent_observation_id": parent,
        "start_time": "2026-05-29 13:46:19.000000",
        "end_time": "2026-05-29 13:46:20.500000",
        "level": "DEFAULT",
        "metadata": {},
        "usage_details": {},
        "total_cost": 0,
        "latency": 1500,
        "session_id": "",
        **empty,
        **more,
    }


def score(trace: str | None, name: str, value: float, kind: str = "NUMERIC", **more: Any) -> dict[str, Any]:
    return {
        "id": "s",
        "trace_id": trace,
        "observation_id": None,
        "name": name,
        "value": value,
        "data_type": kind,
    } | more


def langfuse_export() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Two traces: a root with a model call and a judge's call beneath an evaluator; a model call that failed alone."""
    call = {"provided_model_name": "gpt-4o", "model_parameters": '{"temperature":0.7}'}
    rows = [
        observation("t1", "root", "SPAN", input='{"question":"Where is Oslo?"}', output="Norway"),
        observation("t1", "g", "GENERATION", "root", usage_details={"input": 5, "output": 2}, total_cost=0.25, **call),
        observation("t1", "e", "EVALUATOR", "root"),
        observation("t1", "j", "GENERATION", "e", total_cost=9.0, provided_model_name="judge", input="x", output="y"),
        observation("t2", "only", "GENERATION", input="Where is Ur?", level="ERROR", status_message="timeout", **call),
        observation("t3", "r3", "GENERATION", input="Where is Rome?", output="Gaul", **call),
    ]
    scores = [
        score("t1", "correctness", 1, "BOOLEAN"),
        score("t1", "note", 0, "TEXT", string_value="well said"),
        score("t1", "inner", 0, observation_id="j"),
        score("t3", "correctness", 1, "CATEGORICAL", string_value="incorrect"),  # the second of its categories
        score(None, "correctness", 0),
    ]
    return rows, scores


def write_export(folder: Path, table: str, rows: list[dict[str, Any]], kind: str) -> Path:
    (folder / table).mkdir(parents=True, exist_ok=True)
    path = folder / table / f"2026-05-29.{kind}"
    flat = [{k: json.dumps(v) if isinstance(v, dict | list) else v for k, v in row.items()} for row in rows]
    if kind == "jsonl":
        return write_lines(path, rows)
    pl.DataFrame(flat, infer_schema_length=None).write_csv(path) if kind == "csv" else pl.DataFrame(flat).write_parquet(
        path
    )
    return path


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet"])
def test_langfuse_bulk_export_is_put_together_by_trace(tmp_path: Path, kind: str) -> None:
    rows, scores = langfuse_export()
    write_export(tmp_path / "p", "observations_v2", rows, kind)
    write_export(tmp_path / "p", "scores", scores, kind)
    logs = read_logs([tmp_path / "p"])
    assert grades(logs) == {"Where is Oslo?": True, "Where is Ur?": None, "Where is Rome?": False}
    assert {s.model for s in logs.conditions.values()} == {"gpt-4o"}
    assert dict(next(iter(logs.conditions.values())).settings) == {"temperature": "0.7"}
    first, failed, _ = (row.sample for row in logs.rows)
    assert (first.answer, first.tokens_in, first.tokens_out, first.money_usd) == ("Norway", 5, 2, 0.25)
    assert first.latency_s == 1.5  # from the times: this `latency` is in milliseconds
    assert first.scores == {"correctness": 1.0, "note": None}
    assert failed.error == "timeout"
    assert logs.unread["score: of a step inside a trace"] == 1
