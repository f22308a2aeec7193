"""Suites, subsets and what a policy is where nobody says more: worked by hand."""

import dataclasses

import numpy as np
import pytest

from helpers.outcomes import dataset_of, outcomes
from richter.claims import Outcomes, Question, decide
from richter.errors import InputError
from richter.evidence import (
    Policy,
    SeveritySettings,
    evidence,
    has_values,
    joint_law_of,
    margins_of,
)

PAIR = Question(measure="accuracy", conditions=("a", "b"))


def in_domains(values: Outcomes, *sizes: int) -> Outcomes:
    """The first items are of the domain d0, the next of d1, and so on."""
    return dataclasses.replace(
        values, stratum=np.repeat(np.arange(len(sizes)), sizes), strata=tuple(f"d{k}" for k in range(len(sizes)))
    )


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
    assert (policy.tried, policy.min_shared, policy.missing) == (1, 0.5, None)
    assert policy.is_both_ways
    vouched = (policy.trust_ids, policy.trust_raters, policy.trust_labels, policy.trust_reading)
    assert not any((*vouched, policy.is_gate, policy.unpaired))
    assert (settings.n_resamples, settings.seed, settings.level, settings.max_error_gap) == (2000, 0, 0.95, 0.05)
    assert SeveritySettings(mapper=map) == settings  # type: ignore[arg-type]  # where work runs changes no result
    assert [Policy(missing=way).is_both_ways for way in ("both-ways", "shared", "at-random")] == [True, False, False]


def bills(n: int = 30) -> tuple[Outcomes, Outcomes]:
    """Grades of two conditions, and what each answer cost."""
    rng = np.random.default_rng(0)
    return outcomes((rng.random((n, 2)) < 0.7) * 1.0), outcomes(rng.lognormal(size=(n, 2)), "money")


def test_what_the_data_hold_of_a_measure_by_its_source() -> None:
    grades, costs = bills()
    sure = {("q0000", "a", 0): 0.5}
    dataset = dataset_of(grades, costs, outcomes(np.ones((30, 2)), "latency"), confidence=sure)
    bare = dataset_of(outcomes(np.ones((30, 2)), "mean_score"))
    measures = ("accuracy", "ece", "latency", "money", "mean_severity", "mean_score", "steps")
    assert [has_values(dataset, m) for m in measures] == [True, True, True, True, False, False, False]
    assert [has_values(bare, m) for m in measures] == [False, False, False, False, False, True, False]
    assert has_values(dataset_of(outcomes(np.ones((30, 2)), "mean_severity")), "mean_severity")


def test_a_margin_without_a_name_is_of_the_measure_that_leads() -> None:
    grades, costs = bills()
    dataset = dataset_of(grades, costs)
    assert margins_of(dataset, None) == {}
    assert margins_of(dataset, 0.02) == {"accuracy": 0.02}
    assert margins_of(dataset, 0.02, "error_rate") == {"error_rate": 0.02}
    assert margins_of(dataset, {"": 0.02, "money": 0.1}) == {"accuracy": 0.02, "money": 0.1}
    with pytest.raises(InputError, match="given twice"):
        margins_of(dataset, {"": 0.02, "accuracy": 0.1})


def test_only_plain_paired_differences_of_one_control_have_a_joint_law() -> None:
    """Not one pair alone, nor unpaired differences."""
    x = (np.random.default_rng(2).random((60, 4)) < [0.5, 0.6, 0.7, 0.8]) * 1.0
    whole = dataset_of(in_domains(outcomes(x), 40, 20))
    pairs = [("a", name) for name in "bcd"]

    def law(policy: Policy, number: int = 3) -> bool:
        asked = [evidence(whole, Question(measure="accuracy", conditions=pair), policy) for pair in pairs[:number]]
        return joint_law_of(whole, asked, policy) is not None

    assert law(Policy())
    assert law(Policy(), 2)
    assert not law(Policy(), 1)
    assert not law(Policy(unpaired=True))


def test_a_bill_is_sized_for_a_twentieth_where_no_margin_is_stated() -> None:
    grades, costs = bills()
    dataset = dataset_of(grades, costs)
    aims = []
    for margin in (None, 0.2):
        asked = evidence(dataset, Question(measure="money", conditions=("a", "b"), margin=margin))
        (claim,) = decide([asked])
        assert claim.needed is not None
        aims.append(claim.needed_for)
    assert aims == [0.05, 0.2]
