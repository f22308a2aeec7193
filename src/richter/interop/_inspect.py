"""Inspect logs: `.eval` archives read member by member without Inspect, and `.json` documents.

Checked against logs that Inspect 0.3.285 wrote: one scorer and several, dict values, panels with their votes, epochs,
errors, unscored samples, chunked samples and interrupted runs.
"""

import dataclasses
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from richter.interop import _record as log
from richter.interop._safe import Archive, Unreadable, decode, open_bytes

_ATTACHMENT = re.compile(r"attachment://([0-9a-f]+)")
_HEADERS = ("header.json", "_journal/start.json")
_SAMPLE = re.compile(r"samples/.*_epoch_\d+(?:\.json|/sample\.json)", re.DOTALL)  # whole, or in chunks
_LONG = 200  # characters of a setting that are kept: enough to tell two apart

Attached = Callable[[], Mapping[str, str]]  # a sample's long texts, loaded when one is needed


class _Score(msgspec.Struct):
    value: Any = None
    answer: Any = None
    reason: Any = None
    metadata: Any = None


class _Token(msgspec.Struct):
    token: str = ""
    logprob: float | None = None


class _Logprobs(msgspec.Struct):
    content: list[_Token] | None = None


class _Choice(msgspec.Struct):
    message: Any = None
    stop_reason: str | None = ""
    logprobs: _Logprobs | None = None


class _Usage(msgspec.Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    total_cost: float | None = None


class _Output(msgspec.Struct):
    choices: list[_Choice] = []
    completion: Any = None
    usage: _Usage | None = None
    time: float | None = None
    error: Any = None


class _InspectSample(msgspec.Struct):
    """The fields of a sample that are kept; events and messages, nearly all of a log's bytes, are left unbuilt.

    The messages of an agent's run, which has tool calls, are built afterwards.
    """

    id: str | int
    epoch: int = 1
    input: Any = ""
    choices: list[str] | None = None
    target: str | list[str] = ""
    output: _Output = msgspec.field(default_factory=_Output)
    scores: dict[str, _Score] | None = None
    metadata: dict[str, Any] | None = None
    model_usage: dict[str, _Usage] | None = None
    working_time: float | None = None
    error: Any = None
    limit: Any = None
    invalidation: Any = None
    attachments: msgspec.Raw = msgspec.Raw(b"")
    messages: msgspec.Raw = msgspec.Raw(b"")


class _Document(msgspec.Struct):
    eval: dict[str, Any]
    status: str = ""
    plan: dict[str, Any] | None = None
    results: dict[str, Any] | None = None
    error: Any = None
    invalidated: bool = False
    samples: list[msgspec.Raw] | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class _Header:
    setup: log.Setup
    task: str
    judges: Mapping[str, tuple[str, ...]]  # scorer -> its panel's models, where the log names them


def is_inspect_archive(names: Mapping[str, Any]) -> bool:
    """Whether an archive's member names are those of an Inspect log."""
    return any(name in names for name in _HEADERS) or any(map(_SAMPLE.fullmatch, names))


def read_inspect_archive(path: Path, reading: log.Reading) -> Iterator[log.Sample]:
    """Stream the samples of an `.eval` archive, one member at a time."""
    with Archive(path) as archive:
        if archive.truncated:
            reading.interrupted = "the archive breaks off; what comes before the break is read"
        header = _read_header(archive, reading)
        for name in (n for n in archive.members if _SAMPLE.fullmatch(n)):
            try:
                found = archive.decode(name, _InspectSample)
                if name.endswith("/sample.json"):
                    found.metadata = found.metadata or _beside(archive, name, "metadata.json")
                yield _sample(found, header, reading, _attachments(archive, name, found))
            except Unreadable as error:
                reading.unread[f"sample: {error}"] += 1


def read_inspect_json(path: Path, reading: log.Reading) -> Iterator[log.Sample]:
    """The samples of a `.json` log."""
    document = decode(open_bytes(path), _Document)
    header = _header(document, reading)
    for raw in document.samples or []:
        try:
            found = decode(raw, _InspectSample)
            yield _sample(found, header, reading, lambda found=found: _inline(found))  # type: ignore[misc]
        except Unreadable as error:
            reading.unread[f"sample: {error}"] += 1


def _read_header(archive: Archive, reading: log.Reading) -> _Header:
    for name in _HEADERS:
        if name in archive.members:
            try:
                document = archive.decode(name, _Document)
            except Unreadable as error:
                reading.unread[f"{name}: {error}"] += 1
                continue
            if name != "header.json" and not reading.interrupted:
                reading.interrupted = "the log was never finished"
            return _header(document, reading)
    reading.interrupted = reading.interrupted or "the log has no header"
    reading.notes.append("No header was found: the model is not known.")
    return _Header(log.Setup("unknown model"), "", {})


def _header(document: _Document, reading: log.Reading) -> _Header:
    """The setup, task and judges of a log; what it says of itself goes into the reading."""
    spec = document.eval
    _note_status(document, reading)
    scorers = [s for s in spec.get("scorers") or [] if isinstance(s, Mapping) and isinstance(s.get("name"), str)]
    headline = (document.results or {}).get("headline")
    named = [headline.get("score")] if isinstance(headline, Mapping) else []
    reading.scorer = next((str(n) for n in (*named, *(s["name"] for s in scorers)) if n), "")
    _count_totals(document, reading)
    model = log.flat_text(spec.get("model")) or "unknown model"
    judges = {str(s["name"]): models for s in scorers if (models := _judge_models(s)) is not None}
    return _Header(
        log.Setup(model, _settings(spec, document.plan or {})), log.flat_text(spec.get("task")).split("/")[-1], judges
    )


def _note_status(document: _Document, reading: log.Reading) -> None:
    """Note a log that did not succeed, or that is marked as invalid."""
    if document.status not in ("", "success"):
        why = log.flat_text(document.error.get("message")) if isinstance(document.error, Mapping) else ""
        reading.interrupted = reading.interrupted or f"status {document.status}" + (f": {why[:120]}" if why else "")
    if document.invalidated:
        reading.notes.append("The log is marked as invalidated.")


def _count_totals(document: _Document, reading: log.Reading) -> None:
    """Note the log's own totals, and how many samples it should have."""
    for score in (document.results or {}).get("scores") or []:
        total = log.mapping(score)
        if not total.get("reducer"):
            accuracy = log.mapping(log.mapping(total.get("metrics")).get("accuracy")).get("value")
            reading.counted(total.get("name"), log.real(accuracy))
    config, dataset = log.mapping(document.eval.get("config")), log.mapping(document.eval.get("dataset"))
    count, epochs, limit = dataset.get("samples"), config.get("epochs") or 1, config.get("limit")
    if isinstance(count, int) and isinstance(epochs, int):
        reading.expected = (min(count, limit) if isinstance(limit, int) else count) * epochs


def _judge_models(scorer: Mapping[str, Any]) -> tuple[str, ...] | None:
    """The models that a scorer asks; None where it lists none."""
    models = (scorer.get("options") or {}).get("model")
    if not isinstance(models, list):
        return None
    return tuple(m if isinstance(m, str) else str(log.mapping(m).get("model", "")) for m in models)


def _settings(spec: Mapping[str, Any], plan: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """What may tell two logs of one model apart: decoding, system prompt, solver, arguments, code revision."""
    found: dict[str, str] = {}
    for config in (log.mapping(spec.get("model_generate_config")), log.mapping(plan.get("config"))):
        found |= {str(k): log.flat_text(v) for k, v in config.items() if isinstance(v, str | int | float | bool)}
    found |= _solver_settings(plan.get("steps") or [])
    for key, name in (("task_args_passed", "task"), ("model_args", "model"), ("solver_args_passed", "solver")):
        arguments = log.mapping(spec.get(key))
        texts = {f"{name}.{k}": log.flat_text(v)[:_LONG] for k, v in arguments.items() if v is not None}
        found |= {k: v for k, v in texts.items() if v}
    return tuple(found.items())


def _solver_settings(steps: Iterable[Any]) -> dict[str, str]:
    """The system prompt and the names of the other steps of a solver."""
    found: dict[str, str] = {}
    names = []
    for step in (s for s in steps if isinstance(s, Mapping)):
        given = step.get("params_passed") or step.get("params") or {}
        if step.get("solver") in ("system_message", "inspect_ai/system_message") and isinstance(given, Mapping):
            found["system"] = log.flat_text(given.get("template"))[:_LONG]
        else:
            names.append(log.flat_text(step.get("solver")))
    return found | ({"solver": "+".join(names)} if names else {})


def _sample(found: _InspectSample, header: _Header, reading: log.Reading, attached: Attached) -> log.Sample:
    def text(value: object) -> str:
        plain = log.flat_text(value)
        if "attachment://" not in plain:
            return plain
        known = attached()
        return _ATTACHMENT.sub(lambda m: known.get(m[1], m[0]), plain)

    scores: dict[str, float | None] = {}
    votes: dict[str, float | None] = {}
    confidences: dict[str, float] = {}
    for name, score in (found.scores or {}).items():
        _one_score(name, score, header, reading, scores, votes, confidences)
    choice = found.output.choices[0] if found.output.choices else _Choice()
    tokens = choice.logprobs.content if choice.logprobs and choice.logprobs.content else []
    spoken = [t for t in tokens if t.logprob is not None]
    usage = (found.model_usage or {}).get(header.setup.model) or found.output.usage or _Usage()
    message = choice.message.get("content") if isinstance(choice.message, Mapping) else None
    targets = found.target if isinstance(found.target, list) else [found.target]
    limit = found.limit.get("type") if isinstance(found.limit, Mapping) else None
    steps, failed_calls = _count_steps(found)
    prompt = log.messages_text(found.input)[1] if isinstance(found.input, list) else log.flat_text(found.input)
    return log.Sample(
        item=str(found.id),
        setup=header.setup,
        task=header.task,
        draw=max(log.whole(found.epoch - 1) or 0, 0),
        prompt=text(prompt),
        references=tuple(text(t) for t in targets if t),
        options=tuple(found.choices or ()),
        domain=log.flat_text(log.pick(found.metadata or {}, *log.DOMAIN_KEYS)),
        answer=text(found.output.completion) or text(message),
        scores=scores,
        votes=votes,
        confidences=confidences,
        tokens=tuple(t.token for t in spoken),
        logprobs=tuple(t.logprob for t in spoken if t.logprob is not None),
        tokens_in=log.whole(usage.input_tokens),
        tokens_out=log.whole(usage.output_tokens),
        money_usd=usage.total_cost,
        latency_s=found.working_time if steps else found.output.time or found.working_time,
        finish=f"limit {limit}" if limit else choice.stop_reason or "",
        error=log.flat_text(_sample_error(found)),
        steps=steps,
        failed_calls=failed_calls,
    )


def _count_steps(found: _InspectSample) -> tuple[int | None, int | None]:
    """The messages and tool calls of an agent's run, and the calls that failed; None of a sample without a call."""
    if b'"tool_calls"' not in bytes(found.messages):
        return None, None
    messages = [m for m in decode(found.messages, list[Any]) if isinstance(m, Mapping)]
    own = [m for m in messages if m.get("role") == "assistant"]
    written = sum(bool(log.flat_text(m.get("content"))) or not m.get("tool_calls") for m in own)
    calls = sum(len(given) for m in own if isinstance(given := m.get("tool_calls"), list))
    return written + calls, sum(bool(m.get("error")) for m in messages if m.get("role") == "tool")


def _sample_error(found: _InspectSample) -> object:
    """Why a sample has no answer that counts; empty or None where it has one."""
    error = found.error.get("message") if isinstance(found.error, Mapping) else found.error or found.output.error
    return error if found.invalidation is None else error or "invalidated"


def _one_score(
    name: str,
    score: _Score,
    header: _Header,
    reading: log.Reading,
    scores: dict[str, float | None],
    votes: dict[str, float | None],
    confidences: dict[str, float],
) -> None:
    """A scorer's value in any of its shapes: one value, a dict or list of values, a panel's votes beside it."""
    for key, value in _score_parts(name, score.value).items():
        given = log.count_number(value, reading)
        if "confidence" in key.lower() and given is not None and 0 <= given <= 1:
            confidences[key] = given
        else:
            scores[key] = given
    metadata = score.metadata if isinstance(score.metadata, Mapping) else {}
    stated = metadata.get("confidence")
    if isinstance(stated, int | float) and not isinstance(stated, bool) and 0 <= stated <= 1:
        confidences[f"{name}/confidence"] = float(stated)
    panel = metadata.get("panel")
    cast = panel.get("votes") if isinstance(panel, Mapping) else None
    if isinstance(cast, list):
        votes |= _panel_votes(name, cast, header.judges.get(name, ()), reading)


def _score_parts(name: str, value: Any) -> dict[str, Any]:
    """A scorer's values by name: its one value, or each of a dict or list."""
    if isinstance(value, Mapping):
        return {f"{name}/{key}": part for key, part in value.items()}
    if isinstance(value, list):
        return {f"{name}/{k}": part for k, part in enumerate(value, 1)}
    return {name: value}


def _panel_votes(
    name: str, cast: Sequence[Any], models: Sequence[str], reading: log.Reading
) -> dict[str, float | None]:
    """The votes of a scorer's panel by judge: by its model where the log names one for each vote, else by its place."""
    votes = {}
    for k, vote in enumerate(cast):
        judge = models[k] if len(models) == len(cast) and models[k] else f"judge {k + 1}"
        if not isinstance(vote, Mapping | list):
            votes[f"{name}/{judge}"] = log.count_number(vote, reading)
    return votes


def _inline(found: _InspectSample) -> Mapping[str, str]:
    return decode(found.attachments, dict[str, str]) if found.attachments else {}


def _attachments(archive: Archive, name: str, found: _InspectSample) -> Attached:
    """Long texts that a sample refers to: in the sample itself, or, for a chunked one, in members beside it."""

    def load() -> Mapping[str, str]:
        known = dict(_inline(found))
        folder = name.removesuffix("sample.json") + "attachments/"
        for chunk in (
            sorted(n for n in archive.members if n.startswith(folder)) if name.endswith("/sample.json") else ()
        ):
            start = chunk.removeprefix(folder).removesuffix(".json")
            if start.isdecimal():
                texts = archive.decode(chunk, list[str])
                known |= {str(int(start) + k): text for k, text in enumerate(texts)}
        return known

    return load


def _beside(archive: Archive, name: str, other: str) -> dict[str, Any]:
    beside = name.removesuffix("sample.json") + other
    return archive.decode(beside, dict[str, Any]) if beside in archive.members else {}
