"""Suites of benchmarks, and quality kept at a lower cost."""

import dataclasses

import numpy as np
import pytest

from helpers.outcomes import outcomes
from richter.claims import (
    METRICS,
    Question,
    Trade,
    cheaper_and_no_worse,
    decide,
    difference_evidence,
    p_value,
    suite_evidence,
    unpaired_evidence,
)
from richter.errors import InputError
from richter.records import Verdict


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
        conditions=("a", "b"),
        quality=difference_evidence(outcomes(score, "mean_score"), "a", "b"),
        cost=difference_evidence(outcomes(money, "money"), "a", "b"),
        metric=METRICS["mean_score"],
        cost_metric=METRICS["money"],
        margin=margin,
    )


def test_both_must_hold(rng: np.random.Generator) -> None:
    (good,) = cheaper_and_no_worse([trade(rng, 0.0, -0.3)])
    assert good.verdict is Verdict.VERIFIED
    assert "b is not worse scored than a by more than 0.010 and cheaper" in good.sentence
    (dear,) = cheaper_and_no_worse([trade(rng, 0.0, 0.3)])
    assert dear.verdict is Verdict.REFUTED
    (worse,) = cheaper_and_no_worse([trade(rng, -0.05, -0.3)])
    assert worse.verdict is Verdict.REFUTED
    (open_,) = cheaper_and_no_worse([trade(rng, 0.0, -0.3, margin=0.0001)])
    assert open_.verdict is Verdict.UNDECIDED
    assert "undecided (mean score)" in open_.sentence


@pytest.mark.parametrize("apart", [False, True])
def test_a_typical_item_that_is_cheaper_is_not_called_cheaper_where_the_sum_is_dearer_by_hand(
    rng: np.random.Generator, apart: bool
) -> None:
    """Nine items in ten cost half, the tenth ten times as much: the ratio of geometric means is 0.67, of sums 1.45."""
    n = 400
    money = np.stack([np.ones(n), np.where(np.arange(n) % 10 == 0, 10.0, 0.5)], axis=1) * rng.uniform(
        0.99, 1.01, (n, 2)
    )
    make = unpaired_evidence if apart else difference_evidence
    cost = make(outcomes(money, "money"), "a", "b")
    ratio = np.exp(np.mean(np.log(money[:, 1] / money[:, 0]))) - 1
    assert cost.estimate == pytest.approx(ratio) == pytest.approx(-0.325, abs=0.01)
    (alone,) = decide([Question(metric=METRICS["money"], conditions=("a", "b"), evidence=cost)])
    assert "(ratio of geometric means)" in alone.sentence
    assert f"the other way round: {money[:, 0].mean():.4g} and {money[:, 1].mean():.4g}" in alone.sentence
    (claim,) = cheaper_and_no_worse([dataclasses.replace(trade(rng, 0.0, -0.3), cost=cost)])
    assert claim.verdict is Verdict.UNDECIDED  # it was verified
    assert claim.p_adjusted == 1.0
    assert "the other way round" in claim.sentence
    both = cheaper_and_no_worse([dataclasses.replace(trade(rng, 0.0, -0.3), cost=cost), trade(rng, 0.1, -0.3)])
    assert [c.verdict for c in both] == [Verdict.UNDECIDED, Verdict.VERIFIED]  # it keeps no other from its turn


def test_the_larger_p_decides_by_hand(rng: np.random.Generator) -> None:
    t = trade(rng, 0.0, -0.01, n=200)
    (claim,) = cheaper_and_no_worse([t])
    low = t.quality.interval(1 - 2 * claim.p).low  # type: ignore[operator]
    high = t.cost.interval(1 - 2 * claim.p).high  # type: ignore[operator]
    assert min(low + t.margin, -high) == pytest.approx(0.0, abs=1e-6)


def test_pairs_at_the_edge_pass_in_five_of_a_hundred() -> None:
    # exactly at the margin and clearly cheaper: the quality alone decides, at one-sided 5%
    rng = np.random.default_rng(2)
    passed = sum(
        cheaper_and_no_worse([trade(rng, -0.01, -0.5, n=60)])[0].verdict is Verdict.VERIFIED for _ in range(400)
    )
    assert abs(passed / 400 - 0.05) < 2.6 * np.sqrt(0.05 * 0.95 / 400)


def test_attempts_divide_the_level_of_trades_and_multiply_their_p_values_by_hand(rng: np.random.Generator) -> None:
    """An adjusted p-value of 0.02 stood beside `undecided` where three attempts were allowed for."""
    base = trade(rng, 0.0, -0.3)
    alone = [[dataclasses.replace(base, margin=margin)] for margin in np.linspace(0.0, 0.01, 41).tolist()]
    one, three = ([cheaper_and_no_worse(t, tried=n)[0] for t in alone] for n in (1, 3))
    for a, b in zip(one, three, strict=True):
        assert a.p_adjusted is not None
        assert b.p_adjusted == pytest.approx(min(1.0, 3 * a.p_adjusted))
        assert (b.verdict is Verdict.VERIFIED) == (b.p_adjusted <= 0.05)
        assert b.plain_interval == a.plain_interval
    assert [c.verdict for c in one] != [c.verdict for c in three]
