"""Each outcome of a gate ends with one thing to do, and the terms of a screen are explained on it."""

import dataclasses

import pytest

from richter.records import Claim, Hypothesis, Interval, Reckoning, Verdict
from richter.words import NamedData, describe_gate_next

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
