"""The answer of a page: what it says is what its claims show, with the same side and sign."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from richter.claims import METRICS, answer, side
from richter.records import Claim, Hypothesis, Interval, Verdict


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
        "(1.000 against 0.600)."
    )
    assert answer(claims, conditions=("old", "new"), candidate="new", baseline="old").endswith("Do not ship new.")


def test_better_and_worse_are_both_said() -> None:
    claims = [claim("accuracy", 0.07, Verdict.VERIFIED), claim("money", 0.2, Verdict.VERIFIED, primary=False)]
    text = answer(claims, conditions=("old", "new"), candidate="new", baseline="old")
    assert "in some ways and worse in others: it is more accurate (67.0% against 60.0%), but dearer" in text
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
