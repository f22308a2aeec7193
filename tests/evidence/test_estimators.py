"""Suites, subsets and what a policy is where nobody says more: worked by hand."""

import dataclasses
import re

import numpy as np
import polars as pl
import pytest

from helpers.outcomes import dataset_of, outcomes
from richter.claims import Blocked, Outcomes, Question, decide
from richter.errors import InputError
from richter.evidence import (
    Policy,
    SeveritySettings,
    evidence,
    has_values,
    joint_law_of,
    margins_of,
    metric_of,
)
from richter.tables import Dataset

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


def bills(n: int = 30) -> tuple[Outcomes, Outcomes]:
    """Grades of two conditions, and what each answer cost."""
    rng = np.random.default_rng(0)
    return outcomes((rng.random((n, 2)) < 0.7) * 1.0), outcomes(rng.lognormal(size=(n, 2)), "money")


@pytest.mark.parametrize(
    "policy", [Policy(about="these-items"), Policy(suite={"d0": 1.0, "d1": 1.0}), Policy(unpaired=True)]
)
def test_a_cost_per_success_is_of_shared_questions_like_these_and_of_nothing_else(policy: Policy) -> None:
    grades, costs = bills()
    dataset = dataset_of(in_domains(grades, 20, 10), costs)
    asked = Question(measure="cost_per_success", conditions=("a", "b"))
    ratio = costs.value.reshape(-1, 2).sum(axis=0) / grades.value.reshape(-1, 2).sum(axis=0)
    assert evidence(dataset, asked).known.estimate == pytest.approx(ratio[1] / ratio[0] - 1)
    refused = evidence(dataset, asked, policy).evidence
    assert isinstance(refused, Blocked)
    assert refused.gate is None
    assert refused.reason.startswith("A cost per success is compared on shared questions")


def test_a_cost_per_success_of_a_subset_takes_its_amounts_and_its_successes() -> None:
    grades, costs = bills()
    dataset = dataset_of(in_domains(grades, 20, 10), costs)
    asked = Question(measure="cost_per_success", conditions=("a", "b"), column="domain", part="d0", family="subgroup")
    ratio = costs.value.reshape(-1, 2)[:20].sum(axis=0) / grades.value.reshape(-1, 2)[:20].sum(axis=0)
    assert evidence(dataset, asked).known.estimate == pytest.approx(ratio[1] / ratio[0] - 1)


def contests() -> Dataset:
    """Each question a contest of two of three models in turn, of which the earlier wins seven in ten."""
    x, rng = np.full((150, 3), np.nan), np.random.default_rng(0)
    for k, wins in enumerate(rng.random(150) < 0.7):
        x[k, [(0, 1), (1, 2), (0, 2)][k % 3]] = wins, not wins
    dataset = dataset_of(outcomes(x, "win_rate"))
    is_earlier = pl.col("condition") == pl.col("condition").min().over("item")
    shown = dataset.answers.with_columns(shown_first=is_earlier.cast(pl.Float64))
    return dataclasses.replace(dataset, answers=shown)


def test_what_was_shown_first_wins_as_often_as_the_note_says() -> None:
    """The earlier model is the one shown first, and wins seven in ten: equal ones would have odds of 7 to 3."""
    asked = evidence(contests(), Question(measure="strength", conditions=("b", "a")))
    (odds,) = (float(found[1]) for note in asked.known.notes if (found := re.search(r"has ([\d.]+) times", note)))
    assert 1 < odds < 7 / 3


def test_a_strength_is_of_two_in_contests_of_several_about_questions_like_these() -> None:
    asked = Question(measure="strength", conditions=("b", "a"))
    found = evidence(contests(), asked).known
    assert found.estimate == pytest.approx(found.values[1] - found.values[0])
    assert found.estimate > 0
    alone, these = dataclasses.replace(asked, conditions=("a",)), Policy(about="these-items")
    of_two = dataset_of(outcomes(np.tile([[1.0, 0.0], [0.0, 1.0]], (20, 1)), "win_rate"))
    for dataset, question, policy in (
        (contests(), alone, Policy()), (contests(), asked, these), (of_two, asked, Policy()),
    ):  # fmt: skip
        refused = evidence(dataset, question, policy).evidence
        assert isinstance(refused, Blocked)
        assert refused.remedy == "Ask for win_rate."


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
    """Not one pair alone, nor adjusted, weighted or unpaired differences, nor about these questions."""
    x = (np.random.default_rng(2).random((60, 4)) < [0.5, 0.6, 0.7, 0.8]) * 1.0
    whole = dataset_of(in_domains(outcomes(x), 40, 20))
    pairs = [("a", name) for name in "bcd"]

    def law(policy: Policy, number: int = 3) -> bool:
        asked = [evidence(whole, Question(measure="accuracy", conditions=pair), policy) for pair in pairs[:number]]
        return joint_law_of(whole, asked, policy) is not None

    assert law(Policy())
    assert law(Policy(), 2)
    assert not law(Policy(), 1)
    for policy in (Policy(adjust=True), Policy(suite={"d0": 1.0, "d1": 1.0}), Policy(unpaired=True)):
        assert not law(policy)


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
