"""Runs crossed with questions."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import richter
from helpers.outcomes import outcomes
from richter.claims import difference_evidence, ece_difference, ece_side
from richter.cli._main import _root
from richter.errors import InputError


def test_runs_that_differ_are_what_varies_recovers_truth(rng: np.random.Generator) -> None:
    """60 worlds of 6 runs whose calibration differs, alike on average: items alone would tell them apart often."""
    runs = items_alone = 0
    for _ in range(60):
        item, run = np.repeat(np.arange(150), 6), np.tile(np.arange(6), 150)
        shift = rng.normal(0, 0.12, (2, 6))
        right = rng.random((2, 900)) < 0.6
        sure = np.clip(0.7 + shift[:, run], 0, 1)
        options = [
            [ece_side(sure[k], right[k].astype(float), item, **more) for k in (0, 1)] for more in ({"run": run}, {})
        ]
        runs += 0.0 not in ece_difference(*options[0]).interval(0.95)
        items_alone += 0.0 not in ece_difference(*options[1]).interval(0.95)
    assert runs <= 9  # 5% and a probability below 0.001
    assert items_alone > 15


def test_runs_of_other_names_are_not_crossed_though_as_many(rng: np.random.Generator) -> None:
    """Runs 0-3 of one and 4-7 of the other are independent: which is listed beside which changes nothing."""
    level = rng.normal(0, 0.1, size=4)
    x = rng.normal(0.5, 0.1, size=(40, 2, 4)) + level  # runs of the same number move together
    run = np.broadcast_to(np.array([[0, 1, 2, 3], [4, 5, 6, 7]]), x.shape).ravel()
    turned = x.copy()
    turned[:, 1] = x[:, 1, ::-1]
    ends = [
        difference_evidence(outcomes(y, "mean_score", run=run, runs=tuple("abcdefgh")), "a", "b") for y in (x, turned)
    ]
    assert ends[0].interval(0.95).low == pytest.approx(ends[1].interval(0.95).low, rel=1e-9)
    same = np.broadcast_to(np.arange(4), x.shape).ravel()
    crossed = difference_evidence(outcomes(x, "mean_score", run=same, runs=tuple("abcd")), "a", "b")
    assert crossed.units == 4
    assert ends[0].units == 8


def grades(draws: int) -> pl.DataFrame:
    """Two models on 60 questions in runs with seeds of their own."""
    rng = np.random.default_rng(8)
    easy, seeds = rng.random(60), rng.normal(0, 0.1, (2, draws))
    return pl.DataFrame(
        [{"item": f"q{i}", "condition": c, "seed": s, "correct": int(rng.random() < easy[i] + seeds[k, s])}
         for i in range(60) for k, c in enumerate(("old", "new")) for s in range(draws)]
    )  # fmt: skip


def test_a_column_of_seeds_is_crossed_with_questions_and_can_be_read_as_repeats(tmp_path: Path) -> None:
    grades(3).write_csv(tmp_path / "seeds.csv")
    found, repeats = (
        richter.compare(tmp_path / "seeds.csv", **more)["old", "new"] for more in ({}, {"map": {"draw": "seed"}})
    )
    assert (found.unit, found.units, repeats.unit, repeats.units) == ("run", 3, "item", 60)
    assert found.interval.half_width > repeats.interval.half_width
    assert (found.verdict.value, repeats.verdict.value) == ("undecided", "verified")
    assert found.needed is None
    text = CliRunner().invoke(_root, ["compare", str(tmp_path / "seeds.csv")], catch_exceptions=False).output
    assert "The result speaks of runs and questions like these." in text
    assert "Next: add runs" in text
    with pytest.raises(InputError, match="no number of questions alone"):
        richter.size(tmp_path / "seeds.csv", margin="5pt")


def test_one_seed_is_no_unit(tmp_path: Path) -> None:
    found = richter.compare(grades(1))["old", "new"]
    assert (found.unit, found.units) == ("item", 60)


def test_a_gate_counts_runs_and_a_lost_grade_never_helps() -> None:
    """The limit is no higher than that of repeats, and no higher when an answer of the new one is lost."""
    rows = grades(4)
    limits = []
    for frame, more in (
        (rows, {}), (rows, {"map": {"draw": "seed"}}),
        (rows.with_columns(pl.when(pl.int_range(pl.len()) != 5).then("correct").alias("correct")), {}),
    ):  # fmt: skip
        limits.append(richter.gate(frame, margin="5pt", **more).claims[0].interval.low)
    assert limits[0] < limits[1]
    assert limits[2] <= limits[0]
