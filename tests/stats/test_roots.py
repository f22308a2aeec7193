"""Roots and ranks against scipy's."""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import rankdata

from richter.stats import average_ranks, find_root

CURVES = {
    "line": (lambda x: x - 0.3, -1.0, 2.0),
    "steep": (lambda x: np.expm1(40 * (x - 0.77)), 0.0, 1.0),
    "wave": (np.cos, 0.0, 3.0),
    "step": (lambda x: 1.0 if x > 0.123456 else -1.0, 0.0, 1.0),
}


@pytest.mark.parametrize("name", CURVES)
def test_a_root_against_scipy(name: str) -> None:
    curve, low, high = CURVES[name]
    calls = 0

    def counted(x: float) -> float:
        nonlocal calls
        calls += 1
        return float(curve(x))

    found = find_root(counted, low, high)
    near = 4e-12
    assert abs(found - brentq(curve, low, high, xtol=1e-14)) <= near
    assert calls < 100
    assert find_root(curve, high, low) == pytest.approx(found, abs=near)


def test_a_root_at_an_end_and_none_at_all() -> None:
    assert find_root(lambda x: x, 0.0, 1.0) == 0.0
    assert find_root(lambda x: x - 1, 0.0, 1.0) == 1.0
    with pytest.raises(ValueError, match="same sign"):
        find_root(lambda x: x + 1, 0.0, 1.0)


def test_ranks_against_scipy() -> None:
    values = np.random.default_rng(3).integers(0, 6, size=(40, 5)).astype(float)
    values[::7, 2] = np.nan
    assert np.array_equal(average_ranks(values), rankdata(values, axis=0, nan_policy="omit"), equal_nan=True)
    assert np.array_equal(average_ranks(values[:, 0]), rankdata(values[:, 0]))
    assert average_ranks([]).shape == (0,)
