"""promptfoo: the JSON, JSONL and CSV that `promptfoo eval -o` writes.

Checked against files that promptfoo wrote (its version 0.12x, output version 3) with two providers, two prompts,
repeats, failed assertions and failed calls. Its `error` holds the message of a failed assertion as well as that of a
failed call: `failureReason` tells them apart, and only a failed call is one here.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from richter.interop import _record as log
from richter.interop._rows import json_rows, table_rows
from richter.interop._safe import Unreadable, decode, open_bytes

HEADING = re.compile(r"\[(.+?)\] (.*)", re.DOTALL)  # a column of answers: provider and prompt
_CALL_FAILED = 2  # failureReason: 0 none, 1 an assertion, 2 the call
_EXPECTED = ("expected", "expected_output", "reference", "target", "answer", "ground_truth", "ideal")
_EQUAL = ("equals", "contains", "icontains", "is-json", "factuality", "similar", "llm-rubric", "answer-relevance")


class _Results(msgspec.Struct):
    results: list[msgspec.Raw]
    stats: dict[str, Any] = {}


class _Place(msgspec.Struct):
    prompt: float = msgspec.field(name="promptIdx", default=0)


class _Document(msgspec.Struct):
    results: _Results


def _prompt(row: msgspec.Raw) -> float:
    try:
        return decode(row, _Place).prompt
    except Unreadable:
        return 0


def read_promptfoo(path: Path, reading: log.Reading) -> Iterator[log.Sample]:
    """The rows of a results document."""
    document = decode(open_bytes(path), _Document).results
    reading.counted("pass", log.share(document.stats.get("successes"), document.stats.get("failures")))
    for raw in sorted(document.results, key=_prompt):  # rows come as their calls ended: prompts in their own order
        try:
            yield _sample(decode(raw, dict[str, Any]), reading)
        except Unreadable as error:
            reading.unread[f"row: {error}"] += 1


def read_promptfoo_lines(path: Path, reading: log.Reading) -> Iterator[log.Sample]:
    """The same rows as lines."""
    for row in json_rows(path, reading):
        try:
            yield _sample(row, reading)
        except Unreadable as error:
            reading.unread[f"row: {error}"] += 1


def read_promptfoo_table(path: Path, reading: log.Reading) -> Iterator[log.Sample]:
    """The table that `-o results.csv` writes: variables, then for each provider and prompt its answer and grade."""
    columns, rows = table_rows(path, reading)
    asked = {k: match for k, name in enumerate(columns) if (match := HEADING.match(name))}
    reading.scorer = "pass"
    for row in rows:
        values = [log.flat_text(v) for v in row.values()]
        given = dict(zip(columns[: min(asked)], values, strict=False))
        for k, match in asked.items():
            yield _table_sample(columns, values, k, match, given, reading)


def _table_sample(
    columns: Sequence[str],
    values: Sequence[str],
    k: int,
    match: re.Match[str],
    given: Mapping[str, str],
    reading: log.Reading,
) -> log.Sample:
    """The answer in column `k`, with the grade and the score that stand in the columns after it."""
    status, answer = (values[k + 1] if k + 1 < len(values) else ""), values[k]
    inside = re.match(r"\[(PASS|FAIL|ERROR)\]\s*", answer)  # where the grade has no column of its own
    if inside:
        status, answer = inside[1], answer[inside.end() :]
    failed = status == "ERROR"
    scores = {} if failed else {"pass": log.count_number(status, reading)}
    if not failed and "".join(columns[k + 2 : k + 3]).startswith("Score"):
        scores["score"] = log.count_number(values[k + 2], reading)
    return log.Sample(
        item=_item({}, given),
        setup=log.Setup(match[1], (("prompt", re.sub(r"_duplicated_\d+$", "", match[2])),)),
        prompt="\n".join(f"{name}: {value}" for name, value in given.items()),
        references=_references({}, given),
        answer=answer,
        scores=scores,
        error=(answer or "the call failed") if failed else "",
    )


def _sample(row: Mapping[str, Any], reading: log.Reading) -> log.Sample:
    case, values, prompt = (
        log.mapping(row.get("testCase")),
        log.mapping(row.get("vars")),
        log.mapping(row.get("prompt")),
    )
    provider = log.mapping(row.get("provider"))
    response = log.mapping(row.get("response"))
    grading = row.get("gradingResult")
    failed = row.get("failureReason") == _CALL_FAILED or bool(response.get("error"))
    if row.get("failureReason") is None and row.get("error") and not grading:
        failed = True
    scores: dict[str, float | None] = {}
    if not failed and ("success" in row or log.mapping(grading)):
        scores["pass"] = log.count_number(row.get("success", log.mapping(grading).get("pass")), reading)
        scores["score"] = log.count_number(row.get("score"), reading)
        scores |= {f"score/{k}": log.count_number(v, reading) for k, v in log.mapping(row.get("namedScores")).items()}
    reading.scorer = "pass"
    usage = log.mapping(row.get("tokenUsage"))
    settings = {"prompt": log.flat_text(prompt.get("label") or prompt.get("raw"))}
    settings |= {
        k: log.flat_text(v) for k, v in log.mapping(prompt.get("config")).items() if isinstance(v, str | int | float)
    }
    model = (
        log.flat_text(provider.get("label") or provider.get("id"))
        or log.flat_text(row.get("provider"))
        or "unknown model"
    )
    latency = log.real(row.get("latencyMs"))
    return log.Sample(
        item=_item(case, values),
        setup=log.Setup(model, tuple((k, v) for k, v in settings.items() if v)),
        prompt="\n".join(f"{k}: {log.flat_text(v)}" for k, v in values.items()) or log.flat_text(prompt.get("raw")),
        references=_references(case, values),
        domain=log.flat_text(log.pick(log.mapping(case.get("metadata")), *log.DOMAIN_KEYS)),
        answer=_text(response.get("output")),
        scores=scores,
        votes=_votes(grading, reading),
        tokens_in=log.whole(usage.get("prompt")),
        tokens_out=log.whole(usage.get("completion")),
        money_usd=log.real(row.get("cost")),
        latency_s=None if latency is None else latency / 1000,
        error=(log.flat_text(response.get("error")) or log.flat_text(row.get("error")) or "the call failed")
        if failed
        else "",
    )


def _item(case: Mapping[str, Any], values: Mapping[str, Any]) -> str:
    """A test by its content: `testIdx` counts repeats too, and shifts when a test is added."""
    title = log.flat_text(case.get("description"))
    if not title and len(values) == 1:
        title = log.flat_text(next(iter(values.values())))
    mark = hashlib.sha256(json.dumps([title, values], sort_keys=True, default=str).encode()).hexdigest()[:8]
    return f"{title[:60]} #{mark}" if title else f"test {mark}"


def _references(case: Mapping[str, Any], values: Mapping[str, Any]) -> tuple[str, ...]:
    stated = log.flat_text(log.pick(values, *_EXPECTED))
    if stated:
        return (stated,)
    checks = case.get("assert")
    wanted = [log.mapping(c) for c in checks] if isinstance(checks, list) else []
    found = [
        log.flat_text(c.get("value")) for c in wanted if c.get("type") in _EQUAL and isinstance(c.get("value"), str)
    ]
    return tuple(f for f in found if f)[:1]


def _votes(grading: object, reading: log.Reading) -> dict[str, float | None]:
    """Each assertion's own score."""
    parts = log.mapping(grading).get("componentResults")
    out: dict[str, float | None] = {}
    for k, part in enumerate(parts if isinstance(parts, list) else [], 1):
        check = log.mapping(log.mapping(part).get("assertion"))
        name = log.flat_text(check.get("metric") or check.get("type")) or "assertion"
        out[f"pass/{k} {name}"] = log.count_number(log.mapping(part).get("score"), reading)
    return out


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else log.flat_text(value)
