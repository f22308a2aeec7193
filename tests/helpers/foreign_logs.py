"""Small logs in the structure that other tools write, made here; no file is copied from them.

Each writer says what it was held against: the tool itself, or its documentation.
"""

import json
import struct
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import zstandard

STORED, DEFLATED, ZSTD = 0, 8, 93


def write_zip(path: Path, members: Sequence[tuple[str, bytes]], *, method: int = ZSTD) -> Path:
    """A zip archive with Zstandard members, which Python's own zipfile cannot write before 3.14."""
    body, directory = bytearray(), bytearray()
    for name, content in members:
        packed = content
        if method == ZSTD:
            packed = zstandard.ZstdCompressor().compress(content)
        elif method == DEFLATED:
            packer = zlib.compressobj(wbits=-15)
            packed = packer.compress(content) + packer.flush()
        raw = name.encode()
        common = struct.pack("<4H3I", 0, method, 0, 33, zlib.crc32(content), len(packed), len(content))
        directory += b"PK\x01\x02" + struct.pack("<2H", 63, 63) + common
        directory += struct.pack("<5H2I", len(raw), 0, 0, 0, 0, 0, len(body)) + raw
        body += b"PK\x03\x04" + struct.pack("<H", 63) + common + struct.pack("<2H", len(raw), 0) + raw + packed
    end = struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, len(members), len(members), len(directory), len(body), 0)
    path.write_bytes(bytes(body) + bytes(directory) + end)
    return path


def inspect_header(**fields: Any) -> dict[str, Any]:
    """The header of an Inspect log; held against Inspect 0.3.285."""
    spec = {
        "task": "capitals",
        "model": "mockllm/small",
        "dataset": {"name": "capitals", "samples": 4, "sample_ids": ["q0", "q1", "q2", "q3"]},
        "model_generate_config": {},
        "config": {"epochs": 1},
        "scorers": [{"name": "match", "options": {}}],
        **fields.pop("eval", {}),
    }
    plan = {"name": "plan", "steps": [{"solver": "generate", "params": {}}], "config": {}, **fields.pop("plan", {})}
    return {"version": 2, "status": "success", "eval": spec, "plan": plan, "results": {}, "stats": {}, **fields}


def inspect_sample(name: str | int, value: Any = "C", **fields: Any) -> dict[str, Any]:
    """A sample of an Inspect log; held against Inspect 0.3.285."""
    message = {"role": "assistant", "content": "Paris", "model": "mockllm/small"}
    logprobs = {"content": [{"token": "Par", "logprob": -0.5}, {"token": "is", "logprob": -0.25}]}
    return {
        "id": name,
        "epoch": 1,
        "input": f"The capital of country {name}?",
        "target": "Paris",
        "messages": [{"role": "user", "content": "The capital?"}, message],
        "output": {
            "model": "mockllm/small",
            "choices": [{"message": message, "stop_reason": "stop", "logprobs": logprobs}],
            "completion": "Paris",
            "usage": {"input_tokens": 12, "output_tokens": 3, "total_tokens": 15, "total_cost": 0.001},
            "time": 0.25,
        },
        "scores": {"match": {"value": value, "answer": "Paris", "history": []}},
        "metadata": {"domain": "geography"},
        "model_usage": {"mockllm/small": {"input_tokens": 12, "output_tokens": 3, "total_cost": 0.001}},
        "events": [{"event": "model", "data": {"deep": [1, 2, 3]}}],
        "attachments": {},
        **fields,
    }


def write_inspect(
    path: Path, samples: Sequence[Mapping[str, Any]], header: Mapping[str, Any] | None = None, *, method: int = ZSTD
) -> Path:
    """An Inspect `.eval` archive; held against Inspect 0.3.285."""
    header = inspect_header() if header is None else header
    start = {key: header[key] for key in ("version", "eval", "plan")}
    members = [("_journal/start.json", json.dumps(start).encode())]
    members += [(f"samples/{s['id']}_epoch_{s['epoch']}.json", json.dumps(s).encode()) for s in samples]
    members += [("summaries.json", b"[]"), ("header.json", json.dumps(header).encode())]
    return write_zip(path, members, method=method)


def write_lines(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def write_json(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1))
    return path


def lm_eval_choice(number: int, target: int, likelihoods: Sequence[float], **fields: Any) -> dict[str, Any]:
    """A multiple-choice row of lm-eval; held against lm-eval 0.4.13."""
    options = [" ash", " birch", " cedar"][: len(likelihoods)]
    pairs = [[str(value), "False"] for value in likelihoods]
    right = float(max(range(len(likelihoods)), key=likelihoods.__getitem__) == target)
    return {
        "doc_id": number,
        "doc": {"question": f"Which tree, {number}?", "choices": options, "answer": target, "subject": "trees"},
        "target": str(target),
        "arguments": {f"gen_args_{k}": {"arg_0": f"Which tree, {number}?", "arg_1": o} for k, o in enumerate(options)},
        "resps": [[pair] for pair in pairs],
        "filtered_resps": pairs,
        "filter": "none",
        "metrics": ["acc", "acc_norm"],
        "doc_hash": f"{number:064x}",
        "acc": right,
        "acc_norm": right,
        **fields,
    }


def lm_eval_generation(number: int, filter_name: str, found: str, right: float) -> dict[str, Any]:
    """A row of a generation task; held against lm-eval 0.4.13."""
    return {
        "doc_id": number,
        "doc": {"question": f"How many, {number}?"},
        "target": "42",
        "arguments": {"gen_args_0": {"arg_0": f"How many, {number}?", "arg_1": {"until": ["\n"], "temperature": 0.5}}},
        "resps": [["about 42", "it is 41"]],
        "filtered_resps": [found],
        "filter": filter_name,
        "metrics": ["exact_match"],
        "exact_match": right,
    }


def write_lm_eval(folder: Path, task: str, rows: Sequence[Mapping[str, Any]], *, model: str = "org/tiny") -> Path:
    """A task's samples with the results file beside them; held against lm-eval 0.4.13."""
    stamp = "2026-11-15T07-27-18.171458"
    results = {
        "config": {"model": "hf", "model_args": {"pretrained": model}, "gen_kwargs": {}},
        "model_name": model,
        "n-shot": {task: 5},
        "results": {task: {"acc,none": 0.5}},
    }
    write_json(folder / f"results_{stamp}.json", results)
    return write_lines(folder / f"samples_{task}_{stamp}.jsonl", rows)


def write_helm(folder: Path) -> Path:
    """Three instances, one of which failed, and one with options asked one by one; from HELM's dataclasses."""

    def instance(name: str, right: str, others: Sequence[str]) -> dict[str, Any]:
        references = [{"output": {"text": t}, "tags": ["correct"] if t == right else []} for t in (right, *others)]
        return {"input": {"text": f"The capital of {name}?"}, "references": references, "split": "test", "id": name}

    def state(name: str, text: str, logprob: float, **fields: Any) -> dict[str, Any]:
        token = {"text": text, "logprob": logprob, "top_logprobs": {}}
        result = {
            "success": True,
            "completions": [{"text": text, "logprob": logprob, "tokens": [token], "finish_reason": {"reason": "stop"}}],
            "request_time": 0.5,
        }
        return {
            "instance": instance(name, "Paris", ["Rome", "Oslo"]),
            "train_trial_index": 0,
            "output_mapping": {"A": "Paris", "B": "Rome", "C": "Oslo"},
            "request": {"model": "org/m", "prompt": f"The capital of {name}? A. Paris B. Rome C. Oslo"},
            "result": result,
            **fields,
        }

    failed = state("id3", "", 0.0, result={"success": False, "completions": [], "error": "HTTP 500"})
    apart = [state("id4", "", lp, reference_index=k, output_mapping=None) for k, lp in enumerate((-1.0, -2.0, -3.0))]
    states = [state("id1", " A", -0.1), state("id2", " B", -0.7), failed, *apart]
    spec = {"method": "multiple_choice_joint", "model": "org/m", "temperature": 0.0, "max_tokens": 1}
    write_json(folder / "scenario_state.json", {"adapter_spec": spec, "request_states": states})
    write_json(folder / "run_spec.json", {"name": "mmlu:subject=geography,model=org_m"})

    def stats(name: str, right: float) -> dict[str, Any]:
        named = {"exact_match": right, "num_prompt_tokens": 12.0}
        listed = [{"name": {"name": n, "split": "test"}, "count": 1, "sum": v, "mean": v} for n, v in named.items()]
        return {"instance_id": name, "train_trial_index": 0, "stats": listed}

    rows = [stats("id1", 1.0), stats("id2", 0.0), stats("id3", 0.0), stats("id4", 1.0)]
    write_json(folder / "per_instance_stats.json", rows)
    return folder / "scenario_state.json"


def promptfoo_row(question: str, provider: str, prompt: str, reason: int, **fields: Any) -> dict[str, Any]:
    """A row of promptfoo's results; held against the JSON of promptfoo's output version 3."""
    call_failed = reason == 2
    return {
        "cost": 0.002,
        "error": {0: None, 1: "Expected output to contain Paris", 2: "503 overloaded"}[reason],
        "failureReason": reason,
        "gradingResult": None
        if call_failed
        else {
            "pass": reason == 0,
            "score": 1 if reason == 0 else 0.3,
            "componentResults": [
                {"pass": reason == 0, "score": 1 if reason == 0 else 0, "assertion": {"type": "contains"}}
            ],
        },
        "latencyMs": 30,
        "namedScores": {},
        "prompt": {"raw": prompt.replace("{{q}}", question), "label": prompt},
        "promptIdx": 0,
        "provider": {"id": f"mock:{provider}", "label": provider},
        "response": {"error": "503 overloaded"} if call_failed else {"output": "Paris" if reason == 0 else "Rome"},
        "score": 1 if reason == 0 else 0.3 if reason == 1 else 0,
        "success": reason == 0,
        "testCase": {"vars": {"q": question}, "assert": [{"type": "contains", "value": "Paris"}]},
        "testIdx": 0,
        "tokenUsage": {"prompt": 12, "completion": 3, "total": 15},
        "vars": {"q": question},
        **fields,
    }


def write_deepeval(path: Path) -> Path:
    """Three cases with two metrics, one of which failed to measure; held against DeepEval 4.3.1."""

    def metric(name: str, score: float | None) -> dict[str, Any]:
        row: dict[str, Any] = {"name": name, "threshold": 0.5, "evaluationModel": "gpt-x"}
        return row | (
            {"success": False, "error": "boom"} if score is None else {"success": score >= 0.5, "score": score}
        )

    cases = [
        {
            "name": f"case{k}",
            "input": f"Q{k}",
            "actualOutput": "a",
            "expectedOutput": "b",
            "tokenCost": 0.01,
            "completionTime": 1.5,
            "success": False,
            "metricsData": [metric("Correctness", score), metric("Style", 0.4)],
            "order": k,
        }
        for k, score in enumerate((0.8, 0.2, None))
    ]
    payload = {
        "testCases": cases,
        "conversationalTestCases": [{}],
        "metricsScores": [],
        "hyperparameters": {"model": "gpt-4o", "temperature": 0.2},
        "testPassed": 1,
    }
    return write_json(path, payload)


def openai_evals_rows() -> list[dict[str, Any]]:
    """A recorder's log; from `evals/record.py`."""

    def event(sample: str, kind: str, **data: Any) -> dict[str, Any]:
        return {"run_id": "r", "event_id": 0, "sample_id": sample, "type": kind, "data": data, "created_by": ""}

    return [
        {"spec": {"completion_fns": ["gpt-4"], "eval_name": "trees.dev.v0", "base_eval": "trees"}},
        event(
            "trees.1",
            "sampling",
            prompt=[{"role": "user", "content": "Ash?"}],
            sampled="yes",
            usage={"prompt_tokens": 9},
        ),
        event("trees.1", "match", correct=True, expected="yes", picked="yes"),
        event("trees.2", "match", correct=False, expected=["no", "never"], picked="yes"),
        event("trees.3", "error", type="RateLimitError", message="slow down"),
        event("trees.4", "cond_logp", prompt="Elm?", completion="yes", logp=-1.0),
        event("trees.4", "cond_logp", prompt="Elm?", completion="no", logp=-3.0),
        event("trees.4", "match", correct=True, expected="yes"),
        event("trees.4", "raw_sample", anything=1),
        {"final_report": {"accuracy": 0.5}},
    ]
