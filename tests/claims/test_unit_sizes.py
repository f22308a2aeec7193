"""Sizes of a measure's own range, from normal evidence: by hand."""

import dataclasses
import math

import numpy as np
import polars as pl
import pytest
from scipy.special import ndtri

from helpers.normal import normal
from richter.claims import METRICS, Evidence, Question, min_detectable_difference, needed_units, size_steps
from richter.claims._equivalence import equivalence_size
from richter.claims._sizes import units_needed
from richter.evidence import Policy, evidence
from richter.tables import read_tables

REACH = float(ndtri(0.975) + ndtri(0.8))  # two-sided 5%, 80% power
SCORE = dataclasses.replace(METRICS["mean_score"], low=1.0, high=5.0)


def test_steps_are_hundredths_of_the_range_by_hand() -> None:
    """Of 1 to 5 they are 0.2 and 0.08: 100 units with an error of 0.1 have a variance of 1 each."""
    found = size_steps(normal(0.3, 0.1), SCORE, alpha=0.05)
    assert [step.difference for step in found] == pytest.approx([0.2, 0.08])
    assert [step.units for step in found] == [math.ceil((REACH / 0.2) ** 2), math.ceil((REACH / 0.08) ** 2)]


def test_the_detectable_difference_is_within_the_range_by_hand() -> None:
    assert min_detectable_difference(normal(0.0, 0.1), SCORE, tail=0.025) == pytest.approx(0.1 * REACH)
    widest = 4.0 / REACH  # an error that could have shown the whole range, 4
    assert min_detectable_difference(normal(0.0, 0.999 * widest), SCORE, tail=0.025) == pytest.approx(0.999 * 4)
    assert min_detectable_difference(normal(0.0, 1.001 * widest), SCORE, tail=0.025) is None
    free = METRICS["mean_score"]
    assert min_detectable_difference(normal(0.0, 1.001 * widest), free, tail=0.025) == pytest.approx(1.001 * 4)


def test_units_for_a_margin_show_a_difference_and_being_within_it_by_hand() -> None:
    """Equivalence: each one-sided test at 5% with 90% power, 1.645 + 1.282, is more than 1.960 + 0.842."""
    both = float(ndtri(0.95) + ndtri(0.9))
    assert needed_units(normal(0.0, 0.1), 0.05, alpha=0.05) == math.ceil((REACH / 0.05) ** 2)
    assert needed_units(normal(0.0, 0.1), 0.05, alpha=0.05, margin=True) == math.ceil((both / 0.05) ** 2)
    assert needed_units(normal(0.0, 0.1, units=0), 0.05, alpha=0.05) is None


def one_way(n: int, changed: int) -> Evidence:
    """Two conditions on n questions; the second fixes so many and breaks none."""
    old, new = np.zeros(n), np.zeros(n)
    new[:changed] = 1
    table = pl.DataFrame({
        "item": [*range(n)] * 2, "condition": ["old"] * n + ["new"] * n, "correct": np.concatenate([old, new]),
    })  # fmt: skip
    dataset = read_tables(table)
    return evidence(dataset, Question(measure="accuracy", conditions=("old", "new")), Policy()).known


@pytest.mark.parametrize("n", [60, 300, 2000])
def test_a_difference_that_changes_few_answers_is_detected_as_often_as_stated_recovers_truth(
    n: int, rng: np.random.Generator
) -> None:
    """Hardly any answer differs at hand. A true difference of d changes a share d of them, all in one direction."""
    found = one_way(n, 1)
    gap = min_detectable_difference(found, METRICS["accuracy"], tail=0.025)
    assert gap == pytest.approx((float(ndtri(0.975)) + float(ndtri(0.8)) / 2) ** 2 / n)
    changed, times = np.unique(rng.binomial(n, gap, 2000), return_counts=True)
    shown = [0 not in one_way(n, int(k)).interval(0.95) for k in changed]
    assert 0.78 <= times[shown].sum() / 2000 <= 0.86
    assert needed_units(found, gap, alpha=0.05) == pytest.approx(n, abs=1)


def test_a_requirement_and_a_margin_need_no_answers_that_change() -> None:
    """What is within a limit changes nothing: the size follows from the answers that differ."""
    found = one_way(400, 4)
    assert found.standard_error is not None
    test = equivalence_size(0.05, 0.8)
    reach = float(ndtri(1 - test.tail) + ndtri(test.power))
    by_margin = math.ceil(400 * (reach * found.standard_error / 0.02) ** 2)
    assert units_needed(found, 0.02, tail=test.tail, power=test.power) == by_margin
    assert needed_units(found, 0.02, alpha=0.05, margin=True) > by_margin
