import numpy as np
import pytest

from richter.errors import InputError
from richter.tail import _gpd_kernels as _kernels
from richter.tail import gpd_gof
from richter.tail._gof import gof_p_value, rounding_step
from richter.tail._gpd import seeds_from
from tail.simulated import gpd

# 5% points of A-squared with both parameters estimated, by shape (the design's table; Choulakian and Stephens' k = -xi)
POINTS = {0.5: 0.830, 0.2: 0.903, 0.0: 0.974, -0.2: 1.074, -0.5: 1.321}


@pytest.mark.parametrize(("xi", "point"), POINTS.items())
def test_a_squared_points_against_table(xi: float, point: float) -> None:
    assert gof_p_value(point - 0.006, xi) > 0.05 > gof_p_value(point + 0.006, xi)


def test_p_value_falls_to_zero() -> None:
    for xi in (-0.49, 0.0, 0.5, 2.5):
        p = [gof_p_value(value, xi) for value in np.geomspace(1e-3, 1e5, 300)]
        assert p[0] == pytest.approx(1.0, abs=1e-6)
        assert (np.diff(p) <= 1e-6).all()  # the integral is cut off where it adds 1e-7
        assert p[-1] == 0.0


@pytest.mark.parametrize("xi", [-0.3, 0.4])
def test_eigen_p_value_against_simulation(xi: float, rng: np.random.Generator) -> None:
    drawn = _kernels.simulate_gof(500, xi, 1.0, 0.0, 0.0, np.empty(0), seeds_from(rng, 4000))[:, 0]
    for level in (0.5, 0.1, 0.05):
        point = np.quantile(drawn, 1 - level)
        # standard error of the level at an empirical quantile of 4,000 draws, four of them; 0.008 for finite n
        assert gof_p_value(point, xi) == pytest.approx(level, abs=4 * np.sqrt(level / 4000) + 0.008)


def test_a_squared_against_scipy(rng: np.random.Generator) -> None:
    from scipy.stats import genpareto

    x = np.sort(gpd(300, 0.2, 1.0, rng))
    a2 = _kernels.anderson_darling(x, 0.15, 1.1)
    f = genpareto.cdf(x, 0.15, scale=1.1)
    i = np.arange(1, 301)
    assert a2 == pytest.approx(-300 - np.sum((2 * i - 1) * (np.log(f) + np.log1p(-f[::-1]))) / 300)


def test_two_methods_agree(rng: np.random.Generator) -> None:
    x = gpd(800, 0.1, 1.0, rng)
    eigen, simulated = gpd_gof(x), gpd_gof(x, method="bootstrap", rng=rng, n_resamples=4000)
    assert simulated.value == eigen.value
    assert simulated.p == pytest.approx(eigen.p, abs=4 * 0.5 / np.sqrt(4000) + 0.02)


@pytest.mark.sampled(1)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("xi", "low", "high"),
    [(-0.4, 0.035, 0.06), (-0.2, 0.04, 0.06), (0.0, 0.04, 0.06), (0.2, 0.04, 0.06), (0.5, 0.04, 0.06)],
)
def test_size_recovers_truth(xi: float, low: float, high: float, rng: np.random.Generator) -> None:
    drawn = _kernels.simulate_gof(1570, xi, 1.0, 0.0, 0.0, np.empty(0), seeds_from(rng, 20_000))
    rejected = np.mean([gof_p_value(a2, round(max(fitted, -0.5), 2)) < 0.05 for a2, fitted in drawn])
    assert low <= rejected <= high


def test_rounding_rejects_a_true_gpd_unless_simulated(rng: np.random.Generator) -> None:
    p_values = []
    for _ in range(8):
        x = np.ceil(gpd(1570, 0.1, 1.0, rng) / 0.05) * 0.05
        naive = gpd_gof(x)
        assert naive.p < 0.01  # always, though the law is true
        assert naive.tied > 0.9
        assert "too small" in naive.note
        honest = gpd_gof(x, method="bootstrap", rng=rng, n_resamples=499)
        assert honest.rounding == pytest.approx(0.05)
        p_values.append(honest.p)
    assert np.mean(np.array(p_values) < 0.05) < 0.45  # 8 tests at 5%: 4 or more would be a chance of 4 in 10,000
    assert min(p_values) < 0.9 < 1.5 - min(p_values)  # and not stuck at 1


def test_rounded_scores_keep_their_size_under_a_transform(rng: np.random.Generator) -> None:
    from richter.tail import TailPlan, compare_conditions

    plan = TailPlan(tolerance_mean=1.0, tolerance_tvar=1.0, transform="log", n_resamples=200)
    rejected = naive = 0
    for _ in range(8):  # exponential on the log scale, rounded on the scorer's
        data = {name: np.round(np.exp(0.3 * gpd(6000, 0.0, 1.0, rng)), 1) for name in ("a", "b")}
        study = compare_conditions(data, plan, rng=rng, band=False)
        results = [c.gof for c in study.conditions.values()]
        assert all(g is not None and "before the transform" in g.note for g in results)
        rejected += sum(g.p < 0.05 for g in results if g is not None)
        logs = np.log(data["a"])
        above = logs[logs > np.quantile(logs, 0.95)] - np.quantile(logs, 0.95)
        naive += gpd_gof(above, method="bootstrap", rounding=0, rng=rng, n_resamples=199).p < 0.05
    assert naive >= 6
    assert rejected <= 4  # 16 tests at 5%: 5 or more would be a chance of 1 in 1,000


def test_misfit_is_rejected(rng: np.random.Generator) -> None:
    x = np.concatenate([gpd(700, 0.1, 0.3, rng), 4 + 0.2 * rng.random(300)])
    assert gpd_gof(x).p < 1e-4


def test_rounding_step_by_hand(rng: np.random.Generator) -> None:
    assert rounding_step(np.repeat(np.round(np.arange(1, 300) / 30, 6), 2)) == pytest.approx(1 / 30, rel=1e-5)
    assert rounding_step(np.repeat([0.25, 0.75, 2.25, 2.5], 5)) == pytest.approx(0.25)
    assert rounding_step(rng.random(200)) is None
    assert rounding_step(np.repeat(rng.random(100), 2)) is None  # ties, but no grid


def test_bad_input_is_named(rng: np.random.Generator) -> None:
    x = gpd(100, 0.1, 1.0, rng)
    assert gpd_gof(x, method="bootstrap", n_resamples=99) == gpd_gof(x, method="bootstrap", n_resamples=99)
    with pytest.raises(InputError, match=r"not above -0\.5"):
        gpd_gof(rng.random(300) ** 0.5)
    with pytest.raises(InputError, match="is not a step"):
        gpd_gof(x, rounding=-1.0)
