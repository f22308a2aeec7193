"""Does b vary by domain, and do conditions agree on how? (section 4.5, figure 6)."""

import dataclasses

import numpy as np
from scipy.stats import friedmanchisquare

from richter.errors import InputError, TooFewErrors
from richter.records import Result
from richter.severity._b_value import DEFAULT, Recipe, fit_rows
from richter.severity._grid import Scores
from richter.severity._robustness import counts_of

__all__ = ["DomainVariation", "domain_variation"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class DomainVariation(Result):
    """b of every condition in every domain (NaN where there is none), Friedman's test and Kendall's W.

    Both use the `n_complete` conditions with a slope in every domain, and are None where these are fewer than three;
    `mean_b` is over the conditions that have one there. A small W with a small p means that domains differ but
    conditions do not agree which is heavy.
    """

    b: dict[str, dict[str, float]]
    mean_b: dict[str, float]
    n_complete: int
    friedman: float | None
    friedman_p: float | None
    kendall_w: float | None


def domain_variation(scores: Scores, *, recipe: Recipe = DEFAULT) -> DomainVariation:
    """Friedman's test of equal b over the domains, and Kendall's W = chi2 / (n (k - 1)), n conditions, k domains."""
    domains = list(scores.by_domain())
    if len(domains) < 3:
        raise InputError(f"{len(domains)} domains are too few for Friedman's test.", remedy="It needs three or more.")
    table = np.stack(
        [fit_rows(np.ascontiguousarray(counts_of(scores.severity[m])[:, 1:]), recipe)[0] for _, m in domains], axis=1
    )
    table[~np.isfinite(table)] = np.nan
    complete = table[~np.isnan(table).any(axis=1)]
    if np.isnan(table).all():
        raise TooFewErrors(
            f"No condition has the {recipe.min_events} errors that a slope needs in any of {len(domains)} domains.",
            n=0,
            needed=recipe.min_events,
        )
    statistic = p = None
    if len(complete) >= 3:
        statistic, p = map(float, friedmanchisquare(*complete.T))
    names = [name for name, _ in domains]
    return DomainVariation(
        b={c: dict(zip(names, row.tolist(), strict=True)) for c, row in zip(scores.conditions, table, strict=True)},
        mean_b={
            n: float(np.nanmean(column)) for n, column in zip(names, table.T, strict=True) if not np.isnan(column).all()
        },
        n_complete=len(complete),
        friedman=statistic,
        friedman_p=p,
        kendall_w=None if statistic is None else statistic / (len(complete) * (len(names) - 1)),
    )
