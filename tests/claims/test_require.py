"""Requirements: each limit, sign and family by hand, and false passes at the limit."""

import dataclasses
import math

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from helpers.outcomes import outcomes
from richter.claims import METRICS, Evidence, Question, difference_evidence, mean_evidence, require, unjudged
from richter.records import Interval, Verdict


def ask(
    estimate: float, value: float = 0.0, relation: str = "above", conditions: tuple[str, ...] = ("new",)
) -> Question:
    def interval(level: float) -> Interval:
        reach = float(ndtri(0.5 + level / 2))
        return Interval(low=estimate - reach, high=estimate + reach, level=level, method="normal")

    evidence = Evidence(
        estimate=estimate,
        interval=interval,
        p=lambda x: 2 * float(ndtr(-abs(estimate - x))),
        n=50,
        units=50,
        standard_error=1.0,
    )
    return Question(
        metric=METRICS["mean_score"],
        conditions=conditions,
        evidence=evidence,
        relation=relation,
        value=value,  # type: ignore[arg-type]
    )


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
    (claim,) = require([ask(estimate, relation=relation)])
    assert claim.verdict == verdict
    assert claim.interval is not None
    assert claim.interval.level == pytest.approx(0.9)


def test_passing_needs_no_correction_and_violating_does_by_hand() -> None:
    claims = require([ask(1.7), ask(1.7), ask(1.7), ask(1.7)])
    assert [c.verdict for c in claims] == [Verdict.VERIFIED] * 4
    claims = require([ask(-1.7), ask(5.0), ask(5.0), ask(5.0)])  # alone 4.5%, among four 17.8%
    assert claims[0].verdict is Verdict.UNDECIDED
    assert claims[0].p_adjusted == pytest.approx(4 * ndtr(-1.7))
    assert claims[0].interval is not None
    assert 0.0 in claims[0].interval  # printed at the level that decided
    claims = require([ask(-2.3), ask(5.0), ask(5.0), ask(5.0)])  # 1.1% times four
    assert claims[0].verdict is Verdict.REFUTED


def test_needed_is_for_no_loss_or_half_of_what_is_allowed_by_hand() -> None:
    z = float(ndtri(0.95) + ndtri(0.8))
    (claim,) = require([ask(0.0, value=-0.5, conditions=("old", "new"))])
    assert claim.needed == math.ceil(z * z * 50 / 0.5**2)
    (claim,) = require([ask(0.5, value=0.5, relation="below")])
    assert claim.needed == math.ceil(z * z * 50 / 0.25**2)
    assert claim.needed_for == pytest.approx(0.25)


@pytest.mark.parametrize("error", [0.05, 0.002])
@pytest.mark.parametrize(("relation", "limit", "truth"), [("above", 0.8, 0.9), ("below", 0.3, 0.15)])
def test_groups_needed_for_a_rate_by_hand(error: float, relation: str, limit: float, truth: float) -> None:
    """A one-sample test of a proportion, times the design effect of answers in groups, over the answers in a group."""
    rate, n, groups = 0.82 if relation == "above" else 0.27, 200, 40
    question = ask(rate, value=limit, relation=relation)
    evidence = dataclasses.replace(question.evidence, n=n, units=groups, unit="group", standard_error=error)
    (claim,) = require([dataclasses.replace(question, metric=METRICS["accuracy"], evidence=evidence)])
    assert claim.verdict is Verdict.UNDECIDED
    spread = ndtri(0.95) * math.sqrt(limit * (1 - limit)) + ndtri(0.8) * math.sqrt(truth * (1 - truth))
    seen = (rate * n + 0.5) / (n + 1)
    design = max(error**2 / (seen * (1 - seen) / n), 1.0)
    assert claim.needed == math.ceil((spread / (truth - limit)) ** 2 * design / (n / groups) - 1e-9)
    assert claim.needed_for == pytest.approx(abs(truth - limit))


def test_as_many_as_needed_were_enough_by_hand() -> None:
    reach = float(ndtri(0.95) + ndtri(0.8))
    for less, said in ((1e-9, "50 items were enough to show"), (-1e-3, "51 items would show")):
        question = ask(0.5 - reach, value=-reach * (1 + less), conditions=("old", "new"))
        (claim,) = require([question])
        assert said in claim.sentence


def test_draws_and_groups_are_no_items_recovers_truth() -> None:
    """At the limit, 60 items x 10 draws: false passes of an error rate and of a loss stay at 5%."""
    rng = np.random.default_rng(3)
    passes = np.zeros(2)
    for _ in range(400):
        rate = rng.beta(0.4, 1.6, size=(60, 1, 1))
        wrong = outcomes(rng.random((60, 2, 10)) < rate, "error_rate")
        harder = rng.beta(0.4, 1.6, size=(60, 1, 1))
        pair = outcomes(rng.random((60, 2, 10)) < np.concatenate([rate, harder], axis=1), "error_rate")
        level = Question(
            metric=wrong.metric,
            conditions=("a",),
            evidence=mean_evidence(wrong, "a", exact=True),
            relation="below",
            value=0.2,
        )
        # both rates have mean 0.2: a loss of 0.05 stands at the limit after adding 0.05 to the second
        loss = Question(
            metric=pair.metric,
            conditions=("a", "b"),
            evidence=difference_evidence(pair, "a", "b", exact=True),
            relation="below",
            value=0.0,
        )
        passes += [require([q])[0].verdict is Verdict.VERIFIED for q in (level, loss)]
    assert (passes / 400 <= 0.05 + 2.6 * math.sqrt(0.05 * 0.95 / 400)).all()


def test_sentences_and_what_cannot_be_judged() -> None:
    (claim,) = require([ask(3.0, value=0.5)])
    assert claim.sentence == "mean score of new above 0.500: met; 3.000 [1.355, 4.645] on 50 items."
    blocked = unjudged(METRICS["accuracy"], ("old", "new"), "above", -0.02, why="other order", blocked_by="alignment")
    assert blocked.verdict is Verdict.BLOCKED
    assert blocked.sentence == "accuracy of new no worse than old by 2.0 points: blocked, other order."
    assert unjudged(METRICS["ece"], ("new",), "below", 0.1, why="nothing").verdict is Verdict.UNTESTABLE
