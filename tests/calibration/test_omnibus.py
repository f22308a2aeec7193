import math

import numpy as np
import pytest
from scipy.special import expit, logit, ndtr
from scipy.stats import binom

from helpers.trials import most_hits, n_trials
from richter.calibration import calibration_claims, miscalibration, study_confidence
from richter.calibration._omnibus import _correlation
from richter.errors import InputError
from richter.records import Verdict


def law(name: str, n: int, rng: np.random.Generator) -> np.ndarray:
    return {
        "uniform": lambda: rng.uniform(0.02, 0.98, n),
        "high": lambda: 0.4 + 0.59 * rng.random(n),
        "stated": lambda: rng.choice([0.5, 0.7, 0.8, 0.9, 0.95], n),
    }[name]()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["uniform", "high", "stated"])
@pytest.mark.parametrize("n", [100, 400])
def test_size_recovers_the_level(name: str, n: int) -> None:
    # 5% is promised and exact
    rng, trials = np.random.default_rng(n), n_trials(250)
    called = 0
    for _ in range(trials):
        c = law(name, n, rng)
        called += miscalibration(c, rng.random(n) < c, rng=rng, n_resamples=199).p <= 0.05
    assert called <= most_hits(trials, 0.05)


@pytest.mark.slow
def test_power_is_near_the_better_single_test_recovers_truth() -> None:
    # 5 points too sure, and a temperature of 1.5, at n = 400; the paired loss has a standard error near 0.02
    rng = np.random.default_rng(3)
    for true in (lambda c: c - 0.05, lambda c: expit(logit(c) / 1.5)):
        shown = np.zeros(4)
        for _ in range(150):
            c = law("high", 400, rng)
            found = miscalibration(c, rng.random(400) < true(c), rng=rng, n_resamples=199)
            shown += np.array([found.p, found.p_large, found.p_cox, found.p_bins]) <= 0.05
        assert shown[0] / 150 >= shown[1:].max() / 150 - 0.03 - 3 * 0.02
        assert shown[0] / 150 > 0.55


@pytest.mark.slow
@pytest.mark.parametrize(("items", "draws", "groups"), [(400, 1, 40), (60, 10, 0)])
def test_units_keep_the_level_where_rows_do_not_recovers_truth(items: int, draws: int, groups: int) -> None:
    rng = np.random.default_rng(9)
    called = plain = 0
    item = np.repeat(np.arange(items), draws)
    unit = item % groups if groups else item
    for _ in range(80):
        shared = rng.normal(size=int(unit.max()) + 1)[unit]
        c = rng.uniform(0.3, 0.95, len(item))
        a = ndtr(np.sqrt(0.6) * shared + np.sqrt(0.4) * rng.normal(size=len(item))) < c
        called += miscalibration(c, a, rng=rng, unit=unit, n_resamples=199).p <= 0.05
        plain += miscalibration(c, a, rng=rng, n_resamples=199).p <= 0.05
    assert called <= 10  # probability 0.005 at 5%
    assert plain >= 13  # rows taken as units break it


def test_one_confidence_is_the_binomial_test_against_scipy() -> None:
    # with a constant confidence all three parts order tables by |k - n c|: p is the two-sided binomial tail
    rng = np.random.default_rng(0)
    a = np.zeros(40)
    a[:26] = 1
    found = miscalibration(np.full(40, 0.5), a, rng=rng, n_resamples=9999)
    exact = binom.sf(25, 40, 0.5) + binom.cdf(14, 40, 0.5)
    assert found.p == pytest.approx(exact, abs=4 * math.sqrt(exact / 999))
    assert found.p_large == found.p_bins == found.p


def test_says_what_is_wrong_in_the_models_terms() -> None:
    rng = np.random.default_rng(1)
    c = rng.uniform(0.5, 1.0, 4000)
    found = miscalibration(c, rng.random(4000) < np.where(c > 0.8, c - 0.15, c), rng=rng, n_resamples=499)
    assert found.p < 0.01
    assert "points too sure on average" in found.what
    assert "too sure when it says above 80%" in found.what
    assert [(b.low, b.high) for b in found.bad_bins] == [(0.8, 1.0)]
    hot = miscalibration(c, rng.random(4000) < expit(logit(np.clip(c, 0, 0.999)) / 2), rng=rng, n_resamples=499)
    assert hot.temperature == pytest.approx(2, rel=0.2)
    timid = miscalibration(c, rng.random(4000) < np.minimum(c + 0.1, 1), rng=rng, n_resamples=499)
    assert "not sure enough" in timid.what


def test_the_latent_correlation_is_found_recovers_truth() -> None:
    rng = np.random.default_rng(2)
    unit = np.repeat(np.arange(3000), 5)
    p = rng.uniform(0.1, 0.9, len(unit))
    for r in (0.0, 0.3, 0.8):
        latent = np.sqrt(r) * rng.normal(size=3000)[unit] + np.sqrt(1 - r) * rng.normal(size=len(unit))
        assert _correlation(p, p - (ndtr(latent) < p), unit) == pytest.approx(r, abs=0.04)


def test_one_family_and_its_sentence() -> None:
    rng = np.random.default_rng(5)
    studies = {}
    for name, gap in (("calibrated", 0.0), ("too sure", 0.15)):
        c = rng.uniform(0.4, 0.95, 600)
        studies[name] = study_confidence(c, rng.random(600) < c - gap, rng=rng, n_resamples=999)
    claims = calibration_claims({**studies, "unlabelled": None})
    assert claims["calibrated"].verdict is Verdict.UNDECIDED
    assert claims["too sure"].verdict is Verdict.VERIFIED
    assert claims["unlabelled"].verdict is Verdict.UNTESTABLE
    assert claims["too sure"].family is not None
    assert claims["too sure"].family.size == 2
    assert "points too sure on average" in claims["too sure"].sentence
    assert "nothing is graded" in claims["unlabelled"].sentence
    for claim in claims.values():  # a claim is shown exactly where its interval excludes 0
        assert claim.interval is None or (claim.interval.low > 0) == (claim.verdict is Verdict.VERIFIED)


def test_holm_over_conditions_decides() -> None:
    # p of one condition is between 0.05 / 6 and 0.05: shown alone, not among six
    rng = np.random.default_rng(11)
    c = rng.uniform(0.4, 0.95, 300)
    for seed in range(60):
        a = np.random.default_rng(seed).random(300) < c - 0.05
        study = study_confidence(c, a, rng=np.random.default_rng(seed), n_resamples=999)
        assert study.miscalibration is not None
        if 0.015 < study.miscalibration.p < 0.04:
            break
    null = study_confidence(c, np.random.default_rng(1).random(300) < c, rng=rng, n_resamples=99)
    alone = calibration_claims({"m": study})["m"]
    among = calibration_claims({"m": study, **{f"n{k}": null for k in range(5)}})["m"]
    assert (alone.verdict, among.verdict) == (Verdict.VERIFIED, Verdict.UNDECIDED)


@pytest.mark.parametrize("a", [np.zeros(20), np.ones(20)])
@pytest.mark.parametrize("c", [np.full(20, 0.5), np.ones(20), np.linspace(0.1, 1, 20)])
def test_degenerate_tables_give_a_figure(c: np.ndarray, a: np.ndarray) -> None:
    found = miscalibration(c, a, rng=np.random.default_rng(0), n_resamples=199)
    assert 0 < found.p <= 1
    assert found.temperature is None


def test_certainty_is_not_refuted_by_one_error_in_a_hundred() -> None:
    a = np.ones(100)
    a[0] = 0
    assert miscalibration(np.ones(100), a, rng=np.random.default_rng(0)).p > 0.05
    a[:5] = 0
    assert miscalibration(np.ones(100), a, rng=np.random.default_rng(0)).p < 0.01


def test_too_few_units_are_refused() -> None:
    with pytest.raises(InputError, match="4 units"):
        miscalibration(np.full(40, 0.5), np.zeros(40), unit=np.arange(40) % 4, rng=np.random.default_rng(0))


def test_confidences_near_one_count_as_stated_by_hand() -> None:
    """10,000 answers at 0.9999 are expected to hold one error: tested as 0.999 they were refuted."""
    a = np.ones(10_000)
    a[0] = 0
    found = miscalibration(np.full(10_000, 0.9999), a, rng=np.random.default_rng(0), n_resamples=199)
    assert found.p > 0.3
    assert miscalibration(np.full(10_000, 0.9999), 1 - (np.arange(10_000) < 12), rng=np.random.default_rng(0)).p < 0.01
    sure = miscalibration(np.ones(14_042), np.ones(14_042), rng=np.random.default_rng(0), n_resamples=199)
    assert sure.p > 0.3  # all certain and all right
    assert sure.what == ""
