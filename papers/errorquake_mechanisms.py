"""Does the kind of error change with its severity and with model size (section 4.7), and b with the domain (4.5)?"""

import dataclasses
import math
from collections.abc import Mapping, Sequence

import numpy as np
import scipy
from numpy.typing import ArrayLike
from scipy.special import chdtrc

from errorquake_counts import counts_of
from errorquake_scores import Scores
from richter.errors import InputError, TooFewErrors
from richter.records import Result
from richter.severity import DEFAULT, Recipe, fit_rows


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Coupling(Result):
    """A table of mechanisms by groups and how strongly they hang together.

    `p` is the chi-square test's where every expected count is 5 or more, else that of tables drawn with the same
    margins (`method` says which). `cramers_v` is corrected for its bias in small tables.
    """

    groups: tuple[str, ...]
    mechanisms: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    shares: tuple[tuple[float, ...], ...]
    n: int
    chi_square: float
    degrees_of_freedom: int
    p: float
    method: str
    smallest_expected: float
    cramers_v: float


def couple(
    mechanism: Sequence[str],
    group: Sequence[str],
    *,
    order: Sequence[str] | None = None,
    n_resamples: int = 9999,
    rng: np.random.Generator,
) -> Coupling:
    """Chi-square test of mechanism against group, with care for small cells, and bias-corrected Cramer's V.

    V~ = sqrt(phi~^2 / min(k~ - 1, r~ - 1)), phi~^2 = max(0, chi2/n - (k-1)(r-1)/(n-1)) (Bergsma 2013). Items must be
    independent: one answer once, not once per rater.
    """
    if len(mechanism) != len(group):
        raise InputError(f"{len(mechanism)} mechanisms for {len(group)} groups.", remedy="Give one of each per error.")
    kinds = sorted({m for m in mechanism if m})
    groups = [g for g in order if g in set(group)] if order is not None else sorted(set(group))
    at = {name: i for i, name in enumerate(kinds)}
    row_of = {name: i for i, name in enumerate(groups)}
    table = np.zeros((len(groups), len(kinds)), dtype=np.int64)
    for m, g in zip(mechanism, group, strict=True):
        if m and g in row_of:
            table[row_of[g], at[m]] += 1
    table, groups = table[table.sum(axis=1) > 0], [g for g, n in zip(groups, table.sum(axis=1), strict=True) if n]
    if table.shape[0] < 2 or table.shape[1] < 2:
        raise TooFewErrors(
            f"{table.shape[0]} groups and {table.shape[1]} mechanisms cannot be coupled.",
            n=min(table.shape),
            needed=2,
            remedy="Two or more of each are needed.",
        )
    n = int(table.sum())
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    expected = np.outer(rows, columns) / n
    statistic = float(np.sum((table - expected) ** 2 / expected))
    freedom = (len(rows) - 1) * (len(columns) - 1)
    if expected.min() >= 5:
        p, method = float(chdtrc(freedom, statistic)), "chi-square"
    else:
        drawn = scipy.stats.random_table(rows, columns, seed=rng).rvs(size=n_resamples)
        simulated = np.sum((drawn - expected) ** 2 / expected, axis=(1, 2))
        p = float((1 + np.sum(simulated >= statistic - 1e-9)) / (1 + n_resamples))
        method = "tables with the same margins"
    return Coupling(
        groups=tuple(groups),
        mechanisms=tuple(kinds),
        counts=tuple(tuple(int(c) for c in row) for row in table),
        shares=tuple(tuple(float(s) for s in row) for row in table / rows[:, None]),
        n=n,
        chi_square=statistic,
        degrees_of_freedom=freedom,
        p=p,
        method=method,
        smallest_expected=float(expected.min()),
        cramers_v=_cramers_v(statistic, n, *table.shape),
    )


def _cramers_v(statistic: float, n: int, r: int, k: int) -> float:
    if n < 2:
        return math.nan
    phi = max(0.0, statistic / n - (k - 1) * (r - 1) / (n - 1))
    rows, columns = r - (r - 1) ** 2 / (n - 1), k - (k - 1) ** 2 / (n - 1)
    smaller = min(rows, columns) - 1
    return math.sqrt(phi / smaller) if smaller > 0 else math.nan


def severity_band(severity: float) -> str:
    """The paper's bands: low 0.5 to 1.0, mid above 1.0 to 2.0, high above 2.0; "" for a correct answer."""
    if not severity > 0:
        return ""
    return "low" if severity <= 1 else "mid" if severity <= 2 else "high"


def size_class(active_params: float) -> str:
    """The paper's sizes in billions of active parameters: small below 10, large from 24, between them medium."""
    if math.isnan(active_params):
        return ""
    billions = active_params / 1e9 if active_params > 1e6 else active_params
    return "small" if billions < 10 else "large" if billions >= 24 else "medium"


def mechanisms_by_severity(
    mechanism: Sequence[str], severity: ArrayLike, *, n_resamples: int = 9999, rng: np.random.Generator
) -> Coupling:
    """Mechanism against severity band."""
    bands = [severity_band(float(s)) for s in np.asarray(severity, dtype=np.float64)]
    return couple(mechanism, bands, order=("low", "mid", "high"), n_resamples=n_resamples, rng=rng)


def mechanisms_by_size(
    mechanism: Sequence[str],
    condition: Sequence[str],
    active_params: Mapping[str, float],
    *,
    n_resamples: int = 9999,
    rng: np.random.Generator,
) -> Coupling:
    """Mechanism against the size class of the condition that erred."""
    sizes = [size_class(active_params.get(c, math.nan)) for c in condition]
    return couple(mechanism, sizes, order=("small", "medium", "large"), n_resamples=n_resamples, rng=rng)


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
    table = np.stack([fit_rows(counts_of(scores.severity[m])[:, 1:], recipe).b for _, m in domains], axis=1)
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
        statistic, p = map(float, scipy.stats.friedmanchisquare(*complete.T))
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
