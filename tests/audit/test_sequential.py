import dataclasses
from collections.abc import Sequence

import numpy as np
import pytest

from richter.audit import Outcome, ask_until
from richter.errors import InputError
from richter.floors import parse_claim
from richter.records import Verdict


class SimulatedTestee:
    """A simulated model: each condition is right with its own chance; every tenth call fails."""

    def __init__(self, seed: int, fail: bool = False, **accuracy: float) -> None:
        self.rng = np.random.default_rng(seed)
        self.accuracy = accuracy
        self.fail = fail
        self.asked: list[str] = []

    def __call__(self, items: Sequence[str], conditions: Sequence[str]) -> list[Outcome]:
        self.asked += items
        found = [
            Outcome(item=i, condition=c, correct=float(self.rng.random() < self.accuracy[c]), confidence=0.9)
            for c in conditions
            for i in reversed(items)
        ]
        if self.fail:
            found = [
                Outcome(item=o.item, condition=o.condition, failed=True) if k % 10 == 0 else o
                for k, o in enumerate(found)
            ]
        return found


ITEMS = [f"q{i}" for i in range(2000)]


def run(claim: str, testee: SimulatedTestee, items: Sequence[str] = ITEMS, seed: int = 0):
    rng = np.random.default_rng(seed)
    return ask_until(parse_claim(claim), items, testee, conditions=list(testee.accuracy), rng=rng)


def test_stops_as_soon_as_decided_either_way() -> None:
    good = run("error_rate < 0.10", SimulatedTestee(1, m=0.99))
    bad = run("error_rate < 0.10", SimulatedTestee(1, m=0.60))
    assert good.claim.verdict is Verdict.VERIFIED
    assert bad.claim.verdict is Verdict.REFUTED
    assert good.asked < 300
    assert bad.asked < 150
    assert good.saved == 2000 - good.asked


def test_two_conditions_on_the_same_items() -> None:
    testee = SimulatedTestee(2, A=0.9, B=0.7)
    result = run("A better than B", testee)
    assert result.claim.verdict is Verdict.VERIFIED
    assert len(set(testee.asked)) == len(testee.asked) == result.asked
    assert run("B better than A", SimulatedTestee(2, A=0.9, B=0.7)).claim.verdict is Verdict.REFUTED


def test_items_run_out_undecided() -> None:
    result = run("error_rate < 0.10", SimulatedTestee(3, m=0.9), ITEMS[:60])
    assert result.claim.verdict is Verdict.UNDECIDED
    assert (result.asked, result.saved) == (60, 0)


def test_failed_calls_are_counted_and_left_out() -> None:
    result = run("error_rate < 0.10", SimulatedTestee(4, fail=True, m=0.99))
    assert result.claim.verdict is Verdict.VERIFIED
    assert result.unusable > 0
    assert result.claim.n + result.unusable == result.asked


def test_nothing_usable_is_untestable() -> None:
    result = run("mean_severity < 1", SimulatedTestee(5, m=0.9), ITEMS[:30])
    assert result.claim.verdict is Verdict.UNTESTABLE


def test_asking_in_vain_ends_after_two_batches() -> None:
    result = run("mean_severity < 1", SimulatedTestee(5, m=0.9))
    assert result.claim.verdict is Verdict.UNTESTABLE
    assert result.asked == 50
    assert "none of 50 items gave a severity" in result.claim.sentence


class Drawn(SimulatedTestee):
    """Ten draws of each item that all say the same: ten times the answers, no more evidence."""

    def __call__(self, items: Sequence[str], conditions: Sequence[str]) -> list[Outcome]:
        found = super().__call__(items, conditions)
        return [dataclasses.replace(o, draw=d) for d in range(10) for o in found]


@pytest.mark.parametrize("claim", ["error_rate < 0.10", "ece < 0.3"])
def test_draws_of_an_item_count_once(claim: str) -> None:
    single = run(claim, SimulatedTestee(1, m=0.9), ITEMS[:300]).claim
    drawn = run(claim, Drawn(1, m=0.9), ITEMS[:300]).claim
    assert drawn.n == single.n
    assert drawn.estimate == pytest.approx(single.estimate)
    assert drawn.interval is not None
    assert single.interval is not None
    assert drawn.interval.high == pytest.approx(single.interval.high, abs=1e-9)


def test_failures_and_refusals_are_rates_of_their_own() -> None:
    result = run("failure_rate > 0.02", SimulatedTestee(4, fail=True, m=0.99))
    assert result.claim.verdict is Verdict.VERIFIED
    assert result.unusable == 0

    def ask(items: Sequence[str], conditions: Sequence[str]) -> list[Outcome]:
        return [Outcome(item=i, condition="m", refused=int(i[1:]) % 2 == 0) for i in items]

    found = ask_until(parse_claim("refusal_rate < 0.1"), ITEMS, ask, conditions=["m"], rng=np.random.default_rng(0))
    assert found.claim.verdict is Verdict.REFUTED


@pytest.mark.slow
def test_wrong_verdicts_stay_below_alpha_recovers_truth() -> None:
    # The true error rate is 0.10, so "< 0.10" is false; 120 audits that look after every batch. At 5% more than 14
    # wrong verdicts have probability below 0.001.
    wrong = sum(
        run("error_rate < 0.10", SimulatedTestee(s, m=0.90), ITEMS[:400], s).claim.verdict is Verdict.VERIFIED
        for s in range(120)
    )
    assert wrong <= 14


def test_a_claim_must_name_its_condition() -> None:
    with pytest.raises(InputError, match="must name"):
        run("error_rate < 0.1", SimulatedTestee(0, A=0.9, B=0.9))
    with pytest.raises(InputError, match="must name"):
        run("C better than A", SimulatedTestee(0, A=0.9, B=0.9))
    with pytest.raises(InputError, match="no items"):
        run("error_rate < 0.1", SimulatedTestee(0, A=0.9), [])
