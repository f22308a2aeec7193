"""Money, tokens and time: the mean of one condition and the ratio of two bills, by unit.

A claim on an amount that is paid is about totals, since the total is what is paid: log(sum of b / sum of a). Each
amount x enters as log(m) + x / m - 1 with m the condition's mean (`linearised`). The mean of these is log(m), and their
spread is that of log(m) to first order, so that draws, runs, groups and weights count as in any other mean.
"""

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import Final

import numpy as np

from richter._special import stdtrit
from richter.claims._measures import Codes, Floats
from richter.claims._question import TOTALS, Evidence
from richter.claims._units import (
    RARE_VALUES,
    Sample,
    codes_of_groups,
    difference_evidence,
    mean_evidence,
    weights_of,
)
from richter.claims._unpaired import apart_evidence
from richter.errors import InputError
from richter.records import Interval, Note, of_kind, printable
from richter.stats import Bools

__all__ = ["TYPICAL_ITEM", "linearised", "total_evidence"]

TYPICAL_ITEM: Final = "typical item"  # the kind of the note on the ratio of geometric means
MAX_ITEM_SHARE = 0.2  # of a bill: a single item above it decides the ratio, so that nothing is decided
N_RESAMPLES = 1999
N_SAMPLES = 400  # of a size, for the distance that it shows
FARTHEST_RESAMPLED_TAIL = 0.01  # beyond, reaches grow as Student's do
MAX_RESAMPLED_UNITS = 1000  # more are first summed into so many batches at random
SEED = 20_180
FEW_UNITS = 300
MIN_TAIL_UNITS = 10  # of the most expensive tenth, for its index


def total_evidence(sample: Sample, conditions: tuple[str, ...], *, unpaired: bool = False) -> Evidence:
    """The second condition's total over the first's, minus 1, or one condition's mean amount.

    Two conditions are compared on the items that both have (`unpaired`: each on its own items). With r = log(sum b) -
    log(sum a) and its standard error s by unit, a limit is r + q s + g. The reach q is the larger of Student's quantile
    and that of (r* - r) / s* over resampled units (bootstrap-t). The guard g concerns the claim that X is cheaper: it
    is log(1 + c (max X - mean X) / ((units + 1) mean X)), as if c more units cost as much as the most expensive one. c
    is 0.5 + 1.5 (spread of X's logarithms - the other's), from 0 to 2, from 300 units on to 1. Amounts with a long tail
    are underestimated more often than not, and the condition with the longer tail then seems cheaper.

    Where one item makes up more than a fifth of a bill, nothing is decided and the item is named. A note names a
    condition whose tail is that of a law without a variance. A total of 0 has no ratio. Figures:
    docs/estimators/totals.md.
    """
    columns = [sample.place(name) for name in conditions]
    known: Bools = np.asarray(~np.isnan(sample.mean[:, columns]))
    if not unpaired:
        known = np.repeat(known.all(axis=1, keepdims=True), len(columns), axis=1)
    logs = linearised(sample, conditions, known)
    parts = [Bills.of(sample, [k], known[:, n]) for n, k in enumerate(columns)]
    if len(conditions) == 1:
        found = with_resampled_reach(mean_evidence(logs, conditions[0]), parts[0])
        return _named_items(as_mean_of_logs(found), sample, conditions, known)
    first, second = conditions
    if unpaired:
        sides = [mean_evidence(logs, name) for name in conditions]
        found = apart_evidence(*(with_resampled_reach(side, part) for side, part in zip(sides, parts, strict=True)))
    else:
        found = with_resampled_reach(difference_evidence(logs, first, second), Bills.of(sample, columns, known[:, 0]))
    means = tuple(_mean_of(sample, k, known[:, n]) for n, k in enumerate(columns))
    typical = () if unpaired else _typical_item(sample, columns, known[:, 0])
    own = [note for note in found.notes if note not in of_kind(found.notes, RARE_VALUES)]
    tails = [note for n, name in enumerate(conditions) for note in _long_tail(parts[n].second, name)]
    ratio = dataclasses.replace(as_ratio_of_logs(found, means), notes=(*typical, *own, *tails))
    return _named_items(ratio, sample, conditions, known)


def linearised(sample: Sample, conditions: tuple[str, ...], known: Bools | None = None) -> Sample:
    """The sample with amounts x of these conditions as log(m) + x / m - 1, m their mean over the `known` items.

    `known` is items x conditions; None: the items that all of them have. The metric of the result has no range.
    """
    if known is None:
        shared = ~np.isnan(sample.mean[:, [sample.place(name) for name in conditions]]).any(axis=1, keepdims=True)
        known = np.repeat(shared, len(conditions), axis=1)
    _check_totals(sample, conditions, known)
    metric = dataclasses.replace(sample.metric, low=None, high=None)
    outcomes, mean, within = sample.outcomes, sample.mean.copy(), sample.within.copy()
    value = outcomes.value.copy()
    for n, name in enumerate(conditions):
        k = sample.place(name)
        m = _mean_of(sample, k, known[:, n])
        mean[:, k] = np.where(known[:, n], math.log(m) + mean[:, k] / m - 1, np.nan)
        within[:, k] /= m**2
        rows = outcomes.condition == k
        value[rows] = math.log(m) + value[rows] / m - 1
    return dataclasses.replace(
        sample, outcomes=dataclasses.replace(outcomes, metric=metric, value=value), mean=mean, within=within
    )


def _mean_of(sample: Sample, column: int, known: Bools) -> float:
    return float(np.average(sample.mean[known, column], weights=weights_of(sample.outcomes.weight, known)))


def _check_totals(sample: Sample, conditions: tuple[str, ...], known: Bools) -> None:
    """Refuse what has no ratio: no items, a total of 0, and amounts below 0."""
    noun = sample.metric.noun
    for n, name in enumerate(conditions):
        amounts = sample.mean[known[:, n], sample.place(name)]
        if not len(amounts):
            what = f"{' and '.join(conditions)} share no question" if len(conditions) == 2 else f"{name} has none"
            raise InputError(f"{what} with {noun}.", remedy="Compare two that answered the same questions.")
        if (amounts < 0).any():
            raise InputError(f"{name} has amounts below 0 ({noun}).", remedy="Correct them: an amount is paid.")
        if not amounts.any():
            raise InputError(f"The total of {name} is 0 ({noun}).", remedy="Leave this measure out, or give amounts.")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _SampledLimits:
    """What the limits of many samples of one size are made of."""

    estimate: Floats  # of log(second / first), less its value in all units
    error: Floats
    skew: Floats
    excess: tuple[Floats, Floats]  # of the most expensive unit, first and second


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Bills:
    """Two amounts of every unit, whose sums are compared: those of two conditions, or items and one condition's."""

    first: Floats
    second: Floats
    ratios: Floats  # logarithms of single items' ratios, or of one condition's amounts
    span: float  # the range of the logarithms of all amounts above 0

    @classmethod
    def of(cls, sample: Sample, columns: list[int], known: Bools) -> "Bills":
        """The sums by unit: of groups where there are any (of two groupings the coarser one), else of items."""
        outcomes = sample.outcomes
        weight = weights_of(outcomes.weight, known)
        w = np.ones(int(np.sum(known))) if weight is None else weight
        amounts = [w * sample.mean[known, k] for k in columns]
        priced = sample.mean[known][:, columns]
        span = float(np.ptp(np.log(priced[priced > 0])))
        amounts = [w, *amounts] if len(columns) == 1 else amounts
        groupings = [codes_of_groups(codes, known) for codes in (outcomes.group, outcomes.group_2)]
        codes = min((g for g in groupings if g is not None), key=lambda g: int(g.max()), default=None)
        above = (amounts[0] > 0) & (amounts[1] > 0)
        ratios = np.log(amounts[1][above] / amounts[0][above])
        first, second = amounts if codes is None else (_by_unit(codes, x) for x in amounts)
        return cls(first=first, second=second, ratios=ratios, span=span)

    def guard_weights(self, units: float) -> tuple[float, float]:
        """How many more of the most expensive units the lower and the upper limit of log(second / first) allow for."""
        gap = _log_spread(self.second) - _log_spread(self.first)
        most = 2.0 if units < FEW_UNITS else 1.0
        lower, upper = (min(max(0.5 + 1.5 * signed, 0.0), most) for signed in (-gap, gap))
        return lower, upper

    def guards(self) -> tuple[float, float]:
        """What the limits are moved by: the lower one, which shows that the first is cheaper, and the upper one."""
        lower, upper = self.guard_weights(len(self.first))
        return (
            math.log1p(lower * float(_excess_of_largest(self.first))),
            math.log1p(upper * float(_excess_of_largest(self.second))),
        )

    def sampled(self, size: int) -> "_SampledLimits":
        """Estimates, standard errors, skewness and most expensive units of so many units, over samples of these."""
        drawn = np.random.default_rng(SEED).integers(0, len(self.first), size=(N_SAMPLES, size))
        x, y = self.first[drawn], self.second[drawn]
        a, b = x.sum(axis=1, keepdims=True), y.sum(axis=1, keepdims=True)
        part = y / b - x / a
        square = np.sum(part**2, axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            r = np.log(b / a)[:, 0] - math.log(float(np.sum(self.second)) / float(np.sum(self.first)))
            skew = np.nan_to_num(np.sum(part**3, axis=1) / square**1.5)
        error = np.sqrt(square * size / (size - 1))
        return _SampledLimits(estimate=r, error=error, skew=skew, excess=(_excess_of_largest(x), _excess_of_largest(y)))

    def detectable(self) -> Callable[[float, float, float], float]:
        """The distance of log(second / first) that a number of units shows on either side at a tail with a power.

        The quantile of the limits' distances over samples of the units. Their reach is Student's and the first term of
        Edgeworth's expansion, since resampling every sample would take long. Many units have the distance of fewer,
        over the root of their number.
        """
        sampled = functools.cache(self.sampled)  # several sizes are asked for, most of them of the largest samples

        def distance(units: float, tail: float, power: float) -> float:
            size = int(min(max(units, 5), MAX_RESAMPLED_UNITS))
            seen, (lower, upper) = sampled(size), self.guard_weights(units)
            t = -float(stdtrit(size - 1, tail))
            more = seen.skew * (2 * t**2 + 1) / 6
            high = seen.estimate + seen.error * (t + np.maximum(more, 0.0)) + np.log1p(upper * seen.excess[1])
            low = -seen.estimate + seen.error * (t + np.maximum(-more, 0.0)) + np.log1p(lower * seen.excess[0])
            return max(float(np.quantile(side, power)) for side in (high, low)) * math.sqrt(size / units)

        return distance

    def studentised(self) -> Floats:
        """(r* - r) / s* of resampled units, sorted: r the log of the ratio of sums, s its linearised standard error."""
        x, y = (_batches(amounts / float(np.sum(amounts))) for amounts in (self.first, self.second))
        a, b, aa, ab, bb = (_resampled_counts(len(x)) @ np.stack([x, y, x * x, x * y, y * y], axis=1)).T
        with np.errstate(invalid="ignore", divide="ignore"):
            square = np.maximum(bb / b**2 - 2 * ab / (a * b) + aa / a**2, 0.0)
            t = np.log(b / a) / np.sqrt(square * len(x) / (len(x) - 1))
        found: Floats = np.sort(t[~np.isnan(t)])
        return found


def _by_unit(codes: Codes, amounts: Floats) -> Floats:
    return np.bincount(codes, weights=amounts).astype(np.float64)


def _log_spread(amounts: Floats) -> float:
    """The standard deviation of the logarithms of what is above 0."""
    return float(np.std(np.log(amounts[amounts > 0])))


def _excess_of_largest(amounts: Floats) -> Floats:
    """What one more unit as expensive as the most expensive one adds to the mean of all, as a share of it."""
    mean = np.mean(amounts, axis=-1)
    found: Floats = (np.max(amounts, axis=-1) - mean) / ((amounts.shape[-1] + 1) * mean)
    return found


def _batches(amounts: Floats) -> Floats:
    """The amounts, of many units summed into batches at random, which keeps the law of their sum."""
    if len(amounts) <= MAX_RESAMPLED_UNITS:
        return amounts
    return _by_unit(np.random.default_rng(SEED).permutation(len(amounts)) % MAX_RESAMPLED_UNITS, amounts)


@functools.lru_cache(maxsize=2)
def _resampled_counts(units: int) -> Floats:
    """How often each unit is drawn, resamples x units: the same ones for every pair of as many units."""
    drawn = np.random.default_rng(SEED).integers(0, units, size=(N_RESAMPLES, units))
    rows = np.arange(N_RESAMPLES)[:, None] * units
    counts = np.bincount((drawn + rows).ravel(), minlength=drawn.size)
    return counts.reshape(N_RESAMPLES, units).astype(np.float64)


def with_resampled_reach(found: Evidence, bills: Bills) -> Evidence:
    """Evidence on a logarithm with the reaches of resampled units and the guards of those that seem cheaper."""
    if not found.standard_error:
        return _of_alike_units(found, bills)
    error, freedom, estimate = found.standard_error, found.freedom, found.estimate
    t, (lower, upper) = bills.studentised(), bills.guards()

    def reach(tail: float, *, is_low: bool) -> float:
        near = max(tail, FARTHEST_RESAMPLED_TAIL)
        resampled = _quantile(-t[::-1] if is_low else t, near)
        student, student_near = (-float(stdtrit(freedom, p)) for p in (tail, near))
        return max(student, resampled if tail == near else resampled * student / student_near)

    def interval(level: float) -> Interval:
        tail = (1 - level) / 2
        low = estimate - error * reach(tail, is_low=True) - lower
        high = estimate + error * reach(tail, is_low=False) + upper
        return Interval(low=low, high=high, level=level, method="bootstrap-t, guarded")

    detectable = None if found.unit == "run" else bills.detectable()  # units alone do not know how runs vary
    return dataclasses.replace(found, interval=interval, p=None, detectable=detectable)


def _quantile(ascending: Floats, tail: float) -> float:
    """How far below 0 the quantile at `tail` lies, between two of the values where both are finite."""
    place = max(tail * (len(ascending) + 1) - 1, 0.0)
    outer, inner = (float(ascending[min(k, len(ascending) - 1)]) for k in (math.floor(place), math.floor(place) + 1))
    return -outer if not math.isfinite(outer - inner) else -outer - (place % 1) * (inner - outer)


def _of_alike_units(found: Evidence, bills: Bills) -> Evidence:
    """Where all units have one ratio: the share of others is bounded, and how far theirs lie by the range seen.

    Nothing else is decided without a standard error.
    """
    if len(bills.ratios) < 2 or float(np.ptp(bills.ratios)) > 1e-9:
        return found
    if bills.span <= 1e-9:  # one amount for all says nothing of what another item would take
        return found

    def interval(level: float) -> Interval:
        share = -math.expm1(math.log((1 - level) / 2) / found.units)
        reach = share * bills.span
        return Interval(
            low=found.estimate - reach, high=found.estimate + reach, level=level, method="range x clopper-pearson"
        )

    return dataclasses.replace(found, interval=interval, p=None, notes=(), standard_error=bills.span / found.units)


def as_mean_of_logs(logs: Evidence) -> Evidence:
    """Evidence on the logarithm of a mean as that on the mean."""
    mean = math.exp(logs.estimate)
    error = None if logs.standard_error is None else logs.standard_error * mean
    known = logs.detectable
    detectable = None if known is None else lambda units, tail, power: mean * known(units, tail, power)
    return dataclasses.replace(
        logs, estimate=mean, values=(mean,), interval=_mapped(logs, math.exp), p=None, standard_error=error,
        detectable=detectable,
    )  # fmt: skip


def as_ratio_of_logs(logs: Evidence, means: tuple[float, ...]) -> Evidence:
    """A difference of logarithms as the second over the first, minus 1; `means` are the two."""
    error = None if logs.standard_error is None else logs.standard_error * math.exp(logs.estimate)
    return dataclasses.replace(
        logs, estimate=math.expm1(logs.estimate), values=means, interval=_mapped(logs, math.expm1), p=None,
        standard_error=error, relative=True,
    )  # fmt: skip


def _mapped(logs: Evidence, transform: Callable[[float], float]) -> Callable[[float], Interval]:
    def interval(level: float) -> Interval:
        found = logs.interval(level)
        low, high = transform(found.low), transform(found.high) if found.high < 700 else math.inf
        return Interval(low=low, high=high, level=level, method=f"{TOTALS}, {found.method}")

    return interval


def _typical_item(sample: Sample, columns: list[int], known: Bools) -> tuple[str, ...]:
    """The note on the ratio of geometric means; none where an amount is 0."""
    amounts = sample.mean[known][:, columns]
    if not (amounts > 0).all():
        return ()
    d = np.diff(np.log(amounts), axis=1)[:, 0]
    ratio = math.expm1(float(np.average(d, weights=weights_of(sample.outcomes.weight, known))))
    return (Note(f"per typical question {100 * ratio:+,.1f}% (ratio of geometric means)", TYPICAL_ITEM),)


def _long_tail(amounts: Floats, name: str) -> tuple[str, ...]:
    """The note on a condition whose most expensive tenth of units has Hill's index of a law without a variance."""
    number = len(amounts) // 10
    tail = np.sort(amounts)[-number - 1 :]
    if number < MIN_TAIL_UNITS or tail[0] <= 0:
        return ()
    spread = float(np.mean(np.log(tail[1:] / tail[0])))
    if spread <= 0.5:
        return ()
    index = f"tail index {1 / spread:.1f}, under 2"
    return (f"{name} has so long a tail of amounts ({index}) that rarer, larger ones may undo this",)


def _named_items(found: Evidence, sample: Sample, conditions: tuple[str, ...], known: Bools) -> Evidence:
    """The evidence, undecided where one item makes up more than a fifth of a bill."""
    weight = sample.outcomes.weight
    for n, name in enumerate(conditions):
        amounts = np.where(known[:, n], sample.mean[:, sample.place(name)], 0.0)
        amounts = amounts if weight is None else amounts * weight
        share = float(np.max(amounts)) / float(np.sum(amounts))
        if share <= MAX_ITEM_SHARE or int(np.sum(known[:, n])) <= 1 / MAX_ITEM_SHARE:
            continue
        item = printable(sample.outcomes.items[int(np.argmax(amounts))], limit=40)
        note = f"question {item} is {100 * share:.0f}% of the total of {name}, so one question decides"
        return _undecided(found, note)
    return found


def _undecided(found: Evidence, note: str) -> Evidence:
    """The estimate without any limit."""
    low = -1.0 if found.relative else 0.0

    def interval(level: float) -> Interval:
        return Interval(low=low, high=math.inf, level=level, method="the whole range")

    return dataclasses.replace(
        found, interval=interval, p=lambda value: 1.0, standard_error=None, notes=(*found.notes, note)
    )
