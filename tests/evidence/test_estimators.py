"""Suites, subsets and what a policy is where nobody says more: worked by hand."""

import dataclasses

import numpy as np
import pytest

from helpers.outcomes import dataset_of, outcomes
from richter.claims import Outcomes, Question
from richter.evidence import Policy, SeveritySettings, evidence, metric_of

PAIR = Question(measure="accuracy", conditions=("a", "b"))


def in_domains(values: Outcomes, *sizes: int) -> Outcomes:
    """The first items are of the domain d0, the next of d1, and so on."""
    return dataclasses.replace(
        values, stratum=np.repeat(np.arange(len(sizes)), sizes), strata=tuple(f"d{k}" for k in range(len(sizes)))
    )


def test_a_suite_weighs_the_differences_of_its_benchmarks_by_hand() -> None:
    """In d0 b is right in all of 20 and a in half, in d1 of 10 b is right in 4 and a in 6: 3/4 x 0.5 - 1/4 x 0.2."""
    x = np.zeros((30, 2))
    x[:20, 1], x[:20:2, 0] = 1, 1
    x[20:26, 0], x[20:24, 1] = 1, 1
    dataset = dataset_of(in_domains(outcomes(x), 20, 10))
    found = evidence(dataset, PAIR, Policy(suite={"d0": 3.0, "d1": 1.0})).known
    assert found.estimate == pytest.approx(0.75 * 0.5 - 0.25 * 0.2)
    other = evidence(dataset, dataclasses.replace(PAIR, family="other"), Policy(suite={"d0": 3.0, "d1": 1.0})).known
    assert other.estimate == pytest.approx((10 - 2) / 30)  # a suite is of the main measure only


def test_a_suite_weighs_the_bill_by_benchmark_by_hand() -> None:
    """Four items of d0 at 1 and 2, two of d1 at 10 and 5, of which a lacks one: means 1 and 2, 10 and 5.

    With weights 1 and 3 the bills are 1 + 30 and 2 + 15.
    """
    x = np.array([[1.0, 2.0]] * 4 + [[10.0, 5.0], [np.nan, 100.0]])
    question = Question(measure="money", conditions=("a", "b"))
    dataset = dataset_of(in_domains(outcomes(np.ones((6, 2))), 4, 2), outcomes(x, "money"))
    assert metric_of(dataset, "money").is_cost
    found = evidence(dataset, question, Policy(suite={"d0": 1.0, "d1": 3.0}, min_shared=0.5, missing="shared")).known
    assert found.estimate == pytest.approx((2 + 15) / (1 + 30) - 1)


def test_a_question_on_a_subset_is_of_its_items_only_by_hand() -> None:
    x = np.zeros((30, 2))
    x[:20, 1], x[20:, 0] = 1, 1
    dataset = dataset_of(in_domains(outcomes(x), 20, 10))
    found = [
        evidence(dataset, dataclasses.replace(PAIR, column="domain", part=part, family="subgroup")).known
        for part in ("d0", "d1")
    ]
    assert [(e.estimate, e.n) for e in found] == [(1.0, 20), (-1.0, 10)]


def test_a_policy_states_nothing_unless_told() -> None:
    policy, settings = Policy(), SeveritySettings()
    assert (policy.tried, policy.min_shared, policy.about, policy.missing) == (1, 0.5, "new-items", None)
    assert policy.is_both_ways
    vouched = (policy.trust_ids, policy.trust_raters, policy.trust_labels, policy.trust_reading)
    assert not any((*vouched, policy.is_gate, policy.unpaired, policy.adjust))
    assert (settings.n_resamples, settings.seed, settings.level, settings.max_error_gap) == (2000, 0, 0.95, 0.05)
    assert SeveritySettings(mapper=map) == settings  # type: ignore[arg-type]  # where work runs changes no result
    assert [Policy(missing=way).is_both_ways for way in ("both-ways", "shared", "at-random")] == [True, False, False]
