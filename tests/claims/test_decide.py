"""Families, deciding intervals, sizes and verdicts: a wrong threshold, sign or family fails one of these."""

import dataclasses
import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr, ndtri
from scipy.stats import t as student

from helpers.normal import ask, normal
from richter.claims import (
    METRICS,
    Asked,
    Blocked,
    Subgroups,
    both_ways,
    decide,
    decide_heterogeneity,
    min_detectable_difference,
    reach_of,
    units_for,
)
from richter.claims._sizes import needed_units, units_needed
from richter.errors import InputError
from richter.records import Claim, Interval, Verdict


def level_of(claim: Claim) -> float:
    assert claim.interval is not None
    return claim.interval.level


def test_holm_levels_and_their_intervals_by_hand() -> None:
    """|z| of 2.5, 2.2, 1.0 and 2.3: at 5% over four the levels are 1/80, 1/60, 1/40; 2.5 passes, 2.3 does not."""
    claims = decide([ask(z) for z in (2.2, 2.5, 1.0, -2.3)])
    assert [c.verdict for c in claims] == [
        Verdict.UNDECIDED,
        Verdict.VERIFIED if ndtri(1 - 0.05 / 8) < 2.5 else Verdict.UNDECIDED,
        Verdict.UNDECIDED,
        Verdict.UNDECIDED,
    ]
    levels = [c.interval.level for c in claims if c.interval]
    assert levels == pytest.approx([1 - 0.05 / 3, 1 - 0.05 / 4, 1 - 0.05 / 3, 1 - 0.05 / 3])
    assert [c.plain_interval.level for c in claims if c.plain_interval] == [0.95] * 4
    p = [2 * ndtr(-z) for z in (2.5, 2.3, 2.2, 1.0)]
    adjusted = [4 * p[0], 3 * p[1], 3 * p[1], p[3]]  # 2.2 comes after 2.3, and twice its p is less
    assert [claims[k].p_adjusted for k in (1, 3, 0, 2)] == pytest.approx(adjusted)
    assert [c.p_adjusted for c in decide([ask(0.1), ask(0.2)])] == [1.0, 1.0]
    assert {c.family.size for c in claims if c.family} == {4}


def test_all_that_pass_go_on_to_the_last_level_by_hand() -> None:
    claims = decide([ask(4.0), ask(3.0), ask(1.97)])
    assert all(c.verdict is Verdict.VERIFIED for c in claims)
    assert claims[2].interval is not None
    assert claims[2].interval.level == pytest.approx(0.95)


@pytest.mark.parametrize(("z", "shown"), [(1.95, False), (1.97, True)])
@pytest.mark.parametrize("margin", [None, 0.5, 1.9])
def test_a_margin_costs_one_pair_nothing_by_hand(z: float, shown: bool, margin: float | None) -> None:
    """No difference and one of the margin exclude each other: each is tested at 5%, |z| 1.960."""
    (claim,) = decide([ask(z, margin=margin)])
    assert (claim.verdict is Verdict.VERIFIED) is shown
    assert claim.family is not None
    assert claim.family.size == 1


def test_equivalence_by_the_interval_at_twice_the_level_by_hand() -> None:
    """Half-width at 1 - 2 (5%): 1.645. Inside a margin of 1.65 and not of 1.64."""
    for margin, verdict in ((1.65, Verdict.EQUIVALENT), (1.64, Verdict.UNDECIDED)):
        (claim,) = decide([ask(0.0, margin=margin)])
        assert claim.verdict is verdict
    (claim,) = decide([ask(0.0, margin=1.65)])
    assert claim.interval is not None
    assert claim.interval.level == pytest.approx(0.90)
    assert claim.interval.high == pytest.approx(1.645, abs=1e-3)


def test_a_pair_with_a_margin_leaves_the_list_when_both_of_its_tests_are_shown_by_hand() -> None:
    """Three pairs. z of 6 is outside a margin of 1, so "within" stays possible: 5% / 3 to the end, |z| 2.394. Of a
    margin of 20 both are shown: two are left, |z| 2.241; of no margin there was one to show."""
    for margin, left in ((1.0, 3), (20.0, 2), (None, 2)):
        bound = float(ndtri(1 - 0.05 / left / 2))
        for z, shown in ((bound - 0.01, False), (bound + 0.01, True)):
            claims = decide([ask(6.0, margin=margin), ask(z, margin=1.0), ask(0.5, margin=1.0)])
            assert (claims[1].verdict is Verdict.VERIFIED) is shown
            assert claims[2].interval is not None
            assert claims[2].interval.level == pytest.approx(1 - 0.05 / left)
            assert claims[2].p_adjusted == pytest.approx(min(1.0, left * 2 * ndtr(-0.5)))
    assert claims[1].p_adjusted == pytest.approx(2 * 2 * ndtr(-bound - 0.01))


@pytest.mark.parametrize(
    ("estimate", "relation", "verdict"),
    [(3.0, "above", "verified"), (-3.0, "above", "refuted"), (-3.0, "below", "verified"), (3.0, "below", "refuted")],
)
def test_directed_claims_are_verified_or_refuted(estimate: float, relation: str, verdict: str) -> None:
    (claim,) = decide([ask(estimate, relation=relation)])
    assert claim.verdict == verdict


def test_tried_divides_the_level_by_hand() -> None:
    (claim,) = decide([ask(2.5)], tried=4)
    assert claim.interval is not None
    assert claim.interval.level == pytest.approx(1 - 0.05 / 4)
    assert claim.verdict is Verdict.VERIFIED
    assert decide([ask(2.4)], tried=4)[0].verdict is Verdict.UNDECIDED
    assert claim.p is not None
    assert claim.p_adjusted == pytest.approx(4 * claim.p)  # at most 5% exactly where it is shown


@given(st.lists(st.floats(-6, 6), min_size=1, max_size=5), st.integers(1, 20), st.sampled_from([0.8, 0.95]))
@settings(deadline=None, max_examples=50)
def test_an_adjusted_p_is_at_most_one_less_the_level_exactly_where_a_difference_is_shown(
    estimates: list[float], tried: int, level: float
) -> None:
    for claim in decide([ask(z) for z in estimates], tried=tried, level=level):
        assert claim.p_adjusted is not None
        if abs(claim.p_adjusted - (1 - level)) > 1e-9:
            assert (claim.p_adjusted <= 1 - level) == (claim.verdict is Verdict.VERIFIED)


def test_needed_is_for_the_margin_or_the_metrics_gap_never_for_what_was_seen_by_hand() -> None:
    z = ndtri(0.975) + ndtri(0.8)
    for estimate in (0.0, 0.7, 1.9):
        (claim,) = decide([ask(estimate)])
        assert claim.needed == math.ceil(100 * (z / 0.1) ** 2)
        assert claim.needed_for == 0.1
        assert claim.min_detectable_difference == pytest.approx(z)
    z = max(ndtri(0.975) + ndtri(0.8), ndtri(0.95) + ndtri(0.9))
    (claim,) = decide([ask(0.3, margin=0.25)])
    assert claim.needed == math.ceil(100 * (z / 0.25) ** 2)
    assert decide([ask(3.0)])[0].needed is None


@pytest.mark.parametrize("each", [0.5, 1.0])
def test_the_smallest_number_of_units_by_trying_all(each: float) -> None:
    """Of 60 variances: the first n whose t has the power, each unit bringing one degree of freedom or half of one."""
    n = np.arange(math.ceil(5 / each), 2000)
    reach = student.isf(0.025, n * each - 1) + student.isf(0.2, n * each - 1)
    for variance in np.geomspace(0.2, 80, 60):
        least = n[n >= variance * reach**2][0]
        assert units_for(variance, 1.0, tail=0.025, power=0.8, freedom=each) == least


def test_the_smallest_detectable_difference_is_said_within_the_whole_scale_by_hand() -> None:
    """A standard error of 1 shows 2.80 of a mean severity (0 to 4), nothing of a rate, and any length of a number."""
    z = float(ndtri(0.975) + ndtri(0.8))
    found = [
        decide([ask(0.1, measure)])[0].min_detectable_difference for measure in ("mean_severity", "accuracy", "tokens")
    ]
    assert found == [pytest.approx(z), None, pytest.approx(z)]
    severity = METRICS["mean_severity"]
    assert min_detectable_difference(normal(0.1, 3.999 / z), severity, tail=0.025) == pytest.approx(3.999)
    assert min_detectable_difference(normal(0.1, 4.001 / z), severity, tail=0.025) is None
    assert min_detectable_difference(normal(0.1, standard_error=None), severity, tail=0.025) is None
    marks = dataclasses.replace(METRICS["mean_score"], low=1.0, high=5.0)
    assert (
        decide([ask(normal(0.1, 4.5 / z), metric=marks)])[0].min_detectable_difference is None
    )  # 4 is the whole scale
    for n in (7, 30):  # ten units' variance over the square of a distance of as many standard errors
        assert units_for(n, reach_of(n - 1, 0.025, 0.8), tail=0.025, power=0.8, freedom=1.0) == n


def test_the_smallest_detectable_difference_is_at_the_level_of_its_step_by_hand() -> None:
    """Three claims, nothing shown: 5% / 3 on both sides; after 4 attempts a quarter of that."""
    for tried in (1, 4):
        tail = 0.05 / 3 / tried / 2
        for claim in decide([ask(0.1), ask(0.2), ask(0.3)], tried=tried):
            assert claim.min_detectable_difference == pytest.approx(float(ndtri(1 - tail) + ndtri(0.8)))


@pytest.mark.parametrize(("error", "freedom"), [(e, f) for e in (0.01, 0.05, 0.6, 1.2) for f in (9.0, 19.0)])
def test_units_that_a_t_test_needs_by_hand(error: float, freedom: float) -> None:
    """20 units of which every one brings half a degree of freedom, or one: counted up until t has its power."""
    evidence = normal(0.0, error, n=20, freedom=freedom)
    (claim,) = decide([ask(evidence)])
    aim, each = claim.needed_for, (freedom + 1) / 20
    assert aim is not None

    n = np.arange(math.ceil(5 / each), 10**5)
    reach = student.isf(0.025, n * each - 1) + student.isf(0.2, n * each - 1)
    assert claim.needed == n[n >= 20 * error**2 * (reach / aim) ** 2][0]
    assert claim.min_detectable_difference == pytest.approx(
        (student.isf(0.025, freedom) + student.isf(0.2, freedom)) * error
    )


def test_one_condition_against_a_value_by_hand() -> None:
    one = {"conditions": ("new",), "value": 0.8}
    for estimate, relation, verdict in (
        (0.9, "above", "verified"), (0.7, "above", "refuted"), (0.9, "below", "refuted"), (0.7, "below", "verified"),
        (0.9, "differs", "verified"), (0.7, "differs", "verified"), (0.81, "above", "undecided"),
    ):  # fmt: skip
        (claim,) = decide([ask(normal(estimate, 0.01), "accuracy", relation=relation, **one)])
        assert claim.verdict == verdict
    (claim,) = decide([ask(normal(0.8, 0.01), "accuracy", margin=0.05, **one)])
    assert claim.verdict is Verdict.EQUIVALENT  # within 5 points of 80%, not of 0


# ------------------------------------------------------------------ families


def test_each_family_has_all_of_alpha_by_hand() -> None:
    """Two claims a family: the larger |z| must pass 2.241 (5% / 2), whatever the other families hold."""
    bound = float(ndtri(1 - 0.05 / 4))
    families = ("main", "other", "subgroup")
    for z, verdict in ((bound - 0.01, Verdict.UNDECIDED), (bound + 0.01, Verdict.VERIFIED)):
        claims = decide([ask(x, family=name) for name in families for x in (z, 0.1)])
        assert [c.verdict for c in claims] == [verdict, Verdict.UNDECIDED] * 3
        assert [(c.family.name, c.family.size) for c in claims[::2] if c.family] == [(name, 2) for name in families]
        assert [c.p_adjusted for c in claims[::2]] == pytest.approx([2 * 2 * ndtr(-z)] * 3)
    assert [c.primary for c in claims] == [True] * 2 + [False] * 4


def test_other_measures_are_decided_where_the_main_one_is_open() -> None:
    claims = decide([ask(0.1), ask(2.0, "catastrophic_rate", family="other"), ask(2.0, family="subgroup")])
    assert [c.verdict for c in claims] == [Verdict.UNDECIDED, Verdict.VERIFIED, Verdict.VERIFIED]
    assert [level_of(c) for c in claims] == pytest.approx([0.95] * 3)


def test_a_margin_of_one_measure_decides_no_other() -> None:
    """0.2% against 2.4% catastrophic is within 5 points and not called alike: the 5 points are of accuracy."""
    rare = normal(0.022, 0.008)
    main, other = decide(
        [ask(normal(0.0, 0.01), "accuracy", margin=0.05), ask(rare, "catastrophic_rate", family="other")]
    )
    assert (main.verdict, main.margin) == (Verdict.EQUIVALENT, 0.05)
    assert (other.verdict, other.margin) == (Verdict.VERIFIED, None)
    small = decide([ask(0.0, margin=9.0), ask(normal(0.0, 1e-6), "catastrophic_rate", family="other")])
    assert [c.verdict for c in small] == [Verdict.EQUIVALENT, Verdict.UNDECIDED]


@pytest.mark.parametrize("tried", [1, 3])
def test_attempts_divide_every_family_and_requirements_by_hand(tried: int) -> None:
    alpha = 0.05 / tried
    two, one = float(ndtri(1 - alpha / 2)), float(ndtri(1 - alpha))
    for more, shown in ((-0.01, False), (0.01, True)):
        asked = [ask(two + more, family=name) for name in ("main", "other", "subgroup")]
        asked.append(ask(one + more, relation="above", family="requirement"))
        claims = decide(asked, tried=tried)
        assert [c.verdict is Verdict.VERIFIED for c in claims] == [shown] * 4
        assert [level_of(c) for c in claims] == pytest.approx([1 - alpha] * 3 + [1 - 2 * alpha])
        assert [c.p_adjusted for c in claims[:3]] == pytest.approx([tried * 2 * ndtr(-two - more)] * 3)
        assert [level_of(dataclasses.replace(c, interval=c.plain_interval)) for c in claims] == [0.95] * 4
    (violated,) = decide([ask(-one - 0.01, relation="above", family="requirement")], tried=tried)
    assert violated.verdict is Verdict.REFUTED
    assert violated.p_adjusted == pytest.approx(tried * ndtr(-one - 0.01))
    (undecided,) = decide([ask(-one + 0.01, relation="above", family="requirement")], tried=tried)
    assert undecided.verdict is Verdict.UNDECIDED
    (alike,) = decide([ask(0.0, margin=one + 0.01)], tried=tried)
    assert alike.verdict is Verdict.EQUIVALENT
    assert decide([ask(0.0, margin=one - 0.01)], tried=tried)[0].verdict is Verdict.UNDECIDED


def test_numbers_that_are_no_level_or_attempts_are_refused() -> None:
    for options in ({"level": 0.0}, {"level": 1.0}, {"tried": 0}):
        with pytest.raises(InputError):
            decide([ask(0.1)], **options)  # type: ignore[arg-type]


# ------------------------------------------------------------------ blocked, refuted otherwise, judged


def test_blocked_and_untestable_questions_cost_the_others_nothing_by_hand() -> None:
    items = Blocked(gate="items", reason="they share too few", remedy="Share more.", override="--min-shared")
    nothing = Blocked(gate=None, reason="new has no value")
    question = ask(0.0, margin=0.1, relation="above", value=0.0).question
    asked = [
        Asked(question=question, metric=METRICS["mean_severity"], evidence=block, basis="people", notes=("a note",))
        for block in (items, nothing)
    ]
    blocked, untestable, shown = decide([*asked, ask(1.97)])
    assert (blocked.verdict, untestable.verdict) == (Verdict.BLOCKED, Verdict.UNTESTABLE)
    assert (blocked.blocked_by, untestable.blocked_by) == ("items", None)
    assert (blocked.reason, blocked.remedy, blocked.override) == (items.reason, items.remedy, items.override)
    assert (blocked.margin, blocked.basis, blocked.notes) == (0.1, "people", ("a note",))
    assert blocked.hypothesis is not None
    assert blocked.hypothesis.relation == "above"
    for claim in (blocked, untestable):
        assert (claim.estimate, claim.interval, claim.p, claim.family) == (None, None, None, None)
    assert shown.verdict is Verdict.VERIFIED
    assert shown.family is not None
    assert shown.family.size == 1


@pytest.mark.parametrize("number", [1, 2])
def test_a_claim_refuted_otherwise_than_by_its_sign_is_so_at_its_own_level_by_hand(number: int) -> None:
    """`p_refuted` (curves that cross) against 5% over the claims of the family, no more."""
    for p, verdict in ((0.051 / number, Verdict.UNDECIDED), (0.049 / number, Verdict.REFUTED)):
        asked = [ask(normal(0.1, p_refuted=p), "dominance"), *[ask(0.2) for _ in range(number - 1)]]
        assert decide(asked)[0].verdict is verdict
    assert decide([ask(normal(9.0, p_refuted=1e-9), "dominance")])[0].verdict is Verdict.VERIFIED  # its sign is shown


def test_a_p_value_as_large_as_the_level_still_decides_by_hand() -> None:
    at = 1 - 0.95
    assert decide([ask(normal(0.1, p_refuted=at), "dominance")])[0].verdict is Verdict.REFUTED
    one = Subgroups(conditions=("a", "b"), subgroups=(), p=at, method="", spread=None, left_out=0)
    assert decide_heterogeneity([one])[0].verdict is Verdict.VERIFIED


def test_an_adjusted_p_value_is_at_most_one_by_hand() -> None:
    one = Subgroups(conditions=("a", "b"), subgroups=(), p=0.5, method="", spread=None, left_out=0)
    assert decide_heterogeneity([one], tried=3)[0].p_adjusted == 1.0
    required = ask(0.0, relation="above", value=-0.1, family="requirement")
    assert decide([required], tried=3)[0].p_adjusted == 1.0
    assert decide([ask(0.1)], tried=3)[0].p_adjusted == 1.0


@pytest.mark.parametrize("family", ["main", "requirement"])
@pytest.mark.parametrize(
    ("ignoring", "as_worst", "is_undone"), [(3.0, 3.0, False), (3.0, 0.5, True), (0.5, 0.4, False)]
)
def test_missing_grades_that_undo_a_claim_are_counted_by_hand(
    ignoring: float, as_worst: float, is_undone: bool, family: Any
) -> None:
    """Shown both ways, shown only without them, and not shown without them either."""
    both = both_ways(normal(ignoring), normal(as_worst), missing={"new": 9})
    counted = dataclasses.replace(
        both, missing_to_undo=lambda is_shown: 7 + is_shown(normal(3.0)) - is_shown(normal(0))
    )
    asked = {"relation": "above", "family": family}
    (claim,) = decide([ask(counted, **asked)])
    assert [note for note in claim.notes if "8" in note] == list(claim.notes)
    assert bool(claim.notes) is is_undone
    for known in (both, dataclasses.replace(counted, ignoring=None)):  # nothing says how many, or nothing was ignored
        assert not decide([ask(known, **asked)])[0].notes


@given(
    estimates=st.lists(st.floats(-5, 5), min_size=1, max_size=8),
    margin=st.sampled_from([None, 0.5, 2.5]),
    main=st.integers(1, 8),
    directed=st.booleans(),
)
@settings(max_examples=200, deadline=None)
def test_verdict_and_interval_never_disagree(
    estimates: list[float], margin: float | None, main: int, directed: bool
) -> None:
    more: dict[str, Any] = {"margin": margin, "relation": "above" if directed else "differs"}
    asked = [ask(z, family="main" if k < main else "other", **more) for k, z in enumerate(estimates)]
    for claim in decide(asked):
        assert claim.interval is not None
        low, high = claim.interval.low, claim.interval.high
        excludes = low > 0 or high < 0
        inside = margin is not None and -margin < low and high < margin
        if claim.verdict is Verdict.EQUIVALENT:
            assert inside
        else:
            assert not inside
            assert excludes is (claim.verdict in (Verdict.VERIFIED, Verdict.REFUTED))
        assert (claim.verdict is Verdict.REFUTED) == (directed and excludes and high < 0 and not inside)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("means", "margin"),
    [([0.0, 0.0], 3.6), ([0.0, 3.6], 3.6), ([0.0, 0.0, 0.0], 4.0), ([0.0, 8.0, 8.0], 8.0)],
)
def test_family_wise_error_with_margins_recovers_truth(means: list[float], margin: float) -> None:
    """In at most 5% of pages is a difference shown where there is none, or "within" of one as large as the margin.

    Means are in standard errors of a difference. Each family by itself: the second is of another measure.
    """
    rng, pages = np.random.default_rng(11), 1200
    pairs = list(itertools.combinations(range(len(means)), 2))
    false = {"main": 0, "other": 0}
    for _ in range(pages):
        asked, truths = list[Asked](), list[float]()
        for family in false:
            seen = np.array(means) + rng.normal(size=len(means)) / math.sqrt(2)
            for a, b in pairs:
                asked.append(ask(float(seen[b] - seen[a]), margin=margin, family=family))
                truths.append(means[b] - means[a])
        wrong = set()
        for claim, one, gap in zip(decide(asked), asked, truths, strict=True):
            is_real = claim.verdict is Verdict.VERIFIED or (claim.p_adjusted or 1.0) <= 0.05
            if (is_real and gap == 0) or (claim.verdict is Verdict.EQUIVALENT and abs(gap) >= margin):
                wrong.add(one.question.family)
        for family in wrong:
            false[family] += 1
    for number in false.values():
        assert number / pages <= 0.05 + 2.6 * math.sqrt(0.05 * 0.95 / pages)


# ------------------------------------------------------------------ limits that are just touched


def fixed(low: float, high: float) -> Any:
    """An interval that is the same at every level."""
    return normal(
        (low + high) / 2, interval=lambda level: Interval(low=low, high=high, level=level, method="fixed")
    )  # fmt: skip


def test_a_limit_that_an_interval_touches_is_not_passed() -> None:
    for low, high in ((-0.02, 0.01), (-0.01, 0.02)):
        assert decide([ask(fixed(low, high), margin=0.02)])[0].verdict is Verdict.UNDECIDED
    inside = dataclasses.replace(fixed(-0.019, 0.019), p=None)
    assert decide([ask(inside, margin=0.02)])[0].verdict is Verdict.EQUIVALENT
    for low, high in ((0.0, 0.05), (-0.05, 0.0)):
        assert decide([ask(fixed(low, high))])[0].verdict is Verdict.UNDECIDED
        for relation in ("above", "below"):
            (claim,) = decide([ask(fixed(low, high), relation=relation, family="requirement")])
            assert claim.verdict is Verdict.UNDECIDED


def test_units_of_a_detectable_distance_that_falls_with_the_root_of_units_by_hand() -> None:
    """30 / sqrt(n) is 0.5 at n = 3,600."""
    found = normal(0.0, detectable=lambda n, tail, power: 30 / math.sqrt(n))
    assert units_needed(found, 0.5, tail=0.025) == 3600


@pytest.mark.parametrize(
    ("graded", "verdict"), [(3.0, Verdict.VERIFIED), (-3.0, Verdict.VERIFIED), (1.0, Verdict.UNDECIDED)]
)
def test_grades_alone_show_what_their_own_interval_excludes_by_hand(graded: float, verdict: Verdict) -> None:
    (claim,) = decide([ask(normal(0.5, as_graded=normal(graded)))])
    assert claim.as_graded is not None
    assert (claim.as_graded.estimate, claim.as_graded.verdict) == (graded, verdict)


def test_corrected_evidence_is_sized_by_its_interval_at_one_standard_error_by_hand() -> None:
    """A normal interval of standard error 2, whatever is stated beside it: 100 units and power 80% for 0.5."""
    corrected = normal(0.0, 2.0, labels=50, standard_error=99.0)
    assert needed_units(corrected, 0.5, alpha=0.05) == needed_units(normal(0.0, 2.0), 0.5, alpha=0.05) == 12559
