"""The first screen answers from the claims and says nothing beyond them; what it shows agrees with itself."""

import dataclasses
import html
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from report.simulated_report import document, wrong_at
from richter.claims import METRICS
from richter.records import Claim, Family, Hypothesis, Interval, Verdict, plain
from richter.report import figures
from richter.report._claim_list import claim_rows, pair_matrix
from richter.report._first_screen import changes_of, first_screen
from richter.report._markdown import interval_bar
from richter.report._measure_table import leaders_on, measure_table
from richter.words import describe_raters, first_lines, side
from richter.words._page_texts import describe_severe_rates, describe_worst_group

QUESTIONS = ("By how much", "Reason to doubt", "Severe errors", "Confidence", "Inconclusive", "Most often wrong")


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


def test_what_was_shown_is_said_with_its_interval_and_level_by_hand() -> None:
    words = lines_of(of(claim("accuracy", Verdict.VERIFIED, -0.07, 0.03, primary=True)))
    assert words["Which is better"] == "new is worse than old: -7.0 points (95% CI -10.0 to -4.0)."
    assert "By how much" not in words  # the headline says it
    assert "Inconclusive" not in words


def test_what_was_not_shown_is_named_once_by_hand() -> None:
    waiting = claim("accuracy", Verdict.UNDECIDED, 0.01, 0.03, units=100, min_detectable_difference=0.043)
    words = lines_of(of(waiting))
    assert set(words) == {
        "Which is better",
        "Severe errors",
        "Questions",
        "Most often wrong",
        "Next",
    }  # the headline says it
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
    assert words["By how much"] == "c leads a, the closest one it beats: +7.0 points (95% CI +5.0 to +9.0)."
    together = [dataclasses.replace(c, family=Family(method="Holm", size=1200)) for c in claims]
    words = lines_of(of(*together, conditions=("a", "b", "c")))
    assert words["By how much"].endswith("+9.0). Intervals are adjusted for 1,200 comparisons.")


def board(estimates: dict[tuple[str, str], float], **more: Any) -> dict[str, Any]:
    """Three or more conditions with these differences shown, each at 99% for three comparisons."""
    first = claim("accuracy", Verdict.VERIFIED, 0.05, 0.01, primary=True)
    claims = [
        dataclasses.replace(
            first,
            conditions=pair,
            estimate=d,
            interval=Interval(low=d - 0.02, high=d + 0.02, level=0.99, method="by hand"),
            family=Family(method="Holm", size=3),
        )
        for pair, d in estimates.items()
    ]
    return of(*claims, conditions=tuple(sorted({n for pair in estimates for n in pair})), **more)


def test_of_more_than_two_leaders_only_the_best_is_held_against_the_nearest_by_hand() -> None:
    """b, c and d beat a alike: three lead, so one of them is enough; of two both are said."""
    three = {("a", "b"): 0.1, ("a", "c"): 0.1, ("a", "d"): 0.1}
    assert "Also" not in lines_of(board(three))["By how much"]
    two = {("a", "b"): 0.1, ("a", "c"): 0.1}
    assert "Also, c leads a" in lines_of(board(two))["By how much"]


def test_a_ranking_draws_every_condition_that_the_first_screen_names() -> None:
    """Of 20 the best one beats the last only: the tenth and the last are drawn, and its place is said."""
    names = tuple(f"c{k:02d}" for k in range(20))
    whole = document(names)
    for k, condition in enumerate(whole["conditions"]):
        condition |= wrong_at(0.1 + 0.02 * k)
    claims = [dict(c) for c in whole["claims"]]
    for c in claims:
        lead = set(c["conditions"]) == {"c00", "c19"}
        c |= {"measure": "accuracy", "primary": True, "side": "worse" if lead else "open"}
        c |= {"verdict": "refuted" if lead else "undecided"}
    drawn = figures({**whole, "claims": claims})["floors-ranking"]
    assert drawn.panels[0].y.names == (*names[:10], "c19")
    assert "c19 (place 20)" in drawn.reading
    assert drawn.panels[0].title == "Top 10 of 20 by accuracy"
    rows = [mark.row for mark in drawn.panels[0].marks if mark.kind == "dot"]
    assert rows == [*range(10), 19]


def test_ranks_stand_beside_the_values_with_their_ranges_by_hand() -> None:
    """c0 and c1 share ranks 1 and 2: a column of ranks stands right of the values."""
    names = ("c0", "c1", "c2")
    whole = document(names)
    for k, condition in enumerate(whole["conditions"]):
        condition |= wrong_at(0.1 + 0.01 * k)
    ranks = {"c0": [1, 2], "c1": [1, 2], "c2": [3, 3]}
    own = {"claims": [], "ranks": ranks, "level": 0.95, "groups": [["c0", "c1"], ["c2"]]}
    drawn = figures({**whole, "sections": {"floors": {"comparison": own}}})["floors-ranking"]
    labels = [m for m in drawn.panels[0].marks if m.kind == "label"]
    assert [m.text for m in labels if m.faint] == ["possible rank", "1 to 2", "1 to 2", "3"]
    assert [m.at[0][2] for m in labels if not m.faint] == [1, 1, 1]  # the values leave the last column to the ranks
    assert drawn.panels[0].columns == 2
    assert [row["rank"] for row in drawn.rows] == ["1 to 2", "1 to 2", "3"]
    unranked = figures({**whole, "sections": {"floors": {"comparison": {**own, "ranks": {}}}}})["floors-ranking"]
    assert unranked.panels[0].columns == 1
    assert all("rank" not in row for row in unranked.rows)


def test_tiers_that_overlap_in_many_columns_leave_the_ranks_alone_by_hand() -> None:
    """Of five models c0 to c4 three tiers overlap: two lines beside each other are drawn, three are not."""
    names = tuple(f"c{k}" for k in range(5))
    whole = document(names)
    for k, condition in enumerate(whole["conditions"]):
        condition |= wrong_at(0.1 + 0.01 * k)

    def tiers(*groups: str) -> int:
        own = {"claims": [], "level": 0.95, "groups": [[f"c{k}" for k in group] for group in groups]}
        drawn = figures({**whole, "sections": {"floors": {"comparison": own}}})["floors-ranking"]
        n = sum(mark.kind == "tier" for mark in drawn.panels[0].marks)
        assert ("A bar beside the names" in drawn.reading) == bool(n)
        return n

    assert tiers("012", "1234") == 2
    assert tiers("012", "123", "234") == 0


def test_wider_levels_are_explained_once_by_hand() -> None:
    wide = without_marks(first_screen(board({("a", "b"): 0.1, ("a", "c"): 0.2, ("b", "c"): 0.1}))["levels"])
    assert wide.startswith(
        "Bars show the 95% CI: the values that fit the data. In 95 of 100 such studies they hold the true value."
    )
    assert wide.endswith("share one risk of 5%, so intervals of differences are wider (99%).")
    usual = without_marks(first_screen(of(claim("accuracy", Verdict.VERIFIED, 0.1, primary=True)))["levels"])
    assert "Holm" not in usual
    other = dataclasses.replace(claim("mean_score", Verdict.VERIFIED, 0.1, primary=False))
    beside = of(claim("accuracy", Verdict.VERIFIED, 0.1, primary=True), other)
    beside["claims"][1]["interval"]["level"] = 0.975  # of a measure that the first screen of two has no interval of
    assert "Holm" not in without_marks(first_screen(beside)["levels"])


def test_the_next_step_opens_what_changed_only_where_all_is_decided() -> None:
    """As `next_steps` says it: decided, in a run that ended, by grades that are not an unchecked judge's."""
    shown = claim("accuracy", Verdict.VERIFIED, 0.1, primary=True)
    assert first_screen(of(shown))["is_settled"]
    assert not first_screen(of(dataclasses.replace(shown, verdict=Verdict.UNDECIDED)))["is_settled"]
    assert not first_screen(of(shown, run={"name": "x", "state": "in progress"}))["is_settled"]
    judged = of(shown)
    judged["claims"][0]["basis"] = "judge, unchecked"
    assert not first_screen(judged)["is_settled"]


def test_who_graded_is_said_also_of_an_unchecked_judge() -> None:
    whole = of(claim("accuracy", Verdict.VERIFIED, 0.1, primary=True))
    basis = describe_raters("your file", 520, judges=("j",), checked=0, is_human=False)
    assert basis == "grades by j, from your file (520 answers); no human labels"
    assert describe_raters("judges", 20, judges=("j", "k"), checked=3, is_human=False) == (
        "graded by j, k (20 answers); 3 human labels"
    )
    whole |= {"signature": {"basis": basis}}
    assert "grades by j, from your file (520 answers), not checked by people" in first_screen(whole)["facts"]


KINDS = {
    "two": document(),
    "one": {**document(("a",)), "claims": []},
    "many": document(tuple(f"c{k}" for k in range(9))),
    "bare": {"run": {"name": "x", "state": "empty"}},
    "spare": {**document(), "answer": None, "conditions": [{"name": "a"}], "claims": [{"sentence": "x"}]},
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_screen_answers_in_one_order(kind: str) -> None:
    """In their order, what has no answer left out; of one condition its own figures are there."""
    words = lines_of(KINDS[kind])
    asked = [question for question in ("Which is better", *QUESTIONS, "Next") if question in words]
    assert list(words) == asked
    assert all(len(text) > 5 for text in words.values()), words
    if kind == "one":
        assert "10.0%" in words["Severe errors"]
        assert "by about 11 points" in words["Confidence"]
    if kind in ("two", "many"):
        assert "1,900" in words["Next"]


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


def test_groups_follow_sides_and_nothing_is_lost() -> None:
    whole = document(tuple(f"c{k}" for k in range(6)))
    found = first_screen(whole)
    shown = [c["number"] for g in found["groups"] for c in (*g["shown"], *g["more"])]
    assert sorted(shown) == list(range(1, len(whole["claims"]) + 1))
    held = {"differ": ("worse", "better")}
    assert all(c["side"] in held.get(g["side"], (g["side"],)) for g in found["groups"] for c in g["shown"])


def test_a_board_is_listed_best_first_and_severity_names_both_ends_by_hand() -> None:
    whole = document(("a", "b", "c", "d"))
    wrong, severe = (0.4, 0.1, 0.3, 0.2), (0.01, 0.02, 0.03, 0.04)
    for condition, often, badly in zip(whole["conditions"], wrong, severe, strict=True):
        condition["how_often"] = {"estimate": often}
        condition["how_badly"] = {"estimate": badly}
    assert [row["name"] for row in first_screen(whole)["table"]["rows"]] == ["b", "d", "c", "a"]
    assert describe_severe_rates(whole["conditions"]) == (
        "1.0% for a; 4.0% for d. Severe means 3 or more on a scale of 0 (right) to 4 (dangerous or made up)."
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
    averages = f" ({100 * sure:.0f}% sure on average, right in {100 * right:.0f}%)"
    error = f", calibration error {100 * estimate:.1f} points (95% CI {100 * low:.1f} to {100 * high:.1f})"
    assert words["Confidence"] == f"{text}{averages}{error if ' by about ' in text else ''}."


def test_who_leads_on_a_measure_is_none_that_another_beats_by_hand() -> None:
    def claim(first: str, second: str, side: str, measure: str = "accuracy") -> dict:
        return {"conditions": [first, second], "side": side, "measure": measure}

    claims = [claim("a", "b", "worse"), claim("b", "c", "worse"), claim("a", "d", "open"), claim("d", "c", "worse")]
    whole = {"claims": [*claims, claim("a", "b", "better", "mean_score"), claim("a", "b", "open", "ece")]}
    assert leaders_on(whole, "accuracy") == {"a", "d"}  # b is beaten by a, c by b and d
    assert leaders_on(whole, "mean_score") == {"b"}
    assert leaders_on(whole, "ece") == leaders_on(whole, "latency") == set()


def test_draws_with_settings_of_their_own_speak_for_their_condition() -> None:
    """Whatever they are called: the figure names them."""
    span = {"low": 0.2, "high": 0.49, "level": 0.95, "method": "by hand"}
    found = {"estimate": 0.35, "interval": span, "n": 60, "what": "x", "sure": 0.56, "right": 0.2, "drawn": "c (t=1)"}
    own = {"measure": "draws", "conditions": ["c (t=1)"], "verdict": "verified", "interval": span, "side": "worse"}
    words = lines_of({"conditions": [{"name": "c", "knows": found}], "claims": [own]})
    assert words["Confidence"].startswith("c: over-confident by about 36 points")


def test_figures_that_people_corrected_say_by_how_many_labels() -> None:
    span = {"low": 0.1, "high": 0.3, "level": 0.95, "method": "by hand"}
    figure = {"estimate": 0.2, "interval": span, "n": 60, "what": "x", "graded": {"estimate": 0.1, "interval": None}}
    facts = [
        measure_table({"conditions": [{"name": "c", "measures": {"accuracy": {**figure, **more}}}]})["rows"][0]["cells"]
        for more in ({"labels": 1}, {"labels": 1200}, {})
    ]
    assert [cell["facts"] for (cell,) in facts] == [
        "corrected by human labels (1 label), of 60 questions",
        "corrected by human labels (1,200 labels), of 60 questions",
        "corrected by human labels, of 60 questions",
    ]


def test_scores_are_read_on_their_own_scale_by_hand() -> None:
    """A mean of 4 on a scale of 1 to 5 stands at three quarters of its rail, and the scale is said."""
    span = {"low": 3.0, "high": 5.0, "level": 0.95, "method": "by hand"}
    scored = {"estimate": 4.0, "interval": span, "n": 12, "what": "mean score", "scale": [1.0, 5.0]}
    shown = claim("mean_score", Verdict.VERIFIED, 0.5, 0.2, primary=True)
    conditions = [{"name": n, "scored": scored, "measures": {"mean_score": scored}} for n in ("old", "new")]
    table = first_screen({**of(shown), "conditions": conditions})["table"]
    assert table["rows"][0]["cells"][0]["bar"] == {"low": 50.0, "high": 100.0, "at": 75.0, "zero": None}
    assert table["columns"] == [{"title": "Mean score (1 to 5)", "rail": ""}]


def test_a_cell_is_marked_only_where_a_claim_shows_it_by_hand() -> None:
    """b beats a, c is inconclusive with both: on a board b leads; against a control each is held to it alone."""
    span = {"low": 0.3, "high": 0.5, "level": 0.95, "method": "by hand"}
    conditions = [
        {"name": n, "measures": {"accuracy": {"estimate": value, "interval": span, "n": 9}}}
        for n, value in (("a", 0.3), ("b", 0.5), ("c", 0.4))
    ]
    pairs = [(("a", "b"), "better"), (("a", "c"), "open"), (("b", "c"), "open")]
    claims = [{"measure": "accuracy", "conditions": list(pair), "side": side, "primary": True} for pair, side in pairs]
    table = measure_table({"conditions": conditions, "claims": claims})
    marks = {row["name"]: (row["cells"][0]["mark"], row["cells"][0]["claim"]) for row in table["rows"]}
    assert marks == {"a": ("", 1), "b": ("better", 1), "c": ("", 2)}
    floors = {"comparison": {"options": {"control": "b"}, "conditions": {"a": {}, "b": {}, "c": {}}}}
    table = measure_table({"conditions": conditions, "claims": claims, "sections": {"floors": floors}})
    assert {row["name"]: row["cells"][0]["mark"] for row in table["rows"]} == {"a": "worse", "b": "", "c": ""}
    assert [row["name"] for row in table["rows"] if row["is_baseline"]] == ["b"]


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


def test_a_stricter_interval_says_why_by_hand() -> None:
    """98.8% alone puzzles: four claims that share one risk do not."""
    span = {"low": 0.01, "high": 0.05, "level": 0.9875, "method": "by hand"}
    row = {"measure": "accuracy", "conditions": ["a", "b"], "verdict": "verified", "estimate": 0.03, "interval": span}
    assert "98.8% CI, adjusted for 4 comparisons" in str(
        claim_rows([{**row, "family": {"method": "holm", "size": 4}}])[0]["numbers"]
    )


def test_the_most_wrong_group_has_its_interval_and_its_ties_by_hand() -> None:
    """Two groups share 50%: the first is named and the other counted, so that none seems to stand out."""
    span = {"low": 0.31, "high": 0.69, "level": 0.95, "method": "Wilson"}
    rows = [
        {"group": "law", "kind": "domain", "error_rate": 0.5, "interval": span, "n": 24},
        {"group": "art", "kind": "domain", "error_rate": 0.5, "interval": span, "n": 24},
        {"group": "sport", "kind": "domain", "error_rate": 0.25, "interval": span, "n": 24},
    ]
    assert describe_worst_group({"where": rows}) == "law and 1 more (50.0%, 95% CI 31 to 69)"
    assert describe_worst_group({"where": rows[2:]}) == "sport (25.0%, 95% CI 31 to 69)"
    assert describe_worst_group({"where": []}) == ""


def test_counts_by_the_automatic_grades_say_so_where_labels_corrected_the_claim() -> None:
    """Fixed and broken questions are counted from grades; the headline beside them is corrected by labels."""
    pair = ["old", "new"]
    compared = {"pairs": [{"conditions": pair, "fixed": 3, "broken": 1, "n_paired": 100}]}
    for labels, text in ((40, "From old to new, before your labels:"), (0, "From old to new:")):
        whole = of(claim("accuracy", Verdict.VERIFIED, 0.07, 0.03, primary=True, labels=labels))
        whole["sections"] = {"floors": {"comparison": compared}}
        changes = changes_of(whole, pair)
        assert changes is not None
        assert re.sub("<[^>]+>", "", changes["lead"]) == text
