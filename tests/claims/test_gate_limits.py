"""The limit that a gate passes by: by hand, against exact laws, and as grades are lost."""

import itertools
from typing import Any

import numpy as np
import pytest
from scipy.stats import beta, t

from helpers.outcomes import outcomes
from richter.claims import _gate_limits, as_sample, difference_evidence, mean_evidence, tango, with_gate_limit
from richter.claims._gate_limits import N_WEIGHTINGS, UnitFills

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
        least=low * share, most=high * share, share=share, worst=-1.0, bases=bases, are_groups=are_groups
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


@pytest.mark.parametrize(("groups", "moves"), [(22, True), (23, False)])
def test_few_groups_leave_room_for_one_that_fails_wholly(
    groups: int, moves: bool, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    rng = np.random.default_rng(6)
    x = np.clip(0.5 + 0.1 * rng.normal(size=(2 * groups, 2)), 0, 1)
    given: dict[str, Any] = {"group": np.arange(2 * groups) // 2}
    low = gate_low(x, **given)
    monkeypatch.setattr(_gate_limits, "MIN_GROUPS", 0)
    alone = gate_low(x, **given)
    assert low == pytest.approx((groups * alone - 1) / (groups + 1) if moves else alone, abs=1e-12)


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
    right[:8, 1] = right[8:11, 0] = 0.0
    assert gate_low(right) == tango(3, 8, 50, level=1 - 2 * ALPHA).low
    sample = as_sample(outcomes(right))
    found = mean_evidence(sample, "b", exact=True)
    level = with_gate_limit(found, sample, sample, conditions=("b",)).interval(0.9)
    assert (level.low, level.high) == (found.interval(0.9).low, found.interval(0.9).high)


def test_no_worse_answer_improves_the_limit_of_counts_by_trying_all() -> None:
    """n = 12: an answer that only the second has right gets wrong, or one that both have."""
    low = {(p, m): tango(p, m, 12, level=0.9).low for p in range(13) for m in range(13 - p)}
    for (plus, minus), limit in low.items():
        if plus:
            assert low[plus - 1, minus] <= limit + 1e-12
        if plus + minus < 12:
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
