"""A whole study of severities: every condition, every matched pair, every rate."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from richter.errors import InputError, TooFewErrors
from richter.severity._b_value import DEFAULT, BValue, Recipe
from richter.severity._deployment import DeploymentTable, Traffic, deployment_table
from richter.severity._discriminate import Discrimination, discriminate
from richter.severity._families import FamilyComparison, families_from_counts
from richter.severity._kernels import CODES
from richter.severity._scores import Scores
from richter.stats import Mapper, in_threads

__all__ = ["SeverityStudy", "study_severity"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SeverityStudy:
    """Slopes, families, rates and pairs of all conditions. Conditions without a rated answer are in `unrated`."""

    discrimination: Discrimination
    families: Mapping[str, FamilyComparison | None]
    deployment: Mapping[str, DeploymentTable]
    unrated: tuple[str, ...]
    n_unrated_rows: int

    def to_dict(self) -> dict[str, Any]:
        """Plain values under the names that others rely on."""
        return {
            "conditions": {name: self._condition(name) for name in self.deployment},
            "pairs": [pair.to_dict() for pair in self.discrimination.pairs],
            "counts": self.discrimination.counts.to_dict(),
            "recipe": self.discrimination.recipe.to_dict(),
            "reliability": self.discrimination.reliability,
            "n_resamples": self.discrimination.n_resamples,
            "unrated_conditions": list(self.unrated),
        }

    def _condition(self, name: str) -> dict[str, Any]:
        fit, families, table = self.discrimination.conditions[name], self.families[name], self.deployment[name]
        row: dict[str, Any] = {"n": fit.n, "errors": fit.n_errors, "error_rate": fit.error_rate}
        if isinstance(fit, BValue):
            row |= {
                "b": fit.b_by_estimator,
                "m_min": fit.m_min,
                "n_above": fit.n_above,
                "interval": [fit.interval.low, fit.interval.high],
                "standard_error": fit.standard_error,
                "gof_p": fit.gof_p,
                "m_min_frequency": {f"{k:g}": v for k, v in fit.m_min_frequency.items()},
                "verdict": "estimated",
                "needed": None,
                "reason": None,
            }
        else:
            row |= {
                "b": dict.fromkeys(CODES),
                **dict.fromkeys(("m_min", "n_above", "interval", "standard_error", "gof_p")),
                "m_min_frequency": {},
                "verdict": "undecided",
                "needed": fit.needed,
                "reason": fit.reason,
            }
        paper = self.discrimination.paper_conditions[name]
        row["paper"] = (
            {"b": paper.b, "m_min": paper.m_min, "interval": [paper.interval.low, paper.interval.high]}
            if isinstance(paper, BValue)
            else None
        )
        row["best_family"] = None if families is None else families.best
        row["families"] = {} if families is None else {k: v.to_dict() for k, v in families.fits.items()}
        row["family_comparison"] = (
            None if families is None else {k: v for k, v in families.to_dict().items() if k != "fits"}
        )
        row["per_million"] = table.to_dict()["rows"]
        row["basis"] = table.basis
        row["uncovered"] = table.uncovered
        return row


def study_severity(
    scores: Scores,
    *,
    recipe: Recipe = DEFAULT,
    traffic: Traffic | None = None,
    reliability: float | None = None,
    max_error_gap: float = 0.05,
    min_gap: float = 0.15,
    alpha: float = 0.05,
    n_resamples: int = 2000,
    level: float = 0.95,
    exploratory: bool = True,
    rng: np.random.Generator,
    mapper: Mapper = in_threads,
) -> SeverityStudy:
    """Run `estimate_b`, `fit_families`, `discriminate` and `deployment_table` on all conditions of a study.

    `mapper` says where the pairs are tested and changes no number.
    """
    counts = scores.counts()
    columns = {name: column for name, column in scores.columns().items() if counts[name].sum() > 0}
    if not columns:
        raise InputError("No answer is rated.", remedy="Give at least one severity.")
    discrimination = discriminate(
        columns,
        recipe=recipe,
        reliability=reliability,
        max_error_gap=max_error_gap,
        min_gap=min_gap,
        alpha=alpha,
        n_resamples=n_resamples,
        level=level,
        exploratory=exploratory,
        rng=rng,
        mapper=mapper,
    )
    families: dict[str, FamilyComparison | None] = {}
    for name in columns:
        try:
            families[name] = families_from_counts(counts[name], n_resamples=n_resamples, rng=rng)
        except TooFewErrors:  # the slope's reason, kept in its `Unestimated`, says the same
            families[name] = None
    return SeverityStudy(
        discrimination=discrimination,
        families=families,
        deployment={name: deployment_table(column, traffic=traffic, level=level) for name, column in columns.items()},
        unrated=tuple(name for name in scores.conditions if name not in columns),
        n_unrated_rows=int(np.isnan(scores.severity).sum()),
    )
