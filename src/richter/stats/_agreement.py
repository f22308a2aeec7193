"""How far raters agree, from one table of items x raters: intraclass correlation, kappas, Krippendorff's alpha."""

import dataclasses
import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from richter._special import fdtri, ndtri
from richter.errors import InputError, TooFewErrors
from richter.records import Interval, Shown, counted
from richter.stats._arrays import Floats, Ints
from richter.stats._bootstrap import percentiles

__all__ = ["ICC", "Alpha", "Kappa", "fleiss_kappa", "icc", "krippendorff_alpha", "weighted_kappa"]

# Ordinal and nominal measures compare every level with every other; a scale has a few levels, a measurement thousands.
MAX_LEVELS = 200


def ratings_table(table: ArrayLike, *, complete: bool) -> Floats:
    """A float table of at least two items by two raters, missing cells as NaN.

    With `complete` a missing cell is an error, since the measure is defined on full tables only. Constant ratings
    are refused: without any variation between items agreement is undefined (0 / 0), not perfect.
    """
    values = np.asarray(table, dtype=np.float64)
    if values.ndim != 2:
        raise InputError(
            f"Ratings have {values.ndim} dimension{'s' * (values.ndim != 1)}; a table of items x raters has two.",
            remedy="Give one row per item and one column per rater.",
        )
    n, k = values.shape
    if k < 2:
        raise TooFewErrors(
            f"Agreement needs two raters; {k} was given.", n=k, needed=2, remedy="Have a second one rate."
        )
    whole = n > 0 and np.isfinite(values.sum())  # one pass tells that no cell is missing or infinite
    if not whole and np.isinf(values).any():
        raise InputError("A rating is infinite.", remedy="Give finite ratings; leave missing ones empty (NaN).")
    gaps = 0 if whole else int(np.isnan(values).any(axis=1).sum())
    if complete and gaps:
        raise InputError(
            f"{gaps} of {n} items lack a rating by some rater, and this measure needs full rows.",
            remedy="Leave these items out and say so, or use Krippendorff's alpha, which takes missing cells.",
        )
    if n < 2:
        raise TooFewErrors(f"Agreement needs two rated items; {n} was given.", n=n, needed=2, remedy="Rate more.")
    seen = values if whole else values[~np.isnan(values)]
    if seen.size and seen.min() == seen.max():
        raise InputError(
            f"Agreement is undefined: every rating is {seen.min() + 0.0:g}.",
            remedy="Without variation between items no reliability exists; sample answers of differing quality.",
        )
    return values


def paired_ratings(first: ArrayLike, second: ArrayLike) -> tuple[Floats, Floats]:
    """Two raters' scores of the same items, the items where either is missing left out."""
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if a.ndim != 1 or a.shape != b.shape:
        raise InputError(
            f"The two raters' scores have shapes {a.shape} and {b.shape}.",
            remedy="Give two rows of the same length, one score per item.",
        )
    both = ~(np.isnan(a) | np.isnan(b))
    if both.sum() < 2:
        n = int(both.sum())
        raise TooFewErrors(f"Only {n} item{'s were' if n != 1 else ' was'} scored by both.", n=n, needed=2)
    return a[both], b[both]


def level_counts(values: Floats) -> tuple[Floats, Ints]:
    """The distinct levels in order, and how many raters gave each item each level (items x levels)."""
    levels = np.unique(values[~np.isnan(values)])
    if len(levels) > MAX_LEVELS:
        raise InputError(
            f"The ratings take {len(levels)} distinct values; this measure is for a scale of at most {MAX_LEVELS}.",
            remedy="Round the ratings to a scale first, or use icc, which takes measurements.",
        )
    position = np.searchsorted(levels, values)
    counts = np.zeros((len(values), len(levels)), dtype=np.int64)
    rows, columns = np.nonzero(~np.isnan(values))
    np.add.at(counts, (rows, position[rows, columns]), 1)
    return levels, counts


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ICC(Shown):
    """Reliability of one rater (`single`, ICC(2,1)) and of the mean of all k (`average`, ICC(2,k))."""

    single: float
    single_interval: Interval
    average: float
    average_interval: Interval
    n_items: int
    n_raters: int
    mean_square_items: float
    mean_square_raters: float
    mean_square_error: float


def icc(table: ArrayLike, *, level: float = 0.95) -> ICC:
    """Intraclass correlation, two-way random effects, absolute agreement (Shrout and Fleiss 1979, case 2).

    With the mean squares of a two-way analysis of variance without replication, BMS between items, JMS between
    raters and EMS residual, n items and k raters:

        ICC(2,1) = (BMS - EMS) / (BMS + (k - 1) EMS + k (JMS - EMS) / n)
        ICC(2,k) = (BMS - EMS) / (BMS + (JMS - EMS) / n)

    and F-based intervals with Satterthwaite's degrees of freedom for the denominator (the same paper, p. 424; McGraw
    and Wong 1996, table 7). It estimates the share of the scores' variance that lies between items, raters being a
    sample from those who might have rated. Valid when residuals are about normal and of one size; on a nine-level
    scale with many zeros the interval is a guide, the point is not affected. A negative value is kept: it says that
    raters agree less than the items' spread alone would make them.

    >>> from richter.stats import icc
    >>> icc([[1, 1], [2, 2], [3, 4], [5, 5]]).single > 0.9
    True
    """
    values = ratings_table(table, complete=True)
    n, k = values.shape
    centred = values - values.mean()
    # einsum, not matrix products: on two columns a threaded BLAS costs more than the sums themselves
    rows, columns = np.einsum("ij->i", centred) / k, np.einsum("ij->j", centred) / n
    squares_items, squares_raters = (
        k * float(np.einsum("i,i", rows, rows)),
        n * float(np.einsum("j,j", columns, columns)),
    )
    squares = float(np.einsum("ij,ij", centred, centred))
    rest = squares - squares_items - squares_raters
    if rest < 1e-12 * squares:  # exact agreement up to a shift: what is left is rounding
        rest = 0.0
    between, raters, error = squares_items / (n - 1), squares_raters / (k - 1), rest / ((n - 1) * (k - 1))
    single = (between - error) / (between + (k - 1) * error + k * (raters - error) / n)
    average = (between - error) / (between + (raters - error) / n)
    low, high = _single_limits(single, between, raters, error, n, k, level)
    return ICC(
        single=single,
        single_interval=Interval(low=low, high=high, level=level, method="F, Satterthwaite"),
        average=average,
        average_interval=Interval(low=_step_up(low, k), high=_step_up(high, k), level=level, method="F, Satterthwaite"),
        n_items=n,
        n_raters=k,
        mean_square_items=between,
        mean_square_raters=raters,
        mean_square_error=error,
    )


def _single_limits(
    r: float, between: float, raters: float, error: float, n: int, k: int, level: float
) -> tuple[float, float]:
    if error == 0 and raters == 0:
        return 1.0, 1.0
    if error == 0:
        freedom = float(k - 1)  # the limit of Satterthwaite's formula as JMS / EMS grows without bound
    else:
        ratio = raters / error
        share = n * (1 + (k - 1) * r) - k * r
        freedom = (k - 1) * (n - 1) * (k * r * ratio + share) ** 2
        freedom /= (n - 1) * k**2 * r**2 * ratio**2 + share**2
    tail = (1 + level) / 2
    upper, lower = float(fdtri(n - 1, freedom, tail)), float(fdtri(freedom, n - 1, tail))
    base = k * raters + (k * n - k - n) * error
    low = n * (between - upper * error) / (upper * base + n * between)
    high = n * (lower * between - error) / (base + n * lower * between)
    return low, high


def _step_up(r: float, k: int) -> float:
    """Spearman-Brown: the reliability of k raters' mean from that of one."""
    below = 1 + (k - 1) * r
    return k * r / below if below > 0 else -math.inf


Weights = Literal["none", "linear", "quadratic"]
_POWER = {"linear": 1, "quadratic": 2}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Kappa(Shown):
    """Agreement beyond chance: 1 perfect, 0 what the raters' own frequencies give by chance."""

    estimate: float
    standard_error: float
    interval: Interval
    observed: float  # weighted agreement seen
    expected: float  # weighted agreement by chance
    n_items: int
    n_raters: int
    weights: str


def _kappa(
    estimate: float, variance: float, observed: float, expected: float, n: int, k: int, weights: str, level: float
) -> Kappa:
    error = math.sqrt(max(variance, 0.0))
    reach = float(ndtri((1 + level) / 2)) * error
    interval = Interval(low=estimate - reach, high=min(estimate + reach, 1.0), level=level, method="normal, delta")
    return Kappa(
        estimate=estimate,
        standard_error=error,
        interval=interval,
        observed=observed,
        expected=expected,
        n_items=n,
        n_raters=k,
        weights=weights,
    )


def weighted_kappa(
    first: ArrayLike,
    second: ArrayLike,
    *,
    weights: Weights = "quadratic",
    item_weight: ArrayLike | None = None,
    level: float = 0.95,
) -> Kappa:
    """Cohen's kappa of two raters with weights 1 - (distance / range)^p, p = 1 linear, 2 quadratic.

        kappa = (p_o - p_e) / (1 - p_e),  p_o = sum w_ij p_ij,  p_e = sum w_ij p_i. p_.j

    and the large-sample variance of Fleiss, Cohen and Everitt (1969). Distances are taken on the scale itself, not
    on the rank of the levels that happen to occur, so an unused level changes nothing. Items where either score is
    missing are left out. Kappa falls with skewed frequencies even when raters agree as often: read it with p_o.
    `item_weight` is what each item stands for, as one over the probability with which it was drawn: shares p_ij are
    weighted, and the variance is that of the linearised estimate, sum of (share x (influence - mean))^2.

    >>> from richter.stats import weighted_kappa
    >>> weighted_kappa([0, 1, 2, 3], [0, 1, 2, 3]).estimate
    1.0
    """
    if weights not in ("none", *_POWER):
        raise InputError(f"weights={weights!r} is not known.", remedy="Use 'none', 'linear' or 'quadratic'.")
    a, b = paired_ratings(first, second)
    share = _item_shares(item_weight, ~np.isnan(np.asarray(first, float) + np.asarray(second, float)))
    table = ratings_table(np.column_stack([a, b]), complete=True)
    levels = level_counts(table)[0]
    n = len(table)
    joint = np.zeros((len(levels), len(levels)))
    place = np.searchsorted(levels, a), np.searchsorted(levels, b)
    np.add.at(joint, place, share)
    if weights == "none":
        weight = np.eye(len(levels))
    else:
        weight = 1 - (np.abs(levels[:, None] - levels[None, :]) / np.ptp(levels)) ** _POWER[weights]
    rows, columns = joint.sum(axis=1), joint.sum(axis=0)
    observed, expected = float(np.sum(weight * joint)), float(rows @ weight @ columns)
    estimate = (observed - expected) / (1 - expected)
    row_weight, column_weight = weight @ columns, rows @ weight
    inner = weight * (1 - expected) - (row_weight[:, None] + column_weight[None, :]) * (1 - observed)
    away = inner[place] - (observed * expected - 2 * expected + observed)
    variance = float(np.sum((share * away) ** 2)) / (1 - expected) ** 4
    return _kappa(estimate, variance, observed, expected, n, 2, weights, level)


def _item_shares(item_weight: ArrayLike | None, used: NDArray[np.bool_]) -> Floats:
    """What each item that is used counts for, of 1 in all."""
    weight = np.ones(len(used)) if item_weight is None else np.asarray(item_weight, dtype=np.float64)
    if weight.shape != used.shape or not (np.isfinite(weight) & (weight > 0)).all():
        raise InputError("Item weights are one number above 0 for each item.", remedy="Leave out items without one.")
    share: Floats = weight[used] / weight[used].sum()
    return share


def fleiss_kappa(table: ArrayLike, *, item_weight: ArrayLike | None = None, level: float = 0.95) -> Kappa:
    """Fleiss' kappa of items x raters: categories count as the same or not, however near on the scale.

    P_i is the share of agreeing pairs on item i, p_j the share of all ratings in category j,
    kappa = (mean P_i - sum p_j^2) / (1 - sum p_j^2) (Fleiss 1971). The interval comes from the variance over items
    of the estimate's linearisation (Gwet 2008, for any number of raters), which holds whatever kappa is;
    Fleiss' own standard error holds only under kappa = 0 and makes no interval. `item_weight` is as in
    `weighted_kappa`.
    """
    values = ratings_table(table, complete=True)
    n, k = values.shape
    counts = level_counts(values)[1]
    own = _item_shares(item_weight, np.ones(n, dtype=bool))
    share = own @ counts / k
    expected = float(np.sum(share**2))
    agree = (np.sum(counts**2, axis=1) - k) / (k * (k - 1))
    observed = float(own @ agree)
    estimate = (observed - expected) / (1 - expected)
    chance = counts @ share / k  # an item's part in p_e; its mean over items is p_e
    influence = (agree - expected) / (1 - expected) - 2 * (1 - estimate) * (chance - expected) / (1 - expected)
    variance = float(np.sum((own * (influence - estimate)) ** 2)) * n / (n - 1)
    return _kappa(estimate, variance, observed, expected, n, k, "none", level)


Metric = Literal["nominal", "ordinal", "interval"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Alpha(Shown):
    """Agreement of any number of raters with any cells missing: 1 perfect, 0 chance."""

    estimate: float
    interval: Interval | None  # None: resamples without variation are so common that there is no interval
    metric: str
    n_items: int  # items with at least two ratings; others carry no information
    n_raters: int
    n_ratings: int
    n_resamples: int


def krippendorff_alpha(
    table: ArrayLike,
    *,
    metric: Metric = "ordinal",
    level: float = 0.95,
    n_resamples: int = 2000,
    rng: np.random.Generator | None = None,
) -> Alpha:
    """Krippendorff's alpha = 1 - D_o / D_e of items x raters, NaN where a rater did not rate.

    Coincidences o_cd = sum over items of n_c (n_d - [c = d]) / (m - 1), with m the item's ratings; D_o and D_e are the
    mean squared distances under o_cd and under n_c n_d / (n - 1) (Krippendorff 2011). The ordinal distance between
    c and d is (sum of n_g from c to d, minus (n_c + n_d) / 2)^2: it depends on how often levels are used, so it is
    worked out again in every resample. The interval is the percentile bootstrap over items; items with the same
    multiset of ratings are drawn together as counts, so its cost does not grow with the number of items. Without
    `rng` a fixed seed is used.

    >>> from richter.stats import krippendorff_alpha
    >>> krippendorff_alpha([[1, 1], [2, 2], [3, 3], [5, 5]]).estimate
    1.0
    """
    if metric not in ("nominal", "ordinal", "interval"):
        raise InputError(f"metric={metric!r} is not known.", remedy="Use 'nominal', 'ordinal' or 'interval'.")
    values = ratings_table(table, complete=False)
    levels, counts = level_counts(values)
    counts = counts[counts.sum(axis=1) >= 2]
    n = len(counts)
    if n < 2:
        raise TooFewErrors(f"Only {counted(n, 'item has', 'items have')} two ratings or more.", n=n, needed=2)
    used = counts.sum(axis=0) > 0
    if used.sum() < 2:
        raise InputError(
            f"Agreement is undefined: every rating of an item with two raters is {levels[used][0]:g}.",
            remedy="Without variation between items no reliability exists; sample answers of differing quality.",
        )
    levels, counts = levels[used], counts[:, used]
    patterns, repeats = np.unique(counts, axis=0, return_counts=True)
    pairs = np.einsum("ui,uj->uij", patterns, patterns).astype(np.float64)
    diagonal = np.arange(len(levels))
    pairs[:, diagonal, diagonal] -= patterns
    pairs /= (patterns.sum(axis=1) - 1)[:, None, None]

    def alphas(weights: Floats) -> Floats:
        coincidence = (weights @ pairs.reshape(len(patterns), -1)).reshape(len(weights), len(levels), len(levels))
        margin = coincidence.sum(axis=2)
        distance = _squared_distance(metric, levels, margin)
        total = margin.sum(axis=1)
        seen = np.einsum("bij,bij->b", coincidence, distance)
        chance = np.einsum("bi,bij,bj->b", margin, distance, margin) / (total - 1)
        with np.errstate(invalid="ignore", divide="ignore"):
            alpha: Floats = 1 - seen / chance
        return alpha

    rng = np.random.default_rng(0) if rng is None else rng
    draws = rng.multinomial(n, repeats / n, size=n_resamples).astype(np.float64)
    block = max(1, 2_000_000 // (len(levels) ** 2))  # bounds the memory of one block
    resampled = np.concatenate([alphas(draws[i : i + block]) for i in range(0, n_resamples, block)])
    resampled = resampled[~np.isnan(resampled)]
    interval = None
    if len(resampled) >= 0.99 * n_resamples:  # else it would describe only the lucky resamples that vary
        interval = percentiles(resampled, level=level, method="bootstrap percentile over items")
    return Alpha(
        estimate=float(alphas(repeats[None, :].astype(np.float64))[0]),
        interval=interval,
        metric=metric,
        n_items=n,
        n_raters=values.shape[1],
        n_ratings=int(counts.sum()),
        n_resamples=n_resamples,
    )


def _squared_distance(metric: str, levels: Floats, margin: Floats) -> Floats:
    if metric == "nominal":
        return np.broadcast_to(1 - np.eye(len(levels)), (len(margin), len(levels), len(levels)))
    if metric == "interval":
        square = (levels[:, None] - levels[None, :]) ** 2
        return np.broadcast_to(square, (len(margin), len(levels), len(levels)))
    middle = np.cumsum(margin, axis=1) - margin / 2  # the mid-rank of a level: distances are its differences
    square_rank: Floats = (middle[:, :, None] - middle[:, None, :]) ** 2
    return square_rank
