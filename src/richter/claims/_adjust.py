"""A paired difference adjusted for how hard items are, as seen from the other conditions."""

import dataclasses

import numpy as np

from richter.claims._measures import Floats, Metric, Outcomes
from richter.claims._question import Evidence
from richter.claims._units import (
    Sample,
    _by_units,
    _Frame,
    as_sample,
    codes_of_groups,
    difference_evidence,
    weights_of,
)
from richter.errors import InputError
from richter.records import Note, counted
from richter.stats._proportion import MIN_DEPARTING_UNITS

__all__ = ["Adjusted", "adjusted_difference"]

LARGE_GAP = 3.0  # standard errors between the difficulty of questions that both were asked and of the rest


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Adjusted:
    """Adjusted evidence, and its variance over that of the same difference without adjustment."""

    evidence: Evidence
    variance_ratio: float
    others: int


def difficulty(sample: Sample, *, without: tuple[str, ...]) -> Floats:
    """Every item's mean value in the conditions that are not named, each taken from its own mean; NaN where none is."""
    columns = [k for k, name in enumerate(sample.outcomes.conditions) if name not in without]
    values = sample.mean[:, columns]
    has = ~np.isnan(values)
    own = np.nansum(values, axis=0) / np.maximum(has.sum(axis=0), 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        found: Floats = np.nansum(np.where(has, values - own, 0.0), axis=1) / has.sum(axis=1)
    return found


def adjusted_difference(sample: Sample | Outcomes, first: str, second: str) -> Adjusted:
    """The second condition's mean minus the first's, on such items as all conditions of the file answered.

    x is the item's mean in the other conditions. The difference d is fitted by f(x) = b0 + b1 x + b2 x^2 on the items
    that both answered, and the estimate is the mean of f over all items with x: a weighted mean of d, with weights that
    give x and x^2 their means over all items (`_calibrated`). So a pair that got the easier items is corrected. The
    interval is by unit and counts the mix of difficulty as chance, too. Where both answered every item the adjustment
    changes nothing, and the plain evidence stands. Amounts that are paid are not adjusted: `total_evidence` compares
    them.
    """
    sample = as_sample(sample)
    others = len(sample.outcomes.conditions) - 2
    plain = difference_evidence(sample, first, second)
    if others < 1:
        raise InputError(
            f"Can't tell how hard the questions are from {first} and {second} alone.",
            remedy="Add a third model on the same questions, or leave --adjust out.",
        )
    d = sample.mean[:, sample.place(second)] - sample.mean[:, sample.place(first)]
    x = difficulty(sample, without=(first, second))
    whole = ~np.isnan(x)
    use = ~np.isnan(d) & whole
    more = int(np.sum(whole & ~use))
    if not more:
        text = "The adjustment changes nothing: both answered every question that the others did."
        unchanged = dataclasses.replace(plain, notes=(*plain.notes, Note(text, "adjusted")))
        return Adjusted(evidence=unchanged, variance_ratio=1.0, others=others)
    # people's labels correct the plain difference
    has_own_estimate = sample.outcomes.label is not None or not plain.standard_error
    if has_own_estimate or int(np.sum(d[use] != 0)) < MIN_DEPARTING_UNITS or np.ptp(x[use]) == 0:
        return Adjusted(evidence=plain, variance_ratio=1.0, others=others)
    outcomes, metric = sample.outcomes, sample.metric
    weight = np.ones(len(d)) if outcomes.weight is None else outcomes.weight
    span = np.inf if metric.low is None or metric.high is None else metric.high - metric.low
    n = int(use.sum())
    frame = _Frame(low=-span, high=span, base=0.0, sides=(1, -1), values=plain.values, n=n, units=n)
    values = _calibrated(d[whole], x[whole], weight[whole])
    found = _by_units(values, weights_of(outcomes.weight, whole), codes_of_groups(outcomes.group, whole), frame)
    assert plain.standard_error is not None
    share = ((found.standard_error or 0.0) / plain.standard_error) ** 2
    text = (
        f"adjusted for difficulty seen from {counted(others, 'other condition')}: variance x{share:.2f}; "
        f"{counted(more, 'question')} that only others answered counted"
    )
    text += _describe_other_mix(x[use], x[whole & ~use], metric)
    evidence = dataclasses.replace(found, judged=plain.judged, notes=(*found.notes, Note(text, "adjusted")))
    return Adjusted(evidence=evidence, variance_ratio=share, others=others)


def _describe_other_mix(asked: Floats, rest: Floats, metric: Metric) -> str:
    """That the questions which both answered are easier or harder for others than the rest, where that is no chance."""
    gap = float(asked.mean() - rest.mean())
    if abs(gap) <= LARGE_GAP * float(np.sqrt(asked.var() / len(asked) + rest.var() / len(rest))):
        return ""
    kind = "easier" if (gap > 0) == (metric.better == "higher") else "harder"
    return (
        f". Both were asked {kind} questions (others' mean {asked.mean():.2f}, of the rest {rest.mean():.2f}), "
        "which the adjustment removes only in part"
    )


def _calibrated(d: Floats, x: Floats, weight: Floats) -> Floats:
    """A value for every item (d is NaN where not both answered) whose mean is the estimate, and that varies as it does.

    With B = (1, x, x^2), A = sum of w B B' over the items of both and the mean of B over all items, the estimate is the
    sum of g d, g = w mean(B)' A^-1 B. A value is f + (W / w) g r / (1 - h), with residuals r, leverages h (HC3) and
    the total weight W.
    """
    use = ~np.isnan(d)
    degree = min(2, len(np.unique(x[use])) - 1)
    basis = np.vander((x - x[use].mean()) / np.ptp(x[use]), degree + 1)
    own, w = basis[use], weight[use]
    inverse = np.linalg.pinv(own.T @ (w[:, None] * own))
    fitted = basis @ (inverse @ (own.T @ (w * d[use])))
    per_weight = own @ (inverse @ np.average(basis, axis=0, weights=weight))  # g / w
    leverage = w * np.einsum("ij,jk,ik->i", own, inverse, own)
    values = fitted.copy()
    residual = (d[use] - fitted[use]) / np.maximum(1 - leverage, 1e-9)
    values[use] += float(np.sum(weight)) * per_weight * residual
    return values + float(np.sum(w * per_weight * d[use])) - float(np.average(values, weights=weight))
