"""Traces of agents as OpenTelemetry's exporters write them: OTLP in JSON, one request per line or one document.

Read by OpenTelemetry's conventions for generative AI: `chat` spans are what the model wrote, `execute_tool` spans the
calls, `gen_ai.evaluation.result` events the scores. A trace is one run. Its task is `test.case.name` and its grade
`test.case.result.status`, as OpenTelemetry names them of tests, where a span of the trace has them.
"""

import dataclasses
import functools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from richter.interop import _record as log
from richter.interop._rows import json_rows
from richter.interop._safe import Unreadable, decode
from richter.trajectories import Step, arguments_text, limit_steps

ITEM_KEYS = ("test.case.name", "test.case.id", "task.id", "task_id", "task", "item", "gen_ai.task.id")
MODEL_KEYS = ("gen_ai.response.model", "gen_ai.request.model")
CALLS_MODEL = ("chat", "generate_content", "text_completion")
ERROR_CODES = (2, "2", "STATUS_CODE_ERROR")  # of a span's status
EVALUATION = "gen_ai.evaluation.result"
MAX_DEPTH = 20  # of lists and objects inside an attribute


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A span with its attributes as plain values; times in nanoseconds, 0 where it has none."""

    trace: str
    parent: str
    start: int
    end: int
    attributes: Mapping[str, Any]
    events: Sequence[tuple[str, Mapping[str, Any]]]
    error: str
    resource: Mapping[str, Any]

    @property
    def operation(self) -> str:
        return log.flat_text(self.attributes.get("gen_ai.operation.name"))

    @property
    def seconds(self) -> float | None:
        return (self.end - self.start) / 1e9 if 0 < self.start <= self.end else None


def read_otel_spans(path: Path, reading: log.Reading) -> Iterator[log.Sample]:
    """A sample for every trace in which a model was called or a tool used."""
    traces: dict[str, list[Span]] = {}
    for request in json_rows(path, reading):
        for span in _spans(request):
            traces.setdefault(span.trace, []).append(span)
    for spans in traces.values():
        spans.sort(key=lambda span: span.start)
        if any(span.operation for span in spans):
            yield _sample(spans, reading)
        else:
            reading.unread["trace: no span in it names an operation of generative AI"] += 1


def _spans(request: Mapping[str, Any]) -> Iterator[Span]:
    for group in _objects(log.pick(request, "resourceSpans", "resource_spans")):
        resource = _attributes(log.mapping(group.get("resource")).get("attributes"))
        for scope in _objects(log.pick(group, "scopeSpans", "scope_spans")):
            for span in _objects(scope.get("spans")):
                yield _span(span, resource)


def _span(span: Mapping[str, Any], resource: Mapping[str, Any]) -> Span:
    attributes, status = _attributes(span.get("attributes")), log.mapping(span.get("status"))
    message = log.flat_text(log.pick(status, "message")) or log.flat_text(attributes.get("error.type"))
    has_failed = status.get("code") in ERROR_CODES or "error.type" in attributes
    return Span(
        trace=log.flat_text(log.pick(span, "traceId", "trace_id")),
        parent=log.flat_text(log.pick(span, "parentSpanId", "parent_span_id")),
        start=_whole_number(log.pick(span, "startTimeUnixNano", "start_time_unix_nano")),
        end=_whole_number(log.pick(span, "endTimeUnixNano", "end_time_unix_nano")),
        attributes=attributes,
        events=[(log.flat_text(e.get("name")), _attributes(e.get("attributes"))) for e in _objects(span.get("events"))],
        error=(message or "error") if has_failed else "",
        resource=resource,
    )


def _objects(value: object) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def _attributes(pairs: object) -> dict[str, Any]:
    """A list of keys and typed values as an object."""
    return {log.flat_text(pair.get("key")): _value(pair.get("value")) for pair in _objects(pairs)}


def _value(typed: object, depth: int = 0) -> Any:
    """The plain value of a typed one."""
    kind, value = next(iter(log.mapping(typed).items()), ("", None))
    inside = _objects(log.mapping(value).get("values")) if depth < MAX_DEPTH else []
    if kind == "arrayValue":
        return [_value(one, depth + 1) for one in inside]
    if kind == "kvlistValue":
        return {log.flat_text(pair.get("key")): _value(pair.get("value"), depth + 1) for pair in inside}
    return _whole_number(value) if kind == "intValue" else value


def _whole_number(value: object) -> int:
    """A whole number, which OTLP writes as text; 0 for anything else."""
    text = str(value)
    return int(text) if text.removeprefix("-").isdecimal() and len(text) < 20 else 0


def _sample(spans: Sequence[Span], reading: log.Reading) -> log.Sample:
    find = functools.partial(_first, spans)
    calls = [span for span in spans if span.operation in CALLS_MODEL]
    agents = [span for span in spans if span.operation == "invoke_agent"]
    first_in = [m for span in [*agents, *calls] for m in _messages(span, "gen_ai.input.messages")]
    last_out = [m for span in [*reversed(agents), *reversed(calls)] for m in _messages(span, "gen_ai.output.messages")]
    prompt = next((text for m in first_in if m.get("role") == "user" and (text := _text(m))), "")
    top = next((span for span in spans if not span.parent), spans[0])
    scores = _scores(spans, reading)
    reading.scorer = reading.scorer or next(iter(scores), "")
    agent = find("gen_ai.agent.name") or find(*MODEL_KEYS) or top.resource.get("service.name")
    return log.Sample(
        item=log.flat_text(find(*ITEM_KEYS)) or prompt[:120] or top.trace,
        setup=log.Setup(log.flat_text(agent) or "unknown model"),
        task=log.flat_text(find("test.suite.name")),
        prompt=prompt,
        answer=next((text for m in last_out if (text := _text(m))), ""),
        scores=scores,
        tokens_in=_total(calls, "gen_ai.usage.input_tokens"),
        tokens_out=_total(calls, "gen_ai.usage.output_tokens"),
        money_usd=_money(spans),
        latency_s=top.seconds,
        finish=_last_reason(calls),
        error=top.error if not calls else "",
        steps=limit_steps(_steps(spans)),
    )


def _last_reason(calls: Sequence[Span]) -> str:
    """Why the last call that says so ended."""
    reasons = [span.attributes.get("gen_ai.response.finish_reasons") for span in calls]
    return next((log.flat_text(reason) for reason in reversed(reasons) if reason), "")


def _first(spans: Sequence[Span], *names: str) -> Any:
    """The first of these attributes that a span of the trace has, else one of what they were recorded from."""
    sources = [*(span.attributes for span in spans), *(span.resource for span in spans[:1])]
    return next((source[n] for n in names for source in sources if source.get(n) not in (None, "")), None)


def _scores(spans: Sequence[Span], reading: log.Reading) -> dict[str, float | None]:
    """The evaluations of a trace by name, then what a test says of it."""
    scores: dict[str, float | None] = {}
    for name, given in (event for span in spans for event in span.events):
        if name == EVALUATION:
            value = log.pick(given, "gen_ai.evaluation.score.value", "gen_ai.evaluation.score.label")
            scores[log.flat_text(given.get("gen_ai.evaluation.name")) or "score"] = log.count_number(value, reading)
    status = _first(spans, "test.case.result.status")
    if status is not None:
        scores = {"test": log.count_number(status, reading)} | scores
    return scores


def _total(calls: Iterable[Span], name: str) -> int | None:
    found = [n for span in calls if (n := log.whole(span.attributes.get(name))) is not None]
    return sum(found) if found else None


def _money(spans: Iterable[Span]) -> float | None:
    found = [n for span in spans if (n := log.real(span.attributes.get("gen_ai.usage.cost"))) is not None]
    return sum(found) if found else None


def _messages(span: Span, name: str) -> list[Mapping[str, Any]]:
    """The messages of an attribute, which is a list or its JSON."""
    return _objects(_read_json(span.attributes.get(name)))


def _read_json(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return decode(value.encode("utf-8", "replace"))
    except Unreadable:
        return value


def _parts(message: Mapping[str, Any], kind: str) -> list[Mapping[str, Any]]:
    return [part for part in _objects(message.get("parts")) if part.get("type") == kind]


def _text(message: Mapping[str, Any]) -> str:
    """What a message says, its calls and their results aside."""
    return "\n".join(filter(None, (log.flat_text(part.get("content")) for part in _parts(message, "text"))))


def _steps(spans: Sequence[Span]) -> Iterator[Step]:
    """What the agent wrote and every call with its result, in order.

    A call without a span of its own is known from the message that asks for it and the one that brings its result.
    """
    own = {log.flat_text(span.attributes.get("gen_ai.tool.call.id")) for span in spans} - {""}
    results = {
        log.flat_text(part.get("id")): part.get("response", part.get("result"))
        for span in spans
        for message in _messages(span, "gen_ai.input.messages")
        for part in _parts(message, "tool_call_response")
    }
    named = any(span.operation == "execute_tool" for span in spans)
    for span in spans:
        if span.operation == "execute_tool":
            yield _tool_step(span)
        elif span.operation in CALLS_MODEL:
            yield from _read_reply(span, own, results, has_tool_spans=named)


def _tool_step(span: Span) -> Step:
    given = span.attributes
    return Step(
        role="tool",
        tool=log.flat_text(given.get("gen_ai.tool.name")) or "tool",
        arguments=arguments_text(_read_json(given.get("gen_ai.tool.call.arguments"))),
        result=_result_text(given.get("gen_ai.tool.call.result")),
        seconds=span.seconds,
        error=span.error,
    )


def _read_reply(span: Span, own: set[str], results: Mapping[str, Any], *, has_tool_spans: bool) -> Iterator[Step]:
    """The text of a model's call, and the calls it asks for that have no span of their own."""
    messages = _messages(span, "gen_ai.output.messages")
    text = "\n".join(filter(None, map(_text, messages)))
    calls = [part for message in messages for part in _parts(message, "tool_call")]
    if text or span.error or not (calls or has_tool_spans):
        tokens = log.whole(span.attributes.get("gen_ai.usage.output_tokens"))
        yield Step(role="assistant", result=text, tokens=tokens, seconds=span.seconds, error=span.error)
    for part in calls:
        key = log.flat_text(part.get("id"))
        if key not in own and not (has_tool_spans and not key):
            arguments = arguments_text(_read_json(part.get("arguments")))
            yield Step(role="tool", tool=log.flat_text(part.get("name")) or "tool", arguments=arguments,
                       result=_result_text(results.get(key)))  # fmt: skip


def _result_text(value: object) -> str:
    """A result as text: an object as its JSON."""
    return (
        log.flat_text(value) if not isinstance(value, Mapping) else json.dumps(value, ensure_ascii=False, default=str)
    )
