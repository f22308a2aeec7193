"""The sentences of the label page and of the list of runs, word by word."""

import pytest

from helpers.plain_english import bare_intervals, faults
from richter.claims import METRICS
from richter.records import Interval
from richter.words._label_texts import ClaimStanding, describe_label_effect, describe_standing
from richter.words._run_list_texts import describe_main_measure, document_side

MOVED = (
    "Your last label moved the estimate from +12.0 to +10.0 points. The 95% CI was 34.0 points wide and is now 32.0."
)


def standing(estimate: float | None, low: float = 0.0, high: float = 0.0, **more: bool) -> ClaimStanding:
    interval = None if estimate is None else Interval(low=low, high=high, level=0.95, method="by hand")
    return ClaimStanding(
        sentence="new minus old: 3 labels", metric=METRICS["accuracy"], subject="new minus old", estimate=estimate,
        interval=interval, **more,
    )  # fmt: skip


def test_where_the_claim_stands() -> None:
    now = standing(0.173, -0.026, 0.327)
    assert describe_standing(now) == "Accuracy of new minus old: +17.3 points (95% CI -2.6 to +32.7)."
    decided = describe_standing(standing(0.2, 0.1, 0.3, is_decided=True))
    assert decided.endswith(" This decides the claim: it needs no more labels.")
    assert describe_standing(standing(None)) == "new minus old: 3 labels"
    assert not bare_intervals(decided)


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (None, standing(0.1, 0.0, 0.2), ""),
        (standing(None), standing(None), ""),
        (standing(None), standing(0.1, 0.0, 0.2), "Your last label gave the first estimate: +10.0 points."),
        (
            standing(0.12, -0.05, 0.29),
            standing(0.1, -0.06, 0.26),
            MOVED,
        ),
        (
            standing(0.1, -0.06, 0.26),
            standing(0.1, -0.06, 0.26),
            "Your last label left the estimate at +10.0 points. The 95% CI is 32.0 points wide, as before.",
        ),
    ],
)
def test_what_a_label_did(before: ClaimStanding | None, after: ClaimStanding, words: str) -> None:
    found = describe_label_effect(before, after)
    assert found == words
    assert not faults(found)


def figure(estimate: float, low: float, high: float, **more: object) -> dict:
    return {"estimate": estimate, "interval": {"low": low, "high": high, "level": 0.95}, **more}


def test_the_main_measure_of_a_run_by_hand() -> None:
    wrong = {"old": figure(0.65, 0.59, 0.7), "new": figure(0.51, 0.45, 0.57)}
    document = {"conditions": [{"name": n, "how_often": f} for n, f in wrong.items()]}
    measure, rows = describe_main_measure(document)
    assert measure == "accuracy (95% CI)"
    assert [r.words for r in rows] == [
        "new: 49.0% (95% CI 43.0% to 55.0%)",
        "old: 35.0% (95% CI 30.0% to 41.0%)",
    ]
    assert [(r.low, r.at, r.high) for r in rows] == [(0.43, 0.49, 0.55), (0.3, 0.35, 0.41)]
    cost = {"what": "cost in dollars, lower is better", "better": "lower", "scale": None}
    document = {"conditions": [{"name": n, "scored": figure(v, v, v, **cost)} for n, v in (("a", 4.0), ("b", 1.0))]}
    measure, rows = describe_main_measure(document)
    assert (measure, [r.name for r in rows], [r.at for r in rows]) == (
        "cost in dollars (95% CI)",
        ["b", "a"],
        [0.25, 1],
    )
    assert describe_main_measure({}) == ("", [])
    assert describe_main_measure({"conditions": [{"name": "a", "how_often": None}]}) == ("", [])


@pytest.mark.parametrize(
    ("sides", "n", "side"),
    [
        (["better"], 2, "better"),
        (["worse"], 2, "worse"),
        (["open"], 2, "open"),
        (["alike"], 2, "alike"),
        (["better", "worse"], 2, "differ"),
        (["better", "open", "open"], 3, "differ"),
        (["open", "alike", "open"], 3, "open"),
        (["alike", "alike", "alike"], 3, "alike"),
        ([], 1, ""),
    ],
)
def test_the_side_of_a_run_by_hand(sides: list[str], n: int, side: str) -> None:
    claims = [{"conditions": ["a", "b"], "side": s, "primary": True} for s in sides]
    assert document_side({"claims": claims, "conditions": [{}] * n}) == side
    blocked = [{**claim, "verdict": "blocked"} for claim in claims]
    assert document_side({"claims": blocked, "conditions": [{}] * n}) == ("blocked" if sides else "")
