"""Missing grades: which kind, what is expected, and claims that must hold both ways."""

import dataclasses
from typing import Any

import numpy as np
import polars as pl
import pytest

from helpers.outcomes import dataset_of, outcomes
from richter.audit import compare_tables
from richter.claims import (
    METRICS,
    Evidence,
    Outcomes,
    Question,
    Subgroup,
    Subgroups,
    as_sample,
    both_ways,
    decide,
    decide_heterogeneity,
    difference_evidence,
    mean_evidence,
    p_value,
    subgroup_differences,
    subgroups_both_ways,
    unpaired_evidence,
    with_gate_limit,
    with_missing_at,
)
from richter.errors import InputError
from richter.evidence import LackingGrades, Policy, estimate_subgroups, evidence, lacking_grades, outcomes_of
from richter.records import Claim, Interval, Verdict
from richter.tables import Dataset, read_tables
from richter.words import describe_lacking

PAIR = Question(measure="accuracy", conditions=("a", "b"))


def lacking(
    dataset: Dataset, measure: str = "accuracy", *names: str, strict: bool = False, unpaired: bool = False
) -> LackingGrades:
    return lacking_grades(dataset, measure, names or ("a", "b"), strict, unpaired)


def claim_of(dataset: Dataset, question: Question = PAIR, **policy: Any) -> Claim:
    return decide([evidence(dataset, question, Policy(**policy))])[0]


def gate_of(dataset: Dataset, *, conditions: tuple[str, ...] = ("a", "b"), value: float = -0.05) -> Claim:
    question = Question(
        measure="accuracy", conditions=conditions, relation="above", value=value, family="requirement"
    )  # fmt: skip
    return claim_of(dataset, question, is_gate=True)


def test_a_pair_says_the_same_beside_other_conditions() -> None:
    """Missing grades are filled in the pair's own columns: a third condition, its gaps and its order change nothing."""
    rng = np.random.default_rng(5)
    value = (rng.random((60, 3)) < (0.9, 0.5, 0.7)).astype(float)
    value[rng.random((60, 3)) < (0.6, 0.08, 0.05)] = np.nan
    value[np.isnan(value[:, 1:]).all(axis=1), 0] = np.nan
    among = dataset_of(outcomes(value, conditions=("z", "a", "b")))
    alone = dataset_of(outcomes(value[:, 1:]))
    for policy in ({}, {"unpaired": True}):
        assert claim_of(among, **policy).interval == claim_of(alone, **policy).interval
    assert gate_of(among).interval == gate_of(alone).interval


# ------------------------------------------------------------------ kinds


def test_missing_grades_by_kind_by_hand() -> None:
    """Ten items: a lacks none; b has a failed call, one without a grade and two absent; q9 nobody has a value for."""
    table = np.ones((10, 2))
    table[[0, 1, 2, 3], 1] = np.nan
    table[9] = np.nan
    dataset = dataset_of(
        outcomes(table), failed=[("q0000", "b", 0)], ungraded=[("q0001", "b", 0), ("q0009", "a", 0), ("q0009", "b", 0)]
    )  # fmt: skip
    found = lacking(dataset)
    assert found.kinds == {
        "a": {"failed": 0, "ungraded": 0, "absent": 0, "both": 1},
        "b": {"failed": 1, "ungraded": 1, "absent": 2, "both": 1},
    }
    assert found.total == 4
    assert found.lacking[:, 0].sum() == 0
    assert found.expected == 18  # q9 is left out
    assert found.lacking[:, 1].tolist() == [1, 1, 1, 1, 0, 0, 0, 0, 0, 0]


def test_a_note_counts_what_neither_has_once_by_hand() -> None:
    kinds = {"failed": 5, "ungraded": 0, "absent": 0, "both": 1}
    assert describe_lacking("x", kinds) == "x lacks 6 grades (5 failed calls, 1 where the other has none either)"


def test_a_failed_call_with_a_grade_is_no_missing_one() -> None:
    dataset = dataset_of(outcomes(np.ones((5, 2))), failed=[("q0000", "b", 0)])
    assert lacking(dataset).total == 0


def test_failed_calls_are_the_values_of_their_own_rate() -> None:
    table = np.ones((10, 2))
    table[:3, 1] = np.nan
    dataset = dataset_of(outcomes(table), failed=[(f"q000{k}", "b", 0) for k in range(3)])
    assert lacking(dataset, "failure_rate").total == 0
    assert lacking(dataset, "accuracy").kinds["b"]["failed"] == 3
    assert claim_of(dataset, Question(measure="failure_rate", conditions=("a", "b"))).missing == {}


def test_draws_that_are_missing_in_part_by_hand() -> None:
    """Three draws were asked for: one item has two of them, one has none."""
    table = np.ones((6, 2, 3))
    table[0, 1, 2] = np.nan
    table[1, 1, :] = np.nan
    found = lacking(dataset_of(outcomes(table)))
    assert found.kinds["b"] == {"failed": 0, "ungraded": 0, "absent": 4, "both": 0}
    assert found.lacking[:2, 1].tolist() == [1, 3]
    with_rows = dataset_of(outcomes(table), failed=[("q0000", "b", 2)], ungraded=[("q0001", "b", 0)])
    assert lacking(with_rows).kinds["b"] == {"failed": 1, "ungraded": 1, "absent": 2, "both": 0}


def test_fewer_draws_of_a_condition_everywhere_are_its_design() -> None:
    table = np.ones((6, 2, 3))
    table[:, 1, 1:] = np.nan
    assert lacking(dataset_of(outcomes(table))).total == 0


@pytest.mark.parametrize("column", ["group", "domain"])
def test_a_whole_group_or_domain_that_is_absent_is_a_design_except_in_a_gate(column: str) -> None:
    table = np.ones((20, 2))
    table[:5, 1] = np.nan
    codes = np.arange(20) // 5
    more: dict[str, Any] = {"group": codes} if column == "group" else {"stratum": codes, "strata": tuple("uvwx")}
    dataset = dataset_of(outcomes(table, **more))
    assert lacking(dataset).total == 0
    assert lacking(dataset, strict=True).kinds["b"]["absent"] == 5
    assert claim_of(dataset).missing == {}
    assert claim_of(dataset, is_gate=True).missing == {"a": 0, "b": 5}
    table[5, 1] = np.nan  # of the next group one of five: that one is missing
    assert lacking(dataset_of(outcomes(table, **more))).kinds["b"]["absent"] == 1


def test_a_group_of_one_item_is_no_design() -> None:
    table = np.ones((20, 2))
    table[:5, 1] = np.nan
    assert lacking(dataset_of(outcomes(table, group=np.arange(20)))).kinds["b"]["absent"] == 5


def test_a_failed_row_keeps_its_group_from_being_a_design() -> None:
    table = np.ones((20, 2))
    table[:5, 1] = np.nan
    dataset = dataset_of(outcomes(table, group=np.arange(20) // 5), failed=[("q0000", "b", 0)])
    assert lacking(dataset).kinds["b"] == {"failed": 1, "ungraded": 0, "absent": 4, "both": 0}


def test_conditions_with_items_of_their_own_lack_only_what_they_have_a_row_for() -> None:
    table = np.full((20, 2), np.nan)
    table[:10, 0] = table[10:, 1] = 1.0
    table[19, 1] = np.nan
    dataset = dataset_of(outcomes(table), failed=[("q0019", "b", 0)])
    assert lacking(dataset, unpaired=True).kinds["b"] == {"failed": 1, "ungraded": 0, "absent": 0, "both": 0}
    claim = claim_of(dataset)
    assert claim.apart
    assert claim.missing == {"a": 0, "b": 1}  # it was left out, since nobody has a value for that item
    partly = np.ones((20, 2))
    partly[:5, 1] = np.nan
    dataset = dataset_of(outcomes(partly), failed=[("q0000", "b", 0)])
    assert lacking(dataset, unpaired=True).kinds["b"] == {"failed": 1, "ungraded": 0, "absent": 0, "both": 0}


def test_of_one_condition_rows_without_a_value_are_missing() -> None:
    table = np.ones((20, 2))
    table[:5, 1] = np.nan
    dataset = dataset_of(outcomes(table), failed=[("q0000", "b", 0)], ungraded=[("q0001", "b", 0)])
    assert lacking(dataset, "accuracy", "b").kinds["b"] == {"failed": 1, "ungraded": 1, "absent": 0, "both": 0}


def test_in_a_gate_one_condition_lacks_what_the_others_have() -> None:
    """It was met where the candidate's wrong answers were left out: of one condition no row was ever absent."""
    table = np.ones((20, 2))
    table[:5, 1] = np.nan
    dataset = dataset_of(outcomes(table))
    assert lacking(dataset, "accuracy", "b", strict=True).kinds["b"]["absent"] == 5
    assert lacking(dataset, "accuracy", "b", strict=True, unpaired=True).kinds["b"]["absent"] == 0
    own = np.full((20, 2), np.nan)
    own[:10, 0] = own[10:, 1] = 1.0
    stripped = dataset_of(outcomes(own))
    assert gate_of(stripped, conditions=("b",), value=0.5).blocked_by == "shared"  # as where it lost all of a's
    assert gate_of(stripped).blocked_by == "shared"
    stated = claim_of(stripped, Question(measure="accuracy", conditions=("b",), relation="above", value=0.5,
                                         family="requirement"), is_gate=True, unpaired=True)  # fmt: skip
    assert stated.verdict is Verdict.VERIFIED
    assert lacking(stripped, "accuracy", "b", strict=True, unpaired=True).total == 0
    wrong = np.ones((200, 2))
    wrong[:40, 1] = 0.0
    full = dataset_of(outcomes(wrong))
    assert gate_of(full, conditions=("b",), value=0.85).verdict is Verdict.REFUTED
    wrong[:40, 1] = np.nan
    less = gate_of(dataset_of(outcomes(wrong)), conditions=("b",), value=0.85)
    assert less.verdict is not Verdict.VERIFIED
    assert less.missing == {"b": 40}


# ------------------------------------------------------------------ both ways


def test_a_claim_has_both_ways_of_its_missing_grades_by_hand() -> None:
    """b fixes 60 of a's errors; ten of these have no grade: 50 of 90 without them, 50 of 100 with them wrong."""
    a = np.r_[np.zeros(60), np.ones(40)]
    b = np.ones(100)
    b[:10] = np.nan
    dataset = dataset_of(outcomes(np.stack([a, b], axis=1)))
    found = evidence(dataset, PAIR).known
    assert found.ignoring is not None
    assert found.as_worst is not None
    assert (found.estimate, found.ignoring.estimate) == (pytest.approx(50 / 90), pytest.approx(50 / 90))
    assert found.as_worst.estimate == pytest.approx(0.5)
    filled = difference_evidence(outcomes(np.stack([a, np.nan_to_num(b)], axis=1)), "a", "b")
    for level in (0.9, 0.95):
        one, two, hull = found.ignoring.interval(level), filled.interval(level), found.interval(level)
        assert (hull.low, hull.high) == pytest.approx((min(one.low, two.low), max(one.high, two.high)))
    claim = claim_of(dataset)
    assert claim.verdict is Verdict.VERIFIED
    assert claim.missing == {"a": 0, "b": 10}


def test_a_claim_that_missing_grades_turn_round_is_undecided_by_hand() -> None:
    """10 fixed of 50 that both have; with b's 50 others wrong 40 more are broken."""
    a = np.r_[np.zeros(60), np.ones(40)]
    b = np.r_[np.full(50, np.nan), np.ones(40), np.full(10, np.nan)]
    dataset = dataset_of(outcomes(np.stack([a, b], axis=1)))
    assert claim_of(dataset, min_shared=0.1, missing="at-random").verdict is Verdict.VERIFIED
    assert claim_of(dataset, min_shared=0.1, missing="shared").verdict is Verdict.VERIFIED
    both = claim_of(dataset, min_shared=0.1)
    assert both.verdict is Verdict.UNDECIDED
    assert both.missing == {"a": 0, "b": 60}


@pytest.mark.parametrize("better", ["higher", "lower"])
def test_missing_scores_are_at_the_worse_end_of_their_scale_by_hand(better: str) -> None:
    metric = dataclasses.replace(METRICS["mean_score"], low=1.0, high=5.0, better=better)
    rng = np.random.default_rng(0)
    table = rng.integers(1, 6, (50, 2)).astype(float)
    table[:5, 1] = np.nan
    dataset = dataset_of(dataclasses.replace(outcomes(table, "mean_score"), metric=metric))
    found = evidence(dataset, Question(measure="mean_score", conditions=("a", "b"))).known
    assert found.as_worst is not None
    worst = 1.0 if better == "higher" else 5.0
    assert found.as_worst.values == pytest.approx((table[:, 0].mean(), np.nan_to_num(table[:, 1], nan=worst).mean()))


def test_missing_draws_are_wrong_ones_of_their_item_by_hand() -> None:
    table = np.ones((30, 2, 2))
    table[:10, 0] = 0.0
    table[0, 1, 1] = np.nan
    found = evidence(dataset_of(outcomes(table)), PAIR).known
    assert found.as_worst is not None
    assert found.as_worst.values[1] == pytest.approx((29 + 0.5) / 30)
    assert found.ignoring is not None
    assert found.ignoring.values[1] == pytest.approx(1.0)


def test_missing_grades_of_labelled_answers_are_known_to_be_wrong_by_hand() -> None:
    """They are a stratum of their own in which every label is 0: nobody else's labels change."""
    made = Outcomes(
        metric=METRICS["accuracy"], items=tuple("uvwxyz"), conditions=("a",), item=np.arange(4),
        condition=np.zeros(4, dtype=np.intp), value=np.ones(4), label=np.array([1.0, 0.0, np.nan, np.nan]),
    )  # fmt: skip
    filled = with_missing_at(made, np.array([[0], [0], [0], [0], [1], [2]]))
    assert filled.item.tolist() == [0, 1, 2, 3, 4, 5, 5]
    assert filled.value.tolist() == [1, 1, 1, 1, 0, 0, 0]
    np.testing.assert_array_equal(filled.label, [1, 0, np.nan, np.nan, 0, 0, 0])
    assert filled.layer is not None
    assert filled.layer.tolist() == [0, 0, 0, 0, 1, 1, 1]


def test_a_subgroup_counts_its_own_missing_grades() -> None:
    """Grades were missing in u only, and claims on v said that they depend on them."""
    table = np.ones((40, 2))
    table[::3, 0] = 0.0
    table[:4, 1] = np.nan
    dataset = dataset_of(outcomes(table, stratum=np.arange(40) // 20, strata=("u", "v")))
    by_part = {
        part: evidence(dataset, dataclasses.replace(PAIR, family="subgroup", column="domain", part=part)).known
        for part in "uv"
    }
    assert by_part["u"].missing == {"a": 0, "b": 4}
    assert by_part["v"].missing == {}
    assert by_part["v"].as_worst is None


def test_how_many_missing_grades_undo_a_difference_by_trying_all() -> None:
    """Also where all of them turn it round: the smallest number that leaves nothing shown."""
    a = np.r_[np.zeros(30), np.ones(170)]
    b = np.ones(200)
    b[100:] = np.nan
    dataset = dataset_of(outcomes(np.stack([a, b], axis=1)))
    claim = claim_of(dataset, min_shared=0.3)
    for number in range(1, 101):
        filled = b.copy()
        filled[100 : 100 + number] = 0.0
        both = difference_evidence(outcomes(np.stack([a, filled], axis=1)), "a", "b")
        if both.p is not None and (both.p(0.0) > 0.05 or both.estimate <= 0):
            break
    assert any(f"if {number} of the missing grades count as wrong" in note for note in claim.notes)


# ------------------------------------------------------------------ a gate never gains from missing rows


@pytest.mark.slow
def test_wrong_answers_that_are_lost_verify_nothing_recovers_truth() -> None:
    """Equal conditions, 10% of b's answers lost among its wrong ones: shown in most tables ignoring them, in 5% here.

    Ignoring them b is right in 0.6 / 0.9 of 1,350 answers: 6.7 points more, 3.6 standard errors.
    """
    rng, shown = np.random.default_rng(5), {"at-random": 0, "both-ways": 0}
    for _ in range(60):
        table = (rng.random((1500, 2)) < 0.6).astype(float)
        wrong = np.flatnonzero(table[:, 1] == 0)
        table[rng.choice(wrong, 150, replace=False), 1] = np.nan
        dataset = dataset_of(outcomes(table))
        for missing in shown:
            claim = claim_of(dataset, missing=missing)
            shown[missing] += claim.verdict is Verdict.VERIFIED and (claim.estimate or 0) > 0
    assert shown["at-random"] >= 50  # 57 expected
    assert shown["both-ways"] <= 7  # 0.05 and 2.6 binomial errors


# ------------------------------------------------------------------ a gate's limits


@pytest.mark.parametrize("conditions", [("a", "b"), ("b",)])
def test_a_gate_asks_for_limits_that_never_fall_short(conditions: tuple[str, ...]) -> None:
    """A gate is violated by the limit that `exact` gives and passes by its own; a comparison has the usual ones."""
    rng = np.random.default_rng(5)
    table = (rng.random((40, 2, 3)) < [[0.97], [0.9]]).astype(float)
    dataset = dataset_of(outcomes(table))
    question = Question(measure="accuracy", conditions=conditions, relation="above", value=0.0, family="requirement")
    sample = outcomes(table)

    def by_itself(exact: bool) -> Evidence:
        return mean_evidence(sample, "b", exact=exact) if len(conditions) == 1 else difference_evidence(
            sample, "a", "b", exact=exact
        )  # fmt: skip

    usual, gate = (evidence(dataset, question, Policy(is_gate=is_gate)).known for is_gate in (False, True))
    assert usual.interval(0.9) == by_itself(False).interval(0.9)
    assert gate.interval(0.9).high == by_itself(True).interval(0.9).high > by_itself(False).interval(0.9).high
    own = with_gate_limit(by_itself(True), as_sample(sample), as_sample(sample), conditions=conditions)
    assert gate.interval(0.9) == own.interval(0.9)
    assert gate.interval(0.9).low < usual.interval(0.9).low


def test_a_gate_on_separate_items_has_limits_that_never_fall_short() -> None:
    """Conditions with items of their own: the limits that `exact` gives in a gate, the usual ones in a comparison."""
    table = np.full((60, 2), np.nan)
    table[:30, 0] = np.arange(30) >= 2
    table[30:, 1] = np.arange(30) >= 4
    question = Question(measure="accuracy", conditions=("a", "b"), relation="above", value=-0.1, family="requirement")
    for is_gate in (False, True):
        found = evidence(dataset_of(outcomes(table)), question, Policy(is_gate=is_gate, unpaired=True)).known
        want = unpaired_evidence(outcomes(table), "a", "b", exact=is_gate).interval(0.9)
        other = unpaired_evidence(outcomes(table), "a", "b", exact=not is_gate).interval(0.9)
        assert found.interval(0.9).high == want.high != other.high


def test_what_the_baseline_lacks_is_left_out_of_a_gate() -> None:
    """Counted as wrong, the baseline's missing answers would be gains of the candidate."""
    rng = np.random.default_rng(7)
    table = (rng.random((120, 2)) < 0.7).astype(float)
    table[:30, 0] = np.nan
    question = Question(measure="accuracy", conditions=("a", "b"), relation="above", value=-0.1, family="requirement")
    low = evidence(dataset_of(outcomes(table)), question, Policy(is_gate=True)).known.interval(0.9).low
    assert low == difference_evidence(outcomes(table[30:]), "a", "b", exact=True).interval(0.9).low


def test_the_p_value_of_both_ways_is_the_larger_one_whichever_it_is_by_hand() -> None:
    def evidence_at(estimate: float, p: float) -> Evidence:
        return Evidence(
            estimate=estimate, interval=lambda level: Interval(low=0, high=1, level=level, method=""), p=lambda _: p
        )  # fmt: skip

    ways = {(0.01, 0.04): 0.04, (0.04, 0.01): 0.04, (0.2, 0.2): 0.2}
    for (one, two), larger in ways.items():
        both = both_ways(evidence_at(0.3, one), evidence_at(0.2, two), missing={})
        assert p_value(both, 0.1) == larger
        assert p_value(both, 0.25) == 1.0  # the two lie on different sides of it
        assert p_value(both, 0.2) == p_value(both, 0.3) == 1.0  # or at it
    for estimates in ((-0.05, 0.05), (0.05, -0.05)):  # both below, on different sides of nothing that is asked
        assert p_value(both_ways(*(evidence_at(e, 0.04) for e in estimates), missing={}), 0.1) == 0.04


# ------------------------------------------------------------------ between subgroups


def by_domain(rng: np.random.Generator, *, gain: float = 0.0, lost: float = 0.5) -> tuple[Dataset, Subgroups]:
    """Two conditions of 70% in two domains of 300 items; b gains in s, where a share of its wrong answers is lost."""
    code = np.repeat([0, 1], 300)
    table = (rng.random((600, 2)) < 0.7 + gain * np.stack([np.zeros(600), code == 0], axis=1)).astype(float)
    gone = (code == 0) & (table[:, 1] == 0) & (rng.random(600) < lost)
    table[gone, 1] = np.nan
    made = outcomes(table, stratum=code, strata=("s", "t"))
    dataset = dataset_of(made, ungraded=[(f"q{k:04d}", "b", 0) for k in np.flatnonzero(gone)])
    ignoring = subgroup_differences(made, "a", "b", subgroup=code, names=("s", "t"))
    return dataset, ignoring


def heterogeneity(dataset: Dataset, **policy: Any) -> Subgroups:
    asked = {"level": 0.95, "rng": np.random.default_rng(0)}
    return estimate_subgroups(dataset, PAIR, Policy(**policy), "domain", **asked)


def test_an_effect_that_only_lost_answers_make_is_not_shown_to_differ_between_subgroups_by_hand() -> None:
    dataset, ignoring = by_domain(np.random.default_rng(1))
    assert ignoring.p is not None
    assert ignoring.p < 0.01
    for stated in ({}, {"missing": "both-ways"}):
        both = heterogeneity(dataset, **stated)
        assert both.p is not None
        assert both.p > 0.1
    for way in ("shared", "at-random"):
        assert heterogeneity(dataset, missing=way) == ignoring
    one, two = both.subgroups
    assert one.estimate == ignoring.subgroups[0].estimate
    assert one.interval.high == ignoring.subgroups[0].interval.high
    assert one.interval.low < ignoring.subgroups[0].interval.low
    assert two.interval.low == ignoring.subgroups[1].interval.low  # nothing is missing there
    assert decide_heterogeneity([both])[0].verdict is Verdict.UNDECIDED


def test_a_true_difference_between_subgroups_is_shown_with_lost_answers_too() -> None:
    """Lost are wrong answers of the condition that gains, so that they speak for the difference either way."""
    dataset, _ = by_domain(np.random.default_rng(2), gain=0.25, lost=0.2)
    found = heterogeneity(dataset)
    assert found.p is not None
    assert found.p < 0.001


def test_equal_effects_are_rarely_told_apart_with_lost_answers_recovers_truth() -> None:
    """60 worlds without an effect: 9 false at 5% is the 99.9% point, which only ignoring what is lost goes beyond."""
    rng = np.random.default_rng(3)
    worlds = [by_domain(rng) for _ in range(60)]
    wrong = sum(heterogeneity(dataset).p < 0.05 for dataset, _ in worlds)
    ignored = sum(ignoring.p < 0.05 for _, ignoring in worlds)
    assert wrong <= 9 < ignored


def test_subgroups_both_ways_by_hand() -> None:
    def part(name: str, low: float, pooled: float | None = None) -> Subgroup:
        span = Interval(low=low, high=low + 1, level=0.95, method="m")
        own = None if pooled is None else dataclasses.replace(span, low=pooled, high=pooled + 1)
        return Subgroup(name=name, n=9, estimate=low + 0.5, interval=span, pooled=pooled, pooled_interval=own)

    def of(p: float | None, *parts: Subgroup) -> Subgroups:
        return Subgroups(conditions=("a", "b"), subgroups=parts, p=p, method="", spread=None, left_out=0)

    both = subgroups_both_ways(of(0.02, part("s", 0, 0), part("t", 2, 2)), of(0.03, part("t", 1), part("s", -1, 0.5)))
    assert both.p == 0.03
    one, two = both.subgroups
    assert (one.interval.low, one.interval.high) == (-1, 1)
    assert one.pooled_interval is not None
    assert (one.pooled, one.pooled_interval.low, one.pooled_interval.high) == (0, 0, 1.5)
    assert (two.interval.low, two.interval.high, two.pooled, two.pooled_interval) == (1, 3, None, None)
    assert subgroups_both_ways(of(0.04), of(0.03)).p == 0.04
    assert subgroups_both_ways(of(0.04), of(None)).p == 1.0
    assert subgroups_both_ways(of(None), of(0.03)).p is None


def test_one_missing_grade_undoes_what_no_fill_shows_by_hand() -> None:
    value = np.ones((40, 2))
    value[:3, 1] = np.nan
    found = evidence(dataset_of(outcomes(value)), PAIR).known
    assert found.missing_to_undo is not None
    assert (found.missing_to_undo(lambda _: False), found.missing_to_undo(lambda _: True)) == (1, 3)


def test_a_run_of_which_every_call_failed_is_to_be_asked_again() -> None:
    """Nothing to grade: no command proposes a grader for answers that never came."""
    rows = [{"item": i, "condition": name, "correct": None, "error": "timeout"} for name in "ab" for i in range(30)]
    table = pl.DataFrame(rows, schema_overrides={"correct": pl.Float64})
    dataset = read_tables(table)
    for ask in (lambda: compare_tables(dataset), lambda: outcomes_of(dataset, "accuracy")):
        with pytest.raises(InputError, match=r"All 60 calls in .* failed, so there is no answer\. Ask again"):
            ask()


@pytest.mark.parametrize(("lost", "is_noted"), [(10, False), (11, True)])
def test_more_than_a_twentieth_missing_is_no_ground_to_rely_on_by_hand(lost: int, is_noted: bool) -> None:
    """Of 200 grades; the baseline's right answers may be the lost ones, which neither way of counting shows."""
    table = (np.random.default_rng(2).random((100, 2)) < 0.7).astype(float)
    table[:lost, 0] = np.nan
    dataset = dataset_of(outcomes(table))
    for policy in (Policy(), Policy(is_gate=True)):
        asked = evidence(dataset, Question(measure="accuracy", conditions=("a", "b")), policy)
        assert any("lost mostly right answers" in note for note in asked.notes) == is_noted
