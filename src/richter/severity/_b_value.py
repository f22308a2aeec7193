"""The Gutenberg-Richter slope b of a condition's error severities (ERRORQUAKE, section 2)."""

import dataclasses
import math
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from richter.errors import InputError, TooFewErrors
from richter.records import Interval, Shown, counted
from richter.severity._deployment import rate_evidence
from richter.severity._grid import DELTA, POSITIVE, count_levels, level_index
from richter.severity._severity_kernels import CODES, fit_fixed, fit_selected
from richter.stats import Floats, Ints, wilson

__all__ = [
    "DEFAULT",
    "PAPER",
    "PLANNED_M_MIN",
    "BValue",
    "Recipe",
    "RowFits",
    "b_from_counts",
    "estimate_b",
    "fit_rows",
]


class RowFits(NamedTuple):
    """b and the index of m_min of each row."""

    b: Floats
    m_min: Ints


CLAUSET_MIN_EVENTS = 100
PLANNED_M_MIN = 1.5
TOLERANCE = 0.05
B_PER_LOG_Q = -1 / (DELTA * math.log(10))  # b = -log10(q) / delta

Estimator = Literal["truncated", "aki"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How a slope is estimated: which estimator, where the tail starts, and what the tail must hold.

    `tolerance` is how far the tail may be from the law: it bounds the upper confidence limit of the largest gap between
    the two distribution functions.
    """

    estimator: Estimator = "truncated"
    m_min: float | Literal["ks", "clauset"] = PLANNED_M_MIN
    min_events: int = 30
    min_bins: int = 4
    reselect: bool = True
    tolerance: float = TOLERANCE

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


DEFAULT = Recipe()
PAPER = Recipe(estimator="aki", m_min="ks", min_bins=1, reselect=False)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class BValue(Shown):
    """A slope with its interval, the levels it speaks of, and how far the errors there are from the law.

    `b_by_estimator` gives both estimators at the same `m_min`. `m_min_frequency` is the share of resamples that
    chose each level; `undefined` the share in which no level qualified. `misfit` is the largest gap between the
    distribution functions of errors and law from `m_min` up, `misfit_limit` its upper confidence limit; `adequate`:
    that limit is within the recipe's tolerance. A slope that is not adequate describes nothing.
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
    misfit: float
    misfit_limit: float
    adequate: bool
    m_min_frequency: dict[float, float]
    undefined: float
    recipe: Recipe
    n_resamples: int
    counts: tuple[int, ...]


def estimate_b(
    severity: ArrayLike,
    *,
    estimator: Estimator = "truncated",
    m_min: float | Literal["ks", "clauset"] = PLANNED_M_MIN,
    min_events: int = 30,
    min_bins: int = 4,
    reselect: bool = True,
    tolerance: float = TOLERANCE,
    n_resamples: int = 2000,
    level: float = 0.95,
    rng: np.random.Generator,
) -> BValue:
    """The slope b in log10 N(M >= m) = a - b (m - m_min) of scores 0..4, zeros (correct answers) included.

    On the grid the law gives a level probability proportional to q^j, j steps above m_min, q = 10^(-b delta). Of the
    errors at or above m_min:

    - `aki`: log10(e) / (mean - m_min + delta/2), section 2 of the paper. It takes the grid for a continuum without
      a ceiling: biased by -15% to +83% here.
    - `truncated` (default): maximum likelihood on the bounded grid; no bias where the law holds up to 4.0. b is
      negative where errors grow more frequent with severity.

    A number for `m_min` is a level planned before the data are seen (1.5 by default): it covers best and is narrowest,
    where the law holds from there. `"ks"` is the paper's, the level of least Kolmogorov-Smirnov distance among those
    below the largest observed one with `min_events` errors at or above and `min_bins` levels to the top: with an excess
    of minor slips it starts too low; `"clauset"` the lowest level with at least 100 errors at or above. The interval is
    the percentile bootstrap over errors; with `reselect` (default) every resample chooses its own m_min, without it the
    choice is treated as known, and the interval is too narrow. The gate on the law is on the size of its misfit, not on
    its significance, which many errors always have: the upper limit (at `level`) of the largest gap between the two
    distribution functions from m_min up, the largest seen plus the quantile of the largest deviation of resamples from
    it, must be within `tolerance`.

    `estimator="aki", m_min="ks", min_bins=1, reselect=False` is the paper. Raises `TooFewErrors` when no level
    qualifies: an undefined slope is never a number.

    >>> from richter.severity import estimate_b
    >>> import numpy as np
    >>> severities = np.repeat([0, 1.5, 2, 2.5, 3, 3.5, 4], [200, 160, 80, 40, 20, 10, 5])
    >>> round(estimate_b(severities, rng=np.random.default_rng(0), n_resamples=200).b, 2)
    0.6
    """
    recipe = Recipe(
        estimator=estimator,
        m_min=m_min,
        min_events=min_events,
        min_bins=min_bins,
        reselect=reselect,
        tolerance=tolerance,
    )
    return b_from_counts(count_levels(severity), recipe=recipe, n_resamples=n_resamples, level=level, rng=rng)


def fit_rows(rows: Floats, recipe: Recipe) -> RowFits:
    """b and the index of m_min for each row of positive counts; NaN and -1 where the recipe has no tail to use."""
    rows, code = np.ascontiguousarray(rows), CODES[recipe.estimator]
    if recipe.m_min == "ks":
        log_q, chosen = fit_selected(rows, code, recipe.min_events, recipe.min_bins)
    else:
        start = 0 if recipe.m_min == "clauset" else level_index(recipe.m_min) - 1
        needed = CLAUSET_MIN_EVENTS if recipe.m_min == "clauset" else recipe.min_events
        enough = rows[:, start:].sum(axis=1) >= needed
        log_q = np.where(enough, fit_fixed(rows, start, code), np.nan)
        chosen = np.where(enough, start, -1)
    return RowFits(log_q * B_PER_LOG_Q, chosen)


def b_from_counts(
    counts: Ints,
    *,
    by_group: Ints | None = None,
    recipe: Recipe = DEFAULT,
    n_resamples: int = 2000,
    level: float = 0.95,
    rng: np.random.Generator,
) -> BValue:
    """`estimate_b` from the counts at the nine levels; of groups (rows of `by_group`) whole ones are drawn anew."""
    n, positive = int(counts.sum()), counts[1:].astype(np.float64)
    errors = int(positive.sum())
    _check_enough(counts, recipe)
    b, chosen = (x[0] for x in fit_rows(positive[None, :], recipe))
    if chosen < 0 or not np.isfinite(b):
        _refuse_one_level(counts, recipe)
    start = int(chosen)
    n_above = int(positive[start:].sum())
    drawn = resampled_counts(counts, by_group, n_resamples, rng)
    at_start = fit_fixed(drawn, start, CODES[recipe.estimator])
    values, picks = at_start * B_PER_LOG_Q, np.full(n_resamples, start)
    if recipe.reselect and isinstance(recipe.m_min, str):
        values, picks = fit_rows(drawn, recipe)
    defined = values[~np.isnan(values)]
    if len(defined) < n_resamples / 2:
        _refuse_one_level(counts, recipe)
    low, high = _percentiles(defined, level)
    frequency = np.bincount(picks[picks >= 0], minlength=8) / max(int((picks >= 0).sum()), 1)
    finite = defined[np.isfinite(defined)]
    gap, limit = misfit(positive, start, float(b), drawn, at_start, level=level)
    return BValue(
        b=float(b),
        interval=Interval(low=low, high=high, level=level, method=_describe_method(recipe)),
        standard_error=float(np.std(finite, ddof=1)) if len(finite) > 1 else math.inf,
        m_min=float(POSITIVE[start]),
        n_above=n_above,
        n_errors=errors,
        n=n,
        error_rate=errors / n,
        error_rate_interval=wilson(errors, n, level=level)
        if by_group is None
        else _error_rate_by_group(by_group, level),
        b_by_estimator={
            name: float(fit_fixed(positive[None, :], start, code)[0] * B_PER_LOG_Q) for name, code in CODES.items()
        },
        misfit=gap,
        misfit_limit=limit,
        adequate=limit <= recipe.tolerance and n_above >= adequate_from(recipe.tolerance),
        m_min_frequency={float(POSITIVE[i]): float(f) for i, f in enumerate(frequency) if f > 0},
        undefined=1 - len(defined) / n_resamples,
        recipe=recipe,
        n_resamples=n_resamples,
        counts=tuple(int(c) for c in counts),
    )


def resampled_counts(counts: Ints, by_group: Ints | None, n_resamples: int, rng: np.random.Generator) -> Floats:
    """Errors at the positive levels, drawn anew; of groups (rows of `by_group`) whole ones."""
    if by_group is None:
        positive = counts[1:].astype(np.float64)
        return rng.multinomial(int(positive.sum()), positive / positive.sum(), size=n_resamples).astype(np.float64)
    even, errors = np.full(len(by_group), 1 / len(by_group)), by_group[:, 1:].astype(np.float64)
    sizes = np.diff([*range(0, n_resamples, 100), n_resamples])  # few at a time, for memory
    return np.concatenate([rng.multinomial(len(by_group), even, size=size) @ errors for size in sizes])


def _error_rate_by_group(by_group: Ints, level: float) -> Interval:
    """The error rate's interval by group, from the groups' counts."""
    wrong, size = by_group[:, 1:].sum(axis=1), by_group.sum(axis=1)
    event = np.repeat(np.tile([1.0, 0.0], len(size)), np.column_stack([wrong, size - wrong]).ravel())
    return rate_evidence(event, np.repeat(np.arange(len(size)), size)).interval(level)


def adequate_from(tolerance: float) -> int:
    """Errors above m_min from which a tail that follows the law passes its gate more often than not.

    Below it the tails that pass are those that happen to be short, and their slopes are off.
    """
    return math.ceil(0.6 / tolerance**2)


def misfit(
    positive: Floats, start: int, b: float, drawn: Floats, log_q: Floats, *, level: float
) -> tuple[float, float]:
    """The largest gap between the distribution functions of errors and law from `start` up, and its upper limit.

    `drawn` are resamples of the errors and `log_q` their own fits there. The limit adds to the gap seen the `level`
    quantile of the largest deviation of the resamples' gaps from it: it holds at that level or above.
    """
    usable = np.isfinite(log_q)
    seen = _distribution_gaps(positive[None, start:], np.array([b / B_PER_LOG_Q]))[0]
    around = _distribution_gaps(drawn[usable, start:], log_q[usable])
    if not len(around):
        return float(np.abs(seen).max()), 1.0
    largest = np.quantile(np.abs(around - seen).max(axis=1), level)
    gap = float(np.abs(seen).max())
    return gap, min(gap + float(largest), 1.0)


def _distribution_gaps(tails: Floats, log_q: Floats) -> Floats:
    """Distribution function of each tail minus its law's, below the top level, at which both are 1."""
    steps = np.arange(tails.shape[1])
    weights = np.exp(log_q[:, None] * steps - np.maximum(log_q, 0)[:, None] * steps[-1])
    law = np.cumsum(weights, axis=1) / weights.sum(axis=1, keepdims=True)
    seen = np.cumsum(tails, axis=1) / tails.sum(axis=1, keepdims=True)
    gaps: Floats = (seen - law)[:, :-1]
    return gaps


def _percentiles(values: Floats, level: float) -> tuple[float, float]:
    """Percentile limits; where resamples are infinite no interpolation between them and finite ones."""
    tails = [(1 - level) / 2, (1 + level) / 2]
    finite = np.isfinite(values).all()
    low, high = np.quantile(values, tails) if finite else np.quantile(values, tails, method="inverted_cdf")
    return float(low), float(high)


def _describe_method(recipe: Recipe) -> str:
    chosen = isinstance(recipe.m_min, str)
    return "bootstrap percentile" + (", m_min reselected" if chosen and recipe.reselect else "")


def _check_enough(counts: Ints, recipe: Recipe) -> None:
    n, errors = int(counts.sum()), int(counts[1:].sum())
    needed = CLAUSET_MIN_EVENTS if recipe.m_min == "clauset" else recipe.min_events
    if errors < needed:
        more = f" At this error rate about {counted(math.ceil(needed * n / errors), 'answer')}." if errors else ""
        raise TooFewErrors(
            f"{counted(errors, 'error')} in {counted(n, 'answer')} are too few for a slope: {needed} are needed.{more}",
            n=errors,
            needed=needed,
            remedy="Rate more answers, or read the rates per million, which need no fit.",
        )
    used = np.flatnonzero(counts[1:])
    if len(used) == 1:
        raise TooFewErrors(
            f"All {counted(errors, 'error has', 'errors have')} severity "
            f"{POSITIVE[used[0]]:g}: a slope needs two levels or more.",
            n=1,
            needed=2,
            remedy="Check that the raters used the whole scale.",
        )


def _refuse_one_level(counts: Ints, recipe: Recipe) -> None:
    errors = int(counts[1:].sum())
    if not isinstance(recipe.m_min, str):
        above = int(counts[level_index(recipe.m_min) :].sum())
        raise TooFewErrors(
            f"{counted(above, 'error')} at or above {recipe.m_min:g} are too "
            "few, or all at one end, for a slope there: "
            f"{recipe.min_events} on two levels or more are needed.",
            n=above,
            needed=recipe.min_events,
            remedy="Rate more answers, or start the tail lower.",
        )
    raise TooFewErrors(
        f"No level of the grid has {counted(recipe.min_events, 'error')} at or "
        f"above it, {recipe.min_bins} levels to the top and "
        f"errors on more than one level (m_min={recipe.m_min}, {counted(errors, 'error')}).",
        n=errors,
        needed=max(recipe.min_events, errors + 1),
        remedy="Rate more answers, or lower min_events or min_bins and read the slope with care.",
    )
