"""All against one control: levels from the largest |t| of claims that share the control."""

import dataclasses
from typing import Any

import numpy as np
import pytest
from scipy.special import stdtr, stdtrit
from scipy.stats import dunnett

from helpers.normal import ask, normal
from helpers.outcomes import dataset_of, outcomes
from richter.audit import compare_tables
from richter.claims import JointTests, Outcomes, Question, decide, difference_evidence, joint_law, joint_tests
from richter.evidence import Policy, evidence, joint_law_of
from richter.records import Claim, Verdict
from richter.tables import Dataset


def page(x: Outcomes | Dataset, **options: Any) -> tuple[Claim, ...]:
    dataset = dataset_of(x) if isinstance(x, Outcomes) else x
    return compare_tables(dataset, **{"control": "a", "n_resamples": 100, **options}).of("accuracy")


def methods(claims: tuple[Claim, ...]) -> set[str]:
    return {c.family.method for c in claims if c.family}


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
    joint = JointTests.of_p(keys=(("m", ("a", "b")), ("m", ("a", "c"))), p=p)
    assert joint.adjusted(joint.keys, 0.02) == pytest.approx(0.04)  # Bonferroni is smaller than the share 2 / 4
    assert joint.adjusted(joint.keys, 0.35) == pytest.approx(0.70)
    assert joint.alpha(joint.keys, 0.5) == pytest.approx(0.25)  # P(min <= 0.02) = 0.5, but Bonferroni allows 0.25
    p = np.repeat([[0.2, 0.2], [0.4, 0.4], [0.6, 0.6], [0.8, 0.8]], 5, axis=0)
    together = JointTests.of_p(keys=joint.keys, p=p)  # the same claim twice costs nothing
    assert together.alpha(together.keys, 0.25) == pytest.approx(0.2)
    assert together.adjusted(together.keys, 0.4) == pytest.approx(0.5)


def test_a_p_value_that_no_resample_reached_is_bonferroni_s() -> None:
    """It was printed as if it were the only claim."""
    joint = JointTests.of_p(keys=tuple(("m", ("a", name)) for name in "bcd"), p=np.full((1000, 3), 0.5))
    assert joint.adjusted(joint.keys, 1e-9) == pytest.approx(3e-9)
    assert joint.adjusted(joint.keys, 1e-9, more=2) == pytest.approx(5e-9)
    assert joint.adjusted(joint.keys, 9e-4) == pytest.approx(1e-3)  # one in 1,000 resamples at the most


def test_tied_p_values_are_taken_together_by_hand() -> None:
    """Every resample has 0.03: at that level one of the two is always shown, so Bonferroni's stands."""
    joint = JointTests.of_p(keys=(("m", ("a", "b")), ("m", ("a", "c"))), p=np.full((1000, 2), 0.03))
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
    claims = page(x)
    assert len(claims) == 8
    assert methods(claims) == {"max t"}
    for claim in claims:
        assert claim.interval is not None
        assert (0.0 not in claim.interval) == (claim.verdict is Verdict.VERIFIED)
        assert (claim.p_adjusted <= 0.05) == (claim.verdict is Verdict.VERIFIED)  # type: ignore[operator]
        assert claim.interval.level > 0.95
        assert 1 - claim.interval.level >= 0.05 / 8 - 1e-12  # never stricter than Bonferroni


@pytest.mark.slow
def test_false_claims_against_a_control_stay_at_five_in_a_hundred() -> None:
    rng = np.random.default_rng(9)
    runs, false = 150, 0
    for k in range(runs):
        x = outcomes(shared_control(rng, 300, 6, 0.2))
        asked = [ask(difference_evidence(x, "a", name), "accuracy", conditions=("a", name)) for name in "bcdefg"]
        joint = joint_tests(x, [("a", name) for name in "bcdefg"], rng=np.random.default_rng(k))
        false += any(c.verdict is Verdict.VERIFIED for c in decide(asked, joint=joint))
    assert false / runs < 0.05 + 2.6 * np.sqrt(0.05 * 0.95 / runs)


def test_steps_down_after_a_claim_is_shown(rng: np.random.Generator) -> None:
    x = outcomes(shared_control(rng, 2000, 3, 0.2, gain=0.15))
    pairs = [("a", name) for name in "bcd"]
    joint = joint_tests(x, pairs, rng=rng)
    claims = decide([ask(difference_evidence(x, *p), "accuracy", conditions=p) for p in pairs], joint=joint)
    assert claims[0].verdict is Verdict.VERIFIED
    assert claims[0].interval is not None
    assert claims[1].interval is not None
    assert claims[1].interval.level < claims[0].interval.level  # two claims are left, not three


@pytest.mark.parametrize(("margin", "level"), [(None, 0.05), (0.1, 0.025)])
def test_a_claim_with_a_margin_is_outside_the_law_by_hand(margin: float | None, level: float) -> None:
    """Two claims that are one and the same cost nothing together; one of them with a margin counts by itself."""
    keys = (("accuracy", ("base", "a")), ("accuracy", ("base", "b")))
    law = JointTests.of_p(keys=keys, p=np.repeat(np.arange(1, 1001)[:, None] / 1000, 2, axis=1))

    asked = [
        ask(normal(1.0, n=9), "accuracy", conditions=pair, margin=m)
        for (_, pair), m in zip(keys, (None, margin), strict=True)
    ]
    claims = decide(asked, joint=law)
    assert [1 - c.interval.level for c in claims if c.interval] == pytest.approx([level, level])


def test_claims_outside_the_law_count_one_by_one_by_hand() -> None:
    """Two claims that the law knows and one that it does not: 2 + 1 are left at first, then 1 + 1, then 1."""

    # of p-values that are always 0 the law knows nothing better than to add up
    keys = (("mean_severity", ("base", "a")), ("mean_severity", ("base", "b")))
    law = JointTests.of_p(keys=keys, p=np.zeros((1000, 2)))

    asked = [
        ("mean_severity", ("base", "a"), 1e-8),
        ("accuracy", ("base", "a"), 2e-8),
        ("mean_severity", ("base", "b"), 3e-8),
    ]
    questions = [
        ask(normal(5.0, n=9, p=lambda _, p=p: p), measure, conditions=pair)  # type: ignore[misc]
        for measure, pair, p in asked
    ]
    claims = decide(questions, joint=law)
    assert [c.p_adjusted for c in claims] == pytest.approx([3e-8, 4e-8, 4e-8])
    assert {c.family.method for c in claims if c.family} == {"max t"}


def test_the_test_of_a_margin_has_no_law_with_the_others_by_hand() -> None:
    """Two differences that are one and the same cost one; the margin of the first of them one more: 2.5% each."""
    pairs = (("base", "a"), ("base", "b"))

    margins = (1.0, None)
    evidence = normal(5.0, n=9, p=lambda _: 0.9)
    questions = [ask(evidence, conditions=p, margin=m) for p, m in zip(pairs, margins, strict=True)]
    same = np.repeat((np.arange(10_000)[:, None] + 0.5) / 10_000, 2, axis=1)
    claims = decide(questions, joint=JointTests.of_p(keys=tuple(("mean_severity", p) for p in pairs), p=same))
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
    np.testing.assert_array_equal(with_d.far, without.far)


def law_of(dataset: Dataset, policy: Policy, measure: str = "accuracy", **more: Any) -> JointTests | None:
    """The joint law of all claims against a."""
    pairs = [("a", name) for name in dataset.conditions if name != "a"]
    asked = [evidence(dataset, Question(measure=measure, conditions=pair, **more), policy) for pair in pairs]
    return joint_law_of(dataset, asked, policy)


def with_labels(x: Outcomes, rng: np.random.Generator) -> Outcomes:
    label = np.where(rng.random(len(x.value)) < 0.5, x.value, np.nan)
    return dataclasses.replace(x, label=label, judges=("gpt-judge",))


def test_the_joint_law_is_of_plain_paired_differences_only(rng: np.random.Generator) -> None:
    """Labels, missing grades, unpaired items and runs have other laws: Holm decides there."""
    grades = shared_control(rng, 200, 3, 0.3)
    x = outcomes(grades)
    plain = Policy()
    assert law_of(dataset_of(x), plain) is not None
    assert law_of(dataset_of(with_labels(x, rng)), plain) is None
    assert law_of(dataset_of(x), Policy(unpaired=True)) is None
    assert law_of(dataset_of(x), plain, family="other") is None
    assert law_of(dataset_of(x, group_2=[f"h{k % 7}" for k in range(200)]), plain) is None
    grades[:4, 2] = np.nan
    gone = dataset_of(outcomes(grades))
    assert law_of(gone, plain) is None
    assert law_of(gone, Policy(missing="at-random")) is not None
    assert law_of(dataset_of(outcomes(grades[:, :2])), plain) is None  # one claim needs no law


def test_claims_with_a_margin_have_no_joint_law_and_say_so(rng: np.random.Generator) -> None:
    claims = page(outcomes(shared_control(rng, 200, 3, 0.3)), margin=0.02)
    assert methods(claims) == {"holm"}
    assert max(c.interval.level for c in claims if c.interval) == pytest.approx(1 - 0.05 / 3)


def test_the_law_of_four_units_by_hand(rng: np.random.Generator) -> None:
    """Four equal units with signs: |sum| is 4, 2 or 0 in 2, 8 and 6 of 16; t of 2 is 1 / sqrt(1 - 1 / 4), 3 degrees."""
    joint = joint_law([("m", ("a", "b"))], np.ones((4, 1)), rng=rng, n_resamples=16_000)
    values, counts = np.unique(joint.p_of(joint.far).round(6), return_counts=True)
    middle = 2 * stdtr(3, -1 / np.sqrt(0.75))
    assert values == pytest.approx([0.0, middle, 1.0], abs=1e-4)
    assert counts / 16_000 == pytest.approx([1 / 8, 1 / 2, 3 / 8], abs=0.02)


def test_many_units_are_batched_and_keep_their_degrees_of_freedom(rng: np.random.Generator) -> None:
    """1,001 units, all but one without a value: the one decides every sign, |t| = 1 / sqrt(1 - 1 / 1000)."""
    sums = np.zeros((1001, 1))
    sums[17] = 3.0
    joint = joint_law([("m", ("a", "b"))], sums, rng=rng, n_resamples=1000)
    assert joint.p_of(joint.far) == pytest.approx(2 * stdtr(1000, -1 / np.sqrt(1 - 1 / 1000)), rel=1e-6)
    few = joint_law([("m", ("a", "b"))], sums[:100], rng=rng, n_resamples=1000)
    assert few.p_of(few.far) == pytest.approx(2 * stdtr(99, -1 / np.sqrt(1 - 1 / 100)), rel=1e-6)


def test_pairs_enter_the_law_by_their_centred_sums_by_hand() -> None:
    """Differences 1, 0, 0, -1, 1 weigh 1, 1, 2, 2, 4: their mean is 0.3. A pair without a shared item says nothing."""
    nan = np.nan
    table = [[0, 1, nan], [0, 0, nan], [1, 1, nan], [1, 0, nan], [0, 1, nan], [nan, nan, 1], [nan, nan, 0]]
    x = dataclasses.replace(
        outcomes(np.array(table)), group=np.array([0, 0, 1, 1, 2, 3, 3]), weight=np.array([1.0, 1, 2, 2, 4, 1, 1])
    )
    pairs = [("a", "b"), ("a", "c")]
    found = joint_tests(x, pairs, rng=np.random.default_rng(5), n_resamples=1000)
    sums = np.array([[0.7 - 0.3, 0.0], [-0.6 - 2.6, 0.0], [2.8, 0.0], [0.0, 0.0]])
    want = joint_law([("accuracy", p) for p in pairs], sums, rng=np.random.default_rng(5), n_resamples=1000)
    assert found.keys == want.keys
    np.testing.assert_allclose(found.far, want.far, atol=1e-7)
    assert found.far[:, 0].max() > 0.0
    assert (found.far[:, 1] == 0.0).all()


def test_claims_without_a_joint_law_add_their_p_value_by_hand() -> None:
    """The smallest of two lies at 0.2 or below in half of the resamples: with three more 0.5 + 3 x 0.04."""
    keys = (("m", ("a", "b")), ("m", ("a", "c")))
    joint = JointTests.of_p(keys=keys, p=np.array([[0.01, 0.5], [0.02, 0.9], [0.6, 0.7], [0.8, 0.9]]))
    assert joint.adjusted(keys, 0.04, more=3) == pytest.approx(5 * 0.04)  # Bonferroni's is smaller
    assert joint.adjusted(keys, 0.16, more=3) == pytest.approx(5 * 0.16)
    alike = JointTests.of_p(keys=keys, p=np.repeat([[0.01], [0.5], [0.6], [0.8]], 2, axis=1))
    assert alike.adjusted(keys, 0.2, more=1) == pytest.approx(0.25 + 0.2)
