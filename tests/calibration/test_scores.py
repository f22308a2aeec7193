import math

import numpy as np
import pytest
from scipy.special import ndtr

from richter.calibration import confidence_scores
from richter.calibration._proper_scores import _fit_isotonic
from richter.stats import wilson

sklearn_metrics = pytest.importorskip("sklearn.metrics")


def sample(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    c = np.round(rng.uniform(0.05, 0.95, n), 2)  # with ties
    return c, (rng.random(n) < c**1.3).astype(float)


def test_scores_against_sklearn() -> None:
    rng = np.random.default_rng(0)
    for n in (30, 500):
        c, a = sample(rng, n)
        found = confidence_scores(c, a, rng=rng)
        assert found.brier.value == pytest.approx(sklearn_metrics.brier_score_loss(a, c))
        assert found.log.value == pytest.approx(sklearn_metrics.log_loss(a, c))
        assert found.auroc.value == pytest.approx(sklearn_metrics.roc_auc_score(a, c))


def test_isotonic_against_sklearn() -> None:
    isotonic = pytest.importorskip("sklearn.isotonic")
    rng = np.random.default_rng(0)
    c = np.round(rng.random(300), 2)
    a = (rng.random(300) < c**2).astype(float)
    theirs = isotonic.IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip").fit(c, a)
    x = np.linspace(0, 1, 501)
    assert np.interp(x, *_fit_isotonic(c, a, np.ones(300))) == pytest.approx(theirs.predict(x), abs=1e-9)


def test_the_parts_add_up_by_hand() -> None:
    rng = np.random.default_rng(1)
    c, a = sample(rng, 400)
    s = confidence_scores(c, a, rng=rng)
    for whole, off, told, base in (
        (s.brier, s.brier_miscalibration, s.brier_resolution, s.brier_uncertainty),
        (s.log, s.log_miscalibration, s.log_resolution, s.log_uncertainty),
    ):
        assert whole.value == pytest.approx(off.value - told.value + base.value)
    assert s.brier_uncertainty.value == pytest.approx(a.mean() * (1 - a.mean()), abs=0.01)


def test_aurc_by_hand() -> None:
    # in the order of confidence: right, wrong, right: risks 0, 1/2, 1/3 at shares 1/3, 2/3, 1. The area with the
    # errors of a block spread evenly over it: 1/3 of integral over (1/3, 2/3] of (x - 1/3) / x, and so on
    found = confidence_scores([0.9, 0.8, 0.1], [1, 0, 1], rng=np.random.default_rng(0)).aurc.value
    area = (1 / 3 - math.log(2) / 3) + math.log(3 / 2) / 3
    assert found == pytest.approx(area)
    # a constant confidence has the error rate at every share
    assert confidence_scores([0.5] * 8, [1, 0] * 4, rng=np.random.default_rng(0)).aurc.value == pytest.approx(0.5)


@pytest.mark.slow
@pytest.mark.parametrize("grouped", [False, True])
def test_intervals_cover_recovers_truth(grouped: bool) -> None:
    # the truths from one sample of 400,000; 200 samples: fewer than 178 has probability 0.0005 at 95%
    rng = np.random.default_rng(2)

    def draw(units: int, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        unit = np.repeat(np.arange(units), size)
        shared = rng.normal(size=units)[unit]
        c = ndtr(rng.normal(size=len(unit)) + 0.7 * shared)
        u = ndtr(np.sqrt(0.5) * rng.normal(size=units)[unit] + np.sqrt(0.5) * rng.normal(size=len(unit)))
        return c, (u < c**1.5).astype(float), unit

    size = 5 if grouped else 1
    c, a, unit = draw(400_000 // size, size)
    truth = confidence_scores(c, a, rng=rng)
    names = ("brier", "log", "auroc", "aurc", "brier_uncertainty")
    covered = dict.fromkeys(names, 0)
    for _ in range(200):
        c, a, unit = draw(300 // size, size)
        found = confidence_scores(c, a, rng=rng, unit=unit if grouped else None)
        for name in names:
            interval = getattr(found, name).interval
            covered[name] += getattr(truth, name).value in interval
    assert min(covered.values()) >= 178, covered


def test_all_right_has_no_auroc_and_says_so() -> None:
    found = confidence_scores(np.linspace(0.5, 1, 20), np.ones(20), rng=np.random.default_rng(0))
    assert found.auroc.value is None
    assert "all answers are right" in found.auroc.reason
    assert found.aurc.value == 0
    assert found.aurc.interval.high == pytest.approx(wilson(0, 20).high)  # no error seen is no proof of none


def test_perfect_separation_is_not_certainty_by_hand() -> None:
    c = np.concatenate((np.full(10, 0.9), np.full(10, 0.1)))
    found = confidence_scores(c, np.repeat([1, 0], 10), rng=np.random.default_rng(0)).auroc
    assert found.value == 1
    assert found.interval.low == pytest.approx(0.05 ** (1 / 10))


def test_scores_of_groups_of_unequal_size_recover_truth() -> None:
    """30 groups of lognormal size that are right or wrong together: units - 1 degrees of freedom fall short."""
    rng = np.random.default_rng(3)
    covered = 0
    for _ in range(200):
        sizes = np.maximum(1, np.round(10 * np.exp(1.2 * rng.standard_normal(30)))).astype(int)
        unit = np.repeat(np.arange(30), sizes)
        c = np.full(len(unit), 0.7)
        a = (rng.random(len(unit)) < rng.beta(1.4, 0.6, 30)[unit]).astype(float)  # right in 70% of answers
        brier = confidence_scores(c, a, rng=rng, unit=unit).brier.interval
        assert brier is not None
        covered += 0.21 in brier
    assert covered >= 180  # 190 are expected; fewer than 180 have probability 0.003 at 95%
