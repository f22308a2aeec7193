"""One metric on units: means over draws, and what is refused."""

import numpy as np
import pytest

from richter.claims import METRICS, Outcomes, unit_means
from richter.errors import InputError


def test_unit_means_by_hand() -> None:
    outcomes = Outcomes(
        metric=METRICS["accuracy"],
        items=("x", "y"),
        conditions=("a", "b"),
        item=np.array([0, 0, 1, 0]),
        condition=np.array([0, 0, 0, 1]),
        value=np.array([1.0, 0.0, 1.0, 1.0]),
    )
    found = unit_means(outcomes)
    np.testing.assert_array_equal(found.mean, [[0.5, 1.0], [1.0, np.nan]])
    np.testing.assert_array_equal(found.draws, [[2, 1], [1, 0]])
    np.testing.assert_array_equal(found.within, [[0.5, 0.0], [0.0, 0.0]])


def test_weights_of_zero_are_refused() -> None:
    with pytest.raises(InputError, match="1 weight is zero"):
        Outcomes(
            metric=METRICS["accuracy"],
            items=("x", "y"),
            conditions=("a",),
            item=np.array([0, 1]),
            condition=np.array([0, 0]),
            value=np.array([1.0, 0.0]),
            weight=np.array([1.0, 0.0]),
        )
