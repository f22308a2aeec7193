"""Does failing to give a score depend on who was judged?"""

import dataclasses

import numpy as np
from numpy.typing import ArrayLike

from richter.errors import InputError
from richter.records import Result

__all__ = ["Missingness", "missingness"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Missingness(Result):
    """Share missing in each group, and the chance of so uneven a split if it did not depend on the group."""

    shares: tuple[float, ...]
    p_value: float
    chi_square: float
    n_resamples: int


def missingness(
    missing: ArrayLike, total: ArrayLike, *, n_resamples: int = 9999, rng: np.random.Generator | None = None
) -> Missingness:
    """Conditional Monte-Carlo test that the share missing is the same in every group.

    Given the totals and the overall number missing, the split is multivariate hypergeometric under the null, however
    small the counts; the statistic is Pearson's chi-square. p = (1 + draws at least as large) / (1 + draws).
    """
    lost, n = np.asarray(missing, dtype=np.int64), np.asarray(total, dtype=np.int64)
    if lost.ndim != 1 or lost.shape != n.shape or len(n) < 2 or (lost < 0).any() or (lost > n).any() or (n < 1).any():
        raise InputError(
            "Counts of missing scores do not fit their totals.",
            remedy="Give 0 <= missing <= total for two groups or more.",
        )
    overall = lost.sum() / n.sum()
    if overall in (0.0, 1.0):
        return Missingness(shares=tuple((lost / n).tolist()), p_value=1.0, chi_square=0.0, n_resamples=0)
    spread = n * overall * (1 - overall)
    observed = float(np.sum((lost - n * overall) ** 2 / spread))
    rng = np.random.default_rng(0) if rng is None else rng
    draws = rng.multivariate_hypergeometric(n, int(lost.sum()), size=n_resamples, method="marginals")
    statistic = np.sum((draws - n * overall) ** 2 / spread, axis=1)
    p = (1 + int(np.sum(statistic >= observed * (1 - 1e-12)))) / (1 + n_resamples)
    return Missingness(shares=tuple((lost / n).tolist()), p_value=p, chi_square=observed, n_resamples=n_resamples)
