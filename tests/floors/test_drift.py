"""Evidence of a change: exact under any law of the days, quick enough, and told where it was."""

import itertools

import numpy as np
import pytest
from scipy import stats

from richter.errors import InputError
from richter.floors import change_evidence, change_point, sequential_scores
from richter.floors._drift import (
    CORRELATION_WEIGHTS,
    CORRELATIONS,
    EXCUSING_CORRELATIONS,
    SHIFTS,
    _day_weights,
    _excuse_correlation,
)


def test_scores_are_ranks_so_far_by_hand() -> None:
    z = sequential_scores([3.0, 1.0, 2.0], rng=np.random.default_rng(1))
    u = np.random.default_rng(1).random(3)
    assert stats.norm.cdf(z) == pytest.approx([u[0], u[1] / 2, (1 + u[2]) / 3])


def test_scores_are_independent_normal_whatever_the_law_recovers_truth() -> None:
    rng = np.random.default_rng(2)
    made = [sequential_scores(x, rng=rng) for x in (rng.binomial(20, 0.02, 4000), rng.standard_cauchy(4000))]
    for z in made:
        assert stats.kstest(z, "norm").pvalue > 1e-3
        assert abs(np.corrcoef(z[1:], z[:-1])[0, 1]) < 4 / np.sqrt(4000)


def density(z: np.ndarray, mean: np.ndarray, spread: np.ndarray, rho: float) -> float:
    """Normal days with these means and spreads, each correlated with the day before by rho^lag."""
    lag = np.abs(np.subtract.outer(np.arange(len(z)), np.arange(len(z))))
    return float(stats.multivariate_normal.pdf(z, mean=mean, cov=np.outer(spread, spread) * rho**lag))


@pytest.mark.parametrize("independent", [True, False])
def test_evidence_is_the_mixture_of_likelihood_ratios_by_hand(independent: bool) -> None:
    """Against scipy's multivariate normal, which knows nothing of recursions over days."""
    z = np.array([0.3, -1.2, 2.0, 1.5])
    weight, j = _day_weights(4), np.arange(1, 5)
    none = np.prod(stats.norm.pdf(z))
    total = 0.0
    for rho, believed in [(0.0, 1.0)] if independent else zip(CORRELATIONS, CORRELATION_WEIGHTS, strict=True):
        total += believed * (1 - weight[:3].sum()) * density(z, 0 * z, 0 * z + 1, rho) / none
        for k, d in itertools.product((1, 2, 3), SHIFTS):
            a = np.where(j > k, k / j, 0.0)
            spread = 1 / np.sqrt(1 + d**2 * a * (1 - a))
            total += believed * weight[k - 1] * density(z, d * a * spread, spread, rho) / none / len(SHIFTS)
    assert change_evidence(z, independent=independent)[-1] == pytest.approx(total)
    assert _day_weights(100_000).sum() <= 1
    assert CORRELATION_WEIGHTS.sum() == pytest.approx(1)


def test_correlated_days_are_excused_by_their_best_likelihood_by_hand() -> None:
    z = np.convolve(np.random.default_rng(6).normal(size=2000), 0.6 ** np.arange(30), mode="valid") * 0.8
    z = z[:400]
    best = max(density(z[:60], 0 * z[:60], 0 * z[:60] + 1, rho) for rho in EXCUSING_CORRELATIONS)
    assert _excuse_correlation(z)[59] == pytest.approx(max(1, 0.3**2 * best / np.prod(stats.norm.pdf(z[:60]))))
    assert _excuse_correlation(z)[-1] > 1e10


def test_false_alarms_stay_under_five_percent_recovers_truth() -> None:
    # 200 series of 120 days at a limit of 20: more than 20 alarms have probability 0.001 at 5%
    rng = np.random.default_rng(3)
    made = [sequential_scores(rng.binomial(30, 0.1, 120), rng=rng) for _ in range(200)]
    for independent in (True, False):
        assert sum(change_evidence(z, independent=independent).max() >= 20 for z in made) <= 20


def test_days_that_depend_on_the_day_before_raise_few_alarms_recovers_truth() -> None:
    """Correlated by 0.3 they do by the score of independent days, and do not by the default."""
    rng = np.random.default_rng(5)
    rang = {True: 0, False: 0}
    for _ in range(60):
        e = rng.normal(size=300)
        x = [e[0]]
        for step in e[1:]:
            x.append(0.3 * x[-1] + step)
        z = sequential_scores(x, rng=rng)
        for independent in rang:
            rang[independent] += change_evidence(z, independent=independent).max() >= 20
    assert rang[False] <= 9  # of 60 at 5%: more have probability 0.001
    assert rang[True] > 2 * rang[False] + 9


def test_a_change_is_told_soon_and_where_it_was_recovers_truth() -> None:
    rng = np.random.default_rng(4)
    late, inside = [], 0
    for _ in range(40):
        x = np.r_[rng.binomial(100, 0.15, 100), rng.binomial(100, 0.2, 150)] / 100
        day = int(np.flatnonzero(change_evidence(sequential_scores(x, rng=rng)) >= 100)[0])
        late.append(day - 99)
        there = change_point(x[: day + 1])
        inside += there.low <= 99 <= there.high
        assert there.low <= there.day <= there.high
    assert np.median(late) <= 30
    assert inside >= 33  # of 40 at 95%: fewer have probability 0.001


def test_what_is_no_series_is_refused() -> None:
    with pytest.raises(InputError, match="one number a day"):
        sequential_scores([1.0, float("nan")], rng=np.random.default_rng(0))
    with pytest.raises(InputError, match="no place for a change"):
        change_point([1.0, 2.0])
    flat = change_point([1.0] * 10)  # nothing changed: anywhere
    assert flat.high - flat.low >= 7
