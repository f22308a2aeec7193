"""lighteval: details Parquet files, one row a document.

From the dataclasses of lighteval 0.13.0 (Doc, ModelResponse, Detail), whose fields are the columns; before 0.10 the
columns are those of the older Detail (`full_prompt`, `predictions`, `gold`, `metrics` and so on), each as it is or as
the text that Python prints for it. From the published code of both; lighteval was not run.
"""

import ast
import re
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from richter.interop._record import Reading, Sample, Setup, count_number, flat_text, mapping, real, softmax_choice
from richter.interop._rows import table_rows

PRINTED_LIMIT = 1_000_000  # characters of a printed list that are read back

_NAME = re.compile(r"details_(?P<task>.+)_\d{4}-\d\d-\d\dT[\d.-]+$")


def read_lighteval(path: Path, reading: Reading) -> Iterator[Sample]:
    """Read the columns `doc`, `model_response` and `metric`, or the older ones; lighteval's folders name the model."""
    parts = path.parent.parts  # .../details/ORGANISATION/MODEL/TIMESTAMP/
    model = "/".join(parts[parts.index("details") + 1 : -1]) if "details" in parts[:-1] else path.parent.name
    named = _NAME.match(path.stem)
    setup = Setup(model or "unknown model")
    columns, rows = table_rows(path, reading)
    for place, row in enumerate(rows if "doc" in columns else (_from_older(row, reading) for row in rows)):
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
        references=right or tuple(t.strip() for g in doc.get("gold") or [] if (t := flat_text(g))),
        options=tuple(c.strip() for c in choices) if len(choices) > 1 else (),
        answer=answer,
        scores=scores,
        confidences=confidences,
    )


def _from_older(row: Mapping[str, Any], reading: Reading) -> dict[str, Any]:
    """A row of the older columns as one of the newer: a prediction is a text, or an option's log-likelihood."""
    seen = {name: _printed(row.get(name), reading) for name in ("predictions", "choices", "gold", "gold_index")}
    lists = {name: list(value) if isinstance(value, list | tuple) else [] for name, value in seen.items()}
    # a log-likelihood may come with whether it is the greedy choice
    said = [p[0] if isinstance(p, list | tuple) and p else p for p in lists.pop("predictions")]
    return {
        "doc": {"query": row.get("example") or row.get("full_prompt"), **lists},
        "model_response": {"text": [p for p in said if isinstance(p, str)], "logprobs": said},
        "metric": _printed(row.get("metrics"), reading),
    }


def _printed(value: object, reading: Reading) -> object:
    """What Python printed as this text; anything else as it is."""
    if not isinstance(value, str):
        return value
    # NaN and numpy's numbers are printed as names and calls, which are no literals
    plain = re.sub(r"np\.\w+\(([^()]*)\)", r"\1", re.sub(r"\bnan\b", "None", value))
    for text in (value, plain) if len(value) < PRINTED_LIMIT else ():
        try:
            with warnings.catch_warnings(action="ignore"):
                return ast.literal_eval(text)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            continue
    reading.unread["field: neither a list nor the text of one"] += 1
    return None


def _plain(value: object) -> bool:
    return value is None or isinstance(value, str | int | float)
