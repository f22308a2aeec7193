"""The sentences of the label page and of the list of runs, word by word."""

import pytest

from richter.words._run_list_texts import document_side


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
