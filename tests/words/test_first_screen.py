"""The first screen answers from the claims and says nothing beyond them; what it shows agrees with itself."""

import dataclasses
import html
import re
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from report.simulated_report import document
from richter.claims import METRICS
from richter.records import Claim, Hypothesis, Interval, Verdict, plain
from richter.report._claim_list import claim_rows, pair_matrix
from richter.report._first_screen import first_screen
from richter.report._markdown import interval_bar
from richter.report._measure_table import leaders_on, measure_table
from richter.words import first_lines, side


def without_marks(text: Any) -> str:
    return html.unescape(re.sub(r"<[^>]+>", "", str(text)))


def lines_of(document: dict[str, Any]) -> dict[str, str]:
    found = first_screen(document)
    words = {term: without_marks(text) for term, text in found["lines"]}
    return {"Which is better": without_marks(found["answer"]), **words, "Next": found["step"]}


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


def test_a_board_of_thousands_of_claims_is_listed_in_part_and_says_so() -> None:
    whole = of(*(claim("accuracy", Verdict.VERIFIED, 0.1) for _ in range(1234)))
    (group,) = first_screen(whole)["groups"]
    assert len(group["shown"]) + len(group["more"]) == 100
    assert group["size"] == 1234
    assert group["more_words"].startswith("1,228 more, 94 of them here; JSON has all")


measured = st.tuples(
    st.sampled_from(["accuracy", "error_rate", "mean_severity", "ece", "latency"]),
    st.sampled_from([Verdict.VERIFIED, Verdict.REFUTED, Verdict.UNDECIDED, Verdict.EQUIVALENT, Verdict.BLOCKED]),
    st.floats(0.02, 0.4),
    st.booleans(),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(measured, min_size=1, max_size=5))
def test_sentence_colour_side_and_sign_agree(drawn: list[tuple[str, Verdict, float, bool]]) -> None:
    """In any results a claim on the worse side has its bar left of zero, in page and comment; the answer
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
    words = lines_of(whole).get("By how much", "").lower()
    for one, row in zip(claims, rows, strict=True):
        same = [r for c, r in zip(claims, rows, strict=True) if c.measure == one.measure]
        shown = [r for r in rows if r["side"] in ("better", "worse")]
        if shown and row["side"] in ("open", "alike") and not any(r in shown for r in same):
            assert METRICS[one.measure].noun not in words


def test_who_leads_on_a_measure_is_none_that_another_beats_by_hand() -> None:
    def claim(first: str, second: str, side: str, measure: str = "accuracy") -> dict:
        return {"conditions": [first, second], "side": side, "measure": measure}

    claims = [claim("a", "b", "worse"), claim("b", "c", "worse"), claim("a", "d", "open"), claim("d", "c", "worse")]
    whole = {"claims": [*claims, claim("a", "b", "better", "mean_score"), claim("a", "b", "open", "ece")]}
    assert leaders_on(whole, "accuracy") == {"a", "d"}  # b is beaten by a, c by b and d
    assert leaders_on(whole, "mean_score") == {"b"}
    assert leaders_on(whole, "ece") == leaders_on(whole, "latency") == set()


def test_scores_are_read_on_their_own_scale_by_hand() -> None:
    """A mean of 4 on a scale of 1 to 5 stands at three quarters of its rail, and the scale is said."""
    span = {"low": 3.0, "high": 5.0, "level": 0.95, "method": "by hand"}
    scored = {"estimate": 4.0, "interval": span, "n": 12, "what": "mean score", "scale": [1.0, 5.0]}
    shown = claim("mean_score", Verdict.VERIFIED, 0.5, 0.2, primary=True)
    conditions = [{"name": n, "scored": scored, "measures": {"mean_score": scored}} for n in ("old", "new")]
    table = first_screen({**of(shown), "conditions": conditions})["table"]
    assert table["rows"][0]["cells"][0]["bar"] == {"low": 50.0, "high": 100.0, "at": 75.0, "zero": None}
    assert table["columns"] == [{"title": "Mean score (1 to 5)", "rail": ""}]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(["better", "worse", "alike", "open"]), min_size=6, max_size=6), st.booleans())
def test_every_mark_is_a_claim(sides: list[str], has_control: bool) -> None:
    """In any results a cell is marked better only where some claim shows it, and on a board where none shows worse."""
    names, opposite = ("a", "b", "c", "d"), {"better": "worse", "worse": "better"}
    pairs = [(x, y) for k, x in enumerate(names) for y in names[k + 1 :]]
    claims = [
        {"measure": "accuracy", "conditions": list(pair), "side": side, "primary": True}
        for pair, side in zip(pairs, sides, strict=True)
    ]
    seen = {(pair[1], pair[0]): side for pair, side in zip(pairs, sides, strict=True)}
    seen |= {(first, second): opposite.get(side, side) for (second, first), side in seen.items()}
    conditions = [{"name": n, "measures": {"accuracy": {"estimate": 0.5, "n": 9}}} for n in names]
    options = {"comparison": {"options": {"control": "a"}, "conditions": {n: {} for n in names}}}
    whole = {"conditions": conditions, "claims": claims, "sections": {"floors": options} if has_control else {}}
    for row in measure_table(whole)["rows"]:
        who, mark, place = row["name"], row["cells"][0]["mark"], row["cells"][0]["claim"]
        shown = {side for (one, other), side in seen.items() if one == who and (not has_control or other == "a")}
        assert (mark == "better") == ("better" in shown and "worse" not in shown)
        assert (mark == "worse") == (has_control and "worse" in shown)
        assert who in claims[place - 1]["conditions"]


def test_a_matrix_says_the_same_of_a_pair_from_both_sides_by_hand() -> None:
    pairs = [(("a", "b"), 0.10), (("a", "c"), -0.07), (("b", "c"), -0.20)]
    shown = claim("accuracy", Verdict.VERIFIED, 0.1, 0.01, primary=True)
    claims = [
        dataclasses.replace(
            shown, conditions=pair, estimate=d, interval=Interval(low=d - 0.01, high=d + 0.01, level=0.95, method="x")
        )
        for pair, d in pairs
    ]
    matrix = pair_matrix(of(*claims, conditions=("a", "b", "c")))
    assert matrix is not None
    cells = {(row, matrix["names"][k]): cell for row, own in matrix["rows"] for k, cell in enumerate(own) if cell}
    assert (cells["b", "a"]["sign"], cells["b", "a"]["amount"]) == ("▲", "+10.0")
    assert (cells["a", "b"]["sign"], cells["a", "b"]["amount"]) == ("▼", "-10.0")
    assert cells["c", "b"]["claim"] == cells["b", "c"]["claim"] == 3
    assert ("a", "a") not in cells
