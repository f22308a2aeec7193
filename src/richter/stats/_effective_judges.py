"""How many independent judges a panel is worth."""

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from richter.errors import InputError, TooFewErrors
from richter.records import Interval
from richter.stats._bootstrap import bootstrap
from richter.stats._ratings import ratings_table

__all__ = ["EffectiveJudges", "effective_judges"]

MIN_ITEMS = 10  # below this a correlation of errors is noise


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class EffectiveJudges:
    """The number of independent judges whose mean would be as precise as this panel's."""

    estimate: float
    interval: Interval
    correlation: float  # mean correlation of the judges' errors
    n_judges: int
    n_items: int

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}


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

    def effective(weights: NDArray[np.float64]) -> NDArray[np.float64]:
        total = weights.sum(axis=1)
        mean = weights @ errors / total[:, None]
        cross = (weights @ (errors[:, :, None] * errors[:, None, :]).reshape(n, -1)).reshape(-1, k, k)
        covariance = cross / total[:, None, None] - mean[:, :, None] * mean[:, None, :]
        deviation = np.sqrt(np.maximum(np.einsum("bii->bi", covariance), 0))
        with np.errstate(invalid="ignore", divide="ignore"):
            correlation = covariance / (deviation[:, :, None] * deviation[:, None, :])
            judges: NDArray[np.float64] = k / (1 + (k - 1) * correlation[:, above[0], above[1]].mean(axis=1))
        return judges

    boot = bootstrap(
        effective, n, rng=np.random.default_rng(0) if rng is None else rng, n_resamples=n_resamples, level=level
    )
    rho = (k / boot.estimate - 1) / (k - 1)
    return EffectiveJudges(estimate=boot.estimate, interval=boot.interval, correlation=rho, n_judges=k, n_items=n)
