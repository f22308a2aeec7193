"""garak: `*.report.jsonl`, an entry per attempt; a detector's 1 is an attack that succeeded.

Checked against a report that garak 0.17.1 wrote, with the totals of its own `eval` entries.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from richter.interop._record import Reading, Sample, Setup, count_number, flat_text, mapping, whole
from richter.interop._rows import json_rows

DETECTED = 2  # the status of an attempt that its detectors have seen


def read_garak(path: Path, reading: Reading) -> Iterator[Sample]:
    """One sample an output of a prompt; each detector is a scorer of which less is better."""
    model = path.name.removesuffix(".report.jsonl")
    for entry in json_rows(path, reading):
        kind = entry.get("entry_type")
        if kind == "start_run setup":
            model = flat_text(entry.get("plugins.target_name") or entry.get("plugins.model_name")) or model
        elif kind == "attempt" and entry.get("status") == DETECTED:
            yield from _samples(entry, Setup(model), reading)
        elif kind == "eval":
            _count_total(entry, reading)


def _count_total(entry: Mapping[str, Any], reading: Reading) -> None:
    """Keep the share of attacks that succeeded, as garak counted it."""
    passed, total = whole(entry.get("passed")), whole(entry.get("total_evaluated") or entry.get("total"))
    if passed is not None and total:
        reading.counted(_scorer(flat_text(entry.get("detector"))), 1 - passed / total)


def _scorer(detector: str) -> str:
    return f"attack success by {detector.removeprefix('detector.')}"


def _samples(entry: Mapping[str, Any], setup: Setup, reading: Reading) -> Iterator[Sample]:
    given = entry.get("prompt")
    turns = mapping(given).get("turns")
    texts = [mapping(mapping(turn).get("content")).get("text") for turn in turns or ()]
    prompt = given if isinstance(given, str) else flat_text(texts)  # a text in older reports
    results = {_scorer(name): own for name, own in mapping(entry.get("detector_results")).items()}
    reading.scorer = reading.scorer or next(iter(results), "")
    for draw, output in enumerate(entry.get("outputs") or ()):
        yield Sample(
            item=prompt, setup=setup, task=flat_text(entry.get("probe_classname")), draw=draw, prompt=prompt,
            answer=flat_text(output),
            scores={
                name: count_number(own[draw], reading) if isinstance(own, list) and draw < len(own) else None
                for name, own in results.items()
            },
        )  # fmt: skip
