"""Pairs of conditions: tiers of those that are not told apart."""

import pytest

from richter.claims import METRICS, tiers_of
from richter.records import Claim, Verdict

VALUES = {"a": 0.7, "b": 0.6, "c": 0.5}


def claim(first: str, second: str, verdict: Verdict, estimate: float | None = 0.1) -> Claim:
    gate = "items" if verdict is Verdict.BLOCKED else None
    return Claim(
        measure="accuracy", conditions=(first, second), verdict=verdict, sentence="", estimate=estimate, blocked_by=gate
    )


@pytest.mark.parametrize("alike", [Verdict.UNDECIDED, Verdict.EQUIVALENT])
def test_undecided_and_equivalent_pairs_share_a_tier(alike: Verdict) -> None:
    claims = [claim("b", "a", alike), claim("c", "a", Verdict.VERIFIED), claim("c", "b", Verdict.REFUTED)]
    assert tiers_of(claims, VALUES, METRICS["accuracy"]) == (("a", "b"), ("c",))


def test_a_blocked_pair_shares_no_tier() -> None:
    claims = [
        claim("b", "a", Verdict.BLOCKED, None),
        claim("c", "a", Verdict.UNDECIDED),
        claim("c", "b", Verdict.UNDECIDED),
    ]
    assert tiers_of(claims, VALUES, METRICS["accuracy"]) == (("a", "c"), ("b", "c"))
