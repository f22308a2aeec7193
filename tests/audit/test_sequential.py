import dataclasses
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from helpers.trials import most_hits, n_trials
from richter.errors import InputError
from richter.floors import decide_claim, parse_claim
from richter.records import Verdict
from richter_audit.stages import Outcome, ask_until


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


def test_a_verdict_stands_only_with_failed_calls_left_out_and_as_wrong() -> None:
    """Every tenth call fails: without them 1% is wrong, with them 11%; an error rate below 0.25 holds both ways."""
    open_still = run("error_rate < 0.10", SimulatedTestee(4, fail=True, m=0.99), ITEMS[:600])
    assert open_still.claim.verdict is Verdict.UNDECIDED
    assert open_still.claim.missing[""] == open_still.unusable > 0
    assert open_still.claim.n + open_still.unusable == open_still.asked == 600
    assert run("error_rate < 0.25", SimulatedTestee(4, fail=True, m=0.99)).claim.verdict is Verdict.VERIFIED
    assert run("error_rate < 0.10", SimulatedTestee(4, fail=True, m=0.5)).claim.verdict is Verdict.REFUTED


def test_a_measure_without_a_worse_end_is_blocked_by_missing_grades() -> None:
    grades, sure = np.tile([1.0, 1.0, 1.0, 0.0], 400), np.full(1600, 0.75)
    rule = parse_claim("ece < 0.3")
    assert decide_claim(rule, grades, sure).verdict is Verdict.VERIFIED
    lost = np.where(np.arange(1600) % 50 == 0, np.nan, sure)
    found = decide_claim(rule, grades, lost)
    assert (found.verdict, found.blocked_by) == (Verdict.BLOCKED, "missing")
    assert decide_claim(rule, grades, np.where(np.arange(1600) % 400 == 0, np.nan, sure)).verdict is Verdict.VERIFIED


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
    # the true error rate is 0.10, so "< 0.10" is false; audits that look after every batch
    trials = n_trials(120)
    wrong = sum(
        run("error_rate < 0.10", SimulatedTestee(s, m=0.90), ITEMS[:400], s).claim.verdict is Verdict.VERIFIED
        for s in range(trials)
    )
    assert wrong <= most_hits(trials, 0.05)


def test_a_claim_must_name_its_condition() -> None:
    with pytest.raises(InputError, match="must name"):
        run("error_rate < 0.1", SimulatedTestee(0, A=0.9, B=0.9))
    with pytest.raises(InputError, match="must name"):
        run("C better than A", SimulatedTestee(0, A=0.9, B=0.9))
    with pytest.raises(InputError, match="no items"):
        run("error_rate < 0.1", SimulatedTestee(0, A=0.9), [])


def test_copies_of_an_item_in_a_group_are_no_more_items_by_hand(rng: np.random.Generator) -> None:
    right, sure = (rng.random(60) < 0.8).astype(float), rng.random(60)
    names = np.arange(60)
    for claim, second in (("error_rate < 0.3", None), ("ece < 0.4", sure), ("A better than B", 1 - right)):
        rule = parse_claim(claim)
        one = decide_claim(rule, right, second)
        three = decide_claim(
            rule, np.repeat(right, 3), None if second is None else np.repeat(second, 3), item=np.arange(180),
            group=np.repeat(names, 3), sizes=dict.fromkeys(map(str, names), 3),
        )  # fmt: skip
        assert three.interval == dataclasses.replace(one.interval, method=three.interval.method)
        assert (three.unit, three.units, three.n) == ("group", 60, 180)
        assert "180 items in 60 groups" in three.sentence


def test_groups_count_by_their_items_by_hand() -> None:
    group = ["a"] * 4 + ["b"] * 2 + ["c"] * 3
    right = np.array([1, 1, 1, 0, 0, 0, 1, 0, 1.0])
    found = decide_claim(parse_claim("accuracy > 0.5"), right, group=group, sizes={"a": 4, "b": 2, "c": 3})
    assert found.estimate == pytest.approx(5 / 9)  # the mean over items, not over groups (0.75 + 0 + 2/3) / 3
    with pytest.raises(InputError, match="Items of one group are apart"):
        decide_claim(parse_claim("accuracy > 0.5"), right, group=[*group[:8], "a"])


def passages(seed: int) -> tuple[dict[str, str], Callable[[Sequence[str], Sequence[str]], list[Outcome]]]:
    """120 passages of 1 to 19 questions, each passage all but wholly right or wrong; 90% right on average."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 20, 120)
    groups = {f"p{g}q{i}": f"p{g}" for g, n in enumerate(sizes) for i in range(n)}
    chance = np.where(rng.random(120) < 0.9, 1.0, 0.0)
    right = {item: float(rng.random() < chance[int(name[1:])]) for item, name in groups.items()}

    def ask(items: Sequence[str], conditions: Sequence[str]) -> list[Outcome]:
        return [Outcome(item=i, condition=c, correct=right[i]) for i in items for c in conditions]

    return groups, ask


def test_groups_are_asked_whole_and_are_the_unit_recovers_truth() -> None:
    """The error rate is 0.10: nothing is to be decided; 40 audits. At 5% more than 7 have probability below 0.001."""
    wrong = {"grouped": 0, "items": 0}
    for seed in range(40):
        groups, ask = passages(seed)
        rule, items = parse_claim("error_rate < 0.10"), list(groups)
        for how, given in (("grouped", groups), ("items", None)):
            found = ask_until(
                rule, items, ask, conditions=["m"], rng=np.random.default_rng(seed), groups=given, batch=60
            )
            wrong[how] += found.claim.decided
            if given is not None:
                asked = {groups[i] for i in found.items}
                assert set(found.items) == {i for i in items if groups[i] in asked}
                assert found.claim.unit == "group"
    assert wrong["grouped"] <= 7
    assert wrong["items"] > 7
