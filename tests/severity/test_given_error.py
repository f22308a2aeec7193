import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import mannwhitneyu, norm, ttest_ind

from richter.claims import p_value
from richter.errors import InputError, TooFewErrors
from richter.severity import graver_error, mean_given_error, severe_rate, severity_given_error


def study(rng: np.random.Generator, n: int, *, rate: float = 0.4, shift: float = 0.0) -> NDArray[np.float64]:
    wrong = rng.random(n) < rate
    return np.where(wrong, np.clip(np.round((rng.gamma(2.0, 0.5, n) + shift) * 2) / 2, 0.5, 4), 0.0)


def test_estimates_are_second_minus_first_by_hand() -> None:
    first = np.array([0, 1.0, 2.0, 3.0, 0, np.nan] * 10)
    second = np.array([3.0, 4.0, 0, 0, 0, 2.0] * 10)  # the item that only the second has does not count
    found = severity_given_error(first, second)
    assert found.values == (2.0, 3.5)
    assert found.estimate == 1.5
    assert found.n == 50
    share = severity_given_error(first, second, at=3.0)
    assert share.values == pytest.approx((1 / 3, 1.0))
    # of errors (1, 2, 3) and (3, 4): the second's is graver in 5 of 6 pairs and equal in 1
    graver = graver_error(first, second)
    assert graver.estimate == pytest.approx(5 / 6)
    assert graver.values == pytest.approx((1 / 12, 11 / 12))
    assert severe_rate(first, second).values == pytest.approx((0.6, 0.4))
    assert severe_rate(first, second, at=3.0).estimate == pytest.approx(0.2)


def test_variance_by_hand() -> None:
    rng = np.random.default_rng(2)
    a, b = study(rng, 400), study(rng, 400, shift=0.3)
    found = severity_given_error(a, b)
    n_a, n_b = np.sum(a > 0), np.sum(b > 0)
    influence = np.where(b > 0, (b - b[b > 0].mean()) / n_b, 0) - np.where(a > 0, (a - a[a > 0].mean()) / n_a, 0)
    assert found.standard_error == pytest.approx(np.sqrt(np.sum(influence**2)), rel=0.01)  # but for n / (n - 1)


def test_weights_count_as_often_as_whole_numbers_of_items_by_hand() -> None:
    rng = np.random.default_rng(4)
    a, b, weight = study(rng, 300), study(rng, 300, shift=0.3), rng.integers(1, 4, 300)
    found = severity_given_error(a, b, weights=weight)
    repeated = severity_given_error(*(np.repeat(x, weight) for x in (a, b)), groups=np.repeat(np.arange(300), weight))
    assert found.values == pytest.approx(repeated.values)
    assert found.standard_error == pytest.approx(repeated.standard_error)
    alike = severity_given_error(a, b, weights=np.full(300, 7.0))
    assert alike.interval(0.9).low == pytest.approx(severity_given_error(a, b).interval(0.9).low)


def test_runs_crossed_with_items_keep_their_size_recovers_truth() -> None:
    """Each run moves each condition's severities: units alone call nothing a difference, runs do not."""
    rng = np.random.default_rng(6)
    n, runs, by_items, by_runs = 80, 3, 0, 0
    item, run = np.repeat(np.arange(n), runs), np.tile(np.arange(runs), n)
    for _ in range(150):
        sides = []
        for _ in range(2):
            wrong = rng.random(n * runs) < 0.5
            level = 2 + rng.normal(0, 0.5, n)[item] + rng.normal(0, 0.4, runs)[run] + rng.normal(0, 0.5, n * runs)
            sides.append(np.where(wrong, np.clip(np.round(level * 2) / 2, 0.5, 4), 0.0))
        by_items += p_value(severity_given_error(*sides, groups=item), 0.0) <= 0.05
        by_runs += p_value(severity_given_error(*sides, groups=item, runs=run), 0.0) <= 0.05
    assert by_items > 60
    assert 1 <= by_runs <= 16  # 7.5 expected, 16 is under 0.5% by chance


def test_unrelated_errors_against_scipy() -> None:
    rng = np.random.default_rng(3)
    a, b = np.zeros(4000), np.zeros(4000)
    a[:2000], b[2000:] = study(rng, 2000, rate=1.0), study(rng, 2000, rate=1.0, shift=0.05)
    found = severity_given_error(a, b)
    assert p_value(found, 0.0) == pytest.approx(ttest_ind(b[2000:], a[:2000]).pvalue, rel=0.05)
    u = mannwhitneyu(b[2000:], a[:2000])
    assert graver_error(a, b).estimate == pytest.approx(2 * u.statistic / 2000**2 - 1)
    z = norm.isf(u.pvalue / 2)
    graver = graver_error(a, b)
    assert abs(graver.estimate) / graver.standard_error == pytest.approx(z, rel=0.05)


@given(st.integers(0, 10**6), st.floats(0.5, 0.999), st.sampled_from([None, 2.0, 3.0]))
@settings(max_examples=40, deadline=None)
def test_the_interval_excludes_zero_exactly_where_the_test_rejects(seed: int, level: float, at: float | None) -> None:
    rng = np.random.default_rng(seed)
    a, b = study(rng, 150), study(rng, 150, shift=0.2)
    for found in (severity_given_error(a, b, at=at), graver_error(a, b), severe_rate(a, b, at=at or 0.0)):
        span = found.interval(level)
        p = p_value(found, 0.0)
        if abs(p - (1 - level)) > 1e-6:
            assert (not span.low <= 0 <= span.high) == (p <= 1 - level)
        wider = found.interval(1 - (1 - level) / 2)
        assert wider.low <= span.low <= found.estimate <= span.high <= wider.high


@given(st.integers(0, 10**6))
@settings(max_examples=20, deadline=None)
def test_turning_the_pair_turns_the_sign(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = study(rng, 120), study(rng, 120, shift=0.3)
    for measure in (severity_given_error, graver_error, severe_rate):
        one, other = measure(a, b), measure(b, a)
        assert one.estimate == pytest.approx(-other.estimate)
        assert one.interval(0.9).low == pytest.approx(-other.interval(0.9).high, abs=1e-9)


def test_any_ordinal_scale_and_its_bad_ends() -> None:
    rng = np.random.default_rng(1)
    a, b = study(rng, 300) * 25, study(rng, 300, shift=0.5) * 25
    small, large = severity_given_error(a / 25, b / 25), severity_given_error(a, b)
    assert large.estimate == pytest.approx(25 * small.estimate)
    assert p_value(large, 0.0) == pytest.approx(p_value(small, 0.0))
    with pytest.raises(InputError, match="below 0, which is correct"):
        severity_given_error(-a, -b)
    with pytest.raises(TooFewErrors, match="no error of the second condition"):
        severity_given_error(a, np.zeros(300))
    with pytest.raises(InputError, match="do not match"):
        severity_given_error(a, b[:-1])


def test_equal_errors_never_have_an_interval_of_zero_width() -> None:
    a = np.array([0.0] * 30 + [2.0] * 30)
    for found in (severity_given_error(a, a), graver_error(a, a), severity_given_error(a, a + (a > 0))):
        assert found.interval(0.95).half_width > 0.05
    assert mean_given_error(a).interval(0.95).half_width > 0.05


def test_errors_at_one_level_do_not_narrow_the_scale_by_hand() -> None:
    """25 errors each, all at one level: a share x with (1 - x)^25 = 2.5% of them may be anywhere on the scale."""
    unseen = 1 - 0.025 ** (1 / 25)
    first, second = np.repeat([1.0, 0.0], [25, 75]), np.repeat([0.0, 1.0], [75, 25])
    assert severity_given_error(first, second).interval(0.95).high >= 3 * unseen  # those of the second at 4
    assert severity_given_error(second, first).interval(0.95).low <= -3 * unseen
    graver = graver_error(first, 3 * second)  # certain so far; each error of the second below the first's takes 2 away
    assert graver.estimate == 1.0
    assert graver.interval(0.95).low <= 1 - 2 * unseen


def test_few_groups_decide_nothing() -> None:
    rng = np.random.default_rng(1)
    a, b = study(rng, 400), study(rng, 400, shift=2.0)
    few = severity_given_error(a, b, groups=np.arange(400) // 100)
    assert few.interval(0.95).low <= 0 <= few.interval(0.95).high
    assert "nothing is decided" in few.notes[0]
    many = severity_given_error(a, b, groups=np.arange(400) // 4)
    with_errors = len(np.unique((np.arange(400) // 4)[(a > 0) | (b > 0)]))
    assert (many.unit, many.units) == ("group", with_errors)
    assert many.interval(0.95).low > 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "n_a", "n_b", "p"),
    [
        ("unequal and rare", 1000, 100, 0.02),
        ("rare", 1000, 1000, 0.005),
        ("few", 30, 30, 0.3),
        ("usual", 500, 500, 0.1),
    ],
)
def test_size_of_shares_recovers_truth(name: str, n_a: int, n_b: int, p: float, rng: np.random.Generator) -> None:
    hits, trials = 0, 1000
    for _ in range(trials):
        a, b = np.zeros(n_a + n_b), np.zeros(n_a + n_b)
        a[:n_a] = np.where(rng.random(n_a) < p, 3.0, 1.0)
        b[-n_b:] = np.where(rng.random(n_b) < p, 3.0, 1.0)
        hits += 0 not in severity_given_error(a, b, at=3.0).interval(0.95)
    # the plain z claims falsely in 13.5% of the first; the lower 99% limit of ours must not exceed 5%
    assert hits / trials - 2.33 * np.sqrt(0.05 * 0.95 / trials) <= 0.05, name


@pytest.mark.slow
def test_size_with_groups_recovers_truth(rng: np.random.Generator) -> None:
    hits = {"mean": 0, "ignored": 0}
    trials, groups = 600, np.repeat(np.arange(25), 20)
    for _ in range(trials):
        both = []
        for _ in range(2):
            taste = rng.normal(0, 0.8, 25)[groups]  # errors of a group are alike in gravity
            severity = np.clip(np.round((1.8 + taste + rng.normal(0, 0.5, 500)) * 2) / 2, 0.5, 4)
            both.append(np.where(rng.random(500) < 0.5, severity, 0.0))
        hits["mean"] += 0 not in severity_given_error(*both, groups=groups).interval(0.95)
        hits["ignored"] += 0 not in severity_given_error(*both).interval(0.95)
    assert hits["mean"] / trials - 2.33 * np.sqrt(0.05 * 0.95 / trials) <= 0.05
    assert hits["ignored"] / trials > 0.2  # what ignoring the groups would claim
