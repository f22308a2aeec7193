"""Would recalibration help? Temperature, Platt and isotonic, judged on items they were not fitted on, and exported."""

import dataclasses
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import scipy
from numpy.typing import ArrayLike

from richter._special import expit, stdtrit
from richter.claims import ece_difference, ece_evidence, ece_side
from richter.errors import InputError, TooFewErrors
from richter.records import Interval, Result
from richter.stats import Bools, EceResult, Floats, Indices, ece
from richter.stats._proportion import unit_freedom

__all__ = ["CalibrationMap", "Recalibration", "RecalibrationAdvice", "calibration_map", "recalibrate"]

CLIP = 1e-3  # a confidence of 0 or 1 has no logit
SPLITS = 10  # halves at random, so that the advice hangs on the data and not on the seed
MIN_ITEMS = 40  # graded items, with at least 5 right and 5 wrong in each half
SCHEMA = "richter-calibration-map-1"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationMap(Result):
    """A fitted map from confidence to probability, small enough to ship.

    `temperature`: sigmoid(logit(c) / T), parameters (T,). `platt`: sigmoid(slope logit(c) + shift), parameters
    (slope, shift). `isotonic`: linear between `knots`, constant beyond. Before a logit c is kept within 0.001, 0.999.
    """

    schema: ClassVar[str] = SCHEMA

    method: str
    parameters: tuple[float, ...] = ()
    knots: tuple[tuple[float, float], ...] = ()
    fitted_on: int = 0
    condition: str = ""

    def apply(self, confidence: ArrayLike) -> Floats:
        """Recalibrated confidences; NaN stays NaN."""
        c = np.asarray(confidence, dtype=np.float64)
        if self.method == "isotonic":
            x, y = np.array(self.knots).T
            mapped = np.where(np.isnan(c), np.nan, np.interp(np.nan_to_num(c), x, y))
        else:
            slope, shift = self.parameters if self.method == "platt" else (1 / self.parameters[0], 0.0)
            mapped = 1 / (1 + np.exp(np.clip(-slope * _logit(c) - shift, -700, 700)))
        return np.asarray(np.clip(mapped, 0, 1))


def calibration_map(row: Mapping[str, Any]) -> CalibrationMap:
    """A map from its JSON form, checked: it may come from anywhere.

    >>> from richter.calibration import calibration_map, recalibrate
    >>> import numpy as np
    >>> confidence, correct = [0.6] * 50 + [0.9] * 50, [1, 0] * 25 + [1] * 45 + [0] * 5
    >>> best = recalibrate(confidence, correct, rng=np.random.default_rng(0)).methods[0].map
    >>> calibration_map(best.to_dict()) == best
    True
    """
    if not isinstance(row, Mapping) or row.get("schema") != SCHEMA:
        raise InputError(
            "This is not a calibration map.", remedy="Make one: richter calibration FILE --save-map map.json"
        )
    try:
        method = str(row["method"])
        parameters = tuple(float(x) for x in row.get("parameters") or ())
        knots = tuple((float(x), float(y)) for x, y in row.get("knots") or ())
    except (TypeError, ValueError, KeyError) as e:
        raise InputError(f"The calibration map cannot be read: {e}.", remedy="Make it again.") from e
    want = {"temperature": 1, "platt": 2, "isotonic": 0}.get(method, -1)
    rising = all(a[0] < b[0] and a[1] <= b[1] for a, b in itertools.pairwise(knots))
    inside = all(0 <= v <= 1 for knot in knots for v in knot)
    sound = len(parameters) == want and all(math.isfinite(x) for x in parameters) and rising and inside
    if not sound or (method == "isotonic") != bool(knots) or (method == "temperature" and parameters[0] <= 0):
        raise InputError("The calibration map is damaged.", remedy="Make it again.")
    return CalibrationMap(method=method, parameters=parameters, knots=knots, fitted_on=int(row.get("fitted_on") or 0))


def _logit(c: Floats) -> Floats:
    clipped = np.clip(c, CLIP, 1 - CLIP)
    return np.asarray(np.log(clipped / (1 - clipped)))


def _log_loss(z: Floats, a: Floats, w: Floats) -> float:
    return float(np.sum(w * (np.logaddexp(0, z) - a * z)) / np.sum(w))


def fit_temperature(c: Floats, a: Floats, w: Floats) -> CalibrationMap:
    """Divide the logit by T (Guo et al. 2017)."""
    z = _logit(c)
    optimum = scipy.optimize.minimize_scalar(lambda s: _log_loss(z * np.exp(s), a, w), bounds=(-5, 5), method="bounded")
    scale = float(np.exp(optimum.x))
    return CalibrationMap(method="temperature", parameters=(1 / scale,), fitted_on=len(c))


def fit_platt(c: Floats, a: Floats, w: Floats) -> CalibrationMap:
    """Slope and intercept on the logit, with Platt's (1999) smoothed targets."""
    z = _logit(c)
    right = float(np.sum(a))
    target = np.where(a == 1, (right + 1) / (right + 2), 1 / (len(a) - right + 2))
    terms = np.stack((z, np.ones(len(z))))

    def gradient(x: Floats) -> Floats:
        return np.asarray(terms @ (w * (expit(x @ terms) - target)) / np.sum(w))

    def curvature(x: Floats) -> Floats:
        return np.asarray((terms * (w * expit(x @ terms) * expit(-x @ terms))) @ terms.T / np.sum(w))

    # no line search: scipy's silences its own warnings, which in threads may reach the caller
    optimum = scipy.optimize.minimize(
        lambda x: _log_loss(x @ terms, target, w),
        [1.0, 0.0],
        jac=gradient,
        hess=curvature,
        method="trust-exact",
        tol=1e-9,
    ).x
    return CalibrationMap(method="platt", parameters=(float(optimum[0]), float(optimum[1])), fitted_on=len(c))


def fit_isotonic(c: Floats, a: Floats, w: Floats) -> CalibrationMap:
    """The monotone step function of least squares, interpolated between its points; ties pooled first."""
    values, place = np.unique(c, return_inverse=True)
    weight = np.bincount(place, weights=w)
    fitted = scipy.optimize.isotonic_regression(np.bincount(place, weights=w * a) / weight, weights=weight).x
    # within a level only its ends matter
    end = np.concatenate(([True], np.diff(fitted) > 0))
    keep = end | np.concatenate((end[1:], [True]))
    knots = tuple(zip(values[keep].tolist(), np.clip(fitted[keep], 0, 1).tolist(), strict=True))
    return CalibrationMap(method="isotonic", knots=knots, fitted_on=len(c))


_METHODS: dict[str, Callable[[Floats, Floats, Floats], CalibrationMap]] = {
    "temperature": fit_temperature,
    "platt": fit_platt,
    "isotonic": fit_isotonic,
}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Recalibration(Result):
    """One method's held-out result. Improvements are before minus after: positive is better.

    `map` is fitted on all items, for use; its gain is at least that of a map fitted on half of them, on average.
    """

    method: str
    after: EceResult
    ece_improvement: float
    interval: Interval
    brier_improvement: float
    brier_interval: Interval
    map: CalibrationMap


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RecalibrationAdvice(Result):
    """All methods, and the one advised: the simplest near the best held-out Brier score whose gain is not chance."""

    before: EceResult
    methods: tuple[Recalibration, ...]
    advised: str | None
    n: int

    @property
    def best(self) -> Recalibration | None:
        """The method advised."""
        return next((m for m in self.methods if m.method == self.advised), None)


def recalibrate(
    confidence: ArrayLike,
    correct: ArrayLike,
    *,
    rng: np.random.Generator,
    unit: ArrayLike | None = None,
    weight: ArrayLike | None = None,
    level: float = 0.95,
    bins: int = 10,
) -> RecalibrationAdvice:
    """What recalibration would gain on items it was not fitted on.

    Units are split in two at random, ten times; each method is fitted on one half and applied to the other, and what is
    judged is the mean of an item's ten predictions, none of which saw it. The ECE's gain is the difference of the
    debiased values with the interval of `claims.ece_difference`, unpaired and at half of 1 - level (a difference of
    plug-in values is biased, because only one of the two is near 0); the Brier score's is a mean over items,
    Student's interval by unit. It decides the advice at a level corrected for the three methods (Bonferroni): a
    gain whose interval reaches 0 is not advised. Of those that are left the simplest within a standard error of the
    best is advised.

    >>> from richter.calibration import recalibrate
    >>> import numpy as np
    >>> confidence, correct = [0.6] * 50 + [0.9] * 50, [1, 0] * 25 + [1] * 45 + [0] * 5
    >>> len(recalibrate(confidence, correct, rng=np.random.default_rng(0)).methods)
    3
    """
    before = ece(confidence, correct, unit=unit, weight=weight, bins=bins, level=level)  # checks the input
    c, a = np.asarray(confidence, dtype=np.float64), np.asarray(correct, dtype=np.float64)
    n = len(c)
    of = np.arange(n) if unit is None else np.unique(np.asarray(unit), return_inverse=True)[1].astype(np.intp)
    w = np.ones(n) if weight is None else np.asarray(weight, dtype=np.float64) * n / np.sum(weight)
    shares = np.bincount(of, weights=w).astype(np.float64) / n
    units, freedom = len(shares), max(unit_freedom(shares), 1.0)
    halves = [(rng.permutation(units) < units // 2)[of] for _ in range(SPLITS)]
    fewest = min(int(min(a[h].sum(), (1 - a[h]).sum())) for half in halves for h in (half, ~half))
    if units < MIN_ITEMS or fewest < 5:
        raise TooFewErrors(
            f"Recalibration needs {MIN_ITEMS} independent items with 5 right and 5 wrong answers in each half; "
            f"there are {units}, and {fewest} of the rarer kind in a half.",
            n=n,
            needed=MIN_ITEMS,
        )
    rows = []
    given = _ece_side(c, a, of, w, bins)
    for name, fit in _METHODS.items():
        after = _predict_unseen(fit, c, a, w, halves)
        gain = w * ((c - a) ** 2 - (after - a) ** 2)
        middle = float(np.mean(gain))
        sums = np.bincount(of, weights=gain - w * middle)
        error = math.sqrt(float(np.sum(sums**2 / (1 - shares)))) / n
        own, plug_in = _ece_side(after, a, of, w, bins), ece(after, a, unit=unit, weight=weight, bins=bins, level=level)
        improvement = ece_difference(own, given, paired=False)
        rows.append(
            (
                error,
                Recalibration(
                    method=name,
                    after=plug_in if unit is None and weight is None else _with_unit_interval(plug_in, own, level),
                    ece_improvement=improvement.estimate,
                    interval=dataclasses.replace(improvement.interval(1 - (1 - level) / 2), level=level),
                    brier_improvement=middle,
                    brier_interval=_student_interval(middle, error, freedom, level),
                    map=fit(c, a, w),
                ),
            )
        )
    before = before if unit is None and weight is None else _with_unit_interval(before, given, level)
    best = _simplest_of_the_best(rows, freedom, level)
    return RecalibrationAdvice(before=before, methods=tuple(r for _, r in rows), advised=best, n=n)


def _predict_unseen(
    fit: Callable[[Floats, Floats, Floats], CalibrationMap], c: Floats, a: Floats, w: Floats, halves: Sequence[Bools]
) -> Floats:
    """Each item's recalibrated confidence: the mean over splits, of fits that did not see it."""
    after = np.zeros(len(c))
    for fitted_on in (side for half in halves for side in (half, ~half)):
        after[~fitted_on] += fit(c[fitted_on], a[fitted_on], w[fitted_on]).apply(c[~fitted_on]) / SPLITS
    return after


def _simplest_of_the_best(rows: Sequence[tuple[float, Recalibration]], freedom: float, level: float) -> str | None:
    """The simplest method (they stand in this order) within a standard error of the best; None where none helps."""
    each = 1 - (1 - level) / len(rows)
    sure = [
        (r.brier_improvement, error, r.method)
        for error, r in rows
        if _student_interval(r.brier_improvement, error, freedom, each).low > 0
    ]
    if not sure:
        return None
    most, error, _ = max(sure)
    return next(method for gain, _, method in sure if gain >= most - error)


def _with_unit_interval(result: EceResult, side: Any, level: float) -> EceResult:
    """A result with its ECE by unit and weight."""
    own = ece_evidence(side)
    return dataclasses.replace(
        result, ece=side.plug_in, null=side.null, debiased=own.estimate, interval=own.interval(level)
    )


def _ece_side(c: Floats, a: Floats, of: Indices, w: Floats, bins: int) -> Any:
    """Rows by unit, each counting for its weight."""
    rows = np.arange(len(c))
    return ece_side(c, a, rows, group=None if len(np.unique(of)) == len(c) else of, weight=w, bins=bins)


def _student_interval(centre: float, error: float, freedom: float, level: float) -> Interval:
    reach = float(stdtrit(freedom, 0.5 + level / 2)) * error
    return Interval(low=centre - reach, high=centre + reach, level=level, method="student, by unit")
