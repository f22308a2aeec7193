"""Traces of agents in OpenTelemetry's JSON, in files written here in the shape of the SDK's OTLP exporter."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from richter.interop import read_logs
from richter.tables import read_tables

SECOND = 1_000_000_000


def typed(value: Any) -> dict[str, Any]:
    if isinstance(value, str):
        return {"stringValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}  # OTLP writes 64 bits as text
    if isinstance(value, float):
        return {"doubleValue": value}
    return {"arrayValue": {"values": [typed(one) for one in value]}}


def attributes(values: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": typed(value)} for key, value in values.items()]


def span(trace: str, at: int, operation: str, *, parent: str = "root", seconds: int = 1, **more: Any) -> dict[str, Any]:
    own = {"gen_ai.operation.name": operation} if operation else {}
    own |= {key.replace("__", "."): value for key, value in more.items() if "__" in key}
    rest = {key: value for key, value in more.items() if "__" not in key}
    return {"traceId": trace, "spanId": f"{trace}{at}", "parentSpanId": parent, "name": operation,
            "startTimeUnixNano": str(at * SECOND), "endTimeUnixNano": str((at + seconds) * SECOND),
            "attributes": attributes(own), **rest}  # fmt: skip


def says(*parts: dict[str, Any], role: str = "assistant") -> str:
    return json.dumps([{"role": role, "parts": list(parts)}])


ASK = {"type": "tool_call", "id": "c1", "name": "search", "arguments": {"b": 1, "a": 2}}
TEXT = {"type": "text", "content": "The total is 7."}


def trace(name: str, agent: str, task: str, *, passes: bool, has_tool_span: bool = True) -> list[dict[str, Any]]:
    event = {"name": "gen_ai.evaluation.result", "attributes": attributes(
        {"gen_ai.evaluation.name": "relevance", "gen_ai.evaluation.score.value": 0.25})}  # fmt: skip
    first = span(name, 11, "chat", gen_ai__request__model="m", gen_ai__usage__output_tokens=8,
                 gen_ai__usage__input_tokens=30, gen_ai__response__finish_reasons=["tool_calls"],
                 gen_ai__input__messages=says({"type": "text", "content": f"{task}?"}, role="user"),
                 gen_ai__output__messages=says(ASK))  # fmt: skip
    tool = span(name, 12, "execute_tool", seconds=3, gen_ai__tool__name="search", gen_ai__tool__call__id="c1",
                gen_ai__tool__call__arguments='{"a": 2, "b": 1}', **({"gen_ai__tool__call__result": "total 7"} if passes
                else {"status": {"code": 2, "message": "connection reset"}}))  # fmt: skip
    answer = {"type": "tool_call_response", "id": "c1", "response": "total 7"}
    last = span(name, 16, "chat", gen_ai__usage__output_tokens=9, gen_ai__usage__input_tokens=60,
                gen_ai__response__finish_reasons=["stop"], gen_ai__input__messages=says(answer, role="tool"),
                gen_ai__output__messages=says(TEXT))  # fmt: skip
    top = span(name, 10, "invoke_agent", parent="", seconds=8, gen_ai__agent__name=agent, test__case__name=task,
               test__case__result__status="pass" if passes else "fail", events=[event])  # fmt: skip
    return [last, *([tool] if has_tool_span else []), first, top]  # a span is exported when it ends


def request(spans: list[dict[str, Any]]) -> dict[str, Any]:
    resource = {"attributes": attributes({"service.name": "shop"})}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": {"name": "x"}, "spans": spans}]}]}


def as_lines(spans: list[dict[str, Any]]) -> str:
    return "\n".join(json.dumps(request([one])) for one in spans)


def as_document(spans: list[dict[str, Any]]) -> str:
    return json.dumps(request(spans), indent=2)


@pytest.mark.parametrize("written", [as_lines, as_document])
def test_a_trace_is_a_run_with_its_steps_by_hand(
    written: Callable[[list[dict[str, Any]]], str], tmp_path: Path
) -> None:
    path = tmp_path / "spans.json"
    path.write_text(written([*trace("t1", "old", "one", passes=True), *trace("t2", "new", "one", passes=False)]))
    logs = read_logs([path])
    assert list(logs.conditions) == ["old", "new"]
    one, two = (row.sample for row in logs.rows)
    assert (one.item, one.answer, one.finish) == ("one", "The total is 7.", "stop")
    assert logs.items["one"].prompt == "one?"
    assert (one.tokens_in, one.tokens_out, one.latency_s) == (90, 17, 8.0)
    assert one.scores == {"test": 1.0, "relevance": 0.25}
    assert two.scores["test"] == 0.0
    call, text = one.steps
    assert (call.role, call.tool, call.arguments, call.result) == ("tool", "search", '{"a": 2, "b": 1}', "total 7")
    assert (call.seconds, call.error) == (3.0, "")
    assert (text.role, text.result, text.tokens, text.seconds) == ("assistant", "The total is 7.", 9, 1.0)
    assert [step.error for step in two.steps] == ["connection reset", ""]


def test_a_call_without_a_span_of_its_own_is_known_from_messages(tmp_path: Path) -> None:
    path = tmp_path / "spans.jsonl"
    path.write_text(as_lines(trace("t1", "old", "one", passes=True, has_tool_span=False)))
    call, _ = read_logs([path]).rows[0].sample.steps
    assert (call.tool, call.arguments, call.result) == ("search", '{"a": 2, "b": 1}', "total 7")


def test_traces_become_runs_that_measures_know(tmp_path: Path) -> None:
    path = tmp_path / "spans.jsonl"
    spans = [s for agent in ("old", "new") for task in range(6) for run in range(2)
             for s in trace(f"{agent}{task}{run}", agent, f"task {task}", passes=bool(run))]  # fmt: skip
    path.write_text(as_lines(spans))
    tables = read_tables(path)
    assert tables.metric == "accuracy"
    assert tables.answers.height == 24
    assert tables.answers["failed_calls"].to_list().count(1) == 12
    assert tables.answers["draw"].max() == 1


def test_other_traces_and_damage_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "spans.jsonl"
    odd: list[Any] = [{"traceId": 3, "attributes": 3}, span("web", 1, ""), {"traceId": "x", "attributes": [
        {"key": None, "value": {"arrayValue": {"values": [3]}}}], "events": [None], "status": 3}]  # fmt: skip
    text = as_lines([*trace("t1", "old", "one", passes=True), *odd])
    path.write_text(text + '\n{"resourceSpans": [{"scopeSpans": 3}, null]}\n{broken\n')
    logs = read_logs([path])
    assert len(logs.rows) == 1
    assert logs.unread["trace: no span in it names an operation of generative AI"] == 3
    assert sum(logs.unread.values()) == 4
