"""Five families of severity distributions on the bounded grid, compared (ERRORQUAKE, sections 2 and 4.2).

A family's probability of a level is the integral of its density over the level's bin (s - 1/4, s + 1/4], divided by
the integral over all eight bins: a latent severity, rounded and bounded. With x the latent severity the log-densities
are, up to a constant,

    power_law              -alpha ln x
    truncated_power_law    -alpha ln x - lambda x
    exponential            -lambda x                     (on the grid: the geometric law)
    stretched_exponential  (beta - 1) ln x - u (x^beta - 1) / beta     (Weibull; u / beta is its rate, beta = 1 the
                                                                        exponential, beta -> 0 the power law)
    lognormal              (eta1 - 1) ln x - eta2 ln(x)^2              (mu = eta1 / (2 eta2), sigma^2 = 1 / (2 eta2))

On a bounded grid alpha and lambda may take either sign, so exponential and power law lie inside the truncated power
law and not on its edge.
"""

import dataclasses
import math

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from richter._special import chdtrc, ndtr
from richter.errors import TooFewErrors
from richter.records import Result, counted
from richter.severity._b_value import TOLERANCE, resampled_counts
from richter.severity._grid import DELTA, POSITIVE, count_levels
from richter.stats import Floats, Ints

__all__ = ["FAMILIES", "FamilyComparison", "FamilyFit", "PairTest", "family_probabilities", "fit_families"]

FAMILIES = ("power_law", "truncated_power_law", "exponential", "stretched_exponential", "lognormal")
_PARAMETERS = {
    "power_law": ("alpha",),
    "truncated_power_law": ("alpha", "lambda"),
    "exponential": ("lambda",),
    "stretched_exponential": ("beta", "u"),
    "lognormal": ("eta1", "eta2"),
}
# (inner, outer): does the inner family sit on the outer's edge (half a chi-square) or inside it?
_NESTED = {
    ("exponential", "stretched_exponential"): "inside",
    ("exponential", "truncated_power_law"): "inside",
    ("power_law", "truncated_power_law"): "inside",
    ("power_law", "stretched_exponential"): "edge",
    ("power_law", "lognormal"): "edge",
}
_FIRST_GUESS = {
    "power_law": (1.0, 0.0),
    "truncated_power_law": (0.0, 1.0),
    "exponential": (1.0, 0.0),
    "stretched_exponential": (1.0, 1.0),
    "lognormal": (0.0, 0.5),
}
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)  # 12 nodes a bin: relative error below 1e-13 on these densities
_X: Floats = POSITIVE[:, None] + _NODES * DELTA / 2
_LOG_X = np.log(_X)
_SMALLEST_BETA, _SMALLEST_ETA2 = 1e-4, 1e-6


@njit(cache=True, nogil=True)
def _density(family: int, theta: Floats, x: float, log_x: float, gradient: Floats) -> float:
    """The log-density at x, and its gradient in the parameters."""
    if family == 0:
        gradient[0] = -log_x
        return float(-theta[0] * log_x)
    if family == 1:
        gradient[0] = -log_x
        gradient[1] = -x
        return float(-theta[0] * log_x - theta[1] * x)
    if family == 2:
        gradient[0] = -x
        return float(-theta[0] * x)
    if family == 3:
        beta, u = theta[0], theta[1]
        t = beta * log_x
        box = math.expm1(t) / beta
        # d/dbeta of (x^beta - 1) / beta, by its series where the difference would cancel
        slope = log_x * log_x * (0.5 + t / 3 + t * t / 8) if abs(t) < 1e-4 else (math.exp(t) * log_x - box) / beta
        gradient[0] = log_x - u * slope
        gradient[1] = -box
        return float((beta - 1) * log_x - u * box)
    gradient[0] = log_x
    gradient[1] = -log_x * log_x
    return float((theta[0] - 1) * log_x - theta[1] * log_x * log_x)


@njit(cache=True, nogil=True)
def _fill_bins(
    family: int, theta: Floats, x: Floats, log_x: Floats, weights: Floats, p: Floats, scores: Floats
) -> None:
    """Fill in each bin's probability and the gradient of its logarithm."""
    size, nodes = x.shape
    logs = np.empty((size, nodes))
    gradients = np.empty((size, nodes, 2))
    gradient = np.zeros(2)
    largest = -math.inf
    for i in range(size):
        for j in range(nodes):
            logs[i, j] = _density(family, theta, x[i, j], log_x[i, j], gradient)
            gradients[i, j, 0] = gradient[0]
            gradients[i, j, 1] = gradient[1]
            largest = max(largest, logs[i, j])
    total = 0.0
    mean0 = 0.0
    mean1 = 0.0
    for i in range(size):
        mass = 0.0
        g0 = 0.0
        g1 = 0.0
        for j in range(nodes):
            w = weights[j] * math.exp(logs[i, j] - largest)
            mass += w
            g0 += w * gradients[i, j, 0]
            g1 += w * gradients[i, j, 1]
        total += mass
        mean0 += g0
        mean1 += g1
        p[i] = mass
        scores[i, 0] = g0 / mass if mass > 0 else 0.0
        scores[i, 1] = g1 / mass if mass > 0 else 0.0
    for i in range(size):
        p[i] /= total
        scores[i, 0] -= mean0 / total
        scores[i, 1] -= mean1 / total


@njit(cache=True, nogil=True)
def _log_likelihood(counts: Floats, p: Floats) -> float:
    total = 0.0
    for i in range(len(p)):
        if counts[i] > 0:
            if p[i] <= 0:
                return -math.inf
            total += counts[i] * math.log(p[i])
    return total


@njit(cache=True, nogil=True)
def _damped_step(g0: float, g1: float, a: float, b: float, d: float, held0: bool, held1: bool) -> tuple[float, float]:
    """The solution of [[a, b], [b, d]] s = g, a parameter that is held left at 0."""
    if held0 and held1:
        return 0.0, 0.0
    if held0:
        return 0.0, g1 / d
    if held1:
        return g0 / a, 0.0
    det = a * d - b * b
    return (d * g0 - b * g1) / det, (a * g1 - b * g0) / det


@njit(cache=True, nogil=True)
def _fit_family(
    family: int, size: int, counts: Floats, start: Floats, lower: Floats, x: Floats, log_x: Floats, weights: Floats
) -> tuple[Floats, Floats, float]:
    """Maximum likelihood by damped Fisher scoring inside simple lower bounds and |parameter| <= 200."""
    theta = start.copy()
    p = np.empty(len(x))
    scores = np.empty((len(x), 2))
    trial_p = np.empty(len(x))
    trial_scores = np.empty((len(x), 2))
    _fill_bins(family, theta, x, log_x, weights, p, scores)
    best = _log_likelihood(counts, p)
    n = counts.sum()
    damping = 1e-3
    for _ in range(200):
        g0 = g1 = a = b = d = 0.0
        for i in range(len(x)):
            g0 += counts[i] * scores[i, 0]
            g1 += counts[i] * scores[i, 1]
            a += n * p[i] * scores[i, 0] * scores[i, 0]
            b += n * p[i] * scores[i, 0] * scores[i, 1]
            d += n * p[i] * scores[i, 1] * scores[i, 1]
        # a parameter held at its bound by its own gradient takes no part in the step
        held0 = theta[0] <= lower[0] and g0 < 0
        held1 = size == 1 or (theta[1] <= lower[1] and g1 < 0)
        decrement = 0.0
        improved = False
        while damping < 1e12:
            s0, s1 = _damped_step(g0, g1, a * (1 + damping) + 1e-300, b, d * (1 + damping) + 1e-300, held0, held1)
            decrement = s0 * g0 + s1 * g1
            trial = np.empty(2)
            trial[0] = min(max(theta[0] + s0, lower[0]), 200.0)
            trial[1] = min(max(theta[1] + s1, lower[1]), 200.0)
            _fill_bins(family, trial, x, log_x, weights, trial_p, trial_scores)
            value = _log_likelihood(counts, trial_p)
            if value >= best:
                improved = value > best
                theta = trial
                p, trial_p = trial_p, p
                scores, trial_scores = trial_scores, scores
                best = value
                damping = max(damping / 10, 1e-12)
                break
            damping *= 10
        if damping >= 1e12 or not improved or decrement < 1e-12:
            break
    return theta, p, best


@njit(cache=True, nogil=True)
def _refit_rows(
    family: int, size: int, rows: Floats, start: Floats, lower: Floats, x: Floats, log_x: Floats, weights: Floats
) -> Floats:
    """The winner's probabilities fitted to each row of counts."""
    out = np.empty((len(rows), rows.shape[1]))
    for r in range(len(rows)):
        _, p, _ = _fit_family(family, size, rows[r], start, lower, x, log_x, weights)
        out[r] = p
    return out


def _family_arguments(family: str) -> tuple[int, int, Floats]:
    lower = np.array([-200.0, -200.0])
    if family == "stretched_exponential":
        lower[0] = _SMALLEST_BETA
    if family == "lognormal":
        lower[1] = _SMALLEST_ETA2
    return FAMILIES.index(family), len(_PARAMETERS[family]), lower


def family_probabilities(family: str, *parameters: float) -> Floats:
    """The probability of each of the levels 0.5 .. 4.0 under a family with the given parameters.

    >>> from richter.severity import family_probabilities
    >>> round(float(family_probabilities("exponential", 1.0).sum()), 6)
    1.0
    """
    index, size, _ = _family_arguments(family)
    theta = np.zeros(2)
    theta[:size] = parameters
    p, scores = np.empty(8), np.empty((8, 2))
    _fill_bins(index, theta, _X, _LOG_X, _WEIGHTS, p, scores)
    return p


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class FamilyFit(Result):
    """A family fitted by maximum likelihood to n errors."""

    family: str
    parameters: dict[str, float]
    log_likelihood: float
    aic: float
    bic: float
    probabilities: tuple[float, ...]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PairTest(Result):
    """Two families compared. `p` is Vuong's, or the likelihood ratio's where one family contains the other."""

    first: str
    second: str
    log_likelihood_ratio: float
    vuong_z: float
    vuong_p: float
    nested: bool
    likelihood_ratio_p: float | None
    p: float


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class FamilyComparison(Result):
    """Five fits, all pairs of them, and whether the best by BIC is decisively so and fits at all.

    `decisive_paper`: Vuong p < 0.05 against the runner-up or a BIC gap above 6. `decisive`: the test that suits the
    pair rejects the runner-up at 5% (a family inside the runner-up can never be decisive by it), and the winner is
    adequate. `misfit` is the largest gap between the distribution functions of the errors and of the winner,
    `misfit_limit` its 95% upper limit, `adequate` whether that is within 0.05: a best family that does not fit is only
    the least bad of five. Which law describes errors is a choice of model and no claim: it is made here, at 5%.
    """

    best: str
    runner_up: str
    delta_bic: float
    decisive_paper: bool
    decisive: bool
    misfit: float
    misfit_limit: float
    adequate: bool
    n_errors: int
    n_resamples: int
    fits: dict[str, FamilyFit]
    tests: tuple[PairTest, ...]


def fit_families(
    severity: ArrayLike, *, n_resamples: int = 500, min_events: int = 30, rng: np.random.Generator
) -> FamilyComparison:
    """The five families fitted to the positive scores and compared (section 2, "Distribution fitting").

    Maximum likelihood, AIC, BIC; Vuong's z = sum of log(p1/p2) / (sqrt(n) sd) for pairs that do not contain each
    other; for nested pairs, where Vuong's variance vanishes under the null and it never rejects, 2 x the
    log-likelihood ratio against chi-square with 1 degree of freedom (half of it where the inner family lies on the
    outer's edge). Needs `min_events` errors on at least two levels.

    >>> from richter.severity import fit_families
    >>> import numpy as np
    >>> severities = np.repeat([0.5, 1, 1.5, 2, 2.5, 3], [160, 80, 40, 20, 10, 5])
    >>> fit_families(severities, rng=np.random.default_rng(0), n_resamples=20).best
    'exponential'
    """
    return families_from_counts(count_levels(severity), n_resamples=n_resamples, min_events=min_events, rng=rng)


def families_from_counts(
    counts: Ints,
    *,
    by_group: Ints | None = None,
    n_resamples: int = 500,
    min_events: int = 30,
    rng: np.random.Generator,
) -> FamilyComparison:
    """`fit_families` from the counts at the nine levels; of groups (rows of `by_group`) whole ones are drawn anew."""
    positive = counts[1:].astype(np.float64)
    n = int(positive.sum())
    if n < min_events:
        raise TooFewErrors(
            f"{counted(n, 'error is', 'errors are')} too few to compare families: {min_events} are needed.",
            n=n,
            needed=min_events,
        )
    if np.count_nonzero(positive) < 2:
        raise TooFewErrors("All errors are at one level: every family fits a single level.", n=1, needed=2)
    fits, thetas = {}, {}
    for family in FAMILIES:
        index, size, lower = _family_arguments(family)
        theta, p, log_likelihood = _fit_family(
            index, size, positive, np.array(_FIRST_GUESS[family]), lower, _X, _LOG_X, _WEIGHTS
        )
        thetas[family] = theta
        fits[family] = FamilyFit(
            family=family,
            parameters=_name_parameters(family, theta),
            log_likelihood=float(log_likelihood),
            aic=2 * size - 2 * log_likelihood,
            bic=size * math.log(n) - 2 * log_likelihood,
            probabilities=tuple(float(v) for v in p),
        )
    order = sorted(FAMILIES, key=lambda f: fits[f].bic)
    best, second = order[0], order[1]
    tests = tuple(_compare_families(fits[a], fits[b], positive) for i, a in enumerate(order) for b in order[i + 1 :])
    head = tests[0]
    delta_bic = fits[second].bic - fits[best].bic
    inner_wins = (best, second) in _NESTED
    index, size, lower = _family_arguments(best)
    drawn = resampled_counts(counts, by_group, n_resamples, rng)
    drawn = drawn[drawn.sum(axis=1) > 0]
    refitted = _refit_rows(index, size, drawn, thetas[best], lower, _X, _LOG_X, _WEIGHTS)
    seen = np.cumsum(positive / n - np.array(fits[best].probabilities))
    around = np.cumsum(drawn / drawn.sum(axis=1, keepdims=True) - refitted, axis=1)
    misfit = float(np.abs(seen).max())
    limit = misfit + float(np.quantile(np.abs(around - seen).max(axis=1), 0.95))
    adequate = limit <= TOLERANCE
    return FamilyComparison(
        best=best,
        runner_up=second,
        delta_bic=delta_bic,
        decisive_paper=(head.vuong_p < 0.05) or delta_bic > 6,
        decisive=head.p < 0.05 and not inner_wins and adequate,
        misfit=misfit,
        misfit_limit=limit,
        adequate=adequate,
        n_errors=n,
        n_resamples=n_resamples,
        fits={family: fits[family] for family in FAMILIES},
        tests=tests,
    )


def _name_parameters(family: str, theta: Floats) -> dict[str, float]:
    named = {name: float(theta[i]) for i, name in enumerate(_PARAMETERS[family])}
    if family == "lognormal":
        return {"mu": named["eta1"] / (2 * named["eta2"]), "sigma": math.sqrt(1 / (2 * named["eta2"]))}
    if family == "stretched_exponential":
        return {"beta": named["beta"], "lambda": named["u"] / named["beta"]}
    return named


def _compare_families(a: FamilyFit, b: FamilyFit, counts: Floats) -> PairTest:
    n = counts.sum()
    seen = counts > 0
    ratio = np.log(np.array(a.probabilities)[seen] / np.array(b.probabilities)[seen])
    mean = float(counts[seen] @ ratio / n)
    variance = float(counts[seen] @ (ratio - mean) ** 2 / n)
    total = a.log_likelihood - b.log_likelihood
    # two fits that coincide on every level have nothing to tell apart
    z = total / math.sqrt(n * variance) if variance > 1e-18 else 0.0
    vuong_p = float(2 * ndtr(-abs(z)))
    likelihood_ratio_p = None
    for inner, outer in ((a, b), (b, a)):
        kind = _NESTED.get((inner.family, outer.family))
        if kind is not None:
            statistic = max(2 * (outer.log_likelihood - inner.log_likelihood), 0.0)
            likelihood_ratio_p = float(chdtrc(1, statistic)) * (0.5 if kind == "edge" and statistic > 0 else 1.0)
    return PairTest(
        first=a.family,
        second=b.family,
        log_likelihood_ratio=total,
        vuong_z=z,
        vuong_p=vuong_p,
        nested=likelihood_ratio_p is not None,
        likelihood_ratio_p=likelihood_ratio_p,
        p=vuong_p if likelihood_ratio_p is None else likelihood_ratio_p,
    )
