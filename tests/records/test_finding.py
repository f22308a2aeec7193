import json
import math

import pytest

from richter.records import Finding, Gate, Interval, Verdict, jsonable


def test_blocked_names_its_gate() -> None:
    with pytest.raises(ValueError, match="blocked_by"):
        Finding(claim="c", verdict=Verdict.BLOCKED, sentence="s")


def test_to_dict_is_strict_json() -> None:
    finding = Finding(
        claim="new is better than old",
        verdict=Verdict.UNDECIDED,
        sentence="Too little data.",
        estimate=math.nan,
        interval=Interval(low=-math.inf, high=1.0, level=0.95, method="x"),
        gates=(Gate(name="G1", rule="r", passed=True, observed={"delta": 0.1}),),
    )
    row = json.loads(json.dumps(finding.to_dict(), allow_nan=False))
    assert row["estimate"] is None
    assert row["interval"]["low"] is None
    assert row["verdict"] == "undecided"
    assert row["gates"]["G1"]["observed"] == {"delta": 0.1}


def test_unknown_values_are_refused() -> None:
    with pytest.raises(TypeError, match="object"):
        jsonable(object())
