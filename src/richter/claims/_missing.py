"""Missing grades: whether they lack on harder items, and what a claim is worth where they count as the worst."""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
from scipy.special import stdtr

from richter.claims._decide import counted
from richter.claims._outcomes import Floats, Metric
from richter.claims._units import Sample, difference_evidence
from richter.records import Claim, Interval, Verdict

__all__ = ["Missing", "missing_grades", "worst_case"]

FEWEST = 5  # missing items, and items that have values, below which nothing is said of their difficulty


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """Items that one condition has no value for: how the others fare on them and on the rest, and the p of that."""

    condition: str
    n: int
    items: int
    others_there: float | None
    others_elsewhere: float | None
    p: float | None
    sentence: str


def missing_grades(sample: Sample, conditions: Sequence[str] = (), *, level: float = 0.95) -> tuple[Missing, ...]:
    """Of every condition that lacks grades which others have: are they missing on harder items?

    An item's difficulty is the mean of the other conditions' values, each taken from its own mean so that who is
    missing does not matter. The two means are compared by a t test on units (group, else item), at `level` after
    Bonferroni over the conditions with missing grades.
    """
    names = tuple(conditions) or sample.outcomes.conditions
    columns = [sample.place(name) for name in names]
    mean = sample.mean[:, columns]
    known = ~np.isnan(mean)
    asked = known.any(axis=1)
    lacking = [k for k in range(len(names)) if (asked & ~known[:, k]).any() and known[:, k].any()]
    return tuple(_of(sample, names[k], k, mean, known, (1 - level) / len(lacking)) for k in lacking)


def _of(sample: Sample, name: str, k: int, mean: Floats, known: np.ndarray, alpha: float) -> Missing:
    metric = sample.metric
    others = np.delete(mean, k, axis=1)
    has = ~np.isnan(others)
    own = np.nansum(others, axis=0) / np.maximum(has.sum(axis=0), 1)
    seen = has.any(axis=1)
    easy = np.nansum(others - own, axis=1) / np.maximum(has.sum(axis=1), 1) + float(np.mean(own))
    gone = seen & ~known[:, k]
    n, items = int(gone.sum()), int(seen.sum())
    text = f"{name} has no grade on {n:,} of {counted(items, 'item')}"
    kept = seen & known[:, k]
    if n < FEWEST or int(kept.sum()) < FEWEST:
        return Missing(
            condition=name, n=n, items=items, others_there=None, others_elsewhere=None, p=None, sentence=text
        )
    there, elsewhere = float(np.mean(easy[gone])), float(np.mean(easy[kept]))
    # contributions of items to the difference of the two means, by unit
    part = np.where(gone, (easy - there) / n, -(easy - elsewhere) / int(kept.sum()))[seen]
    group = sample.outcomes.group
    sums = part if group is None else np.bincount(np.unique(group[seen], return_inverse=True)[1], weights=part)
    error = math.sqrt(float(np.sum(sums**2)) * len(sums) / max(len(sums) - 1, 1))
    gap = there - elsewhere
    p = 1.0 if error == 0 else min(1.0, 2 * float(stdtr(max(len(sums) - 1, 1), -abs(gap) / error)))
    if p < alpha:
        harder = (gap < 0) == (metric.better == "higher")
        shown = f"{_value(metric, there)} there, {_value(metric, elsewhere)} elsewhere"
        text += f", and they are {'harder' if harder else 'easier'} ones (the others: {shown})"
    return Missing(condition=name, n=n, items=items, others_there=there, others_elsewhere=elsewhere, p=p, sentence=text)


def _value(metric: Metric, value: float) -> str:
    return f"{metric.amount(value)}{metric.unit}"


def worst_case(sample: Sample, claim: Claim) -> str:
    """One sentence on a shown difference if all missing values were those that speak against it; empty if none is.

    The missing values of the condition that came out better take the worst value of the range, those of the other the
    best one; the same interval is then computed at the level at which the claim was decided.
    """
    metric = sample.metric
    if claim.verdict not in (Verdict.VERIFIED, Verdict.REFUTED) or len(claim.conditions) != 2 or claim.interval is None:
        return ""
    if metric.low is None or metric.high is None or claim.estimate is None or sample.outcomes.label is not None:
        return ""
    places = [sample.place(name) for name in claim.conditions]
    known = ~np.isnan(sample.mean[:, places])
    lacks = known.any(axis=1, keepdims=True) & ~known
    if not lacks.any():
        return ""
    rising = claim.estimate > 0
    mean, draws = sample.mean.copy(), sample.draws.copy()
    for side, (place, high) in enumerate(zip(places, (rising, not rising), strict=True)):
        mean[lacks[:, side], place] = metric.high if high else metric.low
        draws[lacks[:, side], place] = 1
    filled = dataclasses.replace(sample, mean=mean, draws=draws)
    found = difference_evidence(filled, *claim.conditions)
    interval: Interval = found.interval(claim.interval.level)
    value = 0.0 if claim.hypothesis is None else claim.hypothesis.value
    said = f"{metric.amount(found.estimate, sign=True)} [{metric.amount(interval.low, sign=True)}, "
    said += f"{metric.amount(interval.high, sign=True)}]{metric.suffix}"
    holds = value not in interval and (found.estimate > value) == (claim.estimate > value)
    total = f"all {int(lacks.sum()):,} missing grades spoke against it"
    better = rising == (metric.better == "higher")
    if metric.name == "accuracy" and not lacks[:, 0 if better else 1].any():
        total = f"all {int(lacks.sum()):,} that {claim.conditions[1 if better else 0]} lacks were wrong"
    return f"it holds even if {total}: {said}" if holds else f"it would not hold if {total}: {said}"
