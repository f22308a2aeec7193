"""Figures as people would rate, from human labels on some answers and a judge's score on all: safe for rare errors."""

import dataclasses
import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv, ndtri

from richter.errors import InputError, TooFewErrors
from richter.records import Interval, Shown, counted
from richter.stats._arrays import Bools, Floats, Indices

__all__ = [
    "Corrected",
    "LabelledPool",
    "Side",
    "labelled_pool",
    "more_labels",
    "pool_difference",
    "pool_interval",
    "ppi_difference",
    "ppi_mean",
    "ppi_rate",
    "ppi_rates",
]

Target = Literal["population", "pool"]
Side = Literal["both", "exact", "lower", "upper"]

MIN_LABELS = 2  # labels without which nothing is said
MIN_LABELS_PER_PART = 5  # labels that a part of a random sample has at least
MAX_PARTS = 5  # parts into which a random sample is cut at most


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Corrected(Shown):
    """A mean or rate of human severity, from human labels on some answers and judge scores on all.

    `labels_only` is what the labels alone give at the same level; `worth` is how many human labels would have been
    needed to be as precise without the judge.
    """

    estimate: float
    interval: Interval
    standard_error: float
    labels_only: float
    labels_only_interval: Interval
    judge_only: float
    worth: float
    n_labelled: int
    n: int


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class LabelledPool:
    """Answers cut into parts in which labels are a random sample: each part's share, labels, mean and mean square.

    Labels lie in [low, high]. `n` are effective labels (fewer than `count` where labels in a part weigh differently).
    A part without labels has the judge's own mean and knows nothing of people's. `part` is every answer's part.
    """

    low: float
    high: float
    part: Indices
    share: Floats
    size: Floats
    count: Floats
    n: Floats
    mean: Floats
    square: Floats
    judge_only: float

    @property
    def estimate(self) -> float:
        """The sum of shares times means."""
        return float(self.share @ self.mean)


def _check_labels(y: Floats, f: Floats, low: float, high: float) -> None:
    """Refuse labels and scores that do not match, that are too few, or off the scale."""
    if y.ndim != 1 or y.shape != f.shape:
        raise InputError(
            f"Human labels and judge scores have shapes {y.shape} and {f.shape}.",
            remedy="Give one row per answer, the human label NaN where there is none.",
        )
    if np.isnan(f).any():
        raise InputError(
            f"{int(np.isnan(f).sum())} answers have no judge score.",
            remedy="Leave answers without a judge score out, and report how many; the correction needs one for each.",
        )
    labels = y[~np.isnan(y)]
    if len(labels) < MIN_LABELS:
        raise TooFewErrors(
            f"{counted(len(labels), 'answer has', 'answers have')} a human label.", n=len(labels), needed=MIN_LABELS
        )
    if (labels < low).any() or (labels > high).any():
        raise InputError(f"A label is outside [{low:g}, {high:g}].", remedy="Use one scale for all labels.")


def _label_weights(counts_for: Floats, labelled: Bools, probability: ArrayLike) -> Floats:
    """What each label stands for: its answer's weight over the chance that it had of being labelled."""
    chance = np.broadcast_to(np.asarray(probability, dtype=np.float64), labelled.shape)
    given = chance[labelled]
    if np.isnan(given).any() or (given <= 0).any() or (given > 1).any():
        raise InputError(
            "An inclusion probability is not in (0, 1].", remedy="Give the chance each labelled answer had."
        )
    return np.where(labelled, counts_for / np.where(labelled, chance, 1.0), 0.0)


def labelled_pool(
    human: ArrayLike,
    judge: ArrayLike,
    *,
    strata: ArrayLike | None = None,
    probability: ArrayLike | None = None,
    weight: ArrayLike | None = None,
    low: float = 0.0,
    high: float = 4.0,
) -> LabelledPool:
    """The answers cut into parts: by the `strata` in which labels were drawn, else by the judge's score.

    `human` is NaN where there is no label, and `weight` what each answer counts for (1 where none is given). Without
    strata labels are taken as a simple random sample (or one with inclusion `probability` for each answer) and the
    cuts lie between the judge's scores, from the top, so that each part has at least 5 labels: by how many labels
    there are, never by what they say.
    """
    y, f = np.asarray(human, dtype=np.float64), np.asarray(judge, dtype=np.float64)
    if strata is not None and probability is not None:
        raise InputError(
            "Both strata and probabilities were given.", remedy="Strata imply the probabilities; give one."
        )
    _check_labels(y, f, low, high)
    labelled = ~np.isnan(y)
    counts_for = np.ones(len(y)) if weight is None else np.asarray(weight, dtype=np.float64)
    stands = counts_for if probability is None else _label_weights(counts_for, labelled, probability)
    if strata is not None:
        part = np.unique(np.asarray(strata), return_inverse=True)[1].astype(np.intp)
        if part.shape != y.shape:
            raise InputError(f"{len(part)} strata for {len(y)} answers.", remedy="Give each answer's stratum.")
    else:
        part = _cut_by_score(f, labelled)
    parts = int(part.max()) + 1

    def total(values: Floats, rows: Bools | None = None) -> Floats:
        chosen = slice(None) if rows is None else rows
        return np.bincount(part[chosen], weights=values[chosen], minlength=parts).astype(np.float64)

    size, count, mass = total(np.ones(len(y))), total(labelled.astype(np.float64)), total(counts_for)
    known, filled = count > 0, np.where(labelled, y, 0.0)
    of = np.where(known, total(stands, labelled), 1.0)
    scale = (high - low) or 1.0
    own = np.clip(total(counts_for * f) / mass, low, high)
    mean = np.where(known, total(stands * filled, labelled) / of, own)
    square = np.where(known, total(stands * ((filled - low) / scale) ** 2, labelled) / of, ((own - low) / scale) ** 2)
    n = np.where(known, of**2 / np.where(known, total(stands**2, labelled), 1.0), 0.0)
    return LabelledPool(
        low=low,
        high=high,
        part=part,
        share=mass / np.sum(mass),
        size=size,
        count=count,
        n=n,
        mean=mean,
        square=square,
        judge_only=float(np.average(f, weights=counts_for)),
    )


def _cut_by_score(judge: Floats, labelled: Bools) -> Indices:
    """Parts between the judge's distinct scores, the highest first, each with enough labels."""
    values = np.unique(judge)[::-1]
    need = max(MIN_LABELS_PER_PART, int(labelled.sum()) // MAX_PARTS)
    counts = [int(np.sum(labelled & (judge == v))) for v in values]
    part, n_labels, name = {}, 0, 0
    for k, value in enumerate(values):
        part[value] = name
        n_labels += counts[k]
        if n_labels >= need and sum(counts[k + 1 :]) >= need:
            n_labels, name = 0, name + 1
    return np.array([part[v] for v in judge], dtype=np.intp)


def _distances(pool: LabelledPool, tail: float, *, side: Side) -> tuple[Floats, Floats]:
    """How far each part's lower and upper limit is from its mean, at one-sided error `tail`.

    Limits are those of a Beta on [low, high] with the mean and variance that labels and pseudo-labels at the ends
    have: half a one at either end is Jeffreys' interval for a rate, a whole one at the far end Clopper and Pearson's.
    """
    scale = (pool.high - pool.low) or 1.0
    mean = (pool.mean - pool.low) / scale
    distances = []
    for q, ends in ((tail, (1.0, 0.0)), (1 - tail, (0.0, 1.0))):
        bottom, top = (0.5, 0.5) if side == "both" else ends
        total = pool.n + bottom + top
        centre, square = (pool.n * mean + top) / total, (pool.n * pool.square + top) / total
        spread = np.maximum(square - centre**2, 1e-300) / (total + 1)
        weight = np.maximum(centre * (1 - centre) / spread - 1, 1e-9)
        with np.errstate(invalid="ignore"):
            limit = betaincinv(np.maximum(centre * weight, 1e-12), np.maximum((1 - centre) * weight, 1e-12), q)
        limit = np.where((mean <= 0) & (q < 0.5), 0.0, np.where((mean >= 1) & (q > 0.5), 1.0, limit))
        distances.append(np.where(pool.count > 0, limit, float(q > 0.5)))
    return scale * np.maximum(mean - distances[0], 0.0), scale * np.maximum(distances[1] - mean, 0.0)


def _reach_of(pool: LabelledPool, tail: float, *, target: Target, side: Side) -> tuple[float, float]:
    """The sums of squared distances below and above, weighed by the parts' shares."""
    below, above = _distances(pool, tail, side=side)
    rest = np.ones(len(pool.size)) if target == "population" else 1 - pool.count / pool.size
    return float(np.sum(pool.share**2 * rest * below**2)), float(np.sum(pool.share**2 * rest * above**2))


def pool_interval(
    pool: LabelledPool,
    *,
    level: float = 0.95,
    side: Side = "both",
    target: Target = "population",
    between: float | None = None,
) -> Interval:
    """Limits of the mean label of all answers, or of such answers, by MOVER over the parts (Zou and Donner 2008).

        low = m - sqrt(sum W_h^2 (m_h - l_h)^2 + V),  high = m + sqrt(sum W_h^2 (u_h - m_h)^2 + V)

    with W_h a part's share, (l_h, u_h) its own limits (Jeffreys' where both sides are asked for, Clopper and Pearson's
    for one) and V = z^2 sum W_h (m_h - m)^2 / N for `target` "population" (such answers), 0 for "pool" (these answers,
    where a part labelled in full adds nothing). Never of zero width where anything is unlabelled or meant as a sample.
    With `side` "lower" or "upper" that limit holds alone at `level`; the other is the end of the scale. "exact" is both
    of these at once, each with half of the error. `between` is V / z^2 where answers are not independent.
    """
    tail = (1 - level) / 2 if side in ("both", "exact") else 1 - level
    middle, N = pool.estimate, float(pool.size.sum())
    below, above = _reach_of(pool, tail, target=target, side=side)
    if between is None:
        between = float(pool.share @ (pool.mean - middle) ** 2) / N if target == "population" else 0.0
    between *= float(ndtri(1 - tail)) ** 2
    low, high = middle - math.sqrt(below + between), middle + math.sqrt(above + between)
    method = "stratified, Jeffreys" if side == "both" else "stratified, Clopper-Pearson"
    return Interval(
        low=pool.low if side == "upper" else max(low, pool.low),
        high=pool.high if side == "lower" else min(high, pool.high),
        level=level,
        method=method,
    )


def pool_difference(
    first: LabelledPool,
    second: LabelledPool,
    *,
    level: float = 0.95,
    side: Side = "both",
    same_items: bool = False,
    target: Target = "population",
    between: float | None = None,
) -> Interval:
    """Limits of the second's mean minus the first's, by MOVER of the two; labels of the two were drawn apart.

    With `same_items` (the pools' answers are to the same items, in one order) V is that of the items' own differences;
    else of the two added; `between` is V / z^2 where answers are not independent. Labels that happen to be of the same
    item are not used as pairs, which errs on the wide side.
    """
    tail = (1 - level) / 2 if side in ("both", "exact") else 1 - level
    below_a, above_a = _reach_of(first, tail, target=target, side=side)
    below_b, above_b = _reach_of(second, tail, target=target, side=side)
    if between is None:
        a, b = first.mean[first.part], second.mean[second.part]
        apart = float(np.var(b - a) / len(a) if same_items else np.var(a) / len(a) + np.var(b) / len(b))
        between = apart if target == "population" else 0.0
    between *= float(ndtri(1 - tail)) ** 2
    middle = second.estimate - first.estimate
    low = middle - math.sqrt(below_b + above_a + between)
    high = middle + math.sqrt(above_b + below_a + between)
    ends = second.low - first.high, second.high - first.low
    return Interval(
        low=ends[0] if side == "upper" else max(low, ends[0]),
        high=ends[1] if side == "lower" else min(high, ends[1]),
        level=level,
        method="stratified, MOVER",
    )


def more_labels(pools: Sequence[LabelledPool], extra: int) -> list[LabelledPool]:
    """The pools as they would be with so many more labels of the same kind, dealt where they narrow most.

    A tenth of them at a time goes to the part with the largest W_h^2 (d_h^2 - d_h'^2), d_h being the mean distance
    of its limits now and d_h' with them: about W_h d_h / n_h. `count` says how many of each part that makes.
    """
    left, step = extra, max(1, extra // 10)
    labels = [(p.n.copy(), p.count.copy()) for p in pools]
    tail = 0.15865525393145707
    while left > 0:
        best, place, step = -1.0, (0, 0), min(step, left)
        for k, pool in enumerate(pools):
            n, count = labels[k]
            now = dataclasses.replace(pool, n=n, count=np.maximum(count, 1e-9))
            room = np.minimum(step, pool.size - count)
            one = dataclasses.replace(now, n=n + np.maximum(room, 0.0))
            gain = np.zeros(len(n))
            for a, b in zip(_distances(now, tail, side="both"), _distances(one, tail, side="both"), strict=True):
                gain += pool.share**2 * (a**2 - b**2)
            gain[room < 1] = -1.0
            if gain.max() > best:
                best, place = float(gain.max()), (k, int(gain.argmax()))
        if best <= 0:
            break
        k, h = place
        given = min(step, int(pools[k].size[h] - labels[k][1][h]))
        labels[k][0][h] += given
        labels[k][1][h] += given
        left -= given
    return [dataclasses.replace(p, n=n, count=count) for p, (n, count) in zip(pools, labels, strict=True)]


def standard_error(pool: LabelledPool) -> float:
    """A standard error for sizing: the labels' own variance in each part, with Jeffreys' pseudo-labels."""
    below, above = _reach_of(pool, float(1 - 0.8413447460685429), target="population", side="both")
    middle = pool.estimate
    return math.sqrt((below + above) / 2 + float(pool.share @ (pool.mean - middle) ** 2) / float(pool.size.sum()))


def _corrected_estimate(
    pool: LabelledPool, alone: LabelledPool, *, level: float, side: Side, target: Target
) -> Corrected:
    interval = pool_interval(pool, level=level, side=side, target=target)
    own = pool_interval(alone, level=level, side=side, target=target)
    n = int(pool.count.sum())
    return Corrected(
        estimate=pool.estimate,
        interval=interval,
        standard_error=standard_error(pool),
        labels_only=alone.estimate,
        labels_only_interval=dataclasses.replace(own, method=f"labels only, {own.method}"),
        judge_only=pool.judge_only,
        worth=n * (own.half_width / interval.half_width) ** 2 if interval.half_width > 0 else math.inf,
        n_labelled=n,
        n=int(pool.size.sum()),
    )


def _labels_alone(
    y: Floats, strata: ArrayLike | None, probability: ArrayLike | None, low: float, high: float
) -> LabelledPool:
    """The labels without the judge: one part, each label weighing what it stands for."""
    chance = probability
    if strata is not None:
        group = np.unique(np.asarray(strata), return_inverse=True)[1]
        size, drawn = np.bincount(group), np.bincount(group[~np.isnan(y)], minlength=int(group.max()) + 1)
        chance = np.where(drawn > 0, drawn / size, 1.0)[group]
    return labelled_pool(y, np.zeros(len(y)), probability=chance, low=low, high=high)


def ppi_mean(
    human: ArrayLike,
    judge: ArrayLike,
    *,
    strata: ArrayLike | None = None,
    probability: ArrayLike | None = None,
    target: Target = "population",
    level: float = 0.95,
    side: Side = "both",
    low: float = 0.0,
    high: float = 4.0,
) -> Corrected:
    """The mean human score of all answers, from a few human labels and a judge's score on every answer.

        m = sum W_h m_h

    over the parts of `labelled_pool`, with limits by `pool_interval`. `strata` names each answer's stratum when labels
    were drawn by stratum; `probability` gives inclusion probabilities for any other design. Without either, labels are
    taken as a simple random sample of the pool: if they are not, the answer is wrong however many there are. The judge
    may be biased in any way; it must not have seen the labels.
    """
    pool = labelled_pool(human, judge, strata=strata, probability=probability, low=low, high=high)
    alone = _labels_alone(np.asarray(human, dtype=np.float64), strata, probability, low, high)
    return _corrected_estimate(pool, alone, level=level, side=side, target=target)


LEAST_SEVERE_ERROR = 0.5  # the lowest error; between two people's 0 and 0.5 lies an error too, as everywhere


def _at_least(values: ArrayLike, threshold: float) -> Floats:
    given = np.asarray(values, dtype=np.float64)
    reached = given > 0 if threshold == LEAST_SEVERE_ERROR else given >= threshold
    return np.where(np.isnan(given), np.nan, reached.astype(np.float64))


def ppi_rate(
    human: ArrayLike,
    judge: ArrayLike,
    threshold: float,
    *,
    strata: ArrayLike | None = None,
    probability: ArrayLike | None = None,
    target: Target = "population",
    level: float = 0.95,
    side: Side = "both",
) -> Corrected:
    """The share of answers whose human severity is at least `threshold`, P(S >= s): `ppi_mean` of the indicators.

    Without strata the parts are the two sides of the judge's flag f >= s. Zero positives seen are a bound, not zero.
    """
    positive, flag = _at_least(human, threshold), _at_least(judge, threshold)
    options = {"strata": strata, "probability": probability}
    return ppi_mean(positive, flag, target=target, level=level, side=side, low=0.0, high=1.0, **options)


def ppi_rates(
    human: ArrayLike,
    judge: ArrayLike,
    *,
    thresholds: Sequence[float] = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0),
    strata: ArrayLike | None = None,
    probability: ArrayLike | None = None,
    target: Target = "population",
    level: float = 0.95,
) -> dict[float, Corrected]:
    """`ppi_rate` at each threshold; at 0.5, the lowest error, it is the error rate."""
    return {
        float(s): ppi_rate(human, judge, s, strata=strata, probability=probability, target=target, level=level)
        for s in thresholds
    }


def ppi_difference(
    first: tuple[ArrayLike, ArrayLike],
    second: tuple[ArrayLike, ArrayLike],
    *,
    threshold: float | None = None,
    strata: tuple[ArrayLike, ArrayLike] | None = None,
    level: float = 0.95,
    side: Side = "both",
    low: float = 0.0,
    high: float = 4.0,
) -> Corrected:
    """Mean human severity (or rate at `threshold`) of the second condition minus the first's, on the same items.

    Each condition is (human, judge) over the items in one order. Where the same items are labelled for both, at random,
    the items' own differences are corrected, which keeps the pairing; otherwise `pool_difference` combines the two.
    `strata` are those in which each condition's labels were drawn.
    """
    (ya, fa), (yb, fb) = [
        (np.asarray(human, dtype=np.float64), np.asarray(judge, dtype=np.float64)) for human, judge in (first, second)
    ]
    if threshold is not None:
        ya, yb, fa, fb = (_at_least(v, threshold) for v in (ya, yb, fa, fb))
        low, high = 0.0, 1.0
    if strata is None and ya.shape == yb.shape and np.array_equal(np.isnan(ya), np.isnan(yb)):
        return ppi_mean(yb - ya, fb - fa, level=level, side=side, low=low - high, high=high - low)
    groups = (None, None) if strata is None else strata
    a, b = (labelled_pool(y, f, strata=g, low=low, high=high) for y, f, g in ((ya, fa, groups[0]), (yb, fb, groups[1])))
    alone = [_labels_alone(y, g, None, low, high) for y, g in ((ya, groups[0]), (yb, groups[1]))]
    interval = pool_difference(a, b, level=level, side=side, same_items=len(ya) == len(yb))
    own = pool_difference(alone[0], alone[1], level=level, side=side)
    n = int(a.count.sum() + b.count.sum())
    return Corrected(
        estimate=b.estimate - a.estimate,
        interval=interval,
        standard_error=math.hypot(standard_error(a), standard_error(b)),
        labels_only=alone[1].estimate - alone[0].estimate,
        labels_only_interval=dataclasses.replace(own, method="labels only, MOVER"),
        judge_only=b.judge_only - a.judge_only,
        worth=n * (own.half_width / interval.half_width) ** 2 if interval.half_width > 0 else math.inf,
        n_labelled=n,
        n=min(len(ya), len(yb)),
    )
