import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import genpareto, norm, t

from richter.errors import InputError, TooFewErrors
from richter.tail import fit_gpd, tvar
from richter.tail._gpd import interval_by_group
from tail.simulated import gpd


def loglik(x, xi: float, sigma: float) -> float:
    return float(genpareto.logpdf(x, xi, scale=sigma).sum())


def test_likelihood_against_scipy(rng: np.random.Generator) -> None:
    for _ in range(150):
        n, xi, sigma = int(rng.integers(20, 1500)), rng.uniform(-0.4, 1.2), 10 ** rng.uniform(-3, 3)
        x = gpd(n, xi, sigma, rng)
        fit = fit_gpd(x)
        theirs = genpareto.fit(x, floc=0)
        assert fit.loglik == pytest.approx(loglik(x, fit.xi, fit.sigma), abs=1e-6)
        if theirs[0] >= -1:  # scipy has no bound there, and likelihood no maximum
            # ours is never below scipy's, and above it only where scipy's simplex stopped early
            assert fit.loglik >= loglik(x, theirs[0], theirs[2]) - 1e-4


@pytest.mark.parametrize("k", [1537, 3055, 4560, 5132, 8689, 10262])
def test_a_step_onto_the_brackets_end_is_taken_against_scipy(k: int) -> None:
    x = np.random.default_rng([7, k]).exponential(size=500)  # a fit of xi = -1 came out of these samples
    starts = [genpareto.fit(x, c, floc=0) for c in (-0.2, 0.0, 0.2)]
    assert fit_gpd(x).loglik >= max(loglik(x, c, scale) for c, _, scale in starts) - 1e-6


@pytest.mark.parametrize(
    ("xi", "shape", "scale", "likelihood", "low", "high"),
    [  # evd 2.3-6.1 in R 4.2, by evd.R beside this file
        (-0.3, -0.288537, 1.982386, -348.940479, -0.3820, -0.1672),
        (0.0, -0.009068, 2.006925, -421.884006, -0.1275, 0.1427),
        (0.3, 0.296054, 1.992040, -496.303415, 0.1504, 0.4814),
        (0.8, 0.798793, 1.982357, -620.769822, 0.5972, 1.0482),
    ],
)
def test_fit_against_R(
    xi: float, shape: float, scale: float, likelihood: float, low: float, high: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limits are those of the likelihood ratio alone, without the correction for its mean."""
    monkeypatch.setattr("richter.tail._gpd._root_mean", lambda xi, n: 0.0)
    p = (np.arange(1, 251) - 0.5) / 250
    x = -2 * np.log1p(-p) if xi == 0 else 2 * ((1 - p) ** -xi - 1) / xi
    fit = fit_gpd(x * (1 + 0.2 * np.sin(np.arange(1, 251))))
    assert fit.loglik == pytest.approx(likelihood, abs=2e-6)
    assert (fit.xi, fit.sigma) == pytest.approx((shape, scale), abs=1e-4)  # its optimiser's stopping
    # evd interpolates its profile on a mesh
    assert (fit.interval.low, fit.interval.high) == pytest.approx((low, high), abs=2e-3)


def test_score_is_zero_by_hand(rng: np.random.Generator) -> None:
    x = gpd(400, 0.3, 2.0, rng)
    fit = fit_gpd(x)
    ratio = x / (fit.sigma + fit.xi * x)
    # derivatives of -n log sigma - (1 + 1/xi) sum log(1 + xi x / sigma), set to zero
    assert (1 + fit.xi) * ratio.sum() == pytest.approx(len(x), rel=1e-7)
    assert np.log1p(fit.xi * x / fit.sigma).mean() == pytest.approx(fit.xi, rel=1e-7)


def test_shape_below_minus_one_has_no_likelihood_maximum(rng: np.random.Generator) -> None:
    x = 1 - rng.random(300) ** 3  # density rises towards 1
    fit = fit_gpd(x)
    assert (fit.xi, fit.sigma) == (-1.0, x.max())
    assert fit.at_bound
    assert not fit.regular
    assert math.isnan(fit.standard_error)
    assert fit_gpd(rng.random(300)).regular is False


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32), xi=st.floats(-0.4, 1.5), log_scale=st.floats(-6, 6))
def test_shape_does_not_depend_on_the_unit(seed: int, xi: float, log_scale: float) -> None:
    x = gpd(200, xi, 1.0, np.random.default_rng(seed))
    plain, scaled = fit_gpd(x), fit_gpd(x * 10**log_scale)
    assert scaled.xi == pytest.approx(plain.xi, abs=1e-7)
    assert scaled.sigma == pytest.approx(plain.sigma * 10**log_scale, rel=1e-7)
    assert scaled.interval.high == pytest.approx(plain.interval.high, abs=1e-6)


def test_profile_interval_by_definition(rng: np.random.Generator) -> None:
    from scipy.optimize import minimize_scalar

    x = gpd(150, 0.2, 1.0, rng)
    fit = fit_gpd(x)
    for end, side in ((fit.interval.low, -1), (fit.interval.high, 1)):
        point = norm.ppf(0.975) + side * (2.2 - 5.5 * min(end, 0) - max(end, 0)) / np.sqrt(165)
        best = minimize_scalar(lambda s: -loglik(x, end, s), bounds=(0.2, 5), method="bounded", options={"xatol": 1e-9})  # noqa: B023
        assert np.sqrt(2 * (fit.loglik + best.fun)) == pytest.approx(point, abs=1e-5)


@pytest.mark.parametrize("n", [50, 150])
def test_few_exceedances_of_a_short_tail_are_missed_in_about_five_percent_recovers_truth(n: int) -> None:
    """Of 400 at 6%: above 41 has probability 0.0005; without the correction 10.0% and 7.5% are missed."""
    rng = np.random.default_rng(6)
    assert sum(-0.4 not in fit_gpd(gpd(n, -0.4, 1.0, rng)).interval for _ in range(400)) <= 41


def test_copies_in_groups_count_once_by_repetition(rng: np.random.Generator) -> None:
    """Three copies of each: a design effect of 3, so the limits of one copy at the level of t's point."""
    x = np.sort(gpd(100, 0.3, 1.0, rng))
    copies, group = np.repeat(x, 3), np.repeat(np.arange(100), 3)
    found = interval_by_group(copies, group, fit_gpd(copies), level=0.95)
    once = fit_gpd(x, level=1 - 2 * float(norm.sf(t.isf(0.025, 99)))).interval
    assert (found.low, found.high) == pytest.approx((once.low, once.high), abs=1e-6)
    apart = interval_by_group(x, np.arange(100), fit_gpd(x), level=0.95)
    assert (apart.low, apart.high) == pytest.approx((once.low, once.high), abs=1e-6)


def test_exceedances_in_groups_are_missed_in_about_five_percent_recovers_truth(rng: np.random.Generator) -> None:
    """60 groups of 20, 24 of which exceed: percentiles of resamples miss 21%, exceedances counted alone 16%."""
    missed, group = 0, np.repeat(np.arange(60), 20)
    for _ in range(200):
        shared = np.repeat(rng.normal(size=60), 20)
        x = genpareto.isf(norm.sf(np.sqrt(0.7) * shared + np.sqrt(0.3) * rng.normal(size=1200)), 0.1)
        above = x > np.quantile(x, 0.9)
        exceedances = x[above] - np.quantile(x, 0.9)
        missed += 0.1 not in interval_by_group(exceedances, group[above], fit_gpd(exceedances), level=0.95)
    assert missed <= 20  # above 20 of 200 at 5% has probability 0.001


def test_warm_start_finds_the_same_maximum(rng: np.random.Generator) -> None:
    from richter.tail import _gpd_kernels as _kernels

    for n in (15, 40, 300):
        x = gpd(n, 0.1, 1.0, rng)
        xi, sigma, _ = _kernels.fit_weighted(x, np.ones(n, dtype=np.int32), float(np.median(x)), math.nan)
        worse = 0
        for _ in range(300):
            w = rng.multinomial(n, np.full(n, 1 / n)).astype(np.int32)
            warm = _kernels.fit_weighted(x, w, float(np.median(x)), xi / sigma)
            cold = _kernels.fit_weighted(x, w, float(np.median(x)), math.nan)
            worse += warm[2] < cold[2] - 1e-6
        assert worse <= 3, f"n = {n}: {worse} of 300 resamples stop at a lower maximum"


@pytest.mark.slow
def test_percentile_coverage_recovers_truth(rng: np.random.Generator) -> None:
    # the design's figures for n = 50 and 100 are 85 and 89%; 600 runs have a standard error of 1.5%; three of them
    for n, expected in ((50, 0.85), (100, 0.89)):
        hits = 0
        for _ in range(600):
            fit = fit_gpd(gpd(n, 0.1, 1.0, rng), interval="percentile", rng=rng, n_resamples=600)
            hits += 0.1 in fit.interval
        assert hits / 600 == pytest.approx(expected, abs=0.045)


@pytest.mark.slow
def test_profile_coverage_recovers_truth(rng: np.random.Generator) -> None:
    hits = sum(0.1 in fit_gpd(gpd(100, 0.1, 1.0, rng)).interval for _ in range(4000))
    assert hits / 4000 == pytest.approx(0.95, abs=0.015)  # 4 standard errors of 0.0034


@pytest.mark.parametrize(
    ("x", "message"),
    [
        ([1.0, 2.0], "cannot carry"),
        ([1.0] * 20, "are equal"),
        ([1.0] * 19 + [0.0], "not finite numbers above 0"),
        ([1.0] * 19 + [math.inf], "not finite numbers above 0"),
        ([1.0] * 19 + [math.nan], "not finite numbers above 0"),
        (np.ones((5, 4)), "dimensions"),
    ],
)
def test_bad_input_is_named(x, message: str) -> None:
    with pytest.raises(InputError, match=message):
        fit_gpd(x)


def test_too_few_says_how_many() -> None:
    with pytest.raises(TooFewErrors) as caught:
        fit_gpd([1.0, 2.0, 3.0])
    assert (caught.value.n, caught.value.needed) == (3, 10)


def test_tvar_by_hand() -> None:
    assert tvar(np.arange(1, 11), q=0.9) == 10
    assert tvar(np.arange(1, 11), q=0.8) == 9.5
    assert tvar(np.arange(1, 11), q=0.85) == pytest.approx((10 + 0.5 * 9) / 1.5)
    assert tvar([0, 0, 1, 1], q=0.25) == pytest.approx(2 / 3)  # the tie at the quantile enters with its fraction
    assert tvar([1.0, math.inf], q=0.5) == math.inf
    assert tvar(np.arange(5), q=0.0) == 2


def test_no_fit_is_worse_than_the_best_of_three_starts_against_scipy() -> None:
    """60 samples over xi from -0.4 to 0.8."""
    rng = np.random.default_rng(17)
    for k in range(60):
        x = genpareto.rvs(0.0 if k % 4 == 0 else rng.uniform(-0.4, 0.8), size=100, random_state=rng)
        fits = [genpareto.fit(x, c, floc=0) for c in (-0.2, 0.0, 0.2)]
        best = max((float(genpareto.logpdf(x, c, scale=s).sum()) for c, _, s in fits if c >= -1), default=-math.inf)
        assert fit_gpd(x).loglik > best - 1e-6
