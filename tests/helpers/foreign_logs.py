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
