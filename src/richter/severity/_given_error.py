"""How grave errors are when they happen, without a law: differences of two conditions as evidence, by unit.

A score above 0 is an error, on any ordinal scale. Of condition c with n_c errors let m_c be the mean of f(S) over them.
The influence of a unit (the group where there are groups, else the item) is the sum of (f(S) - m_c) / n_c over its
errors; the variance of a difference is the sum over units of (influence on the second - on the first)^2. So items that
both conditions answered, and groups of items, enter with the covariance that they have.
"""

import dataclasses
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from richter._special import betaincinv, stdtr, stdtrit
from richter.claims import Evidence, single_run_error, tango
from richter.errors import InputError, TooFewErrors
from richter.records import Interval, Unit
from richter.severity._detectable import Detectable, SpreadGrowth
from richter.severity._few_errors import MOST_ERRORS, permuted_evidence, with_shared_contrast
from richter.severity._grid import TOP
from richter.stats import Bools, Floats, Indices, clopper_pearson

__all__ = ["graver_error", "influences", "mean_given_error", "severe_rate", "severity_given_error"]

MIN_COUNTS_FOR_T = 20  # with fewer on a side of a share t alone claims falsely: 13.5% where 5% is promised
MIN_DEGREES_OF_FREEDOM = 4.0


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Paired:
    """Two conditions' severities on the items that count (NaN: not rated), and each item's unit."""

    first: Floats
    second: Floats
    unit: Indices
    n_units: int
    kind: Unit
    kept: Bools  # of all items given, those that count
    weight: Floats | None = None  # what each counts for; None where alike


def align_pair(
    first: ArrayLike, second: ArrayLike, *, groups: ArrayLike | None = None, weights: ArrayLike | None = None
) -> Paired:
    """Align two conditions: the items rated in both, if these are most of the smaller one's, else all of each."""
    a, b = (np.asarray(x, dtype=np.float64).ravel() for x in (first, second))
    if a.shape != b.shape:
        raise InputError(
            f"{len(a)} and {len(b)} severities do not match item by item.", remedy="Align them; NaN is not rated."
        )
    for values in (a, b):
        if np.any(values < 0):
            raise InputError(
                f"A severity of {np.nanmin(values):g} is below 0, which is correct.",
                remedy="Map the scale with --as-severity RIGHT:WORST.",
            )
    rated = ~np.isnan(np.stack([a, b]))
    both = rated.all(axis=0)
    keep = both if 2 * both.sum() > rated.sum(axis=1).min() else rated.any(axis=0)
    if groups is None:
        unit = np.arange(int(keep.sum()), dtype=np.intp)
    else:
        codes = np.asarray(groups).ravel()
        if len(codes) != len(a):
            raise InputError(f"{len(codes)} groups for {len(a)} items.", remedy="Give one group per item.")
        unit = np.unique(codes[keep], return_inverse=True)[1].astype(np.intp)
    units = int(unit.max(initial=-1)) + 1
    weight = None if weights is None else np.asarray(weights, dtype=np.float64)[keep]
    return Paired(
        first=a[keep], second=b[keep], unit=unit, n_units=units, kind="item" if units == len(unit) else "group",
        kept=np.asarray(keep),
        weight=None if weight is None or np.all(weight == weight[:1]) else weight,
    )  # fmt: skip


def severity_given_error(
    first: ArrayLike,
    second: ArrayLike,
    *,
    at: float | None = None,
    groups: ArrayLike | None = None,
    runs: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    worst: float = TOP,
) -> Evidence:
    """The second condition's mean severity given an error minus the first's; with `at`, the share of errors >= `at`.

    The test of a difference D uses the variance with m_first = m and m_second = m + D, m pooled; its inversion is
    closed, since that variance is a quadratic in D. Student's t with the degrees of freedom that unequal units leave,
    (sum E^2)^2 / sum E^4 - 1 with E a unit's weight; under 4 nothing is decided. Where fewer than 20 errors of a
    condition lie on either side of `at` (without it: off the commonest level) the limits must also hold by MOVER of
    exact binomial limits. The mean severity of fewer than 50 errors of a condition, each item a unit, has limits by
    permutation instead (`permuted_evidence`), if these are of more than one severity. Valid where units are a sample of
    what will be asked. Raises `TooFewErrors` without errors.
    `weights` are what each answer counts for; a condition's errors are then worth (sum w)^2 / sum w^2 of them.
    `worst` is the upper end of the scale.

    `runs` (each answer's) are crossed with items: the variance of the runs' sums, at the t of runs - 1, is added to
    that of the units less what the interaction of both adds, which is in the runs' already.
    """
    data = align_pair(first, second, groups=groups, weights=weights)
    value: Callable[[Floats], NDArray[Any]] = (lambda s: s) if at is None else (lambda s: s >= at)
    sides = [_condition_side(scores, value, data) for scores in (data.first, data.second)]
    (mean_a, n_a, error_a, rest_a, spread_a), (mean_b, n_b, error_b, rest_b, spread_b) = sides
    total = n_a + n_b
    reach = 1.0 if at is not None else _widest_difference(data, worst)
    rest, weight, more = rest_b - rest_a, (n_a * error_b / n_b + n_b * error_a / n_a) / total, None
    errors = np.concatenate([s[s > 0] for s in (data.first, data.second)])
    grown = SpreadGrowth(value(errors).astype(np.float64), 1.0 if at is not None else worst, n_a / total)
    if runs is not None:
        more = _variance_by_run(data, value, np.asarray(runs).ravel())
    evidence = linearised_evidence(
        data, mean_b - mean_a, rest, weight, reach=reach, values=(mean_a, mean_b), few=(spread_a, spread_b), null=True,
        share=at is not None, more=more, growth=grown,
    )  # fmt: skip
    if more is not None:
        return dataclasses.replace(evidence, unit="run", units=more.runs)
    is_plain = data.kind == "item" and data.weight is None
    if at is None and is_plain and min(n_a, n_b) < MOST_ERRORS:
        evidence = permuted_evidence(data.first, data.second, evidence, reach=reach)
    return with_shared_contrast(data.first, data.second, evidence) if at is None and is_plain else evidence


def _widest_difference(data: Paired, worst: float) -> float:
    """How far apart two mean severities of errors can be on this scale, whatever part of it was seen.

    It ends at the worst, or at the largest seen beyond, and begins an eighth above 0, or at the least error seen.
    """
    errors = np.concatenate([s[s > 0] for s in (data.first, data.second)])
    top = max(float(errors.max()), worst)
    return top - min(float(errors.min()), top / 8)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Crossed:
    """What varies beside the units: the variance that runs bring, and that which units and runs together bring."""

    variance: float
    freedom: float
    interaction: float
    runs: int


def _variance_by_run(data: Paired, value: Callable[[Floats], NDArray[Any]], runs: NDArray[Any]) -> _Crossed:
    """The variance of runs' influences, of both conditions together where they have the same runs, else added."""
    names, run = np.unique(runs[data.kept], return_inverse=True)
    by_run = dataclasses.replace(data, unit=run, n_units=len(names), kind="run")
    rest_a, rest_b = (_condition_side(scores, value, by_run)[3] for scores in (data.first, data.second))
    has = [np.bincount(run[~np.isnan(scores)], minlength=len(names)) > 0 for scores in (data.first, data.second)]
    if min(int(np.sum(h)) for h in has) < 2:
        raise single_run_error()
    size = len(names)
    cell = dataclasses.replace(data, unit=data.unit * size + run, n_units=data.n_units * size)
    cells = [_condition_side(scores, value, cell)[3].reshape(-1, size) for scores in (data.first, data.second)]
    sides = [(rest_a[has[0]], cells[0][:, has[0]]), (rest_b[has[1]], cells[1][:, has[1]])]
    if np.array_equal(has[0], has[1]):
        sides = [(sides[1][0] - sides[0][0], sides[1][1] - sides[0][1])]
    return _Crossed(
        variance=sum(len(rest) / (len(rest) - 1) * float(rest @ rest) for rest, _ in sides),
        freedom=min(len(rest) for rest, _ in sides) - 1.0,
        interaction=sum(_interaction(table, data) for _, table in sides),
        runs=sum(len(rest) for rest, _ in sides),
    )


def _interaction(cells: Floats, data: Paired) -> float:
    """The variance that units and runs together bring: units x runs of influences, less each unit's and run's part."""
    runs = cells.shape[1]
    held: Floats = np.bincount(data.unit, weights=data.weight, minlength=data.n_units).astype(np.float64)
    share = held / float(np.sum(held))
    rest: Floats = cells - np.mean(cells, axis=1, keepdims=True) - np.outer(share, np.sum(cells, axis=0))
    left = (1 - 1 / runs) * (1 - float(np.sum(share**2)))
    return float(np.sum(rest**2)) / left if left > 0 else 0.0


def influences(
    first: ArrayLike,
    second: ArrayLike,
    *,
    at: float | None = None,
    groups: ArrayLike | None = None,
    weights: ArrayLike | None = None,
) -> Floats:
    """What each unit adds to `severity_given_error`'s difference: (f(S) - m) / n of the second minus the first.

    Over all units of the items given, those that do not count with 0, so that several pairs can stand side by side.
    """
    data = align_pair(first, second, groups=groups, weights=weights)
    every = np.arange(len(data.kept)) if groups is None else np.unique(groups, return_inverse=True)[1].astype(np.intp)
    data = dataclasses.replace(data, unit=every[data.kept], n_units=int(every.max()) + 1)
    rests = [_condition_side(s, lambda x: x if at is None else x >= at, data)[3] for s in (data.first, data.second)]
    return rests[1] - rests[0]


def mean_given_error(
    severity: ArrayLike, *, groups: ArrayLike | None = None, weights: ArrayLike | None = None, worst: float = TOP
) -> Evidence:
    """One condition's mean severity given an error, as `severity_given_error` estimates it.

    It lies from 0 to the worst, or to the largest seen beyond: one error of severity 1 does not say that none is 4.
    """
    scores = np.asarray(severity, dtype=np.float64).ravel()
    data = align_pair(scores, scores, groups=groups, weights=weights)
    mean, n, error, rest, few = _condition_side(data.second, lambda s: s, data)
    top = max(float(np.nanmax(data.second)), worst)
    evidence = linearised_evidence(data, mean, rest, error / n, values=(mean, mean), reach=top, few=(few,))

    def interval(level: float) -> Interval:
        span = evidence.interval(level)
        return dataclasses.replace(span, low=max(span.low, 0.0))

    return dataclasses.replace(evidence, values=(mean,), interval=interval)


def graver_error(
    first: ArrayLike, second: ArrayLike, *, groups: ArrayLike | None = None, weights: ArrayLike | None = None
) -> Evidence:
    """P(an error of the second is graver than one of the first) minus P(it is less grave): -1 to 1, 0 is alike.

    From the two histograms of errors, so no mean of an ordinal scale is taken. (1 + estimate) / 2 is the probability
    that the second's is graver, ties counting half; `values` are (that the first's is, that the second's is).
    `weights` are what each answer counts for.
    """
    data = align_pair(first, second, groups=groups, weights=weights)
    if not ((data.first > 0).any() and (data.second > 0).any()):
        raise _no_errors_error(data)

    def against(scores: Floats, others: Floats) -> Floats:
        """P(other < s) - P(other > s)."""
        wrong = others > 0
        order = np.argsort(others[wrong], kind="stable")
        weight = np.ones(int(wrong.sum())) if data.weight is None else data.weight[wrong][order]
        mass = np.concatenate([[0.0], np.cumsum(weight)])
        below, upto = (mass[np.searchsorted(others[wrong][order], scores, side=side)] for side in ("left", "right"))
        return np.asarray((below + upto) / mass[-1] - 1.0)

    sides = [
        _condition_side(s, partial(against, others=other), data)
        for s, other in ((data.first, data.second), (data.second, data.first))
    ]
    (_, n_a, error_a, rest_a, spread_a), (estimate, n_b, error_b, rest_b, spread_b) = sides
    return linearised_evidence(
        data, estimate, rest_b - rest_a, error_b / n_b + error_a / n_a, reach=1.0, moved=1 + abs(estimate),
        values=((1 - estimate) / 2, (1 + estimate) / 2), few=(spread_a, spread_b),
    )  # fmt: skip


def severe_rate(
    first: ArrayLike,
    second: ArrayLike,
    *,
    at: float = 0.0,
    groups: ArrayLike | None = None,
    weights: ArrayLike | None = None,
) -> Evidence:
    """How much more often the second condition's answers are at or above `at` (above 0 where `at` is 0: are wrong).

    Of all rated answers, so it holds how often errors happen as well as how grave they are. Tango's score interval on
    shared items; with groups or weights, or where few items are shared, linearised as above.
    """
    data = align_pair(first, second, groups=groups, weights=weights)
    rated = ~np.isnan(data.first) & ~np.isnan(data.second)
    if data.kind == "item" and data.weight is None and rated.all():
        worse = [x >= at if at > 0 else x > 0 for x in (data.first, data.second)]
        plus, minus = int(np.sum(worse[1] & ~worse[0])), int(np.sum(worse[0] & ~worse[1]))
        n, estimate = len(rated), (plus - minus) / len(rated)
        return Evidence(
            estimate=estimate,
            interval=lambda level: tango(plus, minus, n, level=level),
            values=(float(np.mean(worse[0])), float(np.mean(worse[1]))),
            n=n,
            units=n,
            standard_error=math.sqrt((max(plus + minus, 1) / n - estimate**2) / n),
        )
    sides = [
        _condition_side(s, lambda x: x >= at if at > 0 else x > 0, data, ~np.isnan(s))
        for s in (data.first, data.second)
    ]
    (rate_a, n_a, answers_a, rest_a, few_a), (rate_b, n_b, answers_b, rest_b, few_b) = sides
    return linearised_evidence(
        data, rate_b - rate_a, rest_b - rest_a, (n_a * answers_b / n_b + n_b * answers_a / n_a) / (n_a + n_b),
        reach=1.0, values=(rate_a, rate_b), few=(few_a, few_b), null=True, share=True,
    )  # fmt: skip


def _no_errors_error(data: Paired) -> TooFewErrors:
    which = " and ".join(
        name for name, s in (("the first", data.first), ("the second", data.second)) if not np.any(s > 0)
    )
    return TooFewErrors(f"There is no error of {which} condition on the items that count.", n=0, needed=1)


def _condition_side(
    scores: Floats, value: Callable[[Floats], NDArray[Any]], data: Paired, counts: Bools | None = None
) -> tuple[float, float, Floats, Floats, tuple[int, int]]:
    """Mean of f over errors (or the answers that count), their number, both per unit, and how many are off the rest."""
    wrong = scores > 0 if counts is None else counts
    if not wrong.any():
        raise _no_errors_error(data)
    of = value(scores[wrong])
    weight = np.ones(len(of)) if data.weight is None else data.weight[wrong]
    mass = float(np.sum(weight))
    mean = float(weight @ of) / mass
    rest = np.bincount(data.unit[wrong], weights=weight * (of - mean), minlength=data.n_units) / mass
    error = np.bincount(data.unit[wrong], weights=weight, minlength=data.n_units).astype(np.float64)
    alike = mass**2 / float(np.sum(weight**2))  # errors alike in weight that these are worth
    if data.kind != "item":  # and that do not depend on each other
        rows, units = float(np.sum((weight * (of - mean)) ** 2)) / mass**2, float(rest @ rest)
        alike = alike * min(rows / units, 1.0) if units > 0 else float(np.count_nonzero(error))
    n = max(int(alike + 1e-9), 1)
    of_level = np.bincount(np.unique(of, return_inverse=True)[1], weights=weight)
    off = mean if of.dtype == np.bool_ else 1 - float(of_level.max()) / mass
    return mean, mass, error, rest, (round(off * n), n)


def _exact_slack(k: float, n: float, level: float, reach: float, share: bool) -> tuple[float, float]:
    """How far a condition's own value may lie below and above its estimate, k of n errors being off the rest.

    Of a share, Jeffreys' limits; of a mean, as if all errors off the commonest level that the exact upper limit allows
    beyond those seen lay at the end of the scale.
    """
    if not share:
        wide = reach * (clopper_pearson(k, n, level=level).high - k / n)
        return wide, wide
    tail = (1 - level) / 2
    low = 0.0 if k == 0 else float(betaincinv(k + 0.5, n - k + 0.5, tail))
    high = 1.0 if k == n else float(betaincinv(k + 0.5, n - k + 0.5, 1 - tail))
    return k / n - low, high - k / n


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _VariancePart:
    """V(d) = constant + 2 linear d + square d^2, at the t of `freedom` degrees."""

    freedom: float
    constant: float
    linear: float = 0.0
    square: float = 0.0

    def of(self, more: float) -> "_VariancePart":
        """That of so many times as many units."""
        freedom = (self.freedom + 1) * more - 1
        return _VariancePart(
            freedom=freedom, constant=self.constant / more, linear=self.linear / more, square=self.square / more
        )


def linearised_evidence(
    data: Paired,
    estimate: float,
    rest: Floats,
    weight: Floats,
    *,
    values: tuple[float, float],
    reach: float = math.inf,
    moved: float | None = None,
    few: tuple[tuple[int, int], ...] = (),
    null: bool = False,
    share: bool = False,
    more: _Crossed | None = None,
    growth: SpreadGrowth | None = None,
) -> Evidence:
    """Evidence from units' residuals and weights: V(d) = A + 2 B d + C d^2, d the distance of estimate and null.

    `null`: residuals are taken about what the null expects (B and C above 0). `few`: of each condition the errors off
    the commonest value, and all; `share`: these are a share's. `reach` bounds the quantity, and `moved` is what one
    error may change of its mean (else `reach`). `more` is what else varies (runs crossed with the units): its variance
    is added, each part at the t of its own degrees of freedom. `growth`: how the standard error grows with a true
    difference, for sizes.
    """
    parts = _variance_parts(rest, weight, more, null=null)
    freedom, units = parts[0].freedom, int((weight > 0).sum())
    error = math.sqrt(sum(part.constant for part in parts))
    sparse = _is_sparse(rest, few, share=share)
    method = "linearised t by unit" + (" and MOVER of exact limits" if sparse else "")

    def distances(level: float, more_units: float = 1.0, growth: float = 1.0) -> tuple[float, float]:
        """How far the limits lie below and above the estimate, of so many times as many units that vary more."""
        below, above = math.inf, math.inf
        if freedom * more_units >= MIN_DEGREES_OF_FREEDOM:
            below, above = (growth * far for far in _distances([part.of(more_units) for part in parts], level))
        if sparse and _is_sparse(rest, few, share=share, more_units=more_units):
            far = reach if moved is None else moved
            both = [_exact_slack(k * more_units, n * more_units, level, far, share) for k, n in few[::-1]]
            (low_b, high_b), (low_a, high_a) = (*both, (0.0, 0.0))[:2]
            below, above = max(below, math.hypot(low_b, high_a)), max(above, math.hypot(high_b, low_a))
        return below, above

    def interval(level: float) -> Interval:
        below, above = distances(level)
        low, high = max(estimate - below, -reach), min(estimate + above, reach)
        return Interval(low=low, high=high, level=level, method=method)

    def p(value: float) -> float:
        distance, part = estimate - value, parts[0]
        spread = part.constant + 2 * part.linear * distance + part.square * distance**2
        if freedom < MIN_DEGREES_OF_FREEDOM or spread <= 0:
            return 1.0
        return float(2 * stdtr(freedom, -abs(distance) / math.sqrt(spread)))

    notes = []
    if freedom < MIN_DEGREES_OF_FREEDOM:
        notes.append(
            f"under {MIN_DEGREES_OF_FREEDOM:g} degrees of freedom in the {data.kind}s with errors: nothing is decided"
        )
    return Evidence(
        estimate=estimate, interval=interval, p=None if sparse or more is not None else p, values=values,
        n=len(data.first), units=units, unit=data.kind, standard_error=error,
        detectable=Detectable(half=distances, error=error, freedom=freedom, units=units, growth=growth),
        notes=tuple(notes),
    )  # fmt: skip


def _variance_parts(rest: Floats, weight: Floats, more: _Crossed | None, *, null: bool) -> list[_VariancePart]:
    """The variance that the units bring, and that which runs bring beside them."""
    fourth = float(np.sum(weight**4))
    freedom = float(np.sum(weight**2)) ** 2 / fourth - 1 if fourth > 0 else 0.0
    grow = (freedom + 1) / freedom if freedom > 0 else 1.0
    constant, linear, square = (grow * float(x) for x in (rest @ rest, rest @ weight, weight @ weight))
    if not null:
        linear = square = 0.0
    if more is None:
        return [_VariancePart(freedom=freedom, constant=constant, linear=linear, square=square)]
    left = max(1 - more.interaction / constant, 0.0) if constant > 0 else 0.0
    units = _VariancePart(freedom=freedom, constant=left * constant, linear=left * linear, square=left * square)
    return [units, _VariancePart(freedom=more.freedom, constant=more.variance)]


def _is_sparse(rest: Floats, few: tuple[tuple[int, int], ...], *, share: bool, more_units: float = 1.0) -> bool:
    """Whether so few errors lie off the commonest value that t alone claims falsely."""
    least = more_units * min((min(k, n - k) if share else k for k, n in few), default=MIN_COUNTS_FOR_T)
    return least < MIN_COUNTS_FOR_T or (bool(few) and more_units * int(np.count_nonzero(rest)) < MIN_COUNTS_FOR_T)


def _distances(parts: list[_VariancePart], level: float) -> tuple[float, float]:
    """How far the limits of t lie below and above the estimate; infinite where the quadratic has no root."""
    t = [float(stdtrit(part.freedom, 0.5 + level / 2)) ** 2 for part in parts]
    a = sum(x * part.constant for x, part in zip(t, parts, strict=True))
    b = sum(x * part.linear for x, part in zip(t, parts, strict=True))
    lead = 1 - sum(x * part.square for x, part in zip(t, parts, strict=True))
    if lead <= 0:
        return math.inf, math.inf
    root = math.sqrt(b**2 + lead * a)
    return (b + root) / lead, -(b - root) / lead
