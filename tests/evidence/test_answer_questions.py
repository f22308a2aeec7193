"""From a question to its evidence: what the data hold, what the joint law is of, trades, and gates of slopes."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from helpers.outcomes import dataset_of, outcomes
from richter.claims import METRICS, Outcomes, Question
from richter.evidence import Policy, SeveritySettings, evidence, has_values, joint_law_of, worst_sample
from richter.evidence._severity_evidence import severity_pairs
from richter.tables import Dataset


def grades(n: int = 60, conditions: int = 2, *, seed: int = 0) -> Outcomes:
    return outcomes((np.random.default_rng(seed).random((n, conditions)) < 0.6).astype(float))


def severities(n: int = 60, conditions: int = 2, *, seed: int = 0) -> Outcomes:
    rng = np.random.default_rng(seed)
    wrong = rng.random((n, conditions)) < 0.6
    return outcomes(np.where(wrong, rng.integers(1, 9, (n, conditions)) / 2, 0.0), "mean_severity")


# ------------------------------------------------------------------ what the data hold


@pytest.mark.parametrize(("measure", "held"), [
    ("accuracy", True), ("error_rate", True), ("failure_rate", True), ("ece", False), ("mean_score", False),
    ("mean_severity", False), ("catastrophic_rate", False), ("latency", False), ("money", False), ("fluency", False),
])  # fmt: skip
def test_grades_alone_hold_rates_and_failed_calls_by_hand(measure: str, held: bool) -> None:
    assert has_values(dataset_of(grades()), measure) is held


@pytest.mark.parametrize(("measure", "held"), [
    ("accuracy", False), ("mean_score", True), ("failure_rate", True), ("latency", True), ("money", False),
    ("mean_severity", True), ("ece", False),
])  # fmt: skip
def test_scores_severities_and_seconds_are_held_by_hand(measure: str, held: bool) -> None:
    table = np.random.default_rng(0).random((60, 2))
    score = dataclasses.replace(outcomes(table, "mean_score"), metric=dataclasses.replace(
        METRICS["mean_score"], low=0.0, high=1.0))  # fmt: skip
    assert has_values(dataset_of(score, outcomes(table, "latency"), severities()), measure) is held


def test_a_confidence_of_one_answer_is_a_value_of_calibration() -> None:
    assert has_values(dataset_of(grades(), confidence={("q0003", "a", 0): 0.7}), "ece")


def test_the_worst_sample_has_missing_grades_at_the_worse_end_by_hand() -> None:
    table = np.ones((6, 2))
    table[4, 1] = np.nan
    dataset = dataset_of(outcomes(table), ungraded=[("q0004", "b", 0)])
    found = worst_sample(dataset, Question(measure="accuracy", conditions=("a", "b"))).mean
    table[4, 1] = 0.0
    assert np.array_equal(found, table)


# ------------------------------------------------------------------ the joint law


def law(dataset: Dataset, pairs: list[tuple[str, ...]], measure: str = "accuracy", **policy: Any) -> Any:
    chosen = Policy(**policy)
    asked = [evidence(dataset, Question(measure=measure, conditions=pair), chosen) for pair in pairs]
    return joint_law_of(dataset, asked, chosen)


def test_differences_within_raters_have_no_joint_law() -> None:
    """The law is of items, and these differences are of raters who rated unlike shares of a and of the others."""

    def rater(item: str, condition: str, _: int) -> str:
        return "lenient" if (int(item[1:]) % 10 == 0) == (condition == "a") else "strict"

    dataset, pairs = dataset_of(severities(400, 3), rater=rater, kind="judge"), [("a", "b"), ("a", "c")]
    assert law(dataset, pairs, "mean_severity") is None
    assert law(dataset, pairs, "mean_severity", trust_raters=True) is not None


def test_the_seed_of_the_policy_draws_the_law() -> None:
    dataset, pairs = dataset_of(grades(conditions=3)), [("a", "b"), ("a", "c")]
    one, same, other = (law(dataset, pairs, severity=SeveritySettings(seed=s)) for s in (0, 0, 1))
    assert np.array_equal(one.far, same.far)
    assert not np.array_equal(one.far, other.far)


def test_errors_weighed_against_a_control_have_their_own_law() -> None:
    dataset, pairs = dataset_of(severities(conditions=3)), [("a", "b"), ("a", "c")]
    settings = SeveritySettings(control="a", n_resamples=20)
    assert law(dataset, pairs, "severity_given_error", severity=settings) is not None
    assert law(dataset, pairs, "b", severity=settings) is None


# ------------------------------------------------------------------ gates


def test_the_gates_of_a_slope_are_those_of_its_own_pair() -> None:
    dataset = dataset_of(severities(conditions=3))
    settings = SeveritySettings(n_resamples=20)
    pairs = {p.names: p.gate for p in severity_pairs(dataset, settings).pairs}
    for names, gate in pairs.items():
        asked = evidence(dataset, Question(measure="b", conditions=names), Policy(severity=settings))
        assert asked.gates == (() if gate is None else (gate,))
    assert evidence(dataset, Question(measure="mean_severity", conditions=("a", "b"))).gates == ()
