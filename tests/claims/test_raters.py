"""Differences within raters, and right or wrong decided by each rater."""

import numpy as np
import polars as pl
import pytest
from scipy.stats import ttest_ind

from richter.claims import METRICS, RatedPair, within_rater_difference
from richter.errors import InputError
from richter.tables import outcomes, read_tables


def pair(value: np.ndarray, rater: np.ndarray, side: np.ndarray, unit: np.ndarray) -> RatedPair:
    return RatedPair(value=value, rater=rater, side=side, unit=unit, unit_name="item", raters=("x", "y"))


def test_one_rater_on_different_items_is_welchs_test_against_scipy(rng: np.random.Generator) -> None:
    a, b = rng.integers(0, 9, 60) / 2, rng.integers(0, 7, 40) / 2
    found = within_rater_difference(
        METRICS["mean_severity"],
        pair(np.concatenate([a, b]), np.zeros(100, dtype=np.intp), np.repeat([0, 1], [60, 40]), np.arange(100)),
        n=50,
    )
    want = ttest_ind(b, a, equal_var=False)
    assert found.estimate == pytest.approx(b.mean() - a.mean())
    assert found.p is not None
    assert found.p(0.0) == pytest.approx(want.pvalue)
    span = want.confidence_interval(0.95)
    assert (found.interval(0.95).low, found.interval(0.95).high) == pytest.approx((span.low, span.high))


def test_leniency_of_raters_is_no_difference_recovers_truth(rng: np.random.Generator) -> None:
    """Alike conditions, 90 to 10 against 10 to 90, ten points of leniency, 200 tables."""
    false = 0
    for _ in range(200):
        item = np.tile(np.arange(300), 2)
        side = np.repeat([0, 1], 300)
        rater = ((item % 10 == 0) == (side == 0)).astype(np.intp)
        hard = np.tile(rng.random(300), 2)
        value = (rng.random(600) < np.clip(0.15 + 0.3 * hard + 0.1 * rater, 0, 1)).astype(float)
        found = within_rater_difference(METRICS["catastrophic_rate"], pair(value, rater, side, item), n=300)
        false += 0 not in found.interval(0.95)
    assert false <= 23  # 0.05 and four binomial errors


def test_too_few_events_are_refused() -> None:
    value = np.zeros(80)
    value[:5] = 1.0
    rated = pair(value, np.zeros(80, dtype=np.intp), np.tile([0, 1], 40), np.arange(80) // 2)
    with pytest.raises(InputError, match="too few"):
        within_rater_difference(METRICS["catastrophic_rate"], rated, n=40)


@pytest.mark.parametrize("raters", [1, 2, 3, 4])
def test_right_or_wrong_is_voted_and_flags_as_often_as_one_rater_recovers_truth(raters: int) -> None:
    """Raters who each flag 20.7% independently: two of them do not flag 37%, as any flag of two would."""
    rng = np.random.default_rng(raters)
    n = 6000
    wrong = rng.random(n) < 0.207
    rows = {
        "item": np.tile([f"q{i}" for i in range(n)], raters), "condition": ["a"] * n * raters,
        "rater": np.repeat([f"r{k}" for k in range(raters)], n), "kind": ["judge"] * n * raters,
        "severity": np.concatenate([np.where(rng.random(n) < 0.05, ~wrong, wrong) * 3.0 for _ in range(raters)]),
    }  # fmt: skip
    tables = read_tables(pl.DataFrame(rows))
    one = 0.207 * 0.95 + 0.793 * 0.05
    right = outcomes(tables, "accuracy").value
    assert set(np.unique(right)) == {0.0, 1.0}
    flagged = 1 - right.mean()
    error = 4 * np.sqrt(0.25 * 0.75 / n)
    assert abs(flagged - one) < error if raters <= 2 else 0.207 - error < flagged < one + error
    assert outcomes(tables, "catastrophic_rate").value.mean() == pytest.approx(flagged)
