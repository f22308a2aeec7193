"""Summaries of the upper tail without a law: log-linear slope, tail ratio, catastrophes (appendices B3, B4)."""

import dataclasses
import math

import numpy as np
from scipy.stats import binom, fisher_exact, spearmanr

from richter.records import Result
from richter.severity._b_value import DEFAULT, Recipe, fit_rows
from richter.severity._grid import POSITIVE, Scores, count_joint, level_index, snap
from richter.severity._recount import matched_pairs
from richter.severity._robustness import counts_of
from richter.stats import Floats, benjamini_hochberg

__all__ = ["CatastropheTests", "TailSummaries", "catastrophe_tests", "summarise_tails", "tail_ratio", "upper_slope"]


def upper_slope(counts: Floats) -> float:
    """Minus the least-squares slope of log10(count) on severity over 2.5, 3.0, 3.5, 4.0 (appendix B3).

    Levels without an error have no logarithm and are left out; under three levels the slope is undefined (NaN). It
    weighs a level with two errors like one with two hundred, so it is a check and not an estimator.
    """
    levels, upper = POSITIVE[4:], np.asarray(counts[5:], dtype=np.float64)
    seen = upper > 0
    if seen.sum() < 3:
        return math.nan
    return -float(np.polyfit(levels[seen], np.log10(upper[seen]), 1)[0])


def tail_ratio(counts: Floats) -> float:
    """P(M >= 3 | M > 0) / P(M >= 1 | M > 0), the tail's mass by counting (section 4.1); NaN with nothing above 0.5."""
    at_one = float(counts[2:].sum())
    return float(counts[6:].sum()) / at_one if at_one > 0 else math.nan


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class TailSummaries(Result):
    """Per condition, and how many matched pairs differ by more than each threshold. None of these is a test."""

    upper_slope: dict[str, float]
    tail_ratio: dict[str, float]
    matched: int
    pairs_by_slope: dict[str, int]
    pairs_by_ratio: dict[str, int]
    ratio_against_b: float
    ratio_against_b_p: float


def summarise_tails(
    scores: Scores,
    *,
    recipe: Recipe = DEFAULT,
    slope_gaps: tuple[float, ...] = (0.15,),
    ratio_gaps: tuple[float, ...] = (0.005, 0.010, 0.015),
    max_error_gap: float = 0.05,
) -> TailSummaries:
    """The log-linear slope and tail ratio of every condition, matched pairs apart by each gap, and ratio against b."""
    counts = counts_of(scores.severity)
    slope = np.array([upper_slope(c) for c in counts])
    ratio = np.array([tail_ratio(c) for c in counts])
    b = fit_rows(np.ascontiguousarray(counts[:, 1:]), recipe)[0]
    i, j = matched_pairs(counts[:, 1:].sum(axis=1) / counts.sum(axis=1), max_error_gap=max_error_gap).T
    both = np.isfinite(ratio) & np.isfinite(b)
    rho, p = (math.nan, math.nan)
    if both.sum() >= 4 and np.ptp(ratio[both]) > 0 and np.ptp(b[both]) > 0:
        rho, p = (float(v) for v in spearmanr(ratio[both], b[both]))
    return TailSummaries(
        upper_slope=dict(zip(scores.conditions, slope.tolist(), strict=True)),
        tail_ratio=dict(zip(scores.conditions, ratio.tolist(), strict=True)),
        matched=len(i),
        pairs_by_slope={f"{g:g}": int(np.sum(np.abs(slope[i] - slope[j]) > g)) for g in slope_gaps},
        pairs_by_ratio={f"{g:g}": int(np.sum(np.abs(ratio[i] - ratio[j]) > g)) for g in ratio_gaps},
        ratio_against_b=rho,
        ratio_against_b_p=p,
    )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CatastropheTests(Result):
    """How many matched pairs differ in the rate at or above a severity, q by Benjamini-Hochberg.

    `fisher` is the paper's test, which takes the two conditions' answers as unrelated; `mcnemar` uses that they
    answered the same items (exact, on the items where only one of the two was that bad).
    """

    severity: float
    matched: int
    fisher: int
    mcnemar: int
    pairs: tuple[tuple[str, str, float, float], ...]


def catastrophe_tests(
    scores: Scores, *, severity: float = 3.0, alpha: float = 0.05, max_error_gap: float = 0.05
) -> CatastropheTests:
    """Test each matched pair's rates of answers at or above `severity` (appendix B4), with q-values for all of them."""
    threshold = level_index(severity)
    counts = counts_of(scores.severity)
    levels = snap(scores.severity)
    total, bad = counts.sum(axis=1), counts[:, threshold:].sum(axis=1)
    pairs = matched_pairs(counts[:, 1:].sum(axis=1) / total, max_error_gap=max_error_gap)
    fisher, mcnemar = [], []
    for i, j in pairs:
        table = [[int(bad[i]), int(total[i] - bad[i])], [int(bad[j]), int(total[j] - bad[j])]]
        fisher.append(float(fisher_exact(table).pvalue))
        joint = count_joint(levels[:, i], levels[:, j])
        only_i, only_j = int(joint[threshold:, :threshold].sum()), int(joint[:threshold, threshold:].sum())
        mcnemar.append(min(1.0, 2 * float(binom.cdf(min(only_i, only_j), only_i + only_j, 0.5))))
    q_fisher, q_mcnemar = (benjamini_hochberg(p) if p else np.empty(0) for p in (fisher, mcnemar))
    names = scores.conditions
    rows = [(names[i], names[j], float(f), float(m)) for (i, j), f, m in zip(pairs, q_fisher, q_mcnemar, strict=True)]
    return CatastropheTests(
        severity=severity,
        matched=len(pairs),
        fisher=int(np.sum(q_fisher <= alpha)),
        mcnemar=int(np.sum(q_mcnemar <= alpha)),
        pairs=tuple(rows),
    )
