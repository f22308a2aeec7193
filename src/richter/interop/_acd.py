"""ACD's `metadata.json`: the attempts at a family of tasks that an error search proposed.

From the code that writes it (ACD's `generate_acd_tasks.py`); it was not run.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from richter.interop._record import Reading, Sample, Setup, count_number, flat_text
from richter.interop._rows import companion
from richter.interop._safe import decode, open_bytes


def read_acd(path: Path, reading: Reading) -> Iterator[Sample]:
    """A task family's attempts: each task of it an item, each attempt a draw."""
    data = decode(open_bytes(path), dict[str, Any])
    task = companion(path.with_name("task.json"), dict[str, Any]) or {}
    name = flat_text(task.get("name_of_task")) or path.parent.name
    setup = Setup(path.parent.parent.name or "unknown model")
    reading.scorer = "score"
    answers = _by_task(data.get("eval_submissions") or data.get("eval_answers"))
    for key, scores in _by_task(data.get("eval_scores")).items():
        texts = answers.get(key, [])
        for k, score in enumerate(scores):
            yield Sample(
                item=f"{name}/{key}",
                setup=setup,
                draw=k,
                prompt=flat_text(task.get("description_of_task")),
                domain=flat_text(task.get("capability_being_measured")),
                answer=flat_text(texts[k]) if k < len(texts) else "",
                scores={"score": count_number(score, reading)},
            )


def _by_task(value: object) -> dict[str, Sequence[Any]]:
    """Attempts by task, however they are nested: by name, as lists of lists, or as one list for one task."""
    if isinstance(value, dict):
        return {str(k): v if isinstance(v, list) else [v] for k, v in value.items()}
    if isinstance(value, list) and value and all(isinstance(v, list) for v in value):
        return {str(k): v for k, v in enumerate(value, 1)}
    return {"1": value} if isinstance(value, list) and value else {}
