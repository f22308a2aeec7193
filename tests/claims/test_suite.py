"""Suites of benchmarks, and quality kept at a lower cost."""

import dataclasses

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from helpers.normal import ask, normal
from helpers.outcomes import outcomes
from richter.claims import (
    METRICS,
    Asked,
    Evidence,
    Question,
    Trade,
    as_sample,
    decide,
    difference_evidence,
    p_value,
    suite_evidence,
    total_evidence,
)
from richter.errors import InputError
from richter.records import Claim, Interval, Verdict


def pair(rng: np.random.Generator, n: int, gain: float) -> object:
    x = rng.normal([0.5, 0.5 + gain], 0.1, size=(n, 2))
    return difference_evidence(outcomes(x, "mean_score"), "a", "b")


def test_a_suite_by_hand(rng: np.random.Generator) -> None:
    parts = {"math": pair(rng, 400, 0.02), "code": pair(rng, 200, 0.05)}
    found = suite_evidence(parts, {"math": 3.0, "code": 1.0})  # type: ignore[arg-type]
    math, code = parts["math"], parts["code"]
    assert found.estimate == pytest.approx(0.75 * math.estimate + 0.25 * code.estimate)  # type: ignore[attr-defined]
    # symmetric parts: the half-widths add like standard errors
    half = np.hypot(0.75 * math.interval(0.9).half_width, 0.25 * code.interval(0.9).half_width)  # type: ignore[attr-defined]
    assert found.interval(0.9).half_width == pytest.approx(half)
    assert found.n == 600
    p = p_value(found, 0.0)
    assert 0.0 not in found.interval(1 - 1.001 * p)
    assert 0.0 in found.interval(1 - 0.999 * p)
    assert "weights: math 75%, code 25%" in found.notes


def test_a_suite_of_which_one_part_is_not_corrected_says_that_judges_graded(rng: np.random.Generator) -> None:
    corrected = dataclasses.replace(pair(rng, 400, 0.02), labels=80)  # type: ignore[type-var]
    judged = dataclasses.replace(pair(rng, 200, 0.05), judged="as judged by j (too few human labels)")  # type: ignore[type-var]
    found = suite_evidence({"math": corrected, "code": judged}, {"math": 1.0, "code": 1.0})  # type: ignore[dict-item]
    assert (found.judged, found.labels) == ("as judged by j (too few human labels)", 80)


def test_weights_that_do_not_fit_are_refused(rng: np.random.Generator) -> None:
    with pytest.raises(InputError, match="no weight for code"):
        suite_evidence({"math": pair(rng, 9, 0), "code": pair(rng, 9, 0)}, {"math": 1.0})  # type: ignore[dict-item]
    with pytest.raises(InputError, match="zero, negative"):
        suite_evidence({"math": pair(rng, 9, 0)}, {"math": 0.0})  # type: ignore[dict-item]


def trade(rng: np.random.Generator, quality: float, cost: float, margin: float = 0.01, n: int = 2000) -> Trade:
    score = rng.normal([0.5, 0.5 + quality], 0.1, size=(n, 2))
    money = np.exp(rng.normal([0.0, np.log1p(cost)], 0.3, size=(n, 2)))
    return Trade(
        quality=difference_evidence(outcomes(score, "mean_score"), "a", "b"),
        cost=total_evidence(as_sample(outcomes(money, "money")), ("a", "b")),
        metric=METRICS["mean_score"],
        cost_metric=METRICS["money"],
        margin=margin,
    )


def asked_of(trade: Trade, family: str = "main") -> Asked:
    question = Question(measure="mean_score and money", conditions=("a", "b"), margin=trade.margin, family=family)  # type: ignore[arg-type]
    return Asked(question=question, metric=trade.metric, evidence=trade)


def decided(*trades: Trade, tried: int = 1) -> tuple[Claim, ...]:
    return decide([asked_of(t) for t in trades], tried=tried)


def normal_trade(quality: float, saving: float, margin: float = 0.0) -> Trade:
    """Quality and saving in their standard errors: the larger one-sided p is that of the smaller of the two."""
    return Trade(
        quality=normal(quality), cost=normal(-saving), metric=METRICS["mean_score"], cost_metric=METRICS["money"],
        margin=margin,
    )  # fmt: skip


def test_both_must_hold(rng: np.random.Generator) -> None:
    (good,) = decided(trade(rng, 0.0, -0.3))
    assert good.verdict is Verdict.VERIFIED
    assert good.measure == "mean_score and money"
    (dear,) = decided(trade(rng, 0.0, 0.3))
    assert dear.verdict is Verdict.REFUTED
    (worse,) = decided(trade(rng, -0.05, -0.3))
    assert worse.verdict is Verdict.REFUTED
    (open_,) = decided(trade(rng, 0.0, -0.3, margin=0.0001))
    assert open_.verdict is Verdict.UNDECIDED


@pytest.mark.parametrize(("quality", "saving"), [(1.0, 9.0), (9.0, 1.0)])
def test_a_trade_is_verified_at_one_sided_alpha_of_its_weaker_half_by_hand(quality: float, saving: float) -> None:
    """One-sided 5%: 1.645, of the quality's distance from its margin or of the saving."""
    for z, verdict in ((1.64, Verdict.UNDECIDED), (1.65, Verdict.VERIFIED)):
        (claim,) = decided(normal_trade(max(quality * z, z), max(saving * z, z)))
        assert claim.verdict is verdict
        assert claim.p == pytest.approx(ndtr(-z))
        assert claim.interval is not None
        assert claim.interval.level == pytest.approx(0.9)


@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize("half", ["quality", "cost"])
def test_a_trade_is_refuted_at_half_of_its_level_for_each_half_by_hand(half: str, number: int) -> None:
    """Either half may refute, so each has one-sided 2.5% over the trades: |z| 1.960 of one, 2.241 of two."""
    bound = float(ndtri(1 - 0.05 / number / 2))
    for z, verdict in ((bound - 0.01, Verdict.UNDECIDED), (bound + 0.01, Verdict.REFUTED)):
        lost = normal_trade(-z, 9.0) if half == "quality" else normal_trade(9.0, -z)
        claims = decided(lost, *[normal_trade(0.1, 0.1)] * (number - 1))
        assert claims[0].verdict is verdict


def test_a_list_of_trades_goes_on_only_while_they_are_verified_by_hand() -> None:
    """Three trades: 5% / 3 is |z| 2.128, 5% / 2 1.960, 5% 1.645."""
    first, second, third = (float(ndtri(1 - 0.05 / left)) for left in (3, 2, 1))
    shown = decided(*(normal_trade(z + 0.01, 9.0) for z in (second, first, third)))
    assert [c.verdict for c in shown] == [Verdict.VERIFIED] * 3
    assert [c.interval.level for c in shown if c.interval] == pytest.approx([1 - 0.05, 1 - 0.1 / 3, 0.9])
    stopped = decided(*(normal_trade(z - 0.01, 9.0) for z in (first, second + 0.02, third + 0.02)))
    assert [c.verdict for c in stopped] == [Verdict.UNDECIDED] * 3
    assert [c.interval.level for c in stopped if c.interval] == pytest.approx([1 - 0.1 / 3] * 3)
    middle = decided(*(normal_trade(z, 9.0) for z in (first + 0.01, second - 0.01, third + 0.01)))
    assert [c.verdict for c in middle] == [Verdict.VERIFIED, Verdict.UNDECIDED, Verdict.UNDECIDED]
    refuted = decided(normal_trade(first + 0.01, 9.0), normal_trade(-9.0, 9.0), normal_trade(second - 0.01, 9.0))
    assert [c.verdict for c in refuted] == [Verdict.VERIFIED, Verdict.REFUTED, Verdict.UNDECIDED]


def test_trades_and_other_questions_of_a_family_share_its_level_by_hand() -> None:
    """One trade and three others in one family: a quarter of 5% and three quarters."""
    others = [ask(0.1) for _ in range(3)]
    for z, verdict in ((2.23, Verdict.UNDECIDED), (2.25, Verdict.VERIFIED)):  # one-sided 1.25%: 2.241
        claims = decide([asked_of(normal_trade(z, 9.0)), *others])
        assert claims[0].verdict is verdict
        assert claims[0].p_adjusted == pytest.approx(4 * ndtr(-z))
        assert [c.interval.level for c in claims[1:] if c.interval] == pytest.approx([1 - 0.05 / 4] * 3)
    alone = decide([asked_of(normal_trade(1.65, 9.0)), *[ask(0.1, family="other") for _ in range(3)]])
    assert alone[0].verdict is Verdict.VERIFIED


def test_a_quality_of_which_less_is_better_may_rise_by_its_margin_by_hand() -> None:
    made = dataclasses.replace(normal_trade(1.0, 9.0, margin=2.7), metric=METRICS["mean_severity"])
    (claim,) = decided(made)
    assert claim.verdict is Verdict.VERIFIED  # 1.7 below the margin
    assert claim.hypothesis is not None
    assert (claim.hypothesis.relation, claim.hypothesis.value) == ("below", 2.7)
    assert decided(dataclasses.replace(made, margin=2.6))[0].verdict is Verdict.UNDECIDED


@pytest.mark.parametrize("unpaired", [False, True])
def test_a_typical_item_that_is_cheaper_is_not_called_cheaper_where_the_bill_is_higher_by_hand(
    rng: np.random.Generator, unpaired: bool
) -> None:
    """Nine items in ten cost half, the tenth ten times as much: the ratio of geometric means is 0.67, of sums 1.45."""
    n = 400
    money = np.stack([np.ones(n), np.where(np.arange(n) % 10 == 0, 10.0, 0.5)], axis=1)
    money *= rng.uniform(0.99, 1.01, (n, 2))
    cost = total_evidence(as_sample(outcomes(money, "money")), ("a", "b"), unpaired=unpaired)
    assert cost.estimate == pytest.approx(money[:, 1].sum() / money[:, 0].sum() - 1) == pytest.approx(0.45, abs=0.01)
    assert cost.values == pytest.approx(tuple(money.mean(axis=0)))
    (claim,) = decided(dataclasses.replace(trade(rng, 0.0, -0.3), cost=cost))
    assert claim.verdict is Verdict.REFUTED


def test_the_larger_p_decides_by_hand(rng: np.random.Generator) -> None:
    t = trade(rng, 0.0, -0.08, n=200)
    (claim,) = decided(t)
    low = t.quality.interval(1 - 2 * claim.p).low  # type: ignore[operator]
    high = t.cost.interval(1 - 2 * claim.p).high  # type: ignore[operator]
    assert min(low + t.margin, -high) == pytest.approx(0.0, abs=1e-6)


def test_pairs_at_the_edge_pass_in_five_of_a_hundred() -> None:
    # exactly at the margin and clearly cheaper: the quality alone decides, at one-sided 5%
    rng = np.random.default_rng(2)
    passed = sum(decided(trade(rng, -0.01, -0.5, n=60))[0].verdict is Verdict.VERIFIED for _ in range(400))
    assert abs(passed / 400 - 0.05) < 2.6 * np.sqrt(0.05 * 0.95 / 400)


def test_attempts_divide_the_level_of_trades_and_multiply_their_p_values_by_hand(rng: np.random.Generator) -> None:
    """An adjusted p-value of 0.02 stood beside `undecided` where three attempts were allowed for."""
    base = trade(rng, 0.0, -0.3)
    alone = [dataclasses.replace(base, margin=margin) for margin in np.linspace(0.0, 0.01, 41).tolist()]
    one, three = ([decided(t, tried=n)[0] for t in alone] for n in (1, 3))
    for a, b in zip(one, three, strict=True):
        assert a.p_adjusted is not None
        assert b.p_adjusted == pytest.approx(min(1.0, 3 * a.p_adjusted))
        assert (b.verdict is Verdict.VERIFIED) == (b.p_adjusted <= 0.05)
        assert b.plain_interval == a.plain_interval
    assert [c.verdict for c in one] != [c.verdict for c in three]


def test_the_errors_of_a_suite_add_and_their_freedoms_by_hand() -> None:
    """Weights 3/4 and 1/4 of errors 2 and 4, with 9 and 4 degrees of freedom: errors of 1.5 and 1."""
    parts = {"math": normal(1.0, 2.0, freedom=9.0), "code": normal(5.0, 4.0, freedom=4.0)}
    found = suite_evidence(parts, {"math": 3.0, "code": 1.0})
    assert (found.estimate, found.standard_error) == (pytest.approx(2.0), pytest.approx(np.hypot(1.5, 1.0)))
    assert found.freedom == pytest.approx(3.25**2 / (1.5**4 / 9 + 1 / 4))
    unknown = suite_evidence(
        parts | {"code": dataclasses.replace(parts["code"], standard_error=None)}, {"math": 3.0, "code": 1.0}
    )
    assert (unknown.standard_error, unknown.freedom) == (None, pytest.approx(9.0))


def fixed(low: float, high: float) -> Evidence:
    """Evidence with one interval at every level."""
    return Evidence(
        estimate=(low + high) / 2, interval=lambda at: Interval(low=low, high=high, level=at, method="by hand"), n=9,
        units=9,
    )  # fmt: skip


def test_limits_that_touch_the_margin_or_no_saving_show_nothing_by_hand() -> None:
    """Money is a cost, so that a rise is a loss; the margin is 1."""
    trade = normal_trade(0.0, 0.0, margin=1.0)
    kept = [dataclasses.replace(trade, quality=fixed(low, 5.0)).keeps_quality(0.05) for low in (-1.01, -1.0, -0.99)]
    lost = [dataclasses.replace(trade, quality=fixed(-9.0, high)).loses_quality(0.05) for high in (-1.01, -1.0, -0.99)]
    saved = [dataclasses.replace(trade, cost=fixed(-9.0, high)).saves(0.05) for high in (-0.01, 0.0, 0.01)]
    dearer = [dataclasses.replace(trade, cost=fixed(low, 9.0)).costs_more(0.05) for low in (-0.01, 0.0, 0.01)]
    assert (kept, lost) == ([False, False, True], [True, False, False])
    assert (saved, dearer) == ([True, False, False], [False, False, True])


def test_the_values_of_a_suite_are_those_of_its_benchmarks_by_weight_by_hand() -> None:
    parts = {"math": normal(0.2, values=(0.4, 0.6)), "code": normal(0.1, values=(0.8, 0.9))}
    found = suite_evidence(parts, {"math": 3.0, "code": 1.0})
    assert found.values == (pytest.approx(0.5), pytest.approx(0.675))
