"""Claims on judged answers that people labelled in part: the correction decides, the judge's stands beside."""

import dataclasses

import numpy as np
import pytest

from richter.claims import (
    METRICS,
    Outcomes,
    Question,
    as_sample,
    compare_outcomes,
    difference_evidence,
    mean_evidence,
    require,
)
from richter.records import Claim, Verdict
from richter.stats import labelled_pool, pool_difference, pool_interval


def judged(
    rng: np.random.Generator, *, n: int = 400, kinder: float = 0.05, labels: int = 100, gap: float = 0.0
) -> Outcomes:
    """Two conditions right in 70% of the same items (the second in `gap` more); a judge kinder to the second.

    Labels are drawn evenly over conditions and the judge's verdicts.
    """
    hard = rng.random(n)
    right = np.column_stack([hard < 0.7, hard < 0.7 + gap])
    judge = np.where(rng.random((n, 2)) < 0.05, ~right, right)
    judge[:, 1] |= rng.random(n) < kinder / max(1 - judge[:, 1].mean(), 1e-9)
    item, condition = np.divmod(np.arange(2 * n), 2)
    value, truth = judge.reshape(-1).astype(float), right.reshape(-1).astype(float)
    layer = (2 * condition + value).astype(np.intp)
    label = np.full(2 * n, np.nan)
    if labels:
        for h in range(4):
            own = np.flatnonzero(layer == h)
            picked = rng.choice(own, min(labels // 4, len(own)), replace=False)
            label[picked] = truth[picked]
    return Outcomes(
        metric=METRICS["accuracy"],
        items=tuple(f"q{i}" for i in range(n)),
        conditions=("old", "new"),
        item=item,
        condition=condition,
        value=value,
        label=label if labels else None,
        layer=layer if labels else None,
        judges=("gpt-judge",),
    )


def test_the_corrected_difference_is_the_pools_by_hand(rng: np.random.Generator) -> None:
    outcomes = judged(rng)
    sample = as_sample(outcomes)
    pools = []
    for k in (0, 1):
        mine = outcomes.condition == k
        pools.append(labelled_pool(outcomes.label[mine], outcomes.value[mine], strata=outcomes.layer[mine], high=1.0))
    found = difference_evidence(sample, "old", "new")
    expected = pool_difference(*pools, level=0.9, same_items=True)
    assert (found.interval(0.9).low, found.interval(0.9).high) == (expected.low, expected.high)
    assert found.estimate == pytest.approx(pools[1].estimate - pools[0].estimate)
    assert found.values == pytest.approx([p.estimate for p in pools])
    assert "corrected by 100 human labels (drawn by stratum)" in found.notes[-1]
    assert "50 more labels would narrow it" in found.notes[-1]
    one = mean_evidence(sample, "new", exact=True)
    assert one.interval(0.9).high == pool_interval(pools[1], level=0.9, side="exact").high


def test_values_of_labelled_pairs_are_as_far_apart_as_is_said(rng: np.random.Generator) -> None:
    outcomes = judged(rng, n=200)
    label = np.where(outcomes.item % 5 == 0, (rng.random(400) < 0.7).astype(float), np.nan)
    found = difference_evidence(as_sample(dataclasses.replace(outcomes, label=label, layer=None)), "old", "new")
    assert found.values[1] - found.values[0] == pytest.approx(found.estimate)
    own = [
        labelled_pool(label[outcomes.condition == k], outcomes.value[outcomes.condition == k], high=1.0) for k in (0, 1)
    ]
    assert np.mean(found.values) == pytest.approx(np.mean([pool.estimate for pool in own]))


def test_a_judge_kinder_to_one_side_shows_nothing_once_people_label(rng: np.random.Generator) -> None:
    """100 labels, equal conditions, a judge five points kinder to the second: 60 trials of what the study repeats."""
    shown = {0: 0, 100: 0}
    for labels in shown:
        for _ in range(60):
            [claim] = compare_outcomes([judged(rng, n=1000, labels=labels)], conditions=("old", "new")).claims
            shown[labels] += claim.verdict in (Verdict.VERIFIED, Verdict.REFUTED)
    assert shown[0] >= 50  # the judge alone
    assert shown[100] <= 9  # 0.05 and four binomial errors


def test_a_large_difference_is_still_shown_with_labels(rng: np.random.Generator) -> None:
    [claim] = compare_outcomes([judged(rng, gap=0.28, labels=200)], conditions=("old", "new")).claims
    assert claim.verdict is Verdict.VERIFIED
    assert claim.interval is not None
    assert claim.interval.low > 0


def test_a_judge_whom_nobody_checked_is_named_in_the_claim_by_hand(rng: np.random.Generator) -> None:
    """The points that would explain a verdict are the end of the deciding interval that is nearest to no difference."""
    [small] = compare_outcomes([judged(rng, n=2000, labels=0)], conditions=("old", "new")).claims
    assert small.verdict is Verdict.VERIFIED
    assert small.interval is not None
    said = "new is more accurate than old, as judged by gpt-judge (nobody checked it): "
    assert small.sentence.startswith(said)
    enough = f"a judge {100 * small.interval.low:.1f} points kinder to new would explain it, and up to 5.0 points are"
    assert enough in small.sentence
    assert small.basis == "as judged by gpt-judge (nobody checked it)"
    [large] = compare_outcomes([judged(rng, n=2000, labels=0, gap=0.25)], conditions=("old", "new")).claims
    assert "a judge 5.0 points kinder to new, as is usual, would not explain it." in large.sentence
    [turned] = compare_outcomes([judged(rng, n=2000, labels=0, gap=0.25)], conditions=("new", "old")).claims
    assert "kinder to new, as is usual, would not explain it." in turned.sentence
    [level] = compare_outcomes([judged(rng, n=60, labels=0, kinder=0.0)], conditions=("old", "new")).claims
    assert "undecided, as judged by gpt-judge (nobody checked it): " in level.sentence
    assert "a judge 5.0 points kinder to one side would move it by as much." in level.sentence
    equal = judged(rng, n=3000, labels=0, kinder=0.0)
    for order in (("old", "new"), ("new", "old")):  # the end that is further from none is the upper one, then the lower
        [alike] = compare_outcomes([equal], conditions=order, margins={"accuracy": 0.04}).claims
        assert alike.verdict is Verdict.EQUIVALENT
        assert alike.interval is not None
        room = 4 - 100 * max(-alike.interval.low, alike.interval.high)
        assert f"a judge {room:.1f} points kinder to one side would explain it" in alike.sentence
    [checked] = compare_outcomes([judged(rng, n=400)], conditions=("old", "new")).claims
    assert "kinder" not in checked.sentence
    assert "judged" not in checked.sentence + checked.basis


def test_a_requirement_on_judges_grades_says_so_by_hand(rng: np.random.Generator) -> None:
    def asked(value: float, *, labels: int = 0) -> Claim:
        evidence = mean_evidence(judged(rng, n=2000, kinder=0.0, labels=labels), "old", exact=True)
        question = Question(
            metric=METRICS["accuracy"], conditions=("old",), evidence=evidence, relation="above", value=value
        )
        return require([question])[0]

    met, violated = asked(0.5), asked(0.72)
    assert met.sentence.startswith("accuracy of old above 50.0%: met, as judged by gpt-judge (nobody checked it); ")
    assert met.sentence.endswith("; a judge 5.0 points kinder than people, as is usual, would not explain it.")
    assert violated.verdict is Verdict.REFUTED
    assert violated.interval is not None
    short = 100 * (0.72 - violated.interval.high)
    assert f"; a judge {short:.1f} points harsher than people would explain it" in violated.sentence
    assert "judge" not in asked(0.5, labels=200).sentence


def test_two_labels_are_needed_of_each_condition(rng: np.random.Generator) -> None:
    outcomes = judged(rng)
    outcomes.label[outcomes.condition == 0] = np.nan
    found = difference_evidence(outcomes, "old", "new")
    assert not any("corrected" in note for note in found.notes)


def repeated(outcomes: Outcomes, draws: int) -> Outcomes:
    """Every answer given several times over: as many draws, nothing new."""
    again = {
        name: np.repeat(getattr(outcomes, name), draws) for name in ("item", "condition", "value", "label", "layer")
    }
    return dataclasses.replace(outcomes, draw=np.tile(np.arange(draws), len(outcomes.item)), **again)


def test_copies_of_answers_are_no_more_labels_by_hand(rng: np.random.Generator) -> None:
    once = judged(rng, n=600, labels=240, gap=0.1)
    thrice = repeated(once, 3)
    pair, one = difference_evidence(thrice, "old", "new"), mean_evidence(thrice, "new")
    assert pair.estimate == pytest.approx(difference_evidence(once, "old", "new").estimate)
    assert (pair.labels, pair.unit) == (720, "item")
    before = mean_evidence(once, "new")
    assert one.estimate == pytest.approx(before.estimate)
    # t of some hundred units for z, and nothing else
    assert one.interval(0.95).half_width == pytest.approx(before.interval(0.95).half_width, rel=0.03)
    naive = [
        labelled_pool(thrice.label[m], thrice.value[m], strata=thrice.layer[m], high=1.0)
        for m in (thrice.condition == 0, thrice.condition == 1)
    ]
    taken = pool_difference(*naive, same_items=False)  # copies taken as labels: far too narrow
    assert taken.half_width < 0.75 * pair.interval(0.95).half_width


def test_labels_weigh_as_their_items_do_by_hand() -> None:
    item = np.repeat(np.arange(8), 2)
    label = np.array([1.0, 0, 1, np.nan, 0, 1, 1, 1, np.nan, 0, 1, 1, 0, 0, 1, np.nan])
    outcomes = Outcomes(
        metric=METRICS["accuracy"],
        items=tuple(map(str, range(8))),
        conditions=("a",),
        item=item,
        condition=np.zeros(16, dtype=np.intp),
        value=np.ones(16),
        draw=np.tile([0, 1], 8),
        weight=np.array([1.0, 1, 2, 2, 3, 3, 4, 4]),
        label=label,
    )
    known = ~np.isnan(label)
    w = outcomes.weight[item]
    expected = np.sum(w[known] * label[known]) / np.sum(w[known])  # one band of grades: the weighted mean of labels
    assert mean_evidence(outcomes, "a").estimate == pytest.approx(expected)


def test_labels_in_four_groups_decide_nothing(rng: np.random.Generator) -> None:
    outcomes = dataclasses.replace(judged(rng, gap=0.28, labels=200), group=np.arange(400) // 100)
    found = difference_evidence(outcomes, "old", "new")
    assert found.interval(0.95).method == "the whole range"
    assert "nothing is decided" in found.notes[-1]
    assert found.unit == "group"


def test_labels_in_groups_cover_where_labels_one_by_one_do_not_recovers_truth(rng: np.random.Generator) -> None:
    """20 groups that differ in difficulty and in what the judge misses; 150 trials (the study has 2,000)."""
    covered = naive = 0
    for _ in range(150):
        base, miss = rng.beta(2, 4, 20), rng.beta(1.5, 8.5, 20)
        group = np.repeat(np.arange(20), 20)
        wrong = rng.random(400) < base[group]
        told = np.where(wrong, rng.random(400) > miss[group], rng.random(400) < 0.04).astype(float)
        label = np.full(400, np.nan)
        picked = rng.choice(400, 300, replace=False)
        label[picked] = wrong[picked]
        outcomes = Outcomes(
            metric=METRICS["error_rate"], items=tuple(map(str, range(400))), conditions=("a",), item=np.arange(400),
            condition=np.zeros(400, dtype=np.intp), value=told, label=label, group=group,
        )  # fmt: skip
        covered += 1 / 3 in mean_evidence(outcomes, "a").interval(0.95)
        naive += 1 / 3 in mean_evidence(dataclasses.replace(outcomes, group=None), "a").interval(0.95)
    assert covered >= 133  # 0.95 and four binomial errors
    assert naive < 128


def test_labels_correct_no_claim_about_such_runs(rng: np.random.Generator) -> None:
    once = judged(rng)
    outcomes = dataclasses.replace(repeated(once, 2), run=np.tile([0, 1], len(once.item)), runs=("r0", "r1"))
    found = difference_evidence(outcomes, "old", "new", about="such-runs")
    assert "as it was graded" in found.notes[-1]
    assert found.labels == 0
