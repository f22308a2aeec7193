"""What a person reads: every form of a claim's sentence, word for word and by hand. Other tests assert fields."""

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from helpers.normal import ask as ask_of
from helpers.normal import normal as normal_of
from helpers.outcomes import dataset_of, outcomes
from richter.audit import compare_tables
from richter.claims import (
    METRICS,
    Asked,
    Blocked,
    Evidence,
    Question,
    Trade,
    both_ways,
    decide,
    decide_heterogeneity,
    difference_evidence,
    needed_units,
    single_draw_error,
    single_run_error,
    subgroup_differences,
    unpaired_evidence,
)
from richter.records import Hypothesis, Interval, Verdict, counted
from richter.words import claimed, requirement_name
from richter.words._claim_sentences import round_up_to_two_figures


def normal(estimate: float, error: float = 0.01, **more: Any) -> Evidence:
    """A normal estimate on 400 items."""
    return normal_of(estimate, error, **{"n": 400, **more})


def ask(evidence: Evidence, measure: str = "accuracy", **more: Any) -> Asked:
    return ask_of(evidence, measure, **more)


def of_one(evidence: Evidence, relation: str, value: float, measure: str = "accuracy", **more: Any) -> Asked:
    return ask(evidence, measure, conditions=("m",), relation=relation, value=value, **more)


ENDLESS = {
    "interval": lambda level: Interval(low=-math.inf, high=math.inf, level=level, method="x"),
    "p": lambda _: 1.0,
}
UP, OPEN = "+5.0 points [+3.0, +7.0] on 400 items", "+1.0 points [-1.0, +3.0] on 400 items"
MORE = "785 items would settle a difference of 2.0 points"  # 400 (2.802 0.01 / 0.02)^2


@pytest.mark.parametrize(
    ("question", "said"),
    [
        (ask(normal(0.05)), f"new is more accurate than old: {UP}."),
        (ask(normal(-0.05)), "new is less accurate than old: -5.0 points [-7.0, -3.0] on 400 items."),
        (ask(normal(0.05), "error_rate"), f"new is more often wrong than old: {UP}."),
        (
            ask(normal(0.05, unit="group", units=20), column="domain", part="law"),
            f"new is more accurate than old: {UP} in 20 groups of domain law.",
        ),
        (ask(normal(0.05, n=1)), "new is more accurate than old: +5.0 points [+3.0, +7.0] on 1 item."),
        (ask(normal(0.05), value=0.02), f"new is more accurate than old by more than 2.0 points: {UP}."),
        (ask(normal(-0.05), relation="above"), "new is less accurate than old: -5.0 points [-7.0, -3.0] on 400 items."),
        (ask(normal(0.05), relation="below"), f"new is more accurate than old: {UP}."),
        (ask(normal(0.01), relation="above"), f"Whether new is more accurate than old is undecided: {OPEN}; {MORE}."),
        (ask(normal(0.01), relation="below"), f"Whether new is less accurate than old is undecided: {OPEN}; {MORE}."),
        (ask(normal(0.01)), f"Whether new is more accurate than old is undecided: {OPEN}; {MORE}."),
        (ask(normal(0.01), "error_rate"), f"Whether new is less often wrong than old is undecided: {OPEN}; {MORE}."),
        (
            ask(normal(0.01, notes=("one", "few runs"), standard_error=None)),
            f"Whether new is more accurate than old is undecided: {OPEN}; few runs.",
        ),
        (ask(normal(0.01, standard_error=None)), f"Whether new is more accurate than old is undecided: {OPEN}."),
        (
            ask(normal(0.001, 0.001)),
            (
                "Whether new is more accurate than old is undecided: +0.1 points [-0.1, +0.3] on 400 items; "
                "8 items were enough for a difference of 2.0 points."
            ),
        ),
        (
            ask(normal(0.002, 0.001), margin=0.02),
            (
                "new and old are equally accurate within 2.0 points: +0.2 points [0.0, +0.4] on 400 items; "
                "the difference is real but within the margin."
            ),
        ),
        (
            ask(normal(0.0, 0.001), margin=0.02),
            "new and old are equally accurate within 2.0 points: 0.0 points [-0.2, +0.2] on 400 items.",
        ),
        (
            ask(normal(0.01), margin=0.02),  # 400 ((z_0.95 + z_0.9) 0.01 / 0.02)^2
            (
                "Whether new is more accurate than old is undecided: +1.0 points [-1.0, +3.0] on 400 items; "
                "857 items would settle a difference of 2.0 points."
            ),
        ),
        (of_one(normal(0.85), "above", 0.8), "accuracy of m is above 80.0%: 85.0% [83.0, 87.0] on 400 items."),
        (of_one(normal(0.75), "above", 0.8), "accuracy of m is not above 80.0%: 75.0% [73.0, 77.0] on 400 items."),
        (of_one(normal(0.85), "below", 0.8), "accuracy of m is not below 80.0%: 85.0% [83.0, 87.0] on 400 items."),
        (of_one(normal(0.85), "differs", 0.8), "accuracy of m differs from 80.0%: 85.0% [83.0, 87.0] on 400 items."),
        (
            of_one(normal(0.8), "differs", 0.8, margin=0.05),
            "accuracy of m is 80.0% within 5.0%: 80.0% [78.4, 81.6] on 400 items.",
        ),
        (
            of_one(normal(0.81), "above", 0.8),
            (
                "Whether accuracy of m is above 80.0% is undecided: 81.0% [79.0, 83.0] on 400 items; "
                "785 items would settle a difference of 2.0%."
            ),
        ),
        (
            of_one(normal(2.0, 0.1), "below", 1.5, "mean_severity"),
            "mean severity of all answers of m is not below 1.500: 2.000 [1.804, 2.196] on 400 items.",
        ),
        (
            ask(normal(0.1, relative=True), "money"),
            "new is more expensive than old: +10.0% [+8.0, +12.0] (ratio of geometric means) on 400 items.",
        ),
        (  # how much kinder a judge is cannot be held against a ratio
            ask(normal(0.1, relative=True, judged="graded by j; nobody checked it"), "money"),
            (
                "By the judge's grades, new is more expensive than old: +10.0% [+8.0, +12.0] (ratio of geometric "
                "means) on 400 items. Graded by j; nobody checked it."
            ),
        ),
        (
            ask(normal(0.1, 0.1, relative=True), "money"),
            (
                "Whether new is cheaper than old is undecided: +10.0% [-9.6, +29.6] (ratio of geometric means) on 400 "
                "items; 12,559 items would settle a difference of 5.0%."
            ),
        ),
        (
            ask(normal(0.05, **ENDLESS)),
            f"Whether new is more accurate than old is undecided: +5.0 points [-inf, inf] on 400 items; {MORE}.",
        ),
    ],
)
def test_sentences_of_claims_by_hand(question: Asked, said: str) -> None:
    assert decide([question])[0].sentence == said


def test_the_direction_of_a_claim_is_said_before_its_verdict() -> None:
    (claim,) = decide([ask(normal(0.05), relation="above")])
    assert claimed(METRICS["accuracy"], claim) == "new is more accurate than old"
    down = dataclasses.replace(claim, hypothesis=Hypothesis(relation="below", value=0.0))
    assert claimed(METRICS["accuracy"], down) == "new is less accurate than old"
    assert claimed(METRICS["error_rate"], dataclasses.replace(claim, hypothesis=None)) == (
        "new is more often wrong than old"
    )


@pytest.mark.parametrize(
    ("more", "needed", "with_margin"),
    [
        ({}, 785, 857),  # 400 (2.8016 / 2)^2 and, larger, 400 ((z_0.95 + z_0.9) / 2)^2
        ({"units": 1}, 2, 3),
        ({"units": 0}, None, None),
        ({"standard_error": 0.0}, None, None),
        ({"standard_error": None}, None, None),
    ],
)
def test_units_needed_by_hand(more: dict[str, object], needed: int | None, with_margin: int | None) -> None:
    evidence = normal(0.1, **more)
    assert needed_units(evidence, 0.02, alpha=0.05) == needed
    assert needed_units(evidence, 0.02, alpha=0.05, margin=True) == with_margin


def test_numbers_of_things_have_their_plural() -> None:
    assert counted(1, "group") == "1 group"
    assert counted(2000, "run") == "2,000 runs"


NO_WORSE = "accuracy of new no worse than old by 2.0 points"
ON = "on 400 items"
HALF = "would show it met if in truth there is half of what is allowed."
DID = HALF.replace("would", "were enough to")


@pytest.mark.parametrize(
    ("question", "said", "needed"),
    [
        (
            ask(normal(-0.005, 0.002), relation="above", value=-0.02),
            f"{NO_WORSE}: met; -0.5 points [-0.8, -0.2] on 400 items.",
            None,
        ),
        (
            ask(normal(-0.05), relation="above", value=-0.02),
            f"{NO_WORSE}: violated; -5.0 points [-6.6, -3.4] on 400 items.",
            None,
        ),
        (
            ask(normal(-0.02), relation="above", value=-0.02),  # (z_0.95 + z_0.8)^2 0.04 / 0.02^2
            (
                f"{NO_WORSE}: undecided; -2.0 points [-3.6, -0.4] on 400 items; 619 items would show it "
                "met if in truth there is no loss."
            ),
            (619, 0.02),
        ),
        (of_one(normal(0.85), "above", 0.8), "accuracy of m above 80.0%: met; 85.0% [83.4, 86.6] on 400 items.", None),
        (
            # (1.645 sqrt(0.06 0.94) + 0.842 sqrt(0.03 0.97))^2 / 0.03^2 = 317.1 items, 30 groups in 400
            of_one(normal(0.05, unit="group", units=30), "below", 0.06, "error_rate"),
            (f"error rate of m below 6.0%: undecided; 5.0% [3.4, 6.6] {ON} in 30 groups; 24 groups {DID}"),
            (24, 0.03),
        ),
        (
            # 10% wrong is half of what is allowed: (1.645 sqrt(0.8 0.2) + 0.842 sqrt(0.9 0.1))^2 / 0.1^2
            of_one(normal(0.81), "above", 0.8),
            (f"accuracy of m above 80.0%: undecided; 81.0% [79.4, 82.6] {ON}; 83 items {DID}"),
            (83, 0.1),
        ),
        (
            of_one(normal(2.0, 0.3), "below", 2.1, "mean_severity"),
            (f"mean severity of all answers of m below 2.100: undecided; 2.000 [1.507, 2.493] {ON}; 202 items {DID}"),
            (202, 1.05),
        ),
        (
            of_one(normal(0.5, 1.0), "above", 0.4, "mean_score"),
            (f"mean score of m above 0.400: undecided; 0.500 [-1.145, 2.145] {ON}; 27,479 items {HALF}"),
            (27_479, 0.3),
        ),
        (
            ask(normal(0.01, notes=("one", "few runs"), standard_error=None), relation="above", value=-0.001),
            f"accuracy of new no worse than old by 0.1 points: undecided; +1.0 points [-0.6, +2.6] {ON}; few runs.",
            None,
        ),
        (
            ask(normal(0.001), relation="above", value=0.0),
            "accuracy of new no worse than old by 0.0 points: undecided; +0.1 points [-1.5, +1.7] on 400 items.",
            None,
        ),
        (
            of_one(normal(1.0), "above", 1.0),
            "accuracy of m above 100.0%: undecided; 100.0% [98.4, 101.6] on 400 items.",
            None,
        ),
        (
            ask(normal(0.0, standard_error=0.0), relation="above", value=-0.01),
            "accuracy of new no worse than old by 1.0 points: undecided; 0.0 points [-1.6, +1.6] on 400 items.",
            None,
        ),
    ],
)
def test_sentences_and_sizes_of_requirements_by_hand(
    question: Asked, said: str, needed: tuple[int, float] | None
) -> None:
    rule = dataclasses.replace(question, question=dataclasses.replace(question.question, family="requirement"))
    (claim,) = decide([rule])
    assert claim.sentence == said
    assert (claim.needed, claim.needed_for) == (pytest.approx(needed) if needed else (None, None))
    error = question.known.standard_error
    assert claim.min_detectable_difference == (pytest.approx((ndtri(0.95) + ndtri(0.8)) * error) if error else None)
    assert claim.plain_interval is not None
    assert claim.plain_interval.level == 0.95
    assert claim.p == pytest.approx(2 * ndtr(-abs(claim.estimate - question.question.value) / _error(question)))  # type: ignore[operator]


def _error(question: Asked) -> float:
    """The standard error that an interval was made with."""
    interval = question.known.interval(0.95)
    return (interval.high - interval.low) / 2 / float(ndtri(0.975))


def blocked(measure: str, conditions: tuple[str, ...], value: float, block: Blocked, **more: Any) -> Asked:
    return Asked(
        question=Question(measure=measure, conditions=conditions, value=value, **more), metric=METRICS[measure],
        evidence=block,
    )  # fmt: skip


def test_what_a_check_blocked_says_why_by_hand() -> None:
    items, nothing = Blocked(gate="items", reason="items differ"), Blocked(gate=None, reason="no grades")
    rule: dict[str, Any] = {"relation": "above", "family": "requirement"}
    claims = decide([
        blocked("accuracy", ("old", "new"), -0.02, nothing, **rule),
        blocked("accuracy", ("m",), 0.8, items, **rule),
        blocked("accuracy", ("old", "new"), 0.0, items),
        blocked("accuracy", ("m",), 0.8, nothing, relation="above"),
    ])  # fmt: skip
    assert [c.sentence for c in claims] == [
        f"{NO_WORSE}: untestable, no grades.",
        "accuracy of m above 80.0%: blocked, items differ.",
        "new and old are not compared by accuracy: items differ.",
        "accuracy of m is not measured: no grades.",
    ]
    assert requirement_name(METRICS["accuracy"], claims[1]) == "accuracy of m above 80.0%"
    severe = decide([blocked("mean_severity", ("m",), 1.5, nothing, relation="below", family="requirement")])[0]
    assert requirement_name(METRICS["mean_severity"], severe) == "mean severity of all answers of m below 1.500"


def test_what_was_enough_is_said_as_such_by_hand() -> None:
    reach = float(ndtri(0.975) + ndtri(0.8))
    for factor, words in ((0.9999, "400 items were enough for"), (1.0001, "401 items would settle")):
        (claim,) = decide([ask(normal(0.0, factor * 0.02 / reach))])
        assert f"; {words} a difference of 2.0 points." in claim.sentence
    reach = float(ndtri(0.95) + ndtri(0.8))
    for less, words in ((1e-9, "50 items were enough to show"), (-1e-3, "51 items would show")):
        evidence = normal_of(0.5 - reach, n=50)
        rule = ask(evidence, "mean_score", relation="above", value=-reach * (1 + less), family="requirement")
        assert words in decide([rule])[0].sentence


def test_missing_grades_that_decide_are_said_with_both_ways_by_hand() -> None:
    """Ignoring the 30 missing answers 4.7 points better, counting them as wrong 9 points worse."""
    evidence = both_ways(normal(0.047), normal(-0.09), missing={"old": 0, "new": 30})
    words = (
        "; it depends on 30 missing grades (30 of new): +4.7 points [+2.7, +6.7] without them, "
        "-9.0 points [-11.0, -7.0] counting them as wrong"
    )
    (claim,) = decide([ask(evidence)])
    assert claim.sentence.startswith(
        f"Whether new is more accurate than old is undecided: +4.7 points [-11.0, +6.7] on 400 items{words}"
    )
    (rule,) = decide([ask(evidence, relation="above", value=-0.02, family="requirement")])
    assert "undecided" in rule.sentence
    assert "it depends on 30 missing grades (30 of new)" in rule.sentence
    neither = both_ways(normal(0.001), normal(-0.09), missing={"new": 1})
    assert "missing" not in decide([ask(neither)])[0].sentence  # it is undecided without them too
    shown = both_ways(normal(0.047), normal(0.04), missing={"new": 1})
    assert "missing" not in decide([ask(shown)])[0].sentence


UNCHECKED = "graded by j; nobody checked it"


@pytest.mark.parametrize(("estimate", "value", "who"), [(0.05, 0.02, "new"), (-0.05, -0.02, "old")])
def test_a_kinder_judge_undoes_what_is_beyond_the_value_by_hand(estimate: float, value: float, who: str) -> None:
    """+5 points [+3.04, +6.96], asked against 2: 1.04 points on that judge's side undo it; and the other way round.

    Labels: 2 conditions, variance 2 x 0.1, (2.8 / 0.03)^2 of it each, to two figures.
    """
    (claim,) = decide([ask(normal(estimate, judged=UNCHECKED), value=value)])
    assert claim.sentence.startswith("By the judge's grades, new is ")
    labels = round_up_to_two_figures(2 * math.ceil(2.8**2 * 0.2 / 0.03**2))
    assert claim.sentence.endswith(
        f" Graded by j; nobody checked it. This is gone if the judge is 1.0 points kinder to {who}. "
        f"About {labels:,} labels would settle it."
    )


def test_a_judge_nobody_checked_is_said_of_every_verdict_by_hand() -> None:
    alike, level, met, violated = decide([
        ask(normal(0.002, 0.005, judged=UNCHECKED), margin=0.04),
        ask(normal(0.01, judged=UNCHECKED), "error_rate", family="other"),
        of_one(normal(0.6, judged=UNCHECKED), "above", 0.5, family="requirement"),
        of_one(normal(0.6, judged=UNCHECKED), "above", 0.72, family="requirement"),
    ])  # fmt: skip
    assert alike.interval is not None
    room = 4 - 100 * alike.interval.high
    assert alike.sentence.startswith("By the judge's grades, new and old are equally accurate within 4.0 points: ")
    assert f"This is gone if the judge is {room:.1f} points kinder to one side." in alike.sentence
    assert level.sentence.startswith("By the judge's grades, whether new is less often wrong than old is undecided: ")
    assert level.sentence.endswith(" Graded by j; nobody checked it.")
    assert met.sentence.startswith("By the judge's grades, accuracy of m above 50.0%: met; 60.0% ")
    assert met.interval is not None
    short = 100 * (met.interval.low - 0.5)
    assert f"This is gone if the judge is {short:.1f}% kinder or harsher than people." in met.sentence
    assert violated.sentence.startswith("By the judge's grades, accuracy of m above 72.0%: violated; ")
    checked = decide([ask(normal(0.05, labels=100))])[0]
    assert "judge" not in checked.sentence


def test_a_refutation_otherwise_than_by_sign_is_said_by_hand() -> None:
    (claim,) = decide([ask(normal_of(0.1, p_refuted=0.001, detail="they cross at 2"), "dominance")])
    assert claim.verdict is Verdict.REFUTED
    assert claim.sentence.startswith(
        "neither of old and new is worse at every severity reached: each is worse at some: "
    )
    assert "; they cross at 2" in claim.sentence


def test_sentences_of_trades_by_hand() -> None:
    def of(quality: Evidence, cost: Evidence) -> str:
        made = Trade(
            quality=quality, cost=cost, metric=METRICS["accuracy"], cost_metric=METRICS["money"], margin=0.02
        )  # fmt: skip
        question = Question(measure="accuracy and money", conditions=("old", "new"), margin=0.02)
        return decide([Asked(question=question, metric=METRICS["accuracy"], evidence=made)])[0].sentence

    words = "new is not less accurate than old by more than 2.0 points and cheaper"
    cheaper = normal(-0.1, relative=True)
    spans = "accuracy +5.0 [+3.4, +6.6] points and dollars per answer -10.0 [-11.6, -8.4]% (ratio of geometric means)"
    assert of(normal(0.05), cheaper) == f"{words}: {spans} on 400 items."
    assert of(normal(-0.09), cheaper).startswith(f"It is not so that {words}: ")
    assert of(normal(-0.02), cheaper).startswith(f"Whether {words} is undecided (accuracy): ")
    assert of(normal(0.05), normal(-0.001, relative=True)).startswith(
        f"Whether {words} is undecided (dollars per answer): "
    )
    against = normal(-0.1, relative=True, means=(1.0, 1.45))
    assert "in sum it is the other way round: 1 and 1.45 an item on average" in of(normal(0.05), against)
    assert of(normal(0.05, judged=UNCHECKED), cheaper).startswith(f"{words}, {UNCHECKED}: ")


def test_sums_that_go_the_other_way_are_said_by_hand(rng: np.random.Generator) -> None:
    money = np.stack([np.ones(400), np.where(np.arange(400) % 10 == 0, 10.0, 0.5)], axis=1)
    money *= rng.uniform(0.99, 1.01, (400, 2))
    for make in (difference_evidence, unpaired_evidence):
        (claim,) = decide([ask(make(outcomes(money, "money"), "a", "b"), "money")])
        assert "(ratio of geometric means)" in claim.sentence
        assert f"the other way round: {money[:, 0].mean():.4g} and {money[:, 1].mean():.4g}" in claim.sentence


def test_unpaired_conditions_are_said_with_the_items_of_each() -> None:
    (shown,) = decide([ask(normal(0.3, 0.01, sides=(100, 120), n=220))])
    assert (
        shown.sentence == "new is more accurate than old: +30.0 points [+28.0, +32.0] on 100 and 120 different items."
    )
    (level,) = decide([ask(normal(0.01, sides=(100, 120), n=220))])  # 220 (2.802 0.01 / 0.02)^2
    assert "432 items in all would settle a difference of 2.0 points" in level.sentence


def test_tries_are_said_in_words(rng: np.random.Generator) -> None:
    x = (rng.random((200, 2, 4)) < np.array([0.2, 0.7])[None, :, None]).astype(float)
    claim = compare_tables(dataset_of(outcomes(x)), on=("pass^2",), n_resamples=100).claims[0]
    assert claim.sentence.startswith("b is more often right in all of 2 tries than a: ")


def test_errors_name_whose_runs_and_draws_are_too_few() -> None:
    assert str(single_run_error("old")).startswith("old has one run")
    assert str(single_run_error()).startswith("There is one run")
    assert str(single_draw_error(3, 10)).startswith("3 of 10 items have one draw")


def test_subgroups_that_differ_or_do_not_are_said(rng: np.random.Generator) -> None:
    part = np.arange(400) % 2
    x = rng.normal(0, 0.1, (400, 2)) + 0.5
    same, = decide_heterogeneity([
        subgroup_differences(outcomes(x, "mean_score"), "a", "b", subgroup=part, names=("u", "v"))
    ])  # fmt: skip
    assert same.sentence.startswith("that the effect differs between the 2 subgroups is not shown (p ")
    x[:, 1] += 0.3 * part
    other, = decide_heterogeneity([
        subgroup_differences(outcomes(x, "mean_score"), "a", "b", subgroup=part, names=("u", "v"))
    ])  # fmt: skip
    assert other.sentence.startswith("the effect differs between the 2 subgroups (p ")
