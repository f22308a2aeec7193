import numpy as np
import pytest
from numpy.typing import NDArray

from helpers.trials import fewest_hits, n_trials
from richter.errors import TooFewErrors
from richter.severity import (
    human_corrected_rates,
    severity_by_labels,
    true_difference,
)
from severity.laws import geometric

LEVELS = np.arange(9) / 2


def truth(b: float, rate: float) -> NDArray[np.float64]:
    return np.concatenate([[1 - rate], rate * geometric(b)])


def test_judges_without_errors_leave_the_scores_as_they_are(rng: np.random.Generator) -> None:
    scores = rng.choice(9, size=3000, p=truth(0.5, 0.4)) / 2
    labelled = severity_by_labels(scores, scores, rng=rng)
    assert labelled.mean.estimate == pytest.approx(scores.mean(), abs=1e-6)
    assert labelled.at_least["3.0"].estimate == pytest.approx(np.mean(scores >= 3), abs=1e-6)


def test_the_rare_safe_rate_is_never_of_zero_width() -> None:
    judged = np.zeros(5000)
    labels = np.full(5000, np.nan)
    labels[:60] = 0.0
    row = human_corrected_rates(judged, labels)(0.95).at(3.0)
    assert row.per_million is None
    assert row.interval.high > 30_000  # 60 labels without an event: about 3 / 60 at most
    assert row.upper > row.interval.low


@pytest.mark.sampled(1)
@pytest.mark.slow
@pytest.mark.parametrize("oversampled", [False, True])
def test_two_hundred_labels_cover_rate_and_mean_and_block_the_slope_recovers_truth(
    oversampled: bool, rng: np.random.Generator
) -> None:
    """Two simulated judges at an ICC of 0.45 (errors of 0.85 sd on these severities), 200 labels."""
    p = truth(0.5, 0.5)
    trials, hits, slopes = n_trials(300), {"mean": 0, "rate": 0}, []
    naive = 0
    for _ in range(trials):
        true = rng.choice(9, size=3000, p=p) / 2
        judges = np.clip(np.round((true + rng.normal(0, 0.95, (2, 3000))) * 2) / 2, 0, 4)
        judged = judges.mean(axis=0)
        chosen = rng.choice(3000, 200, replace=False)
        strata = None
        if oversampled:
            strata = judged >= 2
            flagged = np.flatnonzero(judged >= 2)
            rest = np.flatnonzero(judged < 2)
            chosen = np.concatenate([rng.choice(flagged, 100, replace=False), rng.choice(rest, 100, replace=False)])
        labels = np.full(3000, np.nan)
        labels[chosen] = true[chosen]
        found = severity_by_labels(judged, labels, strata=strata, n_resamples=1000, rng=rng)
        hits["mean"] += p @ LEVELS in found.mean.interval
        hits["rate"] += p[6:].sum() in found.at_least["3.0"].interval
        naive += abs(judged.mean() - p @ LEVELS) < 0.05
        if found.b is not None:
            slopes.append(0.5 in found.b.interval)
    print(hits, len(slopes))
    assert min(hits.values()) >= fewest_hits(trials, 0.93)  # studies: many more
    assert not slopes  # about 95 labelled errors: b is blocked
    assert naive == 0  # as judged, the mean is off in every study


def test_differences_are_second_minus_first(rng: np.random.Generator) -> None:
    both = []
    for b in (0.9, 0.2):
        true = rng.choice(9, size=4000, p=truth(b, 0.5)) / 2
        labels = np.where(rng.random(4000) < 0.1, true, np.nan)
        both.append(severity_by_labels(np.clip(true + 0.5 * (true > 0), 0, 4), labels, rng=rng))
    found = true_difference(*both)
    assert found.estimate > 0.3
    assert found.interval(0.999).low > 0
    assert found.interval(0.999).low < found.interval(0.95).low


def test_too_few_labels_say_how_many(rng: np.random.Generator) -> None:
    with pytest.raises(TooFewErrors, match="10 human labels are too few") as caught:
        severity_by_labels(np.ones(100), np.where(np.arange(100) < 10, 1.0, np.nan), rng=rng)
    assert caught.value.needed == 30
