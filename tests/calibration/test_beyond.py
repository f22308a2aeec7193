"""The gap's bootstrap, bounds, draws needed, and early stopping."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from richter.calibration import (
    AnswerPool,
    answer_pool,
    draws_needed,
    ece_bounds,
    margin_strata,
    mode_is_certain,
    regimes,
    sem_ece,
    sem_gap,
)
from richter.errors import InputError


def simulated(
    rng: np.random.Generator, questions: int, draws: int, accuracy: float, spread: float = 0.5
) -> tuple[AnswerPool, NDArray[np.float64]]:
    """Questions whose correctness does not depend on the class chosen; the true modal shares beside the pool."""
    share = -np.sort(-rng.dirichlet(np.full(6, spread), questions), axis=1)
    labels = np.minimum((rng.random((questions, draws, 1)) > np.cumsum(share, axis=1)[:, None]).sum(axis=2), 5)
    right = (rng.random(questions) < accuracy).astype(float)
    return answer_pool(labels, np.repeat(right[:, None], draws, axis=1)), share[:, 0]


def test_sem1_above_and_sem2_below_the_oracle_recovers_truth(rng: np.random.Generator) -> None:
    pool, truth = simulated(rng, 4000, 20, 0.1)
    sem = sem_ece(pool)
    error = 4 * np.std(sem.confidence_1 - truth) / math.sqrt(4000)
    assert np.mean(sem.confidence_1 - truth) > error
    assert np.mean(truth - sem.confidence_2) > error
    # overconfident in every bin, so the ECEs are the mean gaps, and the oracle's lies between
    oracle = float(np.mean(truth)) - sem.sem1.accuracy
    assert sem.sem2 is not None
    assert sem.sem2.ece < oracle < sem.sem1.ece


def test_gap_bootstrap_against_a_plain_loop(rng: np.random.Generator) -> None:
    pool, _ = simulated(rng, 300, 20, 0.2)
    sem, found = sem_ece(pool), regimes(pool)
    gap = sem_gap(sem, found, rng=rng, n_resamples=2000)
    drop = sem.confidence_1 - sem.confidence_2
    assert gap.confidence.estimate == pytest.approx(float(drop.mean()))
    means = drop[rng.integers(0, 300, (2000, 300))].mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    # a 2.5% quantile of 2000 resamples has a standard error near 0.06 of the bootstrap's own
    tolerance = 4 * math.sqrt(2) * 0.06 * float(np.std(means))
    assert gap.confidence.interval.low == pytest.approx(low, abs=tolerance)
    assert gap.confidence.interval.high == pytest.approx(high, abs=tolerance)
    assert gap.low_margin_questions == int(np.sum(found.margin < 1 / math.sqrt(20)))
    assert gap.ece.estimate == pytest.approx(sem.sem1.ece - sem.sem2.ece)  # type: ignore[union-attr]


def test_too_few_low_margin_questions_have_no_gap() -> None:
    labels = np.zeros((40, 10), dtype=int)
    assert sem_gap(sem_ece(labels, np.ones(40)), regimes(labels), rng=np.random.default_rng(0)).low_margin_ece is None


def test_strata_cover_all_questions(rng: np.random.Generator) -> None:
    pool, _ = simulated(rng, 200, 20, 0.2)
    strata = margin_strata(sem_ece(pool), regimes(pool), strata=5)
    assert sum(s.n for s in strata) == 200
    assert strata[0].confidence_drop > strata[-1].confidence_drop


def test_bounds_hold_and_shrink(rng: np.random.Generator) -> None:
    pool, _ = simulated(rng, 300, 40, 0.2, spread=0.05)
    wide, narrow = ece_bounds(pool, n=20)[1], ece_bounds(pool, n=10**8)[1]
    assert narrow.confidence_error < wide.confidence_error
    # at 10^8 draws only exactly tied questions are still undecided
    tied = float(np.mean(regimes(pool).margin == 0))
    assert narrow.selection_error == pytest.approx(tied, abs=1e-6)
    sem = sem_ece(pool)
    assert sem.sem2 is not None
    assert abs(sem.sem1.ece - sem.sem2.ece) <= wide.ece + ece_bounds(pool, n=20)[0].ece


def test_draws_needed_by_hand(rng: np.random.Generator) -> None:
    pool, _ = simulated(rng, 500, 40, 0.2)
    few = draws_needed(pool, precision=0.2, rng=rng)
    many = draws_needed(pool, precision=0.005, rng=rng, usd_per_draw=0.001)
    assert few.measured
    assert few.n < 40 < many.n
    assert many.n == math.ceil(40 * (many.bracket / 0.005) ** 2)
    assert many.money_usd == pytest.approx(many.n * 500 * 0.001)
    with pytest.raises(InputError, match="between 0 and 1"):
        draws_needed(pool, precision=2, rng=rng)


def test_mode_is_certain_by_hand() -> None:
    # 2^a a! / (a + 1)! = 2^a / (a + 1) must reach 1 / 0.05 = 20: 2^7 / 8 = 16, 2^8 / 9 = 28.4
    assert not mode_is_certain([7])
    assert mode_is_certain([8])
    assert not mode_is_certain([8, 4])
    assert mode_is_certain([8, 4], left=3)
    assert not mode_is_certain([8, 4], left=4)
    assert not mode_is_certain([0, 0])


def settled(labels: np.ndarray) -> tuple[int, int]:
    """The mode of a question's draws when it is certain, and after how many of them."""
    for n in range(3, len(labels) + 1):
        counts = np.bincount(labels[:n], minlength=2)
        if mode_is_certain(counts, left=len(labels) - n):
            return int(counts.argmax()), n
    return int(np.bincount(labels).argmax()), len(labels)


def test_a_mode_that_is_certain_is_seldom_another_recovers_truth(rng: np.random.Generator) -> None:
    labels = (rng.random((2000, 60)) > 0.6).astype(int)  # the true mode is 0
    found = np.array([settled(row) for row in labels])
    assert found[:, 1].mean() < 60
    of_all = np.mean(labels.mean(axis=1) >= 0.5)
    # at most 5% settle wrongly; the questions that never settle may add the full pool's own 6%
    assert found[:, 0].mean() <= 0.05 + of_all + 3 * math.sqrt(0.1 * 0.9 / 2000)
    easy = np.array([settled(row) for row in (rng.random((500, 60)) > 0.97).astype(int)])
    assert easy[:, 1].mean() < 0.25 * 60
    assert not easy[:, 0].any()
