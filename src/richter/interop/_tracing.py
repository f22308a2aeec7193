"""Exports of tracing services: Langfuse, LangSmith and Braintrust, as JSON, JSONL, CSV or Parquet.

No service was used, and no file that one wrote was at hand: the shapes are those that the services publish.

- Langfuse: the "Blob Storage Export Field Reference" of its documentation (`observations_v2/`, `scores/`, and the
  older `traces/` and `observations/`); the models of its API description (trace with details, observation, observation
  v2, experiment item, score); the rows that the batch export of its published code writes for the tables of its pages,
  where each score is a column that holds a list.
- LangSmith: "Run (span) data format" of its documentation; `Run` and the table of `Client.get_test_results` in its
  Python SDK. The columns of the page's own CSV download are not documented.
- Braintrust: `ExperimentEvent` of its published API client. The columns of the page's own CSV download are not
  documented.

Only whole traces are answers. The steps inside one say which model answered and what it cost; the steps of a judge
(a Langfuse evaluator, a Braintrust score span) are left out of both.
"""

import datetime
import functools
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from richter.errors import InputError
from richter.interop import _record as log
from richter.interop._rows import json_rows, table_rows
from richter.interop._safe import Unreadable, decode

PAGES = ("data", "events", "runs")  # under which the three interfaces answer with a page of records
_DEPTH = 1000  # steps that are walked up inside a trace
# Langfuse's own fields that are read here or hold lists, as its bulk export spells them; other lists are scores
_LANGFUSE = frozenset(
    {
        "calculated_total_cost", "comments", "completion_tokens", "cost_details", "data_type", "dataset_item_id",
        "end_time", "expected_output", "experiment_item_id", "experiment_name", "input", "is_root_observation",
        "metadata", "model_parameters", "observation_id", "observations", "output", "parent_observation_id",
        "prompt_tokens", "provided_model_name", "scores", "start_time", "status_message", "string_value", "tags",
        "tool_call_names", "tool_calls", "tool_definitions", "total_cost", "trace_id", "trace_tags", "usage",
        "usage_details",
    }
)  # fmt: skip


def read_langfuse(path: Path, reading: log.Reading) -> Iterator[log.Sample]:
    """Traces, or observations put together by their trace, with the scores inside them or in `scores/` beside them."""
    given, n_unreadable = _by_trace(_beside(path, "scores"))
    traces: list[Mapping[str, Any]] = []
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for row in map(_langfuse, _records(path, reading, packed=True)):
        if row.get("trace_id"):
            groups.setdefault(log.flat_text(row["trace_id"]), []).append(row)
        else:
            traces.append(row)
    if groups and path.parent.name == "observations" and (path.parent.parent / "traces").is_dir():
        reading.unread["observation: it is read with its trace, from traces/"] += sum(map(len, groups.values()))
        return
    steps, missed = _by_trace(_beside(path, "observations") if traces and path.parent.name == "traces" else ())
    if n_unreadable + missed:
        reading.unread["file: of the same export, and cannot be read"] += n_unreadable + missed
    for trace in traces:
        name = log.flat_text(trace.get("id"))
        inside = _objects_of(trace.get("observations"), reading, "observation") or steps.get(name, [])
        scores = [*_objects_of(trace.get("scores"), reading, "score"), *given.get(name, ())]
        yield _langfuse_sample(trace, inside, scores, reading)
    for name, group in groups.items():
        yield from _trace_samples(group, given.get(name, ()), reading)


def _trace_samples(
    group: list[Mapping[str, Any]], given: Iterable[Mapping[str, Any]], reading: log.Reading
) -> Iterator[log.Sample]:
    """A sample for each answer of a trace that is given by its observations."""
    parents = {log.flat_text(s.get("id")): log.flat_text(s.get("parent_observation_id")) for s in group}
    tops = _tops(group, parents)
    for top in tops:
        at = log.flat_text(top.get("id"))
        inside = [s for s in group if len(tops) == 1 or _beneath(log.flat_text(s.get("id")), parents, {at})]
        scores = [*_objects_of(top.get("scores"), reading, "score"), *given]
        if len(tops) > 1:  # a score of the whole trace says nothing of one of several answers
            scores = [s for s in scores if s.get("observation_id")]
        yield _langfuse_sample(top, inside, scores, reading)


def _langfuse_sample(
    row: Mapping[str, Any], steps: Sequence[Mapping[str, Any]], given: Iterable[Mapping[str, Any]], reading: log.Reading
) -> log.Sample:
    parents = {log.flat_text(s.get("id")): log.flat_text(s.get("parent_observation_id")) for s in steps}
    judges = {log.flat_text(s.get("id")) for s in steps if s.get("type") == "EVALUATOR"}
    own = [s for s in steps if not _beneath(log.flat_text(s.get("id")), parents, judges)] or [row]
    calls = [s for s in own if s.get("type") == "GENERATION"]
    call = sorted(calls, key=lambda s: str(s.get("start_time") or ""))[-1] if calls else row
    usage = [_object(log.pick(s, "usage_details", "usage")) or s for s in calls or [row]]
    scores = _langfuse_scores(row, call, given, reading)
    metadata = _object(row.get("metadata"))
    output = log.pick(row, "output") or log.pick(call, "output")
    total = None if any(s is row for s in own) else log.pick(row, "total_cost")
    failed = call.get("level") == "ERROR" or (row.get("level") == "ERROR" and output is None)
    return _sample(
        row,
        item=log.pick(row, "experiment_item_id", "dataset_item_id") or log.pick(metadata, "dataset_item_id", "item_id"),
        model=log.pick(call, "provided_model_name", "model")
        or log.pick(metadata, "model")
        or log.pick(row, "experiment_name"),
        settings={**_object(call.get("model_parameters")), **{k: row.get(k) for k in ("version", "release")}},
        prompt=log.pick(row, "input") or call.get("input"),
        answer=output,
        expected=log.pick(row, "expected_output") or metadata.get("expected_output"),
        scores={name: _mean(values, reading) for name, values in scores.items() if name},
        usage=(
            _sum(log.pick(u, "input", "promptTokens", "prompt_tokens") for u in usage),
            _sum(log.pick(u, "output", "completionTokens", "completion_tokens") for u in usage),
        ),
        money=total or _sum(log.pick(s, "total_cost", "calculated_total_cost") for s in own),
        # bulk exports set up before April 2026 give milliseconds as `latency`: the times are surer
        seconds=_seconds_between(row) or row.get("latency") or call.get("latency"),
        error=(log.pick(call, "status_message") or log.pick(row, "status_message") or "ERROR") if failed else "",
        metadata=metadata,
    )


def _langfuse_scores(
    row: Mapping[str, Any], call: Mapping[str, Any], given: Iterable[Mapping[str, Any]], reading: log.Reading
) -> dict[str, list[Any]]:
    """The scores of a trace by name: those in its own columns, and those given for it or for its model call."""
    ids = {log.flat_text(row.get("id")), log.flat_text(call.get("id"))}
    scores = {k: [*v] for k, v in row.items() if k not in _LANGFUSE and _is_scores(v)}
    for score in given:
        if score.get("observation_id") and log.flat_text(score["observation_id"]) not in ids:
            reading.unread["score: of a step inside a trace"] += 1
            continue
        # the number of a category is its place in a list, and that of a text is always 0: only the words say something
        is_worded = log.flat_text(score.get("data_type")) not in ("", "NUMERIC", "BOOLEAN")
        value = score.get("string_value") if is_worded else log.pick(score, "value", "string_value")
        scores.setdefault(log.flat_text(score.get("name")), []).append(value)
    return scores


def _langfuse(row: Mapping[str, Any]) -> dict[str, Any]:
    """Langfuse's own fields in one spelling (`traceId` as `trace_id`), all others as they are."""
    out: dict[str, Any] = {}
    for key, value in row.items():
        snake = re.sub(r"(?<=[a-z0-9])[A-Z]", lambda m: f"_{m[0].lower()}", key)
        out[snake if snake in _LANGFUSE else key] = value
    return out


def _tops(group: list[Mapping[str, Any]], parents: Mapping[str, str]) -> list[Mapping[str, Any]]:
    """The observations of a trace that stand for it: its root, or where there are several, their model calls."""
    marked = [s for s in group if _yes(s.get("is_root_observation"))]
    tops = marked or [s for s in group if not s.get("parent_observation_id")]
    tops = tops or [s for s in group if log.flat_text(s.get("parent_observation_id")) not in parents] or group[:1]
    return tops if len(tops) == 1 else [s for s in tops if s.get("type") == "GENERATION"] or tops[:1]


def _objects_of(value: object, reading: log.Reading, what: str) -> list[Mapping[str, Any]]:
    """The objects of a list; a list of traces as the API gives it names them by their ids alone."""
    found = value if isinstance(value, list) else []
    if lone := sum(not isinstance(v, Mapping) for v in found):
        reading.unread[f"{what}: only its id is given"] += lone
    return [_langfuse(v) for v in found if isinstance(v, Mapping)]


def _beside(path: Path, table: str) -> tuple[tuple[Path, int], ...]:
    """The files of an export's other table: in its own folder beside `observations_v2/` or `traces/`, else beside."""
    place = path.resolve().parent
    apart = place.name in ("observations_v2", "observations", "traces")
    found = (place.parent / table).glob("*") if apart else place.glob(f"{table}*")
    return tuple(sorted((f, f.stat().st_mtime_ns) for f in found if f.is_file() and (apart or f.name != path.name)))


@functools.lru_cache(maxsize=2)  # an export has a file an hour, each of which may need all scores
def _by_trace(files: tuple[tuple[Path, int], ...]) -> tuple[Mapping[str, list[Mapping[str, Any]]], int]:
    """The rows of these files by their trace, and how many of the files cannot be read."""
    out: dict[str, list[Mapping[str, Any]]] = {}
    n_unreadable = 0
    for file, _ in files:
        try:
            for row in map(_langfuse, _records(file, log.Reading(path=file, format=""), packed=True)):
                if row.get("trace_id"):
                    out.setdefault(log.flat_text(row["trace_id"]), []).append(row)
        except (Unreadable, InputError, OSError):
            n_unreadable += 1
    return out, n_unreadable


def read_langsmith(path: Path, reading: log.Reading) -> Iterator[log.Sample]:
    """Root runs with their feedback, nested as the API gives them or flat as an experiment's table is saved."""
    roots: list[dict[str, Any]] = []
    calls: dict[str, list[Mapping[str, Any]]] = {}
    for row in map(_gather_columns, _records(path, reading)):
        inner = bool(row.get("parent_run_id") or row.get("parent_run_ids")) or _no(row.get("is_root"))
        if not inner:
            roots.append(row)
            continue
        reading.unread["run: a step inside another"] += 1
        if row.get("run_type") == "llm":
            calls.setdefault(log.flat_text(row.get("trace_id")), []).append(row)
    for row in roots:
        inside = row.get("child_runs")
        below = [log.mapping(r) for r in inside] if isinstance(inside, list) else []
        own = calls.get(log.flat_text(log.pick(row, "trace_id", "id")), []) + [
            r for r in below if r.get("run_type") == "llm"
        ]
        yield _langsmith_sample(row, own, reading)


def _langsmith_sample(row: Mapping[str, Any], calls: Sequence[Mapping[str, Any]], reading: log.Reading) -> log.Sample:
    """The sample of a root run; `calls` are the model calls inside it, the last of which says which model answered."""
    call = calls[-1] if calls else row
    extra, called = log.mapping(row.get("extra")), log.mapping(call.get("extra"))
    metadata = log.mapping(extra.get("metadata")) or log.mapping(row.get("metadata"))
    merged = {**metadata, **log.mapping(called.get("metadata"))}
    settings = {k.removeprefix("ls_"): v for k, v in merged.items() if k in ("ls_temperature", "ls_max_tokens")}
    return _sample(
        row,
        item=log.pick(row, "reference_example_id", "example_id"),
        model=log.pick(merged, "ls_model_name", "model", "models") or log.pick(row, "session_name", "model"),
        settings={**settings, **log.mapping(called.get("invocation_params"))},
        prompt=row.get("inputs"),
        answer=row.get("outputs"),
        expected=log.pick(row, "reference", "reference_outputs"),
        scores={k: log.count_number(v, reading) for k, v in _feedback(row).items() if k},
        usage=tuple(
            log.pick(row, name) or _sum(r.get(name) for r in calls) for name in ("prompt_tokens", "completion_tokens")
        ),
        money=log.pick(row, "total_cost") or _sum(r.get("total_cost") for r in calls),
        seconds=log.pick(row, "execution_time", "latency_seconds", "latency") or _seconds_between(row),
        error=log.pick(row, "error") or ("error" if row.get("status") == "error" else ""),
        metadata=metadata,
    )


def _feedback(row: Mapping[str, Any]) -> dict[str, Any]:
    """Each key's score; its one label where a feedback has no number."""
    feedback = row.get("feedback")
    out = {str(k): v for k, v in log.mapping(feedback).items() if not isinstance(v, Mapping | list)}
    for entry in map(log.mapping, feedback if isinstance(feedback, list) else []):
        out[log.flat_text(entry.get("key"))] = log.pick(entry, "score", "value")
    for name, stats in log.mapping(row.get("feedback_stats")).items():
        labels = list(log.mapping(log.mapping(stats).get("values")))
        average = log.mapping(stats).get("avg")
        out.setdefault(str(name), labels[0] if average is None and len(labels) == 1 else average)
    return out


def read_braintrust(path: Path, reading: log.Reading) -> Iterator[log.Sample]:
    """Rows of an experiment: root spans with `scores` between 0 and 1; tokens and model stand in their llm spans."""
    roots: list[dict[str, Any]] = []
    spans: dict[str, list[Mapping[str, Any]]] = {}
    for row in map(_gather_columns, _records(path, reading)):
        inner = row.get("span_parents") and row.get("span_id") != row.get("root_span_id")
        if inner or _no(row.get("is_root")):
            reading.unread["span: a step inside another"] += 1
            spans.setdefault(log.flat_text(row.get("root_span_id")), []).append(row)
        else:
            roots.append(row)
    experiments = {log.flat_text(row.get("experiment_id")) for row in roots}
    own = path.stem if len(experiments) == 1 else None  # an id says nothing to people
    for row in roots:
        calls = _llm_spans(spans.get(log.flat_text(row.get("root_span_id")), []))
        metadata, metrics = log.mapping(row.get("metadata")), log.mapping(row.get("metrics"))
        details = {**(log.mapping(calls[-1].get("metadata")) if calls else {}), **metadata}
        named = log.pick(row, "experiment", "experiment_name") or own or log.pick(row, "experiment_id")
        start, end = _figure(metrics.get("start")), _figure(metrics.get("end"))
        used = {
            name: log.pick(metrics, name) or _sum(log.mapping(s.get("metrics")).get(name) for s in calls)
            for name in ("prompt_tokens", "completion_tokens", "estimated_cost")
        }
        yield _sample(
            row,
            item=log.pick(log.mapping(row.get("origin")), "id")
            or log.pick(row, "dataset_record_id")
            or log.pick(metadata, "item_id"),
            model=log.pick(details, "model") or named,
            settings={
                "experiment": named,
                **{k: v for k, v in details.items() if k in ("temperature", "max_tokens", "prompt")},
            },
            prompt=row.get("input"),
            answer=row.get("output"),
            expected=row.get("expected"),
            scores={str(k): log.count_number(v, reading) for k, v in log.mapping(row.get("scores")).items()},
            usage=(used["prompt_tokens"], used["completion_tokens"]),
            money=used["estimated_cost"],
            seconds=metrics.get("duration") if start is None or end is None else end - start,
            error=row.get("error"),
            metadata=metadata,
        )


def _llm_spans(spans: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The model calls of a trace, without those of its scorers."""
    kinds = {log.flat_text(s.get("span_id")): log.mapping(s.get("span_attributes")).get("type") for s in spans}
    parents = {
        log.flat_text(s.get("span_id")): log.flat_text((_items(s.get("span_parents")) or [""])[0]) for s in spans
    }
    judges = {name for name, kind in kinds.items() if kind == "score"}
    own = [s for s in spans if not _beneath(log.flat_text(s.get("span_id")), parents, judges)]
    return [s for s in own if kinds[log.flat_text(s.get("span_id"))] == "llm"]


def _beneath(name: str, parents: Mapping[str, str], marks: set[str]) -> bool:
    """Whether a step is one of these or stands below one."""
    for _ in range(_DEPTH):
        if name in marks or name not in parents:
            break
        name = parents[name]
    return bool(name) and name in marks


def _records(path: Path, reading: log.Reading, *, packed: bool = False) -> Iterator[Mapping[str, Any]]:
    """JSON records (perhaps a page of them, as the interfaces answer), or the rows of a table.

    A table's cells that hold JSON are opened, and so are the texts of JSON records where a service packs them.
    """
    with path.open("rb") as file:
        head = file.read(4).lstrip(b"\xef\xbb\xbf \r\n\t")
    if head[:1] not in (b"{", b"["):
        yield from ({k: _cell(v) for k, v in row.items()} for row in table_rows(path, reading)[1])
        return
    for row in json_rows(path, reading):
        page = next((row[k] for k in PAGES if isinstance(row.get(k), list)), None)
        for part in [row] if page is None or row.keys() & {"input", "inputs"} else map(log.mapping, page):
            yield {k: _cell(v) for k, v in part.items()} if packed else part


def _cell(value: object) -> object:
    """A text that holds a JSON object or list, as its value."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            return decode(value.encode("utf-8", "replace"))
        except Unreadable:
            return value
    return value


def _gather_columns(row: Mapping[str, Any]) -> dict[str, Any]:
    """Columns such as `inputs.question` or `scores.accuracy` gathered under their first part."""
    out: dict[str, Any] = {}
    for key, value in row.items():
        head, dot, rest = key.partition(".")
        head = "inputs" if dot and head == "input" else head  # as LangSmith's table of an experiment has it
        if dot and head in ("inputs", "outputs", "reference", "feedback", "scores", "metadata", "metrics"):
            place = out.setdefault(head, {})
            if isinstance(place, dict):
                place[rest] = value
        else:
            out[key] = value
    return out


def _object(value: object) -> Mapping[str, Any]:
    """An object, also where Parquet keeps it as a list of keys and values."""
    if isinstance(value, list) and value and all(log.mapping(v).keys() == {"key", "value"} for v in value):
        return {str(v["key"]): v["value"] for v in value}
    return log.mapping(value)


def _is_scores(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(v, str | int | float) for v in value)


def _items(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _yes(value: object) -> bool:
    return value is True or str(value).lower() == "true"


def _no(value: object) -> bool:
    return value is False or str(value).lower() == "false"


def _figure(value: object) -> float | None:
    """A number, also where it is written as text (decimals in JSON, anything in CSV)."""
    try:
        return log.real(float(value) if isinstance(value, str) else value)
    except ValueError:
        return None


def _sum(values: Iterable[object]) -> float | None:
    found = [v for value in values if (v := _figure(value)) is not None]
    return sum(found) if found else None


def _mean(values: Sequence[object], reading: log.Reading) -> float | None:
    """The mean of the scores of one name; None if none is a number."""
    found = [v for value in values if (v := log.count_number(value, reading)) is not None]
    return sum(found) / len(found) if found else None


def _seconds_between(row: Mapping[str, Any]) -> float | None:
    """Seconds between a record's times, where it has both."""
    times = [v if isinstance(v, datetime.datetime) else str(v) for v in (row.get("start_time"), row.get("end_time"))]
    try:
        start, end = (datetime.datetime.fromisoformat(v) if isinstance(v, str) else v for v in times)
        return (end - start).total_seconds()
    except (ValueError, TypeError):
        return None


def _sample(
    row: Mapping[str, Any],
    *,
    item: Any,
    model: Any,
    settings: Mapping[str, Any],
    prompt: Any,
    answer: Any,
    expected: Any,
    scores: Mapping[str, float | None],
    usage: tuple[Any, ...],
    money: Any,
    seconds: Any,
    error: Any,
    metadata: Mapping[str, Any],
) -> log.Sample:
    """The three services' common part. Without a dataset's item, the question itself is the item's name."""
    asked = _message_text(prompt)
    wanted = _message_text(expected)
    texts = {str(k): log.flat_text(v)[:200] for k, v in settings.items() if isinstance(v, str | int | float)}
    return log.Sample(
        item=log.flat_text(item) or asked[:120] or log.flat_text(row.get("id")),
        setup=log.Setup(log.flat_text(model) or "unknown model", tuple((k, v) for k, v in texts.items() if v)),
        prompt=asked,
        references=(wanted,) if wanted else (),
        domain=log.flat_text(log.pick(metadata, *log.DOMAIN_KEYS)),
        answer=_message_text(answer),
        scores=scores,
        tokens_in=log.whole(_figure(usage[0])),
        tokens_out=log.whole(_figure(usage[1])),
        money_usd=_figure(money),
        latency_s=_figure(seconds),
        error=log.flat_text(error) or (json.dumps(error, ensure_ascii=False, default=str) if error else ""),
    )


def _message_text(value: Any) -> str:
    """What was asked or answered: text, the messages of a chat, or the one text in an object."""
    if isinstance(value, Mapping):
        if isinstance(value.get("messages"), list):
            return log.messages_text(value["messages"])[1]
        named = log.pick(
            value, "question", "input", "query", "prompt", "answer", "output", "content", "text", "expected"
        )
        if named is not None:
            return _message_text(named)
        if len(value) == 1:
            return _message_text(next(iter(value.values())))
        return json.dumps(value, ensure_ascii=False, default=str, sort_keys=True)
    if isinstance(value, list):
        return log.messages_text(value)[1]
    return log.flat_text(value)
