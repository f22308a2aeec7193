"""One metric on units: means over draws, and what is refused."""

import numpy as np
import pytest

from richter.claims import METRICS, Outcomes, unit_means
from richter.errors import InputError
from richter.records import Claim, Interval, Verdict, plain


def test_unit_means_by_hand() -> None:
    outcomes = Outcomes(
        metric=METRICS["accuracy"],
        items=("x", "y"),
        conditions=("a", "b"),
        item=np.array([0, 0, 1, 0]),
        condition=np.array([0, 0, 0, 1]),
        value=np.array([1.0, 0.0, 1.0, 1.0]),
    )
    found = unit_means(outcomes)
    np.testing.assert_array_equal(found.mean, [[0.5, 1.0], [1.0, np.nan]])
    np.testing.assert_array_equal(found.draws, [[2, 1], [1, 0]])
    np.testing.assert_array_equal(found.within, [[0.5, 0.0], [0.0, 0.0]])


def test_weights_of_zero_are_refused() -> None:
    with pytest.raises(InputError, match="1 weight is zero"):
        Outcomes(
            metric=METRICS["accuracy"],
            items=("x", "y"),
            conditions=("a",),
            item=np.array([0, 1]),
            condition=np.array([0, 0]),
            value=np.array([1.0, 0.0]),
            weight=np.array([1.0, 0.0]),
        )


def test_amounts_say_no_direction_for_nothing() -> None:
    points = METRICS["accuracy"]
    assert points.amount(-0.0001, sign=True) == "0.0"
    assert points.amount(0.0204, sign=True) == "+2.0"
    assert points.amount(-0.0204, sign=True) == "-2.0"


def test_plain_turns_numpy_and_undefined_numbers() -> None:
    claim = Claim(
        measure="accuracy",
        conditions=("a", "b"),
        verdict=Verdict.UNDECIDED,
        sentence="It is undecided.",
        interval=Interval(low=float("nan"), high=float(np.float64(2)), level=0.95, method="t"),
    )
    row = plain({"claim": claim, "counts": np.arange(3)})
    assert row["claim"]["interval"] == {"low": None, "high": 2.0, "level": 0.95, "method": "t"}
    assert row["counts"] == [0, 1, 2]
    assert row["claim"]["id"] == claim.id != ""


def test_a_claim_names_its_gate_exactly_when_blocked() -> None:
    with pytest.raises(ValueError, match="blocked_by"):
        Claim(measure="b", conditions=("a", "b"), verdict=Verdict.BLOCKED, sentence="Blocked.")
