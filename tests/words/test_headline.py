"""The answer of a page: what it says is what its claims show, with the same side and sign."""

import dataclasses
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from richter.claims import METRICS, Metric, claim_words, measure_words
from richter.records import Claim, Hypothesis, Interval, Verdict
from richter.words import answer, rail, side


def claim(measure: str, estimate: float, verdict: Verdict, **more: object) -> Claim:
    metric = METRICS[measure]
    given = Claim(
        measure=measure,
        conditions=("old", "new"),
        verdict=verdict,
        sentence="",
        estimate=estimate,
        interval=Interval(low=estimate - 0.05, high=estimate + 0.05, level=0.95, method="t"),
        values=(0.6, 0.6 + estimate),
        hypothesis=Hypothesis(relation="differs", value=0.0),
        better=metric.better,
    )
    return dataclasses.replace(given, **more)


def test_worse_is_said_with_its_numbers_by_hand() -> None:
    claims = [claim("accuracy", -0.07, Verdict.VERIFIED), claim("mean_severity", 0.4, Verdict.VERIFIED, primary=False)]
    assert answer(claims, conditions=("old", "new")) == (
        "new is worse than old: it is less accurate (53.0% against 60.0%) and more severe over all answers "
        "(1.00 against 0.60 on a scale of 0 to 4)."
    )
    assert answer(claims, conditions=("old", "new"), candidate="new", baseline="old").endswith("Do not ship new.")


def test_better_and_worse_are_both_said() -> None:
    claims = [claim("accuracy", 0.07, Verdict.VERIFIED), claim("money", 0.2, Verdict.VERIFIED, primary=False)]
    text = answer(claims, conditions=("old", "new"), candidate="new", baseline="old")
    assert "in some ways and worse in others: it is more accurate (67.0% against 60.0%), but more expensive" in text
    assert "Do not ship" not in text


def test_nothing_shown_is_said_with_the_interval() -> None:
    claims = [claim("accuracy", 0.01, Verdict.UNDECIDED), claim("mean_severity", 0.4, Verdict.UNDECIDED, primary=False)]
    text = "These data do not show whether new is better than old: its accuracy may differ by -4.0 to +6.0 points."
    assert answer(claims, conditions=("old", "new")) == text
    turned = "These data do not show whether old is better than new: its accuracy may differ by -6.0 to +4.0 points."
    assert answer(claims, conditions=("new", "old")) == turned


def test_equivalence_is_not_called_equality() -> None:
    claims = [claim("accuracy", 0.004, Verdict.EQUIVALENT, margin=0.02)]
    assert answer(claims, conditions=("old", "new")) == "new and old are equally accurate within 2.0 points."


@pytest.mark.parametrize(
    ("relation", "verdict", "better", "expected"),
    [
        ("below", Verdict.VERIFIED, "lower", "better"),  # error rate below a limit: met
        ("below", Verdict.REFUTED, "lower", "worse"),
        ("above", Verdict.VERIFIED, "lower", "worse"),  # calibration error above 0: miscalibrated
        ("above", Verdict.VERIFIED, "higher", "better"),  # accuracy above a limit
        ("above", Verdict.REFUTED, "higher", "worse"),
        ("above", Verdict.UNDECIDED, "higher", "open"),
    ],
)
def test_claims_on_one_condition(relation, verdict, better, expected) -> None:
    given = Claim(
        measure="accuracy",
        conditions=("new",),
        verdict=verdict,
        sentence="",
        estimate=0.3,
        hypothesis=Hypothesis(relation=relation, value=0.1),
        better=better,
    )
    assert side(given) == expected


@given(
    measure=st.sampled_from(sorted(METRICS)),
    estimate=st.floats(-0.5, 0.5).filter(lambda x: abs(x) > 1e-3),
    verdict=st.sampled_from([Verdict.VERIFIED, Verdict.REFUTED]),
)
def test_side_sign_and_sentence_agree(measure: str, estimate: float, verdict: Verdict) -> None:
    relation = "above" if (METRICS[measure].better == "higher") == (verdict is Verdict.VERIFIED) else "below"
    relation = relation if estimate > 0 else {"above": "below", "below": "above"}[relation]
    made = claim(measure, estimate, verdict, hypothesis=Hypothesis(relation=relation, value=0.0))
    improves = (estimate > 0) == (METRICS[measure].better == "higher")
    assert side(made) == ("better" if improves else "worse")
    text = answer([made], conditions=("old", "new"))
    assert text.startswith(f"new is {'better' if improves else 'worse'} than old")
    assert (METRICS[measure].better_word if improves else METRICS[measure].worse_word) in text


@given(
    st.lists(st.sampled_from([v for v in Verdict if v is not Verdict.BLOCKED]), min_size=3, max_size=3),
    st.lists(st.sampled_from([-0.1, 0.1]), min_size=3),
)
def test_a_board_calls_best_only_what_nothing_beats(verdicts: list[Verdict], signs: list[float]) -> None:
    pairs = [("a", "b"), ("a", "c"), ("b", "c")]
    claims = [claim("accuracy", s, v, conditions=p) for p, v, s in zip(pairs, verdicts, signs, strict=False)]
    text = answer(claims, conditions=("a", "b", "c"))
    for made in claims:
        if side(made) in ("better", "worse"):
            loser = made.conditions[0] if side(made) == "better" else made.conditions[1]
            assert f" {loser} is the best" not in text


def shown(measure: str, estimate: float, **more: object) -> Claim:
    return claim(measure, estimate, Verdict.VERIFIED, **more)


PAIR = ("old", "new")
WORSE = "is shown to be worse than some other"
ONLY = "There is one condition: its figures are below, nothing is compared."
NO_WORSE = "By accuracy none of the 3 conditions is shown to be worse than another."


@pytest.mark.parametrize(
    ("claims", "conditions", "said"),
    [
        (
            [
                shown("accuracy", 0.1),
                shown("mean_severity", -0.2, primary=False),
                shown("ece", -0.1, primary=False, values=(None, None)),
                shown("money", -0.1, primary=False),
            ],
            PAIR,
            (
                "new is better than old: it is more accurate (70.0% against 60.0%), less severe over all answers "
                "(0.40 against 0.60 on a scale of 0 to 4), better calibrated and 1 more."
            ),
        ),
        (
            [shown("accuracy", 0.1), shown("mean_severity", -0.2), shown("ece", -0.1, values=())],
            PAIR,
            (
                "new is better than old: it is more accurate (70.0% against 60.0%), less severe over all answers "
                "(0.40 against 0.60 on a scale of 0 to 4) and better calibrated."
            ),
        ),
        (
            [shown("accuracy", -0.1), shown("latency", -0.1)],
            ("new", "old"),
            (
                "old is better than new in some ways and worse in others: it is more accurate (60.0% against 50.0%), "
                "but slower (0.600 s against 0.500 s)."
            ),
        ),
        (
            [shown("mean_severity", 0.2, primary=False), shown("accuracy", -0.1)],
            PAIR,
            (
                "new is worse than old: it is less accurate (50.0% against 60.0%) and more severe over all answers "
                "(0.80 against 0.60 on a scale of 0 to 4)."
            ),
        ),
        (
            [claim("accuracy", 0.0, Verdict.EQUIVALENT)],
            PAIR,
            "new and old are equally accurate.",
        ),
        (
            [claim("accuracy", 0.0, Verdict.UNDECIDED, interval=None)],
            PAIR,
            "Whether new is better than old cannot be said from these data.",
        ),
        (
            [
                claim(
                    "mean_severity",
                    0.1,
                    Verdict.UNDECIDED,
                    interval=None,
                    plain_interval=Interval(low=-0.1, high=0.3, level=0.95, method="t"),
                )
            ],
            PAIR,
            (
                "These data do not show whether new is better than old: its mean severity of all answers may differ by "
                "-0.100 to +0.300 on a scale of 0 to 4."
            ),
        ),
        (
            [shown("accuracy", 0.1, conditions=("a", "b"))],
            PAIR,
            ("Whether new is better than old cannot be said from these data."),
        ),
        ([], ("a", "b", "c"), "No two of the 3 conditions could be compared."),
        (
            [shown("accuracy", 0.1, conditions=("a", "b"), primary=False)],
            ("a", "b", "c"),
            "No two of the 3 conditions could be compared.",
        ),
        (
            [claim("accuracy", 0.1, Verdict.UNDECIDED, conditions=p) for p in (("a", "b"), ("b", "c"))],
            ("a", "b", "c"),
            NO_WORSE,
        ),
        (
            [claim("accuracy", 0.1, Verdict.UNDECIDED, conditions=("a", "b"))],
            ("a", "b", "c"),
            "By accuracy none of the 2 conditions is shown to be worse than another; c could not be compared.",
        ),
        (
            [shown("accuracy", 0.1, conditions=p) for p in (("a", "b"), ("b", "c"), ("c", "a"))],
            ("a", "b", "c"),
            "By accuracy no condition is the best: each one is shown to be worse than some other.",
        ),
        (
            [shown("accuracy", -0.1, conditions=p) for p in (("a", "b"), ("a", "c"), ("b", "c"))],
            ("a", "b", "c"),
            "By accuracy a is the best: it is shown to be better than every other.",
        ),
        (
            [shown("accuracy", -0.1, conditions=p) for p in (("a", "b"), ("a", "c"), ("b", "c"))],
            ("a", "b", "c", "d", "e"),
            "By accuracy a is the best: it is shown to be better than the 2 others; d and e could not be compared.",
        ),
        (
            [
                shown("accuracy", -0.1, conditions=("a", "b")),
                shown("accuracy", -0.1, conditions=("b", "c")),
                claim("accuracy", 0.1, Verdict.UNDECIDED, conditions=("a", "c")),
                shown("mean_severity", -0.5, conditions=("a", "b")),
            ],
            ("a", "b", "c"),
            "By accuracy a is the best: it is shown to be better than 1 of 2 others.",
        ),
        (
            [
                shown("accuracy", -0.1, conditions=("a", "d")),
                shown("accuracy", -0.1, conditions=("b", "d")),
                claim("accuracy", 0.1, Verdict.UNDECIDED, conditions=("b", "c")),
            ],
            ("a", "b", "c", "d"),
            "By accuracy c, a and b are the best of 4; among them no difference is shown.",
        ),
        (
            [shown("accuracy", -0.1, conditions=(name, "z")) for name in "abcde"],
            (*"abcde", "z"),
            f"By accuracy 5 of 6 conditions cannot be told apart (a, b, c, d and 1 more); z {WORSE}.",
        ),
        (
            [shown("accuracy", -0.1, conditions=(name, "z")) for name in "abcd"],
            (*"abcd", "z"),
            "By accuracy a, b, c and d are the best of 5; among them no difference is shown.",
        ),
        ([], ("m",), ONLY),
        ([claim("accuracy", 0.3, Verdict.UNDECIDED, conditions=("m",), sentence="Open.")], ("m",), ONLY),
        (
            [
                shown("accuracy", 0.3, conditions=("m",), sentence="Good."),
                shown("error_rate", 0.3, conditions=("m",), sentence="Bad."),
            ],
            ("m",),
            "Bad.",
        ),
        ([shown("accuracy", 0.3, conditions=("m",), sentence=s) for s in ("Good.", "Fine.")], ("m",), "Good."),
    ],
)
def test_answers_word_for_word(claims: list[Claim], conditions: tuple[str, ...], said: str) -> None:
    assert answer(claims, conditions=conditions) == said


def test_only_a_named_candidate_that_is_worse_is_not_to_be_shipped() -> None:
    worse = [shown("accuracy", -0.1)]
    for candidate, baseline, told in (
        ("new", "old", True),
        ("new", None, False),
        (None, "old", False),
        ("old", "new", False),
    ):
        text = answer(worse, conditions=PAIR, candidate=candidate, baseline=baseline)
        assert text.endswith(" Do not ship new.") is told
    assert not answer([shown("accuracy", 0.1)], conditions=PAIR, candidate="new", baseline="old").endswith("new.")


def test_the_side_of_claims_that_say_nothing_is_open() -> None:
    good = shown("accuracy", 0.1)
    assert side(good) == "better"
    assert side(dataclasses.replace(good, estimate=None)) == "open"
    assert side(dataclasses.replace(good, better=None)) == "open"
    assert side(dataclasses.replace(good, hypothesis=None)) == "better"
    assert side(dataclasses.replace(good, hypothesis=Hypothesis(relation="above", value=0.2))) == "worse"
    assert side(dataclasses.replace(good, verdict=Verdict.EQUIVALENT)) == "alike"
    assert (
        side(shown("accuracy", 0.3, conditions=("m",), hypothesis=Hypothesis(relation="differs", value=0.5))) == "worse"
    )


def test_a_measure_without_words_of_its_own_is_called_by_its_name() -> None:
    words = measure_words("chat_fluency")
    assert (words.better_word, words.worse_word, words.noun) == (
        "better in chat fluency",
        "worse in chat fluency",
        "chat fluency",
    )
    assert measure_words("accuracy:law").noun == "accuracy"


def test_where_a_difference_stands_from_worse_to_better_by_hand() -> None:
    assert rail(0.1, -0.1, 0.2, better="higher") == pytest.approx((0.25, 0.75, 1.0))
    assert rail(0.1, -0.1, 0.2, better="lower") == pytest.approx((0.0, 0.25, 0.75))
    assert rail(0.1, -math.inf, math.inf, better=None) == (0.0, 1.0, 1.0)
    assert rail(0.0, 0.0, 0.0, better="higher") == (0.5, 0.5, 0.5)


def test_a_ratio_of_amounts_is_told_in_per_cent_by_hand() -> None:
    def words(measure: str, estimate: float, values: tuple[float | None, ...], **more: object) -> Metric:
        return claim_words(claim(measure, estimate, Verdict.VERIFIED, values=values, **more))

    half_more = words("money", 0.5, (2.0, 3.0))
    assert (half_more.amount(0.5), half_more.suffix) == ("50.0", "%")
    large = words("tokens", 999.0 + 5e-7, (1.0, 1000.0))  # within 1e-9 of what it would be
    assert large.suffix == "%"
    for own in (
        words("money", 1.0, (2.0, 3.0)),  # a difference
        words("money", 0.5 + 1e-6, (2.0, 3.0)),
        words("money", -1.0, (0.0, 3.0)),
        words("money", 2.0, (None, 3.0)),
        words("money", -1.0, (2.0,)),
        claim_words(dataclasses.replace(claim("money", 0.5, Verdict.UNTESTABLE, values=(2.0, 3.0)), estimate=None)),
    ):
        assert own == METRICS["money"]
    assert words("accuracy", 0.5, (0.5, 0.75)) == measure_words("accuracy")
    assert words("mean_score", 0.5, (0.5, 0.75)) == measure_words("mean_score")


def test_no_calibration_error_beyond_chance_is_not_told_as_a_number() -> None:
    def told(measure: str, values: tuple[float, float]) -> str:
        return answer(
            [claim(measure, values[1] - values[0], Verdict.VERIFIED, values=values)], conditions=("old", "new")
        )

    assert "(calibration error 2.0% against 5.0%)" in told("ece", (0.05, 0.02))
    assert "(" not in told("ece", (0.05, -0.01))
    assert "(" not in told("ece", (0.05, 0.0))
    assert "(0.0% against 60.0%)" in told("accuracy", (0.6, 0.0))


def test_a_ratio_is_told_with_the_means_that_it_is_of() -> None:
    def told(estimate: float, values: tuple[float, float]) -> str:
        return answer([claim("money", estimate, Verdict.VERIFIED, values=values)], conditions=("old", "new"))

    assert "(geometric means " in told(0.5, (2.0, 3.0))
    assert "geometric" not in told(1.0, (2.0, 3.0))  # a difference


def test_of_two_that_could_be_compared_one_is_the_other() -> None:
    pair = claim("accuracy", 0.2, Verdict.VERIFIED, values=())
    text = answer([pair], conditions=("old", "new", "third"))
    assert text == "By accuracy new is the best: it is shown to be better than the other; third could not be compared."
