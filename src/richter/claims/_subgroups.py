"""One difference within subgroups of items: each by itself, partly pooled, and whether it differs between them."""

import dataclasses
import math
from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtrc, ndtr

from richter.claims._evidence import TYPICAL, Evidence
from richter.claims._outcomes import Codes, Floats, Outcomes
from richter.claims._units import Sample, as_sample, by_ratio, difference_evidence
from richter.errors import InputError
from richter.records import Interval, counted
from richter.stats import find_root

__all__ = ["Subgroup", "Subgroups", "check_groups", "subgroup_differences", "within"]

ENOUGH = 30  # units in every subgroup from which Welch's F is near enough
GRID = 200


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

    `p` is None where it cannot be tested. `left_out` counts items in subgroups with too few to say anything. With
    `relative` all are ratios of geometric means less 1, and one and the same is one ratio.
    """

    conditions: tuple[str, str]
    subgroups: tuple[Subgroup, ...]
    p: float | None
    method: str
    spread: float | None
    left_out: int
    sentence: str
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
    tests: int = 1,
    level: float = 0.95,
) -> Subgroups:
    """The second condition's mean minus the first's in every subgroup of items (`subgroup`: one code an item).

    Each subgroup has its own evidence by unit. Whether the effect differs at all is one test: Welch's F over the
    subgroups' means of units; with fewer than 30 units in one, the same statistic under permuted labels (valid also
    where subgroups differ in spread, roughly). Partial pooling: the differences come from one normal law of unknown
    mean and spread with flat priors, as in Rubin's eight schools; a pooled figure is the posterior mean with its
    interval, narrower than the subgroup's own and drawn towards the others. It needs three subgroups. Verdicts rest on
    the subgroups' own evidence; pooled figures are the better guess of size. A unit lies in one subgroup. `tests` is
    the number of pairs that are tested so; p is multiplied by it. Amounts that are compared by their ratio over all
    items (`by_ratio`) are so in every subgroup: tested and pooled by logarithms.
    """
    sample = as_sample(sample) if isinstance(sample, Outcomes) else sample
    outcomes = sample.outcomes
    if len(subgroup) != len(outcomes.items):
        raise InputError(
            f"{len(subgroup)} subgroups for {counted(len(outcomes.items), 'item')}.", remedy="Give one an item."
        )
    relative = by_ratio(sample, first, second)
    d = np.diff(sample.mean[:, [sample.place(first), sample.place(second)]], axis=1)[:, 0]
    shared = ~np.isnan(d)
    if relative:
        d[shared] = np.diff(np.log(sample.mean[shared][:, [sample.place(first), sample.place(second)]]), axis=1)[:, 0]
    weight = np.ones(len(d)) if outcomes.weight is None else outcomes.weight
    unit = np.arange(len(d)) if outcomes.group is None else outcomes.group
    codes = sorted(set(subgroup[shared].tolist()))
    check_groups(outcomes, subgroup, "subgroup")
    found: list[tuple[str, Evidence]] = []
    means, labels = [], []
    left_out = 0
    for code in codes:
        use = shared & (subgroup == code)
        place, size = np.unique(unit[use], return_inverse=True)[1], float(weight[use].sum())
        sums = np.bincount(place, weights=weight[use] * d[use])
        sizes = np.bincount(place, weights=weight[use])
        if len(sums) < 2:
            left_out += int(use.sum())
            continue
        mean = float(sums.sum()) / size
        # a unit's value: the mean plus its residual, scaled so that values average to the weighted mean
        means.append(mean + (sums - mean * sizes) * len(sums) / size)
        labels.append(np.full(len(sums), len(found)))
        found.append((names[code], difference_evidence(within(sample, use), first, second, ratio=relative)))
    if len(found) < 2:
        raise InputError(
            f"{counted(len(found), 'subgroup')} with two units or more.",
            remedy="Choose a column with several values on the items that both conditions answered.",
        )
    values, label = np.concatenate(means), np.concatenate(labels)
    p, method = _one_test(values, label, np.random.default_rng(0) if rng is None else rng, n_resamples)
    spread = None
    pooled: list[tuple[float, Interval] | tuple[None, None]] = [(None, None)] * len(found)
    estimates = np.array([e.estimate for _, e in found])
    errors = np.array([e.standard_error or 0.0 for _, e in found])
    if relative:
        estimates, errors = np.log1p(estimates), errors / (1 + estimates)
    if len(found) >= 3 and (errors > 0).all():
        means_, intervals, spread = _pool(estimates, errors, level)
        pooled = list(zip(means_, intervals, strict=True))
        if relative:
            pooled = [(math.expm1(m), _less_one(i)) for m, i in zip(means_, intervals, strict=True)]
            spread = math.expm1(spread)
    p = None if p is None else min(1.0, tests * p)
    effect = f"the effect ({TYPICAL})" if relative else "the effect"
    if p is None:
        said = f"whether {effect} differs between subgroups cannot be tested: nothing varies within them"
    elif p < 1 - level:
        said = f"{effect} differs between the {len(found)} subgroups (p {p:.2g})"
    else:
        said = f"that {effect} differs between the {len(found)} subgroups is not shown (p {p:.2g})"
    return Subgroups(
        conditions=(first, second),
        subgroups=tuple(
            Subgroup(
                name=name, n=e.n, estimate=e.estimate, interval=e.interval(level), pooled=mean, pooled_interval=span
            )
            for (name, e), (mean, span) in zip(found, pooled, strict=True)
        ),
        p=p,
        method=method,
        spread=spread,
        left_out=left_out,
        sentence=said,
        relative=relative,
    )


def _less_one(logs: Interval) -> Interval:
    return dataclasses.replace(
        logs,
        low=math.expm1(logs.low),
        high=math.expm1(logs.high) if logs.high < 700 else math.inf,
        method=f"{TYPICAL}, {logs.method}",
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
    if np.bincount(label).min() >= ENOUGH:
        return float(fdtrc(number - 1, freedom, seen)), "welch F"
    more = sum(_welch(values, rng.permutation(label), number)[0] >= seen * (1 - 1e-12) for _ in range(n_resamples))
    return (1 + more) / (1 + n_resamples), f"welch F, {n_resamples:,} permutations"


def _pool(d: Floats, error: Floats, level: float) -> tuple[list[float], list[Interval], float]:
    """Posterior means and intervals of each, and the posterior mean of the spread, by a grid over the spread."""
    top = 3 * max(float(np.std(d, ddof=1)), float(np.median(error)))
    spread = (np.arange(GRID) + 0.5) / GRID * top
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
