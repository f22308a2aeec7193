"""openai/evals: the JSONL of its recorder: a spec, events, a final report.

From `evals/record.py` of its repository; it was not run.
"""

import dataclasses
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from richter.interop import _record as log
from richter.interop._rows import json_rows


@dataclasses.dataclass(slots=True)
class _Case:
    prompt: str = ""
    answer: str = ""
    expected: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    scores: dict[str, float | None] = dataclasses.field(default_factory=dict)
    logp: dict[str, float] = dataclasses.field(default_factory=dict)
    tokens: tuple[int | None, int | None] = (None, None)
    error: str = ""


def read_openai_evals(path: Path, reading: log.Reading) -> Iterator[log.Sample]:
    """Events are gathered by their sample; a `match` says right or wrong, `metrics` give further scores."""
    spec: Mapping[str, Any] = {}
    cases: dict[str, _Case] = {}
    finished = False
    for row in json_rows(path, reading):
        if "spec" in row:
            spec = log.mapping(row["spec"])
        elif "final_report" in row:
            finished = True
            reading.counted("match", log.real(log.mapping(row["final_report"]).get("accuracy")))
        elif row.get("sample_id") is None:
            reading.unread["event: without a sample"] += 1
        else:
            _add(cases.setdefault(log.flat_text(row["sample_id"]), _Case()), row, reading)
    if not finished:
        reading.interrupted = "there is no final report"
    setup = log.Setup(_model_name(spec) or "unknown model")
    task = log.flat_text(spec.get("eval_name") or spec.get("base_eval"))
    scorers = {name for case in cases.values() for name in case.scores}
    reading.scorer = "match" if "match" in scorers else ""
    for name, case in cases.items():
        yield _sample(name, case, setup, task)


def _sample(name: str, case: _Case, setup: log.Setup, task: str) -> log.Sample:
    """The sample of a case; where options have log-probabilities, the most probable one is its answer by default."""
    answer, confidences = case.answer, {}
    if len(case.logp) > 1:
        best, sure = log.softmax_choice(list(case.logp.values()))
        answer, confidences = case.answer or list(case.logp)[best], {"options": sure}
    return log.Sample(
        item=name,
        setup=setup,
        task=task,
        draw=0,
        prompt=case.prompt,
        references=case.expected,
        options=case.options or tuple(case.logp),
        answer=answer,
        scores=case.scores,
        confidences=confidences,
        tokens_in=case.tokens[0],
        tokens_out=case.tokens[1],
        error=case.error,
    )


def _model_name(spec: Mapping[str, Any]) -> str:
    """The models that a run asked; empty where its spec names none."""
    names = spec.get("completion_fns")
    return "+".join(map(log.flat_text, names)) if isinstance(names, list) else log.flat_text(spec.get("model_name"))


def _add(case: _Case, row: Mapping[str, Any], reading: log.Reading) -> None:
    """Add an event to its case; one of an unknown type is counted as unread."""
    data, kind = log.mapping(row.get("data")), row.get("type")
    if kind == "match":
        _add_match(case, data, reading)
    elif kind == "sampling":
        _add_sampling(case, data)
    elif kind == "metrics":
        _add_metrics(case, data, reading)
    elif kind == "cond_logp" and (logp := log.real(data.get("logp"))) is not None:
        case.prompt = case.prompt or log.messages_text(data.get("prompt"))[1]
        case.logp[log.flat_text(data.get("completion"))] = logp
    elif kind == "pick_option":
        case.options = tuple(map(log.flat_text, data.get("options") or []))
        case.answer = case.answer or log.flat_text(data.get("picked"))
    elif kind == "error":
        case.error = log.flat_text(data.get("message")) or log.flat_text(data.get("type")) or "error"
    else:
        reading.unread[f"event: of type {log.flat_text(kind)[:40]}"] += 1


def _add_sampling(case: _Case, data: Mapping[str, Any]) -> None:
    """Add an answer of the model, with its tokens."""
    case.prompt = case.prompt or log.messages_text(data.get("prompt"))[1]
    case.answer = log.flat_text(data.get("sampled"))
    usage = log.mapping(data.get("usage"))
    case.tokens = (log.whole(usage.get("prompt_tokens")), log.whole(usage.get("completion_tokens")))


def _add_metrics(case: _Case, data: Mapping[str, Any], reading: log.Reading) -> None:
    """Add the further scores that are numbers."""
    numbers = {k: v for k, v in data.items() if isinstance(v, bool | int | float)}
    case.scores |= {str(k): log.count_number(v, reading) for k, v in numbers.items()}


def _add_match(case: _Case, data: Mapping[str, Any], reading: log.Reading) -> None:
    """Add a grade with the answers that it expects, and the model's own where no other event gives it."""
    case.scores["match"] = log.count_number(data.get("correct"), reading)
    expected = data.get("expected")
    references = map(log.flat_text, expected) if isinstance(expected, list) else (log.flat_text(expected),)
    case.expected = tuple(e for e in references if e)
    case.answer = case.answer or log.flat_text(data.get("sampled")) or log.flat_text(data.get("picked"))
