"""Outcomes from arrays, and datasets from outcomes, for tests."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from richter.claims import METRICS, Outcomes
from richter.tables import KEY, Dataset
from richter.tables._tables import ANSWERS, RATINGS, SCORES

Key = tuple[str, str, int]  # item, condition, draw


def outcomes(values: ArrayLike, metric: str = "accuracy", **more: Any) -> Outcomes:
    """Items x conditions (x draws); NaN where there is no answer."""
    table = np.asarray(values, dtype=np.float64)
    table = table[:, :, None] if table.ndim == 2 else table
    item, condition, draw = (index.ravel() for index in np.indices(table.shape))
    known = ~np.isnan(table.ravel())
    given: dict[str, Any] = {
        "metric": METRICS[metric],
        "items": tuple(f"q{k:04d}" for k in range(table.shape[0])),
        "conditions": tuple("abcdefghijklmnopqrstu"[: table.shape[1]]),
    }
    return Outcomes(
        item=item[known],
        condition=condition[known],
        draw=draw[known],
        value=table.ravel()[known],
        **(given | more),
    )


def dataset_of(
    *measures: Outcomes,
    failed: Iterable[Key] = (),
    ungraded: Iterable[Key] = (),
    rater: str | Callable[[str, str, int], str] = "table",
    kind: str = "given",
    scored_by: Sequence[str] = ("column correct",),
    confidence: Mapping[Key, float] | None = None,
    inclusion: Mapping[Key, float] | None = None,
    group_2: Sequence[str] | None = None,
    **more: Any,
) -> Dataset:
    """The dataset that holds these measures: answers, scores, ratings, human labels, groups, weights, runs and draws.

    A severity is rated by `rater` (a name, or a function of item, condition and draw) of this `kind`. Labels of an
    accuracy stand in the column `human`, those of a severity are people's ratings. `failed` and `ungraded` are answers
    without a value; one that is in neither and in no measure is absent. `more` are fields of the dataset.
    """
    answers: dict[Key, dict[str, Any]] = {}
    scores: list[dict[str, Any]] = []
    ratings: list[dict[str, Any]] = []
    for own in measures:
        for row, key in enumerate(keys_of(own)):
            answer = answers.setdefault(key, _answer(own, row, key))
            _add_value(own, row, key, answer, scores, ratings, rater, kind)
            _add_label(own, row, key, answer, ratings)
    whole = measures[0]
    for key in (*ungraded, *failed):
        answers[key] = answers.get(key, {}) | _of_item(whole, key)
    for key in failed:
        answers[key]["error"] = "timeout"
    for key, chance in (inclusion or {}).items():
        answers[key]["inclusion"] = chance
    for score in scores:
        score["confidence"] = (confidence or {}).get(tuple(score[k] for k in KEY))
    if group_2 is not None:
        of_item = dict(zip(whole.items, group_2, strict=True))
        for key, row in answers.items():
            row["group_2"] = of_item[key[0]]
    fields: dict[str, Any] = {
        "name": "made",
        "answers": _frame([dict(zip(KEY, key, strict=True)) | row for key, row in answers.items()], ANSWERS),
        "scores": _frame(scores, SCORES),
        "ratings": _frame(ratings, RATINGS),
        "conditions": whole.conditions,
        "scored_by": whole.judges or (tuple(scored_by) if scores else ()),
        "counting": kind if any(row["kind"] == kind for row in ratings) else None,
    }
    return Dataset(**(fields | more))


def keys_of(own: Outcomes) -> list[Key]:
    """Item, condition and draw of every row."""
    draw = np.zeros(len(own.item), dtype=np.intp) if own.draw is None else own.draw
    rows = zip(own.item.tolist(), own.condition.tolist(), draw.tolist(), strict=True)
    return [(own.items[i], own.conditions[c], d) for i, c, d in rows]


def _frame(rows: list[dict[str, Any]], columns: Mapping[str, Any]) -> pl.DataFrame:
    more = {name: pl.String for row in rows[:1] for name in row if name not in columns}
    return pl.DataFrame(rows, schema={**columns, **more})


def _of_item(own: Outcomes, key: Key) -> dict[str, Any]:
    """What an answer has from its item: group, domain and weight."""
    place, row = own.items.index(key[0]), {}
    if own.group is not None:
        row["group"] = f"g{own.group[place]}"
    if own.stratum is not None:
        row["domain"] = own.strata[own.stratum[place]]
    if own.weight is not None:
        row["weight"] = float(own.weight[place])
    return row


def _answer(own: Outcomes, row: int, key: Key) -> dict[str, Any]:
    found = _of_item(own, key)
    if own.run is not None:
        found["run"] = own.runs[own.run[row]]
    return found


def _add_value(
    own: Outcomes, row: int, key: Key, answer: dict[str, Any], scores: list[dict[str, Any]],
    ratings: list[dict[str, Any]], rater: str | Callable[[str, str, int], str], kind: str,
) -> None:  # fmt: skip
    metric, value, place = own.metric, float(own.value[row]), dict(zip(KEY, key, strict=True))
    if metric.source == "severity":
        severity = value if metric.at is None else value * max(metric.at, 4.0)
        name = rater if isinstance(rater, str) else rater(*key)
        ratings.append(place | {"rater": name, "kind": kind, "severity": severity})
    elif metric.source == "answer":
        answer[metric.column] = bool(value) if metric.column == "refused" else value
    else:
        name, value = ("accuracy", 1 - value) if metric.name == "error_rate" else (metric.name, value)
        better = "higher" if name == "accuracy" else metric.better
        scores.append(
            place | {"metric": name, "value": value, "kind": metric.kind, "low": metric.low, "high": metric.high,
                     "better": better}
        )  # fmt: skip


def _add_label(own: Outcomes, row: int, key: Key, answer: dict[str, Any], ratings: list[dict[str, Any]]) -> None:
    if own.layer is not None:
        answer["layer"] = f"s{own.layer[row]}"
    if own.label is None or np.isnan(own.label[row]):
        return
    label = float(own.label[row])
    if own.metric.source == "severity":
        ratings.append(dict(zip(KEY, key, strict=True)) | {"rater": "person", "kind": "human", "severity": label})
    else:
        answer["human"] = 1 - label if own.metric.name == "error_rate" else label
