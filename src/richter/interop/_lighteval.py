"""lighteval: details Parquet files, one row a document.

From the dataclasses of lighteval 0.13.0 (Doc, ModelResponse, Detail), whose fields are the columns; it was not run.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from richter.interop._record import Reading, Sample, Setup, count_number, flat_text, mapping, real, softmax_choice
from richter.interop._rows import table_rows

_NAME = re.compile(r"details_(?P<task>.+)_\d{4}-\d\d-\d\dT[\d.-]+$")


def read_lighteval(path: Path, reading: Reading) -> Iterator[Sample]:
    """Read the columns `doc`, `model_response` and `metric`; lighteval's folders name the model."""
    parts = path.parent.parts  # .../details/ORGANISATION/MODEL/TIMESTAMP/
    model = "/".join(parts[parts.index("details") + 1 : -1]) if "details" in parts[:-1] else path.parent.name
    named = _NAME.match(path.stem)
    setup = Setup(model or "unknown model")
    _, rows = table_rows(path, reading)
    for place, row in enumerate(rows):
        doc, reply = mapping(row.get("doc")), mapping(row.get("model_response"))
        task = flat_text(doc.get("task_name")) or (named["task"] if named else "")
        scores = {str(k): count_number(v, reading) for k, v in mapping(row.get("metric")).items() if _plain(v)}
        reading.scorer = reading.scorer or next(iter(scores), "")
        yield _sample(flat_text(doc.get("id")) or str(place), setup, task.split("|")[0], doc, reply, scores)


def _sample(
    item: str,
    setup: Setup,
    task: str,
    doc: Mapping[str, Any],
    reply: Mapping[str, Any],
    scores: Mapping[str, float | None],
) -> Sample:
    choices = [flat_text(c) for c in doc.get("choices") or []]
    gold = doc.get("gold_index")
    golds = gold if isinstance(gold, list) else [gold]
    texts = [t for t in reply.get("text_post_processed") or reply.get("text") or [] if t]
    values = [v for x in reply.get("logprobs") or [] if (v := real(x)) is not None]
    answer = flat_text(texts[0]) if texts else ""
    confidences = {}
    if len(choices) > 1 and len(values) == len(choices):
        best, sure = softmax_choice(values)
        answer, confidences = choices[best].strip(), {"options": sure}
    right = tuple(choices[g].strip() for g in golds if isinstance(g, int) and 0 <= g < len(choices))
    return Sample(
        item=item,
        setup=setup,
        task=task,
        draw=0,
        prompt=flat_text(doc.get("query")),
        references=right,
        options=tuple(c.strip() for c in choices) if len(choices) > 1 else (),
        answer=answer,
        scores=scores,
        confidences=confidences,
    )


def _plain(value: object) -> bool:
    return value is None or isinstance(value, str | int | float)
