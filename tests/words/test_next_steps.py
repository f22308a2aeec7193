"""Each outcome of a gate ends with one thing to do, and the terms of a screen are explained on it."""

import dataclasses

import pytest

from richter.records import Claim, Hypothesis, Interval, Reckoning, Verdict
from richter.words import NamedData, describe_gate_next, describe_registration, describe_remedy, describe_terms, explain

REQUIREMENT = Claim(
    measure="accuracy",
    conditions=("old", "new"),
    verdict=Verdict.UNDECIDED,
    sentence="",
    estimate=-0.01,
    interval=Interval(low=-0.08, high=0.06, level=0.9, method="t"),
    hypothesis=Hypothesis(relation="above", value=-0.02),
    units=200,
    needed=4960,
)
WAY = Reckoning(estimate=0.0, interval=REQUIREMENT.interval)


def step(outcome: Verdict, claim: Claim = REQUIREMENT, **more: object) -> str:
    given = {"is_judge_only": False, "obstacles": (), "data": NamedData(again="a.csv b.csv"), "is_pair": True} | more
    return describe_gate_next([claim], outcome=outcome, **given)


@pytest.mark.parametrize(
    ("outcome", "claim", "more", "text"),
    [
        (Verdict.VERIFIED, {}, {}, "Next: you can merge. This gate asks for nothing else."),
        (Verdict.REFUTED, {}, {}, "Next: do not merge. See what broke: richter report a.csv b.csv -o page.html"),
        (Verdict.REFUTED, {}, {"data": NamedData(again="")}, "Next: do not merge. See what broke."),
        (Verdict.UNDECIDED, {}, {},
         "Next: do not merge yet. Add questions until there are about 5,000 questions: richter size a.csv b.csv"),
        (Verdict.UNDECIDED, {"missing": {"new": 30}, "without_missing": WAY}, {},
         ("Next: do not merge yet. Ask the 30 missing questions again. If right or wrong has no part in why: "
         "--missing at-random")),
        (Verdict.UNDECIDED, {"verdict": Verdict.UNTESTABLE, "estimate": None, "remedy": "Export them again."}, {},
         "Next: do not merge yet. Export them again."),
        (Verdict.UNDECIDED, {"verdict": Verdict.VERIFIED}, {"is_judge_only": True},
         ("Next: do not merge yet. Check the judge by hand: richter import a.csv b.csv -o run1; richter label run1 "
         "--rater me. Or accept its grades: --accept-judge")),
        (Verdict.UNDECIDED, {"verdict": Verdict.VERIFIED}, {"obstacles": ("The gate requires a locked plan.",)},
         "Next: do not merge yet. Settle what the first line says about the plan, then run the gate again."),
    ],
)  # fmt: skip
def test_a_gate_ends_with_one_step_by_hand(
    outcome: Verdict, claim: dict[str, object], more: dict[str, object], text: str
) -> None:
    assert step(outcome, dataclasses.replace(REQUIREMENT, **claim), **more) == text


def test_terms_of_a_screen_are_explained_where_they_stand() -> None:
    assert describe_terms("new got 3 right.") == ""
    assert describe_terms("+1.0 (95% CI -1.0 to +3.0)") == (
        "95% CI: in 95 of 100 such studies this range holds the true value. More: richter help TERM"
    )
    assert describe_terms("+1.0 (90% CI -1.0 to +3.0)").startswith("90% CI: in 90 of")
    assert "80% power: 8 of 10 such studies" in describe_terms("about 11 points (80% power)")
    assert "Fixed: wrong before" in describe_terms("new got 119 of 180 right, old 110: 20 fixed, 11 broken.")


def test_pre_registered_is_explained_where_it_stands() -> None:
    assert describe_registration(is_registered=False) == (
        "Not pre-registered: the rules were not fixed in a plan before the data were seen."
    )
    assert describe_registration(is_registered=True, vouched="plan 1a2b") == "Pre-registered: plan 1a2b."


@pytest.mark.parametrize(
    "word",
    ["p-value", "significance", "confidence interval", "power", "tier", "pre-registered", "margin", "non-inferiority",
     "CI", "one-sided", "kappa", "bootstrap", "ECE", "statistically significant", "standard error", "Brier score"],
)  # fmt: skip
def test_the_glossary_has_the_words_that_readers_asked_about(word: str) -> None:
    assert explain(word)


def test_a_remedy_that_ends_in_an_option_is_a_whole_command_by_hand() -> None:
    given = "Compare files with the same questions, or compare without pairs: --unpaired."
    said = describe_remedy(given, "a.csv b.csv")
    assert said == given[:-11].replace("C", "c", 1) + "richter compare a.csv b.csv --unpaired"
    assert describe_remedy("Let the same raters rate both.", "a.csv") == "let the same raters rate both"
