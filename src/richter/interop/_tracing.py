"""Exports of tracing services: Langfuse traces, LangSmith runs and Braintrust experiments, as JSON, JSONL or CSV.

The shapes are those of a whole trace, run or experiment row as the services' interfaces return it. They were not held
against a real export, and bulk exports that split a trace over several files (Langfuse to object storage) are not read.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from richter.interop._record import (
    DOMAIN_KEYS,
    Reading,
    Sample,
    Setup,
    count_number,
    flat_text,
    mapping,
    messages_text,
    pick,
    real,
    whole,
)
from richter.interop._rows import json_rows, table_rows
from richter.interop._safe import Unreadable, decode

__all__ = ["read_braintrust", "read_langfuse", "read_langsmith"]


def read_langfuse(path: Path, reading: Reading) -> Iterator[Sample]:
    """Traces with their scores; the model, its usage and its failure stand in a trace's generation."""
    for row in _records(path, reading):
        kinds = row.get("observations")
        made = [mapping(o) for o in kinds if mapping(o).get("type") == "GENERATION"] if isinstance(kinds, list) else []
        call: Mapping[str, Any] = made[-1] if made else row
        scores = {}
        listed = row.get("scores")
        for given in map(mapping, listed if isinstance(listed, list) else []):
            if given.get("name"):
                value = pick(given, "value", "stringValue")
                scores[flat_text(given["name"])] = count_number(value, reading)
        usage = mapping(call.get("usageDetails")) or mapping(call.get("usage"))
        metadata = mapping(row.get("metadata"))
        failed = call.get("level") == "ERROR"
        yield _sample(
            row,
            item=pick(row, "datasetItemId", "dataset_item_id") or pick(metadata, "dataset_item_id", "item_id"),
            model=pick(call, "model", "providedModelName") or pick(metadata, "model"),
            settings=mapping(call.get("modelParameters")),
            prompt=row.get("input"),
            answer=row.get("output"),
            expected=pick(row, "expectedOutput", "expected_output") or metadata.get("expected_output"),
            scores=scores,
            usage=(pick(usage, "input", "promptTokens"), pick(usage, "output", "completionTokens")),
            money=pick(call, "calculatedTotalCost", "totalCost") or row.get("totalCost"),
            seconds=pick(call, "latency") or row.get("latency"),
            error=(pick(call, "statusMessage") or "ERROR") if failed else "",
            metadata=metadata,
        )


def read_langsmith(path: Path, reading: Reading) -> Iterator[Sample]:
    """Root runs with their feedback, nested as the API gives them or flat as an experiment's table is saved."""
    for raw in _records(path, reading):
        row = _nested(raw)
        if row.get("parent_run_id"):
            reading.unread["run: a step inside another"] += 1
            continue
        feedback = row.get("feedback")
        scores = {str(k): v for k, v in mapping(feedback).items()}
        for entry in feedback if isinstance(feedback, list) else []:
            scores[flat_text(mapping(entry).get("key"))] = pick(mapping(entry), "score", "value")
        for name, stats in mapping(row.get("feedback_stats")).items():
            scores.setdefault(str(name), mapping(stats).get("avg"))
        extra = mapping(row.get("extra"))
        metadata = mapping(extra.get("metadata")) or mapping(row.get("metadata"))
        settings = {k.removeprefix("ls_"): v for k, v in metadata.items() if k in ("ls_temperature", "ls_max_tokens")}
        yield _sample(
            row,
            item=pick(row, "reference_example_id", "example_id"),
            model=pick(metadata, "ls_model_name", "model", "models") or pick(row, "session_name", "model"),
            settings={**settings, **mapping(extra.get("invocation_params"))},
            prompt=row.get("inputs"),
            answer=row.get("outputs"),
            expected=pick(row, "reference", "reference_outputs"),
            scores={k: count_number(v, reading) for k, v in scores.items() if not isinstance(v, Mapping | list)},
            usage=(row.get("prompt_tokens"), row.get("completion_tokens")),
            money=row.get("total_cost"),
            seconds=pick(row, "execution_time", "latency"),
            error=row.get("error"),
            metadata=metadata,
        )


def read_braintrust(path: Path, reading: Reading) -> Iterator[Sample]:
    """Rows of an experiment: root spans with `scores` between 0 and 1."""
    for raw in _records(path, reading):
        row = _nested(raw)
        if row.get("is_root") is False or (row.get("span_parents") and row.get("span_id") != row.get("root_span_id")):
            reading.unread["span: a step inside another"] += 1
            continue
        metadata, metrics = mapping(row.get("metadata")), mapping(row.get("metrics"))
        start, end = real(metrics.get("start")), real(metrics.get("end"))
        took = metrics.get("duration") if start is None or end is None else end - start
        yield _sample(
            row,
            item=pick(mapping(row.get("origin")), "id") or pick(metadata, "item_id", "id"),
            model=pick(metadata, "model") or pick(row, "experiment_name", "experiment_id"),
            settings={k: v for k, v in metadata.items() if k in ("temperature", "max_tokens", "prompt")},
            prompt=row.get("input"),
            answer=row.get("output"),
            expected=row.get("expected"),
            scores={str(k): count_number(v, reading) for k, v in mapping(row.get("scores")).items()},
            usage=(metrics.get("prompt_tokens"), metrics.get("completion_tokens")),
            money=metrics.get("estimated_cost"),
            seconds=took,
            error=row.get("error"),
            metadata=metadata,
        )


def _records(path: Path, reading: Reading) -> Iterator[Mapping[str, Any]]:
    """JSON records (perhaps under `data`, as the services' interfaces answer), or the rows of a table."""
    with path.open("rb") as file:
        head = file.read(4).lstrip(b"\xef\xbb\xbf \r\n\t")
    if head[:1] not in (b"{", b"["):
        yield from ({k: _cell(v) for k, v in row.items()} for row in table_rows(path, reading)[1])
        return
    for row in json_rows(path, reading):
        if isinstance(row.get("data"), list) and "input" not in row and "inputs" not in row:
            yield from (mapping(part) for part in row["data"])
        else:
            yield row


def _cell(value: object) -> object:
    """A cell of a table that holds JSON, as its value."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            return decode(value.encode("utf-8", "replace"))
        except Unreadable:
            return value
    return value


def _nested(row: Mapping[str, Any]) -> dict[str, Any]:
    """Columns such as `inputs.question` or `scores.accuracy` gathered under their first part."""
    out: dict[str, Any] = {}
    for key, value in row.items():
        head, dot, rest = key.partition(".")
        if dot and head in ("inputs", "outputs", "reference", "feedback", "scores", "metadata", "metrics"):
            place = out.setdefault(head, {})
            if isinstance(place, dict):
                place[rest] = value
        else:
            out[key] = value
    return out


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
    usage: tuple[Any, Any],
    money: Any,
    seconds: Any,
    error: Any,
    metadata: Mapping[str, Any],
) -> Sample:
    """The three services' common part. Without a dataset's item, the question itself is the item's name."""
    asked = _said(prompt)
    wanted = _said(expected)
    kept = {str(k): flat_text(v)[:200] for k, v in settings.items() if isinstance(v, str | int | float)}
    return Sample(
        item=flat_text(item) or asked[:120] or flat_text(row.get("id")),
        setup=Setup(flat_text(model) or "unknown model", tuple((k, v) for k, v in kept.items() if v)),
        prompt=asked,
        references=(wanted,) if wanted else (),
        domain=flat_text(pick(metadata, *DOMAIN_KEYS)),
        answer=_said(answer),
        scores=scores,
        tokens_in=whole(usage[0]),
        tokens_out=whole(usage[1]),
        money_usd=real(money),
        latency_s=real(seconds),
        error=flat_text(error),
    )


def _said(value: Any) -> str:
    """What was asked or answered: text, the messages of a chat, or the one text in an object."""
    if isinstance(value, Mapping):
        if isinstance(value.get("messages"), list):
            return messages_text(value["messages"])[1]
        named = pick(value, "question", "input", "query", "prompt", "answer", "output", "content", "text", "expected")
        if named is not None:
            return _said(named)
        if len(value) == 1:
            return _said(next(iter(value.values())))
        return json.dumps(value, ensure_ascii=False, default=str, sort_keys=True)
    if isinstance(value, list):
        return messages_text(value)[1]
    return flat_text(value)
