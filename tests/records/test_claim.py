import json
import math
import pickle

import pytest

from richter.records import Claim, Gate, Interval, Note, Verdict, of_kind, plain, refusals


def test_blocked_names_its_gate() -> None:
    with pytest.raises(ValueError, match="blocked_by"):
        Claim(measure="b", conditions=("a", "b"), verdict=Verdict.BLOCKED, sentence="s")


def test_to_dict_is_strict_json() -> None:
    claim = Claim(
        measure="accuracy",
        conditions=("old", "new"),
        verdict=Verdict.UNDECIDED,
        sentence="Too little data.",
        estimate=math.nan,
        interval=Interval(low=-math.inf, high=1.0, level=0.95, method="x"),
        gates=(Gate(name="G1", rule="r", passed=True, observed={"delta": 0.1}),),
    )
    row = json.loads(json.dumps(claim.to_dict(), allow_nan=False))
    assert row["estimate"] is None
    assert row["interval"]["low"] is None
    assert row["verdict"] == "undecided"
    assert row["gates"][0]["observed"] == {"delta": 0.1}


def test_unknown_values_are_refused() -> None:
    with pytest.raises(TypeError, match="object"):
        plain(object())


def test_a_refusal_names_its_conditions_whatever_they_are_called() -> None:
    reason = "in another order than the other 6"
    assert refusals([(("in",), reason), (("b", "c"), reason)]) == [f"in, b and c: {reason}"]
    assert refusals([((name,), reason) for name in "abcdef"]) == [f"a, b, c, d and 2 more: {reason}"]


def test_refusals_that_differ_in_numbers_are_one_line_by_hand() -> None:
    shared = [
        (("a", "x"), "only 9 of 1,200 shared"),
        (("x", "b"), "only 12 of 980 shared"),
        (("c", "d"), "other order"),
    ]
    assert refusals(shared) == ["x and each of a, b: only 9 to 12 of 980 to 1,200 shared", "c and d: other order"]
    chain = [(("a", "b"), "only 1 shared"), (("b", "c"), "only 1 shared"), (("c", "d"), "only 1 shared")]
    assert refusals(chain) == ["a and b, b and c, c and d: only 1 shared"]


def test_a_note_is_its_text_and_keeps_its_kind() -> None:
    note = Note("The score runs from 0 to 5.", "scale")
    assert plain([note]) == ["The score runs from 0 to 5."]
    assert type(plain(note)) is str
    assert of_kind(["about the scale", pickle.loads(pickle.dumps(note))], "scale") == [note]


def test_what_renderers_ask_of_a_claim_is_not_written() -> None:
    claim = Claim(measure="accuracy", conditions=("a",), verdict=Verdict.UNDECIDED, sentence="", judged="x", apart=True)
    assert not {"judged", "apart"} & plain(claim).keys()
