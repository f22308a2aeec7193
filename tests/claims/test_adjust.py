"""Adjustment for difficulty: what it saves, and that it costs nothing where there is nothing to save."""

import dataclasses
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from helpers.outcomes import outcomes
from richter.claims import adjusted_difference, difference_evidence
from richter.errors import InputError


def graded(rng: np.random.Generator, n: int, spread: float, steep: tuple[float, ...]) -> np.ndarray:
    """Scores that fall with difficulty, each condition by its own slope."""
    hard = rng.normal(0, spread, size=(n, 1))
    return 0.5 - hard * np.array(steep) + rng.normal(0, 0.1, size=(n, len(steep)))


def test_a_difference_that_follows_difficulty_against_least_squares(rng: np.random.Generator) -> None:
    x = graded(rng, 2000, 0.2, (0.2, 0.8, 0.5, 0.5, 0.5, 0.5))
    found = adjusted_difference(outcomes(x, "mean_score"), "a", "b")
    d, others = x[:, 1] - x[:, 0], x[:, 2:].mean(axis=1)
    residual = d - np.polyval(np.polyfit(others, d, 2), others)
    assert found.variance_ratio == pytest.approx(residual.var() / d.var(), rel=0.02)
    assert found.variance_ratio < 0.8
    assert found.evidence.estimate == pytest.approx(d.mean(), abs=3e-3)
    assert any("this file's mix of difficulty" in note for note in found.evidence.notes)


def test_what_judges_graded_is_said_of_the_adjusted_difference_too(rng: np.random.Generator) -> None:
    graded_by = dataclasses.replace(outcomes(graded(rng, 400, 0.2, (0.2, 0.8, 0.5, 0.5)), "mean_score"), judges=("j",))
    found = adjusted_difference(graded_by, "a", "b")
    assert found.variance_ratio < 1
    assert found.evidence.judged == "graded by j; nobody checked it"


def test_nothing_to_save_leaves_the_plain_evidence(rng: np.random.Generator) -> None:
    x = (rng.random((400, 4)) < 0.7).astype(float)
    found = adjusted_difference(outcomes(x), "a", "b")
    plain = difference_evidence(outcomes(x), "a", "b")
    assert found.variance_ratio > 0.97
    assert found.evidence.interval(0.95).half_width <= 1.01 * plain.interval(0.95).half_width


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


def test_two_conditions_alone_are_refused() -> None:
    with pytest.raises(InputError, match="difficulty is seen from other conditions"):
        adjusted_difference(outcomes([[0, 1], [1, 1]]), "a", "b")


@pytest.mark.slow
def test_the_adjusted_interval_covers_recovers_truth() -> None:
    rng = np.random.default_rng(3)
    hard = rng.normal(0, 1.5, size=(400, 1))  # the items, and so the mix of difficulty, are fixed
    chance = 1 / (1 + np.exp(hard * np.array([0.4, 1.6, 1, 1, 1, 1, 1]) - 0.5))
    truth = float(np.mean(chance[:, 1] - chance[:, 0]))
    hits = sum(
        truth
        in adjusted_difference(outcomes((rng.random(chance.shape) < chance).astype(float)), "a", "b").evidence.interval(
            0.95
        )
        for _ in range(500)
    )
    assert hits / 500 + 2.6 * np.sqrt(0.05 * 0.95 / 500) >= 0.93


@pytest.mark.real_data
def test_ratios_on_a_real_benchmark(shared_data: Path) -> None:
    frame = pl.read_csv(shared_data / "mcq_truthfulqa_14models.csv")
    wide = frame.with_columns((pl.col("grade") == "Correct").alias("r")).pivot("model", index="item", values="r")
    x = wide.select(wide.columns[1:]).to_numpy().astype(float)
    board = outcomes(x)
    ratios = [adjusted_difference(board, "a", name).variance_ratio for name in "bcdefghijklmn"]
    assert max(ratios) <= 1.0
    assert min(ratios) < 0.95
