"""Claims on judged answers that people labelled in part: the correction decides, the judge's stands beside."""

import dataclasses
import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy.special import ndtri, stdtrit

from helpers.normal import ask
from helpers.outcomes import dataset_of, outcomes
from richter.audit import compare_tables
from richter.claims import METRICS, Outcomes, Question, as_sample, decide, difference_evidence, mean_evidence
from richter.claims._labels import _labels_to_settle, enough_labels, labelled
from richter.errors import InputError
from richter.evidence import evidence
from richter.records import Claim, Interval, Verdict
from richter.stats import correct_by_labels, correction_difference, correction_interval, labelled_pool, pool_interval


def claim_of(outcomes: Outcomes, *, first: str = "old", second: str = "new", **more: float) -> Claim:
    """What the one path says of two conditions."""
    question = Question(measure="accuracy", conditions=(first, second), **more)  # type: ignore[arg-type]
    return decide([evidence(dataset_of(outcomes), question)])[0]


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


def test_the_corrected_difference_is_that_of_both_corrections_by_hand(rng: np.random.Generator) -> None:
    outcomes = judged(rng)
    sample = as_sample(outcomes)
    sides = []
    for k in (0, 1):
        mine = outcomes.condition == k
        label, value, layer = (getattr(outcomes, name)[mine] for name in ("label", "value", "layer"))
        sides.append(correct_by_labels(label, value, strata=layer, high=1.0))
    found = difference_evidence(sample, "old", "new")
    expected = correction_difference(*sides, level=0.9)
    assert (found.interval(0.9).low, found.interval(0.9).high) == pytest.approx((expected.low, expected.high))
    assert found.estimate == pytest.approx(sides[1].estimate - sides[0].estimate)
    assert found.values == pytest.approx([one.estimate for one in sides])
    assert "corrected by 100 human labels (drawn by stratum)" in found.notes[-1]
    *_, correction = found.notes_at(0.9)
    assert "50 more labels would narrow the interval" in correction
    assert "(90% CI " in correction
    one = mean_evidence(sample, "new", exact=True)
    assert one.interval(0.9).high == pytest.approx(correction_interval(sides[1], level=0.9, side="exact").high)


def test_values_of_two_conditions_are_those_of_each_alone(rng: np.random.Generator) -> None:
    outcomes = judged(rng, n=200)
    label = np.where(outcomes.item % 5 == 0, (rng.random(400) < 0.7).astype(float), np.nan)
    sample = as_sample(dataclasses.replace(outcomes, label=label, layer=None))
    found = difference_evidence(sample, "old", "new")
    assert found.values == pytest.approx([mean_evidence(sample, name).estimate for name in ("old", "new")])
    assert found.values[1] - found.values[0] == pytest.approx(found.estimate)


def test_a_judge_kinder_to_one_side_shows_nothing_once_people_label(rng: np.random.Generator) -> None:
    """100 labels, equal conditions, a judge five points kinder to the second: 60 trials of what the study repeats."""
    shown = {0: 0, 100: 0}
    for labels in shown:
        for _ in range(60):
            found = difference_evidence(judged(rng, n=1000, labels=labels), "old", "new")
            (claim,) = decide([ask(found, "accuracy")])
            shown[labels] += claim.verdict in (Verdict.VERIFIED, Verdict.REFUTED)
    assert shown[0] >= 50  # the judge alone
    assert shown[100] <= 9  # 0.05 and four binomial errors


def test_a_large_difference_is_still_shown_with_labels(rng: np.random.Generator) -> None:
    claim = claim_of(judged(rng, gap=0.28, labels=200))
    assert claim.verdict is Verdict.VERIFIED
    assert claim.interval is not None
    assert claim.interval.low > 0


def test_labels_reach_a_page_with_their_strata_by_hand(rng: np.random.Generator) -> None:
    """Most labels lie where the judge said wrong: taken as one random sample they are far too low."""
    outcomes = judged(rng, n=1000, labels=400)
    (claim,) = compare_tables(dataset_of(outcomes), n_resamples=100).of("accuracy")
    want = difference_evidence(outcomes, "old", "new")
    assert claim.estimate == pytest.approx(want.estimate)
    assert claim.values == pytest.approx(want.values)
    assert claim.plain_interval is not None
    assert claim.plain_interval.low == pytest.approx(want.interval(0.95).low)


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
        correct_by_labels(thrice.label[m], thrice.value[m], strata=thrice.layer[m], high=1.0)
        for m in (thrice.condition == 0, thrice.condition == 1)
    ]
    taken = correction_difference(*naive)  # copies taken as labels: far too narrow
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


def pairs_that_cancel(groups: int) -> Outcomes:
    """A judge calls every answer right; people one of the two answers of every group."""
    number = 2 * groups
    return Outcomes(
        metric=METRICS["accuracy"], items=tuple(map(str, range(number))), conditions=("a",), item=np.arange(number),
        condition=np.zeros(number, dtype=np.intp), value=np.ones(number), label=np.tile([0.0, 1.0], groups),
        group=np.arange(number) // 2,
    )  # fmt: skip


@pytest.mark.parametrize("groups", [12, 20])
def test_groups_whose_labels_cancel_are_worth_no_more_than_their_labels_by_hand(groups: int) -> None:
    """At least what labels vary one by one, at Student's t of one less than the groups that have labels."""
    found = mean_evidence(pairs_that_cancel(groups), "a")
    labels = 2 * groups
    error = math.sqrt(labels * (0.5 / labels / (1 - 1 / labels)) ** 2)
    for level in (0.8, 0.95):
        half = float(stdtrit(groups - 1, 0.5 + level / 2)) * error
        assert (found.interval(level).low, found.interval(level).high) == pytest.approx((0.5 - half, 0.5 + half))


@pytest.mark.parametrize(("groups", "decides"), [(4, False), (5, True)])
def test_labels_in_five_groups_leave_the_fewest_degrees_of_freedom_by_hand(groups: int, decides: bool) -> None:
    found = mean_evidence(pairs_that_cancel(groups), "a").interval(0.95)
    assert (found.method != "the whole range") is decides


def test_labels_that_agree_within_groups_count_by_group_by_hand() -> None:
    """Both answers of a group have one label: 40 labels in 20 groups are worth 20."""
    outcomes = pairs_that_cancel(20)
    alike = dataclasses.replace(outcomes, label=np.repeat(np.tile([0.0, 1.0], 10), 2))
    error = math.sqrt(20 / 19 * 20 * (2 * 0.5 / 40 / (1 - 1 / 40)) ** 2)
    assert mean_evidence(alike, "a").interval(0.95).half_width == pytest.approx(float(stdtrit(19, 0.975)) * error)


def test_rare_labels_that_agree_within_groups_are_divided_by_the_design_effect_by_hand() -> None:
    """Three groups of 20 err: their parts' labels are worth half as many, at Student's t of 19 degrees of freedom."""
    alike = dataclasses.replace(pairs_that_cancel(20), label=np.repeat(np.arange(20) < 3, 2).astype(float))
    pool = labelled_pool(alike.label, alike.value, high=1.0)
    ratio = float(stdtrit(19, 0.975) / ndtri(0.975)) ** 2
    want = pool_interval(dataclasses.replace(pool, n=40 / (2 * 20 / 19 * ratio)), level=0.95)
    found = mean_evidence(alike, "a").interval(0.95)
    assert (found.low, found.high) == pytest.approx((want.low, want.high))


def test_draws_whose_rare_labels_cancel_are_worth_no_more_than_their_labels_by_hand() -> None:
    """Of both draws of 9 items people call one right: at least what 18 labels vary one by one, at t of 8."""
    pairs = pairs_that_cancel(9)
    draws = dataclasses.replace(pairs, items=tuple(map(str, range(9))), item=np.arange(18) // 2, group=None)
    pool = labelled_pool(draws.label, draws.value, high=1.0)
    ratio = float(stdtrit(8, 0.975) / ndtri(0.975)) ** 2
    want = pool_interval(dataclasses.replace(pool, n=18 / ratio), level=0.95)
    found = mean_evidence(draws, "a").interval(0.95)
    assert (found.low, found.high) == pytest.approx((want.low, want.high))


def test_few_units_with_labels_leave_the_whole_range_by_hand() -> None:
    """40 items in four groups: a mean of 1 to 5 is within 1 and 5, and a difference within 4 of 0."""
    row, group = dataclasses.replace(METRICS["mean_score"], low=1.0, high=5.0), np.arange(40) // 10
    graded = np.tile([2.0, 4.0], (40, 1))
    made = dataclasses.replace(outcomes(graded, "mean_score", label=graded.ravel(), group=group), metric=row)
    alone, both = mean_evidence(made, "a").interval(0.95), difference_evidence(made, "a", "b").interval(0.95)
    assert (alone.low, alone.high, alone.method) == (1.0, 5.0, "the whole range")
    assert (both.low, both.high) == (-4.0, 4.0)
    rate = outcomes(np.tile([1.0, 0.0], (40, 1)), label=np.tile([1.0, 0.0], 40), group=group)
    alone, both = mean_evidence(rate, "a").interval(0.95), difference_evidence(rate, "a", "b").interval(0.95)
    assert (alone.low, alone.high, both.low, both.high) == (0.0, 1.0, -1.0, 1.0)


def test_two_labels_are_enough_by_hand() -> None:
    made = outcomes(np.ones((5, 1)), label=np.array([1.0, 0.0, np.nan, np.nan, np.nan]))
    use = np.ones(5, dtype=bool)
    assert enough_labels([labelled(made, 0, use)])
    use[0] = False
    assert not enough_labels([labelled(made, 0, use)])


def narrowing(estimate: float, labels: float) -> Callable[[int], Interval]:
    """An interval of half-width 1 / sqrt(labels) around an estimate, by how many labels are added."""

    def interval(extra: int) -> Interval:
        reach = 1 / math.sqrt(labels + extra)
        return Interval(low=estimate - reach, high=estimate + reach, level=0.95, method="by hand")

    return interval


@pytest.mark.parametrize(
    ("labels", "unlabelled", "want"),
    [
        (100.5, 50, 0),  # 100 labels exclude 0: none is needed ..
        (100.5, 0, 0),  # .. whatever is left
        (24.5, 75, None),  # 75 more are 99.5
        (24.5, 0, None),
        (24.5, 76, 76),  # 76 more are 100.5, and no more are there
        (96.5, 10, 4),  # 4 more are 100.5
        (24.5, 200, 78),  # halved to (75, 78], which is within a twentieth
        (99.5, 1, 1),
        (99.5, 10, 1),
        (61.5, 200, 40),
    ],
)
def test_labels_that_settle_a_difference_of_a_tenth_by_hand(labels: float, unlabelled: int, want: int | None) -> None:
    """1 / sqrt(n) is below 0.1 from 100 labels on."""
    for estimate in (0.1, -0.1):
        assert _labels_to_settle(narrowing(estimate, labels), unlabelled) == want


def test_an_answer_weighs_its_items_part_by_hand() -> None:
    """Items answered once, twice and once: a third, two sixths and a third; with weights 1, 2, 3: 1, 1, 1, 3 sixths."""
    table = np.array([[[1.0, np.nan]], [[1.0, 0.0]], [[0.0, np.nan]]])
    made = outcomes(table, label=np.array([1.0, 1.0, 0.0, np.nan]))
    use = np.ones(3, dtype=bool)
    assert labelled(made, 0, use).weight == pytest.approx([1 / 3, 1 / 6, 1 / 6, 1 / 3])
    weighted = dataclasses.replace(made, weight=np.array([1.0, 2.0, 3.0]))
    assert labelled(weighted, 0, use).weight == pytest.approx([1 / 6, 1 / 6, 1 / 6, 1 / 2])


@pytest.mark.parametrize("bounds", [(None, None), (0.0, None), (None, 1.0)])
def test_labels_do_not_correct_what_has_no_range(bounds: tuple[float | None, float | None]) -> None:
    row = dataclasses.replace(METRICS["mean_score"], low=bounds[0], high=bounds[1])
    made = dataclasses.replace(outcomes(np.full((9, 1), 0.5), "mean_score", label=np.full(9, 0.5)), metric=row)
    with pytest.raises(InputError, match="has no range"):
        mean_evidence(made, "a")


def test_a_judge_whom_nobody_checked_is_named_in_the_claim(rng: np.random.Generator) -> None:
    small = claim_of(judged(rng, n=2000, labels=0))
    assert small.verdict is Verdict.VERIFIED
    assert (small.basis, small.judged) == ("judge, unchecked", "graded by gpt-judge; nobody checked it")
    checked = claim_of(judged(rng, n=400))
    assert (checked.basis, checked.judged) == ("", "")
    few = judged(rng, n=400)
    few.label[few.condition == 1] = np.nan
    assert claim_of(few).judged == "graded by gpt-judge; too few human labels"
