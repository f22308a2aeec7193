"""Do judges score alike? Per-judge effects, the paper's Kruskal-Wallis test, and the panel without each judge."""

import dataclasses

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri
from scipy.stats import chi2, kruskal

from richter.errors import TooFewErrors
from richter.records import Interval, Result, Shown
from richter.stats._arrays import Floats
from richter.stats._raters_table import ratings_table

__all__ = ["JudgeEffect", "LeaveOneOut", "Leniency", "leave_one_judge_out", "leniency"]


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
        raise TooFewErrors(f"Only {n} items were scored by two judges or more.", n=n, needed=2)
    per_item = seen.sum(axis=1)
    filled = np.where(seen, values, 0.0)
    centred = np.where(seen, values - (filled.sum(axis=1) / per_item)[:, None], 0.0)
    # Normal equations of the within-item regression on judge indicators: X'X = sum_i (diag(s_i) - s_i s_i' / m_i).
    indicator = seen.astype(np.float64)
    information = np.diag(indicator.sum(axis=0)) - (indicator / per_item[:, None]).T @ indicator
    if np.linalg.matrix_rank(information) < k - 1:
        raise TooFewErrors(
            "Some judges share no item, even through other judges, so their leniency cannot be compared.",
            n=int(np.linalg.matrix_rank(information)) + 1,
            needed=k,
            remedy="Let judges overlap on some answers.",
        )
    inverse = np.linalg.pinv(information)
    effect = inverse @ centred.sum(axis=0)
    fitted = np.where(seen, effect, 0.0)
    residual = np.where(seen, centred - effect + (fitted.sum(axis=1) / per_item)[:, None], 0.0)
    # An item's score vector; within-item centring of residuals makes X_i' e_i equal to e_i itself.
    meat = residual.T @ residual * n / (n - 1)
    covariance = inverse @ meat @ inverse
    wald = float(effect @ np.linalg.pinv(covariance, rcond=1e-10, hermitian=True) @ effect)
    reach = float(ndtri((1 + level) / 2))
    errors = np.sqrt(np.diag(covariance))
    raw = [column[~np.isnan(column)] for column in values.T]
    test = kruskal(*raw)
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
        wald_p=float(chi2.sf(wald, k - 1)),
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
    """Rebuild each item's mean score without judge j, for every j (the paper's appendix H drops records instead).

    Changes compare the same items with and without the judge; items that only this judge scored are lost and counted.
    """
    values = ratings_table(table, complete=False)
    everyone = _row_means(values)
    rows = []
    for j in range(values.shape[1]):
        without = _row_means(np.delete(values, j, axis=1))
        kept = ~np.isnan(without)
        if not kept.any():
            raise TooFewErrors(f"Without judge {j + 1} no item has a score.", n=0, needed=1)
        mean, rate = float(without[kept].mean()), float(np.mean(without[kept] > 0))
        rows.append(
            LeaveOneOut(
                judge=j,
                mean_severity=mean,
                mean_change=mean - float(everyone[kept].mean()),
                error_rate=rate,
                error_rate_change=rate - float(np.mean(everyone[kept] > 0)),
                n_items=int(kept.sum()),
                n_lost=int(np.sum(~np.isnan(everyone) & ~kept)),
            )
        )
    return tuple(rows)


def _row_means(values: Floats) -> Floats:
    seen = ~np.isnan(values)
    count = seen.sum(axis=1)
    total = np.where(seen, values, 0.0).sum(axis=1)
    means: Floats = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    return means
