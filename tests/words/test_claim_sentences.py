"""What a person reads: every form of a claim's sentence, word for word and by hand. Other tests assert fields."""

import dataclasses
import math
from typing import Any

import pytest
from scipy.special import ndtr, ndtri

from helpers.normal import ask as ask_of
from helpers.normal import normal as normal_of
from richter.claims import (
    METRICS,
    Asked,
    Blocked,
    Evidence,
    Question,
    both_ways,
    decide,
)
from richter.records import Interval, Verdict
from richter.words import requirement_name, round_up_to_two_figures
from richter.words._spans import describe_level


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
OPEN = "Inconclusive: new scored 1.0 points higher than old (95% CI -1.0 to +3.0, 400 questions)."
UP = "+5.0 points (95% CI +3.0 to +7.0"
LADDER = (  # 2.802 standard errors of 1 point; 400 (2.802 0.01 / 0.02)^2 = 785, and 126 for 5 points, fewer than these
    "You can detect about 2.8 points (80% power) with these 400 questions. For 2 points you need about 790."
)


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        (ask(normal(0.05)), f"new is more accurate than old: {UP}, 400 questions)."),
        (
            ask(normal(0.05, unit="group", units=20), column="domain", part="law"),
            f"new is more accurate than old: {UP}, 400 questions in 20 groups of domain law).",
        ),
        (ask(normal(0.05, n=1)), f"new is more accurate than old: {UP}, 1 question)."),
        (ask(normal(0.01)), f"{OPEN} {LADDER}"),
        (
            ask(normal(0.01), "error_rate"),
            (
                "Inconclusive: the error rate of new is 1.0 points higher than that of old "
                f"(95% CI -1.0 to +3.0, 400 questions). {LADDER}"
            ),
        ),
        (
            ask(normal(0.0)),
            f"Inconclusive: new and old scored the same (95% CI -2.0 to +2.0, 400 questions). {LADDER}",
        ),
        (
            ask(normal(0.001, 0.001)),
            (
                "Inconclusive: new scored 0.10 points higher than old (95% CI -0.10 to +0.30, 400 questions). "
                "You can detect about 0.28 points (80% power) with these 400 questions."
            ),
        ),
        (
            ask(normal(0.002, 0.001), margin=0.02),
            (
                "No practical difference in accuracy between old and new: +0.20 points (90% CI +0.04 to +0.36, "
                "400 questions), within the margin of 2 points. The difference is real but within the margin."
            ),
        ),
        (of_one(normal(0.85), "above", 0.8), "Accuracy of m is above 80%: 85.0% (95% CI 83.0 to 87.0, 400 questions)."),
        (
            of_one(normal(0.81), "above", 0.8),
            (
                "Inconclusive: the data do not show that accuracy of m is above 80%: "
                f"81.0% (95% CI 79.0 to 83.0, 400 questions). {LADDER}"
            ),
        ),
        (
            of_one(normal(2.0, 0.1), "below", 1.5, "mean_severity"),
            "Mean severity of all answers of m is not below 1.5: 2.00 (95% CI 1.80 to 2.20, 400 questions).",
        ),
        (
            ask(normal(0.1, 0.1, relative=True), "money"),  # 400 (2.802 (0.1 / 1.1) / log 1.05)^2 = 10,903
            (
                "Inconclusive: new is 10.0% more expensive than old (95% CI -9.6 to +29.6, ratio of totals, "
                "400 questions). You can detect about 29% (80% power) with these 400 questions. "
                "For 5% you need about 11,000, for 2% about 67,000."
            ),
        ),
        (
            ask(normal(0.05, **ENDLESS)),
            (f"Inconclusive: new scored 5.0 points higher than old (95% CI: no limits known, 400 questions). {LADDER}"),
        ),
    ],
)
def test_sentences_of_claims_by_hand(question: Asked, sentence: str) -> None:
    assert decide([question])[0].sentence == sentence


def test_levels_are_printed_with_the_digits_that_tell_them_from_certainty() -> None:
    assert [describe_level(x) for x in (0.9, 0.95, 1 - 0.05 / 15, 0.9999)] == ["90%", "95%", "99.7%", "99.99%"]


NO_WORSE = "new is not more than 2 points worse than old"


@pytest.mark.parametrize(
    ("question", "sentence", "needed"),
    [
        (
            ask(normal(-0.005, 0.002), relation="above", value=-0.02),
            f"{NO_WORSE} (one-sided 95%: at worst -0.83 points, 400 questions).",
            None,
        ),
        (
            ask(normal(-0.05), relation="above", value=-0.02),
            (
                "new is more than 2 points worse than old: -5.0 points "
                "(one-sided 95%: at best -3.4 points, 400 questions)."
            ),
            None,
        ),
        (
            ask(normal(-0.02), relation="above", value=-0.02),  # (z_0.95 + z_0.8)^2 0.04 / 0.02^2
            (
                "Can't rule out that new is more than 2 points worse than old (one-sided 95%: at worst -3.6 points, "
                "400 questions). If the two are equally good, about 620 questions would pass this gate."
            ),
            (619, 0.02),
        ),
        (
            of_one(normal(0.85), "above", 0.8),
            "accuracy of m is above 80% (one-sided 95%: at least 83.4%, 400 questions).",
            None,
        ),
        (
            # (1.645 sqrt(0.06 0.94) + 0.842 sqrt(0.03 0.97))^2 / 0.03^2 = 317.1 items, 30 groups in 400
            of_one(normal(0.05, unit="group", units=30), "below", 0.06, "error_rate"),
            (
                "Can't rule out that error rate of m is above 6% (one-sided 95%: at most 6.6%, 400 questions in 30 "
                "groups). If half of what is allowed is true, these 30 groups were enough to pass."
            ),
            (24, 0.03),
        ),
        (
            of_one(normal(0.5, 1.0), "above", 0.4, "mean_score"),
            (
                "Can't rule out that mean score of m is below 0.4 (one-sided 95%: at least -1.1, 400 questions). "
                "If half of what is allowed is true, about 28,000 questions would pass this gate."
            ),
            (27_479, 0.3),
        ),
    ],
)
def test_sentences_and_sizes_of_requirements_by_hand(
    question: Asked, sentence: str, needed: tuple[int, float] | None
) -> None:
    rule = dataclasses.replace(question, question=dataclasses.replace(question.question, family="requirement"))
    (claim,) = decide([rule])
    assert claim.sentence == sentence
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
        f"Can't check that {NO_WORSE}: no grades.",
        "Can't check that accuracy of m is above 80%: items differ.",
        "Can't compare new with old on accuracy: items differ.",
        "Can't measure accuracy of m: no grades.",
    ]
    assert requirement_name(METRICS["accuracy"], claims[1]) == "accuracy of m is above 80%"
    severe = decide([blocked("mean_severity", ("m",), 1.5, nothing, relation="below", family="requirement")])[0]
    assert requirement_name(METRICS["mean_severity"], severe) == "mean severity of all answers of m is below 1.5"


def test_missing_grades_that_decide_are_said_with_both_ways_by_hand() -> None:
    """Ignoring the 30 missing answers 4.7 points better, counting them as wrong 9 points worse."""
    evidence = both_ways(normal(0.047), normal(-0.09), missing={"old": 0, "new": 30})
    words = (
        "It depends on 30 missing grades (30 of new). Ignoring them: +4.7 points (95% CI +2.7 to +6.7). "
        "Counting them as wrong: -9.0 points (95% CI -11.0 to -7.0)."
    )
    (claim,) = decide([ask(evidence)])
    assert claim.sentence.startswith(
        f"Inconclusive: new scored 4.7 points higher than old (95% CI -11.0 to +6.7, 400 questions). {words}"
    )
    (rule,) = decide([ask(evidence, relation="above", value=-0.02, family="requirement")])
    assert rule.verdict is Verdict.UNDECIDED
    assert "It depends on 30 missing grades (30 of new)" in rule.sentence
    neither = both_ways(normal(0.001), normal(-0.09), missing={"new": 1})
    assert "missing" not in decide([ask(neither)])[0].sentence  # it is undecided without them too
    shown = both_ways(normal(0.047), normal(0.04), missing={"new": 1})
    assert "missing" not in decide([ask(shown)])[0].sentence


UNCHECKED = "graded by j; nobody checked it"


@pytest.mark.parametrize(("estimate", "value", "who"), [(0.05, 0.02, "new"), (-0.05, -0.02, "old")])
def test_a_kinder_judge_undoes_what_is_beyond_the_value_by_hand(estimate: float, value: float, who: str) -> None:
    """+5 points [+3.04, +6.96], asked against 2: 1.04 points on that judge's side undo it; and the other way round.

    Labels: 2 conditions, variance 2 x 0.1, (2.8 / 0.03)^2 of it each, to two figures; at most all answers.
    """
    (few,) = decide([ask(normal(estimate, judged=UNCHECKED), value=value)])
    assert few.sentence.endswith("It takes human labels of all these answers to settle it.")
    (claim,) = decide([ask(normal(estimate, judged=UNCHECKED, n=4000), value=value)])
    assert claim.sentence.startswith("By the judge's grades, new is ")
    labels = round_up_to_two_figures(2 * math.ceil(2.8**2 * 0.2 / 0.03**2))
    assert claim.sentence.endswith(
        f" Graded by j; nobody checked it. If the judge favours {who} by 1.0 points, this result no longer holds. "
        f"About {labels:,} human labels would settle it."
    )


def test_unpaired_conditions_are_said_with_the_items_of_each() -> None:
    (shown,) = decide([ask(normal(0.3, 0.01, sides=(100, 120), n=220))])
    assert shown.sentence == (
        "new is more accurate than old: +30.0 points (95% CI +28.0 to +32.0, 100 and 120 different questions)."
    )
    (level,) = decide([ask(normal(0.01, sides=(100, 120), n=220))])  # 220 (2.802 0.01 / 0.02)^2 = 432
    assert "For 2 points you need about 440." in level.sentence
