"""Would recalibration help? Temperature, Platt and isotonic, each fitted on one half and judged on the other."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import isotonic_regression, minimize, minimize_scalar
from scipy.special import ndtri

from richter.calibration._gap import resample_gap
from richter.errors import TooFewErrors
from richter.records import Interval, jsonable
from richter.stats import EceResult, ece
from richter.stats._random import stream_seed

__all__ = ["Recalibration", "RecalibrationAdvice", "recalibrate"]

Floats = NDArray[np.float64]
Map = Callable[[Floats], Floats]
CLIP = 1e-3  # a confidence of 0 or 1 has no logit
NEEDED = 40  # graded items, with at least 5 right and 5 wrong in each half


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Recalibration:
    """One method's held-out result. Improvements are before minus after: positive is better."""

    method: str
    after: EceResult
    ece_improvement: float
    interval: Interval
    brier_improvement: float
    brier_interval: Interval
    parameters: tuple[tuple[float, ...], ...]  # per half; empty for isotonic


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RecalibrationAdvice:
    """All methods, and the one advised: the best held-out Brier score among those whose gain is not chance, or None."""

    before: EceResult
    methods: tuple[Recalibration, ...]
    advised: str | None
    n: int

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {f.name: jsonable(getattr(self, f.name)) for f in dataclasses.fields(self)}


def _logit(c: Floats) -> Floats:
    clipped = np.clip(c, CLIP, 1 - CLIP)
    return np.asarray(np.log(clipped / (1 - clipped)))


def _loss(z: Floats, a: Floats) -> float:
    return float(np.mean(np.logaddexp(0, z) - a * z))


def _temperature(c: Floats, a: Floats) -> tuple[Map, tuple[float, ...]]:
    """Divide the logit by T (Guo et al. 2017)."""
    z = _logit(c)
    scale = float(np.exp(minimize_scalar(lambda s: _loss(z * np.exp(s), a), bounds=(-5, 5), method="bounded").x))
    return (lambda x: np.asarray(1 / (1 + np.exp(-scale * _logit(x))))), (1 / scale,)


def _platt(c: Floats, a: Floats) -> tuple[Map, tuple[float, ...]]:
    """Slope and intercept on the logit, with Platt's (1999) smoothed targets."""
    z = _logit(c)
    right = float(np.sum(a))
    target = np.where(a == 1, (right + 1) / (right + 2), 1 / (len(a) - right + 2))
    slope, shift = minimize(lambda w: _loss(w[0] * z + w[1], target), np.array([1.0, 0.0])).x
    return (lambda x: np.asarray(1 / (1 + np.exp(-slope * _logit(x) - shift)))), (float(slope), float(shift))


def _isotonic(c: Floats, a: Floats) -> tuple[Map, tuple[float, ...]]:
    """The monotone step function of least squares, interpolated between its points; ties pooled first."""
    values, place = np.unique(c, return_inverse=True)
    weight = np.bincount(place).astype(np.float64)
    fitted = isotonic_regression(np.bincount(place, weights=a) / weight, weights=weight).x
    return (lambda x: np.asarray(np.interp(x, values, fitted))), ()


_METHODS = {"temperature": _temperature, "platt": _platt, "isotonic": _isotonic}


def recalibrate(
    confidence: ArrayLike,
    correct: ArrayLike,
    *,
    rng: np.random.Generator,
    n_resamples: int = 1000,
    level: float = 0.95,
    bins: int = 10,
) -> RecalibrationAdvice:
    """What recalibration would gain on items it was not fitted on.

    Items are split in two at random; each method is fitted on one half and applied to the other, and the two halves
    are judged together. The ECE's gain is a difference of plug-in values with a paired percentile bootstrap over
    items (the maps held fixed); the Brier score's gain is unbiased and decides the advice. A gain whose interval
    reaches 0 is not advised.
    """
    before = ece(confidence, correct, bins=bins, level=level)  # checks the input
    c, a = np.asarray(confidence, dtype=np.float64), np.asarray(correct, dtype=np.float64)
    n = len(c)
    half = rng.permutation(n) < n // 2
    fewest = min(int(min(a[h].sum(), (1 - a[h]).sum())) for h in (half, ~half))
    if n < NEEDED or fewest < 5:
        raise TooFewErrors(
            f"Recalibration needs {NEEDED} graded items with 5 right and 5 wrong answers in each half; "
            f"there are {n}, and {fewest} of the rarer kind in a half.",
            n=n,
            needed=NEEDED,
        )
    seed = stream_seed(rng)
    no_members = np.zeros(n, dtype=bool)  # the third figure of `resample_gap` is not asked for
    rows = []
    for name, fit in _METHODS.items():
        after = np.empty(n)
        parameters = []
        for fitted_on, applied_to in ((half, ~half), (~half, half)):
            mapping, found = fit(c[fitted_on], a[fitted_on])
            after[applied_to] = np.clip(mapping(c[applied_to]), 0, 1)
            parameters.append(found)
        gains = resample_gap(c, after, a, no_members, seed=seed, n_resamples=n_resamples, bins=bins)
        gain = (c - a) ** 2 - (after - a) ** 2
        error = float(np.std(gain, ddof=1)) / np.sqrt(n)
        rows.append(
            Recalibration(
                method=name,
                after=(judged := ece(after, a, bins=bins, level=level)),
                ece_improvement=before.ece - judged.ece,
                interval=_percentile(gains[:, 1], level),
                brier_improvement=float(np.mean(gain)),
                brier_interval=_normal(float(np.mean(gain)), float(error), level),
                parameters=tuple(parameters),
            )
        )
    sure = [r for r in rows if r.brier_interval.low > 0]
    best = max(sure, key=lambda r: r.brier_improvement).method if sure else None
    return RecalibrationAdvice(before=before, methods=tuple(rows), advised=best, n=n)


def _percentile(values: Floats, level: float) -> Interval:
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return Interval(low=float(low), high=float(high), level=level, method="bootstrap percentile, paired")


def _normal(centre: float, error: float, level: float) -> Interval:
    z = float(ndtri(0.5 + level / 2))
    return Interval(low=centre - z * error, high=centre + z * error, level=level, method="normal, paired")
