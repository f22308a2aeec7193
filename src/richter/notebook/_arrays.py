"""Arrays in, one claim out: two sets of scores on the same questions, or on different ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from richter.claims import (
    METRICS,
    Asked,
    Evidence,
    Metric,
    Outcomes,
    Question,
    check_margin,
    decide,
    difference_evidence,
    margin_on,
    parse_margin,
    unpaired_evidence,
)
from richter.errors import InputError
from richter.records import DEFAULT_LEVEL, Better, Claim
from richter.stats import Floats, Indices

__all__ = ["paired", "unpaired"]

Names = tuple[str, str]


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
    and wrong, other scores need their `scale` where it is not 0 to 1 and has ends. The estimate is b minus a and `p` is
    two-sided, of no difference; being within the margin is decided by the 90% interval.

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
    size = len(first)
    outcomes = Outcomes(
        metric=_metric(np.concatenate([first, second]), scale, better),
        items=tuple(map(str, range(size))),
        conditions=_checked_names(names),
        item=np.tile(np.arange(size), 2),
        condition=np.repeat([0, 1], size),
        value=np.concatenate([first, second]),
        weight=None if weight is None else _values(weight, "weight"),
        **_groups(group, size),
    )
    return _claim(outcomes, difference_evidence(outcomes, *names), margin, level)


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
    first, second = _values(a, "a"), _values(b, "b")
    sizes = len(first), len(second)
    groups: dict[str, Any] = {}
    if group is not None:
        labels = [f"{k} {label}" for k, own in enumerate(group) for label in np.asarray(own).ravel().tolist()]
        groups = _groups(labels, sum(sizes))
    outcomes = Outcomes(
        metric=_metric(np.concatenate([first, second]), scale, better),
        items=tuple(map(str, range(sum(sizes)))),
        conditions=_checked_names(names),
        item=np.arange(sum(sizes)),
        condition=np.repeat([0, 1], sizes),
        value=np.concatenate([first, second]),
        weight=None if weight is None else np.concatenate([_values(w, "weight") for w in weight]),
        **groups,
    )
    return _claim(outcomes, unpaired_evidence(outcomes, *names), margin, level)


def _values(given: ArrayLike, name: str) -> Floats:
    """An array of scores as numbers; missing ones are refused, since only a dataset says what they mean."""
    try:
        values = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{name} holds something that is not a number.", remedy="Give numbers, or booleans."
        ) from error
    if values.ndim != 1 or len(values) < 2:
        raise InputError(
            f"{name} has the shape {values.shape}.",
            remedy="Give one score for each question, at least two. Repeats of a question: richter.compare.",
        )
    missing = int(np.sum(~np.isfinite(values)))
    if missing:
        raise InputError(
            f"{missing:,} of the {len(values):,} scores in {name} are missing.",
            remedy="richter.compare({'a': a, 'b': b}) counts missing scores both ways.",
        )
    return values


def _checked_names(names: Names) -> Names:
    if len(names) != 2 or names[0] == names[1]:
        raise InputError(f"The names {names!r} are not two different names.", remedy='Give names=("old", "new").')
    return str(names[0]), str(names[1])


def _metric(values: Floats, scale: tuple[float, float] | None, better: Better) -> Metric:
    """Right and wrong, a score between two ends, or a score without ends."""
    if scale is None and np.isin(values, (0.0, 1.0)).all():
        return METRICS["accuracy" if better == "higher" else "error_rate"]
    ends = (0.0, 1.0) if scale is None and values.min() >= 0 and values.max() <= 1 else scale
    if ends is None:
        return Metric(name="mean_score", kind="real", better=better, noun="mean score",
                      better_word="better scored", worse_word="worse scored", alike_word="scored alike")  # fmt: skip
    low, high = map(float, ends)
    if not low < high or values.min() < low or values.max() > high:
        raise InputError(
            f"The scale {low:g} to {high:g} does not hold all scores ({values.min():g} to {values.max():g}).",
            remedy="Give scale=(lowest, highest) that a score can be.",
        )
    row = METRICS["mean_score"]
    return Metric(name=row.name, kind="bounded", better=better, low=low, high=high, noun=row.noun,
                  better_word=row.better_word, worse_word=row.worse_word, alike_word=row.alike_word)  # fmt: skip


def _groups(group: Any, size: int) -> dict[str, Any]:
    """Codes of one grouping of the questions, or of two."""
    if group is None:
        return {}
    given = np.asarray(group)
    several = [np.asarray(one) for one in group] if given.ndim == 2 and given.shape[0] == 2 else [given]
    for one in several:
        if one.shape != (size,):
            raise InputError(
                f"group has the shape {one.shape} for {size:,} questions.", remedy="Give one group for each question."
            )
    codes: list[Indices] = [np.unique(one, return_inverse=True)[1].astype(np.intp) for one in several]
    return dict(zip(("group", "group_2"), codes, strict=False))


def _claim(outcomes: Outcomes, evidence: Evidence, margin: float | str | None, level: float) -> Claim:
    metric = outcomes.metric
    at = None if margin is None else margin_on(parse_margin(margin), metric)
    if at is not None:
        check_margin(metric, at)
    first, second = outcomes.conditions
    question = Question(
        measure=metric.name,
        conditions=(first, second),
        margin=at,
        relation="above" if metric.better == "higher" else "below",
    )
    return decide([Asked(question=question, metric=metric, evidence=evidence)], level=level)[0]
