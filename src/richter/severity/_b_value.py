"""The Gutenberg-Richter slope b of a condition's error severities (ERRORQUAKE, section 2)."""

import dataclasses
import math
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from richter.errors import InputError, TooFewErrors
from richter.records import Interval, Shown
from richter.severity._grid import DELTA, POSITIVE, count_levels, level_index
from richter.severity._kernels import CENSORED, CODES, fit_fixed, fit_selected
from richter.stats import wilson

__all__ = ["DEFAULT", "PAPER", "BValue", "Recipe", "b_from_counts", "estimate_b", "fit_rows", "law_on_grid"]

CLAUSET_EVENTS = 100
_PER_STEP = -1 / (DELTA * math.log(10))  # b = -log10(q) / delta

Estimator = Literal["truncated", "censored", "exact", "aki"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How a slope is estimated: which estimator, where the tail starts, and what the tail must hold."""

    estimator: Estimator = "truncated"
    m_min: float | Literal["ks", "clauset"] = "ks"
    min_events: int = 30
    min_bins: int = 4
    reselect: bool = True

    def __post_init__(self) -> None:
        if self.estimator not in CODES:
            raise InputError(f"estimator={self.estimator!r} is not known.", remedy=f"Use one of {', '.join(CODES)}.")
        if isinstance(self.m_min, str):
            if self.m_min not in ("ks", "clauset"):
                raise InputError(f"m_min={self.m_min!r} is not known.", remedy="Use 'ks', 'clauset' or a level.")
        elif level_index(self.m_min) == len(POSITIVE):
            raise InputError("m_min=4 leaves one level, on which no slope is defined.", remedy="Use 3.5 or less.")
        if self.min_events < 2 or self.min_bins < 1:
            raise InputError(
                f"min_events={self.min_events}, min_bins={self.min_bins} cannot be met.",
                remedy="Give min_events >= 2 and min_bins >= 1.",
            )

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return dataclasses.asdict(self)


DEFAULT = Recipe()
PAPER = Recipe(estimator="aki", min_bins=1, reselect=False)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class BValue(Shown):
    """A slope with its interval, the tail it was estimated on, and how well the law fits there.

    `b_by_estimator` gives all four estimators at the same `m_min`. `m_min_frequency` is the share of resamples that
    chose each level; `undefined` the share in which no level qualified. `gof_p` is for the law above `m_min`.
    """

    b: float
    interval: Interval
    standard_error: float
    m_min: float
    n_above: int
    n_errors: int
    n: int
    error_rate: float
    error_rate_interval: Interval
    b_by_estimator: dict[str, float]
    ks_distance: float
    gof_p: float
    m_min_frequency: dict[float, float]
    undefined: float
    recipe: Recipe
    n_resamples: int
    counts: tuple[int, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        row = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        row["interval"] = self.interval.to_dict()
        row["error_rate_interval"] = self.error_rate_interval.to_dict()
        row["m_min_frequency"] = {f"{k:g}": v for k, v in self.m_min_frequency.items()}
        row["recipe"] = self.recipe.to_dict()
        row["counts"] = list(self.counts)
        return row


def estimate_b(
    severity: ArrayLike,
    *,
    estimator: Estimator = "truncated",
    m_min: float | Literal["ks", "clauset"] = "ks",
    min_events: int = 30,
    min_bins: int = 4,
    n_resamples: int = 2000,
    reselect: bool = True,
    level: float = 0.95,
    rng: np.random.Generator,
) -> BValue:
    """Estimate b in log10 N(M >= m) = a - b (m - m_min) from scores 0..4, zeros (correct answers) included.

    On the grid the law gives a level probability proportional to q^j, j steps above m_min, q = 10^(-b delta). With n
    errors at or above m_min, S = sum of their steps and c of them at 4.0:

    - `aki`: log10(e) / (mean - m_min + delta/2), section 2 of the paper. It takes the grid for a continuum without
      a ceiling: biased by -15% to +83% here.
    - `exact` (Tinti and Mulargia): q = S / (S + n), exact on a grid without a ceiling.
    - `truncated` (default): maximum likelihood on the bounded grid; no bias where the law holds up to 4.0. b is
      negative where errors grow more frequent with severity.
    - `censored`: 4.0 stands for "4 or worse", q = S / (S + n - c).

    `m_min="ks"` takes the level of least Kolmogorov-Smirnov distance among those below the largest observed level
    with `min_events` errors at or above and `min_bins` levels to the top; `"clauset"` the lowest level with at least
    100 errors at or above; a number fixes it. The interval is the percentile bootstrap over errors; with `reselect`
    (default) every resample chooses its own m_min, without it the choice is treated as known, which covers 59-92%.
    `gof_p` comes from a parametric bootstrap that repeats the whole estimate: errors below m_min from their observed
    shares, those above from the fitted law.

    `estimator="aki", m_min="ks", min_bins=1, reselect=False` is the paper. Raises `TooFewErrors` when no level
    qualifies: an undefined slope is never a number.
    """
    recipe = Recipe(estimator=estimator, m_min=m_min, min_events=min_events, min_bins=min_bins, reselect=reselect)
    return b_from_counts(count_levels(severity), recipe=recipe, n_resamples=n_resamples, level=level, rng=rng)


def fit_rows(rows: NDArray[np.float64], recipe: Recipe) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """b and the index of m_min for each row of positive counts; NaN and -1 where the recipe has no tail to use."""
    log_q, chosen, _ = _fit_log_q(rows, recipe)
    return log_q * _PER_STEP, chosen


def _fit_log_q(
    rows: NDArray[np.float64], recipe: Recipe
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.float64]]:
    code = CODES[recipe.estimator]
    if recipe.m_min == "ks":
        return fit_selected(rows, code, recipe.min_events, recipe.min_bins)
    start = 0 if recipe.m_min == "clauset" else level_index(recipe.m_min) - 1
    needed = CLAUSET_EVENTS if recipe.m_min == "clauset" else recipe.min_events
    log_q, distance = fit_fixed(rows, start, code)
    enough = rows[:, start:].sum(axis=1) >= needed
    return np.where(enough, log_q, np.nan), np.where(enough, start, -1), np.where(enough, distance, np.inf)


def law_on_grid(log_q: float, start: int, *, code: int, last: int = 7) -> NDArray[np.float64]:
    """The fitted law's probability of each of the eight positive levels, 0 below index `start`."""
    steps = np.arange(last - start + 1)
    weights = np.exp(log_q * (steps if log_q <= 0 else steps - steps[-1]))
    weights /= weights.sum()
    if code == CENSORED:
        weights = (1 - math.exp(log_q)) * np.exp(log_q * steps)
        weights[-1] = math.exp(log_q * steps[-1])
    law = np.zeros(8)
    law[start : last + 1] = weights
    return law


def b_from_counts(
    counts: NDArray[np.int64],
    *,
    recipe: Recipe = DEFAULT,
    n_resamples: int = 2000,
    level: float = 0.95,
    goodness_of_fit: bool = True,
    rng: np.random.Generator,
) -> BValue:
    """`estimate_b` from the counts at the nine levels. Without `goodness_of_fit` its p-value is NaN."""
    n, positive = int(counts.sum()), counts[1:].astype(np.float64)
    errors = int(positive.sum())
    code = CODES[recipe.estimator]
    _check_enough(counts, recipe)
    log_q, chosen, distance = (x[0] for x in _fit_log_q(positive[None, :], recipe))
    if chosen < 0 or not np.isfinite(log_q):
        _refuse(counts, recipe)
    start = int(chosen)
    n_above = int(positive[start:].sum())

    drawn = rng.multinomial(errors, positive / errors, size=n_resamples).astype(np.float64)
    if recipe.reselect:
        resampled, picks, _ = _fit_log_q(drawn, recipe)
    else:
        resampled, _ = fit_fixed(drawn, start, code)
        picks = np.full(n_resamples, start)
    values = resampled * _PER_STEP
    defined = values[~np.isnan(values)]
    if len(defined) < n_resamples / 2:
        _refuse(counts, recipe)
    low, high = _percentiles(defined, level)
    frequency = np.bincount(picks[picks >= 0], minlength=8) / max(int((picks >= 0).sum()), 1)
    finite = defined[np.isfinite(defined)]
    return BValue(
        b=float(log_q * _PER_STEP),
        interval=Interval(low=low, high=high, level=level, method=_method(recipe)),
        standard_error=float(np.std(finite, ddof=1)) if len(finite) > 1 else math.inf,
        m_min=float(POSITIVE[start]),
        n_above=n_above,
        n_errors=errors,
        n=n,
        error_rate=errors / n,
        error_rate_interval=wilson(errors, n, level=level),
        b_by_estimator={name: _point(positive, start, code_) for name, code_ in CODES.items()},
        ks_distance=float(distance),
        gof_p=_gof_p(positive, recipe, start, float(log_q), float(distance), n_resamples, rng)
        if goodness_of_fit
        else math.nan,
        m_min_frequency={float(POSITIVE[i]): float(f) for i, f in enumerate(frequency) if f > 0},
        undefined=1 - len(defined) / n_resamples,
        recipe=recipe,
        n_resamples=n_resamples,
        counts=tuple(int(c) for c in counts),
    )


def _gof_p(
    positive: NDArray[np.float64],
    recipe: Recipe,
    start: int,
    log_q: float,
    distance: float,
    n_resamples: int,
    rng: np.random.Generator,
) -> float:
    """The share of samples from the fitted law whose own best fit is at least as far from it as ours is.

    Each sample is fitted as the data were, m_min chosen anew (Clauset, Shalizi and Newman 2009, section 4.1), so that
    the freedom of choosing is paid for; (1 + hits) / (1 + samples), which is never 0.
    """
    last = 7
    if recipe.estimator == "aki":
        last = int(np.flatnonzero(positive)[-1])
    n = int(positive.sum())
    law = law_on_grid(log_q, start, code=CODES[recipe.estimator], last=last) * positive[start:].sum() / n
    law[:start] = positive[:start] / n
    drawn = rng.multinomial(n, law / law.sum(), size=n_resamples).astype(np.float64)
    _, _, simulated = _fit_log_q(drawn, recipe)
    return float((1 + np.sum(simulated >= distance - 1e-12)) / (1 + n_resamples))


def _point(positive: NDArray[np.float64], start: int, code: int) -> float:
    log_q, _ = fit_fixed(positive[None, :], start, code)
    return float(log_q[0] * _PER_STEP)


def _percentiles(values: NDArray[np.float64], level: float) -> tuple[float, float]:
    """Percentile limits; where resamples are infinite no interpolation between them and finite ones."""
    tails = [(1 - level) / 2, (1 + level) / 2]
    finite = np.isfinite(values).all()
    low, high = np.quantile(values, tails) if finite else np.quantile(values, tails, method="inverted_cdf")
    return float(low), float(high)


def _method(recipe: Recipe) -> str:
    chosen = isinstance(recipe.m_min, str)
    return "bootstrap percentile" + (", m_min reselected" if chosen and recipe.reselect else "")


def _check_enough(counts: NDArray[np.int64], recipe: Recipe) -> None:
    n, errors = int(counts.sum()), int(counts[1:].sum())
    needed = CLAUSET_EVENTS if recipe.m_min == "clauset" else recipe.min_events
    if errors < needed:
        more = f" At this error rate about {math.ceil(needed * n / errors):,} answers." if errors else ""
        raise TooFewErrors(
            f"{errors} errors in {n} answers are too few for a slope: {needed} are needed.{more}",
            n=errors,
            needed=needed,
            remedy="Rate more answers, or read the rates per million, which need no fit.",
        )
    used = np.flatnonzero(counts[1:])
    if len(used) == 1:
        raise TooFewErrors(
            f"All {errors} errors have severity {POSITIVE[used[0]]:g}: a slope needs two levels or more.",
            n=1,
            needed=2,
            remedy="Check that the raters used the whole scale.",
        )


def _refuse(counts: NDArray[np.int64], recipe: Recipe) -> None:
    errors = int(counts[1:].sum())
    if not isinstance(recipe.m_min, str):
        above = int(counts[level_index(recipe.m_min) :].sum())
        raise TooFewErrors(
            f"{above} errors at or above {recipe.m_min:g} are too few, or all at one end, for a slope there: "
            f"{recipe.min_events} on two levels or more are needed.",
            n=above,
            needed=recipe.min_events,
            remedy="Rate more answers, or start the tail lower.",
        )
    raise TooFewErrors(
        f"No level of the grid has {recipe.min_events} errors at or above it, {recipe.min_bins} levels to the top and "
        f"errors on more than one level (m_min={recipe.m_min}, {errors} errors).",
        n=errors,
        needed=max(recipe.min_events, errors + 1),
        remedy="Rate more answers, or lower min_events or min_bins and read the slope with care.",
    )
