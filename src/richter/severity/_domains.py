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

    Both use the `n_complete` conditions with a slope in every domain. A small W with a small p means that domains
    differ but conditions do not agree which is heavy.
    """

    b: dict[str, dict[str, float]]
    mean_b: dict[str, float]
    n_complete: int
    friedman: float
    friedman_p: float
    kendall_w: float


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
    if len(complete) < 3:
        raise TooFewErrors(
            f"{len(complete)} conditions have a slope in every domain.",
            n=len(complete),
            needed=3,
            remedy=f"Each needs {recipe.min_events} errors in every domain.",
        )
    statistic, p = friedmanchisquare(*complete.T)
    names = [name for name, _ in domains]
    return DomainVariation(
        b={c: dict(zip(names, row.tolist(), strict=True)) for c, row in zip(scores.conditions, table, strict=True)},
        mean_b=dict(zip(names, complete.mean(axis=0).tolist(), strict=True)),
        n_complete=len(complete),
        friedman=float(statistic),
        friedman_p=float(p),
        kendall_w=float(statistic / (len(complete) * (len(names) - 1))),
    )
