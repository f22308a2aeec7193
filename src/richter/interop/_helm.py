"""HELM: `scenario_state.json` with `per_instance_stats.json` beside it.

From the dataclasses in HELM's repository (RequestState, PerInstanceStats); HELM itself was not run.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from richter.interop._record import Reading, Sample, Setup, flat_text, mapping, real, softmax_choice
from richter.interop._rows import companion
from richter.interop._safe import Unreadable, decode, open_bytes

# HELM computes dozens of statistics an instance; these say whether the answer is right, best first
_GRADES = (
    "exact_match",
    "quasi_exact_match",
    "prefix_exact_match",
    "quasi_prefix_exact_match",
    "math_equiv_chain_of_thought",
)
_COUNTS = (
    "num_", "finish_reason", "inference_", "prompt_", "training_", "max_prob", "logprob", "batch_size", "estimated_",
)  # fmt: skip


class _State(msgspec.Struct):
    instance: dict[str, Any]
    train_trial_index: int = 0
    reference_index: int | None = None
    request_mode: str | None = None
    output_mapping: dict[str, str] | None = None
    request: dict[str, Any] | None = None
    result: dict[str, Any] | None = None


class _Scenario(msgspec.Struct):
    adapter_spec: dict[str, Any]
    request_states: list[msgspec.Raw]


class _Stats(msgspec.Struct):
    instance_id: str
    train_trial_index: int = 0
    perturbation: Any = None
    stats: list[dict[str, Any]] = []


def read_helm(path: Path, reading: Reading) -> Iterator[Sample]:
    """One sample an instance and training trial; options that were asked one by one are put together again."""
    scenario = decode(open_bytes(path), _Scenario)
    setup, task = _origin(path, scenario.adapter_spec)
    scores = _scores(path, reading)
    grouped: dict[tuple[str, int], list[_State]] = defaultdict(list)
    for raw in scenario.request_states:
        try:
            state = decode(raw, _State)
        except Unreadable as error:
            reading.unread[f"request: {error}"] += 1
            continue
        if state.request_mode == "calibration":
            reading.unread["request: it only calibrates another"] += 1
            continue
        name = flat_text(state.instance.get("id"))
        if not name or state.instance.get("perturbation"):
            reading.unread["request: a perturbed copy or one without an id"] += 1
            continue
        grouped[name, state.train_trial_index].append(state)
    for (name, trial), states in grouped.items():
        yield _sample(name, trial, states, setup, task, scores.get((name, trial), {}))


def read_helm_stats(path: Path, reading: Reading) -> Iterator[Sample]:
    """The grades alone, where `scenario_state.json` with questions and answers is not beside them."""
    reading.notes.append("scenario_state.json is not beside it: questions and answers are not known.")
    setup, task = _origin(path, {})
    for (name, trial), scores in _scores(path, reading).items():
        yield Sample(item=name, setup=setup, task=task, draw=trial, scores=scores)


def _origin(path: Path, spec: Mapping[str, Any]) -> tuple[Setup, str]:
    run = companion(path.with_name("run_spec.json"), dict[str, Any]) or {}
    spec = spec or mapping(run.get("adapter_spec"))
    names = ("temperature", "max_tokens", "max_train_instances", "instructions", "method", "num_outputs")
    setup = Setup(
        flat_text(spec.get("model_deployment") or spec.get("model")) or _model_of_run(path.parent.name),
        tuple((k, flat_text(spec[k])) for k in names if flat_text(spec.get(k))),
    )
    return setup, flat_text(run.get("name")).split(":")[0] or path.parent.name.split(":")[0]


def _model_of_run(folder: str) -> str:
    """The model that the folder of a run names: `mmlu:subject=anatomy,model=openai_gpt-4o`."""
    settings = dict(part.partition("=")[::2] for part in folder.partition(":")[2].split(","))
    return settings.get("model", "unknown model")


def _scores(path: Path, reading: Reading) -> Mapping[tuple[str, int], Mapping[str, float | None]]:
    rows = companion(path.with_name("per_instance_stats.json"), list[_Stats])
    if rows is None:
        reading.notes.append("per_instance_stats.json is not beside it or cannot be read: no answer is graded.")
        return {}
    out: dict[tuple[str, int], dict[str, float | None]] = {}
    for row in rows:
        if not row.perturbation:
            out.setdefault((row.instance_id, row.train_trial_index), {}).update(_means(row))
    present = {name for place in out.values() for name in place}
    reading.scorer = next((n for n in _GRADES if n in present), "")
    for stat in companion(path.with_name("stats.json"), list[dict[str, Any]]) or []:
        own, mean = mapping(stat.get("name")), real(stat.get("mean"))
        if flat_text(own.get("name")) == reading.scorer and not own.get("perturbation") and mean is not None:
            reading.counted(reading.scorer, reading.totals.get(reading.scorer, mean))
    return out


def _means(row: _Stats) -> dict[str, float]:
    """The scores of an instance by name, without HELM's counts."""
    means = {}
    for stat in row.stats:
        name = flat_text(mapping(stat.get("name")).get("name"))
        mean = real(stat.get("mean"))
        if name and not name.startswith(_COUNTS) and mean is not None:
            means[name] = mean
    return means


def _sample(
    name: str, trial: int, states: Sequence[_State], setup: Setup, task: str, scores: Mapping[str, float | None]
) -> Sample:
    first = states[0]
    answers = [mapping(r) for r in first.instance.get("references") or []]
    texts = [flat_text(mapping(r.get("output"))) for r in answers]
    right = tuple(t for t, r in zip(texts, answers, strict=True) if "correct" in (r.get("tags") or []) and t)
    result = mapping(first.result)
    completion = _completion(first)
    mapped = first.output_mapping or {}
    answer = flat_text(completion.get("text"))
    answer = mapped.get(answer.strip(), answer)
    confidences: dict[str, float] = {}
    if values := _option_logprobs(states, len(texts)):
        best, sure = softmax_choice(values)
        answer, confidences = texts[best], {"options": sure}
    tokens = [mapping(t) for t in completion.get("tokens") or []]
    spoken = [(flat_text(t.get("text")), v) for t in tokens if (v := real(t.get("logprob"))) is not None]
    failed = result.get("success") is False
    return Sample(
        item=name,
        setup=setup,
        task=task,
        draw=trial,
        prompt=flat_text(mapping(first.instance.get("input"))) or flat_text(mapping(first.request).get("prompt")),
        references=right,
        options=tuple(mapped.values()) or tuple(t for t in texts if len(texts) > 1),
        domain=flat_text(first.instance.get("sub_split")),
        answer=answer,
        scores=scores,
        confidences=confidences,
        tokens=tuple(t for t, _ in spoken),
        logprobs=tuple(v for _, v in spoken),
        latency_s=real(result.get("request_time")),
        finish=flat_text(mapping(completion.get("finish_reason")).get("reason")),
        error=(flat_text(result.get("error")) or "the request failed") if failed else "",
    )


def _option_logprobs(states: Sequence[_State], n_options: int) -> list[float]:
    """The log-probability of each option where they were asked one by one; none where they were not, or one lacks it.

    The prompt's own log-probability is common to all and cancels in the softmax.
    """
    if states[0].reference_index is None or not len(states) == n_options > 1:
        return []
    in_order = sorted(states, key=lambda s: s.reference_index or 0)
    values = [v for s in in_order if (v := real(_completion(s).get("logprob"))) is not None]
    return values if len(values) == n_options else []


def _completion(state: _State) -> Mapping[str, Any]:
    completions = mapping(state.result).get("completions")
    return mapping(completions[0]) if isinstance(completions, list) and completions else {}
