"""The answer of a page: what it says is what its claims show, with the same side and sign."""

import dataclasses
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from richter.claims import METRICS, claim_words, measure_words
from richter.records import Claim, Hypothesis, Interval, Reckoning, SizeStep, Verdict
from richter.words import answer, describe_counts, first_lines, rail, side


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


def test_nothing_shown_is_said_with_the_interval() -> None:
    claims = [claim("accuracy", 0.01, Verdict.UNDECIDED), claim("mean_severity", 0.4, Verdict.UNDECIDED, primary=False)]
    text = "Inconclusive: new scored 1.0 points higher than old (95% CI -4.0 to +6.0)."
    assert answer(claims, conditions=("old", "new")) == text
    turned = "Inconclusive: old scored 1.0 points lower than new (95% CI -6.0 to +4.0)."
    assert answer(claims, conditions=("new", "old")) == turned


def test_missing_answers_that_decide_are_the_headline_by_hand() -> None:
    def way(estimate: float, low: float, high: float) -> Reckoning:
        return Reckoning(estimate=estimate, interval=Interval(low=low, high=high, level=0.95, method="t"))

    made = claim(
        "accuracy", 0.047, Verdict.UNDECIDED, n=200, missing={"old": 0, "new": 30},
        without_missing=way(0.047, 0.027, 0.082), missing_as_worst=way(-0.09, -0.12, -0.06),
    )  # fmt: skip
    assert answer([made], conditions=PAIR) == (
        "Inconclusive: it depends on the 30 answers that new is missing. On the 200 questions that both answered, new "
        "is 4.7 points better (95% CI +2.7 to +8.2). If the missing ones all count as wrong, it is 9.0 points worse "
        "(95% CI -12.0 to -6.0)."
    )


def test_a_judge_that_nobody_checked_is_in_the_headline() -> None:
    text = answer([shown("accuracy", 0.1, judged="graded by j; nobody checked it")], conditions=PAIR)
    assert text == (
        "By the judge's grades, new is better than old: +10.0 points (95% CI +5.0 to +15.0). "
        "Graded by j; nobody checked it."
    )


def test_counts_are_what_everybody_counts_by_hand() -> None:
    made = claim("accuracy", 0.075, Verdict.UNDECIDED, n=200, values=(0.665, 0.74))
    assert describe_counts(made, (38, 23)) == "new got 148 of 200 right, old 133: 38 fixed, 23 broken."
    assert describe_counts(made) == "new got 148 of 200 right, old 133."
    wrong = dataclasses.replace(made, measure="error_rate", values=(0.335, 0.26))
    assert describe_counts(wrong, (38, 23)) == "new got 148 of 200 right, old 133: 38 fixed, 23 broken."
    shares = dataclasses.replace(made, values=(0.6651, 0.74))  # means of repeats are not counts
    assert describe_counts(shares, (38, 23)) == "new is right in 74.0% of its answers, old in 66.5%."
    corrected = dataclasses.replace(made, labels=8)  # nobody counted these: the correction may land on whole numbers
    assert describe_counts(corrected, (38, 23)) == "new is right in 74.0% of its answers, old in 66.5%."
    assert describe_counts(dataclasses.replace(made, values=(None, 0.74))) == ""


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
    estimate=st.floats(-0.5, 0.5).filter(lambda x: abs(x) > 0.02),
    verdict=st.sampled_from([Verdict.VERIFIED, Verdict.REFUTED]),
)
def test_side_sign_and_sentence_agree(measure: str, estimate: float, verdict: Verdict) -> None:
    relation = "above" if (METRICS[measure].better == "higher") == (verdict is Verdict.VERIFIED) else "below"
    relation = relation if estimate > 0 else {"above": "below", "below": "above"}[relation]
    made = claim(measure, estimate, verdict, hypothesis=Hypothesis(relation=relation, value=0.0))
    improves = (estimate > 0) == (METRICS[measure].better == "higher")
    assert side(made) == ("better" if improves else "worse")
    text = answer([made], conditions=("old", "new"))
    plain = measure in ("accuracy", "error_rate", "mean_score")
    own = METRICS[measure].better_word if improves else METRICS[measure].worse_word
    word = ("better" if improves else "worse") if plain else own
    assert text.startswith(f"new is {word} than old: {'+' if estimate > 0 else '-'}")


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
            assert f" {loser} is best" not in text


def shown(measure: str, estimate: float, **more: object) -> Claim:
    return claim(measure, estimate, Verdict.VERIFIED, **more)


PAIR = ("old", "new")
ONLY = "There is one model or prompt: nothing is compared."
TEN = "+10.0 points (95% CI +5.0 to +15.0)"


@pytest.mark.parametrize(
    ("claims", "conditions", "headline"),
    [
        (
            [
                shown("accuracy", 0.1),
                shown("mean_severity", -0.2, primary=False),
                shown("ece", -0.1, primary=False, values=(None, None)),
                shown("money", -0.1, primary=False),
                shown("tokens", -0.1, primary=False),
            ],
            PAIR,
            (
                f"new is better than old: {TEN}. Other gains: less severe over all answers, better calibrated, "
                "cheaper and 1 more."
            ),
        ),
        ([shown("money", -0.1, values=(2.0, 1.8))], PAIR, "new is cheaper than old: -10.0% (95% CI -15.0 to -5.0)."),
        (
            [
                dataclasses.replace(
                    claim("accuracy", 0.0, Verdict.UNDECIDED, reason="ids differ"),
                    verdict=Verdict.BLOCKED,
                    blocked_by="ids",
                    estimate=None,
                    interval=None,
                )
            ],
            PAIR,
            "Can't compare new with old: ids differ.",
        ),
        ([], PAIR, "Can't compare new with old: there is nothing to compare them by."),
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
                "Inconclusive: the mean severity of all answers of new is 0.10 higher than that of old "
                "(95% CI -0.10 to +0.30) on a scale of 0 to 4."
            ),
        ),
        (
            [claim("accuracy", 0.1, Verdict.UNDECIDED, conditions=p) for p in (("a", "b"), ("b", "c"))],
            ("a", "b", "c"),
            "Inconclusive: on accuracy we can't tell the 3 apart.",
        ),
        (
            [claim("accuracy", 0.1, Verdict.UNDECIDED, conditions=("a", "b"))],
            ("a", "b", "c"),
            "Inconclusive: on accuracy we can't tell the 2 apart. Can't compare c.",
        ),
        (
            [shown("accuracy", 0.1, conditions=p) for p in (("a", "b"), ("b", "c"), ("c", "a"))],
            ("a", "b", "c"),
            "On accuracy there is no best one: each is worse than some other.",
        ),
        (
            [
                shown("accuracy", -0.1, conditions=("a", "b")),
                shown("accuracy", -0.1, conditions=("b", "c")),
                claim("accuracy", 0.1, Verdict.UNDECIDED, conditions=("a", "c")),
                shown("mean_severity", -0.5, conditions=("a", "b")),
            ],
            ("a", "b", "c"),
            "On accuracy, a is best: it beats 1 of 2 others.",
        ),
        (
            [
                shown("accuracy", 0.1, conditions=("plain", "examples")),
                shown("accuracy", 0.1, conditions=("plain", "expert")),
                claim("accuracy", 0.0, Verdict.UNDECIDED, conditions=("examples", "expert")),
            ],
            ("plain", "examples", "expert"),
            "On accuracy, examples and expert both beat plain. We can't tell them apart.",
        ),
        ([], ("m",), ONLY),
    ],
)
def test_answers_word_for_word(claims: list[Claim], conditions: tuple[str, ...], headline: str) -> None:
    assert answer(claims, conditions=conditions) == headline


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


def test_where_a_difference_stands_from_worse_to_better_by_hand() -> None:
    assert rail(0.1, -0.1, 0.2, better="higher") == pytest.approx((0.25, 0.75, 1.0))
    assert rail(0.1, -0.1, 0.2, better="lower") == pytest.approx((0.0, 0.25, 0.75))
    assert rail(0.1, -math.inf, math.inf, better=None) == (0.0, 1.0, 1.0)
    assert rail(0.0, 0.0, 0.0, better="higher") == (0.5, 0.5, 0.5)


def test_a_difference_of_amounts_is_told_in_per_cent_by_hand() -> None:
    half_more = claim_words(claim("money", 0.5, Verdict.VERIFIED, values=(2.0, 3.0)))
    assert (half_more.amount(0.5), half_more.suffix) == ("50.0", "%")
    assert claim_words(claim("tokens", 9.0, Verdict.UNDECIDED, values=())).suffix == "%"
    alone = dataclasses.replace(claim("money", 0.5, Verdict.VERIFIED, values=(0.5,)), conditions=("new",))
    assert claim_words(alone) == METRICS["money"]
    for measure in ("accuracy", "mean_score"):
        assert claim_words(claim(measure, 0.5, Verdict.VERIFIED, values=(0.5, 0.75))) == measure_words(measure)


def test_a_measure_that_only_an_unchecked_judge_gave_is_never_a_fact() -> None:
    """The main measure was graded by rules, so the headline said what a judge thought as if it were known."""
    names = ("a", "b", "c")
    pairs = (("a", "b"), ("b", "c"), ("a", "c"))
    open_pairs = [claim("accuracy", 0.0, Verdict.UNDECIDED, conditions=p) for p in pairs]
    judge = "graded by judge-x"
    lower = [
        shown("mean_severity", -0.3, conditions=p, primary=False, values=(0.6, 0.3), judged=judge)
        for p in (("a", "c"), ("b", "c"))
    ]
    marked = "on mean severity of all answers (unchecked judge)."
    assert first_lines([*open_pairs, *lower], conditions=names).others == f"c is best {marked}"
    against_a = [open_pairs[0], open_pairs[2], lower[0]]
    assert first_lines(against_a, conditions=names, control="a").others == f"c is better {marked}"
    two = [claim("accuracy", 0.01, Verdict.UNDECIDED), shown("mean_severity", 0.4, primary=False, judged=judge)]
    loss = "Other losses: more severe over all answers"
    assert answer(two, conditions=("old", "new")).endswith(f"{loss} (unchecked judge).")
    all_judged = [dataclasses.replace(c, judged=judge) for c in two]
    said_once = answer(all_judged, conditions=("old", "new"))
    assert said_once.startswith("By the judge's grades, inconclusive")
    assert said_once.endswith(f"{loss}. Graded by judge-x.")


@pytest.mark.parametrize(("measure", "best"), [("accuracy", ("b", "c")), ("error_rate", ("a", "b"))])
def test_the_best_pair_is_the_one_whose_sizes_are_said_by_hand(measure: str, best: tuple[str, str]) -> None:
    """Values of 0.1, 0.2 and 0.9: less is better of an error rate."""
    values = {"a": 0.1, "b": 0.2, "c": 0.9}
    pairs = [("a", "b"), ("a", "c"), ("b", "c")]
    claims = [
        claim(
            measure, 0.0, Verdict.UNDECIDED, conditions=pair, values=tuple(values[n] for n in pair), units=100,
            min_detectable_difference=0.2, sizes=(SizeStep(difference=0.05, units=1000),),
        )
        for pair in pairs
    ]  # fmt: skip
    assert first_lines(claims, conditions=("a", "b", "c")).sizes.startswith(f"Between {best[0]} and {best[1]}, you can")
