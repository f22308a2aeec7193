"""Evidence of a change: exact under any law of the days, quick enough, and told where it was."""

import numpy as np
import pytest
from scipy import stats

from richter.errors import InputError
from richter.floors import change_evidence, change_point, sequential_scores
from richter.floors._drift import SHIFT, _weights


def test_scores_are_ranks_so_far_by_hand() -> None:
    z = sequential_scores([3.0, 1.0, 2.0], rng=np.random.default_rng(1))
    u = np.random.default_rng(1).random(3)
    assert stats.norm.cdf(z) == pytest.approx([u[0], u[1] / 2, (1 + u[2]) / 3])


def test_scores_are_independent_normal_whatever_the_law_recovers_truth() -> None:
    rng = np.random.default_rng(2)
    made = [sequential_scores(x, rng=rng) for x in (rng.binomial(20, 0.02, 4000), rng.standard_cauchy(4000))]
    for z in made:
        assert stats.kstest(z, "norm").pvalue > 1e-3
        assert abs(np.corrcoef(z[1:], z[:-1])[0, 1]) < 4 / np.sqrt(4000)


def test_evidence_is_the_mixture_of_likelihood_ratios_by_hand() -> None:
    z = np.array([0.3, -1.2, 2.0, 1.5])
    weight = _weights(4)
    total = 1 - weight[:3].sum()
    for k in (1, 2, 3):
        j = np.arange(k + 1, 5)
        drift = k / j
        cov = np.eye(len(j)) + SHIFT**2 * np.outer(drift, drift)
        ratio = stats.multivariate_normal.pdf(z[k:], cov=cov) / np.prod(stats.norm.pdf(z[k:]))
        total += weight[k - 1] * ratio
    assert change_evidence(z)[-1] == pytest.approx(total)
    assert _weights(100_000).sum() <= 1


def test_false_alarms_stay_under_five_percent_recovers_truth() -> None:
    # 200 series of 300 days at a limit of 20: more than 20 alarms have probability 0.001 at 5%
    rng = np.random.default_rng(3)
    rang = sum(change_evidence(sequential_scores(rng.binomial(30, 0.1, 300), rng=rng)).max() >= 20 for _ in range(200))
    assert rang <= 20


def test_a_change_is_told_soon_and_where_it_was_recovers_truth() -> None:
    rng = np.random.default_rng(4)
    late, inside = [], 0
    for _ in range(40):
        x = np.r_[rng.binomial(100, 0.15, 100), rng.binomial(100, 0.2, 150)] / 100
        day = int(np.flatnonzero(change_evidence(sequential_scores(x, rng=rng)) >= 100)[0])
        late.append(day - 99)
        there = change_point(x[: day + 1])
        inside += there.low <= 99 <= there.high
        assert there.low <= there.day <= there.high
    assert np.median(late) <= 30
    assert inside >= 33  # of 40 at 95%: fewer have probability 0.001


def test_what_is_no_series_is_refused() -> None:
    with pytest.raises(InputError, match="one number a day"):
        sequential_scores([1.0, float("nan")], rng=np.random.default_rng(0))
    with pytest.raises(InputError, match="no place for a change"):
        change_point([1.0, 2.0])
    flat = change_point([1.0] * 10)  # nothing changed: anywhere
    assert flat.high - flat.low >= 7
