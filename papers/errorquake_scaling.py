"""Does b follow model size? Rank correlations under every choice of m_min (section 4.3, appendices N, S, T)."""

import dataclasses
import math
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike
from scipy.special import stdtr

from errorquake_counts import counts_of
from errorquake_robustness import m_min_strategies
from errorquake_scores import Scores
from richter.errors import TooFewErrors
from richter.records import Interval, Result
from richter.severity import DEFAULT, Recipe, fit_rows
from richter.stats import Floats, average_ranks
from richter.stats._bootstrap import percentiles


class PartialCorrelation(NamedTuple):
    """A correlation given a third variable, and its two-sided p."""

    correlation: float
    p: float


MIN_CONDITIONS = 5


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RankCorrelation(Result):
    """Spearman and Kendall of two variables over n conditions, with a permutation p and leave-one-out values."""

    n: int
    spearman: float
    spearman_p: float
    permutation_p: float
    kendall: float
    kendall_p: float
    leave_one_out: dict[str, float]
    sign_kept: int


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Scaling(Result):
    """The trend of b with size under each m_min strategy; a trend whose sign depends on the strategy is not one.

    `interval` resamples each condition's errors: it holds the sampling noise of the slopes, not of the choice of
    models. `partial_*` are given the error rate or the mean answer length.
    """

    conditions: tuple[str, ...]
    strategies: dict[str, RankCorrelation]
    b: dict[str, dict[str, float]]
    same_sign: bool
    interval: Interval
    partial_error_rate: float
    partial_error_rate_p: float
    partial_length: float | None
    partial_length_p: float | None
    per_tier: dict[int, RankCorrelation]
    verdict: str


def correlate_ranks(
    x: ArrayLike,
    y: ArrayLike,
    *,
    names: tuple[str, ...] | None = None,
    n_permutations: int = 9999,
    rng: np.random.Generator,
) -> RankCorrelation:
    """Spearman's and Kendall's rank correlations of x and y, undefined pairs left out.

    `spearman_p` is the t approximation (n = 14 and -0.562 give 0.036, where the paper prints 0.006);
    `permutation_p` shuffles one side. Needs five values.
    """
    first, second = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    names = names if names is not None else tuple(str(i) for i in range(len(first)))
    keep = np.isfinite(first) & np.isfinite(second)
    n = int(keep.sum())
    if n < MIN_CONDITIONS:
        raise TooFewErrors(
            f"{n} conditions have both values: a rank correlation needs {MIN_CONDITIONS}.", n=n, needed=MIN_CONDITIONS
        )
    first, second = first[keep], second[keep]
    kept = [name for name, k in zip(names, keep, strict=True) if k]
    rank_x, rank_y = average_ranks(first), average_ranks(second)
    rho = _pearson(rank_x, rank_y)
    shuffled = rng.permuted(np.tile(rank_y, (n_permutations, 1)), axis=1)
    known = math.isfinite(rho)  # a side that does not vary has no ranks to correlate
    beyond = np.sum(np.abs(_pearson_rows(rank_x, shuffled)) >= abs(rho) - 1e-12)
    tau, tau_p = scipy.stats.kendalltau(first, second)
    left_out = {
        name: _pearson(average_ranks(np.delete(first, i)), average_ranks(np.delete(second, i)))
        for i, name in enumerate(kept)
    }
    return RankCorrelation(
        n=n,
        spearman=rho,
        spearman_p=float(scipy.stats.spearmanr(first, second).pvalue) if known else math.nan,
        permutation_p=float((1 + beyond) / (1 + n_permutations)) if known else math.nan,
        kendall=float(tau),
        kendall_p=float(tau_p),
        leave_one_out=left_out,
        sign_kept=sum(r * rho > 0 for r in left_out.values()),
    )


def _pearson(x: Floats, y: Floats) -> float:
    return float(_pearson_rows(x, y[None, :])[0])


def _pearson_rows(x: Floats, rows: Floats) -> Floats:
    """The correlation of x with each row; NaN for a constant row."""
    a, b = x - x.mean(), rows - rows.mean(axis=1, keepdims=True)
    norm = np.sqrt((a @ a) * np.sum(b * b, axis=1))
    out = np.full(len(rows), math.nan)
    np.divide(b @ a, norm, out=out, where=norm > 0)
    return out


def partial_spearman(x: ArrayLike, y: ArrayLike, given: ArrayLike) -> PartialCorrelation:
    """Spearman's correlation of x and y given a third variable, and its p: ranks with the third's ranks regressed out.

    (r_xy - r_xz r_yz) / sqrt((1 - r_xz^2) (1 - r_yz^2)), t with n - 3 degrees of freedom.
    """
    values = np.stack([np.asarray(v, dtype=np.float64) for v in (x, y, given)])
    values = values[:, np.isfinite(values).all(axis=0)]
    n = values.shape[1]
    if n < MIN_CONDITIONS:
        raise TooFewErrors(f"{n} conditions have all three values.", n=n, needed=MIN_CONDITIONS)
    a, b, c = (average_ranks(v) for v in values)
    xy, xz, yz = _pearson(a, b), _pearson(a, c), _pearson(b, c)
    rest = (1 - xz**2) * (1 - yz**2)
    if not rest > 1e-12:
        return PartialCorrelation(math.nan, math.nan)
    r = max(-1.0, min(1.0, (xy - xz * yz) / math.sqrt(rest)))
    tail = 0.0 if abs(r) == 1 else float(2 * stdtr(n - 3, -abs(r) * math.sqrt((n - 3) / (1 - r * r))))
    return PartialCorrelation(r, tail)


def estimate_scaling(
    scores: Scores,
    active_params: ArrayLike,
    *,
    recipe: Recipe = DEFAULT,
    n_resamples: int = 2000,
    n_permutations: int = 9999,
    level: float = 0.95,
    rng: np.random.Generator,
) -> Scaling:
    """Rank correlation of log10(active parameters) with b, under all m_min strategies side by side (table 9).

    `active_params` is one number per condition (NaN leaves it out). The claim "b scales with size" stands only if
    the sign is the same under every strategy; in the paper it flips from -0.56 to +0.84 and +0.79.
    """
    size = np.log10(np.asarray(active_params, dtype=np.float64))
    counts = counts_of(scores.severity)
    rows = counts[:, 1:]
    names = scores.conditions
    by_strategy, slopes = {}, {}
    for name, strategy in m_min_strategies(recipe).items():
        b = fit_rows(rows, strategy).b
        b[~np.isfinite(b)] = math.nan
        slopes[name] = b
        try:
            by_strategy[name] = correlate_ranks(size, b, names=names, n_permutations=n_permutations, rng=rng)
        except TooFewErrors:
            if name == "ks":
                raise
    signs = {c.spearman > 0 for c in by_strategy.values() if math.isfinite(c.spearman)}
    same_sign = len(signs) == 1 and len(by_strategy) == 3
    main = by_strategy["ks"]
    total = counts.sum(axis=1)
    error_rate = np.where(total > 0, rows.sum(axis=1) / np.maximum(total, 1), math.nan)
    partial = partial_spearman(size, slopes["ks"], error_rate)
    by_length: tuple[float | None, float | None] = (None, None)
    if scores.length is not None:
        lengths = np.array([np.nanmean(x) if np.isfinite(x).any() else math.nan for x in scores.length.T])
        by_length = partial_spearman(size, slopes["ks"], lengths)
    return Scaling(
        conditions=tuple(n for n, s, b in zip(names, size, slopes["ks"], strict=True) if np.isfinite(s + b)),
        strategies=by_strategy,
        b={n: {s: float(b[i]) for s, b in slopes.items()} for i, n in enumerate(names)},
        same_sign=same_sign,
        interval=_interval(size, rows, recipe, n_resamples, level, rng),
        partial_error_rate=partial[0],
        partial_error_rate_p=partial[1],
        partial_length=by_length[0],
        partial_length_p=by_length[1],
        per_tier=_per_tier(scores, size, recipe, n_permutations, rng),
        verdict=_verdict(main, same_sign),
    )


def _verdict(main: RankCorrelation, same_sign: bool) -> str:
    if math.isnan(main.spearman):
        return f"Undecided: size, or b, is the same in all {main.n} conditions."
    trend = f"rho {main.spearman:+.2f}, p {main.permutation_p:.3g}, n = {main.n}"
    if not same_sign:
        return f"Blocked: the sign of the trend changes with the choice of m_min ({trend} by KS)."
    if main.permutation_p <= 0.05:
        return f"Larger conditions have {'steeper' if main.spearman > 0 else 'heavier'} severity tails ({trend})."
    return f"Undecided: no trend of b with size is shown ({trend})."


def _interval(
    size: Floats, rows: Floats, recipe: Recipe, n_resamples: int, level: float, rng: np.random.Generator
) -> Interval:
    errors = rows.sum(axis=1)
    keep = np.isfinite(size) & np.isfinite(fit_rows(rows, recipe).b)
    shares = rows[keep] / errors[keep, None]
    drawn = rng.multinomial(errors[keep].astype(np.int64), shares, size=(n_resamples, int(keep.sum())))
    b = fit_rows(drawn.astype(np.float64).reshape(-1, 8), recipe).b.reshape(n_resamples, -1)
    b = b[np.isfinite(b).all(axis=1)]
    rho = _pearson_rows(average_ranks(size[keep]), average_ranks(b.T).T)
    rho = rho[~np.isnan(rho)] if np.isfinite(rho).any() else np.full(1, math.nan)
    return percentiles(rho, level=level, method="bootstrap percentile over errors")


def _per_tier(
    scores: Scores, size: Floats, recipe: Recipe, n_permutations: int, rng: np.random.Generator
) -> dict[int, RankCorrelation]:
    """The trend within each tier (table 8); tiers with too few slopes are left out."""
    out = {}
    for tier in np.unique(scores.tier) if scores.tier is not None else []:
        if tier <= 0:
            continue
        b = fit_rows(counts_of(scores.severity[scores.tier == tier])[:, 1:], recipe).b
        try:
            out[int(tier)] = correlate_ranks(size, b, names=scores.conditions, n_permutations=n_permutations, rng=rng)
        except TooFewErrors:
            continue
    return out
