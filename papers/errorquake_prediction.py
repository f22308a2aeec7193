"""Can errors on easy items predict catastrophes on hard ones (4.4), and what does b add to the error rate (5)?"""

import dataclasses
import math

import numpy as np
from numpy.typing import ArrayLike

from errorquake_counts import counts_of
from errorquake_scaling import RankCorrelation, correlate_ranks
from errorquake_scores import Scores
from richter.errors import InputError, TooFewErrors
from richter.records import Result
from richter.severity import DEFAULT, Recipe, fit_rows
from richter.severity._grid import DELTA, level_index
from richter.stats import Floats, Ints


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class MicroPrediction(Result):
    """Predicted and observed counts at or above a severity on the hard tiers, per condition.

    `within` of `n` predictions are within a factor of 1.5, `over` above it and `under` below. `b_easy` and `b_hard`
    diagnose why: equal slopes with wrong counts mean that hard items shift the level, not the shape. `correlation` is
    None where fewer than five conditions have a slope on the easy tiers.
    """

    severity: float
    n: int
    correlation: RankCorrelation | None
    predicted: dict[str, float]
    observed: dict[str, int]
    within: int
    over: int
    under: int
    b_easy: dict[str, float]
    b_hard: dict[str, float]
    mean_slope_gap: float
    sd_slope_gap: float


def predict_catastrophes(
    scores: Scores,
    *,
    severity: float = 3.0,
    easy: tuple[int, ...] = (1, 2),
    hard: tuple[int, ...] = (4, 5),
    recipe: Recipe = DEFAULT,
    rng: np.random.Generator,
) -> MicroPrediction:
    """Fit b on the easy tiers' errors and predict how many answers to the hard tiers reach `severity`.

    Predicted count = (errors at or above m_min per easy answer) x (hard answers) x P(M >= severity | M >= m_min) under
    the fitted law; for `aki`, whose law has no ceiling, that probability is the paper's 10^(-b (severity - m_min)).
    """
    if scores.tier is None:
        raise InputError("The items have no tiers.", remedy="Add a `tier` column (1 easy .. 5 hard).")
    threshold = level_index(severity) - 1
    easy_counts, hard_counts = (counts_of(scores.severity[np.isin(scores.tier, t)]) for t in (easy, hard))
    if not easy_counts.sum() or not hard_counts.sum():
        raise InputError(f"No rated items in tiers {easy} or {hard}.", remedy="Name tiers that have items.")
    rows = easy_counts[:, 1:]
    b, start = fit_rows(rows, recipe)
    b_hard = fit_rows(hard_counts[:, 1:], recipe).b
    predicted = np.full(len(b), math.nan)
    for i in np.flatnonzero(np.isfinite(b)):
        predicted[i] = _predict(rows[i], easy_counts[i], hard_counts[i], float(b[i]), int(start[i]), threshold, recipe)
    observed = hard_counts[:, threshold + 1 :].sum(axis=1)
    usable = np.isfinite(predicted)
    names = scores.conditions
    if not usable.any():
        raise TooFewErrors(
            f"No condition has the {recipe.min_events} errors that a slope on tiers {', '.join(map(str, easy))} needs "
            f"(at most {int(rows.sum(axis=1).max())}).",
            n=int(rows.sum(axis=1).max()),
            needed=recipe.min_events,
        )
    correlation = None
    if usable.sum() >= 5:
        correlation = correlate_ranks(predicted, np.where(usable, observed, math.nan), names=names, rng=rng)
    p, o = predicted[usable], observed[usable]
    within = (o / 1.5 <= p) & (p <= 1.5 * o)
    gap = b - b_hard
    gap = gap[np.isfinite(gap)]
    return MicroPrediction(
        severity=severity,
        n=int(usable.sum()),
        correlation=correlation,
        predicted={n: float(p) for n, p in zip(names, predicted, strict=True) if math.isfinite(p)},
        observed={n: int(o) for n, o, u in zip(names, observed, usable, strict=True) if u},
        within=int(within.sum()),
        over=int(np.sum(~within & (p > o))),
        under=int(np.sum(~within & (p <= o))),
        b_easy=scores.named(b),
        b_hard=scores.named(b_hard),
        mean_slope_gap=float(gap.mean()) if len(gap) else math.nan,
        sd_slope_gap=float(gap.std(ddof=1)) if len(gap) > 1 else math.nan,
    )


def _predict(row: Floats, easy: Floats, hard: Floats, b: float, start: int, threshold: int, recipe: Recipe) -> float:
    per_answer = row[start:].sum() / easy.sum()
    if recipe.estimator == "aki":
        share = 10 ** (-b * DELTA * max(threshold - start, 0))
    else:
        law = 10 ** (-b * DELTA * (np.arange(8 - start) - (7 - start if b < 0 else 0)))
        share = float(law[max(threshold - start, 0) :].sum() / law.sum())
    if threshold < start:  # the tail starts above what is asked: the rest is counted, not extrapolated
        share += float(row[threshold:start].sum() / row[start:].sum())
    return float(per_answer * hard.sum() * share)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Information(Result):
    """I(b; model | error rate) in bits, and what identical models would show by noise alone.

    With one b per model the plug-in value is the entropy of binned b within bins of the error rate: it is large
    whenever the estimates scatter, for whatever reason. `noise_bits` is its mean, and `p` the share of draws that
    reach the observed value, when every model has the same true b and only its standard error.
    """

    bits: float
    noise_bits: float
    p: float
    r_squared: float
    n: int
    n_bins: int


def conditional_information(
    b: ArrayLike,
    error_rate: ArrayLike,
    standard_error: ArrayLike,
    *,
    n_bins: int = 5,
    n_resamples: int = 2000,
    rng: np.random.Generator,
) -> Information:
    """Theorem 1's empirical side: I(b; model | epsilon) by 5 equal-width bins of each, and R^2 of b on epsilon.

    I = sum over bins e of P(e) H(b's bin | e). A positive I proves only that b is not a function of the error rate on
    this sample, which sampling noise alone makes true; so the value under noise alone is given beside it.
    """
    values = np.stack([np.asarray(v, dtype=np.float64) for v in (b, error_rate, standard_error)])
    values = values[:, np.isfinite(values).all(axis=0)]
    n = values.shape[1]
    if n < 5:
        raise TooFewErrors(f"{n} conditions have a slope: information needs 5.", n=n, needed=5)
    slope, rate, error = values
    bits = _conditional_entropy(slope[None, :], rate, n_bins)[0]
    precision = 1 / np.maximum(error, 1e-9) ** 2
    common = float(np.sum(precision * slope) / precision.sum())
    null = _conditional_entropy(rng.normal(common, error, size=(n_resamples, n)), rate, n_bins)
    constant = np.ptp(rate) == 0 or np.ptp(slope) == 0
    r = math.nan if constant else float(np.corrcoef(slope, rate)[0, 1])
    return Information(
        bits=float(bits),
        noise_bits=float(null.mean()),
        p=float((1 + np.sum(null >= bits - 1e-12)) / (1 + n_resamples)),
        r_squared=r * r,
        n=n,
        n_bins=n_bins,
    )


def _bin(values: Floats, n_bins: int) -> Ints:
    """Equal-width bins over each row's own range."""
    low = values.min(axis=-1, keepdims=True)
    width = np.maximum(values.max(axis=-1, keepdims=True) - low, 1e-300)
    binned: Ints = np.minimum(((values - low) / width * n_bins).astype(np.int64), n_bins - 1)
    return binned


def _conditional_entropy(slopes: Floats, rate: Floats, n_bins: int) -> Floats:
    """H(bin of b | bin of rate) of each row of slopes, in bits."""
    size, n = slopes.shape
    cells = _bin(rate, n_bins)[None, :] * n_bins + _bin(slopes, n_bins)
    offset = n_bins**2 * np.arange(size)[:, None]
    joint = np.bincount((cells + offset).ravel(), minlength=size * n_bins**2).reshape(size, n_bins, n_bins) / n
    given = joint.sum(axis=2, keepdims=True)
    ratio = np.divide(joint, given, out=np.ones_like(joint), where=joint > 0)
    entropy: Floats = -np.sum(joint * np.log2(ratio), axis=(1, 2))
    return entropy


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Resolution(Result):
    """The smallest |delta b| between two conditions that can be told apart at 5% with 80% power.

    3.96 SE / sqrt(reliability): (1.96 + 0.84) times sqrt 2 for two estimates. `median_standard_error` is of the
    conditions' bootstraps; `floor_standard_error` proposition 2's b / sqrt(n r).
    """

    median_standard_error: float
    floor_standard_error: float
    minimum_detectable: float
    observed_range: float
    reliability: float | None


def resolution_bound(
    b: ArrayLike, standard_error: ArrayLike, n_above: ArrayLike, *, reliability: float | None = None
) -> Resolution:
    """Proposition 2, with the sqrt 2 that its own 0.253 contains and its 2.80 does not: 3.96 SE.

    Score noise of reliability r inflates the standard error by 1 / sqrt(r); unknown, r is taken as 1 and said so.
    """
    if reliability is not None and not 0 < reliability <= 1:
        raise InputError(f"A reliability of {reliability:g} is not in (0, 1].", remedy="Give the ICC of the scores.")
    slope, error, n = (np.asarray(v, dtype=np.float64) for v in (b, standard_error, n_above))
    keep = np.isfinite(slope) & np.isfinite(error)
    if not keep.any():
        raise TooFewErrors("No condition has a slope.", n=0, needed=1)
    r = 1.0 if reliability is None else reliability
    median = float(np.median(error[keep]))
    return Resolution(
        median_standard_error=median,
        floor_standard_error=float(np.median(np.abs(slope[keep]) / np.sqrt(n[keep] * r))),
        minimum_detectable=2.80 * math.sqrt(2) * median / math.sqrt(r),
        observed_range=float(np.ptp(slope[keep])),
        reliability=reliability,
    )
