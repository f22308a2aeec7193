"""Public data that nobody here wrote: multiple-choice confidences of 14 models, and TriviaQA samples."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from richter.audit import measure_calibration
from richter.stats import ece

pytestmark = pytest.mark.real_data


@pytest.mark.slow
@pytest.mark.parametrize(("name", "models"), [("mcq_arc_14models.csv", 14), ("mcq_truthfulqa_14models.csv", 14)])
def test_every_model_by_an_independent_sum(shared_data: Path, tmp_path: Path, name: str, models: int) -> None:
    frame = pl.read_csv(shared_data / name).rename({"model": "condition"})
    frame = frame.with_columns((pl.col("grade") == "Correct").cast(pl.Int64).alias("correct"))
    path = tmp_path / "grades.csv"
    frame.select("item", "condition", "correct", "confidence").write_csv(path)
    report = measure_calibration(path, rng=np.random.default_rng(0)).to_dict()["conditions"]
    assert len(report) == models
    for condition, row in report.items():
        part = frame.filter(pl.col("condition") == condition, pl.col("confidence").is_not_null())
        # the same sum by polars: mean confidence against accuracy per tenth
        tenth = (pl.col("confidence") * 10).floor().clip(0, 9)
        gaps = part.group_by(tenth.alias("bin")).agg((pl.col("confidence") - pl.col("correct")).sum().abs())
        assert row["ece"] == pytest.approx(gaps[:, 1].sum() / part.height, abs=1e-12)
        assert row["interval"]["low"] <= row["debiased"] <= row["interval"]["high"]
        assert row["n"] == part.height


def test_bins_of_equal_mass_agree_roughly_on_large_data(shared_data: Path) -> None:
    frame = pl.read_csv(shared_data / "mcq_arc_14models.csv").filter(pl.col("model") == "Llama-70b")
    c, a = frame["confidence"].to_numpy(), (frame["grade"] == "Correct").to_numpy().astype(float)
    width, mass = ece(c, a), ece(c, a, binning="mass")
    assert max(width.interval.low, mass.interval.low) < min(width.interval.high, mass.interval.high)


@pytest.mark.slow
def test_triviaqa_depends_on_the_grouping(shared_data: Path, tmp_path: Path) -> None:
    pytest.importorskip("wordllama")
    rows = []
    for line in (shared_data / "triviaqa_500x20.jsonl").read_text().splitlines():
        question = json.loads(line)
        rows += [
            {
                "item": question["id"],
                "condition": "m",
                "draw": k,
                "question": question["question"],
                "answer": sample,
                "reference": question["reference"],
            }
            for k, sample in enumerate(question["samples"])
        ]
    path = tmp_path / "draws.jsonl"
    pl.DataFrame(rows).write_ndjson(path)
    (row,) = measure_calibration(path, rng=np.random.default_rng(0)).to_dict()["conditions"].values()
    assert (row["questions"], row["draws"], row["classes"]) == (500, 20, "offline")
    offline, strict = row["sensitivity"]["offline"], row["sensitivity"]["normal form"]
    assert offline["classes_per_question"] < strict["classes_per_question"]
    assert offline["sem2"] < strict["sem2"]  # splitting one meaning over many wordings hides agreement
    assert row["gap"]["confidence"]["interval"]["low"] > 0  # Sem2 lies below Sem1, eq. (9)
