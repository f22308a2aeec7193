"""A paired difference adjusted for how hard items are, as seen from the other conditions."""

import dataclasses

import numpy as np

from richter.claims._evidence import Evidence
from richter.claims._outcomes import Floats, Outcomes
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
from richter.stats._proportion import MIN_DEPARTING_UNITS

__all__ = ["Adjusted", "adjusted_difference"]

FOLDS = 10


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


def adjusted_difference(
    sample: Sample | Outcomes,
    first: str,
    second: str,
    *,
    rng: np.random.Generator | None = None,
) -> Adjusted:
    """The second condition's mean minus the first's, on items of this file's mix of difficulty.

    Where items vary in difficulty so does the difference d, and that part of its spread says nothing of who is
    better on such a mix. x is the item's mean in the other conditions, f(x) = b0 + b1 x + b2 x^2 is fitted to d by
    least squares on nine tenths of the units and used on the tenth (cross-fitted, so d does not explain itself):
    estimate = mean of f over all items with x + mean of d - f over those that both answered; its interval is by unit
    on d - f. Items that only other conditions answered count through f. Where f does not lower the spread, the plain
    evidence stands: nothing is lost. The target is the mix of difficulty in this file; a new sample of items with
    another mix would differ by more, and the notes say so. Amounts that are paid are not adjusted: `total_evidence`
    compares them.
    """
    sample = as_sample(sample) if isinstance(sample, Outcomes) else sample
    others = len(sample.outcomes.conditions) - 2
    plain = difference_evidence(sample, first, second)
    if others < 1:
        raise InputError(
            f"{first} and {second} are alone: items' difficulty is seen from other conditions.",
            remedy="Add a third condition on the same items, or leave --adjust out.",
        )
    d = sample.mean[:, sample.place(second)] - sample.mean[:, sample.place(first)]
    x = difficulty(sample, without=(first, second))
    use = ~np.isnan(d) & ~np.isnan(x)
    unadjusted = Adjusted(evidence=plain, variance_ratio=1.0, others=others)
    # people's labels correct the plain difference
    has_own_estimate = sample.outcomes.label is not None or plain.standard_error is None
    if has_own_estimate or int(np.sum(d[use] != 0)) < MIN_DEPARTING_UNITS or np.ptp(x[use]) == 0:
        return unadjusted
    outcomes, metric, whole = sample.outcomes, sample.metric, ~np.isnan(x)
    weight = np.ones(len(d)) if outcomes.weight is None else outcomes.weight
    units = np.arange(len(d)) if outcomes.group is None else outcomes.group
    fitted = _cross_fitted(d, x, weight, _folds(units, np.random.default_rng(0) if rng is None else rng))
    if fitted is None:
        return unadjusted
    centre = float(np.average(fitted[whole], weights=weight[whole]))
    span = np.inf if metric.low is None or metric.high is None else metric.high - metric.low
    n = int(use.sum())
    frame = _Frame(low=-span, high=span, base=0.0, sides=(1, -1), values=plain.values, n=n, units=n)
    found, before = (
        _by_units(values, weights_of(outcomes.weight, use), codes_of_groups(outcomes.group, use), frame)
        for values in (d[use] - fitted[use] + centre, d[use])
    )
    if found.standard_error is None or before.standard_error is None or before.standard_error == 0:
        return unadjusted
    share = (found.standard_error / before.standard_error) ** 2
    if share >= 1:
        return unadjusted
    note = (
        f"adjusted for difficulty seen from {others} other condition{'s' * (others != 1)}: variance x{share:.2f}; "
        "about items of this file's mix of difficulty"
    )
    evidence = dataclasses.replace(found, judged=plain.judged, notes=(*found.notes, note))
    return Adjusted(evidence=evidence, variance_ratio=share, others=others)


def _cross_fitted(d: Floats, x: Floats, weight: Floats, fold: np.ndarray) -> Floats | None:
    """The fit of d on x for each part of the items, learnt on the other parts; None where these are too few."""
    fitted = np.full(len(d), np.nan)
    use, whole = ~np.isnan(d) & ~np.isnan(x), ~np.isnan(x)
    for k in range(FOLDS):
        learn, apply = use & (fold != k), whole & (fold == k)
        if int(learn.sum()) < MIN_DEPARTING_UNITS:
            return None
        if apply.any():
            fitted[apply] = _fit(x[learn], d[learn], weight[learn])(x[apply])
    return fitted


def _folds(units: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Ten parts at random, whole units together."""
    names, place = np.unique(units, return_inverse=True)
    folds: np.ndarray = (rng.permutation(len(names)) % FOLDS)[place]
    return folds


def _fit(x: Floats, d: Floats, w: Floats) -> np.polynomial.Polynomial:
    degree = min(2, len(np.unique(x)) - 1)
    return np.polynomial.Polynomial.fit(x, d, degree, w=np.sqrt(w))
