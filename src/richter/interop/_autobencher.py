"""AutoBencher's `*.compare_answers.json` and ACD's `metadata.json`, the outputs of two error searches.

From the code that writes them (AutoBencher's `tool_util.py`; ACD's `generate_acd_tasks.py`); neither was run.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from richter.interop._record import DOMAIN_KEYS, Reading, Sample, Setup, count_number, flat_text, mapping, pick
from richter.interop._rows import companion, json_rows
from richter.interop._safe import decode, open_bytes


def read_autobencher(path: Path, reading: Reading) -> Iterator[Sample]:
    """Questions with the gold answer, the test taker's, and the judge's verdict."""
    setup = Setup(path.parent.name or "test taker")
    reading.scorer = "is_correct"
    for place, row in enumerate(json_rows(path, reading)):
        gold = flat_text(pick(row, "gold_answer", "answer"))
        results = mapping(row.get("model_results")) or {"": row}
        for model, part in results.items():
            found = mapping(part)
            stated = found.get("confidence")
            yield Sample(
                item=flat_text(pick(row, "question_id", "id")) or str(place),
                setup=Setup(str(model)) if model else setup,
                draw=0,
                prompt=flat_text(row.get("question")),
                references=(gold,) if gold else (),
                domain=flat_text(pick(row, *DOMAIN_KEYS, "sub_category", "subcategory")),
                answer=flat_text(pick(found, "test_taker_answer", "test_taker_response")),
                scores={"is_correct": count_number(found.get("is_correct"), reading)},
                confidences={"stated": float(stated)} if isinstance(stated, float) and 0 <= stated <= 1 else {},
            )


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
