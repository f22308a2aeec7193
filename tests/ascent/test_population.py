import numpy as np
import pytest

from richter.stats import wilson
from richter_audit.ascent import population_rate


def test_with_one_question_a_paragraph_it_is_wilsons_interval_by_hand():
    # s^2 = p (1 - p) n / (n - 1), so the effective size is n - 1 (before the finite correction, here 1e-7)
    errors = [1.0] * 12 + [0.0] * 88
    found = population_rate(errors, size=10**9)
    reference = wilson(12, 100)
    assert found.error_rate == pytest.approx(0.12)
    # n - 1 in place of n moves a limit by half a percent of the half-width (about 0.065): under 0.0005
    assert found.interval.low == pytest.approx(reference.low, abs=5e-4)
    assert found.interval.high == pytest.approx(reference.high, abs=5e-4)


def test_nothing_drawn_is_unknown_and_everything_drawn_is_not_certain_by_hand():
    assert population_rate([], size=50).error_rate is None
    assert population_rate([], size=50).interval is None
    everything = population_rate([1.0, 0.0, 0.0, 1.0], size=4).interval
    reference = wilson(1.5, 3)  # s^2 = 1/3 is p (1 - p) 4 / 3: an effective size of 3
    assert (everything.low, everything.high) == pytest.approx((reference.low, reference.high))
    none_wrong = population_rate([0.0] * 20, size=20).interval
    assert none_wrong.high == pytest.approx(wilson(0, 20).high)


def test_no_error_seen_is_a_bound_not_zero():
    interval = population_rate([0.0] * 50, size=10**6).interval
    assert interval.low == 0.0
    assert interval.high == pytest.approx(wilson(0, 50).high, abs=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rate", "questions", "n", "size"),
    [(0.03, 1, 100, 10**5), (0.03, 3, 200, 10**5), (0.26, 3, 130, 2000), (0.6, 5, 130, 10**5)],
)
def test_the_interval_covers_recovers_truth(rate, questions, n, size):
    """Paragraphs differ in their chance (Beta, mean `rate`), questions are drawn given it; 4,000 samples.

    Standard error of a coverage of 0.95: sqrt(0.95 x 0.05 / 4000) = 0.0034; Wilson's own coverage moves with the
    lattice by about 1.5 points at these sizes, so 0.95 +- (0.015 + 3 x 0.0034), rounded to 0.025.
    """
    rng = np.random.default_rng(8)
    chance = rng.beta(4 * rate, 4 * (1 - rate), size=size)
    truth_errors = rng.binomial(questions, chance) / questions
    truth = truth_errors.mean()
    hits = 0
    for _ in range(4000):
        sample = truth_errors[rng.choice(size, n, replace=False)]
        hits += truth in population_rate(sample, size=size).interval
    assert hits / 4000 == pytest.approx(0.95, abs=0.025)
