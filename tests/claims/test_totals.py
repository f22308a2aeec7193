"""Money, tokens and time: ratios of totals by unit."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import stdtrit
from scipy.stats import ttest_1samp

from helpers.outcomes import outcomes
from richter.claims import (
    METRICS,
    Asked,
    Evidence,
    Question,
    as_sample,
    decide,
    linearised,
    total_evidence,
    unpaired_evidence,
)
from richter.claims._totals import N_RESAMPLES, TYPICAL_ITEM
from richter.errors import InputError
from richter.records import Verdict
from richter.records._plain import of_kind
from richter.stats import Floats


def found_of(x: Floats, metric: str = "money", **more: object) -> Evidence:
    options = {k: more.pop(k) for k in ("unpaired",) if k in more}
    return total_evidence(as_sample(outcomes(x, metric, **more)), ("a", "b"), **options)  # type: ignore[arg-type]


def test_the_estimate_is_the_ratio_of_sums_by_hand() -> None:
    x = np.array([[1.0, 2.0], [3.0, 1.0], [0.0, 5.0], [4.0, 4.0], [2.0, 0.0], [2.0, 4.0]])
    found = found_of(x)
    assert found.estimate == pytest.approx(16 / 12 - 1)
    assert found.values == pytest.approx((2.0, 16 / 6))
    assert found.relative
    weight = np.array([1.0, 2.0, 1.0, 1.0, 1.0, 1.0])
    assert found_of(x, weight=weight).estimate == pytest.approx(17 / 15 - 1)


def test_the_interval_is_the_bootstrap_t_with_its_guard_by_hand(rng: np.random.Generator) -> None:
    """Other resamples, drawn and studentised one by one; the formula of the guard written out."""
    n = 60
    x = np.exp(rng.normal([0.0, 0.2], [0.6, 1.0], (n, 2)))
    r = math.log(x[:, 1].sum() / x[:, 0].sum())

    def error(y: Floats) -> float:
        psi = y[:, 1] / y[:, 1].sum() - y[:, 0] / y[:, 0].sum()
        return math.sqrt(float(np.sum(psi**2)) * n / (n - 1))

    t = []
    for _ in range(20_000):
        y = x[rng.integers(0, n, n)]
        t.append((math.log(y[:, 1].sum() / y[:, 0].sum()) - r) / error(y))
    spread, means = np.std(np.log(x), axis=0), x.mean(axis=0)
    more = [min(max(0.5 + 1.5 * (spread[k] - spread[1 - k]), 0), 2) for k in (0, 1)]
    guard = [math.log(1 + more[k] * (x[:, k].max() / means[k] - 1) / (n + 1)) for k in (0, 1)]
    interval, student = found_of(x).interval(0.95), float(stdtrit(n - 1, 0.975))
    low = (r - guard[0] - math.log1p(interval.low)) / error(x)
    high = (math.log1p(interval.high) - guard[1] - r) / error(x)
    off = 3 * math.sqrt(0.025 * 0.975 * (1 / N_RESAMPLES + 1 / len(t)))  # of a tail's share, three standard deviations
    for reach, tail in ((low, np.array(t)), (high, -np.array(t))):
        nearest, farthest = np.quantile(tail, [0.975 - off, 0.975 + off])
        assert max(nearest, student) - 1e-9 <= reach <= max(farthest, student) + 1e-9


def test_groups_are_what_varies_against_scipy(rng: np.random.Generator) -> None:
    """Equal groups: the standard error is that of the mean over groups of linearised differences."""
    x = np.exp(rng.normal(0, 0.5, (12, 1, 1)) + rng.normal(0, 0.3, (12, 5, 2))).reshape(60, 2)
    group = np.repeat(np.arange(12), 5)
    found = found_of(x, group=group)
    d = x[:, 1] / x[:, 1].mean() - x[:, 0] / x[:, 0].mean()
    theirs = ttest_1samp(d.reshape(12, 5).mean(axis=1), 0.0)
    span = theirs.confidence_interval()
    assert found.standard_error == pytest.approx(
        (1 + found.estimate) * (span.high - span.low) / 2 / float(stdtrit(11, 0.975))
    )
    assert (found.units, found.unit) == (12, "group")
    assert found_of(x).standard_error != pytest.approx(found.standard_error)


def test_one_mean_and_two_on_different_items(rng: np.random.Generator) -> None:
    x = np.exp(rng.normal(0, 0.5, (80, 2)))
    x[:40, 1] = x[40:, 0] = np.nan
    sample = as_sample(outcomes(x, "tokens"))
    alone = total_evidence(sample, ("b",))
    assert alone.estimate == pytest.approx(np.nanmean(x[:, 1]))
    assert not alone.relative
    assert alone.interval(0.95).low < alone.estimate < alone.interval(0.95).high
    apart = total_evidence(sample, ("a", "b"), unpaired=True)
    assert apart.estimate == pytest.approx(np.nanmean(x[:, 1]) / np.nanmean(x[:, 0]) - 1)
    assert apart.sides == (40, 40)
    assert unpaired_evidence(sample, "a", "b").estimate == pytest.approx(np.nanmean(x[:, 1]) - np.nanmean(x[:, 0]))


def test_a_single_item_above_a_fifth_of_the_bill_decides_nothing_and_is_named(rng: np.random.Generator) -> None:
    x = np.exp(rng.normal(0, 0.1, (50, 2)))
    x[7, 1] = 0.26 * x[:, 1].sum()
    found = found_of(x)
    assert found.notes[-1].startswith("question q0007 is 2")
    assert found.interval(0.5).low == -1
    assert found.interval(0.5).high == math.inf
    assert found.standard_error is None
    x[7, 1] = 0.2 * np.delete(x[:, 1], 7).sum()
    assert found_of(x).standard_error is not None


def test_a_total_of_zero_and_negative_amounts_are_refused() -> None:
    with pytest.raises(InputError, match="total of b is 0"):
        found_of(np.array([[1.0, 0.0], [2.0, 0.0]]))
    with pytest.raises(InputError, match="below 0"):
        found_of(np.array([[1.0, -1.0], [2.0, 3.0]]))
    with pytest.raises(InputError, match="share no question"):
        found_of(np.array([[1.0, np.nan], [np.nan, 3.0]]))


def test_one_price_for_every_item_is_decided_by_hand() -> None:
    """Of 50 items at one ratio at most 1 - 0.025^(1 / 50) may have another, by up to a factor of 2."""
    found = found_of(np.column_stack([np.ones(50), np.full(50, 2.0)]))
    reach = (1 - 0.025 ** (1 / 50)) * math.log(2)
    assert found.interval(0.95).low == pytest.approx(2 * math.exp(-reach) - 1)


@pytest.mark.parametrize("unpaired", [False, True])
def test_amounts_that_are_all_the_same_bound_no_other_ratio(unpaired: bool) -> None:
    """Twelve items at 0.5 s each are not called as fast within 5%: nothing says what another would take."""
    interval = found_of(np.full((12, 2), 0.5), "latency", unpaired=unpaired).interval(0.95)
    assert (interval.low, interval.high) == (-1.0, np.inf)


def test_the_typical_item_stands_beside_the_bill(rng: np.random.Generator) -> None:
    x = np.exp(rng.normal(0, 0.5, (50, 2)))
    ratio = math.exp(float(np.mean(np.log(x[:, 1] / x[:, 0])))) - 1
    (note,) = of_kind(found_of(x).notes, TYPICAL_ITEM)
    assert f"{100 * ratio:+.1f}%" in note
    x[0, 0] = 0.0
    assert not of_kind(found_of(x).notes, TYPICAL_ITEM)


def test_many_units_are_resampled_in_batches(rng: np.random.Generator) -> None:
    """Batches keep the law of the sum: the limits are near those of Student's t on 40,000 items."""
    x = np.exp(rng.normal([0.0, 0.1], 0.5, (40_000, 2)))
    found = found_of(x)
    log_error = float(found.standard_error or 0) / (1 + found.estimate)
    half = math.log((1 + found.interval(0.95).high) / (1 + found.interval(0.95).low)) / 2
    assert half == pytest.approx(1.96 * log_error, rel=0.12)
    assert N_RESAMPLES >= 1000


@given(seed=st.integers(0, 10_000), factor=st.floats(0.01, 100), level=st.sampled_from([0.5, 0.9, 0.95, 0.999]))
@settings(max_examples=40, deadline=None)
def test_prices_in_another_currency_change_nothing(seed: int, factor: float, level: float) -> None:
    rng = np.random.default_rng(seed)
    x = np.exp(rng.normal(0, 0.8, (40, 2)))
    own, other = found_of(x).interval(level), found_of(x * factor).interval(level)
    assert (other.low, other.high) == pytest.approx((own.low, own.high), rel=1e-6)
    wider = found_of(x).interval(0.5 + level / 2)
    assert wider.low <= own.low
    assert wider.high >= own.high


def test_linearised_amounts_average_to_the_logarithm_of_the_mean(rng: np.random.Generator) -> None:
    x = np.exp(rng.normal(0, 0.8, (40, 2, 3)))
    weight = rng.uniform(0.5, 2, 40)
    made = linearised(as_sample(outcomes(x, "latency", weight=weight)), ("a", "b"))
    for k in (0, 1):
        own = np.average(made.mean[:, k], weights=weight)
        assert own == pytest.approx(math.log(np.average(x[:, k].mean(axis=1), weights=weight)))


def equal_bills(rng: np.random.Generator, kind: str, n: int) -> Floats:
    """Two conditions of one expected bill: alike, with unlike tails and a free item, or in groups."""
    if kind == "groups":
        shared = rng.normal(0, 0.7, (n // 10, 1, 1))
        z = shared + rng.normal(0, 0.5, (n // 10, 1, 2)) + rng.normal(0, 0.4, (n // 10, 10, 2))
        return np.exp(z).reshape(n, 2)
    spread = np.array([0.7, 0.7]) if kind == "alike" else np.array([0.5, 1.2])
    x = np.exp(rng.normal(0, 1, (n, 2)) * spread - spread**2 / 2)
    if kind == "unlike tails":
        x[0, 0] = 0.0
    return x


@pytest.mark.parametrize(("kind", "n", "most"), [("alike", 60, 19), ("unlike tails", 100, 19), ("groups", 300, 19)])
def test_equal_bills_are_told_apart_in_five_of_a_hundred_recovers_truth(kind: str, n: int, most: int) -> None:
    """200 tables; 5% are 10, and more than 19 have a chance of 0.3%. By geometric means "unlike tails" gave 198."""
    rng = np.random.default_rng([ord(c) for c in kind])
    group = np.arange(n) // 10 if kind == "groups" else None
    shown = sum(0.0 not in found_of(equal_bills(rng, kind, n), group=group).interval(0.95) for _ in range(200))
    assert shown <= most


def test_a_gate_within_ten_per_cent_fails_at_a_bill_of_a_third_more_recovers_truth() -> None:
    """The typical item costs the same; a longer tail makes the bill a third higher. Geometric means passed most."""
    rng = np.random.default_rng(37)
    question = Question(measure="money", conditions=("a", "b"), relation="below", value=0.1, family="requirement")
    passed = 0
    for _ in range(150):
        x = np.exp(rng.normal(0, 1, (200, 2)) * [0.5, 0.9])  # e^(0.405 - 0.125) = 1.32
        asked = Asked(question=question, metric=METRICS["money"], evidence=found_of(x))
        passed += decide([asked])[0].verdict is Verdict.VERIFIED
    assert passed <= 3
