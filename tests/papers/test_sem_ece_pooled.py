"""How Sem1 and Sem2 approach each other with draws: the slope of one condition, and over several."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import sem_ece_convergence
from richter.calibration import answer_pool
from sem_ece_convergence import convergence, pool_slopes


def curve(lead: float, seed: int, *, n: int = 1200):
    """Two classes that nearly tie, and no right answer: the ECE is the confidence, and its gap sqrt(p / n) phi.

    Questions count as low by the margin of all 256 draws, so that at up to 32 they are not chosen by their luck.
    """
    rng = np.random.default_rng(seed)
    share = 0.5 + lead * rng.random((n, 1))
    labels = np.where(rng.random((n, 256)) < share, 0, 1)
    pool = answer_pool(labels, np.zeros(labels.shape))
    return convergence(pool, rng=np.random.default_rng(0), sizes=[8, 16, 32], n_resamples=60)


def test_pooling_a_condition_with_itself_changes_nothing() -> None:
    """The resamples are shared: the interval of two copies is that of one, not narrower by sqrt 2."""
    one = curve(0.02, 1)
    for curves in ([one], [one, one]):
        both = pool_slopes(curves)
        assert (both.slope, both.conditions) == (pytest.approx(one.slope), len(curves))
        assert (both.interval.low, both.interval.high) == pytest.approx((one.interval.low, one.interval.high))


def test_the_slope_over_conditions_recovers_truth() -> None:
    """Theorem 5.6: -1/2 where margins are far below 1 / sqrt(n)."""
    found = pool_slopes([curve(0.0, k) for k in (1, 2, 3)])
    assert found.slope == pytest.approx(-0.5, abs=0.06)
    assert found.interval.low < found.slope < found.interval.high


def test_curves_over_other_draws_are_left_out() -> None:
    rng = np.random.default_rng(0)
    labels = np.where(rng.random((200, 12)) < 0.5, 0, 1)
    other = convergence(answer_pool(labels, np.zeros(labels.shape)), rng=rng, sizes=[4, 8, 12], n_resamples=20)
    assert pool_slopes([curve(0.0, 1), other]).conditions == 1
    assert pool_slopes([]).slope is None


def test_gap_shrinks_at_the_predicted_rate_recovers_truth(rng: np.random.Generator) -> None:
    # two classes and margins that keep every question in the low-margin regime at every n used
    margin = rng.uniform(0, 0.08, 3000)
    labels = (rng.random((3000, 80)) > (0.5 + margin / 2)[:, None]).astype(int)
    pool = answer_pool(labels, np.zeros((3000, 80)))
    curve = convergence(pool, rng=rng, sizes=[10, 20, 40, 80], repeats=2, n_resamples=100)
    assert curve.slope == pytest.approx(-0.5, abs=0.1)  # the paper's own slopes lie within 0.08 of it
    assert curve.interval is not None
    first, last = curve.points[0], curve.points[-1]
    assert first.sem1_ece > last.sem1_ece > last.sem2_ece > first.sem2_ece


def test_the_script_writes_curves_and_their_common_slope(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    answer = np.where(rng.random((120, 20)) < rng.uniform(0.45, 0.9, (120, 1)), "yes", "no")
    rows = [
        {"item": str(q), "draw": k, "answer": a, "cluster": a, "correct": int(a == "yes"), "condition": c}
        for c in ("m", "n")
        for q, row in enumerate(answer)
        for k, a in enumerate(row)
    ]
    pl.DataFrame(rows).write_csv(tmp_path / "draws.csv")
    sem_ece_convergence.main([str(tmp_path / "draws.csv"), "--json", str(tmp_path / "c.json")])
    written = json.loads((tmp_path / "c.json").read_text())
    assert written["pooled_slope"]["conditions"] == 2
    assert [p["n"] for p in written["conditions"]["m"]["points"]] == [4, 8, 12, 16, 20]
    assert "gaps" not in written["conditions"]["m"]
