"""Severities behind noisy judges: rates, means and b as people would rate, with the judges' errors in the limits.

Judges who err at random make errors look graver or lighter than they are, and no number of answers mends it. Human
labels on some answers identify their errors.
"""

import dataclasses
import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from richter._special import ndtri
from richter.claims import Evidence
from richter.errors import InputError, TooFewErrors
from richter.records import Interval, Result, Unit
from richter.severity._b_value import B_PER_LOG_Q, PLANNED_M_MIN
from richter.severity._grid import LEVELS, POSITIVE, level_index, snap
from richter.severity._severity_kernels import TRUNCATED, fit_fixed
from richter.stats import Floats, Indices, Ints, correct_by_labels, correction_interval
from richter.stats._bootstrap import percentiles

__all__ = [
    "TrueSeverity",
    "severity_by_labels",
    "true_difference",
]

MIN_LABELS = 30
MIN_ERRORS = 120


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Estimated(Result):
    """A value with its interval."""

    estimate: float
    interval: Interval


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class TrueSeverity(Result):
    """One condition with its judges' errors taken into account.

    `at_least` is the share of answers at or above each level, `mean` the mean severity of all answers, `given_error` of
    errors; `b` is None where too few answers carry it (`b_blocked` says why). `shares` are the nine levels' shares
    in every draw from the posterior or bootstrap, from which all limits come.
    """

    basis: str
    n: int
    units: int
    unit: Unit
    at_least: dict[str, Estimated]
    error_rate: Estimated
    mean: Estimated
    given_error: Estimated
    b: Estimated | None
    b_blocked: str | None
    m_min: float
    shares: Floats
    unwritten = ("shares",)


def severity_by_labels(
    judged: ArrayLike,
    human: ArrayLike,
    *,
    strata: ArrayLike | None = None,
    probability: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    n_resamples: int = 4000,
    level: float = 0.95,
    rng: np.random.Generator,
) -> TrueSeverity:
    """Severities as people would rate, from all answers as `judged` and `human` labels of some (NaN: none).

    The misclassification likelihood by predictive values: P(true = k) = sum over judged levels h of P(h) P(true = k |
    h), with P(true | h) from the labelled answers judged h. Each row has a Dirichlet posterior with a prior of one
    label, a quarter spread over all levels, the rest as the levels beside it were labelled; P(h) one from all answers.
    Labels may be oversampled by judged level; within one they must be a random sample, or with `strata` (each answer's)
    a random sample of every stratum: a label then stands for as many answers as its stratum has to a label (with
    `probability` for as many as 1 over its chance), and the labels of a judged level are worth (sum w)^2 / sum w^2 of
    them. `weights` say what each answer counts for. So are the mean given an error and b, from labelled errors that
    weigh as 120 drawn at random; rates and the mean are `stats.correct_by_labels`', as everywhere.

    >>> from richter.severity import severity_by_labels
    >>> import numpy as np
    >>> judged = np.tile([0.0, 2.0, 2.0, 4.0], 100)
    >>> human = np.where(np.arange(400) < 100, judged, np.nan)  # people rated 100 of the 400
    >>> round(severity_by_labels(judged, human, rng=np.random.default_rng(0), n_resamples=100).mean.estimate, 3)
    2.0
    """
    index = snap(judged).ravel()
    label = snap(human, name="human").ravel()
    if index.shape != label.shape:
        raise InputError(f"{label.size} labels for {index.size} answers.", remedy="Give NaN where there is none.")
    both = (index >= 0) & (label >= 0)
    labelled = int(both.sum())
    if labelled < MIN_LABELS:
        raise TooFewErrors(
            f"{labelled} human labels are too few to know the judges' errors: {MIN_LABELS} are needed.",
            n=labelled,
            needed=MIN_LABELS,
            remedy="Label more answers: richter label.",
        )
    rated = index >= 0
    weight_of = np.ones(index.size) if weights is None else np.asarray(weights, dtype=np.float64).ravel()
    layer = None if strata is None else np.unique(np.asarray(strata).ravel(), return_inverse=True)[1].astype(np.intp)
    counts_as = np.zeros(index.size)  # what each answer counts for, in answers alike in weight
    counts_as[rated] = weight_of[rated] * weight_of[rated].sum() / np.sum(weight_of[rated] ** 2)
    chance = None
    if probability is not None:
        chance = np.broadcast_to(np.asarray(probability, dtype=np.float64), np.shape(judged)).ravel()
    stands_for = _labels_stand_for(index, both, weight_of if chance is None else weight_of / chance, layer)
    cell = np.maximum(index, 0).astype(np.intp) * 9 + np.maximum(label, 0)
    answers = np.bincount(index[rated], weights=counts_as[rated], minlength=9).astype(np.float64)
    pairs = np.bincount(cell[both], weights=stands_for[both], minlength=81).reshape(9, 9).astype(np.float64)
    prior = _neighbour_prior(pairs)
    overall = answers / answers.sum() @ ((pairs + 1e-6 * prior) / (pairs + 1e-6 * prior).sum(axis=1, keepdims=True))
    unit = _unit_codes(groups, index.size)
    drawn_answers: Floats = np.broadcast_to(answers, (n_resamples, 9))
    drawn_pairs: Floats = np.broadcast_to(pairs, (n_resamples, 9, 9))
    if unit is not None:  # whole groups are drawn anew, and the posteriors are taken on what was drawn
        times = rng.multinomial(unit.max() + 1, np.full(unit.max() + 1, 1 / (unit.max() + 1)), size=n_resamples)
        drawn_answers = _resampled_cells(times, unit[rated], index[rated], 9, counts_as[rated])
        drawn_pairs = _resampled_cells(times, unit[both], cell[both], 81, stands_for[both]).reshape(-1, 9, 9)
    weight = _draw_dirichlet(drawn_answers + 1e-9, rng)
    shares = np.einsum("rh,rhk->rk", weight, _draw_dirichlet(drawn_pairs + prior, rng))
    point, n = overall[None, :], int(rated.sum())
    b, b_blocked = _estimated_slope(point, shares, _effective_labels(answers, pairs), level)
    given = np.where(label < 0, np.nan, LEVELS[label])

    def correct(people: Floats, judge: Floats, high: float) -> Estimated:
        found = correct_by_labels(
            people[rated], judge[rated], strata=None if layer is None else layer[rated],
            probability=None if chance is None else chance[rated], unit=None if unit is None else unit[rated],
            weight=None if weights is None else weight_of[rated], low=0.0, high=high,
        )  # fmt: skip
        return Estimated(estimate=found.estimate, interval=correction_interval(found, level=level))

    rates = {
        f"{at:.1f}": correct(np.where(label < 0, np.nan, given >= at), (LEVELS[index] >= at).astype(np.float64), 1.0)
        for at in POSITIVE
    }
    return TrueSeverity(
        basis=f"corrected by {labelled:,} human labels",
        n=n,
        units=n if unit is None else int(unit.max()) + 1,
        unit="item" if unit is None else "group",
        at_least=rates,
        error_rate=rates[f"{POSITIVE[0]:.1f}"],
        mean=correct(given, LEVELS[index], LEVELS[-1]),
        given_error=_estimated(_mean_given_error(point), _mean_given_error(shares), level),
        b=b,
        b_blocked=b_blocked,
        m_min=PLANNED_M_MIN,
        shares=shares,
    )


def _labels_stand_for(
    index: NDArray[np.int8], both: NDArray[np.bool_], weight: Floats, layer: Indices | None
) -> Floats:
    """What each label counts for: as its stratum has answers to a label, scaled by judged level to what they are worth.

    Of a judged level the sum is (sum w)^2 / sum w^2: the number of labels where all weigh alike.
    """
    stands = np.where(both, np.where(both, weight, 1.0), 0.0)
    if layer is not None:
        rated = index >= 0
        answers, labels = (np.bincount(layer[of], minlength=int(layer.max()) + 1) for of in (rated, both))
        stands = stands * (answers / np.maximum(labels, 1))[layer]
    for judged in np.unique(index[both]):
        own = both & (index == judged)
        stands[own] *= stands[own].sum() / np.sum(stands[own] ** 2)
    return np.asarray(stands)


def _effective_labels(answers: Floats, pairs: Floats) -> float:
    """How many random labels those of errors are worth: (sum w)^2 / sum w^2, w the answers to a label.

    Of all errors and not of those above m_min: to ask for many of these would let pass the samples with heavy tails.
    """
    weight = answers / np.maximum(pairs.sum(axis=1), 1)
    labels = pairs[:, 1:].sum(axis=1)
    return float((weight @ labels) ** 2 / max(weight**2 @ labels, 1e-300))


def _neighbour_prior(pairs: Floats) -> Floats:
    """A prior of one label for each judged level: a quarter spread evenly, the rest as its neighbours were labelled."""
    near = 0.25 ** np.abs(np.subtract.outer(np.arange(9), np.arange(9)))
    known = near @ (pairs / np.maximum(pairs.sum(axis=1, keepdims=True), 1) * (pairs.sum(axis=1, keepdims=True) > 0))
    return np.asarray(0.25 / 9 + 0.75 * known / known.sum(axis=1, keepdims=True))


def _draw_dirichlet(alpha: Floats, rng: np.random.Generator) -> Floats:
    drawn = rng.standard_gamma(alpha)
    return np.asarray(drawn / np.maximum(drawn.sum(axis=-1, keepdims=True), 1e-300))


def _unit_codes(groups: ArrayLike | None, size: int) -> Indices | None:
    """Each answer's group as a code; None where answers are independent."""
    if groups is None:
        return None
    codes = np.asarray(groups).ravel()
    if len(codes) != size:
        raise InputError(f"{len(codes)} groups for {size} answers.", remedy="Give one group an answer.")
    return np.unique(codes, return_inverse=True)[1].astype(np.intp)


def _resampled_cells(times: Ints, unit: Indices, cell: NDArray[Any], cells: int, weight: Floats) -> Floats:
    """Counts by cell when each group counts as often as it was drawn, of what each answer counts for."""
    size = times.shape[1]
    by_unit = np.bincount(unit * cells + cell, weights=weight, minlength=size * cells).reshape(size, cells)
    return np.asarray(times.astype(np.float64) @ by_unit)


def _estimated(value: Floats, draws: Floats, level: float) -> Estimated:
    span = percentiles(draws, level=level, method="percentiles of the true shares")
    return Estimated(estimate=float(value[0]), interval=span)


def _estimated_slope(point: Floats, shares: Floats, errors: float, level: float) -> tuple[Estimated | None, str | None]:
    """b from the planned m_min up with its interval, or why there is none; labelled errors weigh as `errors`."""
    start = level_index(PLANNED_M_MIN)
    value, slopes = _slopes_of_shares(point, start), _slopes_of_shares(shares, start)
    finite = slopes[np.isfinite(slopes)]
    if errors < MIN_ERRORS:
        return None, f"labelled errors that weigh as {errors:.0f} are too few for a slope: {MIN_ERRORS} are needed"
    if np.count_nonzero(point[0, start:] > 1e-9) < 2:
        return None, "all errors there are at one level: a slope needs two"
    if len(finite) < len(slopes) / 2 or not math.isfinite(value[0]):
        return None, "the true levels may all lie at one end"
    return _estimated(value, finite, level), None


def _mean_given_error(shares: Floats) -> Floats:
    return np.asarray(shares @ LEVELS / np.maximum(shares[:, 1:].sum(axis=1), 1e-300))


def _slopes_of_shares(shares: Floats, start: int) -> Floats:
    return np.asarray(fit_fixed(np.ascontiguousarray(shares[:, 1:]), start - 1, TRUNCATED) * B_PER_LOG_Q)


def true_difference(first: TrueSeverity, second: TrueSeverity) -> Evidence:
    """Mean severity given an error of the second minus the first's, the judges' errors in the interval.

    The two corrections are taken as independent; labels of the same items make it a little too wide.
    """
    size = min(len(first.shares), len(second.shares))
    return evidence_from_draws(
        _mean_given_error(second.shares[:size]) - _mean_given_error(first.shares[:size]),
        (first.given_error.estimate, second.given_error.estimate),
        n=min(first.n, second.n),
        units=min(first.units, second.units),
        unit=first.unit,
        method="percentiles of the true shares",
    )


def evidence_from_draws(
    gaps: Floats, values: tuple[float, float], *, n: int, units: int, unit: Unit, method: str
) -> Evidence:
    """The second value minus the first, from differences drawn from a posterior or by resampling.

    Percentiles as far as the draws resolve; beyond, those at the finest level stretched as a normal's.
    """
    estimate, finest = values[1] - values[0], 1 - 20 / len(gaps)

    def interval(level: float) -> Interval:
        known = min(level, finest)
        ends = np.quantile(gaps, [(1 - known) / 2, (1 + known) / 2])
        stretch = float(ndtri(0.5 + level / 2) / ndtri(0.5 + known / 2))
        low, high = (estimate + (float(end) - estimate) * stretch for end in ends)
        return Interval(low=min(low, estimate), high=max(high, estimate), level=level, method=method)

    return Evidence(
        estimate=estimate, interval=interval, values=values, n=n, units=units, unit=unit,
        standard_error=float(np.std(gaps, ddof=1)),
    )  # fmt: skip
