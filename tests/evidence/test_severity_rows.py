"""Severities as rows: one a draw, by item, group and run; who rated, and what cannot be weighed."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from helpers.outcomes import dataset_of, outcomes
from richter.claims import Blocked, Question
from richter.evidence import Policy, SeveritySettings, evidence, severity_rows
from richter.stats import Floats

PAIR = Question(measure="severity_given_error", conditions=("a", "b"))
FEW = Policy(severity=SeveritySettings(n_resamples=50))


def rated(n: int = 40, draws: int = 1, seed: int = 0) -> Floats:
    """Severities of two conditions, half of them 0."""
    rng = np.random.default_rng(seed)
    shape = (n, 2, draws)
    return np.where(rng.random(shape) < 0.5, 0.0, rng.integers(1, 9, shape) / 2)


def test_a_row_is_a_draw_of_an_item_by_hand() -> None:
    x = rated(3, draws=2)
    found = severity_rows(dataset_of(outcomes(x, "mean_severity")), False)
    assert (found.width, found.severity.shape, found.unit) == (2, (2, 6), "item")
    assert found.item.tolist() == [0, 0, 1, 1, 2, 2]
    assert found.groups is not None
    assert found.groups.tolist() == [0, 0, 1, 1, 2, 2]
    assert found.of("b").tolist() == x[:, 1].ravel().tolist()


def test_groups_and_weights_are_those_of_the_items_by_hand() -> None:
    made = outcomes(rated(4, draws=2), "mean_severity", group=np.array([0, 0, 1, 1]), weight=np.array([1.0, 2, 3, 4]))
    found = severity_rows(dataset_of(made), False)
    assert found.groups is not None
    assert found.weight is not None
    assert (found.unit, found.groups.tolist()) == ("group", [0, 0, 0, 0, 1, 1, 1, 1])
    assert found.weight.tolist() == [1, 1, 2, 2, 3, 3, 4, 4]
    alone = dataclasses.replace(made, group=np.arange(4), weight=None)
    assert severity_rows(dataset_of(alone), False).unit == "item"  # a group of one is an item


def test_runs_count_only_where_they_are_asked_about() -> None:
    """Two draws of three items; b's draws are of the same two runs in the other order."""
    x = rated(3, draws=2)
    made = outcomes(x, "mean_severity")
    assert made.draw is not None
    run = np.where(made.condition == 0, made.draw, 1 - made.draw)
    dataset = dataset_of(dataclasses.replace(made, run=run, runs=("r0", "r1")))
    by_number, by_run = severity_rows(dataset, False), severity_rows(dataset, True)
    assert by_number.run is None
    assert by_number.of("b").tolist() == x[:, 1].ravel().tolist()
    assert by_run.run is not None
    assert by_run.run.tolist() == [0, 1] * 3
    assert by_run.of("a").tolist() == x[:, 0].ravel().tolist()
    assert by_run.of("b").tolist() == x[:, 1, ::-1].ravel().tolist()
    unnamed = severity_rows(dataset_of(made), True)
    assert (unnamed.run, unnamed.of("b").tolist()) == (None, x[:, 1].ravel().tolist())


@pytest.mark.parametrize(
    ("draws", "group", "unit"), [(1, None, "item"), (2, None, "item"), (2, 10, "group"), (1, 10, "group")]
)
def test_evidence_counts_items_once_and_names_its_unit(draws: int, group: int | None, unit: str) -> None:
    more: dict[str, Any] = {} if group is None else {"group": np.arange(40) // (40 // group)}
    made = outcomes(rated(draws=draws), "mean_severity", **more)
    found = evidence(dataset_of(made), PAIR, FEW).known
    assert (found.n, found.unit) == (40, unit)


def test_a_condition_without_an_error_has_none_to_weigh() -> None:
    x = rated()
    x[:, 1] = 0.0
    found = evidence(dataset_of(outcomes(x, "mean_severity")), PAIR, FEW).evidence
    assert isinstance(found, Blocked)
    assert (found.gate, found.reason) == (None, "b has no error to weigh")


@pytest.mark.parametrize("labelled", [False, True])
def test_labels_do_not_correct_a_judge_of_errors_alone(labelled: bool) -> None:
    x = rated()
    label = np.where(np.arange(x.size) < 40, x.ravel(), np.nan) if labelled else None
    dataset = dataset_of(outcomes(x, "mean_severity", label=label), rater="judge-1", kind="judge")
    found = evidence(dataset, PAIR, FEW).known
    assert "judge-1" in found.judged
    assert ("human labels do not correct" in found.judged) is labelled


def test_severities_that_people_gave_to_some_answers_are_the_rows_of_these_by_hand() -> None:
    severity = rated(40)[:, :, 0]
    known = np.arange(40) < 10
    labels = np.where(known[:, None], severity, np.nan)
    grades = outcomes((severity == 0).astype(float))
    found = severity_rows(dataset_of(grades, outcomes(labels, "mean_severity"), kind="human"), False)
    assert np.array_equal(found.severity, labels.T, equal_nan=True)
    assert (found.width, found.run) == (1, None)
