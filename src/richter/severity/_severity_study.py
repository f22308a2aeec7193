"""A whole study of severities: whose errors are worse, how bad each condition's are, and which law describes them."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from richter.claims import rate_interval
from richter.errors import TooFewErrors
from richter.records import Claim, Interval, Refused, Result
from richter.severity._b_value import BValue, Recipe
from richter.severity._deployment import DeploymentRow, DeploymentTable, Traffic, deployment_table, rate_evidence
from richter.severity._discriminate import (
    PairCounts,
    PairStudy,
    Unestimated,
    counts_by_group,
    pair_counts,
)
from richter.severity._families import FamilyComparison, families_from_counts
from richter.severity._given_error import mean_given_error
from richter.severity._grid import TOP, snap
from richter.stats import Floats

__all__ = ["ConditionSeverity", "SeverityStudy", "summarise_study"]

_OTHER_SCALE_NOTE = (
    "Severities reach {top:g}: another scale than 0 to 4. Claims that need no law are made on it as it stands "
    "(--any-scale: this is meant); for rates at its levels and for a law map it with --as-severity RIGHT:WORST."
)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ConditionSeverity(Result):
    """One condition: how often it errs, how grave its errors are, its rates per million, and the law behind a gate.

    `slope`, `families` and `rates` are None where the scores are on another scale than 0 to 4; `paper` is the paper's
    own b with its interval.
    """

    n: int
    errors: int
    error_rate: float
    error_rate_interval: Interval
    mean_given_error: float | None
    mean_given_error_interval: Interval | None
    slope: BValue | Unestimated | None
    families: FamilyComparison | None
    rates: DeploymentTable | None
    paper: Mapping[str, float | None] | None
    derived = ("b", "per_million", "basis", "uncovered")
    unwritten = ("rates",)

    @property
    def b(self) -> Mapping[str, float] | None:
        """The slope by each estimator; None where there is none."""
        return self.slope.b_by_estimator if isinstance(self.slope, BValue) else None

    @property
    def per_million(self) -> Mapping[str, DeploymentRow]:
        """Rates by severity."""
        return {} if self.rates is None else {f"{r.severity:.1f}": r for r in self.rates.rows}

    @property
    def basis(self) -> str | None:
        """Whose severities the rates are."""
        return None if self.rates is None else self.rates.basis

    @property
    def uncovered(self) -> float | None:
        """The share of the traffic that no rated item represents."""
        return None if self.rates is None else self.rates.uncovered


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SeverityStudy(Result):
    """Claims on pairs first, then every condition. `unrated` are conditions without a rated answer."""

    claims: tuple[Claim, ...]
    refused: tuple[Refused, ...]
    counts: PairCounts
    conditions: Mapping[str, ConditionSeverity]
    recipe: Recipe
    max_error_gap: float
    min_gap: float
    level: float
    n_resamples: int
    unrated: tuple[str, ...]
    n_unrated_rows: int
    notes: tuple[str, ...]

    @property
    def slopes(self) -> Mapping[str, BValue | Unestimated]:
        """Each condition's slope, or why it has none."""
        return {name: c.slope for name, c in self.conditions.items() if c.slope is not None}

    @property
    def rates(self) -> Mapping[str, DeploymentTable]:
        """Each condition's rates per million."""
        return {name: c.rates for name, c in self.conditions.items() if c.rates is not None}


def summarise_study(
    pairs: PairStudy,
    claims: tuple[Claim, ...],
    *,
    primary: str,
    recipe: Recipe,
    traffic: Traffic | None = None,
    weights: Mapping[str, Floats] | None = None,
    max_error_gap: float,
    min_gap: float,
    n_resamples: int,
    level: float,
    unrated: tuple[str, ...] = (),
    n_unrated_rows: int = 0,
    rng: np.random.Generator,
) -> SeverityStudy:
    """A study of pairs that are weighed and claims that are decided, with each condition's own figures.

    `weights` say, by condition, what each answer counts for; without them all count alike.
    """
    columns, groups = pairs.columns, None if pairs.groups is None else np.asarray(pairs.groups).ravel()
    on_grid = all(np.nanmax(x) <= TOP for x in columns.values())
    paper = pairs.paper_slopes()

    def condition(name: str, severity: Floats) -> ConditionSeverity:
        rated = ~np.isnan(severity)
        n, errors = int(np.sum(rated)), int(np.sum(severity > 0))
        weight = None if weights is None else weights[name]
        unit = None if groups is None else groups[rated]
        rate = rate_evidence(severity[rated] > 0, unit, weight=None if weight is None else weight[rated])
        mean = mean_given_error(severity, groups=groups, weights=weight, worst=pairs.worst) if errors else None
        families: FamilyComparison | None = None
        more: dict[str, Any] = {"slope": None, "rates": None}
        if on_grid:
            levels = snap(severity)
            try:
                families = families_from_counts(
                    np.bincount(levels[levels >= 0], minlength=9),
                    by_group=None if groups is None else counts_by_group(levels, groups),
                    n_resamples=min(n_resamples, 500),
                    rng=rng,
                )
            except TooFewErrors:  # the slope's reason, kept in its `Unestimated`, says the same
                families = None
            rates = deployment_table(severity, traffic=traffic, groups=groups, weights=weight, level=level)
            more = {"slope": pairs.fits[name], "rates": rates}
        return ConditionSeverity(
            n=n,
            errors=errors,
            error_rate=rate.estimate,
            error_rate_interval=rate_interval(rate, level=level),
            mean_given_error=None if mean is None else mean.estimate,
            mean_given_error_interval=None if mean is None else mean.interval(level),
            families=families,
            paper=paper.get(name),
            **more,
        )

    counts = pair_counts(pairs, claims, primary=primary, max_error_gap=max_error_gap, min_gap=min_gap, alpha=1 - level)
    return SeverityStudy(
        claims=claims,
        refused=pairs.refused,
        counts=counts,
        conditions={name: condition(name, x) for name, x in columns.items()},
        recipe=recipe,
        max_error_gap=max_error_gap,
        min_gap=min_gap,
        level=level,
        n_resamples=n_resamples,
        unrated=unrated,
        n_unrated_rows=n_unrated_rows,
        notes=() if on_grid else (_OTHER_SCALE_NOTE.format(top=max(float(np.nanmax(x)) for x in columns.values())),),
    )
