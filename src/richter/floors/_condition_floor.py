"""One condition: its error rate, calibration, and the floor that its confidences put under both."""

import dataclasses
from typing import ClassVar

import numpy as np

from richter.claims import Evidence, ece_evidence, ece_side
from richter.errors import TooFewErrors
from richter.floors._lipschitz import Lipschitz, lipschitz
from richter.floors._rates import passive_floor
from richter.records import Interval, Shown
from richter.stats import Floats, Indices, clopper_pearson, ece

__all__ = ["ConditionSummary", "summarise_condition"]

FEW_ITEMS = 30


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ConditionSummary(Shown):
    """One condition: its error rate, calibration and floor, and what is wrong with its data.

    `error_rate` None: nothing was graded right or wrong. With zero errors it is 0 and what is known is the upper end
    of its interval. `floor` is the passive rate at the estimated L; None where L is undefined.
    """

    unwritten: ClassVar = ("name",)

    name: str
    n: int
    failed: int
    missing: int
    error_rate: float | None = None
    error_rate_interval: Interval | None = None
    accuracy: float | None = None
    ece: float | None = None
    ece_debiased: float | None = None
    ece_null: float | None = None
    ece_interval: Interval | None = None
    lipschitz: float | None = None
    lipschitz_detail: Lipschitz | None = None
    floor: float | None = None
    warnings: tuple[str, ...] = ()


def summarise_condition(
    name: str,
    error: Evidence | None,
    *,
    correct: Floats,
    confidence: Floats,
    item: Indices,
    rng: np.random.Generator,
    group: Indices | None = None,
    weight: Floats | None = None,
    failed: int = 0,
    missing: int = 0,
    level: float = 0.95,
    n_resamples: int = 1000,
) -> ConditionSummary:
    """Summarise a condition from the evidence on its error rate and its rows: grade, confidence (NaN: none), item.

    `group` and `weight` are per item. The interval of ECE counts units, not rows.
    """
    asked = missing + failed + (0 if error is None else error.n)
    warnings = []
    if failed:
        warnings.append(f"{failed} of {asked} calls failed; they are left out, not graded as wrong")
    if missing:
        warnings.append(f"{missing} of {asked} items have no grade")
    if error is None:
        why = "every row failed" if failed and not missing else "no row has a grade"
        return ConditionSummary(
            name=name, n=0, failed=failed, missing=missing, warnings=(f"untestable: {why}", *warnings)
        )
    n, rate, interval = error.n, error.estimate, error.interval(level)
    if rate == 0:
        if error.units == n:
            interval = clopper_pearson(0, n, level=level, side="upper")
        warnings.append(f"no error in {n}: the rate is at most {interval.high:.2g} ({100 * level:g}%), not 0")
    if rate in (0, 1) and n >= FEW_ITEMS:
        warnings.append(f"{100 * (1 - rate):g}% accuracy on {n} items: check that answers were extracted right")
    if n < FEW_ITEMS:
        warnings.append(f"only {n} graded item{'s' * (n > 1)}: every figure here is rough")
    summary = ConditionSummary(
        name=name, n=n, failed=failed, missing=missing, error_rate=rate, error_rate_interval=interval, accuracy=1 - rate
    )
    known = ~np.isnan(confidence)
    if not known.any():
        return dataclasses.replace(summary, warnings=tuple(warnings))
    c, a = confidence[known], correct[known]
    if len(c) < len(confidence):
        warnings.append(f"{len(confidence) - len(c)} graded items have no confidence; calibration leaves them out")
    warnings += _confidence_warnings(c)
    found = ece(c, a, level=level)
    honest = ece_evidence(ece_side(c, a, item[known], group=group, weight=weight))
    smooth, floor = None, None
    try:
        smooth = lipschitz(c, a, rng=rng, level=level, n_resamples=min(n_resamples, 1000))
        # with no error seen, the rate's upper limit stands in: a floor of 0 would be false
        floor = float(passive_floor(len(c), rate or interval.high, lipschitz=smooth.estimate))
    except TooFewErrors as few:
        warnings.append(few.what)
    return dataclasses.replace(
        summary,
        ece=found.ece,
        ece_debiased=honest.estimate,
        ece_null=found.null,
        ece_interval=honest.interval(level),
        lipschitz=None if smooth is None else smooth.estimate,
        lipschitz_detail=smooth,
        floor=floor,
        warnings=tuple(warnings),
    )


def _confidence_warnings(c: Floats) -> list[str]:
    values = np.unique(np.round(c, 6))
    shares = {round(1 / k, 6) for k in range(2, 27)}
    if len(c) > 1 and set(values.tolist()) <= shares:
        return ["every confidence is one over a number of options: it says nothing of the answer"]
    if len(c) > 1 and len(values) == 1:
        return [f"every confidence is {values[0]:g}: calibration only compares it with the accuracy"]
    return []
