import numpy as np
import pytest

from richter.errors import InputError, TooFewErrors
from richter.floors import active_estimate, next_batch, start_active
from richter.stats import ece


def pool(rng: np.random.Generator, n: int = 3000, overconfident: float = 0.1) -> tuple[np.ndarray, np.ndarray]:
    """A simulated pool: confidences near 1, right a little less often than they say."""
    c = rng.beta(6, 1.2, size=n)
    return c, (rng.random(n) < np.clip(c - overconfident * c, 0, 1)).astype(float)


def label_all(state, right: np.ndarray, size: int | None = None):
    while len(batch := next_batch(state, size=size)):
        state = state.with_labels(batch, right[batch])
    return state


def test_budget_is_kept_and_no_item_is_asked_twice(rng: np.random.Generator) -> None:
    c, a = pool(rng)
    state = start_active(c, budget=200, seed=1)
    seen: list[int] = []
    phases = []
    while len(batch := next_batch(state, size=17)):
        phases.append(state.phase)
        seen += batch.tolist()
        state = state.with_labels(batch, a[batch])
    assert len(seen) == len(set(seen)) == 200
    assert phases == sorted(phases, key=["explore", "exploit"].index)
    assert set(phases) == {"explore", "exploit"}
    assert state.phase == "done"


def test_same_state_same_batch(rng: np.random.Generator) -> None:
    c, a = pool(rng)
    state = start_active(c, budget=100, seed=5)
    first = next_batch(state)
    assert np.array_equal(first, next_batch(state))
    assert not np.array_equal(first, next_batch(start_active(c, budget=100, seed=6)))
    later = state.with_labels(first, a[first])
    assert np.array_equal(next_batch(later), next_batch(later))


def test_pilot_covers_all_confidences_and_then_goes_where_errors_are(rng: np.random.Generator) -> None:
    c = np.sort(rng.random(2000))
    a = (np.arange(2000) >= 400).astype(float)  # the lowest fifth is always wrong but for a band that is mixed
    a[400:800] = rng.random(400) < 0.5
    state = start_active(c, budget=300, seed=0)
    pilot = next_batch(state)
    assert np.bincount(pilot * 10 // 2000, minlength=10).tolist() == [9] * 10
    state = label_all(state, a)
    counts = active_estimate(state).per_stratum
    assert sum(counts) == 300
    assert min(counts[2], counts[3]) > max(counts[5:])  # the mixed band gets the most


def test_whole_pool_labelled_gives_the_pool_value_by_hand(rng: np.random.Generator) -> None:
    c, a = pool(rng, n=400)
    result = active_estimate(label_all(start_active(c, budget=400, seed=2), a))
    assert result.error_rate == pytest.approx(1 - a.mean())
    assert result.error_interval.half_width == pytest.approx(0, abs=1e-12)
    assert result.ece == pytest.approx(ece(c, a).ece)
    assert result.ece_interval.high == pytest.approx(result.ece, abs=1e-9)


@pytest.mark.slow
def test_estimates_recover_truth_and_intervals_cover() -> None:
    # 150 audits of one pool, 250 labels of 3,000. Binomial 0.95: fewer than 131 covered has probability 0.0006.
    rng = np.random.default_rng(9)
    c, a = pool(rng)
    rate, truth = 1 - a.mean(), ece(c, a).ece
    rates, covered = [], np.zeros(2)
    for seed in range(150):
        result = active_estimate(label_all(start_active(c, budget=250, seed=seed), a))
        rates.append(result.error_rate)
        covered += (rate in result.error_interval, truth in result.ece_interval)
    assert np.mean(rates) == pytest.approx(rate, abs=4 * np.std(rates) / np.sqrt(150))
    assert (covered >= 131).all()


@pytest.mark.slow
def test_ece_of_rare_errors_is_covered_recovers_truth() -> None:
    """3,000 items sure by 90 to 100%, 0.5% wrong, 300 labels: often none is wrong, and smoothed rates cover 78%."""
    covered = 0
    for seed in range(120):
        rng = np.random.default_rng([seed % 30, 5])
        confidence, right = rng.uniform(0.9, 1, 3000), (rng.random(3000) < 0.995).astype(float)
        result = active_estimate(label_all(start_active(confidence, budget=300, seed=seed), right))
        covered += ece(confidence, right).ece in result.ece_interval
    assert covered >= 108  # 114 are expected at 95%; fewer than 108 have probability 0.01


def test_a_judge_as_signal_saves_labels_recovers_truth() -> None:
    # The confidence says nothing; a simulated judge is right about 85% of items. Variance of the error rate, 120 runs:
    # the ratio's own error is about 0.13, the truth about 0.5.
    rng = np.random.default_rng(3)
    a = (rng.random(3000) < 0.8).astype(float)
    c = rng.uniform(0.5, 1, 3000)
    judge = np.where(rng.random(3000) < 0.85, a, 1 - a) + 0.01 * rng.random(3000)
    found = {"judge": [], "confidence": []}
    for seed in range(120):
        for name, signal in (("judge", judge), ("confidence", None)):
            state = label_all(start_active(c, budget=200, seed=seed, signal=signal), a)
            found[name].append(active_estimate(state).error_rate)
    assert np.var(found["judge"]) < 0.8 * np.var(found["confidence"])


def test_bad_pools_are_refused(rng: np.random.Generator) -> None:
    with pytest.raises(InputError, match="does not fit"):
        start_active([0.5, 0.6], budget=3)
    with pytest.raises(InputError, match="outside"):
        start_active([0.5, 60], budget=1)
    with pytest.raises(InputError):
        start_active([], budget=1)
    state = start_active(rng.random(100), budget=50)
    with pytest.raises(TooFewErrors, match="no label yet"):
        active_estimate(state)
    with pytest.raises(InputError, match="label of 0 or 1"):
        state.with_labels([0], [0.5])


def test_items_nobody_can_label_are_replaced(rng: np.random.Generator) -> None:
    c, a = pool(rng, n=200)
    lost = rng.random(200) < 0.3
    state = start_active(c, budget=60, seed=0)
    asked: list[int] = []
    while len(batch := next_batch(state)):
        asked += batch.tolist()
        state = state.with_labels(batch, np.where(lost[batch], np.nan, a[batch]))
    assert state.labelled == 60
    assert len(asked) == len(set(asked)) > 60
    nobody = start_active(c, budget=60, seed=0)
    while len(batch := next_batch(nobody)):
        nobody = nobody.with_labels(batch, np.full(len(batch), np.nan))
    assert nobody.labelled == 0


def test_constant_confidence_still_works(rng: np.random.Generator) -> None:
    a = (rng.random(500) < 0.7).astype(float)
    result = active_estimate(label_all(start_active(np.full(500, 0.9), budget=100), a))
    assert result.error_rate == pytest.approx(0.3, abs=0.15)


def test_the_allocation_is_shrunk_halfway_to_the_mean_by_hand() -> None:
    """Two strata of 100, pilot of 9 each: 5 wrong of 9 and none of 9.

    p = 5.5 / 10 and 0.5 / 10, sigma = 0.4975 and 0.2179, halfway to their mean 0.3577: 0.4276 and 0.2878. Of 60 labels
    that is 35.9 and 24.1 (Neyman alone: 41.7 and 18.3).
    """
    c = np.linspace(0, 1, 200)
    state = start_active(c, budget=60, seed=2, strata=2)
    pilot = next_batch(state)
    low = pilot[pilot < 100]
    assert (len(low), len(pilot)) == (9, 18)
    right = np.ones(200)
    right[low[:5]] = 0
    state = label_all(state, right)
    assert list(active_estimate(state).per_stratum) == [36, 24]
