"""The sentences of the label page and of the list of runs, word by word."""

import pytest

from richter.words._run_list_texts import describe_main_measure, document_side


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
