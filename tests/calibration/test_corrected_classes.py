"""The table at the boundaries of the regimes, and classes that a person corrected."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from richter.audit import measure_calibration
from richter.cli import main


def draws(path: Path, human: list[str | None] | None = None, conditions: int = 1) -> Path:
    """Two questions, four draws each: `a a b b` and `c c c d`; a, c are right."""
    rows = pl.DataFrame(
        {
            "item": ["1"] * 4 + ["2"] * 4,
            "draw": [0, 1, 2, 3] * 2,
            "answer": ["a", "A.", "b", "b", "c", "c", "c", "d"],
            "cluster": ["x", "y", "z", "z", "u", "u", "u", "v"],  # two wordings of a are apart
            "correct": [1, 1, 0, 0, 1, 1, 1, 0],
        }
    )
    if human:
        rows = rows.with_columns(human_cluster=pl.Series(human))
    pl.concat(rows.with_columns(condition=pl.lit(f"m{k}")) for k in range(conditions)).write_csv(path)
    return path


def test_what_a_persons_correction_changes_by_hand(tmp_path: Path) -> None:
    corrected = draws(tmp_path / "draws.csv", ["x", "x", None, None, None, None, None, None])
    (found,) = measure_calibration(corrected, rng=np.random.default_rng(0)).conditions
    assert found.classes == "corrected by a person"
    fixed = found.corrected
    assert (fixed.moved, fixed.answers, fixed.questions, fixed.deployed) == (1, 8, 1, 1)
    assert fixed.before.accuracy == 0.5  # b leads with two of four
    assert fixed.after.accuracy == 1.0  # a has two as well, and was drawn first
    assert fixed.after.classes_per_question == 2
    (plain,) = measure_calibration(draws(tmp_path / "plain.csv"), rng=np.random.default_rng(0)).conditions
    assert plain.corrected is None
    assert plain.sem.sem1.ece == fixed.before.sem1
    assert found.sem.sem1.ece == fixed.after.sem1


def test_the_text_has_the_boundaries_and_the_correction(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(3)
    answer = np.where(rng.random((120, 20)) < rng.uniform(0.45, 0.9, (120, 1)), "yes", "no")
    rows = [
        {"item": str(q), "draw": k, "answer": a, "cluster": a, "correct": int(a == "yes"), "condition": c}
        for c in ("m", "n")
        for q, row in enumerate(answer)
        for k, a in enumerate(row)
    ]
    frame = pl.DataFrame(rows)
    moved = (pl.col("item") == "0") & (pl.col("draw") == 0)
    frame.with_columns(human_cluster=pl.when(moved).then(pl.lit("other"))).write_csv(tmp_path / "draws.csv")
    with pytest.raises(SystemExit):
        main(["calibration", str(tmp_path / "draws.csv"), "--svg", str(tmp_path), "--json", str(tmp_path / "c.json")])
    out = capsys.readouterr().out
    assert "boundary" in out
    assert "low/large" in out
    assert "moved 1 of 2,400 answers" in out
    assert (tmp_path / "calibration-margins.svg").exists()
