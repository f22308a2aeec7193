import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import binomtest, norm, t

from richter.errors import InputError
from richter.stats import clopper_pearson, effective_sample_size, unit_rate, wilson


@pytest.mark.parametrize(("k", "n"), [(0, 10), (3, 10), (10, 10), (1, 1000), (499, 1000)])
@pytest.mark.parametrize("level", [0.9, 0.95, 0.99])
def test_intervals_against_scipy(k: int, n: int, level: float) -> None:
    test = binomtest(k, n)
    for ours, name in ((wilson, "wilson"), (clopper_pearson, "exact")):
        theirs = test.proportion_ci(level, method=name)
        assert (ours(k, n, level=level).low, ours(k, n, level=level).high) == pytest.approx(tuple(theirs), abs=1e-12)


def test_zero_seen_is_a_bound_by_hand() -> None:
    # P(0 of 300) = (1 - p)^300 = 0.05 at p = 1 - 0.05^(1/300)
    assert clopper_pearson(0, 300, side="upper").high == pytest.approx(1 - 0.05 ** (1 / 300), rel=1e-12)
    assert clopper_pearson(0, 300, side="upper").low == 0.0


def test_bad_counts_are_refused() -> None:
    with pytest.raises(InputError, match="5 out of 4"):
        wilson(5, 4)
    with pytest.raises(InputError, match="level"):
        wilson(1, 4, level=95)


def test_rate_by_unit_by_hand() -> None:
    """Copies add nothing: 40 groups of 25 equal answers are worth 40 answers, less what Student's t costs."""
    right = np.arange(40) < 12
    copied = unit_rate(np.repeat(right, 25), np.repeat(np.arange(40), 25))
    size = 0.3 * 0.7 / (0.3 * 0.7 / 39) * (norm.ppf(0.975) / t.ppf(0.975, 39)) ** 2
    by_hand = wilson(0.3 * size, size)
    assert (copied.low, copied.high) == pytest.approx((by_hand.low, by_hand.high))
    none = unit_rate(np.zeros(1000), np.repeat(np.arange(40), 25), side="upper")
    assert none.high == pytest.approx(1 - 0.05 ** (1 / 40))
    alone = unit_rate(right)
    assert (alone.low, alone.high, alone.method) == (wilson(12, 40).low, wilson(12, 40).high, "wilson")


def test_rate_by_unit_covers_what_is_true_of_crowded_events() -> None:
    """40 groups of 10, correlation 0.3, rate 0.4: of 600 tables 95% within Monte Carlo error; rows alone cover 0.7."""
    rng, unit = np.random.default_rng(11), np.repeat(np.arange(40), 10)
    hits = plain = 0
    for _ in range(600):
        event = rng.random(400) < np.repeat(rng.beta(0.4 * 7 / 3, 0.6 * 7 / 3, 40), 10)
        found, rows = unit_rate(event, unit), unit_rate(event)
        hits += found.low <= 0.4 <= found.high
        plain += rows.low <= 0.4 <= rows.high
    assert hits / 600 >= 0.93
    assert plain / 600 < 0.85


def test_what_answers_are_worth_by_hand() -> None:
    """Ten units of two alike answers, half of them events; Student's t has nine degrees of freedom."""
    right, unit = np.repeat([1.0] * 5 + [0.0] * 5, 2), np.repeat(np.arange(10), 2)
    variance = 10 / 9 * 10 * 1.0 / 20**2
    student = (1.959963985 / 2.262157163) ** 2
    assert effective_sample_size(right, unit) == pytest.approx(0.25 / variance * student)
    assert effective_sample_size(right, unit, side="upper") == pytest.approx(
        0.25 / variance * (1.644853627 / 1.833112933) ** 2
    )
    assert effective_sample_size(right) == pytest.approx(20)
    assert effective_sample_size([1.0] * 2 + [0.0] * 18, unit) == pytest.approx(10)  # few events: a unit is worth one
    assert effective_sample_size(right, weight=np.tile([1.0, 3.0], 10)) == pytest.approx(
        16
    )  # (20 x 2)^2 / (10 x 1 + 10 x 9)


@pytest.mark.parametrize(("spread", "rate"), [(1.5, 0.01), (1.5, 0.05), (1.0, 0.2)])
def test_groups_of_unequal_size_are_covered_recovers_truth(spread: float, rate: float) -> None:
    """60 groups of lognormal size, correlation 0.3 within; units - 1 degrees of freedom covered 0.81 to 0.91."""
    rng = np.random.default_rng(6)
    covered = 0
    for _ in range(300):
        sizes = np.maximum(1, np.round(10 * np.exp(spread * rng.standard_normal(60)))).astype(int)
        unit = np.repeat(np.arange(60), sizes)
        event = rng.random(len(unit)) < rng.beta(rate * 0.7 / 0.3, (1 - rate) * 0.7 / 0.3, 60)[unit]
        covered += rate in unit_rate(event, unit)
    assert covered >= 270  # 285 are expected; fewer than 270 have probability 0.0003 at 95%


def test_few_groups_with_events_leave_room_for_a_whole_one_recovers_truth() -> None:
    """40 groups of 50, log-odds of normal law, rate 2%: by groups with events alone a sixth lay above the limit."""
    rng, unit = np.random.default_rng(13), np.repeat(np.arange(40), 50)
    odds = norm.rvs(-7.2235, 3, size=(400, 40), random_state=rng)
    limits = [unit_rate(rng.random(2000) < expit(own)[unit], unit, side="upper").high for own in odds]
    assert np.mean(np.array(limits) < 0.02) <= 0.05
    rate = quad(lambda z: expit(-7.2235 + 3 * z) * norm.pdf(z), -12, 12)[0]
    assert rate == pytest.approx(0.02, rel=1e-3)
