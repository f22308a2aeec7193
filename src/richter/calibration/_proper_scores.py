"""Scores of a confidence, each with an interval by unit: Brier, log, AUROC, AURC."""

import dataclasses
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike

from richter._special import stdtrit, xlogy
from richter.errors import InputError
from richter.records import Interval, counted
from richter.stats import EceResult, Floats, Indices, bootstrap_ece, ece, wilson
from richter.stats._proportion import unit_freedom

__all__ = [
    "ConfidenceScores",
    "EceResult",
    "Probabilities",
    "Score",
    "as_probability",
    "bootstrap_ece",
    "confidence_scores",
    "ece",
]


class Probabilities(NamedTuple):
    """Confidences on [0, 1], and what was made of them."""

    values: Floats
    note: str


CLIP = 1e-3  # a confidence of 0 or 1 has no logarithm
FOLDS = 5


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """A value with its interval; both None where it cannot be said, and `reason` says why."""

    value: float | None
    interval: Interval | None
    reason: str = ""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ConfidenceScores:
    """How good a confidence is, lower being better but for AUROC and resolution.

    score = miscalibration - resolution + uncertainty, exactly: miscalibration is what isotonic recalibration would gain
    on items it was not fitted on (below 0: it would lose), uncertainty the score of the accuracy stated for every
    answer, resolution what recalibrated confidences gain over that. AURC is the mean error over the answers kept when
    one answers from the most confident on, over all shares kept.
    """

    brier: Score
    brier_miscalibration: Score
    brier_resolution: Score
    brier_uncertainty: Score
    log: Score
    log_miscalibration: Score
    log_resolution: Score
    log_uncertainty: Score
    auroc: Score
    aurc: Score
    n: int
    units: int


def confidence_scores(
    confidence: ArrayLike,
    correct: ArrayLike,
    *,
    rng: np.random.Generator,
    unit: ArrayLike | None = None,
    weight: ArrayLike | None = None,
    level: float = 0.95,
) -> ConfidenceScores:
    """Brier score mean (c - a)^2 and log score -mean log of what was stated, with their parts; AUROC; AURC.

    Every score is a mean over rows or a smooth function of means: its standard error is that of the sums over units of
    its influence (CR2), its interval Student's with Satterthwaite's degrees of freedom, units - 1 where units count
    alike. Influences: AUROC, DeLong's placements;
    AURC = E[e (-log G(c))], G(c) the share of answers at least as confident as c: e (-log G) minus the mean over
    answers not more confident of e / G, centred. AUROC's interval is made on the logit and so stays in (0, 1); where
    right and wrong are told apart without exception the lower end is (1 - level)^(1 / m), m the rarer kind. In the log
    score 0 and 1 are read as 0.001 and 0.999.

    >>> from richter.calibration import confidence_scores
    >>> import numpy as np
    >>> confidence, correct = [0.6] * 50 + [0.9] * 50, [1, 0] * 25 + [1] * 45 + [0] * 5
    >>> round(confidence_scores(confidence, correct, rng=np.random.default_rng(0)).brier.value, 3)
    0.175
    """
    checked = ece(confidence, correct)  # checks the input
    c, a = np.asarray(confidence, dtype=np.float64), np.asarray(correct, dtype=np.float64)
    n = checked.n
    w = np.full(n, 1 / n) if weight is None else np.asarray(weight, dtype=np.float64) / np.sum(weight)
    of = np.arange(n) if unit is None else np.unique(np.asarray(unit), return_inverse=True)[1]
    shares = np.bincount(of, weights=w).astype(np.float64)
    units, freedom = len(shares), max(unit_freedom(shares), 1.0)

    def error(influence: Floats) -> float:
        """Of a mean of centred influences: CR2 by unit."""
        sums = np.bincount(of, weights=w * influence)
        return math.sqrt(float(np.sum(sums**2 / (1 - shares)))) if units > 1 else 0.0

    def mean(values: Floats, *, low: float = -math.inf, high: float = math.inf) -> Score:
        if units < 3:
            return Score(
                value=float(np.sum(w * values)), interval=None, reason=f"{counted(units, 'unit')} give no interval"
            )
        middle = float(np.sum(w * values))
        reach = float(stdtrit(freedom, 0.5 + level / 2)) * error(values - middle)
        ends = max(middle - reach, low), min(middle + reach, high)
        interval = Interval(low=ends[0], high=ends[1], level=level, method="student, by unit")
        return Score(value=middle, interval=interval)

    fold = rng.permutation(units)[of] % FOLDS
    again, base = np.empty(n), np.full(n, float(np.sum(w * a)))
    for k in range(FOLDS):
        held = fold == k
        if not held.any() or held.all():
            continue
        again[held] = np.interp(c[held], *_fit_isotonic(c[~held], a[~held], w[~held]))
    rate = min(max(float(base[0]), 0.0), 1.0)
    alone, spread = a.min() == a.max(), error(a - base) ** 2
    alike = alone or spread < 1e-12 * rate * (1 - rate)  # units of one rate show nothing of how they differ
    number = float(units) if alike else max(rate * (1 - rate) / spread, 1.0)
    accuracy = wilson(round(rate) * number if alone else rate * number, number, level=level)
    parts = {}
    for name, loss in (("brier", _brier), ("log", _log)):
        given, better, flat = loss(c, a), loss(again, a), loss(base, a)
        parts[name] = mean(given, low=0.0)
        parts[f"{name}_miscalibration"] = mean(given - better)
        parts[f"{name}_resolution"] = mean(flat - better)
        parts[f"{name}_uncertainty"] = Score(value=float(np.sum(w * flat)), interval=_image(accuracy, loss))
    area = mean(_aurc(c, 1 - a, w), low=0.0, high=1.0)
    if alone:  # nothing varies: as far as errors, or right answers, that fall anywhere may be more
        limits = dataclasses.replace(accuracy, low=1 - accuracy.high, high=1 - accuracy.low)
        area = dataclasses.replace(area, interval=limits)
    return ConfidenceScores(**parts, auroc=_auroc(c, a, w, of, error, freedom, level), aurc=area, n=n, units=units)


def _fit_isotonic(c: Floats, a: Floats, w: Floats) -> tuple[Floats, Floats]:
    """The monotone step function of least squares as its confidences and rates; ties are pooled first."""
    values, place = np.unique(c, return_inverse=True)
    weight = np.bincount(place, weights=w)
    fitted = scipy.optimize.isotonic_regression(np.bincount(place, weights=w * a) / weight, weights=weight).x
    return values, np.clip(fitted, 0, 1)


def _image(accuracy: Interval, loss: Callable[[Floats, Floats], Floats]) -> Interval:
    """The score of an accuracy stated for every answer, over the accuracies in an interval: highest at one half."""
    p = np.array([accuracy.low, accuracy.high, min(max(accuracy.low, 0.5), accuracy.high)])
    values = p * loss(p, np.ones(3)) + (1 - p) * loss(p, np.zeros(3))
    return Interval(
        low=float(values.min()), high=float(values.max()), level=accuracy.level, method="image of the accuracy's"
    )


def _brier(c: Floats, a: Floats) -> Floats:
    loss: Floats = (c - a) ** 2
    return loss


def _log(c: Floats, a: Floats) -> Floats:
    p = np.clip(c, CLIP, 1 - CLIP)
    loss: Floats = -np.log(np.where(a == 1, p, 1 - p))
    return loss


def _at_least(c: Floats, w: Floats) -> tuple[Floats, Indices]:
    """For every distinct confidence the weight of rows at least as confident, and each row's place among them."""
    _, place = np.unique(c, return_inverse=True)
    share: Floats = np.cumsum(np.bincount(place, weights=w)[::-1])[::-1].astype(np.float64)
    return share, place


def _aurc(c: Floats, e: Floats, w: Floats) -> Floats:
    """Per row a value whose mean is AURC and whose spread is its influence.

    Among ties of weight t below the top share g, the area under the risk is that of answering them in random order:
    -log G averaged over (g - t, g].
    """
    share, place = _at_least(c, w)
    tie = np.bincount(place, weights=w)
    below = np.maximum(share - tie, 0.0)  # more confident ones
    # mean of -log over (below, share]: [x - x log x] / t
    height = (share - xlogy(share, share) - below + xlogy(below, below)) / tie
    wrong = np.bincount(place, weights=w * e)
    pulled = np.cumsum(wrong / np.maximum(share, 1e-300))  # over answers not more confident
    value: Floats = e * height[place] - pulled[place] + float(np.sum(w * e))
    # the mean of the last two terms is 0 up to ties; centre them exactly so that the mean is AURC itself
    return value - float(np.sum(w * value)) + float(np.sum(w * e * height[place]))


def _auroc(
    c: Floats, a: Floats, w: Floats, of: Indices, error: Callable[[Floats], float], freedom: float, level: float
) -> Score:
    right, wrong = w * (a == 1), w * (a == 0)
    p = float(np.sum(right))
    if p in (0.0, 1.0) or not right.any() or not wrong.any():
        return Score(value=None, interval=None, reason="all answers are right, or all wrong")
    _, place = np.unique(c, return_inverse=True)
    of_wrong, of_right = np.bincount(place, weights=wrong) / (1 - p), np.bincount(place, weights=right) / p
    beaten = np.cumsum(of_wrong) - of_wrong / 2  # wrong answers less confident, ties half
    above = 1 - np.cumsum(of_right) + of_right / 2
    value = min(max(float(np.sum(of_right * beaten)), 0.0), 1.0)
    value = round(value) if min(value, 1 - value) < 1e-12 else value
    influence = np.where(a == 1, (beaten[place] - value) / p, (above[place] - value) / (1 - p))
    rarer = min(len(np.unique(of[a == 1])), len(np.unique(of[a == 0])))
    limit = (1 - level) ** (1 / rarer)
    if value in (0, 1):
        low, high = (limit, 1.0) if value > 0.5 else (0.0, 1 - limit)
    else:
        z = float(stdtrit(max(min(2.0 * rarer - 1, freedom), 1.0), 0.5 + level / 2))
        reach = z * error(influence) / (value * (1 - value))
        odds = value / (1 - value)
        low, high = (odds * math.exp(s * reach) / (1 + odds * math.exp(s * reach)) for s in (-1, 1))
    return Score(value=float(value), interval=Interval(low=low, high=high, level=level, method="delong, by unit"))


def as_probability(confidence: ArrayLike) -> Probabilities:
    """Confidences on [0, 1], and a sentence when percentages were recognised (else an empty one).

    Values are percentages when all lie in [0, 100], at least one exceeds 10 and none lies between 1 and 2: nobody
    states 1.3%. Up to 10 they may be of a scale (4 of 5 is no 4%), and fractions beside percentages may be either:
    both are refused, fractions where they are more than a twentieth. NaN (no confidence) is kept.
    """
    values = np.asarray(confidence, dtype=np.float64)
    given = values[~np.isnan(values)]
    over = given[given > 1]
    if len(over) == 0 and (given >= 0).all():
        return Probabilities(values, "")
    if (given >= 0).all() and (given <= 100).all() and (over >= 2).all():
        if given.max() <= 10:
            raise InputError(
                f"Confidences run up to {given.max():g}: a scale, or percentages?",
                remedy="Write confidence as a number from 0 to 1; what 4 of 5 means as a probability only you can say.",
            )
        parts = given[(given > 0) & (given < 1)]
        if 20 * len(parts) > len(given):
            raise InputError(
                f"Confidences run up to {given.max():g}, and {len(parts):,} of {len(given):,} lie between 0 and 1, as "
                f"{parts[0]:g}: percentages beside fractions?",
                remedy="Write confidence as a number from 0 to 1.",
            )
        note = f"Confidence runs up to {given.max():g}: read as percentages and divided by 100."
        if len(parts):
            note += f" {len(parts):,} under 1 are read as less than 1%, as {parts[0]:g}."
        return Probabilities(values / 100, note)
    bad = given[(given < 0) | (given > 100)]
    worst = float(bad[0] if len(bad) else over[0])
    raise InputError(
        f"A confidence of {worst:g} is neither a probability in [0, 1] nor a percentage in [0, 100].",
        remedy="Write confidence as a number from 0 to 1.",
    )
