import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import binom

from helpers.trials import most_hits, n_trials
from richter.calibration import safe_threshold
from richter.errors import InputError


@pytest.mark.slow
@pytest.mark.parametrize(("target", "power"), [(0.02, 0.4), (0.1, 1.5)])
def test_the_promise_holds_recovers_truth(target: float, power: float) -> None:
    # error above the threshold is 1 - E[c^power | c >= t], on a law known exactly: a threshold that breaks it fails
    rng = np.random.default_rng(1)
    grid = np.sort(rng.beta(3, 0.6, 400_000))
    errors = 1 - np.cumsum((grid**power)[::-1])[::-1] / np.arange(len(grid), 0, -1)
    broken = found = 0
    trials = n_trials(400)
    for _ in range(trials):
        c = rng.beta(3, 0.6, 1500)
        result = safe_threshold(c, rng.random(1500) < c**power, target=target, rng=rng)
        if result.threshold is not None:
            found += 1
            place = min(int(np.searchsorted(grid, result.threshold)), len(grid) - 1)
            broken += errors[place] > target
    assert broken <= most_hits(trials, 0.05)
    assert found > trials / 4


@pytest.mark.slow
def test_the_promise_holds_with_groups_recovers_truth() -> None:
    rng = np.random.default_rng(2)
    broken = plain = 0
    group = np.repeat(np.arange(40), 40)
    for _ in range(200):
        shared = rng.normal(size=40)[group]
        wrong = ndtr(np.sqrt(0.5) * shared + np.sqrt(0.5) * rng.normal(size=1600)) < 0.11
        c = rng.random(1600)  # confidence tells nothing: every threshold has 11% errors
        broken += safe_threshold(c, ~wrong, target=0.1, rng=rng, unit=group).threshold is not None
        plain += safe_threshold(c, ~wrong, target=0.1, rng=rng).threshold is not None
    assert broken <= 20
    assert plain > 20


def test_the_test_is_the_binomial_tail_against_scipy() -> None:
    # one confidence for all: the held-out half decides by P(X <= wrong), X of its size with the target's rate
    a = np.ones(600)
    a[np.random.default_rng(3).permutation(600)[:6]] = 0
    result = safe_threshold(np.full(600, 0.9), a, target=0.05, rng=np.random.default_rng(0))
    assert result.threshold == 0.9
    assert binom.cdf(result.wrong, result.n, 0.05) <= 0.05
    assert (result.n, result.tested, result.share) == (300, 1, 1.0)


def test_too_few_items_are_said_with_how_many_it_takes() -> None:
    result = safe_threshold(np.linspace(0, 1, 20), np.ones(20), target=0.02, rng=np.random.default_rng(0))
    assert result.threshold is None
    assert result.needed == 149  # 0.98^149 < 0.05 < 0.98^148
    assert "10 held-out answers are too few" in result.sentence


@pytest.mark.parametrize("a", [np.zeros(200), np.ones(200)])
def test_all_right_and_all_wrong(a: np.ndarray) -> None:
    result = safe_threshold(np.ones(200), a, target=0.05, rng=np.random.default_rng(0))
    assert (result.threshold is not None) == bool(a[0])


def test_a_target_outside_is_refused() -> None:
    with pytest.raises(InputError, match="target"):
        safe_threshold([0.5], [1], target=2.0, rng=np.random.default_rng(0))


def test_weights_count_in_the_share_of_errors_recovers_truth() -> None:
    """Three in ten answers count three times and err more: without weights the promise is broken, with them kept."""
    rng = np.random.default_rng(11)

    def made(size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        c, heavy = rng.beta(3, 0.6, size), rng.random(size) < 0.3
        return c, np.where(heavy, 3.0, 1.0), np.clip((1 - c**0.8) * np.where(heavy, 2.5, 0.3), 0, 1)

    grid, weight, risk = made(100_000)
    broken = {"weighted": 0, "alike": 0}
    given = 0
    for _ in range(100):
        c, w, p = made(1000)
        a = rng.random(1000) >= p
        for name, own in (("weighted", w), ("alike", None)):
            found = safe_threshold(c, a, target=0.1, rng=rng, weight=own)
            if found.threshold is not None:
                kept = grid >= found.threshold
                broken[name] += np.average(risk[kept], weights=weight[kept]) > 0.1
                given += name == "weighted"
    assert broken["alike"] > 20
    assert broken["weighted"] <= 10  # at most 5 of 100 are promised; 11 are under 1% by chance
    assert given > 50


def test_equal_weights_change_nothing() -> None:
    rng = np.random.default_rng(2)
    c = rng.beta(3, 0.6, 600)
    a = rng.random(600) < c
    plain, alike = (
        safe_threshold(c, a, target=0.1, rng=np.random.default_rng(1), weight=w) for w in (None, np.full(600, 5.0))
    )
    assert plain == alike
