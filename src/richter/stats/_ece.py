"""Binned calibration error with its calibrated-null mean, a debiased value and an interval that holds near zero."""

import dataclasses
import math
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from richter._special import ndtr, ndtri
from richter.errors import InputError
from richter.records import Interval, Result, Shown
from richter.stats._arrays import Floats, Indices
from richter.stats._bootstrap import BootstrapResult, percentiles, stream_seed
from richter.stats._proportion import unit_rate

__all__ = [
    "Bin",
    "BinGaps",
    "EceInterval",
    "EcePath",
    "EceResult",
    "FoldedLaw",
    "bin_gaps",
    "bootstrap_ece",
    "ece",
    "ece_interval",
    "ece_limits",
    "ece_path",
]


class EceInterval(NamedTuple):
    """The debiased value and its interval."""

    value: float
    interval: Interval


Binning = Literal["width", "mass"]

# A value this close below an edge is taken to be on it: averages of ratios carry rounding, edges are exact ratios.
_EDGE = 1e-12
# D1's path endpoint covers up to this many bins; beyond, the conservative form is used.
_PATH_BINS = 10
# Above this variance of a bin's count of correct answers the folded normal's mean is within 3e-4 of the exact one.
_NORMAL_VARIANCE = 400.0


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Bin(Result):
    """One row of a reliability table: the items whose confidence lies in [low, high).

    The interval (Wilson's) is of the accuracy, bin by bin, not jointly.
    """

    derived: ClassVar = ("gap",)

    low: float
    high: float
    n: int
    confidence: float
    accuracy: float
    interval: Interval

    @property
    def gap(self) -> float:
        """Mean confidence minus accuracy: positive is overconfident."""
        return self.confidence - self.accuracy


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class BinGaps:
    """The signed contributions D_b = sum over bin of (c - a) / n of the occupied bins, and their standard errors."""

    gap: Floats
    standard_error: Floats
    correlation: Floats | None  # between bins, 0 on the diagonal; None where rows vary independently
    index: Indices  # the occupied bin of every item, 0 .. len(gap) - 1
    low: Floats
    high: Floats
    n_bins: int


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class EceResult(Shown):
    """Binned calibration error and what is needed to read it.

    `ece` is the plug-in value, biased up; `null` is the plug-in's mean for a calibrated model with these very
    confidences; `debiased` and `interval` allow for that bias. `signed_gap` is mean confidence minus accuracy.
    `auroc` is None when all answers are correct or all wrong.
    """

    ece: float
    null: float
    debiased: float
    interval: Interval
    n: int
    accuracy: float
    mean_confidence: float
    signed_gap: float
    brier: float
    auroc: float | None
    bins: tuple[Bin, ...]
    n_bins: int
    binning: Binning
    notes: tuple[str, ...] = ()


def _bin_pairs(confidence: ArrayLike, correct: ArrayLike) -> tuple[Floats, Floats]:
    c = np.asarray(confidence, dtype=np.float64)
    a = np.asarray(correct, dtype=np.float64)
    if c.ndim != 1 or c.shape != a.shape:
        raise InputError(
            f"Confidence and correctness differ in shape ({c.shape} and {a.shape}).",
            remedy="Give one confidence and one grade per item.",
        )
    if len(c) == 0:
        raise InputError("There are no graded items.", remedy="Calibration needs at least one graded item.")
    if np.isnan(c).any() or np.isnan(a).any():
        raise InputError("A confidence or a grade is missing (NaN).", remedy="Leave such items out and say how many.")
    if ((c < 0) | (c > 1)).any():
        bad = float(c[(c < 0) | (c > 1)][0])
        raise InputError(f"A confidence of {bad:g} is outside [0, 1].", remedy="Divide percentages by 100.")
    if ((a != 0) & (a != 1)).any():
        raise InputError("A grade is neither 0 nor 1.", remedy="Calibration needs right or wrong answers.")
    return c, a


def _edges(c: Floats, bins: int, binning: Binning) -> Floats:
    """Bin edges. Width: 0, 1/bins, .. 1. Mass: at the order statistics, ties kept together, so fewer may remain."""
    if binning == "width":
        return np.arange(bins + 1) / bins
    if binning == "mass":
        values, first = np.unique(np.sort(c), return_index=True)
        group = first * bins // len(c)  # by the lowest rank among ties
        return np.concatenate(([0.0], values[1:][np.diff(group) > 0], [1.0]))
    raise InputError(f"binning={binning!r} is not known.", remedy="Use 'width' or 'mass'.")


def bin_gaps(
    confidence: ArrayLike,
    correct: ArrayLike,
    *,
    bins: int = 10,
    binning: Binning = "width",
    unit: ArrayLike | None = None,
    weight: ArrayLike | None = None,
    crossed: ArrayLike | None = None,
) -> BinGaps:
    """Per occupied bin the signed gap D_b = sum over bin of w (c - a), w = 1 / n, and its standard error s_b.

    Bins are left-closed and the last is closed. s_b^2 = (sum over bin of (c - a)^2 / n - D_b^2) / n counts the
    chance of falling into the bin too. Where nearly all answers of a bin are right (or wrong) its own variance says
    too little of what is not known: n right answers at confidence 1 would claim an error of exactly 0. The accuracy's
    variance in a bin is therefore at least Agresti and Coull's, with two right and two wrong answers added.

    `unit` names what varies independently where that is not the row (draws of one item, items of one group), and
    `weight` what each row counts for. Then the covariance of the D_b comes from unit sums
    u_gb = sum over the unit's rows of w ((c - a) 1{bin b} - D_b), times G / (G - 1) for G units, and an answer added
    for Agresti and Coull is a unit in the bin: Kish's number of them, (sum W_g)^2 / sum W_g^2. Where all units of a bin
    are alike each counts as one answer, right or wrong as the bin's rows are. `crossed`
    names what else varies, crossed with units (runs): its covariance is added.
    """
    c, a = _bin_pairs(confidence, correct)
    if bins < 1:
        raise InputError(f"bins={bins} is not a number of bins.", remedy="Use 10, as the papers do.")
    edges = _edges(c, bins, binning)
    n = len(c)
    raw = np.searchsorted(edges[1:-1] - _EDGE, c, side="right")
    occupied, index = np.unique(raw, return_inverse=True)
    size = len(occupied)
    w = np.full(n, 1 / n) if weight is None else np.asarray(weight, dtype=np.float64)
    w = w / np.sum(w)
    d = w * (c - a)
    gap: Floats = np.bincount(index, weights=d, minlength=size).astype(np.float64)
    mass = np.bincount(index, weights=w, minlength=size)
    seen = np.bincount(index, weights=w * a, minlength=size) / mass
    square: Floats = np.bincount(index, weights=w**2, minlength=size).astype(np.float64)
    if unit is None:
        spread = np.bincount(index, weights=d * d, minlength=size) - 2 * gap * np.bincount(index, weights=w * d)
        covariance = np.diag(np.maximum(spread + gap**2 * np.sum(w**2), 0.0))
    else:
        covariance, square = _between_units(d, w, index, gap, np.unique(np.asarray(unit), return_inverse=True)[1])
        alike = np.diag(covariance) < 1e-12 * square  # units of one rate do not show how far others are from it
        covariance = covariance + np.diag(np.where(alike, seen * (1 - seen) * square, 0.0))
    if crossed is not None:
        covariance = (
            covariance + _between_units(d, w, index, gap, np.unique(np.asarray(crossed), return_inverse=True)[1])[0]
        )
    count = mass**2 / square
    p = (seen * count + 2) / (count + 4)
    own = np.diag(covariance)
    error = np.sqrt(own + np.maximum(p * (1 - p) - seen * (1 - seen), 0.0) * square)
    return BinGaps(
        gap=gap,
        standard_error=error,
        correlation=None if unit is None else (covariance - np.diag(own)) / np.outer(error, error),
        index=index,
        low=edges[occupied],
        high=edges[occupied + 1],
        n_bins=len(edges) - 1,
    )


def _between_units(d: Floats, w: Floats, index: Indices, gap: Floats, row: Indices) -> tuple[Floats, Floats]:
    """The covariance of the D_b from sums over units, and the sum over units of their squared mass in each bin."""
    units, size = int(row.max()) + 1, len(gap)
    place, cells = row * size + index, units * size
    sums = np.bincount(place, weights=d, minlength=cells).reshape(units, size)
    sums = sums - np.outer(np.bincount(row, weights=w, minlength=units), gap)
    mass = np.bincount(place, weights=w, minlength=cells).reshape(units, size)
    covariance: Floats = np.asarray(sums.T @ sums * (units / max(units - 1, 1)), dtype=np.float64)
    return covariance, np.sum(mass**2, axis=0)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class FoldedLaw:
    """Mean and variance of T at every l, and the terms of each bin by which it varies with others, l x bins."""

    mean: Floats
    variance: Floats
    first: Floats
    second: Floats


def folded_covariance(
    first: Floats, second: Floats, correlation: Floats, other: Floats, other_second: Floats
) -> Floats:
    """The covariance of two sums of folded normals at every l, from the terms of both laws (`FoldedLaw`)."""
    linear = np.einsum("kb,bc,kc->k", first, correlation, other)
    found: Floats = linear + 2 * np.einsum("kb,bc,kc->k", second, correlation**2, other_second)
    return found


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class EcePath:
    """The sizes |D_b| of gaps that are not known exactly, their standard errors and correlations; `fixed` the others.

    Along theta_b(l) = (|D_b| - l s_b)+, l also negative, `score` is how many standard deviations T = sum |D_b| lies
    above its mean: (T - M(l)) / sqrt(V(l)), with the summed means and the variance of the folded normals
    |N(theta_b(l), s_b)|. Their covariances are Mehler's expansion to the second order of the correlation r:
    s s' (r (2 Phi - 1)(2 Phi' - 1) + 2 r^2 phi phi'), at theta / s and theta' / s'.
    """

    size: Floats
    error: Floats
    correlation: Floats | None
    fixed: float
    sign: Floats

    @property
    def most(self) -> float:
        """The l from which every theta_b is 0."""
        return float(np.max(self.size / self.error))

    def norm(self, shrink: Floats) -> Floats:
        """sum |theta_b(l)|."""
        total: Floats = self.fixed + np.sum(np.maximum(self.size - shrink[:, None] * self.error, 0.0), axis=1)
        return total

    def score(self, shrink: Floats) -> Floats:
        """(T - M(l)) / sqrt(V(l))."""
        law = self.law(shrink)
        score: Floats = (np.sum(self.size) - law.mean) / np.sqrt(law.variance)
        return score

    def law(self, shrink: Floats) -> "FoldedLaw":
        """The law of T at each l: of a sum of folded normals."""
        s = self.error
        theta = np.maximum(self.size - shrink[:, None] * s, 0.0)
        ratio = theta / s
        density, sure = np.exp(-0.5 * ratio**2) / math.sqrt(2 * math.pi), 1 - 2 * ndtr(-ratio)
        mean = 2 * s * density + theta * sure
        variance: Floats = np.sum(theta**2 + s**2 - mean**2, axis=1)
        # signs of the gaps: a positive covariance of D_b and D_b' of opposite sign is a negative one of their sizes
        one, two = sure * s * self.sign, density * s
        if self.correlation is not None:
            between = folded_covariance(one, two, self.correlation, one, two)
            variance = np.maximum(variance + between, 0.1 * variance)
        return FoldedLaw(mean=np.sum(mean, axis=1), variance=variance, first=one, second=two)


def ece_path(gap: ArrayLike, standard_error: ArrayLike, correlation: ArrayLike | None = None) -> EcePath:
    """The path of `ece_interval` from D_b, s_b and the correlations between bins (none: independent)."""
    d, s = np.asarray(gap, dtype=np.float64), np.asarray(standard_error, dtype=np.float64)
    unknown = s > 0  # from `bin_gaps` always; a caller's own gaps may be known exactly
    r = None if correlation is None else np.asarray(correlation, dtype=np.float64)[np.ix_(unknown, unknown)]
    return EcePath(
        size=np.abs(d[unknown]),
        error=s[unknown],
        correlation=r,
        fixed=float(np.sum(np.abs(d[~unknown]))),
        sign=np.sign(d[unknown]),
    )


def ece_limits(path: EcePath, z: ArrayLike) -> Floats:
    """Limits of the ECE: sum |theta_b(l)| where the score is each z. Positive z gives lower limits, 0 the debiased
    value, negative z upper limits; 0 (or what is known exactly) where no l reaches z. Where T is below the mean of a
    calibrated model no upper limit is below T: luckily small gaps would else claim an error of exactly 0.

    With more than 10 bins the conservative T - sqrt(2 / pi) sum s_b - z S for z > 0 and T - z S for z < 0,
    S^2 = the sum of all |covariances|.
    """
    target = np.atleast_1d(np.asarray(z, dtype=np.float64))
    if len(path.size) == 0:
        return np.full(len(target), path.fixed)
    most = path.most
    low, high = np.full(len(target), -1.0), np.full(len(target), most)
    while (short := path.score(low) > target).any() and low.min() > -1e9:
        low[short] *= 2
    for _ in range(60):
        middle = (low + high) / 2
        above = path.score(middle) > target
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    best = float(path.score(np.full(1, most))[0])
    limit = np.where(best <= target, path.fixed, path.norm(high))
    if best < 0:
        limit = np.where(target < 0, np.maximum(limit, path.fixed + float(np.sum(path.size))), limit)
    if len(path.size) > _PATH_BINS:
        total, s = path.fixed + float(np.sum(path.size)), path.error
        r = path.correlation
        spread = math.sqrt(float(np.sum(s**2) + (0.0 if r is None else s @ np.abs(r) @ s)))
        lower = np.maximum(total - math.sqrt(2 / math.pi) * float(np.sum(s)) - target * spread, 0.0)
        upper = total - target * spread
        start = max(total - math.sqrt(2 / math.pi) * float(np.sum(s)), 0.0)
        limit = np.where(target > 0, lower, np.where(target < 0, upper, np.clip(limit, start, total)))
    return np.minimum(limit, 1.0)


def ece_interval(
    gap: ArrayLike, standard_error: ArrayLike, correlation: ArrayLike | None = None, *, level: float = 0.95
) -> EceInterval:
    """The debiased sum of |theta_b| and its interval, from estimates D_b ~ N(theta_b, s_b^2).

    T = sum |D_b| is biased up where gaps are small. The limits are sum |theta_b| on the path of `EcePath` where the
    score of T is +z (lower; 0 where none reaches it) and -z (upper); the debiased value is where it is 0 (0 where T
    lies below the mean at theta = 0).
    """
    if not 0 < level < 1:
        raise InputError(f"A confidence level of {level} is not between 0 and 1.", remedy="Use 0.95 for 95%.")
    path = ece_path(gap, standard_error, correlation)
    z = float(ndtri(0.5 + level / 2))
    low, debiased, high = (float(x) for x in ece_limits(path, [z, 0.0, -z]))
    method = "folded-normal path" if len(path.size) <= _PATH_BINS else "folded-normal conservative"
    return EceInterval(min(max(debiased, low), high), Interval(low=low, high=high, level=level, method=method))


def _null_mean(c: Floats, index: Indices) -> float:
    """Mean plug-in ECE of a calibrated model with these confidences: sum over bins of E|sum (c - a)| / n."""
    from richter.stats._stats_kernels import absolute_deviation

    total = 0.0
    order = np.argsort(index, kind="stable")
    for members in np.split(c[order], np.cumsum(np.bincount(index))[:-1]):
        variance = float(np.sum(members * (1 - members)))
        if variance > _NORMAL_VARIANCE:
            total += math.sqrt(2 * variance / math.pi)
        else:
            total += absolute_deviation(members)
    return total / len(c)


def _auroc(c: Floats, a: Floats, w: Floats) -> float | None:
    """Chance that a correct answer has the higher confidence, ties counted half (Mann-Whitney)."""
    place = np.unique(c, return_inverse=True)[1]
    right, wrong = (np.bincount(place, weights=w * kind) for kind in (a, 1 - a))
    if not right.any() or not wrong.any():
        return None
    return float(right @ (np.cumsum(wrong) - wrong / 2) / (right.sum() * wrong.sum()))


def ece(
    confidence: ArrayLike,
    correct: ArrayLike,
    *,
    unit: ArrayLike | None = None,
    weight: ArrayLike | None = None,
    bins: int = 10,
    binning: Binning = "width",
    level: float = 0.95,
) -> EceResult:
    """Expected calibration error, ECE = sum over bins of |mean of (a - c) 1{c in bin}|, with an honest interval.

    `confidence` lies in [0, 1], `correct` is 0 or 1; `bins` are of equal width (left-closed, the last closed) or,
    with `binning="mass"`, of equal counts with ties kept together. The plug-in value of a calibrated model is not 0
    but `null` (exact: each bin's count of correct answers is Poisson-binomial); subtracting it over-corrects a
    miscalibrated model, so `debiased` and `interval` come from `ece_interval`. The interval is for the binned ECE of
    this confidence over the population of items, not for an unbinned one, which no sample bounds without smoothness.
    The intervals of the bins' accuracies allow for what varies together (`unit`) and all means count by `weight`; the
    ECE itself and its interval do so in `calibration.unit_ece`.

    >>> from richter.calibration import ece
    >>> confidence, correct = [0.6] * 50 + [0.9] * 50, [1, 0] * 25 + [1] * 45 + [0] * 5
    >>> round(ece(confidence, correct).ece, 3)
    0.05
    """
    gaps = bin_gaps(confidence, correct, bins=bins, binning=binning)
    c, a = _bin_pairs(confidence, correct)
    n = len(c)
    debiased, interval = ece_interval(gaps.gap, gaps.standard_error, level=level)
    count = np.bincount(gaps.index)
    w = np.ones(n) if weight is None else np.asarray(weight, dtype=np.float64)
    total = np.bincount(gaps.index, weights=w)
    mean_c = np.bincount(gaps.index, weights=w * c) / total
    mean_a = np.bincount(gaps.index, weights=w * a) / total
    parts = np.split(np.argsort(gaps.index, kind="stable"), np.cumsum(count)[:-1])
    of = None if unit is None else np.asarray(unit)
    notes = []
    if n > 1 and float(np.ptp(c)) == 0:
        notes.append(
            f"Every confidence is {c[0]:g}: the calibration of a constant only compares it with the accuracy "
            "(a base rate), and says nothing of knowing which answers are wrong."
        )
    return EceResult(
        ece=float(np.sum(np.abs(gaps.gap))),
        null=_null_mean(c, gaps.index),
        debiased=debiased,
        interval=interval,
        n=n,
        accuracy=float(np.average(a, weights=w)),
        mean_confidence=float(np.average(c, weights=w)),
        signed_gap=float(np.average(c - a, weights=w)),
        brier=float(np.average((c - a) ** 2, weights=w)),
        auroc=_auroc(c, a, w),
        bins=tuple(
            Bin(
                low=float(lo),
                high=float(hi),
                n=int(k),
                confidence=float(x),
                accuracy=float(y),
                interval=unit_rate(
                    a[part], None if of is None else of[part], weight=None if weight is None else w[part], level=level
                ),
            )
            for lo, hi, k, x, y, part in zip(gaps.low, gaps.high, count, mean_c, mean_a, parts, strict=True)
        ),
        n_bins=gaps.n_bins,
        binning=binning,
        notes=tuple(notes),
    )


def bootstrap_ece(
    confidence: ArrayLike,
    correct: ArrayLike,
    *,
    rng: np.random.Generator,
    bins: int = 10,
    binning: Binning = "width",
    n_resamples: int = 10_000,
    level: float = 0.95,
) -> BootstrapResult:
    """Percentile bootstrap of the plug-in ECE over items.

    It inherits the plug-in's upward bias and doubles it, so that it never reaches down to 0: on a calibrated model
    it covers the truth in 0% of samples. Use `ece(...).interval`; this is here to be printed beside it. Equal-mass
    edges are those of the sample and are not drawn anew.
    """
    gaps = bin_gaps(confidence, correct, bins=bins, binning=binning)
    d = np.asarray(confidence, dtype=np.float64) - np.asarray(correct, dtype=np.float64)
    from richter.stats._stats_kernels import resample_ece

    values = resample_ece(d, gaps.index.astype(np.int32), len(gaps.gap), n_resamples, stream_seed(rng))
    return BootstrapResult(
        estimate=float(np.sum(np.abs(gaps.gap))),
        standard_error=float(np.std(values, ddof=1)),
        interval=percentiles(values, level=level),
        resampled=values,
        n=len(d),
        n_resamples=n_resamples,
    )
