"""Families, deciding intervals, sizes and sentences: a wrong threshold, sign or family fails one of these."""

import dataclasses
import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr, ndtri
from scipy.stats import t as student

from richter.claims import METRICS, Evidence, Question, decide, nothing_open, reach_of, units_for
from richter.claims._decide import visible
from richter.records import Interval, Verdict


def normal(estimate: float, error: float = 1.0, *, n: int = 100) -> Evidence:
    """A normal estimate: everything that follows can be computed by hand."""

    def interval(level: float) -> Interval:
        reach = float(ndtri(0.5 + level / 2)) * error
        return Interval(low=estimate - reach, high=estimate + reach, level=level, method="normal")

    return Evidence(
        estimate=estimate,
        interval=interval,
        p=lambda value: 2 * float(ndtr(-abs(estimate - value) / error)),
        n=n,
        units=n,
        standard_error=error,
    )


def ask(estimate: float, measure: str = "mean_severity", **more: object) -> Question:
    return Question(metric=METRICS[measure], conditions=("old", "new"), evidence=normal(estimate), **more)  # type: ignore[arg-type]


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
    assert "equally severe over all answers within 1.650" in claim.sentence


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


def test_real_but_within_the_margin() -> None:
    (claim,) = decide([ask(3.0, margin=6.0)])
    assert claim.verdict is Verdict.EQUIVALENT
    assert "real but within the margin" in claim.sentence


def test_secondary_claims_wait_for_all_primary_ones() -> None:
    claims = decide([ask(3.0), ask(1.0), ask(9.0, "catastrophic_rate", primary=False)])
    assert claims[2].verdict is Verdict.UNDECIDED
    assert claims[2].interval is None  # nothing was decided
    assert claims[2].plain_interval is not None
    assert "was not tested" in claims[2].sentence
    claims = decide([ask(3.0), ask(2.5), ask(2.0, "catastrophic_rate", primary=False)])
    assert claims[2].verdict is Verdict.VERIFIED
    assert claims[2].interval is not None
    assert claims[2].interval.level == pytest.approx(0.95)


@pytest.mark.parametrize(("first", "margin", "settled"), [(0.1, 3.0, Verdict.EQUIVALENT), (9.0, 3.0, Verdict.VERIFIED)])
def test_secondary_claims_have_a_fifth_of_alpha_while_a_test_of_a_margin_is_open_by_hand(
    first: float, margin: float, settled: Verdict
) -> None:
    """The other test of the first pair may still be of a truth: |z| must pass 2.576, at 1%."""
    for z, verdict in ((2.57, Verdict.UNDECIDED), (2.58, Verdict.VERIFIED)):
        claims = decide([ask(first, margin=margin), ask(z, "catastrophic_rate", primary=False)])
        assert claims[0].verdict is settled
        assert claims[1].verdict is verdict
        assert claims[1].interval is not None
        assert claims[1].interval.level == pytest.approx(0.99)
        assert claims[1].p_adjusted == pytest.approx(5 * 2 * ndtr(-z))


def test_primary_claims_with_a_margin_leave_a_fifth_to_those_that_come_after_by_hand() -> None:
    """|z| must pass 2.054, at 4%, where a claim comes after; its own p is adjusted for that."""
    for z, verdict in ((2.05, Verdict.UNDECIDED), (2.06, Verdict.VERIFIED)):
        claims = decide([ask(z, margin=0.5), ask(9.0, "catastrophic_rate", primary=False)])
        assert claims[0].verdict is verdict
        assert claims[0].interval is not None
        assert claims[0].interval.level == pytest.approx(0.96)
        assert claims[0].p_adjusted == pytest.approx(2 * ndtr(-z) / 0.8)
    # without a margin, or with one on the second alone, nothing is left over
    for after in (None, 0.5):
        claims = decide([ask(1.97), ask(1.97, "catastrophic_rate", margin=after, primary=False)])
        assert [c.verdict for c in claims] == [Verdict.VERIFIED] * 2


def test_secondary_claims_have_all_of_alpha_where_a_pair_is_real_and_within_its_margin_by_hand() -> None:
    claims = decide([ask(9.0, margin=20.0), ask(1.97, "catastrophic_rate", primary=False)])
    assert [c.verdict for c in claims] == [Verdict.EQUIVALENT, Verdict.VERIFIED]


@pytest.mark.parametrize(
    ("estimate", "relation", "verdict"),
    [(3.0, "above", "verified"), (-3.0, "above", "refuted"), (-3.0, "below", "verified"), (3.0, "below", "refuted")],
)
def test_directed_claims_are_verified_or_refuted(estimate: float, relation: str, verdict: str) -> None:
    (claim,) = decide([ask(estimate, relation=relation)])
    assert claim.verdict == verdict


def test_the_sentence_agrees_with_the_sign() -> None:
    up, down = decide([ask(5.0), ask(-5.0)])
    assert up.sentence.startswith("new is more severe over all answers than old: +5.000")
    assert down.sentence.startswith("new is less severe over all answers than old: -5.000")
    better, worse = decide([ask(0.5, "accuracy"), ask(-0.5, "accuracy")], level=0.5)
    assert better.verdict is Verdict.UNDECIDED
    assert better.sentence.startswith("Whether new is more accurate than old is undecided: +50.0 points")
    assert worse.sentence.startswith("Whether new is more accurate than old is undecided: -50.0 points")


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
        assert claim.could_show == pytest.approx(z)
    z = max(ndtri(0.975) + ndtri(0.8), ndtri(0.95) + ndtri(0.9))
    (claim,) = decide([ask(0.3, margin=0.25)])
    assert claim.needed == math.ceil(100 * (z / 0.25) ** 2)
    assert decide([ask(3.0)])[0].needed is None


def test_what_the_whole_scale_would_not_have_shown_is_not_said_by_hand() -> None:
    """A standard error of 1 shows 2.80 of a mean severity (0 to 4), nothing of a rate, and any length of a number."""
    z = float(ndtri(0.975) + ndtri(0.8))
    told = [decide([ask(0.1, measure)])[0].could_show for measure in ("mean_severity", "accuracy", "tokens")]
    assert told == [pytest.approx(z), None, pytest.approx(z)]
    wide = decide([Question(metric=METRICS["mean_severity"], conditions=("a", "b"), evidence=normal(0.1, 4.001 / z))])
    assert wide[0].could_show is None
    marks = dataclasses.replace(METRICS["mean_score"], low=1.0, high=5.0)
    of_marks = decide([Question(metric=marks, conditions=("a", "b"), evidence=normal(0.1, 4.5 / z))])
    assert of_marks[0].could_show is None  # 4 is the whole scale


def test_the_whole_scale_and_a_power_that_is_just_met_by_hand() -> None:
    assert [visible(METRICS["mean_severity"], reach) for reach in (4.0, 4.0001)] == [4.0, None]
    for n in (7, 30):  # ten units' variance over the square of a distance of as many standard errors
        assert units_for(n, reach_of(n - 1, 0.025, 0.8), tail=0.025, power=0.8, freedom=1.0) == n


@pytest.mark.parametrize("each", [0.5, 1.0])
def test_the_smallest_number_of_units_by_trying_all(each: float) -> None:
    """Of 60 variances: the first n whose t has the power, each unit bringing one degree of freedom or half of one."""
    n = np.arange(math.ceil(5 / each), 2000)
    reach = student.isf(0.025, n * each - 1) + student.isf(0.2, n * each - 1)
    for variance in np.geomspace(0.2, 80, 60):
        least = n[n >= variance * reach**2][0]
        assert units_for(variance, 1.0, tail=0.025, power=0.8, freedom=each) == least


@pytest.mark.parametrize(("error", "freedom"), [(e, f) for e in (0.01, 0.05, 0.6, 1.2) for f in (9.0, 19.0)])
def test_units_that_a_t_test_needs_by_hand(error: float, freedom: float) -> None:
    """20 units of which every one brings half a degree of freedom, or one: counted up until t has its power."""
    evidence = dataclasses.replace(normal(0.0, error, n=20), freedom=freedom)
    (claim,) = decide([Question(metric=METRICS["mean_severity"], conditions=("a", "b"), evidence=evidence)])
    aim, each = claim.needed_for, (freedom + 1) / 20
    assert aim is not None

    def enough(n: int) -> bool:
        free = n * each - 1
        reach = student.isf(0.025, free) + student.isf(0.2, free)
        return bool(free >= 4 and n >= 20 * error**2 * (reach / aim) ** 2)

    assert claim.needed == next(n for n in range(1, 10**5) if n * each > 1 and enough(n))
    free = evidence.freedom
    assert claim.could_show == pytest.approx((student.isf(0.025, free) + student.isf(0.2, free)) * error)


def test_one_condition_by_hand() -> None:
    question = Question(
        metric=METRICS["accuracy"], conditions=("new",), evidence=normal(0.9, 0.01), relation="above", value=0.8
    )
    (claim,) = decide([question])
    assert claim.verdict is Verdict.VERIFIED
    assert claim.sentence == "accuracy of new is above 80.0%: 90.0% [88.0, 92.0] on 100 items."


@given(
    estimates=st.lists(st.floats(-5, 5), min_size=1, max_size=8),
    margin=st.sampled_from([None, 0.5, 2.5]),
    primaries=st.integers(1, 8),
    directed=st.booleans(),
)
@settings(max_examples=200, deadline=None)
def test_verdict_and_interval_never_disagree(
    estimates: list[float], margin: float | None, primaries: int, directed: bool
) -> None:
    relation = "above" if directed else "differs"
    claims = decide([ask(z, margin=margin, relation=relation, primary=k < primaries) for k, z in enumerate(estimates)])
    for claim in claims:
        if claim.interval is None:
            assert claim.verdict is Verdict.UNDECIDED
            continue
        low, high = claim.interval.low, claim.interval.high
        excludes = low > 0 or high < 0
        inside = margin is not None and -margin < low and high < margin
        if claim.verdict is Verdict.EQUIVALENT:
            assert inside
        else:
            assert not inside
            assert excludes is (claim.verdict in (Verdict.VERIFIED, Verdict.REFUTED))
        assert (claim.verdict is Verdict.REFUTED) == (directed and excludes and high < 0 and not inside)


@pytest.mark.parametrize(
    ("means", "margin", "after"),
    [
        ([0.0, 0.0], 3.6, None),
        ([0.0, 3.6], 3.6, None),
        ([0.0, 3.6], 3.6, [0.0, 0.0]),  # 8% when the secondary claim had all of alpha after a verified difference
        ([0.0, 0.0, 0.0], 4.0, None),
        ([0.0, 8.0, 8.0], 8.0, [0.0, 0.0, 0.0]),
    ],
)
def test_family_wise_error_with_margins_recovers_truth(
    means: list[float], margin: float, after: list[float] | None
) -> None:
    """In at most 5% of pages is a difference shown where there is none, or "within" of one as large as the margin.

    Means are in standard errors of a difference.
    """
    rng, pages, false = np.random.default_rng(11), 1200, 0
    pairs = list(itertools.combinations(range(len(means)), 2))
    for _ in range(pages):
        questions, truths = list[Question](), list[float]()
        for measure, truth in (("mean_severity", means), ("catastrophic_rate", after)):
            if truth is not None:
                seen = np.array(truth) + rng.normal(size=len(truth)) / math.sqrt(2)
                first = truth is means
                for a, b in pairs:
                    questions.append(
                        ask(float(seen[b] - seen[a]), measure, margin=margin if first else None, primary=first)
                    )
                    truths.append(truth[b] - truth[a])
        for claim, gap in zip(decide(questions), truths, strict=True):
            real = claim.verdict is Verdict.VERIFIED or "real but within" in claim.sentence
            if (real and gap == 0) or (claim.verdict is Verdict.EQUIVALENT and abs(gap) >= margin):
                false += 1
                break
    assert false / pages <= 0.05 + 2.6 * math.sqrt(0.05 * 0.95 / pages)


@pytest.mark.parametrize(
    ("z", "margin", "left"),
    [(9.0, None, 0), (1.0, None, 1), (9.0, 3.0, 1), (0.1, 3.0, 1), (9.0, 20.0, 0), (1.0, 2.0, 2)],
)
def test_what_follows_on_a_page_waits_for_both_tests_of_a_margin_by_hand(
    z: float, margin: float | None, left: int
) -> None:
    """`left` null hypotheses are not rejected: of 9 within 3 one, of 0.1 within 3 the other, of 9 within 20 none."""
    assert nothing_open(decide([ask(z, margin=margin)]), level=0.95) is (left == 0)


def test_a_margin_that_is_just_shown_is_not_open() -> None:
    """Both tests of an equivalent pair: the one of a difference at its level exactly."""
    (claim,) = decide([Question(metric=METRICS["accuracy"], conditions=("a", "b"), evidence=normal(0.0), margin=9.0)])
    assert claim.verdict is Verdict.EQUIVALENT
    for p, done in ((1 - 0.95, True), (0.0501, False)):
        assert nothing_open([dataclasses.replace(claim, p_adjusted=p)], level=0.95) is done
