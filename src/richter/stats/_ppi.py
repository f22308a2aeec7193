"""Correcting many judge scores with few human labels: prediction-powered inference and its rare-event form."""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv
from scipy.stats import t as student

from richter.errors import InputError, TooFewErrors
from richter.records import Interval, Shown

__all__ = ["Corrected", "difference_of", "ppi_difference", "ppi_mean", "ppi_rate", "ppi_rates"]

Floats = NDArray[np.float64]
Target = Literal["population", "pool"]

MIN_CLASS = 10  # labelled positives and negatives on each side of the flag that a normal interval needs
POSTERIOR_DRAWS = 20_000


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
    tuning: float | None  # lambda: how far the judge is trusted; None in the rare-event form
    worth: float
    n_labelled: int
    n: int

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}


@dataclasses.dataclass(frozen=True, slots=True)
class _Labels:
    """The labelled part (y human, f judge), how it was drawn, and all judge scores."""

    y: Floats
    f: Floats
    pool: Floats
    stratum: NDArray[np.intp]  # of each label
    stratum_labels: Floats  # labels per stratum
    stratum_sizes: Floats  # answers per stratum
    probability: Floats | None

    @property
    def weight(self) -> Floats:
        """Share of the pool that each label stands for; sums to one."""
        if self.probability is not None:
            weight = 1 / self.probability
        else:
            weight = (self.stratum_sizes / self.stratum_labels)[self.stratum]
        normal: Floats = weight / weight.sum()
        return normal


def _prepare(human: ArrayLike, judge: ArrayLike, strata: ArrayLike | None, probability: ArrayLike | None) -> _Labels:
    y, f = np.asarray(human, dtype=np.float64), np.asarray(judge, dtype=np.float64)
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
    labelled = ~np.isnan(y)
    n = int(labelled.sum())
    if n < 4:
        raise TooFewErrors(f"{n} answers have a human label.", n=n, needed=4)
    if strata is not None and probability is not None:
        raise InputError(
            "Both strata and probabilities were given.", remedy="Strata imply the probabilities; give one."
        )
    chance = None
    if probability is not None:
        chance = np.broadcast_to(np.asarray(probability, dtype=np.float64), y.shape)[labelled]
        if np.isnan(chance).any() or (chance <= 0).any() or (chance > 1).any():
            raise InputError(
                "An inclusion probability is not in (0, 1].", remedy="Give the chance each labelled answer had."
            )
    group = np.zeros(len(y), dtype=np.intp)
    if strata is not None:
        names, group = np.unique(np.asarray(strata), return_inverse=True)
        if group.shape != y.shape:
            raise InputError(f"{len(group)} strata for {len(y)} answers.", remedy="Give each answer's stratum.")
        sizes, drawn = np.bincount(group), np.bincount(group[labelled], minlength=len(names))
        bare = (drawn < 2) & (drawn < sizes)
        if bare.any():
            raise TooFewErrors(
                f"Stratum {names[bare][0]!s} has {drawn[bare][0]} human labels for {sizes[bare][0]} answers.",
                n=int(drawn[bare][0]),
                needed=2,
                remedy="Label at least two of every stratum, or join it with another.",
            )
    groups = int(group.max()) + 1
    return _Labels(
        y=y[labelled],
        f=f[labelled],
        pool=f,
        stratum=group[labelled],
        stratum_labels=np.bincount(group[labelled], minlength=groups).astype(np.float64),
        stratum_sizes=np.bincount(group, minlength=groups).astype(np.float64),
        probability=chance,
    )


def _sampling_covariance(labels: _Labels, a: Floats, b: Floats) -> float:
    """Covariance, over which answers were labelled, of the weighted means of a and b (the pool held fixed)."""
    if labels.probability is not None:
        # Poisson sampling of Hajek's ratio mean, linearised: sum (1 - pi) w^2 (a - mean)(b - mean).
        weight = labels.weight
        a, b = a - weight @ a, b - weight @ b
        n = len(a)
        return float(np.sum((1 - labels.probability) * weight**2 * a * b)) * n / (n - 1)
    total = 0.0
    size = labels.stratum_sizes.sum()
    for h in range(len(labels.stratum_sizes)):
        mine = labels.stratum == h
        n, N = labels.stratum_labels[h], labels.stratum_sizes[h]
        if n < N:  # a stratum labelled in full adds nothing
            cross = float((a[mine] - a[mine].mean()) @ (b[mine] - b[mine].mean())) / (n - 1)
            total += float((N / size) ** 2 * (1 / n - 1 / N)) * cross
    return total


def _freedom(labels: _Labels, spent: int) -> float:
    return max(len(labels.y) - len(labels.stratum_sizes) - spent, 1)


def ppi_mean(
    human: ArrayLike,
    judge: ArrayLike,
    *,
    strata: ArrayLike | None = None,
    probability: ArrayLike | None = None,
    target: Target = "population",
    level: float = 0.95,
) -> Corrected:
    """The mean human score of all answers, from a few human labels and a judge's score on every answer (PPI++).

        theta(lambda) = lambda mean_pool(f) + mean_labels(y - lambda f)

    with f the judge, y the human (NaN where unlabelled) and lambda chosen to minimise the variance (Angelopoulos,
    Duchi and Zrnic 2023). Their unlabelled set excludes the labelled one; here the pool holds both, where the optimum
    is the plain regression slope cov(y, f) / var(f) and the variance cannot exceed the labels' own:

        Var = Var_design(mean_labels(y - lambda f) | pool) + Var(y) / N   (the last term only for target="population")

    `strata` names each answer's stratum when labels were drawn by stratum; `probability` gives inclusion
    probabilities for any other design. Without either, labels are taken as a simple random sample of the pool: if
    they are not, the answer is wrong however many there are. The judge may be biased in any way; it must not have
    seen the labels. Student's t quantiles, as for a regression.
    """
    return _ppi(_prepare(human, judge, strata, probability), target=target, level=level)


def _ppi(labels: _Labels, *, target: Target, level: float) -> Corrected:
    weight, N = labels.weight, len(labels.pool)
    moment_f = _sampling_covariance(labels, labels.f, labels.f)
    moment_yf = _sampling_covariance(labels, labels.y, labels.f)
    tuning = moment_yf / moment_f if moment_f > 0 else 0.0
    alone = float(weight @ labels.y)
    corrected = tuning * float(labels.pool.mean()) + float(weight @ (labels.y - tuning * labels.f))
    spread = float(weight @ (labels.y - alone) ** 2) / N if target == "population" else 0.0
    variance_alone = _sampling_covariance(labels, labels.y, labels.y) + spread
    rest = labels.y - tuning * labels.f
    variance = _sampling_covariance(labels, rest, rest) + spread
    n = len(labels.y)
    spent = 1 if tuning else 0
    error, error_alone = math.sqrt(variance), math.sqrt(variance_alone)
    reach = float(student.ppf((1 + level) / 2, _freedom(labels, spent)))
    reach_alone = float(student.ppf((1 + level) / 2, _freedom(labels, 0)))
    return Corrected(
        estimate=corrected,
        interval=Interval(low=corrected - reach * error, high=corrected + reach * error, level=level, method="ppi++"),
        standard_error=error,
        labels_only=alone,
        labels_only_interval=Interval(
            low=alone - reach_alone * error_alone,
            high=alone + reach_alone * error_alone,
            level=level,
            method="labels only, t",
        ),
        judge_only=float(labels.pool.mean()),
        tuning=tuning,
        worth=n * variance_alone / variance if variance > 0 else math.inf,
        n_labelled=n,
        n=N,
    )


def ppi_rate(
    human: ArrayLike,
    judge: ArrayLike,
    threshold: float,
    *,
    strata: ArrayLike | None = None,
    probability: ArrayLike | None = None,
    target: Target = "population",
    level: float = 0.95,
    rng: np.random.Generator | None = None,
) -> Corrected:
    """The share of answers whose human severity is at least `threshold`, P(S >= s).

    PPI++ on the indicators 1{y >= s} and 1{f >= s} where at least 10 labels are positive and 10 negative on either
    side of the judge's flag f >= s, in every stratum of the label sample. Ten of each overall are not enough: with a
    sharp judge the normal interval covers 0.93, with half the labels from flagged answers 0.80 to 0.92, and at a rate
    of 1% 0.87. Otherwise its small-sample form takes over: the same post-stratification on the flag, with a Jeffreys
    posterior Beta(k + 1/2, n - k + 1/2) for the rate in each part, mixed in the pool's proportions. As in the usual
    Jeffreys interval, a part without positives counts 0 in the lower limit and one without negatives 1 in the upper.
    Two parts, not one per level: every part adds half a pseudo-positive, which at nine levels swamps a rare rate
    (coverage 0.3 to 0.7 in simulation). Unequal inclusion within a part is carried by its effective number of labels
    (sum w)^2 / sum w^2 (Korn and Graubard 1998). Where the result is wider than the labels' own Clopper-Pearson
    interval (on effective counts), that one is given: a useless judge costs nothing.
    """
    y, f = np.asarray(human, dtype=np.float64), np.asarray(judge, dtype=np.float64)
    positive = np.where(np.isnan(y), np.nan, (y >= threshold).astype(np.float64))
    flag = np.where(np.isnan(f), np.nan, (f >= threshold).astype(np.float64))
    labels = _prepare(positive, flag, strata, probability)
    if _normal_enough(labels):
        return _clip(_ppi(labels, target=target, level=level))
    return _rare(labels, target=target, level=level, rng=np.random.default_rng(0) if rng is None else rng)


def _normal_enough(labels: _Labels) -> bool:
    """At least 10 positives and 10 negatives on either side of the judge's flag, in every stratum drawn in part.

    With a binary judge, PPI++ is post-stratification on the flag: its normal interval needs each part to be normal.
    """
    for h in np.flatnonzero(labels.stratum_labels < labels.stratum_sizes):
        for flag in (0.0, 1.0):
            mine = (labels.stratum == h) & (labels.f == flag)
            if mine.any():
                k, n = _effective_counts(labels.weight[mine], labels.y[mine])
                if min(k, n - k) < MIN_CLASS:
                    return False
    return True


def _rare(labels: _Labels, *, target: Target, level: float, rng: np.random.Generator) -> Corrected:
    N, weight = len(labels.pool), labels.weight
    tail = np.array([(1 - level) / 2, (1 + level) / 2])
    flagged = int(labels.pool.sum())
    if target == "population":
        share = rng.beta(flagged + 0.5, N - flagged + 0.5, size=POSTERIOR_DRAWS)
    else:
        share = np.full(POSTERIOR_DRAWS, flagged / N)
    lower, upper, middle = np.zeros(POSTERIOR_DRAWS), np.zeros(POSTERIOR_DRAWS), np.zeros(POSTERIOR_DRAWS)
    estimate = 0.0
    for flag, size, part in ((1.0, flagged, share), (0.0, N - flagged, 1 - share)):
        if size == 0:
            continue
        k, n = _effective_counts(weight[labels.f == flag], labels.y[labels.f == flag])
        rate = rng.beta(k + 0.5, n - k + 0.5, size=POSTERIOR_DRAWS)
        middle += part * rate
        lower += part * (rate if k > 0 else 0.0)
        upper += part * (rate if k < n or n == 0 else 1.0)
        estimate += size / N * (k / n if n > 0 else 0.5)
    low, high = float(np.quantile(lower, tail[0])), float(np.quantile(upper, tail[1]))
    k, n = _effective_counts(weight, labels.y)
    alone_low = 0.0 if k == 0 else float(betaincinv(k, n - k + 1, tail[0]))
    alone_high = 1.0 if k == n else float(betaincinv(k + 1, n - k, tail[1]))
    alone = Interval(low=alone_low, high=alone_high, level=level, method="labels only, clopper-pearson")
    interval = Interval(low=low, high=high, level=level, method="post-stratified jeffreys")
    if interval.half_width > alone.half_width:  # a judge that does not help must not hurt either
        estimate, interval = k / n, alone
    return Corrected(
        estimate=estimate,
        interval=interval,
        standard_error=float(np.std(middle)),
        labels_only=k / n,
        labels_only_interval=alone,
        judge_only=flagged / N,
        tuning=None,
        worth=len(labels.y) * (alone.half_width / interval.half_width) ** 2,
        n_labelled=len(labels.y),
        n=N,
    )


def _effective_counts(weight: Floats, y: Floats) -> tuple[float, float]:
    """Positives and labels of a part, as if each label had weighed the same."""
    if len(y) == 0:
        return 0.0, 0.0
    n = float(weight.sum() ** 2 / np.sum(weight**2))
    return n * float(weight @ y / weight.sum()), n


def _clip(result: Corrected) -> Corrected:
    """A rate and its limits stay within [0, 1]."""

    def inside(interval: Interval) -> Interval:
        return dataclasses.replace(interval, low=max(interval.low, 0.0), high=min(interval.high, 1.0))

    return dataclasses.replace(
        result,
        estimate=min(max(result.estimate, 0.0), 1.0),
        interval=inside(result.interval),
        labels_only_interval=inside(result.labels_only_interval),
    )


def ppi_rates(
    human: ArrayLike,
    judge: ArrayLike,
    *,
    thresholds: Sequence[float] = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0),
    strata: ArrayLike | None = None,
    probability: ArrayLike | None = None,
    target: Target = "population",
    level: float = 0.95,
    rng: np.random.Generator | None = None,
) -> dict[float, Corrected]:
    """`ppi_rate` at each threshold; at 0.5, the lowest error, it is the error rate."""
    options: dict[str, Any] = {"strata": strata, "probability": probability, "target": target, "level": level}
    return {float(s): ppi_rate(human, judge, s, rng=rng, **options) for s in thresholds}


def ppi_difference(
    first: tuple[ArrayLike, ArrayLike],
    second: tuple[ArrayLike, ArrayLike],
    *,
    threshold: float | None = None,
    strata: ArrayLike | None = None,
    level: float = 0.95,
) -> Corrected:
    """Mean human severity (or rate at `threshold`) of the first condition minus the second's, on the same items.

    Each condition is (human, judge) over the items in one order. Where the same items are labelled for both, PPI++
    runs on the per-item differences, which keeps the pairing. Otherwise each condition is corrected alone and
    `difference_of` combines them. `strata` (labels drawn by stratum of items) is for the paired form.
    """
    (ya, fa), (yb, fb) = [
        (np.asarray(human, dtype=np.float64), np.asarray(judge, dtype=np.float64)) for human, judge in (first, second)
    ]
    if threshold is not None:
        ya, yb = (np.where(np.isnan(y), np.nan, (y >= threshold).astype(np.float64)) for y in (ya, yb))
        fa, fb = (np.where(np.isnan(f), np.nan, (f >= threshold).astype(np.float64)) for f in (fa, fb))
    if ya.shape == yb.shape and np.array_equal(np.isnan(ya), np.isnan(yb)):
        return ppi_mean(ya - yb, fa - fb, strata=strata, level=level)
    if strata is not None:
        raise InputError(
            "Strata were given, but the two conditions were not labelled on the same items.",
            remedy="Correct each condition with its own strata and take `difference_of` them.",
        )
    return difference_of(ppi_mean(ya, fa, level=level), ppi_mean(yb, fb, level=level))


def difference_of(first: Corrected, second: Corrected) -> Corrected:
    """The difference of two corrected figures whose labels were drawn independently.

    Each limit combines the distances of the two figures from their own limits, d - sqrt((a - l_a)^2 + (u_b - b)^2) and
    d + sqrt((u_a - a)^2 + (b - l_b)^2) (Zou and Donner 2008), which keeps skewed intervals skewed and equals the sum of
    variances for symmetric ones. That the conditions answered the same items is not used, so it errs on the wide side.
    """
    if first.interval.level != second.interval.level:
        raise InputError("The two figures have different levels.", remedy="Use one level for both.")

    def combine(a: float, b: float, x: Interval, y: Interval, method: str) -> Interval:
        low = a - b - math.hypot(a - x.low, y.high - b)
        high = a - b + math.hypot(x.high - a, b - y.low)
        return Interval(low=low, high=high, level=x.level, method=method)

    n = min(first.n_labelled, second.n_labelled)
    interval = combine(first.estimate, second.estimate, first.interval, second.interval, "ppi, unpaired")
    alone = combine(
        first.labels_only,
        second.labels_only,
        first.labels_only_interval,
        second.labels_only_interval,
        "labels only, unpaired",
    )
    return Corrected(
        estimate=first.estimate - second.estimate,
        interval=interval,
        standard_error=math.hypot(first.standard_error, second.standard_error),
        labels_only=first.labels_only - second.labels_only,
        labels_only_interval=alone,
        judge_only=first.judge_only - second.judge_only,
        tuning=None,
        worth=n * (alone.half_width / interval.half_width) ** 2 if interval.half_width > 0 else math.inf,
        n_labelled=n,
        n=min(first.n, second.n),
    )
