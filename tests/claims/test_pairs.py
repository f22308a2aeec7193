"""Pairs of conditions: tiers of those that are not told apart."""

import dataclasses

import pytest

from richter.claims import METRICS, rank_spans, tiers_of
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


@pytest.mark.parametrize(("measure", "sign"), [("accuracy", 1), ("error_rate", -1)])
def test_ranks_are_counted_from_decided_pairs_by_hand(measure: str, sign: int) -> None:
    """All beat d, a beats c, the pair of b and c is blocked, the others are undecided; of errors less is better."""
    pairs = [("a", "d", -0.3), ("b", "d", -0.2), ("d", "c", 0.2), ("a", "c", -0.1)]
    claims = [claim(*pair[:2], Verdict.VERIFIED if pair[2] > 0 else Verdict.REFUTED, sign * pair[2]) for pair in pairs]
    claims += [claim("a", "b", Verdict.UNDECIDED, sign * 0.5), claim("b", "c", Verdict.BLOCKED, None)]
    claims = [dataclasses.replace(one, measure=measure) for one in claims]
    found = rank_spans(claims, "abcd", METRICS[measure])
    assert found == {"a": (1, 2), "b": (1, 3), "c": (2, 3), "d": (4, 4)}
    assert rank_spans(claims, "abcd", METRICS["mean_score"]) == dict.fromkeys("abcd", (1, 4))  # no claims on it
