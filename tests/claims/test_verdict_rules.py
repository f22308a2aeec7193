"""Verdicts that are not of a family: behind gates, of a gate as a whole, and of a watched series."""

from collections.abc import Sequence

import numpy as np
import pytest

from richter.claims import (
    Alarm,
    Blocked,
    Evidence,
    block_claim,
    decide_by_gates,
    decide_change,
    decide_gate,
    find_change,
    untestable_claim,
)
from richter.records import Claim, Gate, Interval, Verdict

SOME = 0.5  # the half-width of a window's interval


def gates(*passed: bool | None) -> list[Gate]:
    return [Gate(name=f"G{k}", rule="", passed=one) for k, one in enumerate(passed)]


def claim(verdict: Verdict, judged: str = "") -> Claim:
    blocked_by = "items" if verdict is Verdict.BLOCKED else None
    return Claim(
        measure="accuracy", conditions=("a",), sentence="", verdict=verdict, judged=judged, blocked_by=blocked_by
    )


@pytest.mark.parametrize(
    ("admitting", "passing", "verdict", "blocked_by"),
    [
        ((True, True), (True,), Verdict.VERIFIED, None),
        ((True, False), (True,), Verdict.BLOCKED, "G1"),
        ((False, False), (True,), Verdict.BLOCKED, "G0"),  # the first that failed
        ((None, False), (True,), Verdict.BLOCKED, "G1"),  # one that failed blocks, whatever could not be run
        ((True, None), (True,), Verdict.UNDECIDED, None),
        ((True, None), (False,), Verdict.UNDECIDED, None),  # short of data, a failure of the last says nothing
        ((True, True), (None, False), Verdict.UNDECIDED, None),
        ((True, True), (True, False), Verdict.BLOCKED, "P1"),
    ],
)
def test_gates_that_admit_come_before_those_to_pass_by_hand(
    admitting: Sequence[bool | None], passing: Sequence[bool | None], verdict: Verdict, blocked_by: str | None
) -> None:
    last = [Gate(name=f"P{k}", rule="", passed=one) for k, one in enumerate(passing)]
    assert decide_by_gates(gates(*admitting), last) == (verdict, blocked_by)


@pytest.mark.parametrize(
    ("verdicts", "whole"),
    [
        (("verified", "verified"), "verified"),
        (("verified", "undecided"), "undecided"),
        (("undecided", "refuted"), "refuted"),
        (("verified", "blocked"), "undecided"),
        (("blocked", "refuted"), "refuted"),
        (("untestable",), "undecided"),
        ((), "verified"),
    ],
)
def test_a_gate_is_met_where_all_are_and_violated_where_one_is(verdicts: Sequence[str], whole: str) -> None:
    claims = [claim(Verdict(verdict)) for verdict in verdicts]
    found = decide_gate(claims, accept_judge=False)
    assert (found.by_data, found.verdict, found.is_judge_only) == (whole, whole, False)
    stopped = decide_gate(claims, accept_judge=False, is_stopped=True)
    assert stopped.by_data == whole
    assert stopped.verdict == ("undecided" if whole == "verified" else whole)


def test_what_only_an_unchecked_judge_meets_is_undecided_until_the_judge_is_accepted() -> None:
    both = [claim(Verdict.VERIFIED), claim(Verdict.VERIFIED, judged="judge-1")]
    assert decide_gate(both, accept_judge=False) == (Verdict.UNDECIDED, Verdict.UNDECIDED, True)
    assert decide_gate(both, accept_judge=True) == (Verdict.VERIFIED, Verdict.VERIFIED, False)
    short = [*both, claim(Verdict.UNDECIDED)]
    assert decide_gate(short, accept_judge=False) == (Verdict.UNDECIDED, Verdict.UNDECIDED, False)
    violated = [claim(Verdict.REFUTED, judged="judge-1")]
    assert decide_gate(violated, accept_judge=False) == (Verdict.REFUTED, Verdict.REFUTED, False)


def difference(estimate: float) -> Evidence:
    """An interval of a half-width that grows with the level: 0.5 at 95%, 0.4 below it."""

    def interval(level: float) -> Interval:
        half = SOME if level >= 0.95 else SOME - 0.1
        return Interval(low=estimate - half, high=estimate + half, level=level, method="by hand")

    return Evidence(estimate=estimate, interval=interval, n=10, units=10)


@pytest.mark.parametrize(
    ("e_values", "shifts", "detected", "shown"),
    [
        ([1, 19.9, 5], [9, 9, 9], None, None),
        ([1, 20.0, 5], [9, 9, 9], 1, 1),  # what reaches the limit is enough, and looks before it do not count
        ([1, 30.0, 5], [9, 0.5, 0.6], 1, 2),  # the window's interval must exclude 0, its end is inside
        ([1, 30.0, 5], [9, 0.5, -0.6], 1, 2),
        ([1, 30.0, 40], [9, None, 0.45], 1, None),  # 0.45 excludes 0 at a lower level than 1 - 1 / 20 only
        ([25, 1.0, 1], [None, None, 0.6], 0, 2),
    ],
)
def test_a_change_is_detected_by_evidence_and_shown_by_a_window_by_hand(
    e_values: list[float], shifts: list[float | None], detected: int | None, shown: int | None
) -> None:
    def difference_at(look: int) -> Evidence | None:
        shift = shifts[look]
        return None if shift is None else difference(shift)

    assert find_change(np.array(e_values, dtype=float), difference_at, limit=20.0) == (detected, shown)


def test_a_change_must_be_shown_in_every_way_and_in_one_direction() -> None:
    worse, better, none = Alarm("2026-01-03", True), Alarm("2026-01-02", False), Alarm(None, None)
    assert decide_change(worse) is decide_change(worse, Alarm("2026-01-09", True)) is Verdict.VERIFIED
    for ways in ((none,), (worse, none), (none, worse), (worse, better)):
        assert decide_change(*ways) is Verdict.UNDECIDED


def test_a_block_with_a_name_blocks_and_one_without_leaves_a_claim_untestable() -> None:
    one = untestable_claim("xi", ("a", "b"), "Nothing to test.", n=7)
    assert (one.verdict, one.sentence, one.n) == (Verdict.UNTESTABLE, "Nothing to test.", 7)
    named = block_claim(one, Blocked(gate="raters", reason="r", remedy="m", override="--o"), sentence="s")
    assert (named.verdict, named.blocked_by, named.sentence) == (Verdict.BLOCKED, "raters", "s")
    assert (named.reason, named.remedy, named.override) == ("r", "m", "--o")
    unnamed = block_claim(named, Blocked(gate=None, reason="r"), sentence="s")
    assert (unnamed.verdict, unnamed.blocked_by, unnamed.remedy) == (Verdict.UNTESTABLE, None, "")
