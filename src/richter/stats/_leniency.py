"""Judges as a panel: do they score alike, and does lacking a score depend on the judged?"""

import dataclasses

import numpy as np
import scipy
from numpy.typing import ArrayLike

from richter._special import chdtrc, ndtri
from richter.errors import InputError, TooFewErrors
from richter.records import Interval, Result, Shown, counted
from richter.stats._agreement import ratings_table
from richter.stats._arrays import Floats

__all__ = [
    "JudgeEffect",
    "LeaveOneOut",
    "Leniency",
    "Missingness",
    "leave_one_judge_out",
    "leniency",
    "missingness",
]

MIN_EIGENVALUE_SHARE = 1e-10  # eigenvalues below this share of the largest are 0


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class JudgeEffect(Shown):
    """How much higher (harsher) than the panel's mean one judge scores the same answers."""

    judge: int
    estimate: float
    standard_error: float
    interval: Interval
    n: int
    mean: float  # raw mean over whatever this judge scored


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Leniency(Result):
    """Per-judge effects on the same items, their joint test, and the paper's Kruskal-Wallis test."""

    effects: tuple[JudgeEffect, ...]
    wald: float
    wald_p: float
    kruskal_h: float
    kruskal_p: float
    n_items: int


def leniency(table: ArrayLike, *, level: float = 0.95) -> Leniency:
    """Judge effects from items x judges with gaps (a round-robin pool leaves most cells empty).

    Severity_ij = item_i + effect_j + error, effects summing to zero, by least squares within items, so that a judge
    who was dealt worse answers is not called harsh; standard errors are clustered by item (sandwich), and the joint
    test is Wald's chi-square with k - 1 degrees of freedom. Kruskal-Wallis over the judges' raw scores is the paper's
    test (appendix B5): it ignores which items each judge had, and is given beside it for comparison. Needs every two
    judges to be linked by items they share, directly or through others.
    """
    values = ratings_table(table, complete=False)
    seen = ~np.isnan(values)
    values, seen = values[seen.sum(axis=1) >= 2], seen[seen.sum(axis=1) >= 2]
    n, k = values.shape
    if n < 2:
        raise TooFewErrors(f"Only {counted(n, 'item was', 'items were')} scored by two judges or more.", n=n, needed=2)
    per_item = seen.sum(axis=1)
    filled = np.where(seen, values, 0.0)
    centred = np.where(seen, values - (filled.sum(axis=1) / per_item)[:, None], 0.0)
    # Normal equations of the within-item regression on judge indicators: X'X = sum_i (diag(s_i) - s_i s_i' / m_i).
    indicator = seen.astype(np.float64)
    information = np.diag(indicator.sum(axis=0)) - (indicator / per_item[:, None]).T @ indicator
    # Effects sum to zero: one eigenvalue is 0, which rounding leaves at up to 1e-15 of the largest.
    rank = int(
        np.linalg.matrix_rank(information, tol=MIN_EIGENVALUE_SHARE * float(np.trace(information)), hermitian=True)
    )
    if rank < k - 1:
        raise TooFewErrors(
            "Some judges share no item, even through other judges, so their leniency cannot be compared.",
            n=rank + 1,
            needed=k,
            remedy="Let judges overlap on some answers.",
        )
    inverse = np.linalg.pinv(information, rcond=MIN_EIGENVALUE_SHARE, hermitian=True)
    effect = inverse @ centred.sum(axis=0)
    fitted = np.where(seen, effect, 0.0)
    residual = np.where(seen, centred - effect + (fitted.sum(axis=1) / per_item)[:, None], 0.0)
    # An item's score vector; within-item centring of residuals makes X_i' e_i equal to e_i itself.
    meat = residual.T @ residual * n / (n - 1)
    covariance = inverse @ meat @ inverse
    wald = float(effect @ np.linalg.pinv(covariance, rcond=MIN_EIGENVALUE_SHARE, hermitian=True) @ effect)
    reach = float(ndtri((1 + level) / 2))
    errors = np.sqrt(np.diag(covariance))
    raw = [column[~np.isnan(column)] for column in values.T]
    test = scipy.stats.kruskal(*raw)
    effects = tuple(
        JudgeEffect(
            judge=j,
            estimate=float(effect[j]),
            standard_error=float(errors[j]),
            interval=Interval(
                low=float(effect[j] - reach * errors[j]),
                high=float(effect[j] + reach * errors[j]),
                level=level,
                method="normal, clustered by item",
            ),
            n=len(raw[j]),
            mean=float(raw[j].mean()),
        )
        for j in range(k)
    )
    return Leniency(
        effects=effects,
        wald=wald,
        wald_p=float(chdtrc(k - 1, wald)),
        kruskal_h=float(test.statistic),
        kruskal_p=float(test.pvalue),
        n_items=n,
    )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class LeaveOneOut(Result):
    """The panel's mean severity and error rate without one judge, on the items that still have a score."""

    judge: int
    mean_severity: float
    mean_change: float
    error_rate: float
    error_rate_change: float
    n_items: int
    n_lost: int


def leave_one_judge_out(table: ArrayLike) -> tuple[LeaveOneOut, ...]:
    """Each item's mean score rebuilt without judge j, for every j (the paper's appendix H drops records instead).

    Changes compare the same items with and without the judge; items that only this judge scored are lost and counted.
    """
    values = ratings_table(table, complete=False)
    everyone = _row_means(values)
    rows = []
    for j in range(values.shape[1]):
        without = _row_means(np.delete(values, j, axis=1))
        rated = ~np.isnan(without)
        if not rated.any():
            raise TooFewErrors(f"Without judge {j + 1} no item has a score.", n=0, needed=1)
        mean, rate = float(without[rated].mean()), float(np.mean(without[rated] > 0))
        rows.append(
            LeaveOneOut(
                judge=j,
                mean_severity=mean,
                mean_change=mean - float(everyone[rated].mean()),
                error_rate=rate,
                error_rate_change=rate - float(np.mean(everyone[rated] > 0)),
                n_items=int(rated.sum()),
                n_lost=int(np.sum(~np.isnan(everyone) & ~rated)),
            )
        )
    return tuple(rows)


def _row_means(values: Floats) -> Floats:
    seen = ~np.isnan(values)
    count = seen.sum(axis=1)
    total = np.where(seen, values, 0.0).sum(axis=1)
    means: Floats = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    return means


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
    k, n = np.asarray(missing, dtype=np.int64), np.asarray(total, dtype=np.int64)
    if k.ndim != 1 or k.shape != n.shape or len(n) < 2 or (k < 0).any() or (k > n).any() or (n < 1).any():
        raise InputError(
            "Counts of missing scores do not fit their totals.",
            remedy="Give 0 <= missing <= total for two groups or more.",
        )
    overall = k.sum() / n.sum()
    if overall in (0.0, 1.0):
        return Missingness(shares=tuple((k / n).tolist()), p_value=1.0, chi_square=0.0, n_resamples=0)
    spread = n * overall * (1 - overall)
    observed = float(np.sum((k - n * overall) ** 2 / spread))
    rng = np.random.default_rng(0) if rng is None else rng
    draws = rng.multivariate_hypergeometric(n, int(k.sum()), size=n_resamples, method="marginals")
    statistic = np.sum((draws - n * overall) ** 2 / spread, axis=1)
    p = (1 + int(np.sum(statistic >= observed * (1 - 1e-12)))) / (1 + n_resamples)
    return Missingness(shares=tuple((k / n).tolist()), p_value=p, chi_square=observed, n_resamples=n_resamples)
