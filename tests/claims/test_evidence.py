"""One estimator's answer at any level: p-values by inversion, being within a margin, and missing grades both ways."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr, ndtri
from scipy.stats import norm

from helpers.normal import ask, normal
from richter.claims import (
    Evidence,
    both_ways,
    decide,
    is_within,
    one_sided,
    p_value,
)
from richter.claims._question import joint_freedom
from richter.records import Interval, Verdict


def _normal(level: float) -> Interval:
    reach = float(ndtri(0.5 + level / 2))
    return Interval(low=2.0 - reach, high=2.0 + reach, level=level, method="normal")


@pytest.mark.parametrize("value", [-3.0, 0.0, 1.5, 2.5])
def test_p_value_against_scipy(value: float) -> None:
    assert p_value(Evidence(estimate=2.0, interval=_normal), value) == pytest.approx(
        2 * norm.sf(abs(2 - value)), rel=1e-6
    )


def test_the_p_value_of_an_interval_that_excludes_or_holds_everything() -> None:
    never = Evidence(estimate=2.0, interval=lambda level: Interval(low=1.0, high=3.0, level=level, method="fixed"))
    assert p_value(never, 0.0) == 1e-12
    assert p_value(never, 2.5) == p_value(never, 3.0) == 1.0


def test_one_sided_p_values_by_hand() -> None:
    evidence = normal(0.1, 0.01)
    assert [one_sided(evidence, 0.08, above=up) for up in (True, False)] == pytest.approx([ndtr(-2), ndtr(2)])
    assert [one_sided(evidence, 0.12, above=up) for up in (True, False)] == pytest.approx([ndtr(2), ndtr(-2)])
    assert [one_sided(evidence, 0.1, above=up) for up in (True, False)] == [0.5, 0.5]
    skew = normal(0.1, p=lambda _: 0.9)  # the estimate is on neither side of itself
    assert [one_sided(skew, 0.1, above=up) for up in (True, False)] == pytest.approx([0.55, 0.55])


@pytest.mark.parametrize("value", [0.0, 3.0])
def test_being_within_a_margin_is_two_one_sided_tests_by_hand(value: float) -> None:
    """At 5% each the interval is that at 90%, 1.645 to both sides; the ends themselves are outside."""
    for estimate, margin, is_inside in (
        (0.0, 1.65, True), (0.0, 1.64, False), (0.5, 2.15, True), (0.5, 2.14, False), (-0.5, 2.15, True),
        (-0.5, 2.14, False),
    ):  # fmt: skip
        assert is_within(normal(value + estimate), margin, alpha=0.05, value=value) is is_inside
    assert is_within(normal(0.0), 2.33, alpha=0.01) is True  # 2.326
    assert is_within(normal(0.0), 2.32, alpha=0.01) is False
    ends = Evidence(estimate=0.0, interval=lambda level: Interval(low=-0.02, high=0.01, level=level, method="fixed"))
    assert not is_within(ends, 0.02, alpha=0.05)
    assert is_within(ends, 0.021, alpha=0.05)


def test_degrees_of_freedom_of_a_sum_by_hand() -> None:
    """Welch: variances 1 and 4 with 10 and 20 degrees, 25 / (1 / 10 + 16 / 20); no error takes none."""
    assert joint_freedom((1.0, 10.0), (2.0, 20.0)) == pytest.approx(25 / 0.9)
    assert joint_freedom((1.0, 10.0), (None, 3.0)) == pytest.approx(10.0)
    assert joint_freedom((0.0, 10.0)) == math.inf


# ------------------------------------------------------------------ both ways


def test_both_ways_has_the_hull_and_the_larger_p_by_hand() -> None:
    one, two = normal(3.0), normal(2.0, 1.5)
    found = both_ways(one, two, missing={"new": 4})
    for level in (0.8, 0.95):
        a, b, hull = one.interval(level), two.interval(level), found.interval(level)
        assert (hull.low, hull.high, hull.level) == (min(a.low, b.low), max(a.high, b.high), level)
    assert p_value(found, 0.0) == pytest.approx(2 * ndtr(-2 / 1.5))  # 0.18, not 0.0027
    assert p_value(found, 2.5) == 1.0  # one lies above it and one below
    assert p_value(found, 2.0) == p_value(found, 3.0) == 1.0
    assert (found.estimate, found.missing, found.ignoring, found.as_worst) == (3.0, {"new": 4}, one, two)


@given(
    estimates=st.tuples(st.floats(-6, 6), st.floats(-6, 6)),
    errors=st.tuples(st.floats(0.2, 3), st.floats(0.2, 3)),
    value=st.floats(-3, 3),
    alpha=st.sampled_from([0.01, 0.05, 0.2]),
)
@settings(max_examples=200, deadline=None)
def test_the_p_value_of_both_ways_belongs_to_its_interval(
    estimates: tuple[float, float], errors: tuple[float, float], value: float, alpha: float
) -> None:
    found = both_ways(normal(estimates[0], errors[0]), normal(estimates[1], errors[1]), missing={"b": 1})
    p = p_value(found, value)
    if abs(p - alpha) > 1e-9:
        assert (p <= alpha) == (value not in found.interval(1 - alpha))


@pytest.mark.parametrize(
    ("worst", "verdict"),
    [(3.0, "verified"), (1.9, "undecided"), (0.0, "undecided"), (-3.0, "undecided"), (2.0, "verified")],
)
def test_a_difference_is_shown_only_where_both_ways_show_it_by_hand(worst: float, verdict: str) -> None:
    (claim,) = decide([ask(both_ways(normal(3.0), normal(worst), missing={"new": 4}))])
    assert claim.verdict == verdict
    assert claim.missing == {"new": 4}
    assert claim.estimate == 3.0


def test_equivalence_needs_both_ways_inside_by_hand() -> None:
    """Half-width 1.645: ignoring them 0 is inside 2, at worst 0.3 is inside and 0.4 is not."""
    for worst, verdict in ((0.3, Verdict.EQUIVALENT), (0.4, Verdict.UNDECIDED), (-0.4, Verdict.UNDECIDED)):
        (claim,) = decide([ask(both_ways(normal(0.0), normal(worst), missing={"new": 4}), margin=2.0)])
        assert claim.verdict is verdict
    (claim,) = decide([ask(both_ways(normal(0.4), normal(0.0), missing={"new": 4}), margin=2.0)])
    assert claim.verdict is Verdict.UNDECIDED


def test_a_requirement_is_met_or_violated_only_both_ways_by_hand() -> None:
    more = {"relation": "above", "family": "requirement"}
    for one, two, verdict in ((2.0, 1.7, "verified"), (2.0, 1.6, "undecided"), (-2.0, -1.7, "refuted"),
                              (-1.6, -3.0, "undecided"), (2.0, -2.0, "undecided")):  # fmt: skip
        (claim,) = decide([ask(both_ways(normal(one), normal(two), missing={"new": 4}), **more)])
        assert claim.verdict == verdict
