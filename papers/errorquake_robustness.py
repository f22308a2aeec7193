"""Does the count of differing pairs survive? Jackknife, aggregation, coverage, m_min; scale, overcalls, sample size.

And the upper tail without a law: log-linear slope, tail ratio, catastrophes (appendices B3, B4).
"""

import dataclasses
import math
from typing import Any

import numpy as np
import scipy

from errorquake_counts import count_joint, counts_of
from errorquake_scores import Scores
from richter.errors import InputError, TooFewErrors
from richter.records import Result
from richter.severity import DEFAULT, POSITIVE, Recipe, fit_rows, snap
from richter.severity._disjoint_intervals import Recount, Slopes, count_disjoint, fit_slopes, matched_pairs
from richter.severity._grid import TOP, level_index
from richter.severity._severity_kernels import CODES, fit_selected
from richter.stats import Floats, benjamini_hochberg


def m_min_strategies(recipe: Recipe) -> dict[str, Recipe]:
    """The recipe with the three choices of m_min of table 9."""
    return {
        "ks": dataclasses.replace(recipe, m_min="ks"),
        "1.5": dataclasses.replace(recipe, m_min=1.5),
        "clauset": dataclasses.replace(recipe, m_min="clauset"),
    }


def recount(
    rule: str,
    counts: Floats,
    *,
    recipe: Recipe = DEFAULT,
    max_error_gap: float = 0.05,
    min_gap: float = 0.15,
    n_resamples: int = 2000,
    level: float = 0.95,
    rng: np.random.Generator,
) -> Recount:
    """Count the matched pairs with disjoint intervals (section 4.1) on these counts, conditions x 9 levels."""
    found = fit_slopes(counts, recipe=recipe, n_resamples=n_resamples, level=level, rng=rng)
    return count_disjoint(rule, found, max_error_gap=max_error_gap, min_gap=min_gap)


AGGREGATIONS = ("primary_only", "secondary_only", "max_severity", "min_severity", "mean")


def leave_one_domain_out(scores: Scores, *, recipe: Recipe = DEFAULT, **options: Any) -> tuple[Recount, ...]:
    """The count without each domain in turn (appendix F). `options` as of `recount`."""
    domains = list(scores.by_domain())
    if len(domains) < 2:
        raise InputError(
            f"{len(domains)} domains cannot be left out in turn.", remedy="Give a `domain` column with two or more."
        )
    return tuple(
        recount(f"without {name}", counts_of(scores.severity[~mask]), recipe=recipe, **options)
        for name, mask in domains
    )


def aggregate_judges(judges: Floats, rule: str) -> Floats:
    """One severity from two judges' scores (2 x ...); in max, min and mean the other's stands where one failed."""
    first, second = judges[:2]
    if rule not in AGGREGATIONS:
        raise InputError(f"The rule {rule!r} is not known.", remedy=f"Use one of {', '.join(AGGREGATIONS)}.")
    scores: Floats = {
        "primary_only": lambda: first,
        "secondary_only": lambda: second,
        "max_severity": lambda: np.fmax(first, second),
        "min_severity": lambda: np.fmin(first, second),
        "mean": lambda: (np.fmax(first, second) + np.fmin(first, second)) / 2,
    }[rule]()
    return scores


def aggregation_rules(scores: Scores, *, recipe: Recipe = DEFAULT, **options: Any) -> tuple[Recount, ...]:
    """The count under other ways to make one score of two judges' (appendix G). `options` as of `recount`."""
    judges = _judges(scores)
    return tuple(
        recount(rule, counts_of(aggregate_judges(judges, rule)), recipe=recipe, **options) for rule in AGGREGATIONS
    )


def dual_coverage(
    scores: Scores, *, share: float = 0.8, recipe: Recipe = DEFAULT, **options: Any
) -> tuple[Recount, ...]:
    """The counts on the conditions of which both judges scored at least `share` of the rated answers (section 4.1)."""
    judges = _judges(scores)
    rated = ~np.isnan(scores.severity)
    both = (~np.isnan(judges[:2])).all(axis=0) & rated
    kept = both.sum(axis=0) >= share * np.maximum(rated.sum(axis=0), 1)
    rows = [recount("final score", counts_of(scores.severity[:, kept]), recipe=recipe, **options)]
    rows += [
        recount(rule, counts_of(aggregate_judges(judges[:, :, kept], rule)), recipe=recipe, **options)
        for rule in AGGREGATIONS
    ]
    return tuple(rows)


def _judges(scores: Scores) -> Floats:
    if scores.judges is None:
        raise InputError("The judges' own scores are not given.", remedy="Add the columns judge_1 and judge_2.")
    return scores.judges


def exceedance_sweep(
    scores: Scores,
    *,
    thresholds: tuple[int, ...] = (30, 50, 75, 100, 150, 200),
    recipe: Recipe = DEFAULT,
    max_error_gap: float = 0.05,
    min_gap: float = 0.15,
    n_resamples: int = 2000,
    level: float = 0.95,
    rng: np.random.Generator,
) -> dict[int, tuple[Recount, tuple[str, ...]]]:
    """The count among conditions whose chosen tail holds at least T errors, and which those are (appendix P)."""
    found = fit_slopes(counts_of(scores.severity), recipe=recipe, n_resamples=n_resamples, level=level, rng=rng)
    out = {}
    for threshold in thresholds:
        kept = np.isfinite(found.b) & (found.n_above >= threshold)
        part = Slopes(**{field.name: getattr(found, field.name)[kept] for field in dataclasses.fields(found)})
        names = tuple(name for name, keep in zip(scores.conditions, kept, strict=True) if keep)
        rule = f"at least {threshold} errors above m_min"
        out[threshold] = (count_disjoint(rule, part, max_error_gap=max_error_gap, min_gap=min_gap), names)
    return out


def fixed_m_min(
    scores: Scores, *, levels: tuple[float, ...] | None = None, recipe: Recipe = DEFAULT, **options: Any
) -> tuple[Recount, ...]:
    """The count with one m_min for all (appendix B2). `options` as of `recount`."""
    counts = counts_of(scores.severity)
    rows = []
    for m_min in levels if levels is not None else [float(m) for m in POSITIVE[:6]]:
        fixed = Recipe(estimator=recipe.estimator, m_min=m_min, min_events=recipe.min_events)
        rows.append(recount(f"m_min = {m_min:g}", counts, recipe=fixed, **options))
    return tuple(rows)


STABLE = 0.85  # the paper's pre-registered threshold on rank correlations


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Coarsening(Result):
    """b on a scale of fewer levels against b on the full scale: the rank correlation over conditions."""

    n_levels: int
    spearman: float
    n: int
    stable: bool
    b: dict[str, float]


def coarsen_scale(scores: Scores, n_levels: int, *, as_paper: bool = False, recipe: Recipe = DEFAULT) -> Coarsening:
    """S1: collapse the nine levels to `n_levels` evenly spaced ones and estimate b again with the same recipe.

    A score goes to the nearest of the fewer levels, halves down, a positive one never to "correct": the rule of the
    full grid; with the new step as delta, b keeps its meaning. `as_paper` is what the paper's released program does and
    its text does not say: seven levels are the half steps up to 3.0, which all above becomes; five are the unit steps,
    each score rounded up; and both are fitted on the old half-step grid with its delta of 0.5, five of whose levels are
    then empty.
    """
    if not 3 <= n_levels <= 8 or (as_paper and n_levels not in (5, 7)):
        raise InputError(
            f"{n_levels} levels is not a coarser scale{' of the paper' if as_paper else ''}.",
            remedy="Give 5 or 7 levels." if as_paper else "Give 3 to 8 levels, 0 included.",
        )
    counts = counts_of(scores.severity)
    full = fit_rows(counts[:, 1:], recipe).b
    if as_paper:
        collapsed = np.minimum(scores.severity, 3.0) if n_levels == 7 else np.ceil(scores.severity)
        coarse = fit_rows(counts_of(collapsed)[:, 1:], recipe).b
    else:
        step = TOP / (n_levels - 1)
        target = np.maximum(np.ceil(np.arange(1, 9) * 0.5 / step - 0.5 - 1e-9), 1).astype(np.int64)
        merged = np.zeros((len(counts), n_levels - 1))
        for k in range(8):
            merged[:, target[k] - 1] += counts[:, k + 1]
        log_q, _ = fit_selected(
            merged, CODES[recipe.estimator], recipe.min_events, min(recipe.min_bins, max(n_levels - 2, 1))
        )
        coarse = -log_q / (step * math.log(10))
    rho, n = _agreement(full, coarse)
    return Coarsening(
        n_levels=n_levels,
        spearman=rho,
        n=n,
        stable=rho > STABLE,
        b=scores.named(coarse),
    )


def _agreement(a: Floats, b: Floats) -> tuple[float, int]:
    keep = np.isfinite(a) & np.isfinite(b)
    n = int(keep.sum())
    if n < 3:
        raise TooFewErrors(f"{n} conditions have both slopes.", n=n, needed=3)
    if np.ptp(a[keep]) == 0 or np.ptp(b[keep]) == 0:
        return math.nan, n
    return float(scipy.stats.spearmanr(a[keep], b[keep]).statistic), n


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Overcalls(Result):
    """The ranking of conditions by b after overcalls are taken back, against the ranking as judged."""

    overcall_rate: float
    mean_spearman: float
    low: float
    high: float
    n_trials: int
    stable: bool


def correct_overcalls(
    scores: Scores,
    *,
    overcall_rate: float = 0.335,
    at: float = 2.0,
    n_trials: int = 50,
    as_paper: bool = False,
    recipe: Recipe = DEFAULT,
    rng: np.random.Generator,
) -> Overcalls:
    """S2: in each trial every score at `at` is an overcall with this probability and becomes 0 or 0.5, evenly.

    33.5% is the share of score-2.0 verdicts that the paper's manual audit of its judges called overcalls (appendix L:
    a person would have given 0 or 0.5). Give your own, from human labels, where you have them. `as_paper` is what the
    paper's released program does: the rounded number of overcalls becomes 0, and only among scores that both judges
    put at exactly 2.0, not among those that the grid moves there. Since b sees nothing but counts, all its trials are
    one and the same.
    """
    if not 0 <= overcall_rate <= 1:
        raise InputError(f"An overcall rate of {overcall_rate:g} is not in [0, 1].", remedy="Give a share.")
    counts = counts_of(scores.severity)
    as_judged = fit_rows(counts[:, 1:], recipe).b
    index = int(snap([at])[0])
    exact = np.sum(scores.severity == at, axis=0)
    rho = np.empty(n_trials)
    for t in range(n_trials):
        taken = (
            np.round(overcall_rate * exact).astype(np.int64)
            if as_paper
            else rng.binomial(counts[:, index].astype(np.int64), overcall_rate)
        )
        corrected = counts[:, 1:].copy()
        corrected[:, index - 1] -= taken
        corrected[:, 0] += 0 if as_paper else rng.binomial(taken, 0.5)
        rho[t] = _agreement(as_judged, fit_rows(corrected, recipe).b)[0]
    if np.isnan(rho).all():
        raise InputError("The slopes have no ranking once overcalls are taken back.", remedy="Rate more answers.")
    low, high = np.nanquantile(rho, [0.025, 0.975])
    mean = float(np.nanmean(rho))
    return Overcalls(
        overcall_rate=overcall_rate,
        mean_spearman=mean,
        low=float(low),
        high=float(high),
        n_trials=n_trials,
        stable=mean > STABLE,
    )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Subsampling(Result):
    """How much b moves on random halves of the items: its coefficient of variation per condition, and their median."""

    share: float
    n_trials: int
    coefficient_of_variation: dict[str, float]
    median: float


def subsample_stability(
    scores: Scores, *, share: float = 0.5, n_trials: int = 100, recipe: Recipe = DEFAULT, rng: np.random.Generator
) -> Subsampling:
    """S3: standard deviation over mean of b on `n_trials` random subsets of items, drawn without replacement."""
    if not 0 < share < 1:
        raise InputError(f"A share of {share:g} is not between 0 and 1.", remedy="Use 0.5 for halves.")
    levels = snap(scores.severity)
    n_items, n_conditions = levels.shape
    cells = np.where(levels >= 0, levels + 9 * np.arange(n_conditions), 9 * n_conditions)
    size = max(1, round(share * n_items))
    b = np.empty((n_trials, n_conditions))
    for t in range(n_trials):
        chosen = cells[rng.permutation(n_items)[:size]]
        counts = np.bincount(chosen.ravel(), minlength=9 * n_conditions + 1)[:-1].reshape(n_conditions, 9)
        b[t] = fit_rows(counts[:, 1:].astype(np.float64), recipe).b
    b[~np.isfinite(b)] = math.nan
    usable = np.mean(np.isnan(b), axis=0) < 0.5
    if not usable.any():
        raise TooFewErrors("No condition keeps a slope on half of its items.", n=0, needed=1)
    ratio = np.full(n_conditions, math.nan)
    ratio[usable] = np.nanstd(b[:, usable], axis=0, ddof=1) / np.abs(np.nanmean(b[:, usable], axis=0))
    return Subsampling(
        share=share,
        n_trials=n_trials,
        coefficient_of_variation=scores.named(ratio),
        median=float(np.nanmedian(ratio)),
    )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class MMinSensitivity(Result):
    """b of every condition under the three m_min strategies, and how far each strategy keeps the ranking by KS."""

    b: dict[str, dict[str, float]]
    spearman_with_ks: dict[str, float]


def vary_m_min(scores: Scores, *, recipe: Recipe = DEFAULT) -> MMinSensitivity:
    """S5: b with m_min by KS, at 1.5 and by `clauset` (table 9), and the rank correlations with the first."""
    rows = counts_of(scores.severity)[:, 1:]
    slopes = {name: fit_rows(rows, strategy).b for name, strategy in m_min_strategies(recipe).items()}
    return MMinSensitivity(
        b={c: {name: float(b[i]) for name, b in slopes.items()} for i, c in enumerate(scores.conditions)},
        spearman_with_ks={name: _agreement(slopes["ks"], b)[0] for name, b in slopes.items() if name != "ks"},
    )


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
    b = fit_rows(counts[:, 1:], recipe).b
    i, j = matched_pairs(counts[:, 1:].sum(axis=1) / counts.sum(axis=1), max_error_gap=max_error_gap).T
    both = np.isfinite(ratio) & np.isfinite(b)
    rho, p = (math.nan, math.nan)
    if both.sum() >= 4 and np.ptp(ratio[both]) > 0 and np.ptp(b[both]) > 0:
        rho, p = (float(v) for v in scipy.stats.spearmanr(ratio[both], b[both]))
    return TailSummaries(
        upper_slope=scores.named(slope),
        tail_ratio=scores.named(ratio),
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
        fisher.append(float(scipy.stats.fisher_exact(table).pvalue))
        joint = count_joint(levels[:, i], levels[:, j])
        only_i, only_j = int(joint[threshold:, :threshold].sum()), int(joint[:threshold, threshold:].sum())
        mcnemar.append(min(1.0, 2 * float(scipy.stats.binom.cdf(min(only_i, only_j), only_i + only_j, 0.5))))
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
