"""Subsets and what a policy is where nobody says more: worked by hand."""

import dataclasses

import numpy as np
import pytest

from helpers.outcomes import dataset_of, outcomes
from richter.claims import Outcomes, Question
from richter.errors import InputError
from richter.evidence import (
    evidence,
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


def bills(n: int = 30) -> tuple[Outcomes, Outcomes]:
    """Grades of two conditions, and what each answer cost."""
    rng = np.random.default_rng(0)
    return outcomes((rng.random((n, 2)) < 0.7) * 1.0), outcomes(rng.lognormal(size=(n, 2)), "money")


def test_a_margin_without_a_name_is_of_the_measure_that_leads() -> None:
    grades, costs = bills()
    dataset = dataset_of(grades, costs)
    assert margins_of(dataset, None) == {}
    assert margins_of(dataset, 0.02) == {"accuracy": 0.02}
    assert margins_of(dataset, 0.02, "error_rate") == {"error_rate": 0.02}
    assert margins_of(dataset, {"": 0.02, "money": 0.1}) == {"accuracy": 0.02, "money": 0.1}
    with pytest.raises(InputError, match="given twice"):
        margins_of(dataset, {"": 0.02, "accuracy": 0.1})
