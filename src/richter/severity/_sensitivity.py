"""What the scale, the judges' overcalls, the sample size and m_min do to b (section 4.6: S1, S2, S3, S5)."""

import dataclasses
import math

import numpy as np
from scipy.stats import spearmanr

from richter.errors import InputError, TooFewErrors
from richter.records import Result
from richter.severity._b_value import DEFAULT, Recipe, fit_rows
from richter.severity._discriminate import m_min_strategies
from richter.severity._grid import TOP, Scores, snap
from richter.severity._kernels import CODES, fit_selected
from richter.severity._robustness import counts_of
from richter.stats import Floats

__all__ = [
    "Coarsening",
    "MMinSensitivity",
    "Overcalls",
    "Subsampling",
    "coarsen_scale",
    "correct_overcalls",
    "subsample_stability",
    "vary_m_min",
]

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
    full = fit_rows(np.ascontiguousarray(counts[:, 1:]), recipe)[0]
    if as_paper:
        collapsed = np.minimum(scores.severity, 3.0) if n_levels == 7 else np.ceil(scores.severity)
        coarse = fit_rows(np.ascontiguousarray(counts_of(collapsed)[:, 1:]), recipe)[0]
    else:
        step = TOP / (n_levels - 1)
        target = np.maximum(np.ceil(np.arange(1, 9) * 0.5 / step - 0.5 - 1e-9), 1).astype(np.int64)
        merged = np.zeros((len(counts), n_levels - 1))
        for k in range(8):
            merged[:, target[k] - 1] += counts[:, k + 1]
        log_q, _, _ = fit_selected(
            merged, CODES[recipe.estimator], recipe.min_events, min(recipe.min_bins, max(n_levels - 2, 1))
        )
        coarse = -log_q / (step * math.log(10))
    rho, n = _agreement(full, coarse)
    return Coarsening(
        n_levels=n_levels,
        spearman=rho,
        n=n,
        stable=rho > STABLE,
        b=dict(zip(scores.conditions, coarse.tolist(), strict=True)),
    )


def _agreement(a: Floats, b: Floats) -> tuple[float, int]:
    keep = np.isfinite(a) & np.isfinite(b)
    n = int(keep.sum())
    if n < 3:
        raise TooFewErrors(f"{n} conditions have both slopes.", n=n, needed=3)
    if np.ptp(a[keep]) == 0 or np.ptp(b[keep]) == 0:
        return math.nan, n
    return float(spearmanr(a[keep], b[keep]).statistic), n


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
    as_judged = fit_rows(np.ascontiguousarray(counts[:, 1:]), recipe)[0]
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
        rho[t] = _agreement(as_judged, fit_rows(corrected, recipe)[0])[0]
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
        b[t] = fit_rows(np.ascontiguousarray(counts[:, 1:], dtype=np.float64), recipe)[0]
    b[~np.isfinite(b)] = math.nan
    usable = np.mean(np.isnan(b), axis=0) < 0.5
    if not usable.any():
        raise TooFewErrors("No condition keeps a slope on half of its items.", n=0, needed=1)
    ratio = np.full(n_conditions, math.nan)
    ratio[usable] = np.nanstd(b[:, usable], axis=0, ddof=1) / np.abs(np.nanmean(b[:, usable], axis=0))
    return Subsampling(
        share=share,
        n_trials=n_trials,
        coefficient_of_variation=dict(zip(scores.conditions, ratio.tolist(), strict=True)),
        median=float(np.nanmedian(ratio)),
    )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class MMinSensitivity(Result):
    """b of every condition under the three m_min strategies, and how far each strategy keeps the ranking by KS."""

    b: dict[str, dict[str, float]]
    spearman_with_ks: dict[str, float]


def vary_m_min(scores: Scores, *, recipe: Recipe = DEFAULT) -> MMinSensitivity:
    """S5: b with m_min by KS, at 1.5 and by `clauset` (table 9), and the rank correlations with the first."""
    rows = np.ascontiguousarray(counts_of(scores.severity)[:, 1:])
    slopes = {name: fit_rows(rows, strategy)[0] for name, strategy in m_min_strategies(recipe).items()}
    return MMinSensitivity(
        b={c: {name: float(b[i]) for name, b in slopes.items()} for i, c in enumerate(scores.conditions)},
        spearman_with_ks={name: _agreement(slopes["ks"], b)[0] for name, b in slopes.items() if name != "ks"},
    )
