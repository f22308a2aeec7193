"""What is known of the data reaches a comparison of tails: the same checks as in `compare`, before every gate."""

from typing import Any

import numpy as np
import polars as pl
import pytest

from richter.audit import TailReport, study_column
from richter.records import Verdict
from richter.tables import ReadOptions
from tail.simulated import mixture_quantiles

N = 4000
FEW: dict[str, Any] = {"column": "nll", "overrides": {"n_resamples": 200}}


def scored(rng: np.random.Generator) -> pl.DataFrame:
    frames = [
        pl.DataFrame({"item": np.arange(N), "condition": [name] * N, "nll": rng.permutation(mixture_quantiles(N, xi))})
        for name, xi in (("old", 0.0), ("new", 0.2))
    ]
    return pl.concat(frames)


def study(frame: pl.DataFrame, **more: Any) -> TailReport:
    return study_column(frame, **FEW | more)


def test_a_check_that_blocks_a_pair_blocks_it_over_the_band_and_in_the_study(rng: np.random.Generator) -> None:
    """4% of the severities of `new` are missing, and a tail has no worst value that they could be counted at."""
    frame = scored(rng)
    plain = study(frame)
    assert plain.study.claim.blocked_by in (None, *(g.name for g in plain.study.claims[0].gates))
    lost = frame.with_columns(
        nll=pl.when(pl.col("condition") == "new", pl.col("item") < N // 25).then(None).otherwise("nll")
    )
    found = study(lost)
    assert found.n_missing == N // 25
    claims = [found.study.claim, *found.study.claims, *(c for at in found.study.over_band.values() for c in at)]
    assert {c.blocked_by for c in claims} == {"missing"}
    assert {c.override for c in claims} == {"--missing at-random"}
    assert any("lacks 160" in note for note in found.study.claims[0].notes)
    assert found.study.sensitivity[1]["admissible"] == 0
    taken = study(lost, missing="at-random")
    assert taken.study.claim.blocked_by != "missing"
    absent = study(frame.filter((pl.col("condition") != "new") | (pl.col("item") >= N // 25)))
    assert absent.study.claim.blocked_by == "missing"


def test_raters_of_one_condition_each_block_a_tail(rng: np.random.Generator) -> None:
    frame = scored(rng).rename({"nll": "severity"}).with_columns(rater=pl.col("condition"), kind=pl.lit("judge"))
    given: dict[str, Any] = {"column": "", "reading": ReadOptions(any_scale=True)}
    found = study(frame, **given)
    assert (found.study.claim.verdict, found.study.claim.blocked_by) == (Verdict.BLOCKED, "raters")
    assert study(frame, trust_raters=True, **given).study.claim.blocked_by != "raters"


def test_too_few_shared_items_block_a_tail_unless_it_is_unpaired(rng: np.random.Generator) -> None:
    frame = scored(rng).with_columns(
        item=pl.when(pl.col("condition") == "new").then(pl.col("item") + 3 * N // 4).otherwise("item")
    )
    assert study(frame).study.claim.blocked_by == "shared"
    assert study(frame, unpaired=True).study.claim.blocked_by != "shared"


def test_the_level_is_that_of_every_interval(rng: np.random.Generator) -> None:
    found = study(scored(rng), level=0.9)
    assert found.study.plan.alpha == pytest.approx(0.1)
    (claim,) = found.study.claims
    assert claim.plain_interval is not None
    assert claim.plain_interval.level == pytest.approx(0.9)
    assert claim.gates[0].observed["interval"].level == pytest.approx(0.9)


@pytest.mark.parametrize(
    ("column", "better", "end"), [("nll", None, "lower"), ("quality", None, "lower"), ("quality", "higher", "higher")]
)
def test_the_reading_says_which_end_the_tail_takes_for_the_good_one(
    column: str, better: Any, end: str, rng: np.random.Generator
) -> None:
    found = study(scored(rng).rename({"nll": column}), column=column, reading=ReadOptions(better=better, confirm=True))
    assert found.understood.endswith(f"from column {column}, {end} is better")
    is_told = any("is taken as worse" in note for note in found.study.notes)
    assert is_told is (column == "quality" and better is None)


def test_faults_of_0_and_1_keep_their_direction_in_a_tail() -> None:
    """The name says that 1 is a fault: it stays 1, the worse end, in the tail that is studied."""
    frame = pl.DataFrame({"item": range(400), "condition": "a", "toxic": [float(k % 50 == 0) for k in range(400)]})
    found = study_column(frame, column="toxic", reading=ReadOptions(confirm=True))
    assert found.study.conditions["a"].mean == pytest.approx(0.02)
