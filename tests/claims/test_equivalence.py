"""The equivalence rule stands in one place: what decides, prints and sizes it follows from there."""

import pytest
from scipy.stats import norm

from helpers.normal import ask, normal
from richter.claims import (
    decide,
    decide_by_limits,
    equivalence_level,
    equivalence_p,
    equivalence_size,
    is_inside,
    is_within,
    needed_units,
)
from richter.floors import paired_gap_labels
from richter.records import Interval, Verdict


def test_two_one_sided_tests_by_hand() -> None:
    """A normal estimate of 0.5 with standard error 1: z of 1.5 and 2.5 from -1 and 3 as ends."""
    assert equivalence_level(0.05) == pytest.approx(0.9)
    assert equivalence_p(normal(0.5), 2.0, value=1.0) == pytest.approx(norm.sf(1.5))
    assert equivalence_p(normal(0.5), 1.0) == pytest.approx(norm.sf(0.5))
    assert equivalence_p(normal(-0.5), 1.0) == pytest.approx(norm.sf(0.5))
    assert equivalence_size(0.05, 0.8) == pytest.approx((0.05, 0.9))


def test_both_ends_lie_inside_the_margin_by_hand() -> None:
    def span(low: float, high: float) -> Interval:
        return Interval(low=low, high=high, level=0.9, method="")

    assert is_inside(span(-0.9, 0.9), 1.0)
    assert not is_inside(span(-1.0, 0.9), 1.0)  # an end on the margin is not within it
    assert not is_inside(span(-0.9, 1.0), 1.0)
    assert is_inside(span(1.1, 2.9), 1.0, value=2.0)
    assert not is_inside(span(1.1, 3.1), 1.0, value=2.0)


def test_a_stricter_rule_changes_every_use_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test at half of alpha: 1.96 in place of 1.645 standard errors, and sizes as of half the level."""
    evidence = normal(0.0, 1.0)
    assert is_within(evidence, 1.8, alpha=0.05)
    before = decide([ask(evidence, margin=1.8)])[0]
    assert before.verdict is Verdict.EQUIVALENT
    sized = (
        needed_units(evidence, 0.5, alpha=0.025, margin=True),
        paired_gap_labels(0.02, 0.1, alpha=0.025, equivalence=True),
    )
    monkeypatch.setattr("richter.claims._equivalence.TAIL", 0.5)
    assert not is_within(evidence, 1.8, alpha=0.05)
    assert is_within(evidence, 2.0, alpha=0.05)
    assert equivalence_p(evidence, 1.8) == pytest.approx(2 * norm.sf(1.8))
    assert decide([ask(evidence, margin=1.8)])[0].verdict is Verdict.UNDECIDED
    after = decide([ask(evidence, margin=2.0)])[0]
    assert after.verdict is Verdict.EQUIVALENT
    assert after.interval is not None
    assert after.interval.level == pytest.approx(0.95)
    assert (
        needed_units(evidence, 0.5, alpha=0.05, margin=True),
        paired_gap_labels(0.02, 0.1, alpha=0.05, equivalence=True),
    ) == sized


@pytest.mark.parametrize(
    ("low", "high", "above", "below"),
    [
        (0.2, 0.4, "verified", "refuted"),
        (0.0, 0.4, "verified", "refuted"),  # a limit is already rejected
        (-0.4, 0.0, "refuted", "verified"),
        (-0.1, 0.1, "undecided", "undecided"),
        (0.3, 0.1, "undecided", "undecided"),  # crossed
        (-0.1, -0.3, "undecided", "undecided"),
        (0.0, 0.0, "undecided", "undecided"),
        (0.1, 0.1, "verified", "refuted"),
    ],
)
def test_limits_that_hold_at_every_look_decide_by_hand(low: float, high: float, above: str, below: str) -> None:
    interval = Interval(low=low + 1, high=high + 1, level=0.95, method="")
    assert decide_by_limits(interval, value=1.0, above=True) == above
    assert decide_by_limits(interval, value=1.0, above=False) == below


def test_several_intervals_decide_what_each_decides_by_hand() -> None:
    up, down = (Interval(low=low, high=low + 1, level=0.95, method="") for low in (0.5, -1.5))
    assert decide_by_limits(up, up, value=0.0, above=True) is Verdict.VERIFIED
    assert decide_by_limits(down, down, value=0.0, above=True) is Verdict.REFUTED
    assert decide_by_limits(up, down, value=0.0, above=True) is Verdict.UNDECIDED
    assert decide_by_limits(up, None, value=0.0, above=True) is Verdict.UNDECIDED
