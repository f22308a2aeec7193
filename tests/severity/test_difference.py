import numpy as np
import pytest
from scipy.stats import chi2

from richter.errors import InputError
from richter.severity import Recipe, compare_b, likelihood_ratio_p
from richter.severity._difference import difference_from_joint
from richter.severity._grid import count_joint, snap
from richter.severity._kernels import swap_halves
from severity.laws import geometric


def paired_levels(
    rng: np.random.Generator, n: int, error_rate: float, b_a: float, b_b: float
) -> tuple[np.ndarray, np.ndarray]:
    """Two conditions that err on the same hard items more often than chance, severities drawn from their laws."""
    hard = rng.random(n)
    out = []
    for b in (b_a, b_b):
        wrong = rng.random(n) < np.where(hard < 0.5, 1.6, 0.4) * error_rate
        out.append(np.where(wrong, rng.choice(8, size=n, p=geometric(b)) / 2 + 0.5, 0.0))
    return out[0], out[1]


def test_swaps_keep_every_items_two_levels(rng: np.random.Generator) -> None:
    a, b = paired_levels(rng, 700, 0.5, 0.6, 0.6)
    joint = count_joint(snap(a), snap(b))
    bits = rng.integers(0, 2**64, size=(500, 200), dtype=np.uint64)
    rows_a, rows_b = swap_halves(joint, bits)
    both = joint.sum(axis=0) + joint.sum(axis=1)
    np.testing.assert_array_equal(rows_a + rows_b, np.tile(both[1:], (500, 1)))
    # on average both have half of what they have together; the swaps of n_ij + n_ji items give the variance
    folded = joint + joint.T - 2 * np.diag(np.diag(joint))
    sd = np.sqrt(folded.sum(axis=1)[1:] / 4)
    assert np.all(np.abs(rows_a.mean(axis=0) - both[1:] / 2) < 4.5 * sd / np.sqrt(500) + 1e-12)
    # the variance of 500 draws is known to sqrt(2 / 500) = 6%
    seen = sd > 2
    np.testing.assert_allclose(rows_a.std(axis=0)[seen], sd[seen], rtol=4.5 * np.sqrt(0.5 / 500))


@pytest.mark.slow
@pytest.mark.parametrize("paired", [True, False])
def test_p_against_plain_shuffles(paired: bool, rng: np.random.Generator) -> None:
    a, b = paired_levels(rng, 1500, 0.3, 0.55, 0.75)
    recipe = Recipe(m_min=0.5)
    ours = compare_b(a, b, recipe=recipe, paired=paired, n_resamples=4000, refine_to=0, rng=rng)

    def slope(x: np.ndarray) -> float:
        return compare_b(x, a, recipe=recipe, paired=False, n_resamples=2, refine_to=0, rng=rng).delta_b

    observed = abs(slope(a) - slope(b))
    hits = 0
    for _ in range(400):
        if paired:
            swap = rng.random(len(a)) < 0.5
            first, second = np.where(swap, b, a), np.where(swap, a, b)
        else:
            pool = rng.permutation(np.concatenate([a, b]))
            first, second = pool[: len(a)], pool[len(a) :]
        hits += abs(slope(first) - slope(second)) >= observed - 1e-12
    p = (hits + 1) / 401
    # two binomial errors, of 400 and of 4,000 shuffles; four of them
    assert ours.p == pytest.approx(p, abs=4 * np.sqrt(max(p, 0.01) * (1 - p) * (1 / 400 + 1 / 4000)))


@pytest.mark.slow
def test_size_and_pairing_recovers_truth(rng: np.random.Generator) -> None:
    p = []
    for _ in range(300):
        a, b = paired_levels(rng, 1200, 0.35, 0.6, 0.6)
        p.append(compare_b(a, b, n_resamples=200, refine_to=0, rng=rng).p)
    # 5% with a binomial error of 0.0126 at 300 trials, three of it
    assert np.mean(np.array(p) <= 0.05) == pytest.approx(0.05, abs=0.038)


def test_small_p_is_refined_and_power_is_there(rng: np.random.Generator) -> None:
    a, b = paired_levels(rng, 6000, 0.4, 0.4, 0.9)
    found = compare_b(a, b, n_resamples=1000, refine_to=20_000, rng=rng)
    assert found.n_permutations == 20_000
    assert found.p == 1 / 20_001
    assert found.delta_b < 0
    assert found.interval.high < 0
    assert found.standard_error == pytest.approx(found.interval.half_width / 1.96, rel=0.3)


def test_identical_answers_are_never_different() -> None:
    a, _ = paired_levels(np.random.default_rng(1), 800, 0.4, 0.6, 0.6)
    assert compare_b(a, a, n_resamples=200, rng=np.random.default_rng(1)).p == 1.0


def test_direction_changes_sign_only() -> None:
    a, b = paired_levels(np.random.default_rng(1), 2000, 0.4, 0.5, 0.7)
    joint = count_joint(snap(a), snap(b))
    one = difference_from_joint(joint, n_resamples=300, rng=np.random.default_rng(5))
    other = difference_from_joint(joint.T.copy(), n_resamples=300, rng=np.random.default_rng(5))
    assert other.delta_b == -one.delta_b
    assert compare_b(a, b, n_resamples=300, rng=np.random.default_rng(5)) == one


def test_likelihood_ratio_by_hand_and_its_level(rng: np.random.Generator) -> None:
    a, b = np.array([0, 100, 60, 30, 20, 10, 5, 3, 2]), np.array([0, 150, 50, 20, 10, 5, 1, 1, 0])
    steps = np.arange(8)

    def best(counts: np.ndarray) -> float:
        grid = np.linspace(-2, 0, 200_001)[:, None]
        values = np.exp(grid * steps)
        return float(np.max(np.log(values / values.sum(axis=1, keepdims=True)) @ counts))

    statistic = 2 * (best(a[1:]) + best(b[1:]) - best(a[1:] + b[1:]))
    assert likelihood_ratio_p(a, b, m_min=0.5) == pytest.approx(chi2.sf(statistic, 1), rel=1e-4)
    rejected = 0
    for _ in range(2000):
        x, y = rng.multinomial(400, geometric(0.6), size=2)
        rejected += likelihood_ratio_p(np.concatenate([[0], x]), np.concatenate([[0], y]), m_min=1.0) < 0.05
    assert rejected / 2000 == pytest.approx(0.05, abs=3 * 0.0049)


def test_unequal_lengths_are_refused(rng: np.random.Generator) -> None:
    with pytest.raises(InputError, match="item by item"):
        compare_b([1, 2], [1, 2, 3], rng=rng)
    with pytest.raises(InputError, match="no slope"):
        compare_b([1, 2, 0], [1, 2, 3], rng=rng)
