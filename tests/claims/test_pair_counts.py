"""Counts of all pairs at once, against counting each pair by itself."""

import itertools

import numpy as np
import pytest

from helpers.outcomes import outcomes
from richter.claims import difference_evidence
from richter.claims._pairs import shared_items
from richter.claims._units import as_sample


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_counts_of_all_pairs_by_hand(missing: float) -> None:
    rng = np.random.default_rng(3)
    values = (rng.random((60, 5)) < 0.6).astype(float)
    values[rng.random(values.shape) < missing] = np.nan
    sample = as_sample(outcomes(values))
    assert sample.right_counts is not None
    for (i, first), (j, second) in itertools.permutations(enumerate("abcde"), 2):
        both = [(a, b) for a, b in values[:, [i, j]].tolist() if not np.isnan(a) and not np.isnan(b)]
        gained, lost = both.count((0.0, 1.0)), both.count((1.0, 0.0))
        shared, found = shared_items(sample, first, second), difference_evidence(sample, first, second)
        assert (shared.both, shared.sides[0]) == (len(both), int(np.sum(~np.isnan(values[:, i]))))
        assert sample.right_counts.gained[i, j] == gained
        assert found.estimate == (gained - lost) / len(both)
        assert found.values == (np.mean([a for a, _ in both]), np.mean([b for _, b in both]))


@pytest.mark.parametrize(
    "more",
    [{"group": np.repeat(np.arange(10), 2)}, {"weight": np.arange(1.0, 21)}],
    ids=["groups", "weights"],
)
def test_counts_are_no_evidence_on_groups_or_weights(more: dict[str, np.ndarray]) -> None:
    values = (np.random.default_rng(4).random((20, 3)) < 0.5).astype(float)
    assert as_sample(outcomes(values)).right_counts is not None
    assert as_sample(outcomes(values, **more)).right_counts is None
