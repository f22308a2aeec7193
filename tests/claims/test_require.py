"""Requirements: each limit, sign and family by hand, and false passes at the limit."""

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from helpers.normal import ask, normal
from helpers.outcomes import outcomes
from richter.claims import METRICS, Asked, Blocked, Evidence, Question, decide, difference_evidence, mean_evidence
from richter.records import Claim, Verdict


def rule(evidence: Evidence | float, **more: Any) -> Asked:
    """A requirement on a mean score of one condition, of 50 items."""
    found = evidence if isinstance(evidence, Evidence) else normal(evidence, n=50)
    given = {"measure": "mean_score", "conditions": ("new",), "relation": "above", "family": "requirement"}
    return ask(found, **(given | more))


def level_of(claim: Claim) -> float:
    assert claim.interval is not None
    return claim.interval.level


@pytest.mark.parametrize(
    ("estimate", "relation", "verdict"),
    [
        (1.66, "above", "verified"),  # one-sided 5%: 1.645
        (1.63, "above", "undecided"),
        (-1.66, "above", "refuted"),
        (-1.63, "above", "undecided"),
        (-1.66, "below", "verified"),
        (1.66, "below", "refuted"),
    ],
)
def test_one_rule_is_judged_at_one_sided_alpha_by_hand(estimate: float, relation: str, verdict: str) -> None:
    (claim,) = decide([rule(estimate, relation=relation)])
    assert claim.verdict == verdict
    assert level_of(claim) == pytest.approx(0.9)
    assert claim.primary


def test_passing_needs_no_correction_and_violating_does_by_hand() -> None:
    claims = decide([rule(1.7), rule(1.7), rule(1.7), rule(1.7)])
    assert [c.verdict for c in claims] == [Verdict.VERIFIED] * 4
    claims = decide([rule(-1.7), rule(5.0), rule(5.0), rule(5.0)])  # alone 4.5%, among four 17.8%
    assert claims[0].verdict is Verdict.UNDECIDED
    assert claims[0].p_adjusted == pytest.approx(4 * ndtr(-1.7))
    assert claims[0].interval is not None
    assert 0.0 in claims[0].interval  # printed at the level that decided
    assert level_of(claims[0]) == pytest.approx(0.975)
    claims = decide([rule(-2.3), rule(5.0), rule(5.0), rule(5.0)])  # 1.1% times four
    assert claims[0].verdict is Verdict.REFUTED


def test_violations_step_down_by_hand() -> None:
    """Two rules far below their limits and one at z = -1.66: 4.8% at the last step, 14.5% at the first."""
    claims = decide([rule(-5.0), rule(-1.66), rule(-4.0)])
    assert [c.verdict for c in claims] == [Verdict.REFUTED] * 3
    assert [c.p_adjusted for c in claims] == pytest.approx([3 * ndtr(-5), ndtr(-1.66), 2 * ndtr(-4)])
    assert decide([rule(-5.0), rule(-1.64), rule(-4.0)])[1].verdict is Verdict.UNDECIDED


def test_other_families_cost_requirements_nothing() -> None:
    claims = decide([rule(1.65), *[ask(0.1, family=name) for name in ("main", "other", "subgroup")]])
    assert claims[0].verdict is Verdict.VERIFIED
    assert claims[0].family is not None
    assert (claims[0].family.name, claims[0].family.size) == ("requirement", 1)


def test_an_undecided_rule_has_the_interval_of_a_pass_beside_others_too() -> None:
    first, _ = decide([rule(normal(x, 0.01), value=-0.01) for x in (-0.02, 0.05)])
    assert first.verdict is Verdict.UNDECIDED
    assert level_of(first) == pytest.approx(0.9)


def test_a_p_value_at_the_level_is_enough() -> None:
    def interval(level: float) -> Any:
        return dataclasses.replace(normal(-0.03).interval(level), low=-0.05, high=-0.01)

    exact = normal(-0.03, interval=interval, p=lambda _: 2 * (1 - 0.95))
    assert decide([rule(exact)])[0].verdict is Verdict.REFUTED


def test_needed_is_for_no_loss_or_half_of_what_is_allowed_by_hand() -> None:
    z = float(ndtri(0.95) + ndtri(0.8))
    (claim,) = decide([rule(0.0, value=-0.5, conditions=("old", "new"))])
    assert claim.needed == math.ceil(z * z * 50 / 0.5**2)
    assert claim.min_detectable_difference == pytest.approx(z)
    (claim,) = decide([rule(0.5, value=0.5, relation="below")])
    assert claim.needed == math.ceil(z * z * 50 / 0.25**2)
    assert claim.needed_for == pytest.approx(0.25)


def test_the_smallest_detectable_difference_is_one_sided_by_hand() -> None:
    z = float(ndtri(0.95) + ndtri(0.8))
    (claim,) = decide([rule(normal(0.5, 0.01), value=0.5)])
    assert claim.min_detectable_difference == pytest.approx(0.01 * z)


@pytest.mark.parametrize("error", [0.05, 0.002])
@pytest.mark.parametrize(("relation", "limit", "truth"), [("above", 0.8, 0.9), ("below", 0.3, 0.15)])
def test_groups_needed_for_a_rate_by_hand(error: float, relation: str, limit: float, truth: float) -> None:
    """A one-sample test of a proportion, times the design effect of answers in groups, over the answers in a group."""
    rate, n, groups = 0.82 if relation == "above" else 0.27, 200, 40
    evidence = normal(rate, n=n, units=groups, unit="group", standard_error=error)
    (claim,) = decide([rule(evidence, measure="accuracy", value=limit, relation=relation)])
    assert claim.verdict is Verdict.UNDECIDED
    spread = ndtri(0.95) * math.sqrt(limit * (1 - limit)) + ndtri(0.8) * math.sqrt(truth * (1 - truth))
    seen = (rate * n + 0.5) / (n + 1)
    design = max(error**2 / (seen * (1 - seen) / n), 1.0)
    assert claim.needed == math.ceil((spread / (truth - limit)) ** 2 * design / (n / groups) - 1e-9)
    assert claim.needed_for == pytest.approx(abs(truth - limit))


def test_as_many_as_needed_were_enough_by_hand() -> None:
    reach = float(ndtri(0.95) + ndtri(0.8))
    for less, needed in ((1e-9, 50), (-1e-3, 51)):
        (claim,) = decide([rule(0.5 - reach, value=-reach * (1 + less), conditions=("old", "new"))])
        assert claim.needed == needed


def test_draws_and_groups_are_no_items_recovers_truth() -> None:
    """At the limit, 60 items x 10 draws: false passes of an error rate and of a loss stay at 5%."""
    rng = np.random.default_rng(3)
    passes = np.zeros(2)
    for _ in range(400):
        rate = rng.beta(0.4, 1.6, size=(60, 1, 1))
        wrong = outcomes(rng.random((60, 2, 10)) < rate, "error_rate")
        harder = rng.beta(0.4, 1.6, size=(60, 1, 1))
        pair = outcomes(rng.random((60, 2, 10)) < np.concatenate([rate, harder], axis=1), "error_rate")
        more = {"measure": "error_rate", "relation": "below"}
        level = rule(mean_evidence(wrong, "a", exact=True), conditions=("a",), value=0.2, **more)
        # both rates have mean 0.2: a loss of 0 stands at the limit
        loss = rule(difference_evidence(pair, "a", "b", exact=True), conditions=("a", "b"), value=0.0, **more)
        passes += [decide([q])[0].verdict is Verdict.VERIFIED for q in (level, loss)]
    assert (passes / 400 <= 0.05 + 2.6 * math.sqrt(0.05 * 0.95 / 400)).all()


def test_requirements_that_cannot_be_judged_leave_the_others_their_level() -> None:
    question = Question(
        measure="accuracy", conditions=("old", "new"), relation="above", value=-0.02, family="requirement"
    )
    asked = [
        Asked(question=question, metric=METRICS["accuracy"], evidence=Blocked(gate=gate, reason="x"))
        for gate in ("items", None)
    ]
    claims = decide([*asked, rule(-1.66)])
    assert [c.verdict for c in claims] == [Verdict.BLOCKED, Verdict.UNTESTABLE, Verdict.REFUTED]
    assert [c.primary for c in claims] == [True] * 3
