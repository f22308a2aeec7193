"""Which batch comes next, and when an audit stops: on cases worked by hand, and on simulated data with known truth."""

import math

import numpy as np
import pytest

from richter.errors import BudgetExhausted
from richter.floors import parse_claim
from richter.records import Claim, Interval, Verdict
from richter_audit.stages._settle_claims import Need, closing_share, goal_of, settle_claims


def open_claim(estimate: float, low: float, high: float) -> Claim:
    interval = Interval(low=low, high=high, level=0.95, method="by hand")
    return Claim(
        sentence="",
        measure="error_rate",
        conditions=("A",),
        verdict=Verdict.UNDECIDED,
        estimate=estimate,
        interval=interval,
    )


def test_share_of_the_way_by_hand() -> None:
    """0.30 [0.20, 0.40] against 0.25 at n = 100: w = 0.10, g = 0.05; to n = 144 it shrinks by a sixth of 0.10."""
    claim = open_claim(0.30, 0.20, 0.40)
    share = closing_share(claim, 0.25, n=100, more=44, available=1000)
    assert share == pytest.approx(0.10 * (1 - math.sqrt(100 / 144)) / 0.05)
    assert share == pytest.approx(1 / 3)


def test_claim_that_no_items_would_settle_hardly_counts_by_hand() -> None:
    """It needs 100 x (0.10 / 0.05)^2 = 400 items."""
    claim = open_claim(0.30, 0.20, 0.40)
    within, beyond = (closing_share(claim, 0.25, n=100, more=44, available=n) for n in (400, 399))
    assert beyond == pytest.approx(within / 100)


def test_needs_follow_from_the_measure() -> None:
    assert goal_of(parse_claim("A better than B"), "AB").needs == (Need("ask", "A"), Need("ask", "B"))
    assert goal_of(parse_claim("catastrophic_rate(A) < 0.1"), "AB").needs == (Need("judge", "A"),)
    assert goal_of(parse_claim("ece(B) < 0.1"), "AB").needs == (Need("draw", "B"),)


class SimulatedData:
    """Answers of two simulated models that are right at known rates."""

    def __init__(self, rates: dict[str, float], *, most: int = 10**9) -> None:
        rng = np.random.default_rng(5)
        self.right = {name: (rng.random(2000) < rate).astype(float) for name, rate in rates.items()}
        self.extended: list[dict[Need, int]] = []
        self.most = most

    def extend(self, targets) -> None:
        if len(self.extended) >= self.most:
            raise BudgetExhausted("used up", remedy="none")
        self.extended.append(dict(targets))

    def values(self, goal, n):
        own = [self.right[need.condition][:n] for need in goal.needs]
        if goal.needs[0].kind == "judge":
            return 4 * (1 - own[0]), None
        return own[0], own[1] if goal.rule.other else None


CLAIMS = ("A better than B", "error_rate(A) < 0.3", "catastrophic_rate(B) < 0.25")


def test_audit_stops_when_all_claims_are_settled_recovers_truth() -> None:
    data = SimulatedData({"A": 0.9, "B": 0.5})
    goals = [goal_of(parse_claim(text), "AB") for text in CLAIMS]
    found = settle_claims(goals, data, available=2000, costs=lambda need: 2.0 if need.kind == "judge" else 1.0)
    assert [claim.verdict for claim in found.claims] == [Verdict.VERIFIED, Verdict.VERIFIED, Verdict.REFUTED]
    assert max(found.counts.values()) < 400
    assert found.stopped is None
    assert all(claim.interval.level == pytest.approx(1 - 0.05 / 3) for claim in found.claims)


def test_what_is_judged_was_asked_before() -> None:
    data = SimulatedData({"A": 0.9, "B": 0.5})
    settle_claims([goal_of(parse_claim(CLAIMS[2]), "AB")], data, available=200, costs=lambda need: 1.0)
    assert list(data.extended[0]) == [Need("ask", "B"), Need("judge", "B")]


def test_cheaper_claim_comes_first_by_hand() -> None:
    """Two claims that nothing is known of: the one whose batch costs less per claim is taken up first."""
    data = SimulatedData({"A": 0.9, "B": 0.5})
    goals = [goal_of(parse_claim(text), "AB") for text in ("ece(A) < 0.1", "error_rate(B) < 0.3")]
    data.values = lambda goal, n: (data.right[goal.needs[0].condition][:n], np.full(n, 0.9))
    settle_claims(goals, data, available=50, costs=lambda need: 8.0 if need.kind == "draw" else 1.0)
    assert next(iter(data.extended[0])).kind == "ask"


def test_used_up_budget_keeps_the_claims_as_they_are() -> None:
    data = SimulatedData({"A": 0.72, "B": 0.7}, most=2)
    found = settle_claims([goal_of(parse_claim(CLAIMS[0]), "AB")], data, available=2000, costs=lambda need: 1.0)
    assert isinstance(found.stopped, BudgetExhausted)
    assert found.claims[0].verdict is Verdict.UNDECIDED
    assert found.claims[0].n == 50
