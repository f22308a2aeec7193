"""How many labels a claim needs: every formula by hand, every search against trying all sizes."""

import math

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import binom

from richter.calibration import miscalibration
from richter.errors import InputError
from richter.floors import (
    detection_power,
    effective_n,
    labels_needed,
    le_cam,
    paired_gap_labels,
    proportion_labels,
    unpaired_gap_labels,
    zero_error_labels,
)
from richter.stats import wilson


@pytest.mark.parametrize(
    ("delta", "error_rate", "lipschitz", "estimation"),
    [
        (0.02, 0.05, 1.0, 6250),
        (0.05, 0.1, 2.0, 1600),
        (0.1, 0.1, 1.0, 100),
        (0.03, 0.1, 1.0, 3704),
        (0.001, 0.05, 1.0, 50_000_000),
    ],
)
def test_labels_needed_by_hand(delta: float, error_rate: float, lipschitz: float, estimation: int) -> None:
    """L e / delta^3, and c1(e)^2 e / delta^2 with the constant of table 8."""
    found = labels_needed(delta, error_rate, lipschitz=lipschitz)
    assert found.estimation == estimation
    assert found.detection_bound == math.ceil(le_cam(1000, error_rate).constant ** 2 * error_rate / delta**2)
    assert (found.delta, found.error_rate, found.lipschitz, found.alpha, found.power) == (
        delta,
        error_rate,
        lipschitz,
        0.05,
        0.8,
    )


@pytest.mark.parametrize(
    ("error_rate", "delta", "alpha", "power"),
    [
        (0.1, 0.1, 0.05, 0.8),
        (0.05, 0.1, 0.05, 0.9),
        (0.3, 0.2, 0.01, 0.8),
        (0.5, 0.5, 0.05, 0.8),
        (0.02, 0.1, 0.1, 0.5),
        (0.35, 0.05, 0.05, 0.8),  # a later tooth falls short again
        (0.2, 0.03, 0.05, 0.6),
        (0.4, 0.03, 0.05, 0.6),
    ],
)
def test_the_exact_test_keeps_its_power_from_here_on_by_enumeration(
    error_rate: float, delta: float, alpha: float, power: float
) -> None:
    """The size after the last one, of all up to 1,500, whose power is too small."""
    powers = detection_power(np.arange(1, 1500), error_rate, delta, alpha=alpha)
    last = int(np.flatnonzero(powers < power)[-1]) + 1
    assert labels_needed(delta, error_rate, alpha=alpha, power=power).detection_test == last + 1


def test_a_power_that_is_just_met_by_enumeration() -> None:
    """Sizes whose power is above that of the one before and below that of all after: each is the first for its own."""
    powers = detection_power(np.arange(1, 3000), 0.2, 0.1)
    after = np.minimum.accumulate(powers[::-1])[::-1]
    sizes = [n for n in range(40, 150) if powers[n - 2] < powers[n - 1] <= after[n]]
    assert len(sizes) > 5
    for n in sizes:
        assert labels_needed(0.1, 0.2, power=float(powers[n - 1])).detection_test == n
    assert labels_needed(0.99, 0.01).detection_test == 1  # an error in one label has a chance of 1%
    with pytest.raises(InputError, match="More than 1,000,000,000 labels"):
        labels_needed(1e-6, 0.5)


def test_an_error_rate_that_cannot_rise_has_no_test() -> None:
    assert labels_needed(0.3, 0.8).detection_test is None
    assert labels_needed(0.2, 0.8).detection_test is not None


def test_proportion_labels_by_hand() -> None:
    assert proportion_labels(0.02, 0.5) == 2401  # 1.96^2 / 4 / 0.0004
    assert proportion_labels(0.02, 0.5, level=0.9) == 1691
    assert proportion_labels(0.01, 0.1) == 3461  # 3,458 by the normal formula; Wilson's is a hair wider
    assert proportion_labels(wilson(6, 300).half_width, 0.02) == 300  # just met


@pytest.mark.parametrize(("half_width", "rate"), [(0.01, 0.01), (0.02, 0.01), (0.005, 0.001), (0.05, 0.95)])
def test_a_rare_rate_is_measured_as_closely_as_said_by_hand(half_width: float, rate: float) -> None:
    """z^2 p (1 - p) / h^2 named 381 items for 1% +- 1 point; (r - p)^2 = z^2 p (1 - p) / n is then 2.2 points wide."""
    n, z = proportion_labels(half_width, rate), ndtri(0.975)
    for size, fits in ((n, True), (n - 1, False)):
        high, low = np.sort(np.roots([1 + z**2 / size, -2 * rate - z**2 / size, rate**2]))[::-1]
        assert (high - low <= 2 * half_width) == fits


@pytest.mark.parametrize(
    ("limit", "errors", "level"), [(0.01, 0, 0.95), (0.01, 1, 0.95), (0.05, 2, 0.99), (0.5, 0, 0.9)]
)
def test_few_errors_against_trying_all_sizes(limit: float, errors: int, level: float) -> None:
    sizes = np.arange(errors, 2000)
    least = int(sizes[binom.cdf(errors, sizes, limit) <= 1 - level][0])
    assert zero_error_labels(limit, errors=errors, level=level) == least
    assert zero_error_labels(0.01) == 299
    assert [zero_error_labels(0.5, level=share) for share in (0.5, 0.75, 0.875)] == [1, 2, 3]  # just met
    assert zero_error_labels(1e-12) == pytest.approx(-math.log(0.05) * 1e12, rel=1e-6)


def test_paired_labels_by_hand() -> None:
    """(z_a/2 sqrt(d) + z_b sqrt(d - g^2)) sqrt(n) = n g, solved for n; a gap is part of what differs."""
    for gap, d, alpha, power in ((0.02, 0.1, 0.05, 0.8), (0.05, 0.3, 0.01, 0.9), (0.1, 0.05, 0.05, 0.8)):
        n = paired_gap_labels(gap, d, alpha=alpha, power=power)
        d = max(d, gap)
        reach = ndtri(1 - alpha / 2) * math.sqrt(d) + ndtri(power) * math.sqrt(d - gap**2)
        assert n * gap >= reach * math.sqrt(n)
        assert (n - 1) * gap < reach * math.sqrt(n - 1)


def test_unpaired_labels_against_r() -> None:
    """The example of R's power.prop.test(p1 = .50, p2 = .75, power = .90): n = 76.7 in each group."""
    assert unpaired_gap_labels(0.25, (0.50, 0.75), power=0.9) == 77


def test_unpaired_labels_against_simulated_tests() -> None:
    """Simulated: the z-test of two proportions rejects in 80% of studies of this size, four standard errors either way.

    Two one-sided z-tests at 5% show equal accuracies to be within the gap as often.
    """
    rng, studies = np.random.default_rng(3), 20_000
    n = unpaired_gap_labels(0.04, (0.8, 0.84))
    first, second = rng.binomial(n, 0.8, studies) / n, rng.binomial(n, 0.84, studies) / n
    pooled = (first + second) / 2
    shown = np.abs(second - first) > ndtri(0.975) * np.sqrt(2 * pooled * (1 - pooled) / n)
    assert np.mean(shown) == pytest.approx(0.8, abs=4 * math.sqrt(0.16 / studies))
    n = unpaired_gap_labels(0.04, (0.8, 0.8), equivalence=True)
    first, second = rng.binomial(n, 0.8, studies) / n, rng.binomial(n, 0.8, studies) / n
    error = np.sqrt((first * (1 - first) + second * (1 - second)) / n)
    within = np.abs(second - first) + ndtri(0.95) * error < 0.04
    assert np.mean(within) == pytest.approx(0.8, abs=4 * math.sqrt(0.16 / studies))


@pytest.mark.parametrize(("gap", "d", "alpha", "power"), [(0.02, 0.1, 0.05, 0.8), (0.05, 0.3, 0.025, 0.9)])
def test_labels_of_equivalence_by_hand(gap: float, d: float, alpha: float, power: float) -> None:
    """Tango's variance at a gap of g: the root q of 2 q^2 + (2 g - d) q - d g (1 - g) / 2, v = 2 q + g (1 - g)."""
    (q,) = (r.real for r in np.roots([2, 2 * gap - d, -d * gap * (1 - gap) / 2]) if r.real > 0)
    v = 2 * q + gap * (1 - gap)
    n = ((ndtri(1 - alpha) * math.sqrt(v) + ndtri((1 + power) / 2) * math.sqrt(d)) / gap) ** 2
    assert paired_gap_labels(gap, d, alpha=alpha, power=power, equivalence=True) == math.ceil(n)


def test_correlated_labels_by_hand() -> None:
    assert effective_n(100) == effective_n(100, autocorrelation=0.0) == 100
    assert effective_n(100, cluster_size=5, intraclass=0.0) == effective_n(100, cluster_size=1, intraclass=0.5) == 100
    assert effective_n(100, autocorrelation=0.5) == pytest.approx(100 / 3)
    assert effective_n(100, cluster_size=5, intraclass=0.25) == 50
    assert effective_n(100, cluster_size=5, intraclass=0.25, autocorrelation=0.5) == pytest.approx(50 / 3)
    for one in ({"cluster_size": 5}, {"intraclass": 0.2}):
        with pytest.raises(InputError, match="both"):
            effective_n(100, **one)


@pytest.mark.parametrize(("n", "error_rate"), [(1, 0.05), (17, 0.2), (60, 0.5), (233, 0.01), (900, 0.9)])
def test_power_of_the_test_by_distance_by_adding_all_counts(n: int, error_rate: float) -> None:
    counts = np.arange(n + 1)
    null, distance = binom.pmf(counts, n, error_rate), np.abs(counts - n * error_rate)
    shown = np.array([null[distance >= d - 1e-9].sum() <= 0.05 * (1 + 1e-9) for d in distance])
    power = float(binom.pmf(counts, n, error_rate + 0.05)[shown].sum())
    assert float(detection_power(n, error_rate, 0.05, two_sided=True)) == pytest.approx(power, abs=1e-9)


def test_the_claim_on_calibration_at_one_confidence_is_the_test_by_distance(rng: np.random.Generator) -> None:
    """All say 80%: of 40 answers so many right; the omnibus test's p against adding all counts as far away."""
    counts = np.arange(41)
    null, distance = binom.pmf(counts, 40, 0.8), np.abs(counts - 32)
    for right in (24, 26, 28, 36, 38):
        found = miscalibration(np.full(40, 0.8), counts[:40] < right, rng=rng, n_resamples=9999)
        p = float(null[distance >= distance[right]].sum())
        assert found.p == pytest.approx(p, abs=4 * math.sqrt(p / found.n_resamples))


def test_labels_for_the_claim_on_calibration_keep_its_power() -> None:
    found = labels_needed(0.05, 0.2)
    assert found.detection_claim is not None
    powers = detection_power(np.arange(1, 2000), 0.2, 0.05, two_sided=True)
    assert found.detection_claim == int(np.flatnonzero(powers < 0.8)[-1]) + 2
