"""A p-value found by inverting intervals is the one that belongs to them."""

import pytest
from scipy.special import ndtri
from scipy.stats import norm

from richter.claims import Evidence, one_draw, one_run, p_value
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


def test_what_is_not_said_of_evidence_is_nothing() -> None:
    bare = Evidence(estimate=2.0, interval=_normal)
    assert (bare.n, bare.units, bare.labels, bare.relative, bare.unit, bare.values) == (0, 0, 0, False, "item", ())


def test_the_p_value_of_an_interval_that_excludes_or_holds_everything() -> None:
    never = Evidence(estimate=2.0, interval=lambda level: Interval(low=1.0, high=3.0, level=level, method="fixed"))
    assert p_value(never, 0.0) == 1e-12
    assert p_value(never, 2.5) == p_value(never, 3.0) == 1.0


def test_errors_name_whose_runs_and_draws_are_too_few() -> None:
    assert str(one_run("old")).startswith("old has one run")
    assert str(one_run()).startswith("There is one run")
    assert str(one_draw(3, 10)).startswith("3 of 10 items have one draw")
