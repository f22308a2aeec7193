"""A page of claims: primaries before secondaries, refusals by name, and the sets that cannot be told apart."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.outcomes import outcomes
from richter.claims import compare_outcomes, pairs_of
from richter.errors import InputError
from richter.records import Verdict, plain


def page(n: int = 800, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    hard = rng.normal(size=(n, 1))
    wrong = rng.normal(size=(n, 3)) + np.array([0.0, -1.0, -1.05]) > -hard
    return ~wrong, np.where(wrong, rng.integers(1, 9, size=(n, 3)) / 2, 0.0)


def test_conditions_that_are_alike_stand_in_one_set() -> None:
    right, severity = page()
    found = compare_outcomes([outcomes(right), outcomes(severity, "mean_severity")], margins={"accuracy": 0.02})
    assert [c.measure for c in found.claims] == ["accuracy"] * 3 + ["mean_severity"] * 3
    assert [c.primary for c in found.claims] == [True] * 3 + [False] * 3
    first = found.claims[0]
    assert first.conditions == ("a", "b")
    assert first.estimate == pytest.approx(float(np.mean(right[:, 1]) - np.mean(right[:, 0])))
    assert first.verdict is Verdict.VERIFIED
    assert first.sentence.startswith("b is more accurate than a: +")
    assert {frozenset(s) for s in found.sets} == {frozenset("bc"), frozenset("a")}
    assert plain(found)["claims"][0]["verdict"] == "verified"


def test_secondary_measures_wait_where_a_primary_is_open() -> None:
    right, severity = page()
    found = compare_outcomes([outcomes(right), outcomes(severity, "mean_severity")])
    assert found.claims[2].verdict is Verdict.UNDECIDED  # b and c
    assert all(c.interval is None for c in found.claims if not c.primary)
    two = compare_outcomes([outcomes(right[:, :2]), outcomes(severity[:, :2], "mean_severity")], directed=True)
    assert [c.verdict for c in two.claims] == [Verdict.VERIFIED, Verdict.VERIFIED]
    assert [c.hypothesis.relation for c in two.claims if c.hypothesis] == ["above", "below"]


def test_refused_pairs_say_why() -> None:
    right = page()[0].astype(float)
    right[:500, 1] = np.nan
    right[:, 2] = np.nan
    found = compare_outcomes([outcomes(np.where(np.isnan(right), np.nan, right))])
    reasons = {r.conditions: r.reason for r in found.refused}
    few = "only 300 of 800 items were graded in both (38%, at least 50% are asked for)"
    assert reasons["a", "b"] == f"{few}; compare --unpaired takes all of their items as different ones"
    assert reasons["b", "c"] == "untestable: c has no graded item"
    assert not found.claims
    assert found.summaries[2].estimate is None


def test_these_items_with_one_draw_are_refused_with_the_reason() -> None:
    found = compare_outcomes([outcomes(page()[0])], about="these-items")
    assert len(found.refused) == 3
    assert "one draw" in found.refused[0].reason


def test_pairs_against_a_control() -> None:
    assert pairs_of("abc") == [("a", "b"), ("a", "c"), ("b", "c")]
    assert pairs_of("abc", control="b") == [("b", "a"), ("b", "c")]
    with pytest.raises(InputError, match="named d"):
        pairs_of("abc", control="d")


@given(
    seed=st.integers(0, 10**6),
    kind=st.sampled_from(["binary", "draws", "groups", "severity", "money"]),
    margin=st.sampled_from([None, 0.05, 0.3]),
    control=st.sampled_from([None, "a"]),
    directed=st.booleans(),
)
@settings(max_examples=40, deadline=None)
def test_verdict_and_interval_never_disagree_on_a_page(
    seed: int, kind: str, margin: float | None, control: str | None, directed: bool
) -> None:
    rng = np.random.default_rng(seed)
    n, draws = int(rng.integers(20, 120)), 3 if kind == "draws" else 1
    hard = rng.random((n, 1, 1)) * rng.uniform(0.1, 1)
    values = (rng.random((n, 3, draws)) < np.clip(hard + np.array([0.0, 0.1, 0.3])[:, None], 0, 1)).astype(float)
    metric = {"severity": "mean_severity", "money": "money"}.get(kind, "accuracy")
    if kind == "severity":
        values *= rng.integers(1, 9, size=values.shape) / 2
    elif kind == "money":
        values = np.exp(rng.normal(size=values.shape) + values)
    group = np.arange(n) // 6 if kind == "groups" else None
    bad = outcomes(rng.random((n, 3)) < 0.1, "catastrophic_rate", group=group)
    found = compare_outcomes(
        [outcomes(values, metric, group=group), bad],
        margins={} if margin is None else {metric: margin},
        control=control,
        directed=directed,
    )
    for claim in found.claims:
        if claim.interval is None:
            assert claim.verdict is Verdict.UNDECIDED
            assert not claim.primary
            continue
        low, high = claim.interval.low, claim.interval.high
        inside = claim.margin is not None and -claim.margin < low and high < claim.margin
        assert (claim.verdict is Verdict.EQUIVALENT) == inside
        if not inside:
            assert (claim.verdict in (Verdict.VERIFIED, Verdict.REFUTED)) == (low > 0 or high < 0)
