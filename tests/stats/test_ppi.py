"""The human-label correction: against closed forms, and coverage in simulated audits with a biased judge."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from richter.errors import InputError, TooFewErrors
from richter.stats import clopper_pearson, difference_of, ppi_difference, ppi_mean, ppi_rate, ppi_rates

GRID = np.arange(9) / 2


def simulated_severity(n: int, rate: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Simulated human severity with P(S >= 3) = rate."""
    middle = np.array([0.5, 0.3, 0.2, 0.12, 0.08])
    p = np.concatenate([[0.55], middle / middle.sum() * (0.45 - rate), np.array([0.6, 0.25, 0.15]) * rate])
    return GRID[rng.choice(9, size=n, p=p)]


def simulated_judge(truth: NDArray[np.float64], rng: np.random.Generator, *, noise: float = 0.5, bias: float = 0.3):
    return np.clip(np.round((truth + bias + noise * rng.standard_normal(len(truth))) * 2) / 2, 0, 4)


def labelled(truth: NDArray[np.float64], picked: NDArray[np.intp]) -> NDArray[np.float64]:
    human = np.full(len(truth), np.nan)
    human[picked] = truth[picked]
    return human


def test_ppi_mean_by_hand() -> None:
    """Six answers, four labels. Slope cov/var = (2/3)/(5/3) ... worked below with the regression estimator."""
    judge = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 2.0])
    human = np.array([0.0, 0.0, 1.0, 1.0, np.nan, np.nan])
    # labels: f = 0 1 2 3 (mean 1.5, var 5/3), y = 0 0 1 1 (mean 1/2, var 1/3), cov = 2/3, slope 0.4, pool mean 2
    result = ppi_mean(human, judge)
    assert result.tuning == pytest.approx(0.4)
    assert result.estimate == pytest.approx(0.5 + 0.4 * (2 - 1.5))
    # residual variance 1/3 - 0.4 * 2/3 = 1/15; (1/4 - 1/6) / 15 + (1/4) / 6
    assert result.standard_error**2 == pytest.approx((1 / 4 - 1 / 6) / 15 + 0.25 / 6)
    assert result.labels_only == 0.5
    assert ppi_mean(human, judge, target="pool").standard_error ** 2 == pytest.approx((1 / 4 - 1 / 6) / 15)


def test_rate_is_post_stratification_on_the_flag(rng: np.random.Generator) -> None:
    """With a binary judge the tuned PPI++ estimate is the post-stratified one, whatever the sample."""
    truth = simulated_severity(4000, 0.15, rng)
    judge = simulated_judge(truth, rng, noise=1.0)
    human = labelled(truth, rng.choice(4000, 500, replace=False))
    result = ppi_rate(human, judge, 3.0)
    assert result.interval.method == "ppi++"
    seen, flag = ~np.isnan(human), judge >= 3
    by_hand = sum(np.mean(flag == f) * np.mean(human[seen & (flag == f)] >= 3) for f in (True, False))
    assert result.estimate == pytest.approx(by_hand)


def test_stratified_labels_need_their_strata(rng: np.random.Generator) -> None:
    """150 / 150 by the judge's flag: without the design the answer is far off, with strata or probabilities right."""
    truth = simulated_severity(20_000, 0.02, rng)
    judge = simulated_judge(truth, rng)
    flag = judge >= 3
    picked = np.concatenate([rng.choice(np.flatnonzero(flag == f), 150, replace=False) for f in (True, False)])
    human = labelled(truth, picked)
    chance = np.where(flag, 150 / flag.sum(), 150 / (~flag).sum())
    stratified = ppi_rate(human, judge, 3.0, strata=flag)
    weighted = ppi_rate(human, judge, 3.0, probability=chance)
    actual = float(np.mean(truth >= 3))
    assert actual in stratified.interval
    assert weighted.estimate == pytest.approx(stratified.estimate, abs=1e-9)
    assert ppi_mean(human, judge).labels_only > np.mean(truth) + 0.5  # what ignoring the design would claim
    assert np.mean(truth) in ppi_mean(human, judge, strata=flag).interval
    assert np.mean(truth) in ppi_mean(human, judge, probability=chance).interval


@pytest.mark.slow
@pytest.mark.parametrize(
    ("design", "rate", "noise"),
    [("random", 0.2, 1.0), ("random", 0.1, 0.25), ("random", 0.01, 0.5), ("half flagged", 0.02, 1.0)],
)
def test_rate_interval_covers(design: str, rate: float, noise: float, rng: np.random.Generator) -> None:
    """Coverage over 1,000 simulated audits of 3,000 answers with 300 labels; studies/stats_ppi.py runs the large table.

    Binomial error at 1,000 runs is 0.7 points, so 0.93 is three of them below 0.95. The rare-event form may cover more
    than 0.95 (its lower limit is 0 for a part without positives), so it is held from below only.
    """
    runs, covered, normal = 1000, 0, 0
    for _ in range(runs):
        truth = simulated_severity(3000, rate, rng)
        judge = simulated_judge(truth, rng, noise=noise)
        if design == "random":
            picked, strata = rng.choice(3000, 300, replace=False), None
        else:
            strata = judge >= 3
            half = min(150, int(strata.sum()))
            picked = np.concatenate(
                [
                    rng.choice(np.flatnonzero(strata == f), m, replace=False)
                    for f, m in ((True, half), (False, 300 - half))
                ]
            )
        result = ppi_rate(labelled(truth, picked), judge, 3.0, strata=strata, rng=rng)
        covered += rate in result.interval
        normal += result.interval.method == "ppi++"
    assert covered / runs > 0.93
    if normal > 0.9 * runs:
        assert covered / runs < 0.97


@pytest.mark.slow
def test_mean_width_and_coverage(rng: np.random.Generator) -> None:
    """Judge and human correlate 0.9, 300 labels of 10,000: half the width of the labels alone, at the right level.

    In theory the ratio is sqrt(1 - (1 - 300/10000) 0.81) = 0.463.
    """
    runs, covered, ratio, wider = 2000, 0, [], 0.0
    for _ in range(runs):
        truth = 1.5 + rng.standard_normal(10_000)
        judge = 0.7 + 0.8 * (0.9 * truth + np.sqrt(1 - 0.81) * rng.standard_normal(10_000))
        result = ppi_mean(labelled(truth, rng.choice(10_000, 300, replace=False)), judge)
        covered += 1.5 in result.interval
        ratio.append(result.interval.half_width / result.labels_only_interval.half_width)
        noise_judge = rng.standard_normal(10_000)
        useless = ppi_mean(labelled(truth, np.arange(300)), noise_judge)
        wider = max(wider, useless.interval.half_width / useless.labels_only_interval.half_width)
    assert 0.935 < covered / runs < 0.965
    assert np.mean(ratio) == pytest.approx(0.463, abs=0.005)
    # A judge of pure noise costs one degree of freedom of 298, never more.
    assert wider < 1.003


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.floats(0.1, 5), st.floats(-3, 3))
def test_correction_ignores_the_judges_scale(seed: int, scale: float, shift: float) -> None:
    """A judge that is off by any line is corrected to the same answer."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=300)
    judge = truth + rng.normal(size=300)
    human = labelled(truth, np.arange(40))
    one, two = ppi_mean(human, judge), ppi_mean(human, shift + scale * judge)
    assert two.estimate == pytest.approx(one.estimate, abs=1e-9)
    assert two.interval.half_width == pytest.approx(one.interval.half_width, rel=1e-9)


def test_difference_keeps_the_pairing(rng: np.random.Generator) -> None:
    n = 5000
    difficulty = rng.normal(2, 1, size=n)
    a, b = difficulty + rng.normal(0.3, 0.3, size=n), difficulty + rng.normal(0, 0.3, size=n)
    fa, fb = a + rng.normal(0.5, 0.3, size=n), b + rng.normal(0.5, 0.3, size=n)
    picked = rng.choice(n, 200, replace=False)
    paired = ppi_difference((labelled(a, picked), fa), (labelled(b, picked), fb))
    other = rng.choice(n, 200, replace=False)
    unpaired = ppi_difference((labelled(a, picked), fa), (labelled(b, other), fb))
    assert 0.3 in paired.interval
    assert 0.3 in unpaired.interval
    assert paired.interval.half_width < unpaired.interval.half_width
    rates = ppi_difference((labelled(a, picked), fa), (labelled(b, picked), fb), threshold=2.5)
    assert np.mean(a >= 2.5) - np.mean(b >= 2.5) in rates.interval


@pytest.mark.slow
def test_difference_of_independent_samples_covers(rng: np.random.Generator) -> None:
    """Two rates of 3% and 8%, each corrected from its own 150 labels of 1,500: 300 runs, binomial error 1.3 points."""
    covered, runs = 0, 300
    for _ in range(runs):
        found = []
        for rate in (0.03, 0.08):
            truth = simulated_severity(1500, rate, rng)
            human = labelled(truth, rng.choice(1500, 150, replace=False))
            found.append(ppi_rate(human, simulated_judge(truth, rng), 3.0, rng=rng))
        covered += -0.05 in difference_of(*found).interval
    assert covered / runs > 0.95 - 3 * 0.013


def test_no_positive_label_is_a_bound_not_zero(rng: np.random.Generator) -> None:
    truth = np.where(rng.random(5000) < 0.3, 1.0, 0.0)
    judge = truth.copy()
    human = labelled(truth, rng.choice(5000, 200, replace=False))
    result = ppi_rate(human, judge, 3.0)
    assert (result.estimate, result.interval.low) == (0.0, 0.0)
    assert 0 < result.interval.high <= clopper_pearson(0, 200).high
    assert set(ppi_rates(human, judge)) == set(GRID[1:])


@pytest.mark.parametrize("rate", [0.005, 0.02, 0.1])
def test_a_useless_judge_never_widens_a_rate(rate: float, rng: np.random.Generator) -> None:
    for _ in range(40):
        truth = simulated_severity(2000, rate, rng)
        noise = np.round(rng.uniform(0, 8, 2000)) / 2
        result = ppi_rate(labelled(truth, rng.choice(2000, 200, replace=False)), noise, 3.0, rng=rng)
        assert result.interval.half_width <= 1.01 * result.labels_only_interval.half_width  # 1.01: a degree of freedom


def test_same_seed_same_bits(rng: np.random.Generator) -> None:
    truth = simulated_severity(2000, 0.01, rng)
    human = labelled(truth, np.arange(100))
    one, two = (ppi_rate(human, truth, 3.0, rng=np.random.default_rng(5)) for _ in range(2))
    assert one == two


@pytest.mark.parametrize(
    ("human", "judge", "options", "error", "words"),
    [
        ([1.0, np.nan], [1.0], {}, InputError, "shapes"),
        ([1.0] * 5, [1.0] * 4 + [np.nan], {}, InputError, "no judge score"),
        ([1.0] + [np.nan] * 9, [1.0] * 10, {}, TooFewErrors, "human label"),
        ([1.0] * 5 + [np.nan] * 5, [1.0] * 10, {"strata": [0] * 5 + [1] * 5}, TooFewErrors, "Stratum 1"),
        ([1.0] * 5 + [np.nan] * 5, [1.0] * 10, {"probability": 0.0}, InputError, "probability"),
        ([1.0] * 10, [1.0] * 10, {"probability": 0.5, "strata": [0] * 10}, InputError, "Both"),
    ],
)
def test_ppi_refuses(human: list, judge: list, options: dict, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        ppi_mean(human, judge, **options)
