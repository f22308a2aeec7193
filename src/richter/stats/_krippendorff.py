"""Krippendorff's alpha with a bootstrap over items."""

import dataclasses
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from richter.errors import InputError, TooFewErrors
from richter.records import Interval, Shown
from richter.stats._arrays import Floats
from richter.stats._raters_table import level_counts, ratings_table

__all__ = ["Alpha", "krippendorff_alpha"]

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
    """
    if metric not in ("nominal", "ordinal", "interval"):
        raise InputError(f"metric={metric!r} is not known.", remedy="Use 'nominal', 'ordinal' or 'interval'.")
    values = ratings_table(table, complete=False)
    levels, counts = level_counts(values)
    counts = counts[counts.sum(axis=1) >= 2]
    n = len(counts)
    if n < 2:
        raise TooFewErrors(f"Only {n} items have two ratings or more.", n=n, needed=2)
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
        low, high = np.quantile(resampled, [(1 - level) / 2, (1 + level) / 2])
        interval = Interval(low=float(low), high=float(high), level=level, method="bootstrap percentile over items")
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
