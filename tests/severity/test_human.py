import numpy as np
import pytest

from helpers.trials import fewest_hits, n_trials
from richter.severity import human_corrected_rates
from severity.laws import geometric


def draw(rng: np.random.Generator, n: int, rate: float, b: float) -> np.ndarray:
    return np.where(rng.random(n) < rate, rng.choice(8, size=n, p=geometric(b)) / 2 + 0.5, 0.0)


def test_human_labels_reach_the_limits(rng: np.random.Generator) -> None:
    n = 8000
    truth = draw(rng, n, 0.3, 0.4)
    missed = (truth >= 3) & (rng.random(n) < 0.5)
    judged = np.where(missed, 0.0, truth)  # the judge misses half of what is severe
    labels = np.full(n, np.nan)
    some = rng.permutation(n)[:1500]
    labels[some] = truth[some]
    table = human_corrected_rates(judged, labels)(0.95)
    row = table.at(3.0)
    actual = np.mean(truth >= 3) * 1e6
    assert table.basis == "corrected by 1500 human labels"
    assert row.lower < actual < row.upper
    assert np.mean(judged >= 3) * 1e6 < row.lower  # as judged the rate is shown to be too low
    uppers = [r.upper for r in table.rows]
    assert uppers == sorted(uppers, reverse=True)


@pytest.mark.slow
def test_human_corrected_limits_cover_recovers_truth(rng: np.random.Generator) -> None:
    trials, above, below = n_trials(100), 0, 0
    rate = 0.3 * geometric(0.4)[5:].sum() * 1e6
    for _ in range(trials):
        truth = draw(rng, 2000, 0.3, 0.4)
        judged = np.where((truth >= 3) & (rng.random(2000) < 0.4), 1.0, truth)
        labels = np.where(rng.random(2000) < 0.2, truth, np.nan)
        row = human_corrected_rates(judged, labels)(0.95).at(3.0)
        above += row.upper >= rate
        below += row.lower <= rate
    print(f"one-sided 95% limits cover {above / trials:.3f} and {below / trials:.3f}")
    assert min(above, below) >= fewest_hits(trials, 0.95)
