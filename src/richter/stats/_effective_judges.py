"""How many independent judges a panel is worth."""

import dataclasses

import numpy as np
from numpy.typing import ArrayLike

from richter.errors import InputError, TooFewErrors
from richter.records import Interval, Shown
from richter.stats._arrays import Floats
from richter.stats._raters_table import ratings_table

__all__ = ["EffectiveJudges", "effective_judges"]

MIN_ITEMS = 10  # below this a correlation of errors is noise


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class EffectiveJudges(Shown):
    """The number of independent judges whose mean would be as precise as this panel's."""

    estimate: float
    interval: Interval
    correlation: float  # mean correlation of the judges' errors
    n_judges: int
    n_items: int


def effective_judges(
    table: ArrayLike,
    reference: ArrayLike,
    *,
    level: float = 0.95,
    n_resamples: int = 2000,
    rng: np.random.Generator | None = None,
) -> EffectiveJudges:
    """k / (1 + (k - 1) rho), rho the mean pairwise correlation of the judges' errors against a reference.

    An error is judge - reference (a human or a rule score; two judges agreeing with each other prove nothing, they
    may share their mistakes). Items without the reference or a judge's score are left out. The value lies between
    1 (all err together) and k (independent errors), above k when errors offset. Percentile bootstrap over items.
    Undefined when a judge makes the same error on every item: then it has no error to correlate.
    """
    values = ratings_table(table, complete=False)
    truth = np.asarray(reference, dtype=np.float64)
    if truth.shape != (len(values),):
        raise InputError(
            f"The reference has shape {truth.shape}; {len(values)} items were judged.",
            remedy="Give one reference score per item.",
        )
    errors = values - truth[:, None]
    errors = errors[~np.isnan(errors).any(axis=1)]
    n, k = errors.shape
    if n < MIN_ITEMS:
        raise TooFewErrors(
            f"{n} items have a reference and every judge's score.", n=n, needed=MIN_ITEMS, remedy="Rate more by hand."
        )
    if np.any(np.ptp(errors, axis=0) == 0):
        judge = int(np.argmax(np.ptp(errors, axis=0) == 0)) + 1
        raise InputError(
            f"Undefined: judge {judge} makes the same error on every item.",
            remedy="Effective judges need errors that vary; leave this judge out.",
        )
    above = np.triu_indices(k, 1)
    # Errors on a grid repeat: items with the same errors are drawn together as counts.
    patterns, repeats = np.unique(errors, axis=0, return_counts=True)
    products = (patterns[:, :, None] * patterns[:, None, :]).reshape(len(patterns), -1)

    def effective(weights: Floats) -> Floats:
        mean = weights @ patterns / n
        covariance = (weights @ products / n).reshape(-1, k, k) - mean[:, :, None] * mean[:, None, :]
        deviation = np.sqrt(np.maximum(np.einsum("bii->bi", covariance), 0))
        with np.errstate(invalid="ignore", divide="ignore"):
            correlation = covariance / (deviation[:, :, None] * deviation[:, None, :])
            judges: Floats = k / (1 + (k - 1) * correlation[:, above[0], above[1]].mean(axis=1))
        return judges

    rng = np.random.default_rng(0) if rng is None else rng
    block = max(1, 4_000_000 // len(patterns))  # bounds the memory of one block of resamples
    sizes = [min(block, n_resamples - start) for start in range(0, n_resamples, block)]
    resampled = np.concatenate(
        [effective(rng.multinomial(n, repeats / n, size=size).astype(np.float64)) for size in sizes]
    )
    resampled = resampled[~np.isnan(resampled)]
    if len(resampled) < 0.99 * n_resamples:
        raise InputError(
            f"The judges' errors vary too little: only {len(resampled)} of {n_resamples} resamples are defined.",
            remedy="Rate more answers by hand.",
        )
    low, high = np.quantile(resampled, [(1 - level) / 2, (1 + level) / 2])
    estimate = float(effective(repeats[None, :].astype(np.float64))[0])
    return EffectiveJudges(
        estimate=estimate,
        interval=Interval(low=float(low), high=float(high), level=level, method="bootstrap percentile over items"),
        correlation=(k / estimate - 1) / (k - 1),
        n_judges=k,
        n_items=n,
    )
