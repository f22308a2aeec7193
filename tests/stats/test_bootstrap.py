import numpy as np
import pytest
from numpy.typing import NDArray

from richter.errors import InputError
from richter.stats import bootstrap


def weighted_mean(x: NDArray[np.float64]):
    return lambda w: w @ x / w.sum(axis=1)


def test_standard_error_of_a_mean_by_hand(rng: np.random.Generator) -> None:
    x = rng.normal(size=400)
    result = bootstrap(weighted_mean(x), 400, rng=rng, n_resamples=20_000)
    # the bootstrap's exact standard error of a mean is sd / sqrt(n) with the divisor n
    assert result.standard_error == pytest.approx(x.std() / 20, rel=4 / np.sqrt(2 * 20_000))
    assert result.estimate == pytest.approx(x.mean())


@pytest.mark.parametrize("method", ["percentile", "basic", "bca"])
def test_interval_against_scipy(method: str, rng: np.random.Generator) -> None:
    from scipy.stats import bootstrap as scipy_bootstrap

    x = rng.exponential(size=200)
    ours = bootstrap(weighted_mean(x), 200, rng=rng, n_resamples=40_000, method=method)
    name = {"bca": "BCa"}.get(method, method)
    theirs = scipy_bootstrap((x,), np.mean, n_resamples=40_000, method=name, rng=rng).confidence_interval
    # Monte-Carlo error of a 2.5% quantile of 40,000 draws is about 0.014 standard errors; five times that, twice
    assert (ours.interval.low, ours.interval.high) == pytest.approx(tuple(theirs), abs=0.1 * x.std() / np.sqrt(200))


def test_groups_move_together_by_hand(rng: np.random.Generator) -> None:
    # 40 groups of 10 equal rows: the mean's error is that of 40 rows, not of 400
    values = rng.normal(size=40)
    groups = np.repeat(np.arange(40), 10)
    result = bootstrap(weighted_mean(values[groups]), 400, rng=rng, n_resamples=20_000, groups=groups)
    assert result.standard_error == pytest.approx(values.std() / np.sqrt(40), rel=0.03)


def test_mostly_undefined_statistic_is_refused(rng: np.random.Generator) -> None:
    with pytest.raises(InputError, match="undefined in"):
        bootstrap(lambda w: np.where(w[:, 0] > 0, 1.0, np.nan), 20, rng=rng)
