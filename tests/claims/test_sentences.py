"""What a person reads: every form of a claim's sentence, every size in it, word for word and by hand."""

import dataclasses
import math

import pytest
from scipy.special import ndtr, ndtri

from richter.claims import METRICS, Evidence, Question, claimed, decide, not_tested, require, requirement_name, unjudged
from richter.claims._decide import counted, needed_units, one_sided
from richter.errors import InputError
from richter.records import Hypothesis, Interval, Verdict


def normal(estimate: float, error: float = 0.01, **more: object) -> Evidence:
    """A normal estimate on 400 items."""

    def interval(level: float) -> Interval:
        reach = float(ndtri(0.5 + level / 2)) * error
        return Interval(low=estimate - reach, high=estimate + reach, level=level, method="normal")

    def p(value: float) -> float:
        return 2 * float(ndtr(-abs(estimate - value) / error))

    made = Evidence(estimate=estimate, interval=interval, p=p, n=400, units=400, standard_error=error)
    return dataclasses.replace(made, **more)  # type: ignore[arg-type]


def ask(evidence: Evidence, measure: str = "accuracy", **more: object) -> Question:
    return Question(metric=METRICS[measure], evidence=evidence, **{"conditions": ("old", "new"), **more})  # type: ignore[arg-type]


def of_one(evidence: Evidence, relation: str, value: float, measure: str = "accuracy", **more: object) -> Question:
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
            ask(normal(0.05, unit="group", units=20), where="law"),
            f"new is more accurate than old: {UP} in 20 groups of law.",
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
            "new is dearer than old: +10.0% [+8.0, +12.0] (ratio of geometric means) on 400 items.",
        ),
        (  # how much kinder a judge is cannot be held against a ratio
            ask(normal(0.1, relative=True, judged="as judged by j"), "money"),
            "new is dearer than old, as judged by j: +10.0% [+8.0, +12.0] (ratio of geometric means) on 400 items.",
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
def test_sentences_of_claims_by_hand(question: Question, said: str) -> None:
    assert decide([question])[0].sentence == said


def test_what_was_not_tested_says_so_with_its_plain_interval_by_hand() -> None:
    first, second = decide([ask(normal(0.01)), ask(normal(0.05), "mean_severity", primary=False)])
    assert first.verdict is Verdict.UNDECIDED
    assert second.sentence == (
        "Whether new is less severe over all answers than old was not tested: +0.050 [+0.030, +0.070] on 400 items, "
        "plain 95% interval."
    )
    (claim,), (alone,) = decide([ask(normal(0.05))]), decide([of_one(normal(0.85), "above", 0.8)])
    two = "Whether old and new differ in accuracy was not tested: +5.0 points"
    bare = dataclasses.replace(claim, plain_interval=None)
    for given, said in (
        (claim, f"{two} [+3.0, +7.0], plain 95% interval."),
        (bare, f"{two} [+3.0, +7.0], plain 95% interval."),
        (dataclasses.replace(bare, interval=None), f"{two}."),
        (
            dataclasses.replace(claim, measure="fluency"),
            ("Whether old and new differ in fluency was not tested: +0.050 [+0.030, +0.070], plain 95% interval."),
        ),
        (alone, "Whether accuracy of m is not 80.0% was not tested: 85.0% [83.0, 87.0], plain 95% interval."),
        (
            dataclasses.replace(alone, hypothesis=None),
            "Whether accuracy of m is not 0.0% was not tested: 85.0% [83.0, 87.0], plain 95% interval.",
        ),
    ):
        found = not_tested(given)
        assert found.sentence == said
        assert found.verdict is Verdict.UNDECIDED
        assert (found.interval, found.family, found.needed, found.p_adjusted) == (None, None, None, None)
    for other in (
        dataclasses.replace(claim, verdict=Verdict.BLOCKED, blocked_by="items"),
        dataclasses.replace(claim, estimate=None),
    ):
        assert not_tested(other) is other


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


def test_one_sided_p_values_by_hand() -> None:
    evidence = normal(0.1)
    assert [one_sided(evidence, 0.08, above=up) for up in (True, False)] == pytest.approx([ndtr(-2), ndtr(2)])
    assert [one_sided(evidence, 0.12, above=up) for up in (True, False)] == pytest.approx([ndtr(2), ndtr(-2)])
    assert [one_sided(evidence, 0.1, above=up) for up in (True, False)] == [0.5, 0.5]
    skew = normal(0.1, p=lambda _: 0.9)  # the estimate is on neither side of itself
    assert [one_sided(skew, 0.1, above=up) for up in (True, False)] == pytest.approx([0.55, 0.55])
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
    question: Question, said: str, needed: tuple[int, float] | None
) -> None:
    (claim,) = require([question])
    assert claim.sentence == said
    assert (claim.needed, claim.needed_for) == (pytest.approx(needed) if needed else (None, None))
    error = question.evidence.standard_error
    assert claim.could_show == (None if error is None else pytest.approx((ndtri(0.95) + ndtri(0.8)) * error))
    assert claim.plain_interval is not None
    assert claim.plain_interval.level == 0.95
    assert claim.p == pytest.approx(2 * ndtr(-abs(claim.estimate - question.value) / _error(question)))  # type: ignore[operator]


def _error(question: Question) -> float:
    """The standard error that an interval was made with."""
    interval = question.evidence.interval(0.95)
    return (interval.high - interval.low) / 2 / float(ndtri(0.975))


def test_a_requirement_that_nobody_could_judge_names_why() -> None:
    metric = METRICS["accuracy"]
    claim = unjudged(metric, ("old", "new"), "above", -0.02, why="no grades")
    assert (claim.verdict, claim.sentence) == (Verdict.UNTESTABLE, f"{NO_WORSE}: untestable, no grades.")
    claim = unjudged(metric, ("m",), "above", 0.8, why="items differ", blocked_by="items")
    assert (claim.verdict, claim.sentence) == (Verdict.BLOCKED, "accuracy of m above 80.0%: blocked, items differ.")
    assert requirement_name(metric, claim) == "accuracy of m above 80.0%"
    severe = METRICS["mean_severity"]
    assert requirement_name(severe, unjudged(severe, ("m",), "below", 1.5, why="x")) == (
        "mean severity of all answers of m below 1.500"
    )


def fixed(low: float, high: float) -> Evidence:
    """An interval that is the same at every level."""
    return normal((low + high) / 2, interval=lambda level: Interval(low=low, high=high, level=level, method="fixed"))


def test_a_limit_that_an_interval_touches_is_not_passed() -> None:
    for low, high in ((-0.02, 0.01), (-0.01, 0.02)):
        assert decide([ask(fixed(low, high), margin=0.02)])[0].verdict is Verdict.UNDECIDED
    assert decide([ask(fixed(-0.019, 0.019), margin=0.02)])[0].verdict is Verdict.EQUIVALENT
    for low, high in ((0.0, 0.05), (-0.05, 0.0)):
        assert decide([ask(fixed(low, high))])[0].verdict is Verdict.UNDECIDED
        for relation in ("above", "below"):
            assert require([ask(fixed(low, high), relation=relation)])[0].verdict is Verdict.UNDECIDED


def test_what_could_be_shown_and_what_was_enough_by_hand() -> None:
    (claim,) = decide([ask(normal(0.05))])
    assert claim.could_show == pytest.approx((ndtri(0.975) + ndtri(0.8)) * 0.01)
    reach = float(ndtri(0.975) + ndtri(0.8))
    for factor, said in ((0.9999, "400 items were enough for"), (1.0001, "401 items would settle")):
        (claim,) = decide([ask(normal(0.0, factor * 0.02 / reach))])
        assert f"; {said} a difference of 2.0 points." in claim.sentence


def test_an_undecided_rule_has_the_interval_of_a_pass_beside_others_too() -> None:
    rules = [ask(normal(x), relation="above", value=-0.01) for x in (-0.02, 0.05)]
    first, _ = require(rules)
    assert first.verdict is Verdict.UNDECIDED
    assert first.interval is not None
    assert first.interval.level == pytest.approx(0.9)


def test_a_rule_violated_alone_has_the_interval_that_did_not_show_it_by_hand() -> None:
    """z = -1.7: 4.5% alone, four times that among four rules; its interval is at 1 - 2 alpha / 4."""
    rules = [ask(normal(x), relation="above", value=0.0) for x in (-0.017, 0.05, 0.05, 0.05)]
    first = require(rules)[0]
    assert first.verdict is Verdict.UNDECIDED
    assert first.interval is not None
    assert first.interval.level == pytest.approx(0.975)


def test_a_p_value_at_the_level_is_enough() -> None:
    exact = dataclasses.replace(fixed(-0.05, -0.01), p=lambda _: 2 * (1 - 0.95))
    assert require([ask(exact, relation="above")])[0].verdict is Verdict.REFUTED


@pytest.mark.parametrize("level", [0.0, 1.0])
def test_a_level_that_is_none_is_refused(level: float) -> None:
    with pytest.raises(InputError, match="between 0 and 1"):
        decide([ask(normal(0.05))], level=level)


@pytest.mark.parametrize(("estimate", "value", "who"), [(0.05, 0.02, "new"), (-0.05, -0.02, "old")])
def test_a_kinder_judge_explains_what_is_beyond_the_value_by_hand(estimate: float, value: float, who: str) -> None:
    """+5 points [+3.04, +6.96], asked against 2: 1.04 points on that judge's side undo it; and the other way round."""
    (claim,) = decide([ask(normal(estimate, judged="as judged by j (nobody checked it)"), value=value)])
    assert f"a judge 1.0 points kinder to {who} would explain it, and up to 5.0 points are usual" in claim.sentence
