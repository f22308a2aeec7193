import numpy as np
import pytest

from richter.errors import InputError
from richter.records import Verdict
from richter.severity import compare_dominance, human_corrected_table
from severity.laws import geometric


def draw(rng: np.random.Generator, n: int, rate: float, b: float) -> np.ndarray:
    return np.where(rng.random(n) < rate, rng.choice(8, size=n, p=geometric(b)) / 2 + 0.5, 0.0)


def test_gaps_by_hand(rng: np.random.Generator) -> None:
    a, b = [0, 1, 1, 4, 2, 0], [0, 0, 2, 4, 0, 0.5]
    found = compare_dominance(a, b, rng=rng, n_resamples=100)
    assert found.difference["0.5"] == pytest.approx(1 / 6)  # four of A, three of B
    assert found.difference["2.0"] == pytest.approx(0)
    assert found.difference["4.0"] == 0
    assert "4.0" not in found.z  # nobody differs there
    # at 0.5: two items only A, one only B: z = 1 / sqrt(3 - 1/6)
    assert found.z["0.5"] == pytest.approx(1 / np.sqrt(3 - 1 / 6))


def test_worse_everywhere_is_verified(rng: np.random.Generator) -> None:
    a, b = draw(rng, 6000, 0.4, 0.3), draw(rng, 6000, 0.25, 0.5)
    found = compare_dominance(a, b, names=("new", "old"), rng=rng, n_resamples=500)
    assert found.finding.verdict is Verdict.VERIFIED
    assert found.finding.sentence.startswith("Verified: new is worse than old at every severity")
    other = compare_dominance(b, a, names=("old", "new"), rng=rng, n_resamples=500)
    assert other.p_b_worse == pytest.approx(found.p_a_worse)
    assert other.finding.sentence == found.finding.sentence


def test_crossing_curves_are_refuted(rng: np.random.Generator) -> None:
    # more errors, but milder ones
    found = compare_dominance(draw(rng, 8000, 0.5, 1.2), draw(rng, 8000, 0.3, 0.2), rng=rng, n_resamples=500)
    assert found.crossing
    assert found.finding.verdict is Verdict.REFUTED


@pytest.mark.slow
def test_equal_conditions_keep_the_level(rng: np.random.Generator) -> None:
    equal, dominance = [], []
    for _ in range(200):
        found = compare_dominance(draw(rng, 500, 0.4, 0.5), draw(rng, 500, 0.4, 0.5), rng=rng, n_resamples=199)
        equal.append(found.p_equal)
        dominance.append(found.finding.verdict is Verdict.VERIFIED)
    assert np.mean(np.array(equal) <= 0.05) == pytest.approx(0.05, abs=3 * 0.0154)
    assert np.mean(dominance) < 0.05


def test_bad_dominance_input(rng: np.random.Generator) -> None:
    with pytest.raises(InputError, match="aligned"):
        compare_dominance([1, 2], [1], rng=rng)
    with pytest.raises(InputError, match="no rated item"):
        compare_dominance([np.nan, 1], [1, np.nan], rng=rng)


def test_human_labels_reach_the_limits(rng: np.random.Generator) -> None:
    n = 8000
    truth = draw(rng, n, 0.3, 0.4)
    missed = (truth >= 3) & (rng.random(n) < 0.5)
    judged = np.where(missed, 0.0, truth)  # the judge misses half of what is severe
    labels = np.full(n, np.nan)
    some = rng.permutation(n)[:1500]
    labels[some] = truth[some]
    table = human_corrected_table(judged, labels)
    row = table.at(3.0)
    actual = np.mean(truth >= 3) * 1e6
    assert table.basis == "corrected by 1500 human labels"
    assert row.lower < actual < row.upper
    assert np.mean(judged >= 3) * 1e6 < row.lower  # as judged the rate is shown to be too low
    uppers = [r.upper for r in table.rows]
    assert uppers == sorted(uppers, reverse=True)


@pytest.mark.slow
def test_human_corrected_limits_cover_recovers_truth(rng: np.random.Generator) -> None:
    trials, above, below = 200, 0, 0
    rate = 0.3 * geometric(0.4)[5:].sum() * 1e6
    for _ in range(trials):
        truth = draw(rng, 2000, 0.3, 0.4)
        judged = np.where((truth >= 3) & (rng.random(2000) < 0.4), 1.0, truth)
        labels = np.where(rng.random(2000) < 0.2, truth, np.nan)
        row = human_corrected_table(judged, labels).at(3.0)
        above += row.upper >= rate
        below += row.lower <= rate
    print(f"one-sided 95% limits cover {above / trials:.3f} and {below / trials:.3f}")
    assert min(above, below) / trials >= 0.95 - 3 * 0.0154
