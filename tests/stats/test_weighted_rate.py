import math

import pytest
from scipy.stats import chi2

from richter.errors import InputError
from richter.stats import weighted_rate


@pytest.mark.parametrize("events", [0, 1, 7, 60])
def test_equal_weights_give_the_exact_poisson_limits_against_scipy(events: int) -> None:
    found = weighted_rate([events], [0.01], largest_weight=0.01)
    low = 0.0 if events == 0 else chi2.ppf(0.025, 2 * events) / 2
    assert found.low == pytest.approx(low * 0.01, rel=1e-9)
    assert found.high == pytest.approx(chi2.ppf(0.975, 2 * events + 2) / 2 * 0.01, rel=1e-9)


def test_no_event_by_hand() -> None:
    found = weighted_rate([0, 0], [1, 3], largest_weight=3, side="upper")
    assert (found.low, found.high) == (0.0, pytest.approx(-math.log(0.05) * 3))
    assert weighted_rate([0], [1], largest_weight=3, side="lower").high == math.inf


def test_bad_weights_are_refused() -> None:
    for events, weights, largest in (([-1], [1], 1), ([1], [2], 1), ([1], [0], 0)):
        with pytest.raises(InputError):
            weighted_rate(events, weights, largest_weight=largest)
    with pytest.raises(InputError, match="side"):
        weighted_rate([1], [1], largest_weight=1, side="left")
