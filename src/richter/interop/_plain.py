"""Plain tables by their column names: CSV, TSV, Parquet and JSON lines, with `--map FIELD=COLUMN` for other names."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from richter.errors import InputError
from richter.interop._record import Reading, Sample, Setup, count_number, flat_text, real, whole
from richter.interop._rows import table_rows
from richter.records import printable

__all__ = ["FIELDS", "read_plain"]

# a field of ours and what others call it, the likeliest first
FIELDS: dict[str, tuple[str, ...]] = {
    "item": ("item", "item_id", "id", "qid", "question_id", "sample_id", "doc_id", "example_id"),
    "condition": ("condition", "model", "model_name", "system"),
    "correct": ("correct", "is_correct", "grade", "passed", "pass", "success", "score", "label"),
    "severity": ("severity",),
    "confidence": ("confidence", "probability", "prob", "p"),
    "answer": ("answer", "response", "output", "prediction", "completion", "generation"),
    "reference": ("reference", "target", "gold", "gold_answer", "expected", "ground_truth", "ideal"),
    "prompt": ("prompt", "question", "input", "query"),
    "draw": ("draw", "epoch", "repeat", "trial"),
    "domain": ("domain", "subject", "category", "topic", "group"),
    "task": ("task", "dataset", "benchmark"),
    "error": ("error",),
    "tokens_in": ("tokens_in", "prompt_tokens", "input_tokens"),
    "tokens_out": ("tokens_out", "completion_tokens", "output_tokens"),
    "money_usd": ("money_usd", "cost", "total_cost"),
    "latency_s": ("latency_s", "latency", "duration"),
}


def read_plain(path: Path, reading: Reading) -> Iterator[Sample]:
    """Rows of a table: an item, a condition (else the file's name), and whatever else has a column."""
    columns, rows = table_rows(path, reading)
    place = _columns(path, columns, reading.options.columns)
    scorer = reading.options.scorer
    if scorer is not None and scorer in columns:
        place["correct"] = scorer
    graded = [f for f in ("correct", "severity") if f in place]
    if "item" not in place or not (graded or "answer" in place):
        raise InputError(
            f"{path} is a table whose columns ({', '.join(printable(c, limit=30) for c in columns[:12])}) do not say "
            f"which is the {'item' if 'item' not in place else 'grade or the answer'}.",
            remedy="Name them: --map item=COLUMN --map correct=COLUMN --map condition=COLUMN.",
        )
    reading.scorer = place[graded[0]] if graded else ""
    judges = [c for c in columns if c.startswith("judge_") and c.removeprefix("judge_").isdecimal()]
    for row in rows:
        given = {field: row[column] for field, column in place.items()}
        draw, reference = whole(given.get("draw")), flat_text(given.get("reference"))
        sure = count_number(given.get("confidence"), reading)
        yield Sample(
            item=flat_text(given["item"]).strip(),
            setup=Setup(flat_text(given.get("condition")).strip() or path.stem),
            task=flat_text(given.get("task")),
            draw=draw or 0,
            prompt=flat_text(given.get("prompt")),
            references=(reference,) if reference else (),
            domain=flat_text(given.get("domain")),
            answer=flat_text(given.get("answer")),
            scores={place[f]: count_number(given[f], reading) for f in graded},
            votes={f"{reading.scorer}/{j}": count_number(row[j], reading) for j in judges} if graded else {},
            confidences={place["confidence"]: sure} if sure is not None and 0 <= sure <= 1 else {},
            tokens_in=whole(given.get("tokens_in")),
            tokens_out=whole(given.get("tokens_out")),
            money_usd=real(given.get("money_usd")),
            latency_s=real(given.get("latency_s")),
            error=flat_text(given.get("error")).strip(),
        )
        if sure is not None and not 0 <= sure <= 1:
            reading.unread["confidence: not between 0 and 1"] += 1


def _columns(path: Path, columns: list[str], mapped: Mapping[str, str]) -> dict[str, str]:
    unknown = [f for f in mapped if f not in FIELDS]
    if unknown:
        raise InputError(
            f"--map {printable(unknown[0], limit=40)}=...: there is no such field.",
            remedy=f"Fields: {', '.join(FIELDS)}.",
        )
    absent = [c for c in mapped.values() if c not in columns]
    if absent:
        raise InputError(
            f"{path} has no column {printable(absent[0], limit=40)!r}.",
            remedy=f"It has {', '.join(printable(c, limit=30) for c in columns[:20])}.",
        )
    lower: dict[str, str] = {}
    for column in columns:
        lower.setdefault(column.strip().lower(), column)
    taken = set(mapped.values())
    out = dict(mapped)
    for field, names in FIELDS.items():
        found = next((lower[n] for n in names if n in lower and lower[n] not in taken), None)
        if field not in out and found is not None:
            out[field] = found
            taken.add(found)
    return out
