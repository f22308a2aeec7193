"""Can errors on easy items predict catastrophes on hard ones? (section 4.4, appendix M)."""

import dataclasses
import math

import numpy as np

from richter.errors import InputError, TooFewErrors
from richter.records import Result
from richter.severity._b_value import DEFAULT, Recipe, fit_rows, law_on_grid
from richter.severity._grid import DELTA, Scores, level_index
from richter.severity._kernels import CODES
from richter.severity._robustness import counts_of
from richter.severity._scaling import RankCorrelation, correlate_ranks
from richter.stats import Floats

__all__ = ["MicroPrediction", "predict_catastrophes"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class MicroPrediction(Result):
    """Predicted and observed counts at or above a severity on the hard tiers, per condition.

    `within` of `n` predictions are within a factor of 1.5, `over` above it and `under` below. `b_easy` and `b_hard`
    diagnose why: equal slopes with wrong counts mean that hard items shift the level, not the shape. `correlation` is
    None where fewer than five conditions have a slope on the easy tiers.
    """

    severity: float
    n: int
    correlation: RankCorrelation | None
    predicted: dict[str, float]
    observed: dict[str, int]
    within: int
    over: int
    under: int
    b_easy: dict[str, float]
    b_hard: dict[str, float]
    mean_slope_gap: float
    sd_slope_gap: float


def predict_catastrophes(
    scores: Scores,
    *,
    severity: float = 3.0,
    easy: tuple[int, ...] = (1, 2),
    hard: tuple[int, ...] = (4, 5),
    recipe: Recipe = DEFAULT,
    rng: np.random.Generator,
) -> MicroPrediction:
    """Fit b on the easy tiers' errors and predict how many answers to the hard tiers reach `severity`.

    Predicted count = (errors at or above m_min per easy answer) x (hard answers) x P(M >= severity | M >= m_min) under
    the fitted law; for `aki`, whose law has no ceiling, that probability is the paper's 10^(-b (severity - m_min)).
    """
    if scores.tier is None:
        raise InputError("The items have no tiers.", remedy="Add a `tier` column (1 easy .. 5 hard).")
    threshold = level_index(severity) - 1
    easy_counts, hard_counts = (counts_of(scores.severity[np.isin(scores.tier, t)]) for t in (easy, hard))
    if not easy_counts.sum() or not hard_counts.sum():
        raise InputError(f"No rated items in tiers {easy} or {hard}.", remedy="Name tiers that have items.")
    rows = np.ascontiguousarray(easy_counts[:, 1:])
    b, start = fit_rows(rows, recipe)
    b_hard = fit_rows(np.ascontiguousarray(hard_counts[:, 1:]), recipe)[0]
    predicted = np.full(len(b), math.nan)
    for i in np.flatnonzero(np.isfinite(b)):
        predicted[i] = _predict(rows[i], easy_counts[i], hard_counts[i], float(b[i]), int(start[i]), threshold, recipe)
    observed = hard_counts[:, threshold + 1 :].sum(axis=1)
    usable = np.isfinite(predicted)
    names = scores.conditions
    if not usable.any():
        raise TooFewErrors(
            f"No condition has the {recipe.min_events} errors that a slope on tiers {', '.join(map(str, easy))} needs "
            f"(at most {int(rows.sum(axis=1).max())}).",
            n=int(rows.sum(axis=1).max()),
            needed=recipe.min_events,
        )
    correlation = None
    if usable.sum() >= 5:
        correlation = correlate_ranks(predicted, np.where(usable, observed, math.nan), names=names, rng=rng)
    within = over = under = 0
    for p, o in zip(predicted[usable], observed[usable], strict=True):
        if o / 1.5 <= p <= 1.5 * o:
            within += 1
        elif p > o:
            over += 1
        else:
            under += 1
    gap = b - b_hard
    gap = gap[np.isfinite(gap)]
    return MicroPrediction(
        severity=severity,
        n=int(usable.sum()),
        correlation=correlation,
        predicted={n: float(p) for n, p in zip(names, predicted, strict=True) if math.isfinite(p)},
        observed={n: int(o) for n, o, u in zip(names, observed, usable, strict=True) if u},
        within=within,
        over=over,
        under=under,
        b_easy=dict(zip(names, b.tolist(), strict=True)),
        b_hard=dict(zip(names, b_hard.tolist(), strict=True)),
        mean_slope_gap=float(gap.mean()) if len(gap) else math.nan,
        sd_slope_gap=float(gap.std(ddof=1)) if len(gap) > 1 else math.nan,
    )


def _predict(row: Floats, easy: Floats, hard: Floats, b: float, start: int, threshold: int, recipe: Recipe) -> float:
    per_answer = row[start:].sum() / easy.sum()
    if recipe.estimator in ("aki", "exact"):
        share = 10 ** (-b * DELTA * max(threshold - start, 0))
    else:
        law = law_on_grid(-b * DELTA * math.log(10), start, code=CODES[recipe.estimator])
        share = float(law[threshold:].sum())
    if threshold < start:  # the tail starts above what is asked: the rest is counted, not extrapolated
        share += float(row[threshold:start].sum() / row[start:].sum())
    return float(per_answer * hard.sum() * share)
