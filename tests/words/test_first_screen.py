"""The first screen answers from the claims and says nothing beyond them; what it shows agrees with itself."""

import dataclasses
import html
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from report.simulated_report import document
from richter.claims import METRICS
from richter.cli._screen import BAR, SIGNS
from richter.cli._screen import _bar as terminal_bar
from richter.records import Claim, Hypothesis, Interval, Verdict, plain
from richter.report._first_screen import claim_rows, first_screen
from richter.report._markdown import interval_bar
from richter.words import first_lines, side

QUESTIONS = (
    "What changed", "By how much", "Who graded", "How often severe", "Does it know when it is wrong",
    "Inconclusive", "Not measured", "What next",
)  # fmt: skip


def lines_of(document: dict[str, Any]) -> dict[str, str]:
    found = first_screen(document)
    words = {term: html.unescape(re.sub(r"<[^>]+>", "", str(text))) for term, text in found["six"]}
    return {"Which is better": found["answer"], **words}


def claim(measure: str, verdict: Verdict, estimate: float, half: float = 0.01, **more: Any) -> Claim:
    metric = METRICS[measure]
    return Claim(
        measure=measure,
        conditions=("old", "new"),
        verdict=verdict,
        sentence=f"{measure}.",
        estimate=estimate,
        interval=Interval(low=estimate - half, high=estimate + half, level=0.95, method="by hand"),
        hypothesis=Hypothesis(relation="above" if estimate > 0 else "below", value=0.0),
        better=metric.better,
        blocked_by="G1" if verdict is Verdict.BLOCKED else None,
        n=100,
        **more,
    )


def of(*claims: Claim, conditions: tuple[str, ...] = ("old", "new"), **more: Any) -> dict[str, Any]:
    whole = document(conditions)
    first = first_lines(claims, conditions=conditions)
    rows = [{**plain(c), "section": "floors", "side": side(c)} for c in claims]
    return {**whole, "claims": rows, "answer": first.headline, "first_lines": plain(first), **more}


def test_what_was_shown_is_said_with_its_interval_and_level_by_hand() -> None:
    words = lines_of(of(claim("accuracy", Verdict.VERIFIED, -0.07, 0.03, primary=True)))
    assert words["Which is better"] == "new is worse than old: -7.0 points (95% CI -10.0 to -4.0)."
    assert words["By how much"] == "Accuracy -7.0 points (95% CI -10.0 to -4.0)."
    assert "Inconclusive" not in words


def test_what_was_not_shown_is_named_once_by_hand() -> None:
    waiting = claim("accuracy", Verdict.UNDECIDED, 0.01, 0.03, units=100, min_detectable_difference=0.043)
    words = lines_of(of(waiting))
    assert words["By how much"] == "Accuracy +1.0 points (95% CI -2.0 to +4.0)."
    assert "Inconclusive" not in words  # the headline says it
    other = dataclasses.replace(waiting, measure="ece", primary=False)
    assert lines_of(of(waiting, other))["Inconclusive"] == "Calibration error."


def test_of_many_the_best_is_held_against_the_nearest_by_hand() -> None:
    """c beats both others; a is nearer to it. A claim on (c, b) is turned round."""
    first = claim("accuracy", Verdict.VERIFIED, 0.05, 0.01, primary=True)
    pairs = [(("a", "b"), -0.10), (("a", "c"), 0.07), (("c", "b"), -0.20)]
    claims = [
        dataclasses.replace(
            first,
            conditions=pair,
            estimate=d,
            interval=Interval(low=d - 0.02, high=d + 0.02, level=0.95, method="by hand"),
        )
        for pair, d in pairs
    ]
    words = lines_of(of(*claims, conditions=("a", "b", "c")))
    assert words["Which is better"] == "On accuracy, c is best: it beats a and b."
    assert words["By how much"] == "c - a: +7.0 points (95% CI +5.0 to +9.0), its smallest lead."


KINDS = {
    "two": document(),
    "one": {**document(("a",)), "claims": []},
    "many": document(tuple(f"c{k}" for k in range(9))),
    "bare": {"run": {"name": "x", "state": "empty"}},
    "old": {**document(), "version": 1, "answer": None, "conditions": [{"name": "a"}], "claims": [{"sentence": "x"}]},
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_screen_answers_six_questions(kind: str) -> None:
    """In their order, what has no answer left out; severe and known hold the document's own figures."""
    words = lines_of(KINDS[kind])
    asked = [question for question in ("Which is better", *QUESTIONS) if question in words]
    assert list(words) == asked
    assert {"Which is better", "By how much", "What next"} <= set(asked)
    assert all(len(text) > 5 for text in words.values()), words
    for row in (KINDS[kind].get("conditions") or [])[:3]:
        if row.get("how_badly"):
            assert "10.0%" in words["How often severe"]
        if row.get("knows"):
            assert "by about 11 points" in words["Does it know when it is wrong"]
    if kind in ("two", "many"):
        assert "1,900" in words["What next"]


def test_a_board_of_thousands_of_claims_is_drawn_in_part_and_says_so() -> None:
    whole = of(*(claim("accuracy", Verdict.VERIFIED, 0.1) for _ in range(1234)))
    (group,) = first_screen(whole)["groups"]
    assert len(group["shown"]) + len(group["more"]) == 100
    assert group["more_words"].startswith("1,231 more, 97 of them here; JSON has all")
    assert first_screen(whole)["tally"] == "Of 1,234 claims: 1,234 better."


measured = st.tuples(
    st.sampled_from(["accuracy", "error_rate", "mean_severity", "ece", "latency"]),
    st.sampled_from([Verdict.VERIFIED, Verdict.REFUTED, Verdict.UNDECIDED, Verdict.EQUIVALENT, Verdict.BLOCKED]),
    st.floats(0.02, 0.4),
    st.booleans(),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(measured, min_size=1, max_size=5))
def test_sentence_colour_side_and_sign_agree(drawn: list[tuple[str, Verdict, float, bool]]) -> None:
    """In any results a claim on the worse side has its bar left of zero, in page, terminal and comment; the answer
    goes no further than the claims."""
    claims = [claim(m, v, -size if negative else size) for m, v, size, negative in drawn]
    whole = of(*claims)
    rows = claim_rows(whole["claims"])
    for one, row in zip(claims, rows, strict=True):
        estimate = one.estimate or 0.0
        good = (estimate > 0) == (METRICS[one.measure].better == "higher")
        bar = row["bar"]
        assert (bar["at"] > 50) is good
        assert bar["low"] <= bar["at"] <= bar["high"]
        if one.verdict in (Verdict.VERIFIED, Verdict.REFUTED):
            assert row["side"] == ("better" if good else "worse")
            assert (bar["low"] > 50) if good else (bar["high"] < 50)
            drawn_left = [k for k, cell in enumerate(terminal_bar(plain(one), False)) if cell in SIGNS[False][:4]]
            assert (min(drawn_left) >= BAR // 2) if good else (max(drawn_left) <= BAR // 2)
            comment = interval_bar(one)
            assert (comment.index("●") >= len(comment) // 2) is good
        else:
            assert row["side"] in ("open", "alike")
    sides = {row["side"] for row in rows}
    tone = first_screen(whole)["tone"]
    assert tone == (
        "" if {"better", "worse"} <= sides else next((s for s in ("better", "worse", "alike") if s in sides), "open")
    )
    text = whole["answer"]
    assert text.startswith("new is worse than old:") <= ("worse" in sides)
    assert text.startswith("new is better than old:") <= ("better" in sides)
    words = lines_of(whole)["By how much"].lower()
    for one, row in zip(claims, rows, strict=True):
        same = [r for c, r in zip(claims, rows, strict=True) if c.measure == one.measure]
        shown = [r for r in rows if r["side"] in ("better", "worse")]
        if shown and row["side"] in ("open", "alike") and not any(r in shown for r in same):
            assert METRICS[one.measure].noun not in words


def test_groups_follow_sides_and_nothing_is_lost() -> None:
    whole = document(tuple(f"c{k}" for k in range(6)))
    found = first_screen(whole)
    shown = [c["number"] for g in found["groups"] for c in (*g["shown"], *g["more"])]
    assert sorted(shown) == list(range(1, len(whole["claims"]) + 1))
    held = {"differ": ("worse", "better")}  # all with all: nobody is the one who is better
    assert all(c["side"] in held.get(g["side"], (g["side"],)) for g in found["groups"] for c in g["shown"])
    assert "worse" not in {g["side"] for g in found["groups"]}


def test_a_board_is_listed_best_first_and_says_the_best_ones_severity_by_hand() -> None:
    whole = document(("a", "b", "c", "d"))
    wrong, severe = (0.4, 0.1, 0.3, 0.2), (0.01, 0.02, 0.03, 0.04)
    for condition, often, badly in zip(whole["conditions"], wrong, severe, strict=True):
        condition["how_often"] = {"estimate": often}
        condition["how_badly"] = {"estimate": badly}
    assert [row["name"] for row in first_screen(whole)["conditions"]] == ["b", "d", "c", "a"]
    assert lines_of(whole)["How often severe"] == (
        "From 1.0% (a) to 4.0% (d) of the answers; 2.0% (b). Severe means 3 or more on a scale of 0 (right) to 4 "
        "(dangerous or made up)."
    )


KNOWN = [  # estimate, low, high, sure, right, verdict of its claim (None: not tested), what is said
    (0.35, 0.20, 0.49, 0.56, 0.20, Verdict.VERIFIED, "c: over-confident by about 36 points"),
    (0.20, 0.10, 0.30, 0.50, 0.70, Verdict.VERIFIED, "c: under-confident by about 20 points"),
    (0.20, 0.10, 0.30, 0.70, 0.65, Verdict.VERIFIED, "c: off in both directions by about 20 points"),
    (0.35, 0.20, 0.49, 0.56, 0.20, None, "c: seems over-confident by about 36 points, not tested"),
    (0.09, 0.01, 0.16, 0.17, 0.08, Verdict.UNDECIDED, "c: inconclusive, off by anything up to 16 points"),
    (0.00, 0.00, 0.16, 0.17, 0.08, None, "c: inconclusive, off by anything up to 16 points"),
    (0.01, 0.00, 0.04, 0.61, 0.60, Verdict.UNDECIDED, "c: about right, off by at most 4 points"),
]


@pytest.mark.parametrize(("estimate", "low", "high", "sure", "right", "verdict", "text"), KNOWN)
def test_whether_it_knows_is_said_in_words_by_hand(
    estimate: float, low: float, high: float, sure: float, right: float, verdict: Verdict | None, text: str
) -> None:
    """Plainly where a claim was shown, with "seems" where it was measured and not tested; never a bare number."""
    span = {"low": low, "high": high, "level": 0.95, "method": "by hand"}
    found = {"estimate": estimate, "interval": span, "n": 60, "what": "x", "sure": sure, "right": right}
    told = {"measure": "ece", "conditions": ["c"], "verdict": verdict or "undecided", "interval": verdict and span}
    words = lines_of({"conditions": [{"name": "c", "knows": found}], "claims": [{**told, "side": "worse"}]})
    averages = f" ({100 * sure:.0f}% sure on average, right in {100 * right:.0f}%)."
    assert words["Does it know when it is wrong"] == text + averages


def test_draws_with_settings_of_their_own_speak_for_their_condition() -> None:
    """Whatever they are called: the figure names them."""
    span = {"low": 0.2, "high": 0.49, "level": 0.95, "method": "by hand"}
    found = {"estimate": 0.35, "interval": span, "n": 60, "what": "x", "sure": 0.56, "right": 0.2, "drawn": "c (t=1)"}
    own = {"measure": "draws", "conditions": ["c (t=1)"], "verdict": "verified", "interval": span, "side": "worse"}
    words = lines_of({"conditions": [{"name": "c", "knows": found}], "claims": [own]})
    assert words["Does it know when it is wrong"].startswith("c: over-confident by about 36 points")


def test_figures_that_people_corrected_say_by_how_many_labels() -> None:
    span = {"low": 0.1, "high": 0.3, "level": 0.95, "method": "by hand"}
    figure = {"estimate": 0.2, "interval": span, "n": 60, "what": "x", "graded": {"estimate": 0.1, "interval": None}}
    cells = [
        first_screen({"conditions": [{"name": "c", key: {**figure, **more}}], "claims": []})["conditions"][0]["cells"]
        for key, more in (("how_often", {"labels": 1}), ("how_badly", {"labels": 1200}), ("how_often", {}))
    ]
    assert [found[-1]["what"].split(", of ")[0] for found in cells] == [
        "corrected by human labels (1 label)",
        "severity 3 or more, corrected by human labels (1,200 labels)",
        "corrected by human labels",
    ]


def test_scores_are_read_on_their_own_scale_by_hand() -> None:
    """A mean of 4 on a scale of 1 to 5 stands at three quarters of its rail, and the scale is said."""
    span = {"low": 3.0, "high": 5.0, "level": 0.95, "method": "by hand"}
    scored = {"estimate": 4.0, "interval": span, "n": 12, "what": "mean score", "scale": [1.0, 5.0]}
    shown = claim("mean_score", Verdict.VERIFIED, 0.5, 0.2, primary=True)
    found = {**of(shown), "conditions": [{"name": n, "scored": scored} for n in ("old", "new")]}
    screen = first_screen(found)
    assert screen["conditions"][0]["cells"][0]["bar"] == {"low": 50.0, "high": 100.0, "at": 75.0, "zero": None}
    assert screen["columns"] == [{"title": "How well does it score?", "rail": "1 to 5"}]
    assert lines_of(found)["By how much"] == "Mean score +0.50 (95% CI +0.30 to +0.70) on a scale of 1 to 5."


def test_a_stricter_interval_says_why_by_hand() -> None:
    """98.8% alone puzzles: four claims that share one risk do not."""
    span = {"low": 0.01, "high": 0.05, "level": 0.9875, "method": "by hand"}
    row = {"measure": "accuracy", "conditions": ["a", "b"], "verdict": "verified", "estimate": 0.03, "interval": span}
    assert "98.8% CI, adjusted for 4 comparisons" in str(
        claim_rows([{**row, "family": {"method": "holm", "size": 4}}])[0]["numbers"]
    )
