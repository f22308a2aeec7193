import itertools
import math

import numpy as np
import pytest
from scipy.stats import permutation_test, spearmanr

from helpers.outcomes import outcomes
from richter.claims import mean_evidence
from richter.errors import InputError, TooFewErrors
from richter.floors import lipschitz, self_evaluation, subject_noise, summarise_condition, temperature_rate


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
        summarise_condition(
            "m", mean_evidence(outcomes(1 - np.repeat(a[:, None, None], k, axis=2), "error_rate"), "a"),
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
