"""Runs of agents with their steps, one JSON object per run: the plain form for harnesses that have no format here."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from richter.interop import _record as log
from richter.interop._safe import Unreadable, as_one_document, decode, json_lines, open_bytes
from richter.trajectories import limit_steps, step_of_record


def read_step_runs(path: Path, reading: log.Reading) -> Iterator[log.Sample]:
    """A sample for every run: task, agent, success, steps, and what else its object says."""
    reading.scorer = "success"
    for run in _runs(path, reading):
        item = log.flat_text(log.pick(run, "task", "item", "task_id", "id"))
        steps = run.get("steps")
        if not item or not isinstance(steps, list):
            reading.unread["run: it names no task, or its steps are not a list"] += 1
            continue
        yield _sample(run, item, steps, reading)


def _runs(path: Path, reading: log.Reading) -> Iterator[Mapping[str, Any]]:
    """The objects of a file of lines, or of one array."""
    first = next(json_lines(path), b"")
    if first.lstrip()[:1] == b"[":
        yield from (run for run in decode(as_one_document(open_bytes(path)), list[Any]) if isinstance(run, Mapping))
        return
    for line in json_lines(path):
        try:
            yield decode(line, dict[str, Any])
        except Unreadable as error:
            reading.unread[f"run: {error}"] += 1


def _sample(run: Mapping[str, Any], item: str, steps: list[Any], reading: log.Reading) -> log.Sample:
    records = (record for record in steps if isinstance(record, Mapping))
    success = log.pick(run, "success", "score", "correct", "passed")
    return log.Sample(
        item=item,
        setup=log.Setup(log.flat_text(log.pick(run, "agent", "condition", "model")) or "unknown model"),
        task=log.flat_text(run.get("suite")),
        prompt=log.flat_text(log.pick(run, "prompt", "input", "question")),
        domain=log.flat_text(log.pick(run, *log.DOMAIN_KEYS)),
        answer=log.flat_text(log.pick(run, "answer", "output")),
        scores={"success": log.count_number(success, reading)},
        tokens_out=log.whole(run.get("tokens")),
        money_usd=log.real(log.pick(run, "money_usd", "cost_usd", "cost")),
        latency_s=log.real(run.get("seconds")),
        finish=log.flat_text(log.pick(run, "finish", "limit", "stop_reason")),
        error=log.flat_text(run.get("error")),
        steps=limit_steps(step for record in records for step in step_of_record(record)),
    )
