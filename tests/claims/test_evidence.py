"""A p-value found by inverting intervals is the one that belongs to them."""

import pytest
from scipy.special import ndtri
from scipy.stats import norm

from richter.claims import Evidence, p_value
from richter.records import Interval


def _normal(level: float) -> Interval:
    reach = float(ndtri(0.5 + level / 2))
    return Interval(low=2.0 - reach, high=2.0 + reach, level=level, method="normal")


@pytest.mark.parametrize("value", [-3.0, 0.0, 1.5, 2.5])
def test_p_value_against_scipy(value: float) -> None:
    assert p_value(Evidence(estimate=2.0, interval=_normal), value) == pytest.approx(
        2 * norm.sf(abs(2 - value)), rel=1e-6
    )


def test_p_value_of_the_estimate_is_one() -> None:
    assert p_value(Evidence(estimate=2.0, interval=_normal), 2.0) == 1.0
