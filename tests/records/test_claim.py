import json
import math
import pickle

import pytest

from richter.records import Claim, Gate, Interval, Note, Verdict, of_kind, plain


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


def test_a_note_is_its_text_and_keeps_its_kind() -> None:
    note = Note("The score runs from 0 to 5.", "scale")
    assert plain([note]) == ["The score runs from 0 to 5."]
    assert type(plain(note)) is str
    assert of_kind(["about the scale", pickle.loads(pickle.dumps(note))], "scale") == [note]
