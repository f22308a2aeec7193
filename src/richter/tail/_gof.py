"""Does a generalised Pareto distribution fit the exceedances? (gate G4)"""

import dataclasses
import functools
import math
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import roots_legendre

from richter._special import eval_legendre
from richter.errors import InputError
from richter.records import Result
from richter.stats import Floats
from richter.tail import _gpd_kernels as _kernels
from richter.tail._gpd import GpdFit, fit_gpd, seeds_from

__all__ = ["GofResult", "gpd_gof"]

_N_EIGENFUNCTIONS = 100  # eigenfunctions kept; the rest enters through its mean
_N_NODES = 600


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class GofResult(Result):
    """A goodness-of-fit test of the GPD with both parameters estimated from the same data.

    `tied` is the share of exceedances that equal another; `rounding` the step of the grid they lie on (None: no grid
    found). With ties the p-value by eigenvalues does not hold, and `note` says so.
    """

    statistic: str = "ad"
    value: float
    p: float
    method: str
    n: int
    xi: float
    sigma: float
    tied: float
    rounding: float | None
    n_resamples: int | None
    note: str


def gpd_gof(
    exceedances: ArrayLike,
    *,
    method: Literal["eigen", "bootstrap"] = "eigen",
    rounding: float | ArrayLike | None = None,
    n_resamples: int = 9_999,
    rng: np.random.Generator | None = None,
) -> GofResult:
    """The Anderson-Darling test of a GPD whose parameters are estimated from the same data.

    `eigen`: the limit law of Choulakian and Stephens (2001), a weighted sum of chi-squared variables, computed for
    the fitted xi instead of read from their table (mind their sign, k = -xi). Holds for xi > -0.5 and untied data.

    `bootstrap`: samples of the fitted GPD, refitted each time, p = (1 + #{simulated >= observed}) / (n_resamples + 1).
    Samples are rounded to the data's own grid, found from the exceedances or given as `rounding` (the step; 0: do not
    round; or, for a grid that is not even, the exceedances that can occur, as after a transform of rounded scores):
    without this, rounding at a twentieth of sigma makes the test reject a true GPD every time. Without `rng` the seed
    is 0.

    >>> from richter.tail import gpd_gof
    >>> import numpy as np
    >>> gpd_gof(np.random.default_rng(0).exponential(size=500)).p > 0.05
    True
    """
    if method not in ("eigen", "bootstrap"):
        raise InputError(f"method={method!r} is not known.", remedy="Use 'eigen' or 'bootstrap'.")
    given, grid = _read_rounding(rounding)
    fit = fit_gpd(exceedances)
    x = np.sort(np.asarray(exceedances, dtype=np.float64))
    value = _kernels.anderson_darling(x, fit.xi, fit.sigma)
    _, repeats = np.unique(x, return_counts=True)
    tied = float(repeats[repeats > 1].sum() / len(x))
    step = (rounding_step(x) if given is None else given) or None
    if method == "eigen":
        p = _limit_p_value(value, fit)
    else:
        rng = rng or np.random.default_rng(0)
        # the lowest grid point above the threshold, in (0, step]; 1e-6 absorbs the error of the step
        first = 0.0 if step is None else x[0] - math.floor(x[0] / step - 1e-6) * step
        drawn = _kernels.simulate_gof(
            len(x), fit.xi, fit.sigma, step or 0.0, first, grid, seeds_from(rng, n_resamples)
        )[:, 0]
        p = (1 + int(np.sum(drawn >= value))) / (n_resamples + 1)
    return GofResult(
        value=value,
        p=p,
        method=method,
        n=len(x),
        xi=fit.xi,
        sigma=fit.sigma,
        tied=tied,
        rounding=step,
        n_resamples=None if method == "eigen" else n_resamples,
        note=_describe_ties(tied, method, step, has_grid=len(grid) > 0),
    )


def _read_rounding(rounding: float | ArrayLike | None) -> tuple[float | None, Floats]:
    """The step that was given (None: to be found), and the uneven grid that was given (else empty)."""
    if rounding is not None and np.ndim(rounding) == 1:
        grid = np.unique(np.asarray(rounding, dtype=np.float64))
        if len(grid) < 2 or not (np.isfinite(grid).all() and grid[0] > 0):
            raise InputError("A grid needs at least two exceedances above 0.", remedy="Give those that can occur.")
        return 0.0, grid
    step = None if rounding is None else float(np.asarray(rounding))
    if step is not None and not step >= 0:
        raise InputError(f"rounding={step} is not a step.", remedy="Give the step of the grid, or 0 for none.")
    return step, np.empty(0)


def _limit_p_value(value: float, fit: GpdFit) -> float:
    """`gof_p_value` at the fitted xi, where the limit law holds."""
    if not fit.regular:
        raise InputError(
            f"xi = {fit.xi:.3f} is not above -0.5, where the limit law of the test does not hold.",
            remedy="Use method='bootstrap', or a transform that respects the bound.",
        )
    return gof_p_value(value, fit.xi)


def _describe_ties(tied: float, method: str, step: float | None, *, has_grid: bool) -> str:
    """What ties and rounding mean for the p-value; empty where nothing."""
    if method == "eigen":
        return (
            f"{tied:.1%} of the exceedances are tied: this p-value is too small; use method='bootstrap'."
            if tied > 0
            else ""
        )
    if step is not None:
        return f"Simulated samples were rounded to steps of {step:g} as the data are."
    if has_grid:
        return "Simulated samples were rounded as the scores were before the transform."
    if tied > 0.01:
        return f"{tied:.1%} of the exceedances are tied on no common grid: the p-value is too small."
    return ""


def rounding_step(x: Floats) -> float | None:
    """The step of the grid on which tied values lie; None if fewer than 1% are tied or no grid fits.

    The step is the smallest gap between distinct values, or a fifth to a half of it, refined by regression so that a
    third printed to six decimals is still found.
    """
    distinct = np.unique(np.round(x / np.max(x), 9)) * np.max(x)
    if len(distinct) < 2 or len(distinct) > 0.99 * len(x):
        return None
    offsets = distinct - distinct[0]
    smallest = float(np.min(np.diff(distinct)))
    for divisor in (1, 2, 3, 4, 5):
        step = smallest / divisor
        for reach in (10, 100, 1000, math.inf):  # the further the point, the finer the step must be known
            near = offsets[1:][offsets[1:] <= reach * step]
            k = np.round(near / step)
            step = float(near @ k / (k @ k)) if len(k) and k @ k > 0 else step
        residual = offsets / step - np.round(offsets / step)
        if np.max(np.abs(residual)) < 0.02:
            return step
    return None


def gof_p_value(value: float, xi: float) -> float:
    """P(limit > value): Imhof's (1961) integral for the weighted sum of chi-squared variables."""
    weights, rest = _eigenvalues(round(xi, 4))
    x = value - rest
    if x <= 0:
        return 1.0
    if x > 60 * weights.max():  # the tail falls as exp(-x / (2 max)): below 1e-12, and the integral only oscillates
        return 0.0
    t, log_gamma, angle, quadrature = _imhof_grid(round(xi, 4))
    integrand = np.sin(angle - 0.5 * x * t) * np.exp(-log_gamma) / t
    return float(np.clip(0.5 + integrand @ quadrature / math.pi, 0.0, 1.0))


@functools.cache
def _basis() -> tuple[Floats, ...]:
    """Quadrature in u = 1 - F with nodes crowded at u = 0, the kernel's eigenvalues and eigenfunctions without fit."""
    nodes, weights = roots_legendre(_N_NODES)
    v = 0.5 * (nodes + 1)
    u, du = v**4, 2.0 * weights * v**3  # du = 4 v^3 dv, dv = weights / 2
    j = np.arange(1, _N_EIGENFUNCTIONS + 1)
    lam: NDArray[Any] = 1.0 / (j * (j + 1))
    # sqrt(s(1-s)) P_j'(2s-1), normalised; divided by sqrt(s(1-s)) as the integrand needs it
    y = 1 - 2 * u
    below, here = eval_legendre(j[:, None] - 1, y), eval_legendre(j[:, None], y)
    slope = j[:, None] * (below - y * here) / (4 * u * (1 - u))  # 1 - y^2 = 4 u (1 - u)
    functions = np.sqrt(4 * (2 * j + 1) / (j * (j + 1)))[:, None] * slope
    return u, du, du / (u * (1 - u)), lam, functions


@functools.lru_cache(maxsize=512)
def _eigenvalues(xi: float) -> tuple[Floats, float]:
    """Eigenvalues of the kernel of the empirical process with both parameters estimated, and the mean of the rest.

    rho(s, t) = min(s, t) - s t - g(s)' V g(t), weighted by 1 / sqrt(s(1-s) t(1-t)), with g the
    derivative of F in (sigma, xi) and V the inverse information (1 + xi) [[2, -1], [-1, 1 + xi]] at sigma = 1.
    In the basis of the kernel without estimation this is a diagonal matrix minus one of rank two.
    """
    u, du, density, lam, functions = _basis()
    log_u = np.log(u)
    if abs(xi) < 1e-4:  # limits, to second order in xi
        scale = u * log_u * (1 + xi * log_u / 2)
        shape = -u * log_u**2 * (0.5 + xi * log_u / 6)
    else:
        rest = -np.expm1(xi * log_u) / xi  # (1 - u^xi) / xi
        scale = -u * rest
        shape = u * (log_u + rest) / xi
    g = np.stack([scale, shape])
    covariance = (1 + xi) * np.array([[2.0, -1.0], [-1.0, 1.0 + xi]])
    projections = (functions * du) @ g.T
    matrix = np.diag(lam) - projections @ covariance @ projections.T
    values = np.linalg.eigvalsh(matrix)
    values = values[values > 1e-12]
    trace = 1.0 - float(np.einsum("in,ij,jn,n->", g, covariance, g, density))
    return values, max(trace - float(values.sum()), 0.0)


@functools.lru_cache(maxsize=256)
def _imhof_grid(xi: float) -> tuple[Floats, ...]:
    values, _ = _eigenvalues(xi)
    top = 1.0 / values.max()
    while 0.25 * np.sum(np.log1p((values * top) ** 2)) + math.log(top) < 18:  # integrand below 1e-8 of its start
        top *= 1.3
    panels = 120
    nodes, weights = roots_legendre(12)
    edges = np.linspace(0, 1, panels + 1) ** 2 * top  # finer where the integrand is large
    half = np.diff(edges) / 2
    t = (edges[:-1, None] + half[:, None] * (nodes + 1)).ravel()
    quadrature = (half[:, None] * weights).ravel()
    product = np.outer(t, values)
    return t, 0.25 * np.log1p(product**2).sum(axis=1), 0.5 * np.arctan(product).sum(axis=1), quadrature
