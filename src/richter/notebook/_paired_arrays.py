"""Arrays in, one claim out: two sets of scores on the same questions, or on different ones."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from richter.claims import METRICS, Metric, Question, check_margin, decide, margin_on, parse_margin
from richter.errors import InputError
from richter.evidence import Policy, evidence
from richter.notebook._python_words import speaks_python
from richter.records import DEFAULT_LEVEL, Better, Claim
from richter.stats import Floats
from richter.tables import Dataset
from richter.tables._part import frame_of
from richter.tables._tables import ANSWERS, RATINGS, SCORES

__all__ = ["paired", "unpaired"]

Names = tuple[str, str]


@speaks_python
def paired(
    a: ArrayLike,
    b: ArrayLike,
    *,
    group: ArrayLike | Sequence[ArrayLike] | None = None,
    weight: ArrayLike | None = None,
    margin: float | str | None = None,
    level: float = DEFAULT_LEVEL,
    scale: tuple[float, float] | None = None,
    better: Better = "higher",
    names: Names = ("a", "b"),
) -> Claim:
    """The claim that `b` is better than `a`, where both hold one score for each question, in the same order.

    `group` says which questions belong together (a passage, a template); two such arrays are two groupings. `margin` is
    the difference that would matter (0.02 or "2pt"): within it the two count as equivalent. Scores of 0 and 1 are right
    and wrong, other scores need their `scale` where it is not 0 to 1 and has ends. `estimate` is b minus a, with
    its interval from `interval.low` to `interval.high`, and `p` is two-sided, of no difference; being
    within the margin is decided by the 90% interval.

    >>> claim = paired([1, 0, 1, 0, 1, 0] * 50, [1, 1, 1, 0, 1, 0] * 50)
    >>> claim.verdict.value, round(claim.estimate, 3), claim.n
    ('verified', 0.167, 300)
    """
    first, second = _values(a, "a"), _values(b, "b")
    if len(first) != len(second):
        raise InputError(
            f"a has {len(first):,} scores and b {len(second):,}.",
            remedy="Give both in the same order of questions, or use richter.unpaired for different questions.",
        )
    more = _item_columns(_groupings(group), None if weight is None else _values(weight, "weight"), len(first))
    rows = pl.concat([_rows(names[0], first, 0, more), _rows(names[1], second, 0, more)])
    return _claim(rows, names, scale, better, margin, level, Policy(trust_ids=True))


@speaks_python
def unpaired(
    a: ArrayLike,
    b: ArrayLike,
    *,
    group: tuple[ArrayLike, ArrayLike] | None = None,
    weight: tuple[ArrayLike, ArrayLike] | None = None,
    margin: float | str | None = None,
    level: float = DEFAULT_LEVEL,
    scale: tuple[float, float] | None = None,
    better: Better = "higher",
    names: Names = ("a", "b"),
) -> Claim:
    """The claim that `b` is better than `a`, where each has questions of its own.

    Options are those of `paired`; `group` and `weight` have one array for `a` and one for `b`. Paired scores need
    several times fewer questions.

    >>> unpaired([1, 0, 1, 0] * 100, [1, 1, 1, 0] * 100).verdict.value
    'verified'
    """
    sides = (_values(a, "a"), _values(b, "b"))
    rows, start = [], 0
    for k, (name, own) in enumerate(zip(names, sides, strict=True)):
        groups = (
            [] if group is None else [np.asarray([f"{k} {label}" for label in np.asarray(group[k]).ravel().tolist()])]
        )
        more = _item_columns(groups, None if weight is None else _values(weight[k], "weight"), len(own))
        rows.append(_rows(name, own, start, more))
        start += len(own)
    return _claim(pl.concat(rows), names, scale, better, margin, level, Policy(unpaired=True))


def _values(given: ArrayLike, name: str) -> Floats:
    """An array as numbers, one for each question; NaN is a missing score."""
    try:
        values = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} holds something that is not a number.", remedy="Give numbers or booleans.") from error
    if values.ndim != 1 or np.sum(np.isfinite(values)) < 2:
        raise InputError(
            f"{name} has the shape {values.shape}.",
            remedy="Give one score for each question, at least two. Repeats of a question: richter.compare.",
        )
    return values


def _groupings(group: Any) -> list[Any]:
    """One grouping of the questions, or two."""
    if group is None:
        return []
    given = np.asarray(group)
    return [np.asarray(one) for one in group] if given.ndim == 2 and given.shape[0] == 2 else [given]


def _item_columns(groupings: Sequence[Any], weight: Floats | None, size: int) -> dict[str, Any]:
    """What is known of each question: its groups and its weight."""
    for one in (*groupings, *(() if weight is None else (weight,))):
        if one.shape != (size,):
            raise InputError(
                f"A group or weight has the shape {one.shape} for {size:,} questions.",
                remedy="Give one for each question.",
            )
    columns: dict[str, Any] = {
        name: [str(label) for label in one.tolist()] for name, one in zip(("group", "group_2"), groupings, strict=False)
    }
    return columns if weight is None else columns | {"weight": weight}


def _rows(name: str, values: Floats, start: int, more: dict[str, Any]) -> pl.DataFrame:
    """One condition's scores, a row a question; questions count from `start`."""
    items = [f"{k:07d}" for k in range(start, start + len(values))]
    score = pl.Series("value", values).fill_nan(None)
    return pl.DataFrame({"item": items, "condition": str(name), "draw": 0, "value": score, **more})


def _metric(values: pl.Series, scale: tuple[float, float] | None, better: Better) -> Metric:
    """Right and wrong, a score between two ends, or a score without ends."""
    known = values.drop_nulls().to_numpy()
    if scale is None and np.isin(known, (0.0, 1.0)).all():
        return METRICS["accuracy" if better == "higher" else "error_rate"]
    row = dataclasses.replace(METRICS["mean_score"], better=better)
    ends = (0.0, 1.0) if scale is None and known.min() >= 0 and known.max() <= 1 else scale
    if ends is None:
        return dataclasses.replace(row, kind="real", low=None, high=None)
    low, high = map(float, ends)
    if not low < high or known.min() < low or known.max() > high:
        raise InputError(
            f"The scale {low:g} to {high:g} does not hold all scores ({known.min():g} to {known.max():g}).",
            remedy="Give scale=(lowest, highest) that a score can be.",
        )
    return dataclasses.replace(row, kind="bounded", low=low, high=high)


def _dataset(rows: pl.DataFrame, names: Names, metric: Metric) -> Dataset:
    """The scores as the dataset that every command asks: the checks and estimators are the same."""
    is_errors = metric.name == "error_rate"
    scores = rows.with_columns(
        pl.lit("accuracy" if is_errors else metric.name).alias("metric"), pl.lit(metric.kind).alias("kind"),
        pl.lit(metric.low).alias("low"), pl.lit(metric.high).alias("high"),
        pl.lit("higher" if is_errors else metric.better).alias("better"),
        (1 - pl.col("value") if is_errors else pl.col("value")).alias("value"),
    )  # fmt: skip
    return Dataset(
        name="The arrays", answers=frame_of(rows, ANSWERS), scores=frame_of(scores, SCORES),
        ratings=pl.DataFrame(schema=RATINGS), conditions=names,
    )  # fmt: skip


def _claim(
    rows: pl.DataFrame,
    names: Names,
    scale: tuple[float, float] | None,
    better: Better,
    margin: float | str | None,
    level: float,
    policy: Policy,
) -> Claim:
    """The claim that the second is better, by the one path."""
    if len(names) != 2 or str(names[0]) == str(names[1]):
        raise InputError(f"The names {names!r} are not two different names.", remedy='Give names=("old", "new").')
    metric = _metric(rows["value"], scale, better)
    at = None if margin is None else margin_on(parse_margin(margin), metric)
    if at is not None:
        check_margin(metric, at)
    pair = str(names[0]), str(names[1])
    question = Question(
        measure=metric.name, conditions=pair, margin=at, relation="above" if better == "higher" else "below"
    )
    return decide([evidence(_dataset(rows, pair, metric), question, policy)], level=level)[0]
