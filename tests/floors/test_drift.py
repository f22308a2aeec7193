"""Evidence of a change: its likelihoods by hand, few false alarms where days vary slowly, and when it was."""

import itertools

import numpy as np
import pytest
from scipy import stats

from richter.errors import InputError
from richter.floors import change_evidence, change_point, limit_outliers
from richter.floors._drift import (
    DRIFT_DAYS,
    LEFT_AFTER_A_DAY,
    LEFT_WEIGHTS,
    NO_VARIATION,
    SHIFT_SPREAD,
    VARIATION,
    VARIATION_WEIGHTS,
    _change_weights,
)

FLAT = 1e4  # the variance of the mean's prior, in place of a flat one


def likelihood(y: np.ndarray, noise: np.ndarray, day: np.ndarray, spread: float, left: float, shift: float) -> float:
    """By scipy's multivariate normal, which knows nothing of recursions: a flat mean, variation, noise and a shift."""
    lag = np.abs(np.subtract.outer(day, day))
    base = FLAT + spread**2 * np.where(lag == 0, 1.0, left**lag) + np.diag(noise)
    return float(stats.multivariate_normal.pdf(y, mean=np.zeros(len(y)), cov=base + shift, allow_singular=True))


@pytest.mark.parametrize("independent", [True, False])
def test_evidence_is_the_mixture_of_likelihood_ratios_by_hand(independent: bool) -> None:
    y, noise, day = np.array([0.15, 0.12, 0.25, 0.31]), np.array([1e-3, 2e-3, 1e-3, 1e-3]), np.array([0.0, 1, 3, 4])
    weight = _change_weights(4)
    lefts = [(0.0, 1.0)] if independent else list(zip(LEFT_AFTER_A_DAY, LEFT_WEIGHTS, strict=True))
    share = VARIATION_WEIGHTS / VARIATION_WEIGHTS.sum() * (1 - NO_VARIATION)
    laws = [(0.0, 0.0, NO_VARIATION)]
    laws += [(s, left, w * v) for (s, w), (left, v) in itertools.product(zip(VARIATION, share, strict=True), lefts)]
    none = changed = 0.0
    for spread, left, belief in laws:
        own = likelihood(y, noise, day, spread, left, 0.0)
        none += belief * own
        changed += belief * own * (1 - weight[:, :3].sum())
        for k in (1, 2, 3):
            late = (np.arange(4) >= k).astype(float)
            for row, form in enumerate((late, late * np.minimum((day - day[k - 1]) / DRIFT_DAYS, 1.0))):
                shift = (SHIFT_SPREAD**2 + spread**2) * np.outer(form, form)
                changed += belief * weight[row, k - 1] * likelihood(y, noise, day, spread, left, shift)
    found = change_evidence(y, noise, days=day, independent=independent).evidence[-1]
    assert found == pytest.approx(changed / none, rel=1e-3)


def test_nine_tenths_of_the_weight_go_to_losses_by_hand() -> None:
    """Shifts of one direction by quadrature: nine times the weight of those of the other."""
    y, noise = np.array([0.15, 0.12, 0.25, 0.31]), np.full(4, 1e-3)
    weight, day = _change_weights(4), np.arange(4.0)
    share = VARIATION_WEIGHTS / VARIATION_WEIGHTS.sum() * (1 - NO_VARIATION)
    ratio = {"rise": [0.0, 0.0], "fall": [0.0, 0.0]}
    for spread, belief in [(0.0, NO_VARIATION), *zip(VARIATION, share, strict=True)]:
        law = stats.multivariate_normal(np.zeros(4), FLAT + spread**2 * np.eye(4) + np.diag(noise), allow_singular=True)
        step = np.hypot(SHIFT_SPREAD, spread) / 40
        size = step * np.arange(-240, 241)
        prior = step * stats.norm.pdf(size, scale=np.hypot(SHIFT_SPREAD, spread))
        shares = np.where(size > 0, 0.9, np.where(size < 0, 0.1, 0.5))
        for k, row in itertools.product((1, 2, 3), (0, 1)):
            form = (day >= k) * (1.0 if row == 0 else np.minimum((day - day[k - 1]) / DRIFT_DAYS, 1.0))
            chance = belief * weight[row, k - 1] * prior * law.pdf(y - np.outer(size, form))
            ratio["rise"][0] += float(np.sum(2 * shares * chance))
            ratio["fall"][0] += float(np.sum(2 * (1 - shares) * chance))
        for own in ratio.values():
            own[0] += belief * (1 - weight[:, :3].sum()) * float(law.pdf(y))
            own[1] += belief * float(law.pdf(y))
    for loss in ("rise", "fall"):
        found = change_evidence(y, noise, loss=loss, independent=True).evidence[-1]
        assert found == pytest.approx(ratio[loss][0] / ratio[loss][1], rel=1e-2)


def test_weights_of_changes_sum_to_one_at_most() -> None:
    assert LEFT_WEIGHTS.sum() == pytest.approx(1.0)
    assert _change_weights(100_000).sum() <= 1
    assert _change_weights(100_000, range(1, 99_999)).sum() <= 1
    plain, known = _change_weights(10), _change_weights(10, [7])
    assert known[0, 6] == pytest.approx(0.7 * plain[0, 6] + 0.15)
    assert known[1, 6] == pytest.approx(0.7 * plain[1, 6])


def test_outliers_are_limited_by_the_days_before_by_hand() -> None:
    """Nine days of -1, 0 or 1 have the median 0 and the deviation 1; the tenth may reach t(8 degrees) times 1.4826."""
    days = np.array([0.0, 1, -1, 0, 1, -1, 0, 1, -1, 50.0])
    reach = stats.t.ppf(0.9995, 8) * 1.4826
    assert limit_outliers(days, np.full(10, 0.01))[-1] == pytest.approx(reach)
    assert limit_outliers(days, np.full(10, 4.0))[-1] == pytest.approx(stats.t.ppf(0.9995, 8) * 2)


def slow_days(n: int, left: float, spread: float, rng: np.random.Generator) -> np.ndarray:
    x = np.empty(n)
    x[0] = rng.normal()
    for t in range(1, n):
        x[t] = left * x[t - 1] + np.sqrt(1 - left**2) * rng.normal()
    return spread * x


@pytest.mark.parametrize("spread", [0.0, 0.02])
def test_false_alarms_stay_few_where_days_vary_slowly_recovers_truth(spread: float) -> None:
    # 60 series of 60 days with 400 items: at 5% more than 9 alarms have probability 0.001
    rng = np.random.default_rng(3)
    alarms = 0
    for _ in range(60):
        y = rng.binomial(400, np.clip(0.2 + slow_days(60, 0.9, spread, rng), 0.01, 0.99)) / 400
        alarms += change_evidence(y, np.full(60, 0.16 / 400)).evidence.max() >= 20
    assert alarms <= 9


def test_rare_events_raise_few_alarms_recovers_truth() -> None:
    rng = np.random.default_rng(5)
    alarms = 0
    for _ in range(30):
        y = rng.binomial(100, 0.002, 120) / 100
        p = (100 * np.cumsum(y) + 1) / (100 * np.arange(1, 121) + 2)
        alarms += change_evidence(y, p * (1 - p) / 100).evidence.max() >= 20
    assert alarms <= 6  # of 30 at 5%: more have probability 0.001


@pytest.mark.parametrize(("items", "least"), [(100, 31), (200, 52)])  # of 60; 25 and 48 by even weights
def test_fourteen_points_after_seven_weeks_are_shown_in_two_recovers_truth(items: int, least: int) -> None:
    rng = np.random.default_rng(4)
    told = 0
    for _ in range(60):
        y = rng.binomial(items, np.r_[np.full(7, 0.15), np.full(2, 0.29)]) / items
        noise, day = np.full(9, 0.1275 / items), 7.0 * np.arange(9)
        told += change_evidence(y, noise, days=day, loss="rise").evidence.max() >= 20
    assert told >= least


def test_a_steady_drift_of_ten_points_over_twenty_days_is_shown_recovers_truth() -> None:
    # 40 good days, then 10 points over 20 days that stay: a step alone finds half of them within 30 days
    rng = np.random.default_rng(9)
    worse = 0.10 * np.clip((np.arange(70) - 39) / 20, 0, 1)
    told = 0
    for _ in range(20):
        y = rng.binomial(200, 0.15 + worse) / 200
        told += change_evidence(y, np.full(70, 0.1275 / 200)).evidence.max() >= 20
    assert told >= 15  # of 20 at 95%: fewer have probability 0.0003


def test_a_known_deployment_is_told_sooner() -> None:
    y, noise = np.r_[np.full(7, 0.15), 0.24], np.full(8, 0.1275 / 200)
    plain = change_evidence(y, noise, days=7.0 * np.arange(8)).evidence[-1]
    assert change_evidence(y, noise, days=7.0 * np.arange(8), deployed=[7]).evidence[-1] > 3 * plain


def test_what_would_be_shown_is_shown_in_about_eight_of_ten_recovers_truth() -> None:
    rng = np.random.default_rng(8)
    y, noise = rng.binomial(200, 0.15, 20) / 200, np.full(20, 0.1275 / 200)
    reach = change_evidence(y, noise).detectable
    shown = 0
    for _ in range(40):
        after = rng.binomial(200, 0.15 + reach, 7) / 200
        shown += change_evidence(np.r_[y, after], np.full(27, 0.1275 / 200)).evidence[-1] >= 20
    assert shown >= 24  # of 40 at 80%: fewer have probability 0.002
    assert change_evidence(y[:3], noise[:3]).detectable > reach


def test_a_change_is_told_where_it_was_recovers_truth() -> None:
    rng = np.random.default_rng(4)
    inside = 0
    for _ in range(40):
        there = change_point(np.r_[rng.binomial(100, 0.15, 100), rng.binomial(100, 0.2, 30)] / 100)
        inside += there.low <= 99 <= there.high
        assert there.low <= there.day <= there.high
    assert inside >= 33  # of 40 at 95%: fewer have probability 0.001


def test_what_is_no_series_is_refused() -> None:
    with pytest.raises(InputError, match="one number and its variance"):
        change_evidence([1.0, float("nan")], [1.0, 1.0])
    with pytest.raises(InputError, match="no place for a change"):
        change_point([1.0, 2.0])
    flat = change_point([1.0] * 10)  # nothing changed: anywhere
    assert flat.high - flat.low >= 7
