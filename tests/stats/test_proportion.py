import pytest
from scipy.stats import binomtest

from richter.errors import InputError
from richter.stats import clopper_pearson, wilson


@pytest.mark.parametrize(("k", "n"), [(0, 10), (3, 10), (10, 10), (1, 1000), (499, 1000)])
@pytest.mark.parametrize("level", [0.9, 0.95, 0.99])
def test_intervals_against_scipy(k: int, n: int, level: float) -> None:
    test = binomtest(k, n)
    for ours, name in ((wilson, "wilson"), (clopper_pearson, "exact")):
        theirs = test.proportion_ci(level, method=name)
        assert (ours(k, n, level=level).low, ours(k, n, level=level).high) == pytest.approx(tuple(theirs), abs=1e-12)


def test_zero_seen_is_a_bound_by_hand() -> None:
    # P(0 of 300) = (1 - p)^300 = 0.05 at p = 1 - 0.05^(1/300)
    assert clopper_pearson(0, 300, side="upper").high == pytest.approx(1 - 0.05 ** (1 / 300), rel=1e-12)
    assert clopper_pearson(0, 300, side="upper").low == 0.0


def test_bad_counts_are_refused() -> None:
    with pytest.raises(InputError, match="5 out of 4"):
        wilson(5, 4)
    with pytest.raises(InputError, match="level"):
        wilson(1, 4, level=95)
