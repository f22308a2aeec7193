"""All against one control: levels from the largest |t| of claims that share the control."""

import dataclasses

import numpy as np
import pytest
from scipy.special import ndtri, stdtrit
from scipy.stats import dunnett

from helpers.outcomes import outcomes
from richter.claims import (
    METRICS,
    Evidence,
    JointTests,
    Question,
    as_sample,
    compare_outcomes,
    decide,
    difference_evidence,
    joint_tests,
    within,
)
from richter.records import Interval, Verdict


def shared_control(rng: np.random.Generator, n: int, others: int, discordance: float, gain: float = 0.0) -> np.ndarray:
    """A control and conditions that differ from it on their own items; the first by `gain` on average."""
    x = np.empty((n, others + 1))
    x[:, 0] = rng.random(n) < 0.6
    for k in range(1, others + 1):
        more = gain if k == 1 else 0.0
        up = rng.random(n) < (discordance + more) / 2 / 0.4
        down = rng.random(n) < (discordance - more) / 2 / 0.6
        x[:, k] = np.where(x[:, 0] == 0, up, ~down)
    return x


def test_levels_by_hand() -> None:
    p = np.array([[0.01, 0.5], [0.5, 0.02], [0.3, 0.4], [0.9, 0.8]])
    joint = JointTests(keys=(("m", ("a", "b")), ("m", ("a", "c"))), p=p)
    assert joint.adjusted(joint.keys, 0.02) == pytest.approx(0.04)  # Bonferroni is smaller than the share 2 / 4
    assert joint.adjusted(joint.keys, 0.35) == pytest.approx(0.70)
    assert joint.alpha(joint.keys, 0.5) == pytest.approx(0.25)  # P(min <= 0.02) = 0.5, but Bonferroni allows 0.25
    p = np.repeat([[0.2, 0.2], [0.4, 0.4], [0.6, 0.6], [0.8, 0.8]], 5, axis=0)
    together = JointTests(keys=joint.keys, p=p)  # the same claim twice costs nothing
    assert together.alpha(together.keys, 0.25) == pytest.approx(0.2)
    assert together.adjusted(together.keys, 0.4) == pytest.approx(0.5)


def test_a_p_value_that_no_resample_reached_is_bonferroni_s() -> None:
    """It was printed as if it were the only claim."""
    joint = JointTests(keys=tuple(("m", ("a", name)) for name in "bcd"), p=np.full((1000, 3), 0.5))
    assert joint.adjusted(joint.keys, 1e-9) == pytest.approx(3e-9)
    assert joint.adjusted(joint.keys, 1e-9, more=2) == pytest.approx(5e-9)
    assert joint.adjusted(joint.keys, 9e-4) == pytest.approx(1e-3)  # one in 1,000 resamples at the most


def test_tied_p_values_are_taken_together_by_hand() -> None:
    """Every resample has 0.03: at that level one of the two is always shown, so Bonferroni's stands."""
    joint = JointTests(keys=(("m", ("a", "b")), ("m", ("a", "c"))), p=np.full((1000, 2), 0.03))
    assert joint.alpha(joint.keys, 0.05) == pytest.approx(0.025)


def test_adjusted_p_against_dunnett(rng: np.random.Generator) -> None:
    # independent arms of equal variance have correlation 1/2 with a common control, as items here do: with constant
    # controls' noise shared, Dunnett's adjusted p is the reference
    n = 400
    shared = rng.normal(size=(n, 1))
    d = np.concatenate([np.zeros((n, 1)), shared + rng.normal(size=(n, 5))], axis=1)  # pairs share half their variance
    d[:, 1] += 0.15
    x = outcomes(d, "mean_score")
    pairs = [("a", name) for name in "bcdef"]
    joint = joint_tests(x, pairs, rng=rng)
    raw = [difference_evidence(x, *pair).p(0.0) for pair in pairs]  # type: ignore[misc]
    smallest = int(np.argmin(raw))
    found = joint.adjusted(joint.keys, raw[smallest])
    # Dunnett's p for the same t: arms of size n against a control of size n have correlation 1/2
    control = rng.normal(size=n)
    control = (control - control.mean()) / control.std(ddof=1)
    arms = []
    for p in raw:
        arm = rng.normal(size=n)
        arm = (arm - arm.mean()) / arm.std(ddof=1)
        arms.append(arm + float(-stdtrit(n - 1, p / 2)) * np.sqrt(2 / n))
    want = dunnett(*arms, control=control, rng=np.random.default_rng(1)).pvalue[smallest]
    assert found == pytest.approx(want, abs=0.02)


def test_claims_against_a_control_agree_with_their_intervals(rng: np.random.Generator) -> None:
    x = outcomes(shared_control(rng, 500, 8, 0.2, gain=0.08))
    page = compare_outcomes([x], control="a", rng=rng)
    assert len(page.claims) == 8
    assert {c.family.method for c in page.claims if c.family} == {"max t"}
    for claim in page.claims:
        assert claim.interval is not None
        assert (0.0 not in claim.interval) == (claim.verdict is Verdict.VERIFIED)
        assert (claim.p_adjusted <= 0.05) == (claim.verdict is Verdict.VERIFIED)  # type: ignore[operator]
        assert claim.interval.level > 0.95
        assert 1 - claim.interval.level >= 0.05 / 8 - 1e-12  # never stricter than Bonferroni


@pytest.mark.slow
def test_false_claims_against_a_control_stay_at_five_in_a_hundred() -> None:
    rng = np.random.default_rng(9)
    runs, false = 150, 0
    for _ in range(runs):
        x = outcomes(shared_control(rng, 300, 6, 0.2))
        page = compare_outcomes([x], control="a", rng=rng)
        false += any(c.verdict is Verdict.VERIFIED for c in page.claims)
    assert false / runs < 0.05 + 2.6 * np.sqrt(0.05 * 0.95 / runs)


def test_steps_down_after_a_claim_is_shown(rng: np.random.Generator) -> None:
    x = outcomes(shared_control(rng, 2000, 3, 0.2, gain=0.15))
    pairs = [("a", name) for name in "bcd"]
    joint = joint_tests(x, pairs, rng=rng)
    questions = [Question(metric=x.metric, conditions=p, evidence=difference_evidence(x, *p)) for p in pairs]
    claims = decide(questions, joint=joint)
    assert claims[0].verdict is Verdict.VERIFIED
    assert claims[0].interval is not None
    assert claims[1].interval is not None
    assert claims[1].interval.level < claims[0].interval.level  # two claims are left, not three


@pytest.mark.parametrize(("margin", "level"), [(None, 0.05), (0.1, 0.025)])
def test_a_claim_with_a_margin_is_outside_the_law_by_hand(margin: float | None, level: float) -> None:
    """Two claims that are one and the same cost nothing together; one of them with a margin counts by itself."""
    keys = (("accuracy", ("base", "a")), ("accuracy", ("base", "b")))
    law = JointTests(keys=keys, p=np.repeat(np.arange(1, 1001)[:, None] / 1000, 2, axis=1))

    def interval(level: float) -> Interval:
        reach = float(ndtri(0.5 + level / 2))
        return Interval(low=1 - reach, high=1 + reach, level=level, method="normal")

    one = Evidence(estimate=1.0, interval=interval, n=9, units=9, standard_error=1.0)
    asked = [
        Question(metric=METRICS["accuracy"], conditions=pair, evidence=one, margin=m)
        for (_, pair), m in zip(keys, (None, margin), strict=True)
    ]
    claims = decide(asked, joint=law)
    assert [1 - c.interval.level for c in claims if c.interval] == pytest.approx([level, level])


def test_claims_outside_the_law_count_one_by_one_by_hand() -> None:
    """Two claims that the law knows and one that it does not: 2 + 1 are left at first, then 1 + 1, then 1."""

    # of p-values that are always 0 the law knows nothing better than to add up
    keys = (("mean_severity", ("base", "a")), ("mean_severity", ("base", "b")))
    law = JointTests(keys=keys, p=np.zeros((1000, 2)))

    def interval(level: float) -> Interval:
        reach = float(ndtri(0.5 + level / 2))
        return Interval(low=5 - reach, high=5 + reach, level=level, method="normal")

    asked = [
        ("mean_severity", ("base", "a"), 1e-8),
        ("accuracy", ("base", "a"), 2e-8),
        ("mean_severity", ("base", "b"), 3e-8),
    ]
    questions = [
        Question(
            metric=METRICS[measure],
            conditions=pair,
            evidence=Evidence(estimate=5.0, interval=interval, p=lambda _, p=p: p, n=9, units=9, standard_error=1.0),  # type: ignore[misc]
        )
        for measure, pair, p in asked
    ]
    claims = decide(questions, joint=law)
    assert [c.p_adjusted for c in claims] == pytest.approx([3e-8, 4e-8, 4e-8])
    assert {c.family.method for c in claims if c.family} == {"max t"}


def test_the_test_of_a_margin_has_no_law_with_the_others_by_hand() -> None:
    """Two differences that are one and the same cost one; the margin of the first of them one more: 2.5% each."""
    pairs = (("base", "a"), ("base", "b"))

    def interval(level: float) -> Interval:
        reach = float(ndtri(0.5 + level / 2))
        return Interval(low=5 - reach, high=5 + reach, level=level, method="normal")

    evidence = Evidence(estimate=5.0, interval=interval, p=lambda _: 0.9, n=9, units=9, standard_error=1.0)
    severity = METRICS["mean_severity"]
    questions = [Question(metric=severity, conditions=p, evidence=evidence) for p in pairs]
    questions[0] = dataclasses.replace(questions[0], margin=1.0)
    same = np.repeat((np.arange(10_000)[:, None] + 0.5) / 10_000, 2, axis=1)
    claims = decide(questions, joint=JointTests(keys=tuple((severity.name, p) for p in pairs), p=same))
    assert [c.interval.level for c in claims if c.interval] == pytest.approx([0.975, 0.975], abs=1e-4)


def test_a_free_item_of_another_condition_changes_no_law_of_a_ratio(rng: np.random.Generator) -> None:
    """Claims on b and c are of ratios, whatever d costs; their law was that of plain differences."""
    cost = np.exp(rng.normal(size=(80, 4)))
    cost[3, 3] = 0.0
    pairs = [("a", "b"), ("a", "c")]
    with_d, without = (
        joint_tests(outcomes(x, "money"), pairs, rng=np.random.default_rng(1), n_resamples=1000)
        for x in (cost, cost[:, :3])
    )
    np.testing.assert_array_equal(with_d.p, without.p)


def test_evidence_made_another_way_is_decided_by_holm_by_hand(rng: np.random.Generator) -> None:
    """Of 400 items where b and c answer alike and 40 where they do not, the 40 have all of the weight.

    The law of plain differences is mostly of the 400, where two claims cost little more than one.
    """
    base = rng.random(400) < 0.5
    alike = np.where(rng.random(400) < 0.4, ~base, base)
    many, few = np.stack([base, alike, alike], axis=1), rng.random((40, 3)) < 0.5
    x = as_sample(outcomes(np.concatenate([many, few]).astype(float)))
    use = np.arange(440) >= 400
    found = compare_outcomes([x], control="a", evidence_of=lambda s, a, b: difference_evidence(within(s, use), a, b))
    plain = compare_outcomes([x], control="a")
    assert {c.family.method for c in found.claims if c.family} == {"holm"}
    assert {c.family.method for c in plain.claims if c.family} == {"max t"}
    assert max(c.interval.level for c in found.claims if c.interval) == pytest.approx(0.975)  # it was 0.96


def test_claims_with_a_margin_have_no_joint_law_and_say_so(rng: np.random.Generator) -> None:
    x = outcomes(shared_control(rng, 200, 3, 0.3))
    found = compare_outcomes([x], control="a", margins={"accuracy": 0.02})
    assert {c.family.method for c in found.claims if c.family} == {"holm"}
    assert max(c.interval.level for c in found.claims if c.interval) == pytest.approx(1 - 0.05 / 3)
