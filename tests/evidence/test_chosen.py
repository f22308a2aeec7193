"""Two of many conditions: the note that asks for attempts, and the claim that allows for them."""

import numpy as np
import polars as pl
import pytest

import richter
from helpers.trials import most_hits, n_trials
from richter.evidence import CHOSEN
from richter.records import of_kind


def board(rng: np.random.Generator, names: int, n: int = 150) -> pl.DataFrame:
    """A baseline and candidates of one accuracy."""
    ease = rng.normal(0.6, 1, n)
    parts = [
        pl.DataFrame(
            {
                "item": [f"q{k}" for k in range(n)],
                "condition": [f"m{m}"] * n,
                "correct": (ease + rng.normal(0, 1, n) > 0).astype(int),
            }
        )
        for m in range(names)
    ]
    return pl.concat(parts)


def test_two_of_many_are_asked_about_and_attempts_end_it(rng: np.random.Generator) -> None:
    run = richter.open(board(rng, 11))
    (note,) = of_kind(run.compare("m0", "m3").claims[0].notes, CHOSEN)
    assert "11 models" in note
    assert "tried=10" in note
    assert not of_kind(run.compare("m0", "m3", tried=10).claims[0].notes, CHOSEN)
    assert not of_kind(run.compare("m0", "m3", "m4").claims[0].notes, CHOSEN)
    assert not of_kind(richter.open(board(rng, 2)).compare("m0", "m1").claims[0].notes, CHOSEN)
    assert of_kind(richter.open(board(rng, 3)).compare("m0", "m1").claims[0].notes, CHOSEN)  # three are several
    assert any(of_kind(c.notes, CHOSEN) for c in run.compare("m0", "m3", on=("accuracy",)).claims)


@pytest.mark.slow
def test_the_best_of_ten_is_falsely_better_in_five_of_a_hundred_with_attempts_recovers_truth() -> None:
    """Boards of equal models."""
    rng, trials = np.random.default_rng(10), n_trials(60)
    false = plain = 0
    for _ in range(trials):
        table = board(rng, 11)
        right = table.group_by("condition").agg(pl.col("correct").sum()).filter(pl.col("condition") != "m0")
        best = right.sort("correct", descending=True)["condition"][0]
        run = richter.open(table)
        false += run.compare("m0", best, tried=10).claims[0].verdict == "verified"
        plain += run.compare("m0", best).claims[0].verdict == "verified"
    assert false <= most_hits(trials, 0.05)
    assert false <= plain
