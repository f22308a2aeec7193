"""The limit that a gate passes by: by hand, against exact laws, and as grades are lost."""

import itertools
from typing import Any

import numpy as np
import pytest
from scipy.stats import beta, t

from helpers.outcomes import outcomes
from richter.claims import _gate_limits, as_sample, difference_evidence, mean_evidence, tango, with_gate_limit
from richter.claims._gate_limits import N_WEIGHTINGS, UnitFills
from richter.claims._units import paired_rates_mover

ALPHA = 0.05
# the share of exact means below a limit: of so many weightings, within four standard errors
BAND = (
    ALPHA - 4 * (ALPHA * (1 - ALPHA) / N_WEIGHTINGS) ** 0.5,
    ALPHA + 4 * (ALPHA * (1 - ALPHA) / N_WEIGHTINGS) ** 0.5,
)


def gate_low(table: np.ndarray, **more: Any) -> float:
    """The limit of b no worse than a, one-sided at 95%."""
    sample = as_sample(outcomes(table, **more))
    found = difference_evidence(sample, "a", "b", exact=True)
    return with_gate_limit(found, sample, sample, conditions=("a", "b")).interval(1 - 2 * ALPHA).low


def fills(least: Any, most: Any = None, *, are_groups: bool = False, bases: tuple[float, ...] = (0.0,)) -> UnitFills:
    """Units of equal share, with values between `least` and `most`."""
    low = np.asarray(least, dtype=float)
    high = low if most is None else np.asarray(most, dtype=float)
    share = np.full(len(low), 1 / len(low))
    return UnitFills(
        least=low * share, most=high * share, share=share, worst=-1.0, failing=-0.8, bases=bases, are_groups=are_groups
    )  # fmt: skip


def test_units_that_are_all_alike_have_clopper_and_pearsons_limit() -> None:
    """40 items of two draws, no difference: the unseen unit's weight is Beta(1, 40), so that (1 - w)^40 = alpha."""
    low = gate_low(np.ones((40, 2, 2)))
    assert BAND[0] < (1 + low) ** 40 < BAND[1]


def test_two_values_have_the_quantile_of_a_beta() -> None:
    """30 units at -0.5 and 30 at +0.5, and one more at the worst seen: -0.5 + Beta(30, 31)."""
    half = np.repeat([-0.5, 0.5], 30)
    means = _gate_limits._WeightedMeans.of(fills(half))
    assert BAND[0] < beta.cdf(means.quantile(ALPHA) + 0.5, 30, 31) < BAND[1]


def test_where_few_units_depart_the_added_one_is_as_bad_as_the_range_allows() -> None:
    """Three of 40 units at -0.5: -Beta weights of these and of one at -1, by the exact mean of the law."""
    value = np.r_[np.full(3, -0.5), np.zeros(37)]
    rare = _gate_limits._WeightedMeans.of(fills(value)).means.mean()
    assert rare == pytest.approx((3 * -0.5 - 1.0) / 41, rel=0.02)
    many = np.r_[np.full(20, -0.5), np.zeros(20)]
    assert _gate_limits._WeightedMeans.of(fills(many)).means.mean() == pytest.approx(21 * -0.5 / 41, rel=0.02)


def test_students_limit_is_never_exceeded_by_hand() -> None:
    """Scores of 30 groups of 2: mean less t(29) times s / sqrt(30)."""
    rng = np.random.default_rng(4)
    x = np.clip(0.5 + 0.1 * rng.normal(size=(60, 2)), 0, 1)
    group = np.arange(60) // 2
    d = (x[:, 1] - x[:, 0]).reshape(30, 2).mean(axis=1)
    student = d.mean() - t.ppf(1 - ALPHA, 29) * d.std(ddof=1) / 30**0.5
    low = gate_low(x, group=group)
    assert low <= student + 1e-12
    assert low > student - (d.max() - d.min()) / 30  # the added unit is one of thirty-one


@pytest.mark.parametrize("groups", [8, 12, 22, 23])
def test_few_groups_allow_for_one_in_eight_that_fails_wholly_by_hand(groups: int) -> None:
    """Met with a chance of 0.05 / (7 / 8)^G where no failing group is seen: 15, 25 and 94%; 23 groups show one."""
    rng = np.random.default_rng(6)
    x = np.clip(0.5 + 0.1 * rng.normal(size=(2 * groups, 2)), 0, 1)
    d = (x[:, 1] - x[:, 0]).reshape(groups, 2).mean(axis=1)
    low = gate_low(x, group=np.arange(2 * groups) // 2)
    chance = ALPHA / (7 / 8) ** groups
    if groups == 23:
        assert chance > 1
        assert low > d.mean() - 0.1
        return
    error = d.std(ddof=1) / groups**0.5
    end = 7 / 8 * (d.mean() - t.ppf(1 - chance, groups - 1) * error) - x[:, 0].mean() / 8  # a failing group loses all
    student = d.mean() - t.ppf(1 - ALPHA, groups - 1) * error
    assert low <= min(end, student) + 1e-12
    if groups < 20:
        assert low == pytest.approx(end, abs=1e-12)


def test_single_items_do_not_fail_wholly_unseen_as_groups_of_the_same_items_may() -> None:
    """Twelve items, and twelve groups of two that are alike: a failing group takes an eighth of the mean of a."""
    x = np.clip(0.5 + 0.1 * np.random.default_rng(6).normal(size=(12, 2)), 0, 1)
    alone, grouped = gate_low(x), gate_low(np.repeat(x, 2, axis=0), group=np.repeat(np.arange(12), 2))
    assert grouped < alone - 0.02


def test_a_lost_grade_does_not_improve_the_limit_of_few_groups() -> None:
    """Of 21 groups t is below 0 there, so that the smallest error over the missing grade counts."""
    rng = np.random.default_rng(8)
    x = np.clip(0.5 + 0.1 * rng.normal(size=(42, 2)), 0, 1)
    more: dict[str, Any] = {"group": np.arange(42) // 2}
    whole = gate_low(x, **more)
    for place in range(0, 42, 5):
        ends = []
        for value in (0.0, 1.0):
            filled = x.copy()
            filled[place, 1] = value
            ends.append(as_sample(outcomes(filled, **more)))
        found = difference_evidence(ends[0], "a", "b", exact=True)
        low = with_gate_limit(found, *ends, conditions=("a", "b")).interval(1 - 2 * ALPHA).low
        assert low <= whole + 1e-12


def test_residuals_hold_for_every_value_of_the_missing_grades_by_trying_all() -> None:
    ends = [(-1.0, 0.5), (0.0, 0.0), (0.2, 0.9), (-0.3, -0.3), (0.0, 1.0)]
    made = fills([a for a, _ in ends], [b for _, b in ends])
    largest, smallest = made.largest_residuals(), made.smallest_residuals()
    for values in itertools.product(*ends):
        residual = np.abs(np.array(values) - np.mean(values)) / 5
        assert (residual <= largest + 1e-12).all()
        assert (residual >= smallest - 1e-12).all()
    # the first unit: 0.5 and a mean of -0.22 (all others lowest), or -1 and one of 0.42 (all others highest)
    assert largest[0] == pytest.approx(max(0.5 + 0.22, 1 + 0.42) / 5)


def test_whether_few_units_depart_holds_for_some_value_of_the_missing_grades() -> None:
    many = np.r_[np.full(20, 0.3), np.zeros(30)]
    assert not fills(many).may_depart_rarely()
    assert fills(many[1:]).may_depart_rarely()  # 19 of 49
    undone = np.where(np.arange(50) == 0, 0.0, many)
    assert fills(undone, many).may_depart_rarely()  # 19 of 50, if the first does not depart
    assert not fills(np.full(10, 0.3) + np.arange(10) / 100).may_depart_rarely()  # most do, and differ
    assert fills(np.full(10, 0.3)).may_depart_rarely()  # all alike
    assert fills(np.full(10, 0.3), np.full(10, 0.3) + np.arange(10) / 100).may_depart_rarely()  # all may be alike


def test_single_answers_keep_the_limits_of_their_counts() -> None:
    right = np.ones((50, 2))
    right[:18, 1] = right[18:21, 0] = 0.0
    assert gate_low(right) == tango(3, 18, 50, level=1 - 2 * ALPHA).low
    right[8:18, 1] = 1.0
    assert gate_low(right) == paired_rates_mover(3, 8, 50, level=1 - 2 * ALPHA).low
    sample = as_sample(outcomes(right))
    found = mean_evidence(sample, "b", exact=True)
    level = with_gate_limit(found, sample, sample, conditions=("b",)).interval(0.9)
    assert (level.low, level.high) == (found.interval(0.9).low, found.interval(0.9).high)


def test_no_worse_answer_improves_the_limit_of_counts_by_trying_all() -> None:
    """n = 30: an answer that only the second has right gets wrong, or one that both have; Tango's from 20 on."""

    def limit_of(p: int, m: int) -> float:
        return (paired_rates_mover if p + m < 20 else tango)(p, m, 30, level=0.9).low

    low = {(p, m): limit_of(p, m) for p in range(27) for m in range(27 - p)}
    for (plus, minus), limit in low.items():
        if plus:
            assert low[plus - 1, minus] <= limit + 1e-12
        if plus + minus < 26:
            assert low[plus, minus + 1] <= limit + 1e-12


def test_the_error_rate_has_the_limit_of_its_better_side() -> None:
    """Less is better: the upper limit is the one that passes, and is that of right answers turned round."""
    rng = np.random.default_rng(8)
    right = (rng.random((60, 1, 3)) < 0.8).astype(float)
    highs = []
    for values, metric in ((right, "accuracy"), (1 - right, "error_rate")):
        sample = as_sample(outcomes(values, metric=metric))
        found = mean_evidence(sample, "a", exact=True)
        ends = with_gate_limit(found, sample, sample, conditions=("a",)).interval(0.9)
        highs.append(ends.high if metric == "error_rate" else 1 - ends.low)
    assert highs[0] == pytest.approx(highs[1], abs=1e-12)


def swings(units: int, *, size: int = 1, step: float = 1.0) -> np.ndarray:
    """Items x two conditions x two draws, the differences of units being +step and -step by turns."""
    gain = np.repeat(np.where(np.arange(units) % 2 == 0, step, -step), size)
    first, second = np.where(gain > 0, 0.0, step), np.where(gain > 0, step, 0.0)
    return np.repeat(np.stack([first, second], axis=1)[:, :, None], 2, axis=2)


def student_low(table: np.ndarray, **more: Any) -> float:
    """The lower limit by t that a comparison has."""
    return difference_evidence(as_sample(outcomes(table, **more)), "a", "b").interval(1 - 2 * ALPHA).low


def test_where_students_limit_is_the_smaller_one_it_decides_by_hand() -> None:
    """Eight items at +1 and -1: 0 less t(7) times sqrt(8 / 7) / sqrt(8); the weighted means end at -0.61."""
    low = gate_low(swings(8))
    assert low == pytest.approx(-t.ppf(1 - ALPHA, 7) / 7**0.5, abs=1e-12)
    assert low == pytest.approx(student_low(swings(8)), abs=1e-12)


@pytest.mark.parametrize(
    "more",
    [
        {"weight": np.array([1.0, 1.2, 1.1, 1.0, 1.3, 1.0, 1.1, 1.2])},
        {"group": np.repeat(np.arange(8), 2)},
        {"group_2": np.repeat(np.arange(8), 2)},
        {"group": np.repeat(np.arange(8), 2), "group_2": np.repeat(np.arange(8), 2)[::-1] // 1},
        {"group": np.repeat(np.arange(8), 2), "group_2": np.array([0, 1, 2, 3, 4, 5, 6, 7] * 2)},
    ],
    ids=["weights", "groups", "second grouping", "two alike", "two crossed"],
)
def test_students_limit_is_that_of_a_comparison(more: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing is missing the standard error and the degrees of freedom are those of `difference_evidence`."""
    monkeypatch.setattr(_gate_limits, "FAILING_SHARE", 0.0)
    table = swings(8, size=1 if "weight" in more else 2)
    assert gate_low(table, **more) == pytest.approx(student_low(table, **more), abs=1e-9)


@pytest.mark.parametrize(("items", "decides"), [(4, False), (5, True)])
def test_under_four_degrees_of_freedom_nothing_is_excluded(items: int, decides: bool) -> None:
    table = swings(items, step=0.5)
    low = gate_low(table)
    assert (low == -1.0) is not decides
    if decides:
        assert low == pytest.approx(student_low(table), abs=1e-12)


def test_the_limit_is_the_mean_that_so_many_lie_below_by_hand() -> None:
    means = _gate_limits._WeightedMeans(means=np.arange(9999.0))
    assert means.quantile(0.05) == 499.0  # the 500th of 9,999
    assert means.quantile(0.0501) == 500.0
    assert means.quantile(1e-9) == 0.0


def test_half_of_the_units_are_not_few() -> None:
    def depart(number: int, base: float = 0.0) -> UnitFills:
        return fills(base + np.r_[np.arange(1, number + 1) / 100, np.zeros(10 - number)], bases=(base,))

    assert depart(4).may_depart_rarely()
    assert not depart(5).may_depart_rarely()
    assert depart(4, 0.3).may_depart_rarely()
    assert not depart(5, 0.3).may_depart_rarely()
    below = fills(np.r_[-np.arange(1, 6) / 100, np.zeros(5)])
    assert not below.may_depart_rarely()
    assert fills(np.r_[-np.arange(1, 5) / 100, np.zeros(6)]).may_depart_rarely()


def test_counts_of_errors_pass_by_their_upper_limit() -> None:
    wrong = np.zeros((50, 2))
    wrong[:6, 1] = wrong[4:9, 0] = 1.0
    sample = as_sample(outcomes(wrong, metric="error_rate"))
    for conditions in (("b",), ("a", "b")):
        found = (
            mean_evidence(sample, "b", exact=True)
            if len(conditions) == 1
            else difference_evidence(sample, "a", "b", exact=True)
        )
        made = with_gate_limit(found, sample, sample, conditions=conditions)
        assert (made.interval(0.9).low, made.interval(0.9).high) == (found.interval(0.9).low, found.interval(0.9).high)
        assert made.p is found.p
    many = as_sample(outcomes(np.repeat(wrong[:, :, None], 2, axis=2), metric="error_rate"))
    found = difference_evidence(many, "a", "b", exact=True)
    made = with_gate_limit(found, many, many, conditions=("a", "b"))
    assert made.p is None  # found from the interval, so that both agree
    assert made.interval(0.9).low == found.interval(0.9).low
