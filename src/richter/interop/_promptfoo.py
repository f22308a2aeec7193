"""promptfoo: the JSON and JSONL that `promptfoo eval -o` writes.

Checked against files that promptfoo wrote (its version 0.12x, output version 3) with two providers, two prompts,
repeats, failed assertions and failed calls. Its `error` holds the message of a failed assertion as well as that of a
failed call: `failureReason` tells them apart, and only a failed call is one here.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from richter.interop._record import (
    DOMAIN_KEYS,
    Reading,
    Sample,
    Setup,
    count_number,
    flat_text,
    mapping,
    pick,
    real,
    whole,
)
from richter.interop._rows import json_rows
from richter.interop._safe import Unreadable, decode, open_bytes

_CALL_FAILED = 2  # failureReason: 0 none, 1 an assertion, 2 the call
_EXPECTED = ("expected", "expected_output", "reference", "target", "answer", "ground_truth", "ideal")
_EQUAL = ("equals", "contains", "icontains", "is-json", "factuality", "similar", "llm-rubric", "answer-relevance")


class _Results(msgspec.Struct):
    results: list[msgspec.Raw]


class _Document(msgspec.Struct):
    results: _Results


def read_promptfoo(path: Path, reading: Reading) -> Iterator[Sample]:
    """The rows of a results document."""
    for raw in decode(open_bytes(path), _Document).results.results:
        try:
            yield _sample(decode(raw, dict[str, Any]), reading)
        except Unreadable as error:
            reading.unread[f"row: {error}"] += 1


def read_promptfoo_lines(path: Path, reading: Reading) -> Iterator[Sample]:
    """The same rows as lines."""
    for row in json_rows(path, reading):
        try:
            yield _sample(row, reading)
        except Unreadable as error:
            reading.unread[f"row: {error}"] += 1


def _sample(row: Mapping[str, Any], reading: Reading) -> Sample:
    case, values, prompt = mapping(row.get("testCase")), mapping(row.get("vars")), mapping(row.get("prompt"))
    provider = mapping(row.get("provider"))
    response = mapping(row.get("response"))
    grading = row.get("gradingResult")
    failed = row.get("failureReason") == _CALL_FAILED or bool(response.get("error"))
    if row.get("failureReason") is None and row.get("error") and not grading:
        failed = True
    scores: dict[str, float | None] = {}
    if not failed and ("success" in row or mapping(grading)):
        scores["pass"] = count_number(row.get("success", mapping(grading).get("pass")), reading)
        scores["score"] = count_number(row.get("score"), reading)
        scores |= {f"score/{k}": count_number(v, reading) for k, v in mapping(row.get("namedScores")).items()}
    reading.scorer = "pass"
    usage = mapping(row.get("tokenUsage"))
    settings = {"prompt": flat_text(prompt.get("label") or prompt.get("raw"))}
    settings |= {k: flat_text(v) for k, v in mapping(prompt.get("config")).items() if isinstance(v, str | int | float)}
    model = flat_text(provider.get("label") or provider.get("id")) or flat_text(row.get("provider")) or "unknown model"
    latency = real(row.get("latencyMs"))
    return Sample(
        item=_item(case, values),
        setup=Setup(model, tuple((k, v) for k, v in settings.items() if v)),
        prompt="\n".join(f"{k}: {flat_text(v)}" for k, v in values.items()) or flat_text(prompt.get("raw")),
        references=_references(case, values),
        domain=flat_text(pick(mapping(case.get("metadata")), *DOMAIN_KEYS)),
        answer=_text(response.get("output")),
        scores=scores,
        votes=_votes(grading, reading),
        tokens_in=whole(usage.get("prompt")),
        tokens_out=whole(usage.get("completion")),
        money_usd=real(row.get("cost")),
        latency_s=None if latency is None else latency / 1000,
        error=(flat_text(response.get("error")) or flat_text(row.get("error")) or "the call failed") if failed else "",
    )


def _item(case: Mapping[str, Any], values: Mapping[str, Any]) -> str:
    """A test by its content: `testIdx` counts repeats too, and shifts when a test is added."""
    told = flat_text(case.get("description"))
    if not told and len(values) == 1:
        told = flat_text(next(iter(values.values())))
    mark = hashlib.sha256(json.dumps([told, values], sort_keys=True, default=str).encode()).hexdigest()[:8]
    return f"{told[:60]} #{mark}" if told else f"test {mark}"


def _references(case: Mapping[str, Any], values: Mapping[str, Any]) -> tuple[str, ...]:
    stated = flat_text(pick(values, *_EXPECTED))
    if stated:
        return (stated,)
    checks = case.get("assert")
    wanted = [mapping(c) for c in checks] if isinstance(checks, list) else []
    found = [flat_text(c.get("value")) for c in wanted if c.get("type") in _EQUAL and isinstance(c.get("value"), str)]
    return tuple(f for f in found if f)[:1]


def _votes(grading: object, reading: Reading) -> dict[str, float | None]:
    """Each assertion's own score."""
    parts = mapping(grading).get("componentResults")
    out: dict[str, float | None] = {}
    for k, part in enumerate(parts if isinstance(parts, list) else [], 1):
        check = mapping(mapping(part).get("assertion"))
        name = flat_text(check.get("metric") or check.get("type")) or "assertion"
        out[f"pass/{k} {name}"] = count_number(mapping(part).get("score"), reading)
    return out


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else flat_text(value)
