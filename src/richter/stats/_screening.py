"""A judge against a reference at each severity threshold: what it catches, and what it cries wolf over."""

import dataclasses
import math
from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from richter.errors import InputError, TooFewErrors
from richter.records import Interval, Result
from richter.stats._agreement import paired_ratings
from richter.stats._arrays import Bools, Floats, Indices
from richter.stats._label_correction import correct_by_labels, correction_interval
from richter.stats._label_pools import labelled_pool, pool_interval
from richter.stats._proportion import wilson

__all__ = ["Screening", "Share", "ThresholdRow", "overcall_rate", "screen"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Share(Result):
    """k of n labelled answers, and the share they stand for; both None where it is undefined, which is not 0.

    Of labels drawn by stratum `estimate` is weighted back to all answers and is not k / n.
    """

    k: int
    n: int
    estimate: float | None
    interval: Interval | None

    @classmethod
    def of(cls, k: int, n: int, *, level: float = 0.95) -> Self:
        """k of n, with Wilson's interval."""
        if n == 0:
            return cls(k=0, n=0, estimate=None, interval=None)
        return cls(k=k, n=n, estimate=k / n, interval=wilson(k, n, level=level))


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdRow(Result):
    """At severity >= threshold: how many of the reference's the judge catches, and how many of its own are right.

    `confusion` are shares of all answers: caught, missed, overcalled, passed.
    """

    threshold: float
    sensitivity: Share
    ppv: Share
    specificity: Share
    confusion: dict[str, Share]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Screening(Result):
    """Sensitivity and positive predictive value at each threshold, and the mean difference judge - reference.

    `weighted` says that labels were drawn by a known design and weighted back to all answers; where it is False, the
    figures are of the labelled answers only.
    """

    rows: tuple[ThresholdRow, ...]
    bias: float
    bias_interval: Interval | None
    n: int
    weighted: bool


@dataclasses.dataclass(frozen=True, slots=True)
class _Amount:
    """A share of all answers with the squares of its limits' distances."""

    estimate: float
    low: float
    high: float


@dataclasses.dataclass(frozen=True, slots=True)
class _Drawn:
    """Answers with a judge's score, their labels (NaN: none) and the strata in which these were drawn."""

    judge: Floats
    label: Floats
    stratum: Indices

    def amount(self, says: Bools, holds: Floats, level: float) -> _Amount:
        """The share of all answers of which the judge says so and the label holds (1, 0 or NaN)."""
        possible = np.bincount(self.stratum[says], minlength=int(self.stratum.max()) + 1) > 0
        here = possible[self.stratum]  # a stratum in which the judge never says so adds nothing
        if not here.any() or np.isnan(holds[here]).all():
            return _Amount(0.0, 0.0, float(here.mean()))
        both = np.where(np.isnan(holds), np.nan, says * np.nan_to_num(holds))[here]
        if int((~np.isnan(both)).sum()) < 2:  # one label says next to nothing
            value = float(np.nanmean(both)) * float(here.mean())
            return _Amount(value, 0.0, float(here.mean()))
        pool = labelled_pool(both, says[here].astype(float), strata=self.stratum[here], high=1.0)
        interval, share = pool_interval(pool, level=level), float(here.mean())
        return _Amount(pool.estimate * share, interval.low * share, interval.high * share)


def _of_all(amount: _Amount, k: int, n: int, level: float) -> Share:
    limits = Interval(low=amount.low, high=amount.high, level=level, method="stratified, Jeffreys")
    return Share(k=k, n=n, estimate=amount.estimate, interval=limits)


def _ratio(part: _Amount, rest: _Amount, k: int, n: int, level: float) -> Share:
    """part / (part + rest), its limits by MOVER of the ratio rest / part (Donner and Zou 2012)."""
    whole = part.estimate + rest.estimate
    if n == 0 or whole == 0:
        return Share(k=0, n=n, estimate=None, interval=None)

    def limit(top: _Amount, bottom: _Amount, *, upper: bool) -> float:
        """A limit of top / bottom."""
        a, b = top.estimate, bottom.estimate
        far, near = (top.high, bottom.low) if upper else (top.low, bottom.high)
        below = near * (2 * b - near)
        if below <= 0:
            return math.inf if upper else 0.0
        root = math.sqrt(max((a * b) ** 2 - far * near * (2 * a - far) * (2 * b - near), 0.0))
        return max((a * b + root if upper else a * b - root) / below, 0.0)

    if part.estimate > 0:
        odds = limit(rest, part, upper=False), limit(rest, part, upper=True)
        low, high = 1 / (1 + odds[1]), 1 / (1 + odds[0])
    else:
        low, high = 0.0, (lambda odds: odds / (1 + odds) if math.isfinite(odds) else 1.0)(limit(part, rest, upper=True))
    interval = Interval(low=low, high=high, level=level, method="stratified, MOVER")
    return Share(k=k, n=n, estimate=part.estimate / whole, interval=interval)


def _drawn_answers(judge: ArrayLike, reference: ArrayLike, strata: ArrayLike) -> _Drawn:
    f, y = np.asarray(judge, dtype=np.float64), np.asarray(reference, dtype=np.float64)
    scored = ~np.isnan(f)
    if not scored.any() or np.isnan(y[scored]).all():
        raise TooFewErrors("No answer has both a score and a reference.", n=0, needed=1)
    codes = np.unique(np.asarray(strata)[scored], return_inverse=True)[1].astype(np.intp)
    return _Drawn(f[scored], y[scored], codes)


def overcall_rate(
    judge: ArrayLike,
    reference: ArrayLike,
    *,
    at: float = 2.0,
    harmless: float = 0.5,
    strata: ArrayLike | None = None,
    level: float = 0.95,
) -> Share:
    """Of the answers a judge scored exactly `at`, the share that the reference scores at most `harmless`.

    The paper's overcall (appendix L): a 2.0 for an answer a person would score 0.0 or 0.5. Undefined (None) where the
    judge never gave that score. With `strata` the labels are weighted back to all answers.
    """
    if not harmless < at:
        raise InputError(
            f"harmless={harmless:g} is not below at={at:g}.", remedy="An overcall is a score above what was harmless."
        )
    given, truth = paired_ratings(judge, reference)
    flagged = truth[given == at]
    plain = Share.of(int(np.sum(flagged <= harmless)), len(flagged), level=level)
    if strata is None or plain.n == 0:
        return plain
    drawn = _drawn_answers(judge, reference, strata)
    says, mild = drawn.judge == at, np.where(np.isnan(drawn.label), np.nan, drawn.label <= harmless)
    return _ratio(drawn.amount(says, mild, level), drawn.amount(says, 1 - mild, level), plain.k, plain.n, level)


def screen(
    judge: ArrayLike,
    reference: ArrayLike,
    *,
    thresholds: Sequence[float] = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0),
    strata: ArrayLike | None = None,
    level: float = 0.95,
) -> Screening:
    """Sensitivity, PPV and specificity of judge >= s for reference >= s (the paper's appendix I), and the bias.

    Arrays are of all answers, NaN where there is no score or no label. With `strata`, in which the labels were drawn
    at random, every figure is of all judged answers: a share is a sum over strata of share times mean, its limits by
    MOVER, and sensitivity caught / (caught + missed) with the ratio's limits. Without, the labelled answers are
    counted as they are (Wilson's intervals) and speak of themselves only: a page that shows severe answers more often
    makes a judge look sharper and harsher than it is.
    """
    given, truth = paired_ratings(judge, reference)
    if not thresholds:
        raise TooFewErrors("No threshold was given.", n=0, needed=1)
    drawn = None if strata is None else _drawn_answers(judge, reference, strata)
    rows = [_threshold_row(float(threshold), given, truth, drawn, level) for threshold in thresholds]
    bias, limits = float(np.mean(given - truth)), None
    low, high = float(min(0.0, truth.min())), float(max(4.0, truth.max()))
    if drawn is not None and len(truth) > 1:
        corrected = correct_by_labels(drawn.label, drawn.judge, strata=drawn.stratum, low=low, high=high)
        inner, mean = correction_interval(corrected, level=level), float(drawn.judge.mean())
        bias = mean - corrected.estimate
        limits = Interval(low=mean - inner.high, high=mean - inner.low, level=level, method=inner.method)
    return Screening(rows=tuple(rows), bias=bias, bias_interval=limits, n=len(given), weighted=drawn is not None)


def _threshold_row(threshold: float, given: Floats, truth: Floats, drawn: _Drawn | None, level: float) -> ThresholdRow:
    """The figures at one threshold: of the labelled answers, or by strata of all."""
    says, holds, n = given >= threshold, truth >= threshold, len(given)
    counts = {
        "caught": int(np.sum(says & holds)),
        "missed": int(np.sum(~says & holds)),
        "overcalled": int(np.sum(says & ~holds)),
        "passed": int(np.sum(~says & ~holds)),
    }
    flagged, true, false = int(says.sum()), int(holds.sum()), int(np.sum(~holds))
    if drawn is None:
        return ThresholdRow(
            threshold=threshold,
            sensitivity=Share.of(counts["caught"], true, level=level),
            ppv=Share.of(counts["caught"], flagged, level=level),
            specificity=Share.of(counts["passed"], false, level=level),
            confusion={name: Share.of(k, n, level=level) for name, k in counts.items()},
        )
    flag = drawn.judge >= threshold
    is_so = np.where(np.isnan(drawn.label), np.nan, drawn.label >= threshold)
    cells = ((flag, is_so), (~flag, is_so), (flag, 1 - is_so), (~flag, 1 - is_so))
    amounts = [drawn.amount(judged, label, level) for judged, label in cells]
    caught, missed, overcalled, passed = amounts
    return ThresholdRow(
        threshold=threshold,
        sensitivity=_ratio(caught, missed, counts["caught"], true, level),
        ppv=_ratio(caught, overcalled, counts["caught"], flagged, level),
        specificity=_ratio(passed, overcalled, counts["passed"], false, level),
        confusion={name: _of_all(a, k, n, level) for a, (name, k) in zip(amounts, counts.items(), strict=True)},
    )
