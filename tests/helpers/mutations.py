"""Seed files of every format that `richter import` reads, and ways to break them."""

import json
import random
import re
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import polars as pl

from helpers.foreign_logs import (
    inspect_header,
    inspect_sample,
    lm_eval_choice,
    lm_eval_generation,
    openai_evals_rows,
    promptfoo_row,
    write_deepeval,
    write_helm,
    write_inspect,
    write_json,
    write_lines,
    write_lm_eval,
    write_zip,
)

Mutation = Callable[[bytes, random.Random], bytes]


def seeds(folder: Path) -> list[Path]:
    """A small sound file of every format."""
    samples = [inspect_sample(f"q{i}", "C" if i % 3 else "I", epoch=1 + i % 2) for i in range(12)]
    rows = [promptfoo_row(f"Q{i}", "mock-a", "{{q}}", i % 3) for i in range(6)]
    choices = [lm_eval_choice(i, i % 3, [-1.0, -2.0, -3.0]) for i in range(6)]
    sums = [lm_eval_generation(i, name, "42", 1.0) for name in ("strict", "loose") for i in range(4)]
    table = pl.DataFrame(
        {
            "item": [str(i % 6) for i in range(12)],
            "model": ["a"] * 6 + ["b"] * 6,
            "correct": [1, 0] * 6,
            "confidence": [0.5] * 12,
        }
    )
    details = pl.DataFrame(
        [
            {
                "doc": {"query": "Which?", "choices": ["ash", "elm"], "gold_index": [0], "id": str(i)},
                "model_response": {"text": ["ash"], "logprobs": [-1.0, -2.0]},
                "metric": {"acc": 1.0},
            }
            for i in range(6)
        ]
    )
    table.write_csv(folder / "table.csv")
    table.write_parquet(folder / "table.parquet")
    table.write_ndjson(folder / "table.jsonl")
    details.write_parquet(folder / "details.parquet")
    trace = {"id": "t", "input": "q", "output": "a", "scores": [{"name": "ok", "value": 1}], "totalCost": 0.1}
    run = {
        "id": "r",
        "run_type": "llm",
        "inputs": {"q": "x"},
        "outputs": {"a": "y"},
        "feedback_stats": {"ok": {"avg": 1.0}},
    }
    span = {
        "id": "s",
        "input": "q",
        "output": "a",
        "scores": {"ok": 0.5},
        "root_span_id": "s",
        "metadata": {"model": "m"},
    }
    return [
        write_inspect(folder / "a.eval", samples),
        write_inspect(folder / "b.eval", samples, method=8),
        write_json(folder / "a.json", {**inspect_header(), "samples": samples}),
        write_lm_eval(folder, "trees", choices),
        write_lm_eval(folder, "sums", sums),
        write_helm(folder / "helm"),
        write_json(folder / "pf.json", {"evalId": "e", "results": {"version": 3, "results": rows}}),
        write_lines(folder / "pf.jsonl", rows),
        write_deepeval(folder / "de.json"),
        write_lines(folder / "evals.jsonl", openai_evals_rows()),
        write_lines(folder / "langfuse.jsonl", [trace] * 3),
        write_lines(folder / "langsmith.jsonl", [run] * 3),
        write_json(folder / "braintrust.json", [span] * 3),
        folder / "details.parquet",
        folder / "table.csv",
        folder / "table.parquet",
        folder / "table.jsonl",
    ]


def truncate(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def flip(data: bytes, rng: random.Random) -> bytes:
    out = bytearray(data)
    for _ in range(rng.choice((1, 3, 30))):
        if out:
            out[rng.randrange(len(out))] = rng.randrange(256)
    return bytes(out)


def cut_out(data: bytes, rng: random.Random) -> bytes:
    a, b = sorted(rng.randrange(len(data) + 1) for _ in range(2))
    return data[:a] + data[b:]


def twice(data: bytes, rng: random.Random) -> bytes:
    a, b = sorted(rng.randrange(len(data) + 1) for _ in range(2))
    return data[:b] + data[a:]


def as_utf16(data: bytes, rng: random.Random) -> bytes:
    return data.decode("latin-1").encode(rng.choice(("utf-16", "utf-32", "utf-16-be", "cp037")))


def bad_bytes(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.choice((b"\xff\xfe", b"\x00" * 8, b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\\ud800")) + data[at:]


def numbers(data: bytes, rng: random.Random) -> bytes:
    """Some numbers become NaN, infinite, huge, negative, text or null."""
    odd = (
        b"NaN",
        b"-Infinity",
        b"1e999",
        b"9" * 400,
        b"9" * 5000,
        b"-7",
        b"0.3",
        b'"x"',
        b"null",
        b"[]",
        b"{}",
        b"true",
    )
    share = rng.choice((0.02, 0.2, 1.0))
    return re.sub(rb"(?<=[:,\[ ])-?\d+(?:\.\d+)?", lambda m: rng.choice(odd) if rng.random() < share else m[0], data)


def deep(data: bytes, rng: random.Random) -> bytes:
    """A value becomes nested a hundred thousand deep."""
    nest = rng.choice((b"[" * 100_000 + b"]" * 100_000, b'{"a":' * 50_000 + b"1" + b"}" * 50_000, b"[" * 100_000))
    places = [m.end() for m in re.finditer(rb'":', data)] or [len(data)]
    at = rng.choice(places)
    return data[:at] + nest + b"," + data[at:]


def words(data: bytes, rng: random.Random) -> bytes:
    """A few bytes of it, again and again: nesting and lists without an end."""
    at = rng.randrange(len(data) + 1)
    return data[:at] + data[at : at + rng.choice((1, 3, 12, 40))] * rng.choice((1_000, 30_000)) + data[at:]


def same_names(data: bytes, rng: random.Random) -> bytes:
    return re.sub(rb'("(?:id|doc_id|item|sample_id|testIdx)": ?)("[^"]*"|\d+)', rb'\1"same"', data)


def other_types(data: bytes, rng: random.Random) -> bytes:
    """Some values of keys become of another type."""
    odd = (b"null", b"0", b'""', b"[]", b"{}", b"[[1]]", b'{"x": {"y": 1}}', b"true", b'["a", 1, null]')

    def change(match: re.Match[bytes]) -> bytes:
        return match[1] + rng.choice(odd) if rng.random() < 0.15 else match[0]

    return re.sub(rb'("[A-Za-z_]+": ?)("[^"\\]*"|-?\d+(?:\.\d+)?|true|false|null)', change, data)


def other_keys(data: bytes, rng: random.Random) -> bytes:
    keys = sorted(set(re.findall(rb'"([A-Za-z_]+)":', data)))
    return data if not keys else data.replace(b'"%s"' % rng.choice(keys), b'"%s"' % rng.choice(keys))


MUTATIONS: tuple[Mutation, ...] = (
    *(truncate, flip, cut_out, twice, as_utf16, bad_bytes),
    *(numbers, deep, words, same_names, other_types, other_keys),
)


def mutate(path: Path, rng: random.Random) -> bytes:
    """A broken copy of a file; for an archive sometimes a member inside it is broken instead, and packed again."""
    data = path.read_bytes()
    if path.suffix == ".eval" and rng.random() < 0.7:
        samples = [inspect_sample(f"q{i}") for i in range(4)]
        members = [(f"samples/{s['id']}_epoch_1.json", json.dumps(s).encode()) for s in samples]
        members.append(("header.json", json.dumps(inspect_header()).encode()))
        k = rng.randrange(len(members))
        members[k] = (members[k][0], rng.choice(MUTATIONS)(members[k][1], rng))
        return write_zip(path.with_suffix(".tmp"), members, method=rng.choice((0, 8, 93))).read_bytes()
    if path.suffix in (".docx", ".xlsx") and rng.random() < 0.7:
        with zipfile.ZipFile(path) as archive:
            members = [(name, archive.read(name)) for name in archive.namelist() if name.endswith((".xml", ".rels"))]
        k = rng.randrange(len(members))
        members[k] = (members[k][0], rng.choice(MUTATIONS)(members[k][1], rng))
        return write_zip(path.with_suffix(".tmp"), members, method=rng.choice((0, 8))).read_bytes()
    for _ in range(rng.choice((1, 1, 2))):
        data = rng.choice(MUTATIONS)(data, rng) if data else data
    return data


def bombs(folder: Path) -> list[Path]:
    """Archives that unpack to far more than they are, and files that only unpickling could read."""
    header = ("header.json", json.dumps(inspect_header()).encode())
    zeros = b'{"id": "q", "input": "' + b"0" * 300_000_000 + b'"}'
    one = write_zip(folder / "bomb_zstd.eval", [header, ("samples/q_epoch_1.json", zeros)], method=93)
    two = write_zip(folder / "bomb_deflate.eval", [header, ("samples/q_epoch_1.json", zeros[:100_000_000])], method=8)
    many = b'{"id": "q", "input": "' + b"0" * 15_000_000 + b'"}'
    repeated = [(f"samples/q{i}_epoch_1.json", many) for i in range(120)]
    three = write_zip(folder / "bomb_many.eval", [header, *repeated], method=93)
    lying = bytearray(one.read_bytes())
    size = len(zeros).to_bytes(4, "little")
    four = folder / "bomb_lying.eval"
    four.write_bytes(bytes(lying).replace(size, (1000).to_bytes(4, "little")))
    pickle = folder / "frame.pkl"
    pickle.write_bytes(b"\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00\x8c\x02os\x94.")
    torch = write_zip(folder / "model.pt", [("archive/data.pkl", b"\x80\x02}q\x00.")], method=0)
    packed = folder / "packed.bin"
    packed.write_bytes(zlib.compress(b"0" * 1_000_000))
    return [one, two, three, four, pickle, torch, packed]
