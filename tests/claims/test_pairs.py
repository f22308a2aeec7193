"""Pairs of conditions: tiers of those that are not told apart."""

import dataclasses

import numpy as np
import pytest

from helpers.outcomes import outcomes
from richter.claims import METRICS, Shared, as_sample, pairs_of, rank_spans, shared_items, tiers_of, too_few_shared
from richter.errors import InputError
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


@pytest.mark.parametrize(("measure", "best_first"), [("accuracy", ("b", "a")), ("error_rate", ("a", "b"))])
def test_conditions_are_ranked_by_what_claims_say_where_they_have_no_mean_of_their_own(
    measure: str, best_first: tuple[str, ...]
) -> None:
    one = dataclasses.replace(claim("a", "b", Verdict.UNDECIDED), measure=measure, values=(0.2, 0.7))
    assert tiers_of([one], {}, METRICS[measure]) == (best_first,)
    turned = tuple(reversed(best_first))
    assert tiers_of([one], {"a": 0.9, "b": 0.1}, METRICS[measure]) == (turned,)  # a mean of its own comes first


def test_conditions_of_one_mean_keep_their_order() -> None:
    claims = [claim("b", "a", Verdict.UNDECIDED), claim("b", "c", Verdict.UNDECIDED)]
    assert tiers_of(claims, dict.fromkeys("bac", 0.5), METRICS["accuracy"]) == (("b", "a"), ("b", "c"))


def shared(both: int, first_only: int, second_only: int) -> Shared:
    return Shared(conditions=("a", "b"), both=both, first_only=first_only, second_only=second_only)


@pytest.mark.parametrize(
    ("found", "of_first", "is_enough"),
    [
        (shared(1, 1, 0), False, True),  # one of two is half
        (shared(1, 2, 0), False, False),
        (shared(5, 5, 0), False, True),
        (shared(5, 5, 1), False, False),
        (shared(5, 5, 100), True, True),  # half of the first condition's, whatever the second has besides
        (shared(5, 6, 100), True, False),
        (shared(0, 0, 4), True, False),
    ],
)
def test_half_of_the_items_are_to_be_shared_by_hand(found: Shared, of_first: bool, is_enough: bool) -> None:
    x = np.full((12, 2), np.nan)
    x[3:8, 0], x[8:, 1] = 1.0, 1.0
    why = too_few_shared(as_sample(outcomes(x)), found, min_shared=0.5, of_first=of_first)
    assert (why == "") is is_enough
    if found.both == 0:
        assert "one has q0003, the other q0008" in why  # the first item of each


def test_shared_items_by_hand() -> None:
    x = np.ones((6, 2))
    x[:2, 0], x[5, 1] = np.nan, np.nan
    found = shared_items(as_sample(outcomes(x)), "a", "b")
    assert (found.both, found.first_only, found.second_only, found.sides) == (3, 1, 2, (4, 5))


def test_more_pairs_than_are_compared_are_refused() -> None:
    assert len(pairs_of([f"m{k}" for k in range(632)])) == 199_396
    with pytest.raises(InputError, match="200,028 pairs"):
        pairs_of([f"m{k}" for k in range(633)])
    assert len(pairs_of([f"m{k}" for k in range(633)], control="m7")) == 632


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
