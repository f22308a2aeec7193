"""One difference within subgroups of items: each by itself, partly pooled, and whether it differs between them."""

import dataclasses
import math
from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from richter._special import fdtrc, ndtr
from richter.claims._measures import Codes, Floats, Outcomes
from richter.claims._question import TOTALS, Evidence
from richter.claims._totals import linearised, total_evidence
from richter.claims._units import Sample, as_sample, difference_evidence
from richter.errors import InputError
from richter.records import DEFAULT_LEVEL, Interval, Verdict, counted
from richter.stats import find_root

__all__ = ["Subgroup", "Subgroups", "check_groups", "subgroup_differences", "within"]

MIN_UNITS_FOR_F = 30  # in every subgroup, from which Welch's F is near enough
N_SPREADS = 200  # of the grid over the spread


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Subgroup:
    """A subgroup's own difference with its plain interval, and the same drawn towards the others as far as alike."""

    name: str
    n: int
    estimate: float
    interval: Interval
    pooled: float | None
    pooled_interval: Interval | None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Subgroups:
    """Differences by subgroup, the p-value of their being one and the same, and how far apart they are (`spread`).

    `p` is None where it cannot be tested; `p_adjusted` allows for the other pairs and for attempts. `verdict` says
    whether the effect differs between subgroups (`decide_heterogeneity` gives it with the sentence). `left_out` counts
    items in subgroups with too few to say anything. With `relative` all are ratios of totals less 1, and one and the
    same is one ratio.
    """

    conditions: tuple[str, str]
    subgroups: tuple[Subgroup, ...]
    p: float | None
    method: str
    spread: float | None
    left_out: int
    p_adjusted: float | None = None
    verdict: Verdict = Verdict.UNDECIDED
    sentence: str = ""
    relative: bool = False


def within(sample: Sample, use: NDArray[np.bool_]) -> Sample:
    """The same with the values of all other items taken out."""
    return dataclasses.replace(sample, mean=np.where(use[:, None], sample.mean, np.nan))


def check_groups(outcomes: Outcomes, part: Codes, what: str) -> None:
    """Refuse groups of items that lie in several parts: parts would not vary independently."""
    if outcomes.group is None:
        return
    pairs = np.unique(np.stack([outcomes.group, part]), axis=1)
    spread = int(np.sum(np.bincount(pairs[0]) > 1))
    if spread:
        raise InputError(
            f"{spread} of {len(np.unique(outcomes.group))} groups span several {what}s, which then do not vary "
            "independently.",
            remedy=f"Give all items of a group one {what}, or leave the {what}s or the groups out.",
        )


def subgroup_differences(
    sample: Sample | Outcomes,
    first: str,
    second: str,
    *,
    subgroup: Codes,
    names: Sequence[str],
    rng: np.random.Generator | None = None,
    n_resamples: int = 2000,
    level: float = DEFAULT_LEVEL,
) -> Subgroups:
    """The second condition's mean minus the first's in every subgroup of items (`subgroup`: one code an item).

    Each subgroup has its own evidence by unit. Whether the effect differs at all is one test: Welch's F over the
    subgroups' means of units; with fewer than 30 units in one, the same statistic under permuted labels (valid also
    where subgroups differ in spread, roughly). Partial pooling: the differences come from one normal law of unknown
    mean and spread with flat priors, as in Rubin's eight schools; a pooled figure is the posterior mean with its
    interval, narrower than the subgroup's own and drawn towards the others. It needs three subgroups. Verdicts rest on
    the subgroups' own evidence; pooled figures are the better guess of size. A unit lies in one subgroup. Amounts that
    are paid are compared by the ratio of their totals: tested and pooled by logarithms.
    """
    sample = as_sample(sample)
    if len(subgroup) != len(sample.outcomes.items):
        items = counted(len(sample.outcomes.items), "item")
        raise InputError(f"{len(subgroup)} subgroups for {items}.", remedy="Give one per item.")
    check_groups(sample.outcomes, subgroup, "subgroup")
    relative = sample.metric.is_cost
    parts = _parts_of(sample, (first, second), subgroup, relative=relative)
    if len(parts.unit_values) < 2:
        raise InputError(
            f"{counted(len(parts.unit_values), 'subgroup')} with two units or more.",
            remedy="Choose a column with several values on the items that both conditions answered.",
        )
    found = [_difference(within(sample, use), first, second) for use in parts.items]
    values = np.concatenate(parts.unit_values)
    label = np.repeat(np.arange(len(found)), [len(x) for x in parts.unit_values])
    p, method = _one_test(values, label, np.random.default_rng(0) if rng is None else rng, n_resamples)
    pooled, spread = _pooled(found, level, relative=relative)
    return Subgroups(
        conditions=(first, second),
        subgroups=tuple(
            Subgroup(
                name=names[code], n=e.n, estimate=e.estimate, interval=e.interval(level), pooled=mean,
                pooled_interval=span,
            )
            for code, e, (mean, span) in zip(parts.codes, found, pooled, strict=True)
        ),
        p=p,
        method=method,
        spread=spread,
        left_out=parts.left_out,
        relative=relative,
    )  # fmt: skip


def _difference(sample: Sample, first: str, second: str) -> Evidence:
    if sample.metric.is_cost:
        return total_evidence(sample, (first, second))
    return difference_evidence(sample, first, second)


@dataclasses.dataclass(frozen=True, slots=True)
class _Parts:
    """The subgroups with two units or more: their codes, their items, a value for each unit; items left out."""

    codes: list[int]
    items: list[NDArray[np.bool_]]
    unit_values: list[Floats]
    left_out: int


def _parts_of(sample: Sample, conditions: tuple[str, str], subgroup: Codes, *, relative: bool) -> _Parts:
    """The subgroups of the items that both conditions have, with each unit's value of the difference."""
    outcomes = sample.outcomes
    columns = [sample.place(name) for name in conditions]
    pair = sample.mean[:, columns]
    shared = ~np.isnan(pair).any(axis=1)
    d = pair[:, 1] - pair[:, 0]
    weight = np.ones(len(d)) if outcomes.weight is None else outcomes.weight
    unit = np.arange(len(d)) if outcomes.group is None else outcomes.group
    codes, items, values, left_out = [], [], [], 0
    for code in sorted(set(subgroup[shared].tolist())):
        use = shared & (subgroup == code)
        if relative and not pair[use].any(axis=0).all():  # a total of 0 has no ratio
            left_out += int(use.sum())
            continue
        if relative:  # linearised about the means of the subgroup
            own = linearised(within(sample, use), conditions).mean[use][:, columns]
            d[use] = own[:, 1] - own[:, 0]
        place, size = np.unique(unit[use], return_inverse=True)[1], float(weight[use].sum())
        sums = np.bincount(place, weights=weight[use] * d[use])
        sizes = np.bincount(place, weights=weight[use])
        if len(sums) < 2:
            left_out += int(use.sum())
            continue
        mean = float(sums.sum()) / size
        # a unit's value: the mean plus its residual, scaled so that values average to the weighted mean
        values.append(mean + (sums - mean * sizes) * len(sums) / size)
        codes.append(code)
        items.append(use)
    return _Parts(codes, items, values, left_out)


def _pooled(
    found: Sequence[Evidence], level: float, *, relative: bool
) -> tuple[list[tuple[float, Interval]] | list[tuple[None, None]], float | None]:
    """The partly pooled figure of each subgroup, and how far they lie apart; none of fewer than three subgroups."""
    estimates = np.array([e.estimate for e in found])
    errors = np.array([e.standard_error or 0.0 for e in found])
    if relative:
        estimates, errors = np.log1p(estimates), errors / (1 + estimates)
    if len(found) < 3 or not (errors > 0).all():
        return [(None, None)] * len(found), None
    means, intervals, spread = _pool(estimates, errors, level)
    if not relative:
        return list(zip(means, intervals, strict=True)), spread
    return [(math.expm1(m), _less_one(i)) for m, i in zip(means, intervals, strict=True)], math.expm1(spread)


def _less_one(logs: Interval) -> Interval:
    return dataclasses.replace(
        logs,
        low=math.expm1(logs.low),
        high=math.expm1(logs.high) if logs.high < 700 else math.inf,
        method=f"{TOTALS}, {logs.method}",
    )


def _welch(values: Floats, label: np.ndarray, number: int) -> tuple[float, float]:
    """Welch's statistic for equal means with unequal spreads, and its second degrees of freedom."""
    n = np.bincount(label, minlength=number)
    mean = np.bincount(label, weights=values, minlength=number) / n
    spread = np.bincount(label, weights=(values - mean[label]) ** 2, minlength=number) / (n - 1)
    floor = 1e-12 + 1e-3 * float(np.mean(spread))  # a subgroup without any spread would decide alone
    w = n / np.maximum(spread, floor)
    centre = float(np.sum(w * mean) / np.sum(w))
    lack = float(np.sum((1 - w / np.sum(w)) ** 2 / (n - 1)))
    top = float(np.sum(w * (mean - centre) ** 2)) / (number - 1)
    return top / (1 + 2 * (number - 2) / (number**2 - 1) * lack), (number**2 - 1) / (3 * lack)


def _one_test(
    values: Floats, label: np.ndarray, rng: np.random.Generator, n_resamples: int
) -> tuple[float | None, str]:
    number = int(label.max()) + 1
    if np.ptp(values) == 0:
        return None, "none"
    seen, freedom = _welch(values, label, number)
    if np.bincount(label).min() >= MIN_UNITS_FOR_F:
        return float(fdtrc(number - 1, freedom, seen)), "welch F"
    more = sum(_welch(values, rng.permutation(label), number)[0] >= seen * (1 - 1e-12) for _ in range(n_resamples))
    return (1 + more) / (1 + n_resamples), f"welch F, {n_resamples:,} permutations"


def _pool(d: Floats, error: Floats, level: float) -> tuple[list[float], list[Interval], float]:
    """Posterior means and intervals of each, and the posterior mean of the spread, by a grid over the spread."""
    top = 3 * max(float(np.std(d, ddof=1)), float(np.median(error)))
    spread = (np.arange(N_SPREADS) + 0.5) / N_SPREADS * top
    v = error[None, :] ** 2 + spread[:, None] ** 2
    precision = np.sum(1 / v, axis=1)
    centre = np.sum(d / v, axis=1) / precision
    logs = -0.5 * np.log(precision) - 0.5 * np.sum(np.log(v) + (d - centre[:, None]) ** 2 / v, axis=1)
    share = np.exp(logs - logs.max())
    share /= share.sum()
    keep = spread[:, None] ** 2 / v  # weight of a subgroup's own figure
    mean = keep * d + (1 - keep) * centre[:, None]
    sd = np.sqrt(keep * error**2 + (1 - keep) ** 2 / precision[:, None])
    pooled = share @ mean
    tail = (1 - level) / 2
    intervals = []
    for k in range(len(d)):
        low, high = float(np.min(mean[:, k] - 9 * sd[:, k])), float(np.max(mean[:, k] + 9 * sd[:, k]))

        def below(x: float, target: float, k: int = k) -> float:
            return float(share @ ndtr((x - mean[:, k]) / sd[:, k])) - target

        ends = [find_root(partial(below, target=t), low, high) for t in (tail, 1 - tail)]
        intervals.append(Interval(low=ends[0], high=ends[1], level=level, method="partial pooling"))
    return pooled.tolist(), intervals, float(share @ spread)
