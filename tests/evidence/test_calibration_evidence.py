"""Confidences of graded answers into evidence on calibration: which rows, which items, which side."""

import dataclasses

import numpy as np
import pytest

from helpers.outcomes import dataset_of, keys_of, outcomes
from richter.claims import Blocked, Question, ece_difference, ece_evidence, ece_side
from richter.evidence import Policy, evidence
from richter.tables import Dataset

PAIR = Question(measure="ece", conditions=("a", "b"))


def made(known: np.ndarray | None = None, *, seed: int = 0, **more: object) -> tuple[Dataset, np.ndarray, np.ndarray]:
    """Grades and confidences of 80 items x 2 conditions; b is sure of itself. `known`: where there is a confidence."""
    rng = np.random.default_rng(seed)
    right = (rng.random((80, 2)) < 0.6).astype(float)
    sure = np.stack([rng.uniform(0.4, 0.8, 80), rng.uniform(0.8, 1.0, 80)], axis=1)
    own = outcomes(right)
    known = np.ones((80, 2), dtype=bool) if known is None else known
    given = {key: float(x) for key, x, has in zip(keys_of(own), sure.ravel(), known.ravel(), strict=True) if has}
    return dataset_of(own, confidence=given, **more), right, sure  # type: ignore[arg-type]


def side(right: np.ndarray, sure: np.ndarray, k: int, use: np.ndarray) -> object:
    return ece_side(sure[use, k], right[use, k], np.flatnonzero(use))


@pytest.mark.parametrize("k", [0, 1])
def test_one_condition_has_all_of_its_items(k: int) -> None:
    dataset, right, sure = made()
    found = evidence(dataset, Question(measure="ece", conditions=("ab"[k],))).known
    own = ece_evidence(side(right, sure, k, np.ones(80, dtype=bool)))  # type: ignore[arg-type]
    assert (found.estimate, found.interval(0.9), found.sides) == (own.estimate, own.interval(0.9), ())


def test_two_conditions_are_compared_on_the_items_that_both_have() -> None:
    known = np.ones((80, 2), dtype=bool)
    known[0, 0] = False
    dataset, right, sure = made(known)
    found, both = evidence(dataset, PAIR, Policy(missing="at-random")).known, known.all(axis=1)
    want = ece_difference(*(side(right, sure, k, both) for k in (0, 1)), paired=True)  # type: ignore[arg-type]
    assert (found.estimate, found.interval(0.9), found.n, found.sides) == (want.estimate, want.interval(0.9), 79, ())


def test_conditions_with_items_of_their_own_are_two_samples() -> None:
    known = np.ones((80, 2), dtype=bool)
    known[0, 0] = False
    dataset, right, sure = made(known)
    found = evidence(dataset, PAIR, Policy(missing="at-random", unpaired=True)).known
    want = ece_difference(*(side(right, sure, k, known[:, k]) for k in (0, 1)), paired=False)  # type: ignore[arg-type]
    assert (found.estimate, found.interval(0.9), found.n, found.sides) == (
        want.estimate, want.interval(0.9), 159, (79, 80),
    )  # fmt: skip


@pytest.mark.parametrize(("shared", "is_known"), [(1, False), (2, True)])
def test_two_items_with_a_confidence_are_enough_by_hand(shared: int, is_known: bool) -> None:
    known = np.zeros((80, 2), dtype=bool)
    known[:shared] = True
    dataset, _, _ = made(known)
    found = evidence(dataset, PAIR, Policy(missing="at-random")).evidence
    assert isinstance(found, Blocked) is not is_known
    if isinstance(found, Blocked):
        assert found.gate is None


def test_a_condition_without_any_confidence_is_untestable() -> None:
    known = np.ones((80, 2), dtype=bool)
    known[:, 1] = False
    found = evidence(made(known)[0], PAIR, Policy(missing="at-random")).evidence
    assert isinstance(found, Blocked)
    assert found.gate is None


def test_runs_of_a_condition_are_its_own_by_hand() -> None:
    """Two draws of 40 items, b's of every second item in the other order of runs: runs are units too."""
    rng = np.random.default_rng(2)
    right = (rng.random((40, 2, 2)) < 0.6).astype(float)
    own = outcomes(right)
    assert own.draw is not None
    run = np.where(own.condition == 0, own.draw, 2 + (own.draw + own.item) % 2)
    own = dataclasses.replace(own, run=run, runs=("r0", "r1", "r2", "r3"))
    sure = rng.uniform(0.4, 1.0, len(own.item))
    dataset = dataset_of(own, confidence=dict(zip(keys_of(own), sure.tolist(), strict=True)))
    found = evidence(dataset, PAIR).known
    uses = (own.condition == 0, own.condition == 1)
    sides = [ece_side(sure[use], own.value[use], own.item[use], run=run[use]) for use in uses]
    want = ece_difference(*sides, paired=True)
    assert found.estimate == pytest.approx(want.estimate)
    assert found.interval(0.9).low == pytest.approx(want.interval(0.9).low)
