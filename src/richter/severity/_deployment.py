"""Events per million answers at each severity, from counts only (ERRORQUAKE, appendix Q), and as people would rate."""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from richter.claims import METRICS, Evidence, Metric, Outcomes, mean_evidence
from richter.errors import InputError, TooFewErrors
from richter.records import Interval, Shown
from richter.severity._grid import LEVELS, POSITIVE, level_index, snap
from richter.stats import Bools, Floats, Indices, unit_rate, weighted_rate

__all__ = [
    "DeploymentRow",
    "DeploymentTable",
    "Traffic",
    "clean_answers_needed",
    "deployment_table",
    "human_corrected_rates",
]

MILLION = 1_000_000


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class DeploymentRow(Shown):
    """Answers at or above a severity. `per_million` is None where none was seen: then only `upper` is known.

    `interval` is two-sided (Wilson, as the paper's), `upper` and `lower` are one-sided exact limits, per million.
    """

    severity: float
    count: int
    n: int
    per_million: float | None
    interval: Interval
    upper: float
    lower: float


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class DeploymentTable(Shown):
    """Rates per million at each severity, and of whose traffic they speak.

    `uncovered` is the share of the stated traffic that no rated item represents: the rates say nothing of it.
    `basis` is "the judge's grades" where no human labels reached the limits: what the judges miss is missed here too.
    `groups` counts the groups that the answers are in; None where each stands alone.
    """

    unwritten: ClassVar = ("groups",)

    rows: tuple[DeploymentRow, ...]
    n: int
    level: float
    uncovered: float
    uncovered_strata: tuple[str, ...]
    weighted: bool
    basis: str
    groups: int | None = None

    def at(self, severity: float) -> DeploymentRow:
        """The row of one severity."""
        return self.rows[level_index(severity) - 1]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """The user's own traffic: the share of each stratum, and the stratum of each item ("" where it has none)."""

    shares: Mapping[str, float]
    strata: Sequence[str]


def clean_answers_needed(per_million: float, *, level: float = 0.95) -> int:
    """How many answers without an event put the rate below `per_million` at this level (one-sided, exact).

    The smallest n with 1 - (1 - level)^(1/n) below the rate: about 3 / rate at 95%.

    >>> from richter.severity import clean_answers_needed
    >>> clean_answers_needed(1000)  # one per thousand
    2995
    """
    if not 0 < per_million < MILLION:
        raise InputError(f"{per_million:g} per million is not a rate.", remedy="Give more than 0 and below 1,000,000.")
    return math.ceil(math.log1p(-level) / math.log1p(-per_million / MILLION))


def deployment_table(
    severity: ArrayLike,
    *,
    traffic: Traffic | None = None,
    groups: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    level: float = 0.95,
    basis: str = "the judge's grades",
) -> DeploymentTable:
    """Events per million answers at or above 0.5, 1.0, .. 4.0.

    Without `traffic` every answer counts alike: Wilson intervals (the paper's) and exact one-sided Clopper-Pearson
    limits, so zero seen is an upper bound of about 3/n. With `traffic` each item is weighted by its stratum's share
    over the stratum's number of items, and the limits are the gamma limits of `stats.weighted_rate`, in which an
    event not seen could have fallen in the thinnest stratum. Strata with a share but no item are `uncovered`; rates
    are then of the covered traffic only. Valid where answers are independent draws from what will be asked; with
    `groups` (one an answer, what varies together) groups are, and the limits are those of claims on rates
    (`claims.mean_evidence`; with `traffic` where they are the wider). `weights` say what each answer counts for, within
    its stratum where there is `traffic`; the limits are then those of claims too.

    >>> from richter.severity import deployment_table
    >>> deployment_table([0] * 98 + [1, 4]).rows[-1].per_million
    10000.0
    """
    index = snap(severity).ravel()
    rated = index >= 0
    if not rated.any():
        raise InputError("No answer is rated, so there are no rates.", remedy="Give at least one severity.")
    own = None if weights is None else np.asarray(weights, dtype=np.float64).ravel()
    counts_for, uncovered = own, 0.0
    missing: tuple[str, ...] = ()
    if traffic is not None:
        counts_for, uncovered, missing = traffic_weights(traffic, rated, own)
    used = rated if traffic is None or counts_for is None else counts_for > 0
    unit = None if groups is None else np.asarray(groups).ravel()[used]
    if own is not None and unit is None:
        unit = np.arange(int(used.sum()))
    weight = None if counts_for is None else counts_for[used]
    rows = []
    for k in range(1, 9):
        event = index[used] >= k
        rate = float(np.average(event, weights=weight))
        limits = _rate_limits(event, unit, weight, level, is_traffic=traffic is not None)
        rows.append(_rate_row(k, int(event.sum()), len(event), rate, *limits))
    return DeploymentTable(
        rows=tuple(rows),
        n=int(used.sum()),
        level=level,
        uncovered=uncovered,
        uncovered_strata=missing,
        weighted=traffic is not None,
        basis=basis,
        groups=None if groups is None or unit is None else len(np.unique(unit)),
    )


def _rate_row(k: int, count: int, n: int, rate: float, both: Interval, upper: float, lower: float) -> DeploymentRow:
    return DeploymentRow(
        severity=float(LEVELS[k]),
        count=count,
        n=n,
        per_million=rate * MILLION if rate > 0 else None,
        interval=dataclasses.replace(both, low=both.low * MILLION, high=both.high * MILLION),
        upper=upper * MILLION,
        lower=lower * MILLION,
    )


def _rate_limits(
    event: Bools, unit: Indices | None, weight: Floats | None, level: float, *, is_traffic: bool
) -> tuple[Interval, float, float]:
    """The two-sided interval of a rate, and its upper and its lower limit, each alone at `level`."""
    limits: list[tuple[Interval, ...]] = []
    if unit is not None:
        both, alone = (rate_evidence(event, unit, weight=weight, exact=exact) for exact in (False, True))
        limits.append((both.interval(level), *(alone.interval(2 * level - 1),) * 2))
    if weight is not None and is_traffic:
        limits.append(_traffic_limits(event, weight, level))
    if not limits:
        limits.append(tuple(unit_rate(event, level=level, side=side) for side in ("both", "upper", "lower")))
    low, high = min(f[0].low for f in limits), max(f[0].high for f in limits)
    upper, lower = max(f[1].high for f in limits), min(f[2].low for f in limits)
    return dataclasses.replace(limits[-1][0], low=low, high=high), upper, lower


def _traffic_limits(event: Bools, weight: Floats, level: float) -> tuple[Interval, ...]:
    """The limits of a rate that is weighted to the traffic: two-sided, upper and lower."""
    seen, most = np.ones(int(event.sum())), float(weight.max())
    own = (
        weighted_rate(seen, weight[event], largest_weight=most, level=level, side=side)
        for side in ("both", "upper", "lower")
    )
    return tuple(dataclasses.replace(i, high=min(i.high, 1.0)) for i in own)


def rate_evidence(
    event: ArrayLike, groups: ArrayLike | None = None, *, weight: Floats | None = None, exact: bool = False
) -> Evidence:
    """How often an event happens, as claims on rates have it (`claims.mean_evidence`), by group where there are any."""
    return _mean_evidence(
        METRICS["catastrophic_rate"], np.asarray(event, dtype=np.float64), groups, weight, exact=exact
    )


def _mean_evidence(
    metric: Metric,
    value: Floats,
    groups: ArrayLike | None,
    weight: Floats | None = None,
    label: Floats | None = None,
    layer: Indices | None = None,
    chance: Floats | None = None,
    *,
    exact: bool = False,
) -> Evidence:
    """The evidence on the mean of one condition's answers, one an item."""
    n = len(value)
    unit = None if groups is None else np.unique(np.asarray(groups).ravel(), return_inverse=True)[1].astype(np.intp)
    answers = Outcomes(
        metric=metric, items=("",) * n, conditions=("",), item=np.arange(n), condition=np.zeros(n, dtype=np.intp),
        value=value, group=unit, weight=weight, label=label, layer=layer, chance=chance,
    )  # fmt: skip
    return mean_evidence(answers, "", exact=exact)


def traffic_weights(
    traffic: Traffic, rated: Bools, weights: Floats | None = None
) -> tuple[Floats, float, tuple[str, ...]]:
    """Each item's weight (they sum to 1 over the covered traffic), the uncovered share, and which strata it is.

    A stratum's share is divided among its items alike, or as their own `weights` say.
    """
    shares = np.array(list(traffic.shares.values()), dtype=np.float64)
    if len(shares) == 0 or not np.isfinite(shares).all() or (shares < 0).any() or shares.sum() <= 0:
        raise InputError("Traffic shares must be positive numbers.", remedy="Give a share per stratum, in any unit.")
    if len(traffic.strata) != len(rated):
        raise InputError(
            f"{len(traffic.strata)} strata were given for {len(rated)} items.", remedy="Give one stratum per item."
        )
    names = list(traffic.shares)
    position = {name: i for i, name in enumerate(names)}
    stratum = np.array([position.get(s, -1) for s in traffic.strata])
    stratum[~rated] = -1
    own = np.ones(len(stratum)) if weights is None else weights
    sizes = np.bincount(stratum[stratum >= 0], weights=own[stratum >= 0], minlength=len(names))
    covered = (sizes > 0) & (shares > 0)
    total = shares[covered].sum()
    if total == 0:
        raise InputError(
            "No rated item falls in any stratum of the traffic.", remedy="Check that both use the same names."
        )
    per_item = np.where(covered, shares / np.where(sizes > 0, sizes, 1.0) / total, 0.0)
    found = np.where(stratum >= 0, per_item[np.maximum(stratum, 0)] * own, 0.0)
    missing = tuple(name for name, seen, share in zip(names, sizes > 0, shares, strict=True) if share > 0 and not seen)
    return found, float(1 - total / shares.sum()), missing


def human_corrected_rates(
    severity: ArrayLike,
    human: ArrayLike,
    *,
    strata: ArrayLike | None = None,
    probability: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    weights: ArrayLike | None = None,
) -> Callable[[float], DeploymentTable]:
    """`deployment_table` for human severity, at any level: `severity` by the judge, `human` the label or NaN.

    At every severity the rate is `stats.ppi_rate`'s. What judges miss and what they overcall both reach the limits.
    `strata` names the stratum that each answer's label was drawn from, `probability` the chance that it had; without
    either labels are taken as a simple random sample. With `groups` (one an answer, what varies together) the limits
    allow for them, as those of claims do (`claims.mean_evidence`). `weights` say what each answer counts for.
    """
    judged, labels = np.asarray(severity, dtype=np.float64), np.asarray(human, dtype=np.float64)
    if judged.shape != labels.shape:
        raise InputError(f"{labels.size} labels for {judged.size} answers.", remedy="Give NaN where there is none.")
    rated = snap(judged) >= 0
    judge_level = LEVELS[snap(judged[rated])]
    label_index = snap(labels[rated], name="human")
    label_level = np.where(label_index < 0, np.nan, LEVELS[label_index])
    labelled = int(np.sum(~np.isnan(label_level)))
    if labelled < 2:
        raise TooFewErrors(f"{labelled} answers have a human label.", n=labelled, needed=2)
    layer = None if strata is None else np.unique(np.asarray(strata)[rated], return_inverse=True)[1].astype(np.intp)
    chance = None if probability is None else np.broadcast_to(np.asarray(probability, float), judged.shape)[rated]
    unit = None if groups is None else np.asarray(groups)[rated]
    weight = None if weights is None else np.asarray(weights, dtype=np.float64)[rated]
    known: list[tuple[int, Evidence, Evidence]] = []  # by severity: events labelled, both limits, one alone
    for at in POSITIVE:
        flag = (judge_level >= at).astype(np.float64)
        true = np.where(np.isnan(label_level), np.nan, label_level >= at)
        both, alone = (
            _mean_evidence(METRICS["catastrophic_rate"], flag, unit, weight, true, layer, chance, exact=exact)
            for exact in (False, True)
        )
        known.append((int(np.nansum(true)), both, alone))
    groups_labelled = None if unit is None else len(np.unique(unit[~np.isnan(label_level)]))

    def table(level: float) -> DeploymentTable:
        rows = []
        for k, (count, both, alone) in enumerate(known, 1):
            limits = alone.interval(2 * level - 1)
            rows.append(_rate_row(k, count, labelled, both.estimate, both.interval(level), limits.high, limits.low))
        # rates fall with severity but each row is estimated alone: make the limits agree by widening, never narrowing
        upper = np.maximum.accumulate([r.upper for r in rows][::-1])[::-1]
        lower = np.minimum.accumulate([r.lower for r in rows])
        ends = zip(rows, upper, lower, strict=True)
        return DeploymentTable(
            rows=tuple(dataclasses.replace(r, upper=float(u), lower=float(w)) for r, u, w in ends),
            n=int(rated.sum()),
            level=level,
            uncovered=0.0,
            uncovered_strata=(),
            weighted=False,
            basis=f"corrected by {labelled} human labels",
            groups=groups_labelled,
        )

    return table
