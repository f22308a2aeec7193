"""Adjustment for difficulty: items that only others answered count, and the mix of difficulty is chance."""

import dataclasses

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom

from helpers.outcomes import outcomes
from richter.claims import Adjusted, Evidence, adjusted_difference, difference_evidence
from richter.errors import InputError
from richter.records import of_kind


def graded(rng: np.random.Generator, n: int, spread: float, steep: tuple[float, ...]) -> np.ndarray:
    """Scores that fall with difficulty, each condition by its own slope."""
    hard = rng.normal(0, spread, size=(n, 1))
    return 0.5 - hard * np.array(steep) + rng.normal(0, 0.1, size=(n, len(steep)))


def test_the_estimate_is_the_fit_at_all_items_against_least_squares(rng: np.random.Generator) -> None:
    """A parabola by numpy on the items of both, averaged over all items."""
    x = graded(rng, 600, 0.2, (0.2, 0.8, 0.5, 0.5, 0.5, 0.5))
    x[rng.random(600) < 0.4, :2] = np.nan
    found = adjusted_difference(outcomes(x, "mean_score"), "a", "b")
    d, others = x[:, 1] - x[:, 0], x[:, 2:].mean(axis=1)
    use = ~np.isnan(d)
    fit = np.polyfit(others[use], d[use], 2)
    assert found.evidence.estimate == pytest.approx(np.polyval(fit, others).mean())
    residual = d[use] - np.polyval(fit, others[use])
    error = np.sqrt(residual.var() / use.sum() + np.polyval(fit, others).var() / 600)
    assert found.evidence.standard_error == pytest.approx(error, rel=0.04)
    assert found.variance_ratio < 0.9
    (note,) = of_kind(found.evidence.notes, "adjusted")
    assert f"{600 - use.sum()} questions" in note


def test_where_both_answered_everything_the_plain_evidence_stands(rng: np.random.Generator) -> None:
    x = graded(rng, 300, 0.2, (0.2, 0.8, 0.5, 0.5))
    found, plain = (make(outcomes(x, "mean_score"), "a", "b") for make in (adjusted_difference, difference_evidence))
    assert isinstance(found, Adjusted)
    assert isinstance(plain, Evidence)
    assert found.evidence.interval(0.95) == plain.interval(0.95)
    assert of_kind(found.evidence.notes, "adjusted")


def test_what_judges_graded_is_said_of_the_adjusted_difference_too(rng: np.random.Generator) -> None:
    x = graded(rng, 400, 0.2, (0.2, 0.8, 0.5, 0.5))
    x[:100, :2] = np.nan
    graded_by = dataclasses.replace(outcomes(x, "mean_score"), judges=("j",))
    found = adjusted_difference(graded_by, "a", "b")
    assert found.variance_ratio != 1
    assert found.evidence.judged == "graded by j; nobody checked it"


def test_items_that_only_others_answered_correct_the_mix(rng: np.random.Generator) -> None:
    # the pair answered the easier items alone, where it does not differ; over the whole mix it does
    x = graded(rng, 3000, 0.2, (0.1, 0.9, 0.5, 0.5, 0.5))
    truth = float(np.mean(x[:, 1] - x[:, 0]))
    easy = x[:, 2:].mean(axis=1) > 0.45
    x[~easy, :2] = np.nan
    plain = difference_evidence(outcomes(x, "mean_score"), "a", "b").estimate
    found = adjusted_difference(outcomes(x, "mean_score"), "a", "b").evidence
    assert abs(plain - truth) > 0.04
    assert truth in found.interval(0.95)
    assert "Both were asked easier questions" in found.notes[-1]
    at_random = graded(rng, 3000, 0.2, (0.1, 0.9, 0.5, 0.5, 0.5))
    at_random[:1500, :2] = np.nan
    assert "asked" not in adjusted_difference(outcomes(at_random, "mean_score"), "a", "b").evidence.notes[-1]


def test_two_conditions_alone_are_refused() -> None:
    with pytest.raises(InputError, match="from a and b alone"):
        adjusted_difference(outcomes([[0, 1], [1, 1]]), "a", "b")


@pytest.mark.slow
@pytest.mark.parametrize("slope", [1.0, -0.5])
def test_the_adjusted_interval_covers_such_items_recovers_truth(slope: float) -> None:
    """New items each time, half of them asked of the pair; the second condition feels difficulty by its own slope."""
    rng = np.random.default_rng(3)
    hits = 0
    for _ in range(300):
        hard = rng.normal(0, 2, size=(400, 1))
        chance = expit(hard * np.array([1, slope, 1, 1, 1, 1, 1]))  # 50% of both over all such items
        x = (rng.random(chance.shape) < chance).astype(float)
        x[rng.random(400) < 0.5, :2] = np.nan
        hits += 0 in adjusted_difference(outcomes(x), "a", "b").evidence.interval(0.95)
    assert hits >= binom.ppf(0.001, 300, 0.95)
