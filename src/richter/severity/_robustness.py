"""Does the count of differing pairs survive? The paper's jackknife, aggregation, coverage, exceedances and m_min."""

import dataclasses
from typing import Any

import numpy as np

from richter.errors import InputError
from richter.severity._b_value import DEFAULT, Recipe
from richter.severity._grid import POSITIVE, Scores, snap
from richter.severity._recount import Recount, Slopes, count_disjoint, recount, slopes
from richter.stats import Bools, Floats

__all__ = ["aggregation_rules", "dual_coverage", "exceedance_sweep", "fixed_m_min", "leave_one_domain_out"]

AGGREGATIONS = ("primary_only", "secondary_only", "max_severity", "min_severity", "mean")


def counts_of(severity: Floats) -> Floats:
    """Counts at the nine levels, one row per column of an items x conditions table."""
    levels = snap(severity)
    return np.array([np.bincount(x[x >= 0], minlength=9) for x in levels.T], dtype=np.float64).reshape(-1, 9)


def leave_one_domain_out(scores: Scores, *, recipe: Recipe = DEFAULT, **options: Any) -> tuple[Recount, ...]:
    """The count without each domain in turn (appendix F). `options` as of `recount`."""
    domains = list(scores.by_domain())
    if len(domains) < 2:
        raise InputError(
            f"{len(domains)} domains cannot be left out in turn.", remedy="Give a `domain` column with two or more."
        )
    return tuple(
        recount(f"without {name}", counts_of(scores.severity[~mask]), recipe=recipe, **options)
        for name, mask in domains
    )


def aggregate_judges(judges: Floats, rule: str) -> Floats:
    """One severity from two judges' scores (2 x ...); in max, min and mean the other's stands where one failed."""
    first, second = judges[:2]
    if rule not in AGGREGATIONS:
        raise InputError(f"The rule {rule!r} is not known.", remedy=f"Use one of {', '.join(AGGREGATIONS)}.")
    scores: Floats = {
        "primary_only": lambda: first,
        "secondary_only": lambda: second,
        "max_severity": lambda: np.fmax(first, second),
        "min_severity": lambda: np.fmin(first, second),
        "mean": lambda: (np.fmax(first, second) + np.fmin(first, second)) / 2,
    }[rule]()
    return scores


def aggregation_rules(scores: Scores, *, recipe: Recipe = DEFAULT, **options: Any) -> tuple[Recount, ...]:
    """The count under other ways to make one score of two judges' (appendix G). `options` as of `recount`."""
    judges = _judges(scores)
    return tuple(
        recount(rule, counts_of(aggregate_judges(judges, rule)), recipe=recipe, **options) for rule in AGGREGATIONS
    )


def dual_coverage(
    scores: Scores, *, share: float = 0.8, recipe: Recipe = DEFAULT, **options: Any
) -> tuple[Recount, ...]:
    """The counts on the conditions of which both judges scored at least `share` of the rated answers (section 4.1)."""
    judges = _judges(scores)
    rated = ~np.isnan(scores.severity)
    both = (~np.isnan(judges[:2])).all(axis=0) & rated
    kept = both.sum(axis=0) >= share * np.maximum(rated.sum(axis=0), 1)
    rows = [recount("final score", counts_of(scores.severity[:, kept]), recipe=recipe, **options)]
    rows += [
        recount(rule, counts_of(aggregate_judges(judges[:, :, kept], rule)), recipe=recipe, **options)
        for rule in AGGREGATIONS
    ]
    return tuple(rows)


def _judges(scores: Scores) -> Floats:
    if scores.judges is None:
        raise InputError("The judges' own scores are not given.", remedy="Add the columns judge_1 and judge_2.")
    return scores.judges


def exceedance_sweep(
    scores: Scores,
    *,
    thresholds: tuple[int, ...] = (30, 50, 75, 100, 150, 200),
    recipe: Recipe = DEFAULT,
    max_error_gap: float = 0.05,
    min_gap: float = 0.15,
    n_resamples: int = 2000,
    level: float = 0.95,
    rng: np.random.Generator,
) -> dict[int, tuple[Recount, tuple[str, ...]]]:
    """The count among conditions whose chosen tail holds at least T errors, and which those are (appendix P)."""
    found = slopes(counts_of(scores.severity), recipe=recipe, n_resamples=n_resamples, level=level, rng=rng)
    out = {}
    for threshold in thresholds:
        kept = np.isfinite(found.b) & (found.n_above >= threshold)
        part = _subset(found, kept)
        names = tuple(name for name, keep in zip(scores.conditions, kept, strict=True) if keep)
        rule = f"at least {threshold} errors above m_min"
        out[threshold] = (count_disjoint(rule, part, max_error_gap=max_error_gap, min_gap=min_gap), names)
    return out


def _subset(found: Slopes, kept: Bools) -> Slopes:
    return Slopes(**{field.name: getattr(found, field.name)[kept] for field in dataclasses.fields(found)})


def fixed_m_min(
    scores: Scores, *, levels: tuple[float, ...] | None = None, recipe: Recipe = DEFAULT, **options: Any
) -> tuple[Recount, ...]:
    """The count with one m_min for all (appendix B2). `options` as of `recount`."""
    counts = counts_of(scores.severity)
    rows = []
    for m_min in levels if levels is not None else [float(m) for m in POSITIVE[:6]]:
        fixed = Recipe(estimator=recipe.estimator, m_min=m_min, min_events=recipe.min_events)
        rows.append(recount(f"m_min = {m_min:g}", counts, recipe=fixed, **options))
    return tuple(rows)
