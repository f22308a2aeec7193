import itertools
import math

import numpy as np
import pytest
from scipy.stats import multinomial, permutation_test, spearmanr, ttest_rel

from richter.errors import InputError, TooFewErrors
from richter.floors import (
    ConditionSummary,
    lipschitz,
    self_evaluation,
    subject_noise,
    temperature_rate,
    with_calibration,
)
from richter.records import Interval


def by_recipe(c: np.ndarray, a: np.ndarray, bins: int = 20) -> float:
    """The paper's recipe, spelled out in plain loops."""
    kept = []
    for b in range(bins):
        inside = (c >= b / bins) & ((c < (b + 1) / bins) | (b == bins - 1))
        if inside.sum() >= 30:
            centre = (b + 0.5) / bins
            kept.append((centre, a[inside].mean() - centre))
    slopes = [abs(y2 - y1) / (x2 - x1) for (x1, y1), (x2, y2) in itertools.pairwise(kept)]
    return min(float(np.quantile(slopes, 0.75)), 5.0)


def test_lipschitz_by_hand(rng: np.random.Generator) -> None:
    c = rng.beta(3, 1.5, size=4000)
    a = (rng.random(4000) < c**2).astype(float)
    result = lipschitz(c, a, rng=rng)
    assert result.estimate == pytest.approx(by_recipe(c, a))
    assert result.resolutions[10] == pytest.approx(by_recipe(c, a, 10))
    assert result.resolutions[40] == pytest.approx(by_recipe(c, a, 40))
    assert result.interval.low < result.estimate < result.interval.high


def test_draws_are_no_labels_of_their_own_in_a_floor(rng: np.random.Generator) -> None:
    c = rng.beta(3, 1.5, size=2000)
    a = (rng.random(2000) < c**2).astype(float)
    once, often = (
        with_calibration(
            ConditionSummary(
                name="m", n=2000, failed=0, missing=0, error_rate=float(1 - a.mean()),
                error_rate_interval=Interval(low=0.0, high=1.0, level=0.95, method=""),
            ),
            correct=np.repeat(a, k), confidence=np.repeat(c, k), item=np.repeat(np.arange(2000), k), rng=rng,
        )
        for k in (1, 6)
    )  # fmt: skip
    assert often.floor == pytest.approx(once.floor, rel=0.01)  # six draws alike are one label: it was 0.55 of that


def test_lipschitz_of_noise_is_named_as_noise(rng: np.random.Generator) -> None:
    c = rng.random(3000)
    a = (rng.random(3000) < c).astype(float)  # calibrated: the true L is 0
    result = lipschitz(c, a, rng=rng)
    assert result.estimate > 0.5  # what the recipe makes of nothing
    assert result.noise == pytest.approx(result.estimate, rel=0.6)


def test_lipschitz_undefined_is_never_one(rng: np.random.Generator) -> None:
    with pytest.raises(TooFewErrors) as stop:
        lipschitz(np.full(500, 0.97), np.ones(500), rng=rng)
    assert (stop.value.n, stop.value.needed) == (1, 3)
    with pytest.raises(InputError):
        lipschitz([0.5, math.nan], [1.0, 0.0], rng=rng)


def test_self_evaluation_against_scipy(rng: np.random.Generator) -> None:
    c = np.concatenate([np.full(100, x) for x in (0.12, 0.33, 0.52, 0.71, 0.93)])
    a = np.concatenate([(np.arange(100) < k).astype(float) for k in (30, 35, 60, 62, 80)])
    result = self_evaluation(c, a, rng=rng)
    mean = np.array([0.12, 0.33, 0.52, 0.71, 0.93])
    accuracy = np.array([0.30, 0.35, 0.60, 0.62, 0.80])
    assert result.rho_accuracy == pytest.approx(spearmanr(mean, accuracy).statistic)
    assert result.rho_gap == pytest.approx(spearmanr(mean, np.abs(accuracy - mean)).statistic)
    exact = permutation_test(
        (mean,),
        lambda x: spearmanr(x, np.abs(accuracy - mean)).statistic,
        permutation_type="pairings",
        n_resamples=np.inf,
    )
    assert result.p_gap == pytest.approx(exact.pvalue)
    assert result.p_accuracy == pytest.approx(2 / math.factorial(5)) == pytest.approx(result.smallest_p)


def test_self_evaluation_level_recovers_truth() -> None:
    # Twelve bins whose gap does not depend on confidence. At 10%, 200 runs: more than 34 has probability 0.0015.
    rng = np.random.default_rng(2)
    centres = (np.arange(4, 16) + 0.5) / 20
    c = np.repeat(centres, 60)
    low = 0
    for _ in range(200):
        gap = rng.choice([-0.15, 0.15, 0.05, -0.05], size=12).repeat(60)
        low += self_evaluation(c, (rng.random(720) < c + gap).astype(float), rng=rng, n_resamples=500).p_gap <= 0.10
    assert low <= 34


def test_self_evaluation_needs_three_bins(rng: np.random.Generator) -> None:
    with pytest.raises(TooFewErrors):
        self_evaluation(np.full(100, 0.9), np.ones(100), rng=rng)


def test_subject_noise_by_hand(rng: np.random.Generator) -> None:
    # One subject with a clear order, one in which both are alike, one too small.
    clear = np.stack([np.repeat([1, 0], [90, 10]), np.repeat([1, 0], [50, 50])], axis=1)
    alike = np.tile([[1, 0], [0, 1]], (50, 1))
    grades = np.concatenate([clear, alike, clear[:5]]).astype(float)
    result = subject_noise(grades, ["clear"] * 100 + ["alike"] * 100 + ["tiny"] * 5, rng=rng)
    assert [s.name for s in result.subjects] == ["alike", "clear"]
    assert (result.skipped, result.unranked) == (1, 1)
    assert result.share_undecided == 0.5
    assert result.share_below_floor == 0.5
    by_name = {s.name: s for s in result.subjects}
    assert by_name["clear"].widest_gap == pytest.approx(0.4)
    assert by_name["clear"].floor == pytest.approx(2 * math.sqrt(2 * 0.3 * 0.7 / 100))
    assert by_name["clear"].instability == 0
    assert 0.3 < by_name["alike"].instability < 0.7
    with pytest.raises(InputError):
        subject_noise(grades, ["x"] * 205, rng=rng, min_items=1000)


def test_draws_of_an_item_count_once_in_every_figure_by_repetition(rng: np.random.Generator) -> None:
    """Four draws alike say what one says: bins need 30 items, not 30 rows, and the bootstrap draws items."""
    c = rng.beta(2, 1.2, size=1200)
    a = (rng.random(1200) < c**1.5).astype(float)
    item = np.arange(1200)
    once, often = (
        lipschitz(np.repeat(c, k), np.repeat(a, k), item=np.repeat(item, k), rng=np.random.default_rng(1))
        for k in (1, 4)
    )
    assert (often.estimate, often.slopes, often.n) == (pytest.approx(once.estimate), once.slopes, 1200)
    assert often.resolutions == pytest.approx(once.resolutions)
    assert often.noise == pytest.approx(once.noise, rel=0.1)
    assert often.interval.half_width == pytest.approx(once.interval.half_width, rel=0.15)
    one, four = (
        self_evaluation(np.repeat(c, k), np.repeat(a, k), item=np.repeat(item, k), rng=np.random.default_rng(1))
        for k in (1, 4)
    )
    assert (four.bins, four.n) == (one.bins, 1200)
    assert (four.rho_gap, four.rho_accuracy) == pytest.approx((one.rho_gap, one.rho_accuracy))
    few = np.repeat(np.arange(12), 50)  # 600 rows, but no bin has 30 items
    with pytest.raises(TooFewErrors):
        lipschitz(np.repeat(c[:12], 50), np.repeat(a[:12], 50), item=few, rng=rng)
    with pytest.raises(TooFewErrors):
        self_evaluation(np.repeat(c[:12], 50), np.repeat(a[:12], 50), item=few, rng=rng)


def test_groups_alike_are_one_answer_in_a_slope_and_its_noise_by_repetition(rng: np.random.Generator) -> None:
    """Ten equal items a group: both figures are those of as many items as there are groups."""
    c = rng.random(400)
    a = (rng.random(400) < c).astype(float)
    once = lipschitz(c, a, rng=rng, min_count=10)
    group = np.repeat(np.arange(400), 10)
    often = lipschitz(np.repeat(c, 10), np.repeat(a, 10), item=np.arange(4000), unit=group, rng=rng, min_count=100)
    assert often.estimate == pytest.approx(once.estimate)
    assert often.noise == pytest.approx(once.noise, rel=0.15)
    assert often.interval.half_width == pytest.approx(once.interval.half_width, rel=0.2)


def test_subjects_with_draws_are_told_apart_as_the_paired_t_test_does_against_scipy(rng: np.random.Generator) -> None:
    """Means over draws went into McNemar's counts as sums of squares, cut to whole numbers."""
    chance = rng.random((2, 40, 1)) * 0.5
    draws = np.stack([rng.random((2, 40, 6)) < chance + shift for shift in (0.3, 0.2)], axis=2).mean(axis=3)
    grades, names = draws.reshape(80, 2), np.repeat(["x", "y"], 40)
    for level in (0.001, 0.01, 0.05, 0.2):
        result = subject_noise(grades, names, rng=rng, alpha=level)
        for subject, block in zip(result.subjects, draws, strict=True):
            assert subject.undecided == int(ttest_rel(block[:, 1], block[:, 0]).pvalue > level)
            errors = np.std(block, axis=0, ddof=1) / math.sqrt(40)
            assert subject.floor == pytest.approx(2 * math.hypot(*errors))


def test_subjects_in_groups_are_told_apart_by_group_by_repetition(rng: np.random.Generator) -> None:
    """15 passages of 10 equal items are 15 items: 60% against 40% is no order."""
    passages = np.zeros((15, 2))
    passages[:9, 0], passages[5:11, 1] = 1, 1
    names = ["s"] * 150
    alike = np.repeat(passages, 10, axis=0)
    (rows,) = subject_noise(alike, names, rng=rng).subjects
    (groups,) = subject_noise(alike, names, group=np.repeat(np.arange(15), 10), rng=rng, n_resamples=2000).subjects
    assert (rows.undecided, groups.undecided) == (0, 1)
    law = multinomial(15, [5 / 15, 2 / 15, 8 / 15])  # five passages only the first has right, two only the second
    turned = sum(law.pmf([k, m, 15 - k - m]) for m in range(16) for k in range(min(m, 16 - m)))
    assert groups.instability == pytest.approx(turned, abs=3 * math.sqrt(turned / 2000))
    assert groups.floor == pytest.approx(rows.floor * math.sqrt(10), rel=0.1)


def test_temperature_rate_by_hand_and_by_simulation() -> None:
    p = np.array([0.5, 0.8, 0.9])
    logit = np.log(p / (1 - p))
    result = temperature_rate(p, n=1000)
    assert result.information == pytest.approx(np.mean(p * (1 - p) * logit**2))
    assert result.sensitivity == pytest.approx(np.mean(p * (1 - p) * np.abs(logit)))
    # Fit temperatures to calibrated data: their spread is 1 / sqrt(n I); 300 fits know it to 4%, asked to 15%.
    from scipy.optimize import minimize_scalar

    rng = np.random.default_rng(0)
    scores = rng.uniform(0.55, 0.95, 1000)
    z = np.log(scores / (1 - scores))
    fitted = []
    for _ in range(300):
        y = rng.random(1000) < scores
        loss = lambda t, y=y: float(np.sum(np.logaddexp(0, np.where(y, -z, z) / t)))  # noqa: E731
        fitted.append(minimize_scalar(loss, bounds=(0.3, 3), method="bounded").x)
    assert np.std(fitted) == pytest.approx(temperature_rate(scores).standard_error, rel=0.15)
    with pytest.raises(InputError, match="no information"):
        temperature_rate([0.5, 1.0, 0.0])
