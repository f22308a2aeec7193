import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from richter.errors import InputError
from richter.stats import bin_gaps, bootstrap_ece, ece, ece_interval
from richter.stats._stats_kernels import absolute_deviation


def test_ece_by_hand() -> None:
    # bins of 0.5: [0, 0.5) holds 0.2 (wrong) and 0.4 (right): |0.6 - 1| / 4 = 0.1
    # [0.5, 1] holds 0.5 (wrong) and 1.0 (right): |1.5 - 1| / 4 = 0.125
    result = ece([0.2, 0.4, 0.5, 1.0], [0, 1, 0, 1], bins=2)
    assert result.ece == pytest.approx(0.225, abs=1e-15)
    assert result.signed_gap == pytest.approx(0.025, abs=1e-15)
    assert result.brier == pytest.approx((0.04 + 0.36 + 0.25 + 0) / 4, abs=1e-15)
    assert result.auroc == pytest.approx(3 / 4)  # of the four (right, wrong) pairs only (0.4, 0.5) is out of order
    assert [(b.n, b.low, b.high) for b in result.bins] == [(2, 0.0, 0.5), (2, 0.5, 1.0)]
    # calibrated null: first bin E|X - 0.6| with X a sum of Bernoulli(0.2) and (0.4); second with (0.5) and (1.0)
    first = 0.8 * 0.6 * 0.6 + (0.2 * 0.6 + 0.8 * 0.4) * 0.4 + 0.2 * 0.4 * 1.4
    assert result.null == pytest.approx((first + 0.5) / 4, abs=1e-15)


@pytest.mark.parametrize("draws", [10, 20, 25, 30, 50, 70])
def test_bins_of_ratios_follow_integer_arithmetic(draws: int) -> None:
    counts = np.arange(draws + 1)
    expected = np.minimum(counts * 10 // draws, 9)
    gaps = bin_gaps(counts / draws, np.zeros(draws + 1))
    assert np.array_equal(np.round(gaps.low[gaps.index] * 10).astype(int), expected)


def test_netcal_agrees_against_netcal() -> None:
    # numbers printed by tests/stats/netcal_ece.py with netcal 1.4.0
    rng = np.random.default_rng(7)
    for (n, bins), expected in NETCAL.items():
        c = rng.random(n)
        a = (rng.random(n) < c**1.5).astype(float)
        assert ece(c, a, bins=bins).ece == pytest.approx(expected, abs=1e-12)


NETCAL = {
    (100, 10): 0.11138188447232923,
    (1000, 10): 0.09360273521925108,
    (1000, 15): 0.0869048827963278,
    (14042, 10): 0.10419759454083735,
}


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=60), st.randoms())
@settings(max_examples=60, deadline=None)
def test_order_does_not_matter(rows: list[tuple[float, bool]], random: object) -> None:
    c, a = (np.array(x, dtype=float) for x in zip(*rows, strict=True))
    first = ece(c, a)
    order = np.random.default_rng(3).permutation(len(c))
    second = ece(c[order], a[order])
    assert second.ece == pytest.approx(first.ece, abs=1e-12)
    assert first.interval.low - 1e-9 <= first.debiased <= first.interval.high + 1e-9
    assert 0 <= first.interval.low <= first.ece + 1e-12
    assert first.interval.high <= 1


def test_null_mean_against_scipy() -> None:
    for n, p in [(7, 0.3), (60, 0.95), (400, 0.5)]:
        k = np.arange(n + 1)
        assert absolute_deviation(np.full(n, p)) == pytest.approx(np.sum(binom.pmf(k, n, p) * np.abs(k - n * p)))


def test_null_mean_switches_to_the_normal_smoothly() -> None:
    # just below and above the switch the exact and the normal value differ by less than 1 / (12 variance)
    n = 1650
    exact = absolute_deviation(np.full(n, 0.5))
    assert exact == pytest.approx(math.sqrt(2 * n / 4 / math.pi), rel=1 / (12 * n / 4) * 8)


def test_debiased_is_zero_for_a_calibrated_table_and_keeps_a_large_gap() -> None:
    point, interval = ece_interval(np.full(10, 1e-4), np.full(10, 0.01))
    assert point == 0
    assert interval.low == 0
    point, interval = ece_interval(np.full(10, 0.1), np.full(10, 1e-4))
    assert point == pytest.approx(1.0, abs=1e-6)
    # far from zero folding is void: the interval is the normal one, T +- z sqrt(sum s^2)
    assert interval.low == pytest.approx(1.0 - 1.959964 * 1e-4 * math.sqrt(10), abs=1e-6)


def test_more_than_ten_bins_use_the_conservative_form_by_hand() -> None:
    gap, s = np.full(12, 0.01), np.full(12, 0.001)
    point, interval = ece_interval(gap, s)
    spread = 1.959964 * 0.001 * math.sqrt(12)
    assert interval.low == pytest.approx(0.12 - math.sqrt(2 / math.pi) * 0.012 - spread, abs=1e-8)
    assert interval.high == pytest.approx(0.12 + spread, abs=1e-8)
    assert interval.method == "folded-normal conservative"
    assert point in interval


def test_luckily_small_gaps_are_not_certainty() -> None:
    # every gap is a tenth of its standard error, which happens: the upper limit is not 0 but the plug-in at least
    point, interval = ece_interval(np.full(10, 0.001), np.full(10, 0.01))
    assert point == 0
    assert interval.high >= 0.01


def test_all_right_at_full_confidence_is_not_certainty() -> None:
    result = ece(np.ones(100), np.ones(100))
    assert result.ece == 0
    assert result.interval.high > 0.02  # an error rate of 2% shows no error in 100 answers 13% of the time
    assert "base rate" in result.notes[0]
    assert result.auroc is None


@pytest.mark.sampled(1)
@pytest.mark.parametrize("target", [0.0, 0.02, 0.08])
def test_interval_recovers_truth(rng: np.random.Generator, target: float) -> None:
    # confidence on [0.1, 0.9], correct with probability c - target: the binned ECE is the shift itself
    runs, n, hit, boot = 400, 500, 0, 0
    for _ in range(runs):
        c = rng.uniform(0.1, 0.9, n)
        a = (rng.random(n) < c - target).astype(float)
        gaps = bin_gaps(c, a)
        hit += target in ece_interval(gaps.gap, gaps.standard_error)[1]
        if target == 0:
            boot += target in bootstrap_ece(c, a, rng=rng, n_resamples=100).interval
    # 92% is asked for; three standard errors of a proportion of 400 below it would be a failure of the method
    assert hit / runs >= 0.92 - 3 * math.sqrt(0.92 * 0.08 / runs)
    if target == 0:
        assert boot == 0


def test_bootstrap_matches_a_plain_loop(rng: np.random.Generator) -> None:
    c = rng.random(301)
    a = (rng.random(301) < c).astype(float)
    fast = bootstrap_ece(c, a, rng=rng, n_resamples=4000).resampled
    d, index = c - a, np.minimum((c * 10).astype(int), 9)
    draws = rng.integers(0, 301, (4000, 301))
    plain = np.array([np.abs(np.bincount(index[i], weights=d[i], minlength=10)).sum() / 301 for i in draws])
    error = np.std(plain) / math.sqrt(4000)
    assert abs(fast.mean() - plain.mean()) < 4 * math.sqrt(2) * error
    assert fast.std() == pytest.approx(plain.std(), rel=4 / math.sqrt(2 * 4000) * math.sqrt(2))


def test_equal_mass_bins_hold_equal_counts_and_keep_ties() -> None:
    result = ece(np.arange(100) / 100, np.arange(100) % 2, binning="mass")
    assert [b.n for b in result.bins] == [10] * 10
    tied = ece(np.repeat([0.5, 0.9], [95, 5]), np.arange(100) % 2, binning="mass")
    assert [b.n for b in tied.bins] == [95, 5]


@pytest.mark.parametrize(
    ("confidence", "correct", "message"),
    [
        ([0.5, 80.0], [0, 1], "A confidence of 80 is outside"),
        ([0.5], [0, 1], "differ in shape"),
        ([], [], "no graded items"),
        ([0.5, math.nan], [0, 1], "missing"),
        ([0.5], [2], "neither 0 nor 1"),
    ],
)
def test_faults_are_named(confidence: list[float], correct: list[float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ece(confidence, correct)
