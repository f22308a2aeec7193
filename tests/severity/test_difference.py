import numpy as np
import pytest
from numpy.typing import NDArray

from richter.claims import p_value
from richter.errors import TooFewErrors
from richter.severity import Recipe, b_from_counts, compare_b, count_levels
from severity.laws import geometric, shaped


def scores(rng: np.random.Generator, law: NDArray[np.float64], n: int, rate: float = 0.4) -> NDArray[np.float64]:
    return np.where(rng.random(n) < rate, rng.choice(8, size=n, p=law) / 2 + 0.5, 0.0)


def test_the_difference_is_that_of_the_two_slopes_second_minus_first(rng: np.random.Generator) -> None:
    a, b = scores(rng, geometric(0.4), 3000), scores(rng, geometric(0.9), 3000)
    found = compare_b(a, b, rng=rng)
    own = [b_from_counts(count_levels(x), n_resamples=200, rng=rng).b for x in (a, b)]
    assert found.m_min == 1.5
    assert found.evidence.values == pytest.approx(own)
    assert found.evidence.estimate == pytest.approx(own[1] - own[0])
    assert found.evidence.estimate > 0


def test_planned_standard_error_against_the_bootstrap(rng: np.random.Generator) -> None:
    a, b = scores(rng, geometric(0.5), 4000), scores(rng, geometric(0.6), 4000)
    found = compare_b(a, b, rng=rng).evidence
    alone = [b_from_counts(count_levels(x), n_resamples=4000, rng=rng).standard_error for x in (a, b)]
    assert found.standard_error == pytest.approx(float(np.hypot(*alone)), rel=0.06)  # unrelated errors


def test_by_ks_both_use_the_higher_start(rng: np.random.Generator) -> None:
    a = scores(rng, shaped(0.5, [0.1, 0.3]), 12_000)
    b = scores(rng, geometric(0.5), 12_000)
    found = compare_b(a, b, recipe=Recipe(m_min="ks"), n_resamples=500, rng=rng)
    assert found.m_min >= 1.5
    assert 0 in found.evidence.interval(0.999)
    assert "reselected" in found.evidence.interval(0.95).method


def test_too_few_errors_are_refused(rng: np.random.Generator) -> None:
    few = np.zeros(500)
    few[:20] = 3.0
    with pytest.raises(TooFewErrors, match=r"20 errors at or above 1\.5"):
        compare_b(few, scores(rng, geometric(0.5), 500), rng=rng)
    with pytest.raises(TooFewErrors, match="no tail to start from"):
        compare_b(few, scores(rng, geometric(0.5), 500), recipe=Recipe(m_min="ks"), rng=rng)


@pytest.mark.slow
@pytest.mark.parametrize("n", [1000, 4000])
def test_size_at_a_planned_m_min_with_unequal_slips_recovers_truth(n: int, rng: np.random.Generator) -> None:
    trials, hits = 800, 0
    for _ in range(trials):
        a, b = scores(rng, shaped(0.6, [2.0, 1.5]), n), scores(rng, geometric(0.6), n)
        hits += p_value(compare_b(a, b, recipe=Recipe(min_events=20), rng=rng).evidence, 0.0) <= 0.05
    # slopes above 1.5 are equal: the lower 99% limit of the share of false differences must not exceed 5%
    assert hits / trials - 2.33 * np.sqrt(0.05 * 0.95 / trials) <= 0.05


@pytest.mark.slow
def test_size_with_groups_recovers_truth(rng: np.random.Generator) -> None:
    trials, hits = 400, 0
    groups = np.repeat(np.arange(60), 25)
    for _ in range(trials):
        both = []
        for _ in range(2):
            steep = rng.choice([0.2, 1.2], 60)[groups]
            law = np.stack([geometric(0.2), geometric(1.2)])[(steep > 1).astype(int)]
            level = (rng.random((1500, 1)) > np.cumsum(law, axis=1)).sum(axis=1)
            both.append(np.where(rng.random(1500) < 0.5, np.minimum(level, 7) / 2 + 0.5, 0.0))
        hits += p_value(compare_b(*both, groups=groups, rng=rng).evidence, 0.0) <= 0.05
    assert hits / trials - 2.33 * np.sqrt(0.05 * 0.95 / trials) <= 0.05
