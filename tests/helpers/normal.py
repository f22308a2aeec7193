"""Questions with normal evidence, for tests: everything that follows can be computed by hand."""

import dataclasses
from collections.abc import Sequence
from typing import Any

from scipy.special import ndtr, ndtri

from richter.claims import METRICS, Asked, Evidence, Question
from richter.records import Interval


def normal(estimate: float, error: float = 1.0, *, n: int = 100, **more: Any) -> Evidence:
    """A normal estimate with its interval and p-value; `more` are other fields of the evidence."""

    def interval(level: float) -> Interval:
        reach = float(ndtri(0.5 + level / 2)) * error
        return Interval(low=estimate - reach, high=estimate + reach, level=level, method="normal")

    made = Evidence(
        estimate=estimate,
        interval=interval,
        p=lambda value: 2 * float(ndtr(-abs(estimate - value) / error)),
        n=n,
        units=n,
        standard_error=error,
    )
    return dataclasses.replace(made, **more)


def ask(
    evidence: Evidence | float,
    measure: str = "mean_severity",
    *,
    conditions: Sequence[str] = ("old", "new"),
    **more: Any,
) -> Asked:
    """A question on a measure with this evidence, or with a normal estimate of standard error 1."""
    found = evidence if isinstance(evidence, Evidence) else normal(evidence)
    asked = {name: more.pop(name) for name in ("basis", "notes", "gates") if name in more}
    metric = more.pop("metric", METRICS[measure])
    return Asked(
        question=Question(measure=measure, conditions=tuple(conditions), **more), metric=metric, evidence=found, **asked
    )
