"""Error rate and calibration by group, with partial pooling: small groups borrow from the others."""

import dataclasses
import math

import numpy as np
import scipy
from numpy.typing import ArrayLike

from richter._special import betaincinv, betaln, ndtri
from richter.claims import ece_evidence, ece_side
from richter.records import Interval
from richter.stats import Floats, Indices, effective_sample_size, unit_rate

__all__ = ["GroupRow", "GroupStudy", "study_groups"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class GroupRow:
    """One group by itself, and pooled with the others."""

    group: str
    n: int
    error_rate: float
    error_interval: Interval
    pooled_error_rate: float
    pooled_error_interval: Interval
    ece: float
    ece_interval: Interval
    pooled_ece: float
    pooled_ece_interval: Interval


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class GroupStudy:
    """All groups; `spread_error` and `spread_ece` are the standard deviations between groups that the data ask for.

    Groups of fewer than five units are joined as `others` (`joined` counts them).
    """

    rows: tuple[GroupRow, ...]
    spread_error: float
    spread_ece: float
    joined: int


def study_groups(
    confidence: ArrayLike,
    correct: ArrayLike,
    group: ArrayLike,
    *,
    unit: ArrayLike | None = None,
    weight: ArrayLike | None = None,
    bins: int = 10,
    level: float = 0.95,
    fewest: int = 5,
) -> GroupStudy:
    """Error rate and debiased ECE of each group, alone and partially pooled.

    Error rates: k_g ~ binomial, rates ~ Beta(m s, (1 - m) s), m and s by maximum marginal likelihood (s at most 10,000,
    which is "no spread"); pooled rate and limits are those of Beta(k + m s, n - k + (1 - m) s). ECE: debiased values
    with standard errors taken from their own intervals, and a normal spread between groups (DerSimonian and Laird):
    pooled = B mean + (1 - B) own, B = s_g^2 / (s_g^2 + t^2), with the variance of the mean added. Pooled limits answer
    "which groups stand out" without the winner's curse; a group's own limits are the honest ones for it alone. Where
    answers vary together (`unit`, one each) or count differently (`weight`), n is as many independent answers as these
    are worth (`stats.effective_sample_size`), and a group of fewer than `fewest` units is joined with others.
    """
    c, a = np.asarray(confidence, dtype=np.float64), np.asarray(correct, dtype=np.float64)
    names = np.asarray([str(g) for g in np.asarray(group, dtype=object)])
    of = np.arange(len(c)) if unit is None else np.unique(np.asarray(unit), return_inverse=True)[1].astype(np.intp)
    w = np.ones(len(c)) if weight is None else np.asarray(weight, dtype=np.float64)
    small = [g for g in np.unique(names) if len(np.unique(of[names == g])) < fewest]
    names = np.where(np.isin(names, small), "others", names)
    groups = [str(g) for g in np.unique(names)]
    places = [np.flatnonzero(names == g) for g in groups]
    rate = np.array([float(np.average(1 - a[p], weights=w[p])) for p in places])
    worth = np.array([effective_sample_size(1 - a[p], of[p], weight=w[p], level=level) for p in places])
    m, s = _fit_beta_prior(rate * worth, worth)
    own = [ece_evidence(ece_side(c[p], a[p], group=_group_codes(of[p]), weight=w[p], bins=bins)) for p in places]
    values = np.array([e.estimate for e in own])
    z = float(ndtri(0.5 + level / 2))
    # the upper distance: the lower one is cut off at 0
    errors = np.array([max(e.interval(level).high - e.estimate, 1e-6) / z for e in own])
    middle, spread = _spread_between_groups(values, errors)
    tail = (1 - level) / 2
    rows = []
    for k, g in enumerate(groups):
        first, second = rate[k] * worth[k] + m * s, (1 - rate[k]) * worth[k] + (1 - m) * s
        shrink = errors[k] ** 2 / (errors[k] ** 2 + spread**2)
        weight = 1 / (errors**2 + spread**2)
        pooled = shrink * middle + (1 - shrink) * values[k]
        reach = z * math.sqrt((1 - shrink) * errors[k] ** 2 + shrink**2 / float(np.sum(weight)))
        rows.append(
            GroupRow(
                group=g,
                n=len(places[k]),
                error_rate=float(rate[k]),
                error_interval=unit_rate(1 - a[places[k]], of[places[k]], weight=w[places[k]], level=level),
                pooled_error_rate=float(first / (first + second)),
                pooled_error_interval=Interval(
                    low=float(betaincinv(first, second, tail)),
                    high=float(betaincinv(first, second, 1 - tail)),
                    level=level,
                    method="beta-binomial pooling",
                ),
                ece=float(values[k]),
                ece_interval=own[k].interval(level),
                pooled_ece=float(pooled),
                pooled_ece_interval=Interval(
                    low=max(float(pooled - reach), 0.0),
                    high=min(float(pooled + reach), 1.0),
                    level=level,
                    method="normal pooling",
                ),
            )
        )
    return GroupStudy(
        rows=tuple(rows), spread_error=math.sqrt(m * (1 - m) / (s + 1)), spread_ece=spread, joined=len(small)
    )


def _group_codes(of: Indices) -> Indices | None:
    """Units as codes from 0; None where every answer is one."""
    names, codes = np.unique(of, return_inverse=True)
    return None if len(names) == len(of) else codes.astype(np.intp)


def _fit_beta_prior(k: Floats, n: Floats) -> tuple[float, float]:
    """Mean and size of the Beta law of rates by maximum marginal likelihood."""
    rate = min(max(float(np.sum(k) / np.sum(n)), 1e-6), 1 - 1e-6)
    if len(k) < 3:
        return rate, 2.0  # too few groups to learn a spread: two answers' worth of the common rate

    def loss(x: Floats) -> float:
        m, s = 1 / (1 + math.exp(-x[0])), math.exp(min(x[1], 9.2))
        return -float(np.sum(betaln(k + m * s, n - k + (1 - m) * s) - betaln(m * s, (1 - m) * s)))

    start = np.array([math.log(rate / (1 - rate)), math.log(20.0)])
    x = scipy.optimize.minimize(loss, start, method="Nelder-Mead").x
    return 1 / (1 + math.exp(-float(x[0]))), math.exp(min(float(x[1]), 9.2))


def _spread_between_groups(values: Floats, errors: Floats) -> tuple[float, float]:
    """The weighted mean of the groups and the standard deviation between them (DerSimonian and Laird)."""
    w = 1 / errors**2
    mean = float(np.sum(w * values) / np.sum(w))
    q = float(np.sum(w * (values - mean) ** 2))
    spare = float(np.sum(w) - np.sum(w**2) / np.sum(w))
    square = max((q - (len(values) - 1)) / spare, 0.0) if spare > 0 else 0.0
    again = 1 / (errors**2 + square)
    return float(np.sum(again * values) / np.sum(again)), math.sqrt(square)
